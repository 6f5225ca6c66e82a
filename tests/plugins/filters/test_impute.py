"""Filling gaps, and nearest neighbours: by hand, by other programs, and on new rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.impute import KNNImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import fsframe
from fsframe import Chain, Dataset, Run
from fsframe.chains.audit import refit
from fsframe.errors import DataError, RequestError, StoreError
from fsframe.evaluation.folds import FoldTask
from fsframe.method.selection import Donors, Selection
from fsframe.method.stage_view import filled_rows
from fsframe.storage import load_run, write_run
from fsframe.testing.conformance import peak_bytes
from fsframe_filters import knn as module
from fsframe_filters.knn import Knn
from tests.grids import examples
from tests.same_process import fsframe as run


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
def test_it_puts_in_what_scikit_learn_does(method):
    from sklearn.impute import SimpleImputer

    X = np.round(with_gaps().X, 1)
    data = Dataset.from_arrays(X, with_gaps().y)
    result = impute(data, method=method).fill
    theirs = SimpleImputer(strategy=method.replace("-", "_")).fit(X).statistics_
    np.testing.assert_allclose(result, theirs, rtol=1e-12)


def test_equally_frequent_levels_are_distinguished_by_rows_not_by_their_names():
    column = np.array([2.0, 0, 1, 2, 1, 0, np.nan, np.nan])
    for names in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        renamed = np.array([*names, np.nan])[np.nan_to_num(column, nan=3).astype(int)]
        data = Dataset.from_arrays(renamed[:, None], np.arange(8) % 2, categorical=[0])
        assert impute(data).fill == [names[2]]
        # Rows 0 and 3 are not drawn: levels 0 and 1 are left, and 0 comes first.
        assert impute(data.with_counts(np.array([0, 1, 1, 0, 1, 1, 1, 1]))).fill == [names[0]]


@pytest.mark.parametrize(
    ("times", "median"), [(None, 2.0), ([1, 3, 0, 1], 4.0), ([2, 2, 0, 0], 1.0)]
)
def test_the_median_is_a_value_that_was_observed_as_often_as_its_row_was_drawn(times, median):
    data = Dataset.from_arrays([[1.0], [4.0], [2.0], [np.nan]], [0, 1, 0, 1])
    drawn = data if times is None else data.with_counts(np.array(times))
    assert impute(drawn).fill == [median]


@both
def test_later_stages_see_what_filling_by_hand_gives(method):
    data = with_gaps()
    filled = filled_by_hand(data, method)
    for stage in ("lfe", "immigrate", "relieff", "mim"):
        selection = Chain.parse(f"impute:method={method} {stage}").select(data, run=Run(entropy=3))
        # The same random stream: that of the second stage.
        alone = fsframe.selectors[stage]().select(filled, run=Run(entropy=3).child(1))
        assert selection.scores.tobytes() == alone.scores.tobytes(), stage
        assert selection.selected.tolist() == alone.selected.tolist()
    # Of fewer columns too: the others still say who is near.
    chain = Chain.parse(f"impute:method={method} variance:top=2 lfe")
    few = chain.select(data, run=Run(entropy=3))
    kept = fsframe.selectors["variance"](top=2).select(filled)
    alone = fsframe.selectors["lfe"]().select(filled, kept, Run(entropy=3).child(2))
    assert few.scores.tobytes() == alone.scores.tobytes()


@both
def test_a_column_without_values_is_left_out_and_stays_empty(method):
    data = with_gaps()
    X = data.X.copy()
    X[:, 2] = np.nan
    empty = Dataset.from_arrays(X, data.y)
    result = impute(empty, method=method)
    assert np.isnan(result.fill[2]) and 2 not in result.selected
    filled = own_fill(result, X)
    assert np.isnan(filled[:, 2]).all() and not np.isnan(np.delete(filled, 2, 1)).any()
    kept = Chain.parse(f"impute:method={method} lfe").select(empty)
    assert np.isnan(kept.scores[2]) and 2 not in kept.selected


@both
def test_each_resample_is_filled_from_its_own_rows(method):
    data, draw = with_gaps(), np.random.default_rng(5)
    counts = draw.multinomial(data.n_samples, np.full(data.n_samples, 1 / data.n_samples), 3)
    many = Chain.parse(f"impute:method={method} lfe").select_many(data, counts)
    seen = set()
    for row, found in zip(counts, many, strict=True):
        filled = own_fill(impute(data.with_counts(row), method=method), data.X)
        seen.add(filled.tobytes())
        alone = attrs.evolve(data, matrix=filled).with_counts(row)
        expected = fsframe.selectors["lfe"]().select(alone)
        assert found.scores.tobytes() == expected.scores.tobytes()
    assert len(seen) == 3


@both
def test_nothing_is_learned_from_test_rows(method):
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
def test_workers_files_and_resumed_runs_give_equal_bits(method, tmp_path):
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
def test_sparse_tables_are_filled_as_dense_ones(method):
    data = with_gaps()

    def scores(table: Dataset, stage: str) -> bytes:
        return Chain.parse(f"impute:method={method} {stage}").select(table).scores.tobytes()

    thin = np.where(np.random.default_rng(1).random(data.X.shape) < 0.7, 0.0, data.X)
    dense, packed = (Dataset.from_arrays(X, data.y) for X in (thin, sparse.csc_array(thin)))
    assert scores(packed, "mim") == scores(dense, "mim")


@pytest.mark.parametrize(
    ("first", "second"), [("median", "mean"), ("median", "neighbours"), ("neighbours", "median")]
)
def test_the_first_stage_to_fill_a_column_has_done_it(first, second):
    data = with_gaps()
    once = Chain.parse(f"impute:method={first} lfe").select(data)
    twice = Chain.parse(f"impute:method={first} impute:method={second} lfe").select(data)
    assert twice.fill is not None and twice.fill.tolist() == once.fill.tolist()
    assert twice.scores.tobytes() == once.scores.tobytes()
    assert (twice.donors is not None) == (first == "neighbours")
    if twice.donors is not None:
        assert twice.donors.rows.tobytes() == once.donors.rows.tobytes()


def test_a_fill_of_another_length_is_refused():
    wrong = Selection(selected=[0], scores=[1.0, 2.0], fill=[1.0])
    assert wrong.problems(2, 3) == ["fill has shape (1,), not (2,)"]
    infinite = Selection(selected=[0], scores=[1.0], fill=[np.inf])
    assert infinite.problems(1, 3) == ["fill holds infinite values"]


def test_a_refusal_of_gaps_names_the_stage_that_fills_them_and_methods_that_bear_them():
    with pytest.raises(DataError, match=r"`impute lfe`.*relieff"):
        fsframe.selectors["lfe"]().select(with_gaps())


def test_apply_fills_what_the_run_fills(tmp_path):
    rows = [
        f"{k},{'' if k % 4 == 0 else k % 7},{'' if k == 5 else 'uv'[k % 2]},{k % 2}"
        for k in range(24)
    ]
    (tmp_path / "gaps.csv").write_text("id,a,kind,class\n" + "\n".join(rows), encoding="utf-8")
    done = run(
        "chain impute lfe:top=1.0 on gaps.csv --drop id --categorical kind -o run.h5",
        cwd=tmp_path,
        code=0,
    )
    middle = sorted(k % 7 for k in range(24) if k % 4)[8]
    done = run("apply run.h5 on gaps.csv -o -", cwd=tmp_path)
    lines = done.out.splitlines()
    assert lines[1] == f"{middle},u,0" and lines[2] == "1,v,1" and lines[6] == "5,,1"
    for told in ("6 missing values filled in", "text columns were not filled in: kind"):
        assert told in done.err


def test_filling_gaps_ranks_no_feature():
    columns = Chain.parse("impute mim:top=2").run(with_gaps()).feature_table().columns
    assert list(columns) == ["rank", "feature", "kept", "score"]
    # Alone, or where it leaves columns out, it is what decides.
    assert len(Chain.parse("impute").run(with_gaps()).feature_table()) == 5


# By neighbours: scikit-learn's KNNImputer, inside every resample and on new rows


NEAR = "impute:method=neighbours"


def parkinsons(share: float = 0.1) -> Dataset:
    data = fsframe.read(Path(__file__).parents[3] / "examples" / "parkinsons.csv")
    X = data.X.copy()
    X[np.random.default_rng(0).random(X.shape) < share] = np.nan
    return attrs.evolve(data, matrix=X)


def near(data: Dataset, **settings: object) -> Selection:
    return impute(data, method="neighbours", **settings)


@pytest.mark.parametrize("k", [1, 5, 500])
@pytest.mark.parametrize("share", [0.02, 0.4])
def test_it_is_scikit_learns_on_a_real_table(k, share):
    data = parkinsons(share)
    result = near(data, k=k, standardize=False)
    theirs = KNNImputer(n_neighbors=k).fit_transform(data.X)
    assert own_fill(result, data.X).tobytes() == theirs.tobytes()
    scaler = StandardScaler().fit(data.X)
    scaled = KNNImputer(n_neighbors=k).fit_transform(scaler.transform(data.X))
    ours = own_fill(near(data, k=k), data.X)
    np.testing.assert_allclose(ours, scaler.inverse_transform(scaled), rtol=1e-9)


def test_a_row_without_any_known_value_gets_the_columns_mean():
    data = parkinsons()
    result = near(data)
    row = np.full((1, data.n_features), np.nan)
    np.testing.assert_allclose(own_fill(result, row)[0], np.nanmean(data.X, axis=0), rtol=1e-12)
    np.testing.assert_allclose(result.fill, np.nanmean(data.X, axis=0), rtol=1e-12)


def test_whole_numbers_stay_whole_and_are_the_rounded_mean():
    draw = np.random.default_rng(4)
    X = draw.integers(0, 3, (80, 6)).astype(float)
    X[:, 5] = draw.standard_normal(80)
    X[draw.random(X.shape) < 0.1] = np.nan
    data = Dataset.from_arrays(X, np.arange(80) % 2)
    theirs = KNNImputer(n_neighbors=4).fit_transform(X)
    theirs[:, :5] = np.rint(theirs[:, :5])
    assert np.array_equal(own_fill(near(data, k=4, standardize=False), X), theirs)
    for factor in (1.0, 10.0):
        # One half is one half in any scale: 0 and 1 are as near.
        column = np.array([0, factor, np.nan, np.nan])
        tied = Dataset.from_arrays(np.column_stack([column, [1.0, 1, 1, 2]]), [0, 1, 0, 1])
        assert own_fill(near(tied, k=2), tied.X)[2, 0] == np.rint(factor / 2)


def test_levels_are_those_of_the_neighbours_whatever_they_are_called():
    draw = np.random.default_rng(2)
    kind = draw.integers(0, 3, 90)
    X = np.column_stack([kind, kind * 10 + draw.standard_normal(90), draw.integers(0, 4, 90)])
    X[draw.random(X.shape) < 0.1] = np.nan
    data = Dataset.from_arrays(X, np.arange(90) % 2, categorical=[0, 2])
    filled = own_fill(near(data), X)
    shared = ~np.isnan(X[:, 1])
    assert (filled[shared, 0] == kind[shared]).all()
    for names in ([2.0, 0, 1], [1, 2, 0]):
        renamed = X.copy()
        known = ~np.isnan(X[:, 0])
        renamed[known, 0] = np.array(names)[X[known, 0].astype(int)]
        other = Dataset.from_arrays(renamed, data.y, categorical=[0, 2])
        again = own_fill(near(other), renamed)
        assert again[:, 1:].tobytes() == filled[:, 1:].tobytes()
        assert (again[:, 0] == np.array(names)[filled[:, 0].astype(int)]).all()


def test_a_row_that_counts_twice_is_two_donors():
    data, draw = parkinsons(), np.random.default_rng(3)
    counts = draw.multinomial(data.n_samples, np.full(data.n_samples, 1 / data.n_samples))
    copies = data.take_rows(np.repeat(np.arange(data.n_samples), counts))
    drawn, copied = near(data.with_counts(counts)), near(copies)
    np.testing.assert_allclose(drawn.fill, copied.fill, rtol=1e-12)
    np.testing.assert_allclose(own_fill(drawn, data.X), own_fill(copied, data.X), rtol=1e-9)


def test_resamples_share_the_rows_of_their_donors():
    data, draw = with_gaps(), np.random.default_rng(5)
    counts = draw.multinomial(data.n_samples, np.full(data.n_samples, 1 / data.n_samples), 3)
    selections = fsframe.selectors["impute"](method="neighbours").select_many(data, counts)
    assert all(each.donors.rows is selections[0].donors.rows for each in selections)


def test_what_memory_does_not_hold_is_refused():
    with pytest.raises(RequestError, match=r"impute: neighbours among 60 × 5 values takes"):
        fsframe.selectors["impute"](method="neighbours").select(with_gaps(), run=Run(memory=20_000))


def test_infinite_values_of_new_rows_are_named():
    result = near(with_gaps())
    row = np.array([[np.nan, np.inf, 0.0, 0.0, 1.0]])
    with pytest.raises(
        DataError, match=r"which infinite values make undefined; the first is in row 1, column 2"
    ):
        own_fill(result, row)


def test_apply_and_predict_fill_row_by_row_from_the_columns_that_tell_who_is_near(tmp_path):
    rows = [f"{k},{'' if k % 4 == 0 else 2 * k + 0.5},{k % 2}" for k in range(24)]
    (tmp_path / "gaps.csv").write_text("a,b,class\n" + "\n".join(rows), encoding="utf-8")
    run(f"chain {NEAR},k=2 lfe:top=1.0 knn on gaps.csv -o run.h5", cwd=tmp_path, code=0)
    done = run("apply run.h5 on gaps.csv -o -", cwd=tmp_path, code=0)
    lines = done.out.splitlines()
    # Row 8 lies between rows 7 and 9: 14.5 and 18.5.
    assert lines[9] == "8,16.5,0" and lines[2] == "1,2.5,1", done.out
    assert "6 missing values filled in" in done.err
    done = run("predict run.h5 on gaps.csv", cwd=tmp_path, code=0)
    assert len(done.out.splitlines()) >= 24
    # With column b alone, where nothing is missing and where a row has to be near to others.
    run(f"chain {NEAR} variance:top=1 on gaps.csv -o few.h5", cwd=tmp_path, code=0)
    assert load_run(tmp_path / "few.h5").selected_names == ("b",)
    (tmp_path / "new.csv").write_text("b\n1.5\n2.5\n", encoding="utf-8")
    assert run("apply few.h5 on new.csv -o -", cwd=tmp_path).out.splitlines() == ["b", "1.5", "2.5"]
    (tmp_path / "new.csv").write_text("b,c\n1.5,1\n,1\n", encoding="utf-8")
    done = run("apply few.h5 on new.csv -o -", cwd=tmp_path)
    assert done.code != 0 and "lacks 1 of the 2 columns" in done.err and "'a'" in done.err


def test_frames_are_filled_in_their_own_kinds():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    from fsframe.sklearn import Impute

    draw = np.random.default_rng(0)
    a = draw.standard_normal(60)
    frame = pandas.DataFrame({
        "a": a, "c": 2 * a, "kind": pandas.Categorical(np.where(a > 0, "high", "low")),
        "whole": pandas.array(np.round(10 * a).astype(int), dtype="Int64"),
    })  # fmt: skip
    for place, name in enumerate(frame):
        frame.loc[draw.random(60) < 0.15 - 0.01 * place, name] = None
    y = np.arange(60) % 2
    fitted = Impute(method="neighbours").set_output(transform="pandas").fit(frame, y)
    filled = fitted.transform(frame)
    assert not filled.isna().any().any() and list(filled.dtypes) == list(frame.dtypes)
    lacking = frame["kind"].isna() & frame["c"].notna()
    assert lacking.any()
    # Rows just at the border apart, neighbours are on the same side.
    clear = lacking & (frame["c"].abs() > 0.6)
    assert (filled["kind"][clear] == np.where(a > 0, "high", "low")[clear]).all()
    other = polars.from_pandas(frame)
    fitted = Impute(method="neighbours").set_output(transform="polars").fit(other, y)
    assert fitted.transform(other)["kind"].to_list() == filled["kind"].tolist()


def test_donors_that_do_not_fit_are_refused(tmp_path):
    data = with_gaps(20)
    path = tmp_path / "sound.h5"
    Chain.parse(f"{NEAR} lfe").run(data, seed=0, out=path)
    record = load_run(path)
    donors = record.donors
    for wrong in (
        {"columns": [1, 0, 2, 3, 4]}, {"rows": donors.rows[:, :2]}, {"k": 0},
        {"times": np.full(20, -1)}, {"times": np.full(20, 1 << 40)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="donors"):
            attrs.evolve(donors, **wrong)
    lone = attrs.evolve(record.stages[1].selection, donors=donors, fill=None)
    assert "donors are there, but no fill" in lone.problems(5, 20)
    far = attrs.evolve(record.stages[0].selection, donors=donors.lift(np.arange(5) + 3))
    assert any("outside 0 … 4" in problem for problem in far.problems(5, 20))
    other = attrs.evolve(donors, k=9)
    stages = list(record.stages)
    stages[1] = attrs.evolve(stages[1], selection=attrs.evolve(stages[1].selection, donors=other))
    with pytest.raises(StoreError, match="donors came from the stage before"):
        write_run(tmp_path / "run.h5", attrs.evolve(load_run(path), stages=stages))


def test_donors_are_cut_and_lifted_with_their_columns():
    donors = Donors(
        columns=[1, 3, 4], rows=[[1.0, 2.0, 3.0]], times=[1], nominal=[False] * 3, k=1,
        standardize=True,
    )  # fmt: skip
    cut = donors.restrict(np.array([0, 3, 4]))
    assert cut.columns.tolist() == [1, 2] and cut.rows.tolist() == [[2.0, 3.0]]
    assert cut.lift(np.array([0, 3, 4])).columns.tolist() == [3, 4]
    assert donors.restrict(np.array([], dtype=np.intp)).columns.tolist() == []


# Nearest neighbours against scikit-learn's, ties, and rows that a bootstrap drew twice


def table(seed=0, n=40, p=4, n_classes=3):
    generator = np.random.default_rng(seed)
    return Dataset.from_arrays(generator.standard_normal((n, p)), np.arange(n) % n_classes)


@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from(["euclidean", "manhattan"]))
@examples(30)
def test_shares_of_votes_are_those_of_scikit_learn(seed, k, distance):
    data = table(seed)
    new = np.random.default_rng(seed + 1).standard_normal((15, 4))
    scale = StandardScaler().fit(data.X)
    theirs = KNeighborsClassifier(k, metric=distance).fit(scale.transform(data.X), data.y)
    fitted = Knn(k=k, distance=distance).fit(data)
    expected = theirs.predict_proba(scale.transform(new))
    assert fitted.predict_scores(new) == pytest.approx(expected)
    assert (fitted.predict(new) == expected.argmax(axis=1)).all()


def test_without_standardizing_the_units_decide():
    X = np.array([[0.0, 0.0], [1.0, 900.0], [0.0, 1000.0], [1.0, 100.0]])
    data = Dataset.from_arrays(X, ["a", "b", "a", "b"])
    new = [[0.0, 110.0]]
    assert Knn(standardize=False).fit(data).predict_labels(new) == ["b"]
    assert Knn(standardize=True).fit(data).predict_labels(new) == ["a"]


@pytest.mark.parametrize(
    ("k", "ties", "shares"),
    [
        (1, "index", [0, 1]),
        (1, "share", [2 / 3, 1 / 3]),
        (2, "share", [2 / 3, 1 / 3]),
        (3, "share", [2 / 3, 1 / 3]),
        (4, "share", [1 / 2, 1 / 2]),
    ],
)
def test_equally_near_rows_share_votes_or_are_taken_in_order(k, ties, shares):
    data = Dataset.from_arrays([[1.0], [-1.0], [1.0], [5.0]], ["b", "a", "a", "b"])
    scores = Knn(k=k, standardize=False, ties=ties).fit(data).predict_scores(np.zeros((1, 1)))
    np.testing.assert_allclose(scores, [shares], rtol=0, atol=1e-15)


def test_a_row_between_those_that_tie_has_its_own_vote_whole():
    counts = np.array([1, 2, 1, 1])
    data = Dataset.from_arrays([[1.0], [2.0], [-2.0], [5.0]], ["a", "b", "a", "b"])
    scores = Knn(k=2, standardize=False).fit(data.with_counts(counts)).predict_scores([[0.0]])
    # One vote is left for three copies: two of b, one of a.
    np.testing.assert_allclose(scores, [[(1 + 1 / 3) / 2, (2 / 3) / 2]], rtol=0, atol=1e-15)


def test_more_neighbours_than_rows_are_all_rows():
    data = table(n=6)
    assert Knn(k=50).fit(data).predict_scores(data.X[:1]) == pytest.approx(np.full((1, 3), 1 / 3))


def test_rows_drawn_twice_are_rows_that_stand_there_twice():
    data = table(3)
    counts = np.random.default_rng(0).integers(0, 4, data.n_samples)
    copied = data.take_rows(np.repeat(np.arange(data.n_samples), counts))
    new = np.random.default_rng(1).standard_normal((20, 4))
    for k in (1, 3, 7):
        ours = Knn(k=k).fit(data.with_counts(counts)).predict_scores(new)
        assert ours == pytest.approx(Knn(k=k).fit(copied).predict_scores(new))


@pytest.mark.parametrize("value", [7.0, 0.1, 1e149, -3e-9])
def test_a_constant_column_says_nothing_whatever_new_rows_hold_there(value):
    # The mean of forty 0.1 is not 0.1: the deviation that rounding leaves must not be divided by.
    data = table(5)
    padded = Dataset.from_arrays(np.column_stack([data.X, np.full(40, value)]), data.y)
    new = np.random.default_rng(1).standard_normal((9, 4))
    expected = Knn(k=3).fit(data).predict(new)
    for there in (value, 5.0):
        result = Knn(k=3).fit(padded).predict(np.column_stack([new, np.full(9, there)]))
        assert (result == expected).all(), there


def test_predictions_do_not_depend_on_the_blocks(monkeypatch):
    data = table(6)
    new = np.random.default_rng(1).standard_normal((31, 4))
    whole = Knn(k=5).fit(data).predict_scores(new)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * 40 * 3)
    assert Knn(k=5).fit(data).predict_scores(new).tobytes() == whole.tobytes()


def test_new_rows_are_scaled_a_block_at_a_time(monkeypatch):
    data, new = table(n=6, p=20_000), np.random.default_rng(1).standard_normal((60, 20_000))
    fitted = Knn(k=2).fit(data)
    expected = fitted.predict_scores(new)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1 << 20)
    assert np.array_equal(fitted.predict_scores(new), expected)
    # The columns that the chain kept are copied, as for every classifier.
    assert peak_bytes(lambda: fitted.predict_scores(new)) < 1.4 * new.nbytes


def test_tiny_columns_that_vary_are_not_dropped_as_constant():
    X = np.random.default_rng(0).normal(size=(30, 3)) * [2.0**-600, 1, 0]
    selection = fsframe.selectors["variance"]().select(Dataset.from_arrays(X, np.arange(30) % 2))
    assert selection.selected.tolist() == [1, 0]
