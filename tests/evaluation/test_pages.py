"""The commands on the pages about evaluation run, and their claims hold."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from fsframe.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "docs/evaluation.md",
    "docs/methods/cross-validation.md",
    "docs/methods/stability.md",
    "docs/methods/sklearn.md",
]
COMMANDS = [
    (page, line)
    for page in PAGES
    for block in re.findall(r"<!-- run -->\n```sh\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    for line in block.strip().splitlines()
]


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_commands_on_the_pages_run(page, line, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    words = [
        str(ROOT / word) if word.startswith("examples/") else word for word in shlex.split(line)
    ]
    if words[1] in ("evaluate", "stability") and "--no-out" not in words:
        words.append("--no-out")
    with pytest.raises(SystemExit) as caught:
        main([*words[1:], "-q"])
    said = capsys.readouterr()
    assert caught.value.code == 0, said.err
    assert said.out


def test_the_python_on_the_page_runs(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs/evaluation.md").read_text()
    (block,) = re.findall(r"<!-- run -->\n```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "docs/evaluation.md", "exec"), {})
    assert re.fullmatch(r"0\.\d{3} ± 0\.\d{3}, φ = 0\.\d\d\n", capsys.readouterr().out)


def test_every_page_shows_a_command():
    assert {page for page, _ in COMMANDS} == set(PAGES)


def test_the_factor_on_the_page_is_the_formulas():
    corrected, naive = (1 / 100 + 1 / 9) ** 0.5, (1 / 100) ** 0.5
    assert round(corrected / naive, 1) == 3.5


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    # Pages that others write beside these.
    elsewhere = {"resume.md", "executors.md"}
    text = re.sub(r"```.*?```|`[^`]*`", "", (ROOT / page).read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        path = (ROOT / page).parent / target
        assert path.name in elsewhere or path.exists(), target
