"""Tables as files: cells as spelled, what comes back is what went in, and no name is obeyed."""

from __future__ import annotations

import csv
import gzip
import io
import re
from pathlib import Path

import numpy as np
import pytest

from fsframe.errors import DataError, RequestError, StoreError
from fsframe.registry import writers
from fsframe.table.read import read, read_table
from fsframe.table.reader import format_of, table_bytes
from fsframe.table.table_columns import write_reduced

TEXT = 'id,a,"b, c",d,class\np1, 1.50,0001,NA,x\np2,2,"3",+4e0,"y, z"\np3,,5, ?,x\n'


@pytest.mark.parametrize(
    ("text", "features", "keep", "expected"),
    [
        (
            TEXT,
            ["d", "b, c", "a"],
            [],
            'a,"b, c",d,class\n 1.50,0001,NA,x\n2,"3",+4e0,"y, z"\n,5, ?,x\n',
        ),
        # The label is absent, and a further column is kept.
        ("a,id\n1,p\n2,q\n", ["a"], ["id"], "a,id\n1,p\n2,q\n"),
        # A line of totals is no row.
        ("id,a,class\n1,2,x\n2,3,y\nTotal,5,\n", ["a"], [], "a,class\n2,x\n3,y\n"),
        # Without names, by position.
        ("1,2,3\n4,5,6\n", ["f3", "f1"], [], "1,3\n4,6\n"),
    ],
)
def test_cells_are_written_exactly_as_they_were_spelled(
    put, tmp_path, text, features, keep, expected
):
    table = read_table(put(text))
    out = write_reduced(tmp_path / "out.csv", table, features, label="class", keep=keep)
    assert out.read_text() == expected


def test_all_missing_columns_are_named_with_suggestions(put, tmp_path):
    table = read_table(put("glucose,age\n1,2\n"))
    with pytest.raises(DataError) as caught:
        write_reduced(tmp_path / "out.csv", table, ["glucoze", "age", "bmi"])
    for part in ("lacks 2 of the 3", "'glucoze' (Did you mean `glucose`?)", "'bmi'"):
        assert part in str(caught.value)
    assert not (tmp_path / "out.csv").exists()


def test_a_needed_column_that_is_there_twice_is_refused(put, tmp_path):
    table = read_table(put("a,b,a\n1,2,3\n"))
    with pytest.raises(DataError, match="several columns are named 'a'"):
        write_reduced(tmp_path / "out.csv", table, ["a"])
    assert write_reduced(tmp_path / "out.csv", table, ["b"]).read_text() == "b\n2\n"


