"""`impute:method=neighbours`: scikit-learn's KNNImputer, inside every resample and on new rows."""

from __future__ import annotations

from pathlib import Path

import attrs
import numpy as np
import pytest
from sklearn.impute import KNNImputer
from sklearn.preprocessing import StandardScaler

import fsframe
from fsframe import Chain, Dataset, Run
from fsframe.errors import DataError, PluginError, RequestError, StoreError
from fsframe.method.selection import Donors, Selection
from fsframe.storage import load_run, write_run
from fsframe.testing.tables import assert_equal
from tests.cli.conftest import Call, call, here  # noqa: F401
from tests.plugins.filters.test_impute import impute, own_fill, with_gaps

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
def test_it_is_scikit_learns_on_a_real_table(k: int, share: float) -> None:
    data = parkinsons(share)
    found = near(data, k=k, standardize=False)
    theirs = KNNImputer(n_neighbors=k).fit_transform(data.X)
    assert own_fill(found, data.X).tobytes() == theirs.tobytes()
    scaler = StandardScaler().fit(data.X)
    scaled = KNNImputer(n_neighbors=k).fit_transform(scaler.transform(data.X))
    ours = own_fill(near(data, k=k), data.X)
    np.testing.assert_allclose(ours, scaler.inverse_transform(scaled), rtol=1e-9)


