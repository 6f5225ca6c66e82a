"""What delimited text means: headers, quotes, blanks, missing values, labels."""

from __future__ import annotations

import csv
import io
import random
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsframe.errors import DataError, UntidyTableError
from fsframe.table.arrays import LARGEST
from fsframe.table.files import cells
from fsframe.table.read import read
from fsframe.table.spelling.text_file import is_missing
from tests.command_line import python
from tests.grids import examples

PLAIN = "a,b,class\n1,2.5,ill\n3,-4e2,well\n5,6,ill\n7,8,well\n"


def test_a_plain_table_reads_as_written(put):
    data = read(put(PLAIN))
    assert data.feature_names == ("a", "b")
    assert data.X.tolist() == [[1, 2.5], [3, -400], [5, 6], [7, 8]]
    assert (data.label_name, data.classes) == ("class", ("ill", "well"))
    assert data.y.tolist() == [0, 1, 0, 1]
    assert (data.name, data.task, data.warnings) == ("table", "classification", ())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bom.csv", "\ufeff" + PLAIN),
        ("crlf.csv", PLAIN.replace("\n", "\r\n")),
        ("old_mac.csv", PLAIN.replace("\n", "\r")),
        ("no_last_newline.csv", PLAIN.rstrip("\n")),
        ("blank_ends.csv", "\n\n" + PLAIN + "\n  \n\n"),
        ("packed.csv.gz", PLAIN),
        ("tabs.tsv", PLAIN.replace(",", "\t")),
        ("tabs.tsv.gz", PLAIN.replace(",", "\t")),
        ("tabs.tab", PLAIN.replace(",", "\t")),
        ("tabs.txt", PLAIN.replace(",", "\t")),
        ("semicolons.csv", PLAIN.replace(",", ";")),
        ("tabs.csv", PLAIN.replace(",", "\t")),
        ("blanks.csv", PLAIN.replace(",", " , ")),
        ("quoted.csv", "\n".join(",".join(f'"{c}"' for c in r.split(",")) for r in PLAIN.split())),
        ("capitals.CSV", PLAIN),
    ],
)
def test_the_same_table_in_another_spelling_reads_the_same(put, name, content):
    data, plain = read(put(content, name)), read(put(PLAIN, "plain.csv"))
    assert data.sha256 == plain.sha256
    assert data.label_name == "class"


def test_a_given_delimiter_is_honoured(put):
    for sign, word in (("|", "|"), ("\t", "tab"), (";", "semicolon"), (",", "comma")):
        assert read(put(PLAIN.replace(",", sign), "t.txt"), delimiter=word).n_features == 2


def test_the_label_is_the_last_column_that_is_not_dropped(put):
    path = put("a,b,kind,id\n1,2,x,p1\n3,4,y,p2\n5,6,x,p3\n7,8,y,p4\n")
    data = read(path, drop=["id", 0])
    assert (data.label_name, data.feature_names) == ("kind", ("b",))
    assert read(path, drop="id").feature_names == ("a", "b")


def test_a_label_elsewhere_than_expected_is_remarked(put):
    path = put("class,a,b\nx,1,2\ny,3,5\nx,1,2\ny,3,5\n")
    with pytest.raises(UntidyTableError, match="'class' looks more like one") as caught:
        read(path)
    assert caught.value.ways == ({"label": "class"}, {"label": "b", "categorical": ["class"]})
    assert read(path, label="class").warnings == ()


def test_numeric_classes_sort_as_numbers_and_text_classes_as_text(put):
    rows = "".join(f"{k % 7},{k}\n" for k in (10, 9, 2, 10, 9, 2))
    assert read(put("a,c\n" + rows)).classes == (2, 9, 10)
    rows = "".join(f"{k % 7},c{k}\n" for k in (10, 9, 2, 10, 9, 2))
    assert read(put("a,c\n" + rows)).classes == ("c10", "c2", "c9")


def test_whole_numbers_spelled_with_a_point_are_the_same_class(put):
    data = read(put("a,c\n5,1\n6,1.0\n7,2\n9,2e0\n"))
    assert (data.classes, data.y.tolist()) == ((1, 2), [0, 0, 1, 1])


def test_a_numeric_label_that_is_not_whole_means_regression_and_the_task_can_be_given(put):
    path = put("a,c\n5,0.5\n6,1\n7,0.5\n9,1\n")
    assert (read(path).task, read(path).y.tolist()) == ("regression", [0.5, 1, 0.5, 1])
    classes = read(path, task="classification")
    assert (classes.task, classes.classes) == ("classification", (0.5, 1.0))
    whole = put("a,c\n5,1\n6,2\n7,4\n9,9\n", "whole.csv")
    assert read(whole, task="regression").y.tolist() == [1, 2, 4, 9]


