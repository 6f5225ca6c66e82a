"""The commands on the pages about evaluation run, and their claims hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.same_process import fsframe as ran

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
def test_commands_on_the_pages_run(page, line, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    line = re.sub(r"(?<= )examples/", f"{ROOT}/examples/", line.removeprefix("fsframe "))
    if line.startswith(("evaluate", "stability")) and "--no-out" not in line:
        line += " --no-out"
    done = ran(f"{line} -q")
    assert done.code == 0, done.err
    assert done.out


def test_the_python_on_the_page_runs(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs/evaluation.md").read_text()
    (block,) = re.findall(r"<!-- run -->\n```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "docs/evaluation.md", "exec"), {})
    assert re.fullmatch(r"0\.\d{3} ± 0\.\d{3}, φ = 0\.\d\d\n", capsys.readouterr().out)


def test_every_page_shows_a_command_and_the_factor_is_that_of_the_formula():
    assert {page for page, _ in COMMANDS} == set(PAGES)
    corrected, naive = (1 / 100 + 1 / 9) ** 0.5, (1 / 100) ** 0.5
    assert f"{corrected / naive:.1f}" in (ROOT / "docs/evaluation.md").read_text()