def test_a_row_without_any_known_value_gets_the_columns_mean() -> None:
    data = parkinsons()
    found = near(data)
    row = np.full((1, data.n_features), np.nan)
    np.testing.assert_allclose(own_fill(found, row)[0], np.nanmean(data.X, axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.fill, np.nanmean(data.X, axis=0), rtol=1e-12)


def test_rows_are_filled_as_they_are_alone() -> None:
    data = parkinsons()
    found = near(data)
    whole = own_fill(found, data.X)
    for row in range(0, data.n_samples, 7):
        np.testing.assert_allclose(own_fill(found, data.X[[row]])[0], whole[row], rtol=1e-12)


def test_whole_numbers_stay_whole_and_are_the_rounded_mean() -> None:
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


def test_levels_are_those_of_the_neighbours_whatever_they_are_called() -> None:
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


def test_a_row_that_counts_twice_is_two_donors() -> None:
    data, draw = parkinsons(), np.random.default_rng(3)
    counts = draw.multinomial(data.n_samples, np.full(data.n_samples, 1 / data.n_samples))
    copies = data.take_rows(np.repeat(np.arange(data.n_samples), counts))
    drawn, copied = near(data.with_counts(counts)), near(copies)
    np.testing.assert_allclose(drawn.fill, copied.fill, rtol=1e-12)
    np.testing.assert_allclose(own_fill(drawn, data.X), own_fill(copied, data.X), rtol=1e-9)


def test_resamples_share_the_rows_of_their_donors() -> None:
    data, draw = with_gaps(), np.random.default_rng(5)
    counts = draw.multinomial(data.n_samples, np.full(data.n_samples, 1 / data.n_samples), 3)
    found = fsframe.selectors["impute"](method="neighbours").select_many(data, counts)
    assert all(each.donors.rows is found[0].donors.rows for each in found)


@pytest.mark.parametrize("method", ["median", "mean", "most-frequent"])
def test_many_resamples_are_filled_as_one_by_one(method: str) -> None:
    data, draw = with_gaps(), np.random.default_rng(6)
    counts = draw.multinomial(data.n_samples, np.full(data.n_samples, 1 / data.n_samples), 20)
    impute = fsframe.selectors["impute"](method=method)
    for row, found in zip(counts, impute.select_many(data, counts), strict=True):
        assert_equal(found, impute.select(data.with_counts(row)), method)


def test_a_column_without_values_is_left_out_and_stays_empty() -> None:
    data = with_gaps()
    X = data.X.copy()
    X[:, 2] = np.nan
    found = near(Dataset.from_arrays(X, data.y))
    assert np.isnan(found.fill[2]) and 2 not in found.selected
    filled = own_fill(found, X)
    assert np.isnan(filled[:, 2]).all() and not np.isnan(np.delete(filled, 2, 1)).any()


def test_what_memory_does_not_hold_is_refused() -> None:
    with pytest.raises(RequestError, match=r"impute: neighbours among 60 × 5 values takes"):
        fsframe.selectors["impute"](method="neighbours").select(with_gaps(), run=Run(memory=20_000))


def test_infinite_values_of_new_rows_are_named() -> None:
    found = near(with_gaps())
    row = np.array([[np.nan, np.inf, 0.0, 0.0, 1.0]])
    with pytest.raises(
        DataError, match=r"which infinite values make undefined; the first is in row 1, column 2"
    ):
        own_fill(found, row)


def test_apply_and_predict_fill_row_by_row(call: Call, here: Path) -> None:  # noqa: F811
    rows = [f"{k},{'' if k % 4 == 0 else 2 * k + 0.5},{k % 2}" for k in range(24)]
    (here / "gaps.csv").write_text("a,b,class\n" + "\n".join(rows), encoding="utf-8")
    done = call(f"chain {NEAR},k=2 lfe:top=1.0 knn on gaps.csv -o run.h5")
    assert done.code == 0, done.err
    done = call("apply run.h5 on gaps.csv -o -")
    lines = done.out.splitlines()
    # Row 8 lies between rows 7 and 9: 14.5 and 18.5.
    assert lines[9] == "8,16.5,0" and lines[2] == "1,2.5,1", done.out
    assert "6 missing values filled in" in done.err
    done = call("predict run.h5 on gaps.csv")
    assert done.code == 0 and len(done.out.splitlines()) >= 24, done.err


def test_apply_asks_for_the_columns_that_tell_who_is_near(
    call: Call,  # noqa: F811
    here: Path,  # noqa: F811
) -> None:
    rows = [f"{k % 5},{'' if k % 4 == 0 else k % 2 + k / 100},{k % 2}" for k in range(24)]
    (here / "gaps.csv").write_text("a,b,class\n" + "\n".join(rows), encoding="utf-8")
    done = call(f"chain {NEAR} mim:top=1 on gaps.csv -o run.h5")
    assert done.code == 0 and load_run(here / "run.h5").selected_names == ("b",), done.err
    (here / "new.csv").write_text("b\n1.5\n2.5\n", encoding="utf-8")
    assert call("apply run.h5 on new.csv -o -").out.splitlines() == ["b", "1.5", "2.5"]
    (here / "new.csv").write_text("b,c\n1.5,1\n,1\n", encoding="utf-8")
    done = call("apply run.h5 on new.csv -o -")
    assert done.code != 0 and "lacks 1 of the 2 columns" in done.err and "'a'" in done.err


def test_frames_are_filled_in_their_own_kinds() -> None:
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
    found = Impute(method="neighbours").set_output(transform="pandas").fit(frame, y)
    filled = found.transform(frame)
    assert not filled.isna().any().any() and list(filled.dtypes) == list(frame.dtypes)
    lacking = frame["kind"].isna() & frame["c"].notna()
    assert lacking.any()
    # Rows just at the border apart, neighbours are on the same side.
    clear = lacking & (frame["c"].abs() > 0.6)
    assert (filled["kind"][clear] == np.where(a > 0, "high", "low")[clear]).all()
    other = polars.from_pandas(frame)
    found = Impute(method="neighbours").set_output(transform="polars").fit(other, y)
    assert found.transform(other)["kind"].to_list() == filled["kind"].tolist()
    plain = frame.drop(columns="kind").astype(float).to_numpy()
    theirs = Impute(method="neighbours", standardize=False).fit(plain, y).transform(plain)
    expected = KNNImputer().fit_transform(plain)
    expected[:, 2] = np.rint(expected[:, 2])
    assert theirs.tobytes() == expected.tobytes()


def test_donors_that_do_not_fit_are_refused(tmp_path: Path) -> None:
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


def test_donors_are_cut_and_lifted_with_their_columns() -> None:
    donors = Donors(
        columns=[1, 3, 4], rows=[[1.0, 2.0, 3.0]], times=[1], nominal=[False] * 3, k=1,
        standardize=True,
    )  # fmt: skip
    cut = donors.restrict(np.array([0, 3, 4]))
    assert cut.columns.tolist() == [1, 2] and cut.rows.tolist() == [[2.0, 3.0]]
    assert cut.lift(np.array([0, 3, 4])).columns.tolist() == [3, 4]
    assert donors.restrict(np.array([], dtype=np.intp)).columns.tolist() == []


def test_an_import_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    plain = builtins.__import__

    def without(name: str, *args: object, **kwargs: object) -> object:
        if name.partition(".")[0] == "sklearn":
            raise ImportError("No module named 'sklearn'")
        return plain(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(PluginError, match=r"pip install scikit-learn"):
        near(with_gaps())
