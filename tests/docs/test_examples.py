"""Examples in pages and on the first screen: they run, and show what the program says."""

from __future__ import annotations

import copy
import doctest
import json
import os
import re
import shlex
import shutil
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fsframe.registry import default_manager
from tests.command_line import Done, python
from tests.same_process import fsframe
from tests.scripts import ROOT, importable, script

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
    python("-m", "mypy", "--strict", "--follow-imports=silent", *programs, cwd=ROOT)


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
    done = fsframe(*asked[1].split(), cwd=examples, code=0)
    seconds = re.compile(r"\d+\.\d\d s$", re.M)
    # A line with … stands for lines that are left out.
    parts = seconds.sub("… s", shown[1]).split("…\n")
    rest = seconds.sub("… s", done.out)
    assert rest.startswith(parts[0]) and rest.endswith(parts[-1])
    for part in parts:
        _, found, rest = rest.partition(part.strip("\n"))
        assert found, part


def test_commands_with_the_names_of_their_run_files_are_accepted(examples: Path) -> None:
    shutil.copy(ROOT / "examples" / "parkinsons.csv", examples / "data.csv")
    text = (ROOT / "docs" / "chains.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `fsframe (.*?)` \| `data\.\S*\.h5` \|$", text, re.M)
    assert len(rows) > 2
    for row in rows:
        assert fsframe(*shlex.split(row), "--dry-run", cwd=examples).code == 0, row


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
        done = fsframe(
            *shlex.split(command[1].replace("\\\n", " ")), cwd=examples / "examples", code=0
        )
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


# The picture of the rooms is drawn from the code as it is, and no room is left out of the page


DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    module = script("docs/make_architecture.py")
    # All files are parsed once for all tests.
    result = module.rooms()
    module.rooms = lambda: copy.deepcopy(result)
    return module


def test_rooms_import_downwards_only(drawing: ModuleType) -> None:
    arrows = drawing.rooms()
    arrows.pop("fsframe")
    heights = drawing.floors(arrows)
    assert heights["registry"] == 0 < heights["table"] < heights["method"]
    assert heights["cli"] == max(heights.values())


def test_a_circle_of_rooms_is_reported(drawing: ModuleType) -> None:
    with pytest.raises(ValueError, match="a -> b -> a"):
        drawing.floors({"a": {"b"}, "b": {"a"}})


def test_the_picture_shows_the_arrows_of_today(drawing: ModuleType) -> None:
    kept = drawing.PICTURE.read_text(encoding="utf-8")
    assert kept == drawing.picture(), "run: python docs/make_architecture.py"


def test_every_room_is_on_the_page(drawing: ModuleType) -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    for room in drawing.rooms():
        assert f"`{room}`" in page or f"`{room}/" in page, room


def test_recipes_name_files_that_exist() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    recipes = page[page.index("## Recipes") :]
    places = [ROOT, ROOT / "plugins", ROOT / "fsframe"]
    named = re.findall(r"`((?:fsframe_\w+|storage|execution|cli)/[\w/]+(?:\.py|\.toml)?)`", recipes)
    assert len(named) >= 9
    for path in named:
        assert any((place / path).exists() for place in places), path


# The page of numbers says what the committed files of results say


@pytest.fixture(scope="module")
def making() -> ModuleType:
    return script("docs/make_numbers.py")


def test_the_page_is_what_the_results_say(making: ModuleType) -> None:
    said = (DOCS / "numbers.md").read_text(encoding="utf-8")
    assert said == making.numbers(), "run python docs/make_numbers.py"


def test_every_figure_has_its_file_and_its_script(making: ModuleType) -> None:
    for figures in making.FIGURES.values():
        for figure in figures:
            for word in figure.command.split():
                if word.endswith(".py"):
                    assert (ROOT / word).is_file(), word
            assert set(figure.files) <= set(making.results())