def test_many_whole_numbers_as_classes_are_remarked(put):
    path = put("a,c\n" + "".join(f"{(7 * k) % 19},{k % 25}\n" for k in range(50)))
    data = read(path)
    assert data.n_classes == 25
    assert any("25 different numbers, taken as classes" in text for text in data.warnings)


def test_every_spelling_of_a_missing_value_reads_as_nan(put):
    words = ["", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "NULL", "null", "None", "?", " NA ", "  "]
    text = "a,b,class\n" + "".join(f"{w},{k},{'xy'[k % 2]}\n" for k, w in enumerate(words))
    data = read(put(text))
    assert np.isnan(data.X[:, 0]).all()
    assert data.X[:, 1].tolist() == list(range(len(words)))
    assert "1 column without any value: a" in " ".join(data.warnings)
    quoted = "a,b,class\n" + "".join(f'"{w}",{k},{"xy"[k % 2]}\n' for k, w in enumerate(words))
    assert np.isnan(read(put(quoted)).X[:, 0]).all()


def test_tables_of_single_digits_take_the_short_way_to_the_same_numbers(put, monkeypatch):
    rng = random.Random(3)
    rows = [[str(rng.randrange(10)) for _ in range(9)] + [rng.choice("xy")] for _ in range(40)]
    for order in (1, -1):
        # The label last, then first.
        text = "\n".join(",".join(row[::order]) for row in [[f"v{k}" for k in range(10)], *rows])
        path, label = put(text), 9 if order == 1 else 0
        short = read(path, label=label).X
        assert short.tolist() == [[float(c) for c in row[:9][::order]] for row in rows]
    monkeypatch.setattr(cells, "single_digits", lambda *_: None)
    assert np.array_equal(read(path, label=label).X, short)


@pytest.mark.parametrize("bad", ["x", "-", "ä", ":"])
def test_one_odd_cell_among_single_digits_is_not_lost(put, bad):
    with pytest.raises(DataError, match=r"line 3, column 2 \(b\)"):
        read(put(f"a,b,class\n1,2,x\n3,{bad},y\n5,6,x\n7,8,y\n"))


def test_quotes_may_hold_delimiters_quotes_and_line_ends(put):
    text = 'a,"b, ""c""","two\nlines",class\n1,2,3,"x, y"\n4,5,6,"x, y"\n"7",8,9,z\n1,1,1,z\n'
    data = read(put(text))
    assert data.feature_names == ("a", 'b, "c"', "two\nlines")
    assert data.classes == ("x, y", "z")
    assert data.X[2].tolist() == [7, 8, 9]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("5.1,3.5,setosa\n4.9,3,setosa\n6,3,virginica\n5,2,virginica\n", ("f1", "f2")),
        ("5.1,3.5,0\n4.9,3,0\n6,3,1\n5,2,1\n", ("f1", "f2")),
        ("1,2,class\n4.9,3,0\n6,3,1\n5,2,1\n4,4,0\n", ("1", "2")),
        ("1,2,class\n4.9,3,a\n6,3,b\n5,2,b\n4,4,a\n", ("1", "2")),
        ("a,2,0\n4.9,3,0\n6,3,1\n5,2,1\n4,4,0\n", ("a", "2")),
    ],
)
def test_a_line_of_names_is_distinguished_from_a_row(put, text, names):
    data = read(put(text))
    assert data.feature_names == names
    assert data.n_samples == 4


def test_whether_there_are_names_can_be_said(put):
    text = "1,2,3\n4,5,6\n1,2,3\n4,5,6\n1,3,3\n"
    assert read(put(text)).n_samples == 5
    assert read(put(text), header=True).feature_names == ("1", "2")
    assert any("taken as names" in note for note in read(put(text), header=True).warnings)
    text = "a,x,u\nb,y,v\na,y,u\nb,x,v\n"
    data = read(put(text), header=False, categorical=True)
    assert (data.n_samples, data.feature_names) == (4, ("f1", "f2"))
    data = read(put("12,3,a\n4,5,b\n6,7,a\n8,9,b\n"), header=False)
    assert data.X.tolist() == [[12, 3], [4, 5], [6, 7], [8, 9]]


def test_categories_in_text_are_coded_in_sorted_order_and_reported(put):
    path = put("size,colour,class\n1,red,x\n2,blue,y\n3,,x\n4,red,y\n")
    data = read(path, categorical="colour")
    assert data.categorical.tolist() == [False, True]
    assert data.X[:, 0].tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(data.X[:, 1], [1, 0, np.nan, 1])
    assert "text in column 'colour' was coded: blue=0, red=1" in data.warnings
    assert read(path, categorical=True).categorical.all()


def test_numeric_categories_keep_their_numbers(put):
    data = read(put("a,b,class\n3,7,x\n1,8,y\n3,7,x\n1,9,y\n"), categorical=["a", 1])
    assert data.X.tolist() == [[3, 7], [1, 8], [3, 7], [1, 9]]
    assert data.categorical.all()


