"""Every way a table can be wrong is told in one message that says where."""

from __future__ import annotations

import gzip
from pathlib import Path
from unittest import mock

import numpy as np
import polars
import pytest

import fsframe
from fsframe import Dataset
from fsframe.chains.chain import Chain
from fsframe.errors import DataError, RequestError
from fsframe.show.inspection import inspect_table
from fsframe.table.read import read
from fsframe.table.reader import find_table
from tests.same_process import fsframe as run

GOOD = "a,b,class\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n"


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["is empty"]),
        ("\n  \n", ["is empty"]),
        ("a,b,class\n", ["line of names and no rows"]),
        ("a\n1\n2\n", ["line 1", "one column only"]),
        ("a,b,class\n1,2,x\n3,oops,y\n5,6,x\n", ["line 3, column 2 (b)", "'oops' is not a number"]),
        ("a,b,class\n1,2,x\n3,4\n5,6,x\n", ["line 3 has 2 fields", "line of names has 3"]),
        ("a,b,class\n1,2,x\n3,4,y,\n5,6,x\n", ["line 3 has 4 fields", "ends in a comma"]),
        ("a,b,class\n1,2,x\n\n5,6,x\n", ["line 3 is blank"]),
        ("a,b,class\n1,2,x\n3,4\n   \n5,6,x\n", ["line 3 has 2 fields"]),
        ("a,b,class\n1,2,x\n   \n5,6\n", ["line 3 is blank"]),
        ("a,a,class\n1,2,x\n3,4,y\n", ["'a' (columns 1, 2)", "more than once"]),
        ("a,,class\n1,2,x\n3,4,y\n1,2,x\n3,4,y\n", ["no name for column 2"]),
        (",a,class\n1,2,x\n1,4,y\n", ["no name for column 1", "--drop 1"]),
        ("a,b,class\n1,2,x\n3,4,\n5,6,y\n", ["line 3, column 3 (class)", "label is missing"]),
        ("a,b,class\n1,2,x\n3,4,NA\n5,6,y\n", ["line 3", "label is missing (NA)"]),
        ("a,b,class\n1,2,1\n3,4,inf\n5,6,2\n", ["line 3", "label is infinite"]),
        ("a,b,class\n1,2,x\n3,4,x\n5,6,x\n", ["one class only, x, in all 3 rows"]),
        ("a,b,class\n1,2,x\n3,4,y\n5,6,x\n", ["single member", "y (line 3)"]),
        ("a,b,class\n1,2,x\n3,inf,y\n5,-inf,x\n", ["line 3, column 2 (b)", "infinite"]),
        ("a,b,class\n1,2,x\n3,1e999,y\n5,6,x\n7,8,y\n", ["line 3, column 2 (b)", "too large"]),
        ('a,b,class\n1,2,x\n3,"4,y\n5,6,x\n', ["line 3", "never closed"]),
        ('a,b,class\n1,2,x\n"3\n",z,y\n5,6,x\n7,8,y\n', ["line 3, column 2 (b)", "'z'"]),
        ('a,b,class\n"1\n",2,x\n3,oops,y\n5,6,x\n7,8,y\n', ["line 4, column 2 (b)", "'oops'"]),
        ("a;b;class\n1,5;2;x\n3.5;4;y\n", ["line 2, column 1 (a)", "decimals with a point"]),
        ("a,b,class\n1,5,2,x\n3,5,4,y\n", ["line 2 has 4 fields", "decimal"]),
        ("a,b,class\nu,2,x\nv,4,y\nw,6,x\n", ["column 1 (a)", "3 of 3 cells", "categorical"]),
        ("a,b,class\n1_0,2,x\n3,4,y\n", ["'1_0' is not a number"]),
        ("a,b,class\n0x10,2,x\n3,4,y\n", ["'0x10' is not a number"]),
        ("a,b,class\n١,2,x\n3,4,y\n5,6,x\n", ["'١' is not a number"]),
        (b"a,b,class\n1,2,x\n3,4,caf\xe9\n", ["line 3, character 8", "0xe9", "Latin-1"]),
        (GOOD.encode("utf-16")[:-1], ["utf-16", "truncated"]),
        (b"a,b,class\n1,\x002,x\n", ["line 2", "NUL"]),
        (b"PK\x03\x04rest", ["zip archive or a spreadsheet"]),
        (b"\x89HDF\r\n\x1a\nrest", ["HDF5"]),
        (b"PAR1rest", ["Parquet"]),
        (b"%PDF-1.7" + GOOD.encode(), ["PDF"]),
        (b"\x89PNG\r\n" + GOOD.encode(), ["picture"]),
    ],
)
def test_a_wrong_table_is_reported_with_its_place(put, content, parts):
    path = put(content)
    with pytest.raises(DataError) as caught:
        read(path)
    message = str(caught.value)
    assert str(path) in message
    assert [part for part in parts if part not in message] == []


