"""Examples in pages and on the first screen: they run, and show what the program says."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pytest

from fsframe.registry import default_manager
from tests.command_line import Done
from tests.same_process import fsframe
from tests.scripts import ROOT, script

PAGES = [
    page
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    if ">>>" in page.read_text(encoding="utf-8")
]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A folder that holds examples/ as a clone does, for what the commands leave behind."""
    (tmp_path / "examples").mkdir()
    for name in ("parkinsons.csv", "parkinsons_subjects.csv"):
        shutil.copy(ROOT / "examples" / name, tmp_path / "examples")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_on_a_page_gives_what_it_says(
    page: Path, examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(examples)
    text = page.read_text(encoding="utf-8")
    assert "+SKIP" not in text
    # The fence that closes a block of code is no output.
    test = doctest.DocTestParser().get_doctest(
        re.sub(r"^```.*$", "", text, flags=re.M), {}, page.stem, str(page), 0
    )
    said: list[str] = []
    failed, tried = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert tried and not failed, "".join(said)


CODE = ["notebook.md", "own-method.md"]


def test_the_notebook_shows_what_its_cells_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_manager(), "_here", {})
    runner = script("docs/make_notebook.py")
    kept = json.loads(runner.NOTEBOOK.read_text(encoding="utf-8"))
    again = runner.executed(kept, runner.NOTEBOOK.parent)
    seconds = re.compile(r"\d[\d.e-]* s\b|seconds per split .*")

    def _page(output: dict) -> list[str]:
        return output.get("data", {}).get("text/html", [])

    def texts(notebook: dict) -> list[str]:
        found = [each for cell in notebook["cells"] for each in cell.get("outputs", [])]
        # How a data frame is shown is its library's matter, and changes with it.
        ours = [each for each in found if "dataframe" not in "".join(_page(each))]
        shown = ["".join(each.get("text") or each["data"]["text/plain"]) for each in ours]
        return [seconds.sub("…", text) for text in shown]

    assert texts(again) == texts(kept), "run: python docs/make_notebook.py"
    pictures = [each for cell in kept["cells"] for each in cell.get("outputs", [])]
    assert sum("image/png" in each.get("data", {}) for each in pictures) == 4


@pytest.mark.slow
def test_the_example_programs_are_typed_strictly() -> None:
    programs = [
        f"examples/{name}.py" for name in ("select_and_evaluate", "own_method", "typed_estimators")
    ]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", *programs],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", CODE)
def test_code_on_a_page_runs_from_top_to_bottom(
    name: str, examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(examples)
    monkeypatch.setattr(default_manager(), "_here", {})
    page = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", page)
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), vars(page))


def test_the_output_in_the_readme_is_that_of_its_command(examples: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"<!-- output: run -->\n```text\n(.*?)^```$", text, re.M | re.S)
    asked = re.search(r"<!-- ci: run -->\n```sh\n.*?fsframe (.*?)\n```", text, re.S)
    assert shown and asked
    done = fsframe(*asked[1].split(), cwd=examples)
    assert done.code == 0, done.err
    seconds = re.compile(r"\d+\.\d\d s$", re.M)
    # A line with … stands for lines that are left out.
    parts = seconds.sub("… s", shown[1]).split("…\n")
    rest = seconds.sub("… s", done.out)
    assert rest.startswith(parts[0]) and rest.endswith(parts[-1])
    for part in parts:
        _, found, rest = rest.partition(part.strip("\n"))
        assert found, part


TUTORIAL = ROOT / "docs" / "tutorial.md"
_SHOWN = re.compile(r"^```text\n(\$ fsframe .*?)^```$", re.M | re.S)
_DIFFERS = re.compile(
    r"\b[0-9.]+ (s|ms)\b|seconds per split +[0-9.]+|\b[0-9a-f]{64}\b"
    r"|\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T\S*"
)
WIDTH = 96


def on_a_screen(done: Done, folder: Path) -> str:
    """What a command prints, below a folder, wrapped as a terminal of that width does."""
    wrap = textwrap.TextWrapper(
        WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    lines = (done.out + done.err).replace(str(folder), "").splitlines()
    lines = [line for line in lines if "compiling numerical kernels" not in line]
    return "".join(
        f"{part.rstrip()}\n"
        for line in lines
        for part in ([line] if len(line) <= WIDTH else wrap.wrap(line))
    )


def without_known_warnings(printed: str, known: set[str]) -> str:
    """What a command prints, but for warnings that are known; the new ones become known."""
    parts = re.findall(r"^warning: .*\n(?:  .*\n)*|^.*\n", printed, re.M)
    kept = [part for part in parts if part not in known]
    known.update(part for part in parts if part.startswith("warning: "))
    return re.sub(r"\n\n\n+", "\n\n", "".join(kept)).rstrip("\n") + "\n"


def test_the_tutorial_shows_what_its_commands_print(examples: Path) -> None:
    """But for warnings that an earlier command has printed.

    `FSFRAME_TUTORIAL=write` writes the outputs again.
    """
    shutil.copy(ROOT / "examples" / "clinic.csv", examples / "examples")
    text = TUTORIAL.read_text(encoding="utf-8")
    shown = _SHOWN.findall(text)
    found = []
    known: set[str] = set()
    for block in shown:
        # A command may go on behind a backslash.
        command = re.match(r"\$ fsframe ((?:.*\\\n)*.*)\n", block)
        assert command
        done = fsframe(*shlex.split(command[1].replace("\\\n", " ")), cwd=examples / "examples")
        assert done.code == 0, (command[1], done.err)
        printed = without_known_warnings(on_a_screen(done, examples), known)
        found.append(f"{command[0]}{printed}")
    if os.environ.get("FSFRAME_TUTORIAL") == "write":
        for block, printed in zip(shown, found, strict=True):
            text = text.replace(block, printed)
        TUTORIAL.write_text(text, encoding="utf-8")
        shown = found
    assert len(shown) >= 8
    for block, printed in zip(shown, found, strict=True):
        assert _DIFFERS.sub("…", printed) == _DIFFERS.sub("…", block)