def test_an_existing_file_is_left_alone_unless_told(put, tmp_path):
    table = read_table(put(TEXT))
    target = tmp_path / "out.csv"
    target.write_text("precious")
    with pytest.raises(StoreError, match="left unchanged"):
        write_reduced(target, table, ["a"])
    assert target.read_text() == "precious"
    write_reduced(target, table, ["a"], overwrite=True)
    assert target.read_text().startswith("a\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "table.csv"]


def test_another_ending_means_another_delimiter(put, tmp_path):
    table = read_table(put(TEXT))
    out = write_reduced(tmp_path / "out.tsv", table, ["b, c", "a"], label="class")
    assert out.read_text() == "a\tb, c\tclass\n1.50\t0001\tx\n2\t3\ty, z\n\t5\tx\n"
    packed = write_reduced(tmp_path / "out.tsv.gz", table, ["b, c", "a"], label="class")
    assert gzip.decompress(packed.read_bytes()) == out.read_bytes()
    with pytest.raises(RequestError, match=r"end its name in \.csv"):
        write_reduced(tmp_path / "out.xlsx", table, ["a"])
    with pytest.raises(RequestError, match="kept no feature"):
        write_reduced(tmp_path / "none.csv", table, [], label="other")


@pytest.mark.parametrize("name", ["one.csv", "one.tsv", "one.txt"])
def test_a_table_of_one_column_is_a_table(put, tmp_path, name):
    table = read_table(put("glucose\n1.50\n2\n", name))
    out = write_reduced(tmp_path / "out.csv", table, ["glucose"])
    assert out.read_text() == "glucose\n1.50\n2\n"


def test_a_blank_line_in_a_single_column_is_reported_not_skipped(put):
    with pytest.raises(DataError, match="line 3 is blank"):
        read_table(put("a\n1\n\n2\n"))


def test_infinite_numbers_are_reported(put):
    table = read_table(put("a,b\n1,2\n3,inf\n"))
    with pytest.raises(DataError, match=r"row 2, column 2 \(b\): infinite"):
        table.numbers(["b"])


def test_numbers_come_in_the_order_asked_for(put):
    table = read_table(put(TEXT))
    np.testing.assert_array_equal(table.numbers(["d", "a"]), [[np.nan, 1.5], [4, 2], [np.nan] * 2])
    with pytest.raises(DataError, match=r"line 2, column 1 \(id\)"):
        table.numbers(["id"])


def test_arrays_are_written_so_that_they_read_back_to_the_same_bits(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(6, 4)).astype(np.float32)
    X[1, 2] = np.nan
    np.savez(tmp_path / "t.npz", X=X, y=np.array(["u, v", "w"] * 3))
    table = read_table(tmp_path / "t.npz")
    out = write_reduced(tmp_path / "out.csv", table, ["f3", "f2"], label="y")
    data = read(out)
    np.testing.assert_array_equal(data.X.astype(np.float32), X[:, 1:3])
    assert (data.classes, data.feature_names) == (("u, v", "w"), ("f2", "f3"))


def test_formula_cells_are_made_text_when_asked_and_numbers_never_change(put, tmp_path):
    rows = ['=a,"@b, c",x,y', "-1.5,=1+1,3,+", '+2e-3,"=HYPERLINK(""x"")",-4,-']
    table = read_table(put("\n".join(rows) + "\n"))
    names = ["=a", "@b, c", "x"]
    plain = write_reduced(tmp_path / "plain.csv", table, names, label="y")
    assert plain.read_text() == "\n".join(rows) + "\n"
    safe = write_reduced(tmp_path / "safe.csv", table, names, label="y", defuse=True)
    assert safe.read_text().splitlines() == [
        "'=a,\"'@b, c\",x,y",
        "-1.5,'=1+1,3,+",
        '+2e-3,"\'=HYPERLINK(""x"")",-4,-',
    ]


HOSTILE = [
    '=cmd|" /C calc"!A0',
    "@SUM(A1)",
    "a,b\tc\nd",
    "<b>|x</b>",
    r"\input{x} $_%&#",
    "http://x",
    "plain",
]
COLUMNS = {
    "=feature": HOSTILE,
    "rank": [1, 2, 3, 4, 5, 6, None],
    "p": [0.1 + 0.2, 1e-300, None, 1.0, 0.5, 2.5e-7, 0.0],
    "kept": [True, False] * 3 + [True],
}


@pytest.mark.parametrize(("form", "sign"), [("csv", ","), ("tsv", "\t")])
def test_delimited_cells_come_back_and_compute_nothing(form, sign):
    text = table_bytes(COLUMNS, form).decode()
    header, *rows = csv.reader(io.StringIO(text), delimiter=sign)
    assert header[0] == "'=feature"
    assert [row[0] for row in rows[:2]] == [f"'{name}" for name in HOSTILE[:2]]
    assert [row[0] for row in rows[2:]] == HOSTILE[2:]
    assert [float(row[2]) if row[2] else None for row in rows] == COLUMNS["p"]
    assert rows[0][3] == "true" and rows[6][1] == ""
    plain = table_bytes(COLUMNS, form, defuse=False).decode()
    assert next(csv.reader(io.StringIO(plain), delimiter=sign))[0] == "=feature"


def test_parquet_keeps_kinds_and_names():
    import polars

    frame = polars.read_parquet(io.BytesIO(table_bytes(COLUMNS, "parquet")))
    assert frame.columns == list(COLUMNS)
    assert {name: frame[name].to_list() for name in COLUMNS} == COLUMNS
    assert frame["rank"].dtype == polars.Int64


def test_excel_holds_texts_as_texts():
    import zipfile

    content = table_bytes(COLUMNS, "xlsx")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
        texts = archive.read("xl/sharedStrings.xml").decode()
    assert "<f>" not in sheet and "hyperlink" not in sheet
    assert "=cmd|" in texts and "http://x" in texts
    assert content == table_bytes(COLUMNS, "xlsx")


def test_latex_has_no_command_of_a_name():
    text = table_bytes(COLUMNS, "latex").decode()
    body = text.split("\\midrule\n")[1].split("\\bottomrule")[0].splitlines()
    assert len(body) == len(HOSTILE)
    assert "\\textbackslash{}input\\{x\\} \\$\\_\\%\\&\\#" in body[4]
    assert all(len(re.findall(r"(?<!\\)&", line)) == 3 for line in body)
    assert "$2.5 \\times 10^{-7}$" in body[5] and body[0].endswith(r"yes \\")


def test_markdown_rows_are_rows_and_hold_no_markup():
    lines = table_bytes(COLUMNS, "markdown").decode().splitlines()
    assert len(lines) == 2 + len(HOSTILE)
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 5 for line in lines)
    assert "\\<b\\>\\|x\\</b\\>" in lines[5] and "http\\://x" in lines[7]
    assert lines[1] == "|---|--:|--:|---|"


def test_a_format_is_known_by_its_ending():
    offers = writers.offers()
    assert len(offers) == 6 and {offer.provider for offer in offers} == {"tables"}
    assert {offer.name: format_of(Path(f"x{offer.entry.endings[0]}")) for offer in offers} == {
        offer.name: offer.name for offer in offers
    }
    with pytest.raises(RequestError, match=r"end its name in \.csv"):
        format_of(Path("genes.ods"))
