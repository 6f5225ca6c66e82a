"""Small text tables, which are read without polars."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from fsframe.errors import DataError
from fsframe.table import cells
from fsframe.table.read import read

PLAIN = ["0", "-3", "+5", "1.", ".5", "2.5e-3", "1E5", "0.1", "123456789.123456789", "1e-400"]
ODD = [
    " 1",
    "2 ",
    "1_000",
    "",
    "NA",
    "nan",
    "inf",
    "1e999",
    "n.d.",
    "1,5",
    "1e",
    "--1",
    "०",
    "1\t",
    '"1"',
    '" 2 "',
    '"n.d."',
    '1""',
    '""1""',
    '"1" ""',
    "-3.0",
]


def table(odd: str = "") -> str:
    lines = ["a;b;name;class"]
    for row in range(30):
        first = odd if row == 17 and odd else PLAIN[row % len(PLAIN)]
        lines.append(f"{first};{PLAIN[row * 7 % len(PLAIN)]};é{row % 2};{'xy'[row % 2]}")
    return "\n".join(lines) + "\n"


def taken(path, monkeypatch, small: int):
    """What a reader with that limit of small texts finds, or the error."""
    monkeypatch.setattr(cells, "SMALL", small)
    try:
        found = read(path, categorical=["name"], na=["-3"])
    except DataError as error:
        return str(error)
    return found.X.tobytes(), found.y.tolist(), found.sha256, found.warnings


@pytest.mark.parametrize("odd", ["", *ODD])
def test_small_and_large_tables_are_read_alike(tmp_path, monkeypatch, odd: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(table(odd), encoding="utf-8")
    assert taken(path, monkeypatch, 1 << 20) == taken(path, monkeypatch, 0)


@pytest.mark.parametrize("text", PLAIN)
def test_plain_spellings_are_the_numbers_of_float(tmp_path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"a;class\n{text};u\n7;v \n7;u\n7;v\n", encoding="utf-8")
    found = read(path)
    np.testing.assert_array_equal(found.X, [[float(text)], [7.0], [7.0], [7.0]])
    assert found.y.tolist() == [0, 1, 0, 1]


def test_small_tables_load_no_polars(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(table(" 1"), encoding="utf-8")
    code = f"""
import sys
from fsframe.table.read import read
read({str(path)!r}, categorical=["name"])
sys.exit(any(name in sys.modules for name in ("polars", "h5py")))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_codes_that_are_words_are_counted_as_those_that_are_numbers(tmp_path):
    path = tmp_path / "t.csv"
    rows = ["n.d.;-9;x", "1;2;y", "n.d.;3;x", "4;-9;y", ";6;y"]
    path.write_text("\n".join(["a;b;class", *rows]) + "\n", encoding="utf-8")
    found = read(path, na=["n.d.", "-9"])
    assert [w for w in found.warnings if w.startswith("4 cells that hold n.d., -9")]
