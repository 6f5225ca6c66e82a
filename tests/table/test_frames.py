"""Data frames: names, kinds, missing values and the label come with them."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy import sparse

import fsframe
from fsframe import Chain, read
from fsframe.errors import DataError, RequestError, UntidyTableError
from fsframe.sklearn import MIM
from fsframe.table import frames
from fsframe.table.dataset import Dataset
from fsframe.table.spelling.number_spellings import spelled_numbers

COLUMNS = {
    "kind": ["x", "y", "x", "y"],
    "a": [1.5, 2.0, None, 4.0],
    "n": [1, None, 3, 4],
    "flag": [True, False, True, None],
    "colour": ["red", "blue", None, "red"],
}


def _polars():
    return polars.DataFrame(COLUMNS, schema_overrides={"colour": polars.Categorical})


def _pandas():
    frame = pandas.DataFrame(COLUMNS, index=[7, 8, 9, 3])
    return frame.astype({"n": "Int64", "flag": "boolean", "colour": "category"})


def _pyarrow():
    table = pyarrow.table(COLUMNS)
    coded = table["colour"].combine_chunks().dictionary_encode()
    return table.set_column(4, "colour", coded)


@pytest.mark.parametrize("make", [_polars, _pandas, _pyarrow])
def test_a_frame_gives_names_kinds_gaps_and_the_label(make):
    data = Dataset.from_frame(make(), label="kind")
    assert data.feature_names == ("a", "n", "flag", "colour")
    assert (data.classes, data.label_name, data.y.tolist()) == (("x", "y"), "kind", [0, 1, 0, 1])
    assert data.categorical.tolist() == [False, False, False, True]
    nan = np.nan
    expected = [[1.5, 1, 1, 1], [2, nan, 0, 0], [nan, 3, 1, nan], [4, 4, nan, 1]]
    np.testing.assert_array_equal(data.X, expected)
    assert data.warnings == ("text in column 'colour' was coded: blue=0, red=1",)
    assert fsframe.read(make(), "kind").sha256 == data.sha256
    assert Dataset.from_frame(make(), 0, drop=["colour", 1]).feature_names == ("n", "flag")
    # The features alone have names and kinds, too.
    X = make().drop(["kind"]) if make is not _pandas else make().drop(columns="kind")
    again = Dataset.from_arrays(X, COLUMNS["kind"], label_name="kind")
    assert again.sha256 == data.sha256


def test_what_is_no_frame_and_dates_of_a_type_are_refused():
    with pytest.raises(DataError, match="not a pandas or polars data frame"):
        Dataset.from_frame([[1, 2]])
    columns = {"id": ["p", "q"] * 2, "day": [0, 1] * 2, "a": [1, 2] * 2, "k": [0, 1] * 2}
    frame = polars.DataFrame(columns).with_columns(polars.col("day").cast(polars.Date))
    with pytest.raises(
        DataError, match=r"row 1, column 'id': 'p' .*drop=.*; column 'day' holds dates"
    ):
        Dataset.from_frame(frame)
    data = Dataset.from_frame(frame, drop="day", categorical="id")
    assert data.X.tolist() == [[0, 1], [1, 2]] * 2


def test_sparse_columns_columns_without_values_and_arrow_categories_of_pandas_are_taken():
    kind = pandas.ArrowDtype(pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))
    frame = pandas.DataFrame(
        {
            "a": pandas.arrays.SparseArray([0.0, 0.0, 1.5, np.nan]),
            "n": pandas.arrays.SparseArray([0, 0, 2, 0]),
            "kind": pandas.Series(["x", "y", "x", None], dtype=kind),
            "k": ["u", "v", "u", "v"],
        }
    )
    data = Dataset.from_frame(frame)
    np.testing.assert_array_equal(data.X, [[0, 0, 0], [0, 0, 1], [1.5, 2, 0], [np.nan, 0, np.nan]])
    assert data.categorical.tolist() == [False, False, True]
    assert data.kinds["kind"].levels == ("x", "y")
    empty = polars.DataFrame({"a": [1, 2] * 2, "b": [None] * 4, "k": [0, 1] * 2})
    assert np.isnan(Dataset.from_frame(empty).X[:, 1]).all()


def test_columns_with_levels_of_names_are_named_by_their_tuple():
    columns = pandas.MultiIndex.from_tuples([("g", "a"), ("h", "k"), ("h", "who")])
    rows = [[0.5, "u", 1], [9, "v", 2], [1, "u", 2], [8, "v", 1]]
    frame = pandas.DataFrame(rows, columns=columns)
    data = Dataset.from_frame(frame, label=("h", "k"), groups=("h", "who"))
    assert data.feature_names == ("('g', 'a')",) and data.classes == ("u", "v")
    assert data.n_groups == 2 and data.label_name == "('h', 'k')"
    run = fsframe.select("anova-f:top=1", frame, label=("h", "k"))
    assert run.selected_names == data.feature_names
    for dropped in (("h", "who"), [("h", "who")], "('h', 'who')"):
        left = fsframe.read(frame, label=("h", "k"), drop=dropped)
        assert left.feature_names == data.feature_names
    with pytest.raises(DataError, match=r"there is no column \"\('h', 'whom'\)\""):
        fsframe.read(frame, label=("h", "k"), drop=[("h", "whom")])
    features, y = frame[[("g", "a"), ("h", "who")]], ["u", "v", "u", "v"]
    apart = fsframe.select("anova-f:top=1", features, label=y, drop=("h", "who"))
    assert apart.selected_names == data.feature_names


def test_whole_numbers_of_more_than_64_bits_are_told_apart_or_refused(tmp_path):
    numbers = [10**20 + k for k in range(4)]
    frame = polars.DataFrame({"a": numbers, "k": [*"uvuv"]}, schema_overrides={"a": polars.Int128})
    frame.write_csv(tmp_path / "table.csv")
    for table in (frame, tmp_path / "table.csv"):
        with pytest.raises(DataError, match="cannot tell 1000000000000000000"):
            fsframe.read(table, label="k")


def test_arrays_in_cells_are_not_taken_for_missing_values():
    frame = pandas.DataFrame({"a": [np.zeros(2)] * 4, "b": [1.0, 2, 4, 3], "k": [*"uvuv"]})
    with pytest.raises(UntidyTableError, match=r"column 'a': '\[0\. 0\.\]' is not a number"):
        fsframe.read(frame, label="k")


def test_what_a_masked_array_hides_is_missing():
    X = np.ma.masked_greater(np.array([[1.0, 99.0], [2, 5], [3, 4], [4, 3]]), 50)
    assert np.isnan(Dataset.from_arrays(X, [0, 1, 0, 1]).X).tolist() == [[False, True]] + 3 * [
        [False, False]
    ]
    with pytest.raises(DataError, match="row 2"):
        Dataset.from_arrays(X.data, np.ma.masked_array([0, 1, 0, 1], [0, 1, 0, 0]))
    with pytest.raises(ValueError, match="contains NaN"):
        MIM(top=1).fit(X, [0, 1, 0, 1])


def test_a_chain_runs_on_frames_and_on_a_path(tmp_path):
    frame = polars.DataFrame({"a": [0, 1] * 20, "b": [0, 0, 1, 1] * 10, "k": ["u", "v"] * 20})
    frame.write_csv(tmp_path / "t.csv")
    chain = Chain.parse("mim:top=1")
    found = [chain.run(t, label="k") for t in (frame, frame.lazy(), tmp_path / "t.csv")]
    assert [(each.selected_names, each.data.label) for each in found] == [(("a",), "k")] * 3
    assert found[0].scores.tolist() == found[1].scores.tolist() == found[2].scores.tolist()
    with pytest.raises(RequestError, match="a Dataset already has its label"):
        chain.run(Dataset.from_frame(frame), label="k")


def test_what_does_not_apply_to_a_frame_is_refused_by_name():
    frame = polars.DataFrame({"a": [0, 1], "k": ["u", "v"]})
    with pytest.raises(RequestError, match="na, x are for files, not for DataFrame"):
        fsframe.read(frame, x="/table", na="-9")
    with pytest.raises(RequestError, match="not for DataFrame"):
        fsframe.read(frame, x="layers/counts")
    with pytest.raises(RequestError, match=r"csr_array; .*Dataset.from_arrays"):
        fsframe.read(sparse.csr_array(np.eye(2)))


def test_whole_numbers_that_are_hardly_classes_are_no_classes_unless_said():
    """A disease score of 25 to 346 was taken as 214 classes, of which 84 have one member."""
    draw = np.random.default_rng(2)
    X = draw.normal(size=(90, 3))
    y = np.round(100 + 40 * X[:, 1] + draw.normal(size=90)).astype(float)
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "score": y})
    said = r"has \d+ different numbers, \d+ of them once: say whether .*task='regression'"
    with pytest.raises(DataError, match=r"a single member in label 'score': .*task='regression'"):
        Dataset.from_frame(frame, label="score")
    with pytest.raises(DataError, match=said):
        fsframe.select("mim:top=1", X, label=y)
    assert Dataset.from_arrays(X, y, task="classification").classes
    run = fsframe.select("anova-f:top=1", frame, label="score", task="regression")
    assert run.selected_names == ("b",)
    decades = np.repeat(np.arange(30.0), 3)
    (note,) = Dataset.from_arrays(X, decades).warnings
    assert note.startswith("label 'class' has 30 different numbers, taken as classes")
    assert not Dataset.from_arrays(X, decades.astype(str)).warnings


def _both(put, frame, name="t.csv"):
    """A data frame, and the text that it would be written as."""
    return frame, put(frame.write_csv(), name)


@pytest.mark.parametrize("cells", [["1", "2"], ["1", "2", "3.5"], [" 1", "2 ", "+1"]])
def test_a_label_of_text_that_is_numbers_is_read_so_as_in_a_file(put, cells):
    n = 6 * len(cells)
    frame = polars.DataFrame({"a": [0.5 * k for k in range(n)], "y": cells * 6})
    of_frame, of_file = (read(table, "y") for table in _both(put, frame))
    assert (of_frame.task, of_frame.classes) == (of_file.task, of_file.classes)
    assert of_frame.y.tolist() == of_file.y.tolist() and of_frame.sha256 == of_file.sha256
    assert "column 'y' holds text, and was read as numbers" in of_frame.warnings
    typed = read(frame.with_columns(polars.col.y.cast(polars.Categorical)), "y")
    assert typed.task == "classification" and typed.classes == tuple(sorted(map(str.strip, cells)))


def test_numbers_of_a_categorical_type_are_classes():
    frame = pandas.DataFrame({"a": range(8), "y": pandas.Categorical([0.5, 1.5] * 4)})
    assert read(frame, "y").classes == (0.5, 1.5)
    assert read(frame, "y", task="regression").y.tolist() == [0.5, 1.5] * 4


def test_spellings_of_a_class_are_merged_as_in_a_file(put):
    frame = polars.DataFrame({"a": range(8), "y": ["Yes", "no", "yes ", "no"] * 2})
    for table in _both(put, frame):
        data = read(table, "y")
        assert data.classes == ("Yes", "no")
        assert "spellings of one class were merged: 'yes' as 'Yes'" in data.warnings


@pytest.mark.parametrize("task", [None, "classification"])
def test_a_class_of_one_member_is_refused_as_in_a_file(put, task):
    frame = polars.DataFrame({"a": range(7), "y": [*"uvuvuv", "w"]})
    named = frame.to_pandas().set_index(pandas.Index([f"p{k}" for k in range(7)]))
    tables = [*_both(put, frame), named]
    for table, row in zip(tables, ["row 7", "line 8", r"row 7 \(p6\)"], strict=True):
        said = rf"classes with a single member in label 'y': w \({row}\); every class needs"
        with pytest.raises(DataError, match=said):
            read(table, "y", task=task)
    frame = frame.with_columns(a=0.5 * polars.col.a)
    with pytest.raises(DataError, match=r"\(row 7\)"):
        fsframe.select("mim", frame.select("a"), label=frame["y"].to_list())
    counts = polars.DataFrame({"a": range(7), "y": [0, 1, 1, 2, 0, 2, 9]})
    with pytest.raises(
        DataError, match="9 .*--task regression" if task is None else "merge classes$"
    ):
        read(counts, "y", task=task)


def test_words_for_a_missing_label_are_those_of_files(put):
    frame = polars.DataFrame({"a": range(8), "y": ["u", "v", "u", "v", "NA", "?", "u", "v"]})
    for table in _both(put, frame):
        with pytest.raises(DataError, match=r"the label is missing \(NA\)"):
            read(table, "y")
        data = read(table, "y", missing_label="drop")
        assert data.n_samples == 6 and data.classes == ("u", "v")
        assert "2 rows without a label left out (--missing-label drop)" in data.warnings


@pytest.mark.parametrize(
    ("cells", "classes"), [(["Yes", "no", "yes ", "no"], ("Yes", "no")), (["1", "2"] * 2, (1, 2))]
)
def test_arrays_and_parts_read_the_label_as_texts_do(tmp_path, cells, classes):
    X, y = np.arange(24.0).reshape(12, 2), np.array(cells * 3)
    np.savez(tmp_path / "t.npz", X=X, y=y)
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    names = ("t.npz", "t.csv", "t.parquet")
    tables = [*(tmp_path / name for name in names), [tmp_path / "t.parquet"], frame.lazy()]
    read_all = [read(table) for table in tables]
    assert [data.classes for data in read_all] == [classes] * 5
    assert len({tuple(data.y.tolist()) for data in read_all}) == 1
    frame[1:].with_columns(y=polars.Series(["w", *y[2:]])).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t.parquet: classes with a single member .*w \(row 1\)"):
        read([tmp_path / "t.parquet"], "y")


def test_problems_of_a_frame_are_told_together_as_those_of_a_file(put):
    frame = polars.DataFrame(
        {
            "a": [0.5, float("inf"), 1, 2, 3, 4, 5, 6],
            "t": [*"abcdefgh"],
            "day": [f"2020-01-0{k + 1}" for k in range(8)],
            "who": ["p", None, *"pqrpqr"],
            "y": [*"uvuvuv", None, "u"],
        }
    )
    for table, rows in zip(_both(put, frame), ((2, 7, 1), (3, 8, 2)), strict=True):
        with pytest.raises(UntidyTableError) as caught:
            read(table, "y", groups="who")
        group, label, text = caught.value.problem.split("\n")[:3]
        assert f" {rows[0]}, column" in group and "the group is missing; every row" in group
        assert f" {rows[1]}, column" in label and "the label is missing (empty)" in label
        assert f" {rows[2]}, column" in text and "'a' is not a number; 8 of 8 cells" in text
        assert "infinite or too large" in text and "holds dates: leave them out" in text


def test_notes_are_those_of_a_file(put):
    frame = polars.DataFrame(
        {
            "s": ["yes", "No", "yes ", "no"] * 3,
            "x": ["1.5", "NA", "?", "-2"] * 3,
            "k": ["u", " v", "v", "n/a"] * 3,
            "one": [1.0] * 12,
            "id": range(12),
            "y": ["p", "q"] * 6,
        }
    )
    of_frame, of_file = (read(table, "y", categorical="k") for table in _both(put, frame))
    assert of_frame.sha256 == of_file.sha256
    np.testing.assert_array_equal(of_frame.X[:4, 1], [1.5, np.nan, np.nan, -2])
    held = "column 'x' holds text, and was read as numbers"
    assert held in of_frame.warnings and "column 's' was read as no=0, yes=1" in of_frame.warnings
    assert [note for note in of_frame.warnings if note != held] == [*of_file.warnings]
    categories = frame.with_columns(polars.col.k.cast(polars.Categorical))
    assert read(categories, "y").kinds["k"].levels == (" v", "n/a", "u", "v")


def test_names_of_columns_of_a_frame_are_checked_as_those_of_a_file(put):
    frame = polars.DataFrame({"": range(8), "a": [3, 1, 2, 5] * 2, "y": ["u", "v"] * 4})
    # As pandas writes some of the rows, in another order.
    for table in (*_both(put, frame), *_both(put, frame[[5, 0, 3, 2, 4]])):
        data = read(table, "y")
        assert data.feature_names == ("a",)
        assert data.warnings[0].startswith("the first column has no name and holds row names")
    twice = pandas.DataFrame([[1, 2, "u"], [3, 4, "v"]] * 2, columns=["a", "a", "y"])
    with pytest.raises(UntidyTableError, match=r"names of columns: .*'a' \(columns 1, 2\)") as told:
        read(twice, "y")
    assert read(twice, "y", **told.value.ways[0]).feature_names == ("a",)


def test_durations_are_seconds_in_frames_and_files(put):
    spans = pandas.to_timedelta([90.5, None, 86400, 7], unit="s")
    frame = pandas.DataFrame({"d": spans, "b": [1, 5, 2, 3], "k": list("xyxy")})
    of_polars = polars.DataFrame(
        {"d": [None if span is pandas.NaT else span for span in spans], "b": [1, 5, 2, 3]}
    ).with_columns(k=polars.Series(list("xyxy")))
    spelled = of_polars.with_columns(polars.col.d.dt.to_string("iso"))
    given = [90.5, np.nan, 86400, 7]
    texts = frame.to_csv(index=False), spelled.write_csv()
    for table in (frame, of_polars, *(put(text, f"{k}.csv") for k, text in enumerate(texts))):
        data = read(table, "k")
        np.testing.assert_array_equal(data.X[:, 0], given)
    assert data.warnings[:1] == ("column 'd' was read as numbers of seconds",)


@pytest.mark.parametrize(
    ("cells", "seconds"),
    [
        (["2h 30m", "45 min", "1 h"], [9000, 2700, 3600]),
        (["45 min", "1 h"], [2700, 3600]),
        (["PT37M", "PT5M"], [2220, 300]),
        (["1:02:03", "0:00:10.5", "100:00:00"], [3723, 10.5, 360000]),
        (["08:30", "14:05", "23:59"], [30600, 50700, 86340]),
        (["1 day, 2:03:04", "-0:00:01", "5 days"], [93784, -1, 432000]),
        (["PT2H30M", "P1D", "PT0.25S"], [9000, 86400, 0.25]),
    ],
)
def test_spellings_of_durations(cells, seconds):
    assert spelled_numbers(cells)[0].tolist() == seconds


@pytest.mark.parametrize(
    "cells", [["1:10", "1:20", "1:40"], ["P1D", "P2D"], ["5 m", "7 s"], ["3:4", "5:1"], ["P", ""]]
)
def test_ratios_and_codes_are_no_durations(cells):
    assert spelled_numbers(cells) is None


@pytest.mark.parametrize(
    ("y", "way"),
    [(np.ones((4, 1)), r"give y\.ravel\(\)"), (np.eye(4)[:, :2], "one class or number for each")],
)
def test_labels_in_columns_are_refused_with_a_way(y, way):
    with pytest.raises(DataError, match=way):
        Dataset.from_arrays(np.eye(4), y)


def test_labels_beside_arrays_come_with_their_task_and_no_names_of_columns():
    draw = np.random.default_rng(5)
    X = draw.normal(size=(40, 3))
    y = np.round(9 * X[:, 1])
    run = fsframe.select("anova-f:top=1", X, label=y, task="regression", groups=np.arange(40) // 2)
    assert run.selected_names == ("f2",) and "40 samples in 20 groups" in str(run)
    with pytest.raises(RequestError, match="categorical= is for a data frame that also holds"):
        fsframe.select("anova-f", X, label=y, task="regression", categorical=["a"])


@pytest.mark.parametrize("home", ["pandas", "polars", "pyarrow"])
def test_labels_beside_a_frame_come_with_all_other_roles(home: str) -> None:
    draw = np.random.default_rng(5)
    n = 40
    X = polars.DataFrame({name: draw.normal(size=n) for name in "abc"} | {"class": [*"uv"] * 20})
    y = np.where(X["b"].to_numpy() > 0, "ill", "well")
    given = X if home == "polars" else X.to_arrow() if home == "pyarrow" else X.to_pandas()
    roles = {"categorical": ["class"], "drop": ["a"], "groups": np.arange(n) // 2}
    run = fsframe.select("anova-f:top=1", given, label=y, **roles)
    named = X.with_columns(polars.Series("class_", y), polars.Series("groups", np.arange(n) // 2))
    same = fsframe.read(named, label="class_", **{**roles, "groups": "groups"})
    assert run.selected_names == ("b",) and run.data.sha256 == same.sha256
    with pytest.raises(DataError, match=r"label has shape \(39,\), the table 40 rows"):
        fsframe.select("anova-f", given, label=y[1:], drop=["a"])
    with pytest.raises(DataError, match=r"shape \(40, 1\), the table 40 rows; give numpy\.ravel"):
        fsframe.select("anova-f", given, label=y[:, None], drop=["a"])


def test_what_would_settle_it_leaves_out_what_is_known_of_a_frame() -> None:
    n = 40
    frame = pandas.DataFrame(
        {
            "when": pandas.date_range("2024-01-01", periods=n),
            "share": [f"{k * 7 % 100}%" for k in range(n)],
            "sex": pandas.Categorical(["f", "m"] * (n // 2)),
            "size": pandas.Categorical([*"SMLS"] * (n // 4), [*"SML"], ordered=True),
            "place": [*"ab"] * (n // 2),
            "y": [*"uvvu"] * (n // 4),
        }
    )
    with pytest.raises(UntidyTableError) as caught:
        fsframe.read(frame, label="y")
    assert caught.value.ways == ({"drop": ["when"], "categorical": ["place"]},)
    data = fsframe.read(frame, label="y", **caught.value.ways[0])
    assert data.feature_names == ("share", "sex", "size", "place")


@pytest.mark.parametrize("library", [pandas, polars])
def test_a_frame_without_rows_is_refused(library):
    with pytest.raises(DataError, match="the frame has no rows, only names of columns"):
        fsframe.read(library.DataFrame({"a": [], "b": [], "y": []}), "y")


def test_what_settles_a_date_leaves_a_usable_batch_alone():
    days = [f"2024-01-{k + 1:02}" for k in range(24)]
    frame = polars.DataFrame({"day": days, "batch": [1, 2, 3] * 8, "site": [*"pqr"] * 8})
    frame = frame.with_columns(x=polars.Series(range(24)) * 7 % 24, y=polars.Series([0, 1] * 12))
    with pytest.raises(UntidyTableError) as refused:
        read(frame, "y")
    assert [*refused.value.ways[0]["drop"]] == ["day", "site"]
    with pytest.raises(UntidyTableError) as refused:
        read(frame.with_columns(polars.col("site").cast(polars.Categorical)), "y")
    assert [*refused.value.ways[0]["drop"]] == ["day"]


def test_the_texts_of_one_column_are_read_without_the_others(monkeypatch):
    # A list of all columns for each of them takes minutes for a few thousand.
    monkeypatch.setattr(frames, "columns_of", None)
    columns = {"a": [1, 2], "b": ["x", None]}
    for frame in (polars.DataFrame(columns), pandas.DataFrame(columns), pyarrow.table(columns)):
        assert frames.frame_texts(frame, 0) == ["1", "2"]
        assert frames.frame_texts(frame, 1)[0] == "x"


def test_what_polars_does_not_take_of_a_pyarrow_table_is_an_error_in_words():
    label = pyarrow.array(["u", "v"] * 6)
    wide = pyarrow.array([Decimal(k) for k in range(12)], pyarrow.decimal256(50, 2))
    with pytest.raises(DataError, match="the pyarrow table cannot be read: "):
        fsframe.read(pyarrow.table({"a": wide, "class": label}), label="class")
    number = pyarrow.array(range(12))
    twice = pyarrow.Table.from_arrays([number, number, label], ["a", "a", "class"])
    with pytest.raises(DataError, match="column name 'a' occurs twice in the pyarrow"):
        fsframe.read(twice, label="class")