def test_the_first_wrong_cell_is_found_after_missing_ones_and_others_are_counted(put):
    text = "a,b,class\nNA,2,x\n3,4,y\n?,low,x\n7,high,y\n9,1,x\n8,1,x\n"
    with pytest.raises(DataError, match=r"line 4, column 2 \(b\): 'low' .* so are 1 more cells"):
        read(put(text))


def test_lines_are_counted_as_an_editor_counts_them(put):
    text = '\n"long\nname",b,class\n1,2,x\n3,4,y\n5,bad,x\n7,8,y\n'
    with pytest.raises(DataError, match="line 6, column 2"):
        read(put(text))


@pytest.mark.parametrize(
    ("options", "error", "parts"),
    [
        ({"label": "clas"}, DataError, ["no column 'clas'", "Did you mean `class`"]),
        ({"label": 3}, DataError, ["no column number 4 (position 3)", "has 3"]),
        ({"drop": ["zzz"]}, DataError, ["column to drop", "'zzz'"]),
        ({"drop": "class", "label": "class"}, DataError, ["is the label and cannot be dropped"]),
        ({"drop": ["a", "b"]}, DataError, ["1 column to use"]),
        ({"categorical": "class"}, DataError, ["is the label"]),
        ({"task": "regression"}, DataError, ["line 2", "'x' is not a number", "regression"]),
        ({"task": "clustering"}, RequestError, ["clustering"]),
        ({"delimiter": "ab"}, RequestError, ["one character"]),
        ({"delimiter": "|"}, DataError, ["1 column to use"]),
    ],
)
def test_a_wrong_argument_is_reported(put, options, error, parts):
    with pytest.raises(error) as caught:
        read(put(GOOD), **options)
    assert [part for part in parts if part not in str(caught.value)] == []


def test_a_target_that_never_changes_is_refused(put):
    with pytest.raises(DataError, match="one value only"):
        read(put("a,c\n1,0.5\n2,0.5\n"), task="regression")


@pytest.mark.parametrize("cut", [3, 15, 30, -1, -4, -8, -9])
def test_a_gzip_file_cut_short_is_reported(put, cut):
    packed = gzip.compress(GOOD.encode() * 3)
    with pytest.raises(DataError, match=r"cut short|damaged"):
        read(put(packed[:cut], "t.csv"))


def test_a_damaged_gzip_file_is_reported_and_a_false_ending_too(tmp_path):
    packed = bytearray(gzip.compress(GOOD.encode()))
    packed[-6] ^= 1
    (tmp_path / "t.csv.gz").write_bytes(packed)
    with pytest.raises(DataError, match="damaged"):
        read(tmp_path / "t.csv.gz")
    (tmp_path / "u.csv.gz").write_text(GOOD)
    with pytest.raises(DataError, match="not gzipped"):
        read(tmp_path / "u.csv.gz")


def test_missing_files_are_reported_with_near_names(put, tmp_path):
    put(GOOD, "parkinsons.csv")
    with pytest.raises(DataError, match=r"Did you mean `parkinsons\.csv`"):
        read(tmp_path / "parkinson.csv")
    with pytest.raises(DataError, match=r"holds parkinsons\.csv"):
        read(tmp_path / "wildly-different")
    with pytest.raises(DataError, match="there is no folder"):
        read(tmp_path / "nowhere" / "t.csv")
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path)


