"""Examples in pages and on the first screen: they run, and show what the program says."""

from __future__ import annotations

import doctest
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from fsframe.registry import default_manager
from tests.command_line import fsframe

ROOT = Path(__file__).parents[2]
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
    spec = importlib.util.spec_from_file_location("runner", ROOT / "docs" / "make_notebook.py")
    assert spec is not None and spec.loader is not None
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
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
    assert seconds.sub("… s", done.out) == seconds.sub("… s", shown[1])


def test_the_commands_of_the_tutorial_run_one_after_the_other(examples: Path) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    lines = re.findall(r"^    fsframe (.*)$", text, re.M)
    # The README's own command is run above; here it runs with few resamples and the published test,
    # at the same place.
    ran, few = 0, "npfs:n=12,null=published"
    for line in lines:
        words = line.partition("#")[0].split()
        if "on" in words and not (examples / words[words.index("on") + 1]).exists():
            continue
        if words[0] == "chain" and "npfs" in words and "--help" not in words:
            words[words.index("npfs")] = few
            if "--n" in words:
                del words[words.index("--n") : words.index("--n") + 2]
        if words[0] == "chain" and "npfs:n=200" in words:
            words[words.index("npfs:n=200")] = few
        if "--help" not in words and words[0] == "chain" and "--out" not in words:
            words += ["--overwrite"]
            words += ["--out", "examples/parkinsons.immigrate-npfs.h5"] * (few in words)
        done = fsframe(*words, cwd=examples)
        assert done.code == 0, (line, done.err)
        ran += 1
    assert ran >= 10