def test_chains_with_unequal_digests_are_named(making: ModuleType, tmp_path: Path) -> None:
    digests = tmp_path / "digests.csv"
    digests.write_text(
        "chain,way,table,draws,equal\nmim,alone,classes,0,3 of 3\nbim,alone,classes,6,2 of 3\n"
    )
    shown = list(making.equal_digests(digests))
    assert "|alone|classes|2|1|1|" in shown and "* bim: 2 of 3 equal" in shown


# The page on wide tables says what its rows say


FOLDER = ROOT / "benchmarks" / "wide"


@pytest.fixture
def wide() -> Iterator[ModuleType]:
    with importable("benchmarks/wide"):
        import page

        yield page


def test_the_page_agrees_with_its_rows(wide: ModuleType) -> None:
    rows = wide.read(FOLDER / "results" / "wide.csv")
    made = wide.page(rows, wide.read(FOLDER / "results" / "chosen.csv"))
    assert wide.PAGE.read_text(encoding="utf-8") == made, "python benchmarks/wide/page.py"
    words = [line for line in made.splitlines() if not line.startswith("|--")]
    assert len(" ".join(words).replace("|", " ").split()) <= 900
    assert (ROOT / "docs" / wide.PICTURE).exists()


def test_each_row_is_one_cell_of_a_table_method_and_classifier(wide: ModuleType) -> None:
    rows = wide.read(FOLDER / "results" / "wide.csv")
    keys = [tuple(r[c] for c in ("table", "label", "method", "sizes", "classifier")) for r in rows]
    assert len(keys) == len(set(keys))
    assert {r["table"] for r in rows} <= set(wide.TABLES)
    assert all(0 <= float(r["balanced_accuracy"]) <= 1 for r in rows)


def test_a_front_holds_what_nothing_beats_in_both(wide: ModuleType) -> None:
    points = {"a": (1.0, 0.0), "b": (0.5, 0.5), "c": (0.4, 0.5), "d": (0.0, 1.0), "e": (1.0, 0.0)}
    assert wide.front(points) == ["a", "b", "d", "e"]


def test_a_method_that_would_take_too_long_is_left_out(wide: ModuleType) -> None:
    import run

    cells = 60 * 2000
    row = {"table": "a", "rows": "60", "columns": "2000", "label": "true", "method": "mim"}
    rows = [row | {"sizes": "30", "seconds": seconds} for seconds in ("4.0", "6.0")]
    assert not run.too_dear(rows, "mim", "true", "30", 5 * cells, 60.0)
    assert run.too_dear(rows, "mim", "true", "30", 7 * cells, 60.0)
    assert not run.too_dear(rows, "mrmr", "true", "30", 7 * cells, 60.0)
    assert not run.too_dear(rows, "mim", "permuted", "30", 7 * cells, 60.0)


def test_stability_is_that_of_the_metric_with_all_similarities(wide: ModuleType) -> None:
    import run

    import fsframe

    generator = np.random.default_rng(2)
    X = generator.normal(size=(40, 12))
    X[:, 6:] = X[:, :6] + 0.2 * generator.normal(size=(40, 6))
    X[:, 3] = 1.0
    kept = generator.random((5, 12)) < 0.4
    with np.errstate(invalid="ignore"):
        alike = np.nan_to_num(np.abs(np.corrcoef(X, rowvar=False)))
    np.fill_diagonal(alike, 1.0)
    metric = fsframe.stability_metrics["zucknick-corrected"](impute=0.0)
    assert run.similar(kept, run.similarity(X)) == pytest.approx(
        float(metric(kept, np.minimum(alike, 1.0)).value), abs=1e-6
    )


def test_the_readme_cites_the_page(wide: ModuleType) -> None:
    page = wide.PAGE.read_text(encoding="utf-8")
    said = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    gains = {
        method: re.search(rf"^\|{method}\|\+(\S+?)\|", page, re.MULTILINE)[1]
        for method in ("elastic-net", "anova-f")
    }
    assert f"`elastic-net` gains {gains['elastic-net']} points" in said
    assert f"`anova-f` {gains['anova-f']};" in said
    tables = re.search(r"(\d+) of 17 tables", page)[1]
    assert f"Over {tables} wide tables" in said and "With `svm` all features are best" in page