def test_a_name_without_ending_is_found_when_one_file_matches(put, tmp_path):
    put(GOOD, "table.csv")
    put(GOOD, "table.immigrate.h5")
    assert read(tmp_path / "table").n_samples == 4
    put(GOOD, "table.tsv")
    with pytest.raises(DataError, match=r"several files: table\.csv, table\.tsv"):
        find_table(tmp_path / "table")


@pytest.mark.parametrize("name", ["data", "table.dat", "table.xlsx", "a.b.c", "-x"])
def test_the_content_decides_what_a_file_is(put, name):
    assert read(put(GOOD, name)).n_samples == 4


def test_an_unreadable_file_is_reported(put, monkeypatch):
    path = put(GOOD)
    refuse = mock.Mock(side_effect=PermissionError(13, "Permission denied"))
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(DataError, match="Permission denied"):
        read(path)


# Everything that is refused about columns and their roles is told at once, with the option that


WRONG = {"drop": ["zz", "who"], "groups": "qq", "weight": "ww", "keep": "kk", "label": "ll"}


def table(tmp_path, form: str):
    """A small table as a path or frame of some form."""
    frame = polars.DataFrame(
        {"a": [0.5, 1, 2, 3], "b": [1, 2, 0, 5], "who": [1, 1, 2, 2], "k": [0, 1, 0, 1]}
    )
    if form == "frame":
        return frame
    path = tmp_path / f"t.{form}"
    if form == "csv":
        frame.write_csv(path)
    elif form == "parquet":
        frame.write_parquet(path)
    else:
        np.savez(path, X=frame.to_numpy()[:, :3], y=frame["k"], feature_names=["a", "b", "who"])
    return path


@pytest.mark.parametrize("form", ["csv", "parquet", "frame", "npz"])
def test_columns_that_are_not_there_are_reported_for_all_roles(tmp_path, form: str) -> None:
    with pytest.raises(DataError) as caught:
        fsframe.read(table(tmp_path, form), **WRONG)
    lines = str(caught.value).splitlines()
    assert len(lines) == 5
    for name in ("zz", "qq", "ww", "kk", "ll"):
        assert sum(f"'{name}'" in line for line in lines) == 1


@pytest.mark.parametrize("form", ["csv", "parquet", "frame", "npz"])
def test_two_roles_of_one_column_are_reported_for_all_columns(tmp_path, form: str) -> None:
    label = "y" if form == "npz" else "k"
    with pytest.raises(DataError) as caught:
        fsframe.read(table(tmp_path, form), label=label, drop="a", keep="a", time="b", adjust="b",
                     groups=label)  # fmt: skip
    text = str(caught.value)
    assert "is the label and cannot name groups (--groups)" in text
    assert "is left out (--drop) and cannot be kept (--keep)" in text
    assert "is the time (--time) and cannot be a covariate (--adjust)" in text


@pytest.mark.parametrize("form", ["csv", "frame"])
def test_the_label_that_is_taken_without_being_named_has_no_other_role(tmp_path, form) -> None:
    for role in ("keep", "categorical", "ordinal", "time"):
        with pytest.raises(DataError, match="is the label and cannot"):
            fsframe.read(table(tmp_path, form), **{role: "k"})
    # The last column names groups: the label is the one before it.
    assert fsframe.read(table(tmp_path, form), groups="k").label_name == "who"


def test_a_dropped_column_may_name_groups_and_a_covariate_may_be_categorical(tmp_path) -> None:
    data = fsframe.read(table(tmp_path, "csv"), drop="who", groups="who")
    assert data.feature_names == ("a", "b") and data.n_groups == 2
    data = fsframe.read(table(tmp_path, "csv"), adjust="who", categorical="who")
    assert data.covariates.nominal.tolist() == [True]


