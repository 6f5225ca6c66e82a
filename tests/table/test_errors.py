"""Every way a table can be wrong is told in one message that says where."""

from __future__ import annotations

import gzip
from unittest import mock

import pytest

from fsframe.errors import DataError, RequestError
from fsframe.table.read import read
from fsframe.table.reader import find_table

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


def test_a_numeric_label_with_single_members_hints_at_regression(put):
    text = "a,b,c\n" + "".join(f"{k % 3},{k % 4},{k * k}\n" for k in range(30))
    with pytest.raises(DataError, match="task regression"):
        read(put(text))
    assert read(put(text), task="regression").n_samples == 30


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
