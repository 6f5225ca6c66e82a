"""The page on wide tables says what its rows say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from tests.scripts import ROOT, importable

FOLDER = ROOT / "benchmarks" / "wide"


@pytest.fixture
def wide() -> Iterator[ModuleType]:
    with importable("benchmarks/wide"):
        import page

        yield page


def row(table: str, method: str, accuracy: float, **other: object) -> dict[str, str]:
    made = {
        "table": table, "rows": 60, "columns": 2000, "classes": 2, "label": "true",
        "method": method, "sizes": "30", "classifier": "knn", "balanced_accuracy": accuracy,
        "features": 30, "phi": 0.5, "similar": 0.4, "seconds": 1.0, "made": "2026-11-24",
        "version": "0.1.0",
    }  # fmt: skip
    return {name: str(value) for name, value in (made | other).items()}


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


def test_gain_is_the_difference_from_all_features_on_the_same_tables(wide: ModuleType) -> None:
    rows = [
        row("a", "all features", 0.6), row("b", "all features", 0.8), row("c", "mim", 0.9),
        row("a", "mim", 0.7), row("b", "mim", 0.8),
        row("a", "mim", 0.1, label="permuted"),
    ]  # fmt: skip
    # Table c has no baseline; labels in a random order are no gain.
    assert wide.gains(rows)["mim"] == pytest.approx({"a": 0.1, "b": 0.0})
    of_mim = next(line for line in wide.lines(rows) if line.method == "mim")
    assert (of_mim.gain, of_mim.tables) == (pytest.approx(0.05), 3)
    assert of_mim.error == pytest.approx(0.05)
    assert of_mim.permuted == pytest.approx(-0.4)
    assert wide.firsts(rows) == {"mim": 2}


def test_what_tuning_changes_is_that_of_the_same_cells(wide: ModuleType) -> None:
    fixed = [row(t, m, v) for t, m, v in (
        ("a", "all features", 0.6), ("b", "all features", 0.8), ("c", "all features", 0.5),
        ("a", "mim", 0.7), ("b", "mim", 0.8), ("c", "mim", 0.1),
    )]  # fmt: skip
    tuned = [row(t, m, v, sizes=wide.TUNED, features=10) for t, m, v in (
        ("a", "all features", 0.6), ("b", "all features", 0.8), ("a", "mim", 0.8),
        ("b", "mim", 0.84), ("a", "mrmr", 0.9),
    )]  # fmt: skip
    found = wide.with_tuned(wide.lines(fixed), fixed, tuned)
    of_mim = next(line for line in found if line.method == "mim")
    # Table c was not tuned.
    assert (of_mim.tuned, of_mim.tuned_error) == (pytest.approx(0.07), pytest.approx(0.03))
    assert (of_mim.tuned_gain, of_mim.tuned_features) == (pytest.approx(0.12), 10)
    baseline = next(line for line in found if line.method == "all features")
    assert wide.change(baseline) == "—" and wide.change(of_mim) == "+7.0±3.0"


def test_a_table_that_was_stopped_in_the_middle_does_not_count(wide: ModuleType) -> None:
    methods = list(wide.METHODS)
    whole = [row("a", method, 0.5) for method in methods]
    part = [row("b", method, 0.5) for method in methods[: len(methods) // 2]]
    tuned = [row("a", method, 0.5, sizes="10,30") for method in methods]
    assert wide.counting([*whole, *part, *tuned]) == whole


def test_a_front_holds_what_nothing_beats_in_both(wide: ModuleType) -> None:
    points = {"a": (1.0, 0.0), "b": (0.5, 0.5), "c": (0.4, 0.5), "d": (0.0, 1.0), "e": (1.0, 0.0)}
    assert wide.front(points) == ["a", "b", "d", "e"]


def test_methods_that_choose_alike_are_one_group(wide: ModuleType) -> None:
    generator = np.random.default_rng(0)
    first = generator.choice(2000, 50, replace=False)
    near = [*first[:40], *generator.choice(2000, 10, replace=False)]
    chosen = [
        {"table": "a", "method": method, "chosen": " ".join(map(str, numbers))}
        for method, numbers in (
            ("mim", first), ("mrmr", near), ("relief", generator.choice(2000, 50, replace=False)),
        )
    ]  # fmt: skip
    assert wide.groups(chosen, {"a": 2000}) == [["mim", "mrmr"]]


def test_a_method_that_would_take_too_long_is_left_out(wide: ModuleType) -> None:
    import run

    rows = [row("a", "mim", 0.9, seconds=4.0), row("a", "mim", 0.9, seconds=6.0)]
    cells = 60 * 2000
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