def test_cells_of_label_groups_weights_and_features_are_reported_together(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,who,w,b,k\n1,p,1,u,x\n2,,1,v,y\n3,q,two,u,\n4,q,1,w,y\n")
    done = run(
        "chain", "mim", "on", str(path), "--groups", "who", "--weight", "w", "--no-out", code=4
    )
    for part in (
        "line 4, column 5 (k): the label is missing",
        "line 3, column 2 (who): the group is missing",
        "line 4, column 3 (w): the weight 'two' is not a number",
        "line 2, column 4 (b): 'u' is not a number",
    ):
        assert done.err.count(part) == 1


def with_roles(task: str = "classification") -> Dataset:
    """A table in which columns and rows have many roles, and a value is missing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    X[:, 5] = np.arange(60) % 3
    X[3, 0] = np.nan
    y = np.arange(60) % 2 if task == "classification" else X[:, 1] * 1.5
    data = Dataset.from_arrays(
        X, y, task=task, categorical=[5], groups=np.repeat(np.arange(12), 5), keep=[1],
        weights=1 + np.arange(60) % 2, weight_name="w",
    )  # fmt: skip
    return data.with_roles(time="f3", adjust="f4")


def test_refusals_of_all_stages_and_roles_are_one_error() -> None:
    chain = Chain.parse("surf:permutations=99 boruta npfs:base=(boruta),null=shards")
    with pytest.raises(DataError) as caught:
        chain.run(with_roles())
    lines = str(caught.value).splitlines()
    assert len(lines) == len(set(lines))
    for stage, parts in {
        "surf": ["'w'", "'f3'", "--adjust"],
        "boruta": ["--groups", "'f3'", "--adjust", "--encode onehot"],
        "npfs": ["'w'", "--keep", "'f3'", "null=shards"],
    }.items():
        own = [line for line in lines if line.startswith(stage)]
        assert [part for part in parts if not any(part in line for line in own)] == []


def test_a_label_missing_values_and_parameters_are_reported_with_the_roles() -> None:
    chosen = 'sklearn-selector:estimator=SelectKBest,options={"score_func":"chi2"}'
    with pytest.raises(DataError) as caught:
        Chain.parse(f"immigrate {chosen}").run(with_roles("regression"))
    text = str(caught.value)
    for part in (
        "immigrate does not take a numeric target",
        "immigrate does not take missing values",
        "immigrate cannot adjust for f4 (--adjust)",
        "score_func=chi2 does not take a numeric target",
    ):
        assert text.count(part) == 1
    # Alone, a parameter has the exit code of its kind.
    plain = Dataset.from_arrays(np.eye(4), [0.5, 1.5, 2.5, 4], task="regression")
    with pytest.raises(RequestError, match="score_func=chi2"):
        Chain.parse(chosen).run(plain)


def test_a_classifier_that_refuses_gaps_says_how_to_fill_them() -> None:
    data = Dataset.from_arrays([[0.5, np.nan], [1, 2], [2, 3], [3, 5]], [0, 1, 0, 1])
    for chain in ("knn", "cross-validation:base=knn,folds=2,repeats=1"):
        with pytest.raises(DataError, match=r"knn does not take missing values.*`impute knn`"):
            Chain.parse(chain).run(data)


def test_what_several_compared_chains_refuse_is_reported_once() -> None:
    X = np.random.default_rng(0).standard_normal((20, 3))
    data = Dataset.from_arrays(X, np.arange(20) % 2, weights=np.ones(20), weight_name="w")
    with pytest.raises(DataError) as caught:
        fsframe.compare(["mim:top=1", "relieff:top=1", "mim:top=1 npfs:n=5"], data)
    lines = str(caught.value).splitlines()
    assert len(lines) == 2 and "cross-validation" in lines[0] and "npfs" in lines[1]


def test_a_study_tells_roles_and_parameters_of_all_chains() -> None:
    X = np.random.default_rng(0).standard_normal((40, 4))
    data = Dataset.from_arrays(X, np.arange(40) % 2, weights=np.ones(40), weight_name="w")
    with pytest.raises(RequestError) as caught:
        fsframe.study(data, ["mim:top=1", "mim:top=2 npfs:n=5,permutations=20"])
    text = str(caught.value)
    for part in ("cross-validation samples", "npfs samples", "use permutations="):
        assert text.count(part) == 1


def test_inspect_tells_all_columns_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,u\n2,1,v\n3,0,u\n4,1,v\n")
    with pytest.raises(DataError) as caught:
        inspect_table(tmp_path / "t.csv", label="yy", drop="zz", groups="qq", ordinal={"oo": ()})
    for name in ("'yy'", "'zz'", "'qq'", "'oo'"):
        assert str(caught.value).count(name) == 1
