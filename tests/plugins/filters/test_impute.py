"""`impute`: what is learned from whom, and that every later stage sees it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import h5py
import numpy as np
import pytest
from scipy import sparse

import fsframe
from fsframe import Chain, Dataset, Run
from fsframe.chains.audit import refit
from fsframe.errors import DataError
from fsframe.evaluation.folds import FoldTask
from fsframe.method.selection import Selection
from fsframe.method.stage_view import filled_rows
from fsframe.storage import load_run
from tests.cli.conftest import Call, call, here  # noqa: F401


def with_gaps(n: int = 60, p: int = 5, seed: int = 1) -> Dataset:
    draw = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = draw.standard_normal((n, p))
    X[:, 1] += 2 * y
    X[:, 4] = draw.integers(0, 3, n)
    X[draw.random((n, p)) < 0.15] = np.nan
    return Dataset.from_arrays(X, y, categorical=[4])


def impute(data: Dataset, **settings: object) -> Selection:
    return fsframe.selectors["impute"](**settings).select(data)


def own_fill(found: Selection, X: np.ndarray) -> np.ndarray:
    """Rows with what a stage puts in."""
    return filled_rows(X, np.arange(X.shape[1]), found.fill, found.donors)


def filled_by_hand(data: Dataset, method: str) -> Dataset:
    return attrs.evolve(data, matrix=own_fill(impute(data, method=method), data.X))


both = pytest.mark.parametrize("method", ["median", "neighbours"])


@pytest.mark.parametrize("method", ["mean", "most-frequent"])
def test_it_puts_in_what_scikit_learn_does(method: str) -> None:
    from sklearn.impute import SimpleImputer

    X = np.round(with_gaps().X, 1)
    data = Dataset.from_arrays(X, with_gaps().y)
    found = fsframe.selectors["impute"](method=method).select(data).fill
    theirs = SimpleImputer(strategy=method.replace("-", "_")).fit(X).statistics_
    np.testing.assert_allclose(found, theirs, rtol=1e-12)


def test_equally_frequent_levels_are_distinguished_by_rows_not_by_their_names() -> None:
    column = np.array([2.0, 0, 1, 2, 1, 0, np.nan, np.nan])
    for names in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        renamed = np.where(np.isnan(column), np.nan, np.array(names, float)[
            np.nan_to_num(column).astype(int)])  # fmt: skip
        data = Dataset.from_arrays(renamed[:, None], np.arange(8) % 2, categorical=[0])
        assert fsframe.selectors["impute"]().select(data).fill == [names[2]]
        # Rows 0 and 3 are not drawn: levels 0 and 1 are left, and 0 comes first.
        drawn = data.with_counts(np.array([0, 1, 1, 0, 1, 1, 1, 1]))
        assert fsframe.selectors["impute"]().select(drawn).fill == [names[0]]


def test_the_median_is_a_value_that_was_observed() -> None:
    data = Dataset.from_arrays([[1.0], [4.0], [2.0], [np.nan]], [0, 1, 0, 1])
    impute = fsframe.selectors["impute"]()
    assert impute.select(data).fill == [2.0]
    # Drawn rows count as often as they were drawn: 1, 4, 4, 4 and 1, 1, 4, 4.
    assert impute.select(data.with_counts(np.array([1, 3, 0, 1]))).fill == [4.0]
    assert impute.select(data.with_counts(np.array([2, 2, 0, 0]))).fill == [1.0]


@both
def test_later_stages_see_what_filling_by_hand_gives(method: str) -> None:
    data = with_gaps()
    filled = filled_by_hand(data, method)
    for stage in ("lfe", "immigrate", "relieff", "mim"):
        found = Chain.parse(f"impute:method={method} {stage}").select(data, run=Run(entropy=3))
        # The same random stream: that of the second stage.
        alone = fsframe.selectors[stage]().select(filled, run=Run(entropy=3).child(1))
        assert found.scores.tobytes() == alone.scores.tobytes(), stage
        assert found.selected.tolist() == alone.selected.tolist()
    # Of fewer columns too: the others still say who is near.
    chain = Chain.parse(f"impute:method={method} variance:top=2 lfe")
    few = chain.select(data, run=Run(entropy=3))
    kept = fsframe.selectors["variance"](top=2).select(filled)
    alone = fsframe.selectors["lfe"]().select(filled, kept, Run(entropy=3).child(2))
    assert few.scores.tobytes() == alone.scores.tobytes()


def test_gaps_of_columns_that_a_stage_does_not_see_do_not_matter() -> None:
    data = with_gaps()
    X = data.X.copy()
    X[:, 2] = np.nan
    kept = Chain.parse("impute lfe").select(Dataset.from_arrays(X, data.y))
    assert np.isnan(kept.scores[2]) and 2 not in kept.selected


@both
def test_each_resample_is_filled_from_its_own_rows(method: str) -> None:
    data, draw = with_gaps(), np.random.default_rng(5)
    counts = draw.multinomial(data.n_samples, np.full(data.n_samples, 1 / data.n_samples), 3)
    seen = set()
    for row, found in zip(
        counts, Chain.parse(f"impute:method={method} lfe").select_many(data, counts), strict=True
    ):
        filled = own_fill(impute(data.with_counts(row), method=method), data.X)
        seen.add(filled.tobytes())
        alone = attrs.evolve(data, matrix=filled).with_counts(row)
        expected = fsframe.selectors["lfe"]().select(alone)
        assert found.scores.tobytes() == expected.scores.tobytes()
    assert len(seen) == 3


@both
def test_nothing_is_learned_from_test_rows(method: str) -> None:
    data = with_gaps()
    train = (np.arange(data.n_samples) % 3 > 0) * 1
    base = f"impute:method={method} lfe:top=3"
    task = FoldTask(base=base, classifier="knn", all_features=True)
    first = task.select(data.with_counts(train))
    X, y = data.X.copy(), data.y.copy()
    tested = np.flatnonzero(train == 0)
    # All test rows but one become something else.
    X[tested[1:]] = np.where(np.isnan(X[tested[1:]]), 50.0, np.nan)
    y[tested[1:]] = 1 - y[tested[1:]]
    second = task.select(Dataset.from_arrays(X, y, categorical=[4]).with_counts(train))
    assert second.selected.tolist() == first.selected.tolist()
    for name in ("predicted", "class-scores", "all-features"):
        assert second.tables[name][0].tobytes() == first.tables[name][0].tobytes()
    assert (first.tables["all-features"] >= 0).all()
    # It could be seen: the numbers of all rows are others.
    whole, part = impute(data, method=method), impute(data.with_counts(train), method=method)
    assert whole.fill.tolist() != part.fill.tolist()


@both
def test_workers_files_and_resumed_runs_give_equal_bits(method: str, tmp_path: Path) -> None:
    data, out = with_gaps(40), tmp_path / "run.h5"
    chain = Chain.parse(f"impute:method={method} lfe npfs:n=6,null=published,alpha=0.3 knn")
    plain = chain.run(data, seed=2)
    with ThreadPoolExecutor(2) as pool:
        assert chain.run(data, seed=2, executor=pool).digests() == plain.digests()

    def stop(progress: object) -> None:
        if getattr(progress, "done", 0) >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        chain.run(data, seed=2, out=out, listener=stop)
    assert chain.run(data, seed=2, out=out).digests() == plain.digests()
    record, rows = load_run(out), data.X[::-1]
    fitted = chain.fit(data, seed=2)
    again = refit(record, data)
    assert again.predict_scores(rows).tobytes() == fitted.predict_scores(rows).tobytes()
    assert record.fill is not None and record.fill.tolist() == plain.fill.tolist()
    near = method == "neighbours"
    assert near == (record.donors is not None)
    with h5py.File(out) as file:
        holding = [name for name in file["stages"] if "donors" in file["stages"][name]]
    assert holding == (["00-impute"] if near else [])
    if near:
        assert record.donors.rows.tobytes() == data.X.tobytes()


@both
def test_tables_on_disk_and_sparse_ones_are_filled_as_one_in_memory(
    method: str, tmp_path: Path
) -> None:
    data = with_gaps()

    def scores(table: Dataset, stage: str) -> bytes:
        return Chain.parse(f"impute:method={method} {stage}").select(table).scores.tobytes()

    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["X"], file["y"] = data.X, data.y
    disk = fsframe.read(tmp_path / "t.h5", in_memory=False)
    memory = Dataset.from_arrays(data.X, data.y)
    assert scores(disk, "immigrate") == scores(memory, "immigrate")
    thin = np.where(np.random.default_rng(1).random(data.X.shape) < 0.7, 0.0, data.X)
    dense, packed = (Dataset.from_arrays(X, data.y) for X in (thin, sparse.csc_array(thin)))
    assert scores(packed, "mim") == scores(dense, "mim")


@pytest.mark.parametrize(
    ("first", "second"), [("median", "mean"), ("median", "neighbours"), ("neighbours", "median")]
)
def test_the_first_stage_to_fill_a_column_has_done_it(first: str, second: str) -> None:
    data = with_gaps()
    once = Chain.parse(f"impute:method={first} lfe").select(data)
    twice = Chain.parse(f"impute:method={first} impute:method={second} lfe").select(data)
    assert twice.fill is not None and twice.fill.tolist() == once.fill.tolist()
    assert twice.scores.tobytes() == once.scores.tobytes()
    assert (twice.donors is not None) == (first == "neighbours")
    if twice.donors is not None:
        assert twice.donors.rows.tobytes() == once.donors.rows.tobytes()


def test_a_fill_of_another_length_is_refused() -> None:
    wrong = Selection(selected=[0], scores=[1.0, 2.0], fill=[1.0])
    assert wrong.problems(2, 3) == ["fill has shape (1,), not (2,)"]
    infinite = Selection(selected=[0], scores=[1.0], fill=[np.inf])
    assert infinite.problems(1, 3) == ["fill holds infinite values"]


def test_a_refusal_of_gaps_names_the_stage_that_fills_them_and_methods_that_bear_them() -> None:
    with pytest.raises(DataError, match=r"`impute lfe`.*relieff"):
        fsframe.selectors["lfe"]().select(with_gaps())


def test_apply_fills_what_the_run_fills(call: Call, here: Path) -> None:  # noqa: F811
    rows = [
        f"{k},{'' if k % 4 == 0 else k % 7},{'' if k == 5 else 'uv'[k % 2]},{k % 2}"
        for k in range(24)
    ]
    (here / "gaps.csv").write_text("id,a,kind,class\n" + "\n".join(rows), encoding="utf-8")
    done = call("chain impute lfe:top=1.0 on gaps.csv --drop id --categorical kind -o run.h5")
    assert done.code == 0, done.err
    middle = sorted(k % 7 for k in range(24) if k % 4)[8]
    done = call("apply run.h5 on gaps.csv -o -")
    lines = done.out.splitlines()
    assert lines[1] == f"{middle},u,0" and lines[2] == "1,v,1" and lines[6] == "5,,1"
    assert (
        "6 missing values filled in" in done.err
        and "text columns were not filled in: kind" in done.err
    )


def test_filling_gaps_ranks_no_feature() -> None:
    columns = Chain.parse("impute mim:top=2").run(with_gaps()).feature_table().columns
    assert list(columns) == ["rank", "feature", "kept", "score"]
    # Alone, or where it leaves columns out, it is what decides.
    assert len(Chain.parse("impute").run(with_gaps()).feature_table()) == 5