def test_row_names_of_data_frames_are_left_out_and_reported(put):
    pandas = ",a,b,class\n0,1,2,x\n1,3,4,y\n2,5,6,x\n3,7,8,y\n"
    r = "a b class\n".replace(" ", "\t") + "r1\t1\t2\tx\nr2\t3\t4\ty\nr3\t5\t6\tx\nr4\t7\t8\ty\n"
    for data in (read(put(pandas)), read(put(r, "r.tsv"))):
        assert data.X.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
        assert "left out" in data.warnings[0]


def test_constant_and_counting_columns_are_remarked(put):
    rows = "".join(f"{k},5,{k * k % 7},{'xy'[k % 2]}\n" for k in range(1, 9))
    notes = " ".join(read(put("id,same,b,class\n" + rows)).warnings)
    assert "1 column with one value only: same" in notes
    assert "1 column counting the rows: id" in notes


CELLS = st.sampled_from(["1", "-2.5", "", "NA", " 7 ", "1e3", ".5", "5.", "+3", "?", "0"])
FLOATS = st.floats(-LARGEST, LARGEST)


@examples(60)
@given(st.lists(st.tuples(FLOATS, FLOATS, FLOATS), min_size=2, max_size=12), st.booleans())
def test_every_float_reads_back_to_the_same_bits(tmp_path_factory, rows, quoted):
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
    writer.writerow(["a", "b", "c", "class"])
    for label in "xy":
        writer.writerows([*map(repr, row), label] for row in rows)
    path = tmp_path_factory.mktemp("floats") / "t.csv"
    path.write_text(out.getvalue())
    assert read(path).X.tobytes() == np.array(rows * 2).tobytes()


@examples(80)
@given(
    st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from([1, 7, 30, 1 << 22]),
)
def test_cells_cut_in_blocks_mean_what_the_csv_module_and_float_say(
    tmp_path_factory, rows, quoted, size
):
    path = tmp_path_factory.mktemp("cells") / "t.csv"
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
    writer.writerows([["a", "b", "c", "class"], *([*row, "x"] for row in rows)])
    writer.writerows([1, 2, 3, "y"] for _ in range(2))
    writer.writerows([1, 2, 3, "x"] for _ in range(2))
    path.write_text(out.getvalue())
    with mock.patch.object(cells, "BLOCK", size):
        X = read(path).X[: len(rows)]
    exact = [[float("nan" if is_missing(c.strip()) else c) for c in row] for row in rows]
    np.testing.assert_array_equal(X, exact)


SPELLED = ["0", "-3", "+5", "1.", ".5", "2.5e-3", "1E5", "0.1", "123456789.123456789", "1e-400"]
ODD = ["", " 1", "2 ", "1_000", "NA", "nan", "inf", "1e999", "n.d.", "1,5", "1e", "--1", "०", "1\t"]
ODD += ['"1"', '" 2 "', '"n.d."', '1""', '""1""', '"1" ""', "-3.0"]


def table(odd: str = "") -> str:
    lines = ["a;b;name;class"]
    for row in range(30):
        first = odd if row == 17 and odd else SPELLED[row % len(SPELLED)]
        lines.append(f"{first};{SPELLED[row * 7 % len(SPELLED)]};é{row % 2};{'xy'[row % 2]}")
    return "\n".join(lines) + "\n"


def taken(path, monkeypatch, small: int):
    """What a reader with that limit of small texts finds, or the error."""
    monkeypatch.setattr(cells, "SMALL", small)
    try:
        data = read(path, categorical=["name"], na=["-3"])
    except DataError as error:
        return str(error)
    return data.X.tobytes(), data.y.tolist(), data.sha256, data.warnings


@pytest.mark.parametrize("odd", ODD)
def test_small_and_large_tables_are_read_alike(put, monkeypatch, odd: str) -> None:
    path = put(table(odd))
    assert taken(path, monkeypatch, 1 << 20) == taken(path, monkeypatch, 0)


def test_small_tables_load_no_polars(put) -> None:
    path = put(table(" 1"))
    code = f"""
import sys
from fsframe.table.read import read
read({str(path)!r}, categorical=["name"])
sys.exit(any(name in sys.modules for name in ("polars", "h5py")))
"""
    python("-c", code)


def test_codes_that_are_words_are_counted_as_those_that_are_numbers(put):
    rows = ["n.d.;-9;x", "1;2;y", "n.d.;3;x", "4;-9;y", ";6;y"]
    data = read(put("\n".join(["a;b;class", *rows]) + "\n"), na=["n.d.", "-9"])
    assert [w for w in data.warnings if w.startswith("4 cells that hold n.d., -9")]
