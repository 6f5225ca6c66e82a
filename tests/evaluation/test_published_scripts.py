"""The machinery of benchmarks/published: repetitions that add up, an order of work, reasons."""

from __future__ import annotations

import re
from types import SimpleNamespace

import attrs
import numpy as np
import pytest

import fsframe
from tests.evaluation.tables import separated, write_csv
from tests.scripts import ROOT, importable

RESULTS = ROOT / "benchmarks" / "published" / "results"


@pytest.fixture(scope="module", autouse=True)
def scripts():
    """The folder's modules can be imported, as when one of them is run."""
    with importable("benchmarks/published"):
        yield


@pytest.fixture
def bench(tmp_path):
    from cells import Bench

    write_csv(tmp_path / "toy.csv", separated(30, 2, signal=[1.0, 1.0]))
    return Bench(data=tmp_path, work=tmp_path / "work")


def test_repetitions_add_up_are_never_computed_twice_and_end_at_the_deadline(bench, monkeypatch):
    from cells import OutOfTime

    table = bench.table("toy")
    base = "relieff:top=1 knn"
    singles = [bench.repetition(base, table, seed, folds=3).stages[-1].selection for seed in (0, 1)]
    monkeypatch.setattr(fsframe.Chain, "run", lambda *_, **__: pytest.fail("computed again"))
    late = attrs.evolve(bench, deadline=0.0)
    found, selection = late.evaluate(base, table, 2, folds=3)
    assert bench.finished(base, table, folds=3) == 2
    assert found.n_splits == 6 and found.measures["accuracy"].values.size == 6
    for name in ("fold", "predicted", "kept"):
        parts = np.concatenate([single.tables[name] for single in singles])
        assert (selection.tables[name] == parts).all()
    assert not (singles[0].tables["fold"] == singles[1].tables["fold"]).all()
    with pytest.raises(OutOfTime):
        late.evaluate(base, table, 3, folds=3)


def test_the_cheapest_knowledge_comes_first(monkeypatch):
    import cells

    order = []

    class Recorder:
        def repetition(self, base, table, seed):
            order.append((base, seed))

    # Nothing takes any time here, so that after its first repetition a cell costs the least.
    work = [cells.Cell("dear", None, 0, 100.0), cells.Cell("cheap", None, 1, 2.0)]
    cells.grow(Recorder(), work, 2)
    assert order == [("cheap", 1), ("dear", 0), ("dear", 1)]
    assert cells.Cell("x", None, 2, 3.0).claim == 18.0
    assert cells.Cell("x", None, 0, 40.0).claim == cells.Cell("x", None, 1, 2.0).claim


def test_the_error_of_folds_is_that_of_a_difference_to_ten_repetitions():
    from margin_tables import fold_error, verdict

    values = np.repeat([0.80, 0.84, 0.82], 10)  # means of repetitions: deviation 2 points
    assert fold_error(values) == pytest.approx(2.0 * np.sqrt(1 / 3 + 1 / 10))
    alone = np.tile([0.7, 0.9], 5)
    expected = 100 * alone.std(ddof=1) / np.sqrt(10) * np.sqrt(1 + 1 / 10)
    assert fold_error(alone) == pytest.approx(expected)
    # Nothing is equal where the table cannot tell.
    assert [verdict(d, e) for d, e in ((0.5, 0.4), (0.5, 3.0), (3.0, 0.4), (-3.0, 0.4))] == [
        "equal", "cannot tell", "above", "below",
    ]  # fmt: skip


def test_the_reasons_told_are_those_that_the_stored_results_bear_out():
    from margin_gaps import IM4E_SETS, Evidence, explained, rows_of, screen

    told = rows_of(RESULTS / "margin-why.csv")
    figures = rows_of(RESULTS / "margin.csv")
    names = ("margin-settings", "margin-coding", "im4e-settings", "bim-settings")
    others = [rows_of(RESULTS / f"{name}.csv") for name in names]
    no_data = SimpleNamespace(has=lambda name: False)
    evidence = Evidence(figures, *others, no_data)
    # Without the tables, the shares of their larger classes are those that the page names.
    for row in told:
        if share := re.search(r"the larger class \(([\d.]+)\)", row["observed"]):
            evidence.majority[IM4E_SETS.get(row["set"], row["set"])] = float(share[1])
    assert [*explained(figures, evidence)] == [[*row.values()] for row in told]
    # Of no stored figure is the screen the reason.
    near = {"set": "COL", "method": "3NN", "published %": 74.0, "difference": 6.0}
    assert screen(near, evidence).startswith("the screen of 500 genes")


def test_a_table_grows_and_stored_figures_keep_their_day_and_code(tmp_path, monkeypatch, capsys):
    import result_tables

    old = ["set,method,here %,repeats,made,code", "CRY,1NN,89.0,10,2026-11-21,01234567",
           "WIN,3NN,,1,2026-11-21,0"]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(old) + "\n")
    monkeypatch.setattr(result_tables, "today_utc", lambda: "2026-12-01")
    monkeypatch.setattr(result_tables, "code_digest", lambda: "89abcdef")
    columns = ["set", "method", "here %", "repeats"]

    def grown(*rows, columns=columns):
        return result_tables.grown(tmp_path, "t", columns, [*map(list, rows)], key=2)

    stored, empty = (["CRY", "1NN", 89.0, 10, "2026-11-21", "01234567"],
                     ["WIN", "3NN", None, 1, "2026-11-21", "0"])  # fmt: skip
    header, rows = grown(("CRY", "3NN", 86.2, 3), ("WIN", "3NN", 96.5, 3))
    assert header == [*columns, "made", "code"]
    assert rows == [
        stored,
        ["WIN", "3NN", 96.5, 3, "2026-12-01", "89abcdef"],
        ["CRY", "3NN", 86.2, 3, "2026-12-01", "89abcdef"],
    ]
    # What has not changed is not dated anew, and fewer repetitions never replace more.
    assert grown(("CRY", "1NN", 89.0, 10))[1] == [stored, empty]
    assert grown(("CRY", "1NN", 91.0, 1))[1] == [stored, empty]
    assert "CRY, 1NN: the stored row has more repetitions" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="has the columns"):
        grown(columns=["set", "here %"])


def test_a_pairwise_lasso_finds_a_product_and_takes_two_classes_only():
    from pairwise_lasso import PairwiseLasso

    generator = np.random.default_rng(0)
    X = generator.normal(size=(120, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    fitted = PairwiseLasso(random_state=0).fit(X, y)
    assert (fitted.predict(X) == y).mean() > 0.9
    assert fitted.predict_proba(X).shape == (120, 2)
    weights = np.abs(fitted.pipeline_[-1].coef_[0])
    assert weights.argmax() == 5 and weights.size == 14  # 4 columns, 10 products with squares
    assert PairwiseLasso(squares=False).fit(X, y).pipeline_[-1].coef_.size == 10
    with pytest.raises(ValueError, match="two classes"):
        PairwiseLasso().fit(X, np.arange(120) % 3)
