"""Tables as files: what comes back is what went in, and no name is obeyed."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from fsframe.errors import RequestError
from fsframe.registry import writers
from fsframe.table.reader import format_of, table_bytes

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
