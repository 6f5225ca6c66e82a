"""A small form of the ledger: rows are computed, continued, and become a page."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fsframe import Chain
from tests.scripts import ROOT, importable

HERE = ROOT / "benchmarks" / "ledger"
CELLS = ["--designs", "independent", "xor", "--contenders", "mim npfs", "relieff ipss", "SelectFdr"]


def script(name: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, HERE / name, *map(str, arguments)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_rows_are_computed_once_continued_and_shown(tmp_path):
    out, page = tmp_path / "rows.csv", tmp_path / "ledger.md"
    tables = tmp_path / "designs.md"
    script("run.py", *CELLS, "--tables", 1, "--seconds", 300, "--out", out)
    first = rows_of(out)
    script("run.py", *CELLS, "--tables", 2, "--seconds", 300, "--out", out)
    both = rows_of(out)
    assert both[: len(first)] == first
    cells = [(r["design"], r["label"], r["contender"], r["table"]) for r in both]
    # Two designs, one of them also without a signal, three contenders, two tables.
    assert len(set(cells)) == len(cells) == 3 * 3 * 2
    of_xor = [r for r in both if r["design"] == "xor" and r["contender"] == "relieff ipss"]
    assert all({"0", "1"} <= set(r["kept"].split()) for r in of_xor)
    script("page.py", "--rows", out, "--out", page, "--designs", tables)
    text = tables.read_text()
    assert "\n|relieff ipss|" in text and "|2+2|" in text
    assert "share of false columns among the kept, " in text
    assert "* 18 results of " in page.read_text()
    assert (tmp_path / "figures" / "ledger-f1.svg").stat().st_size > 1000


@pytest.mark.slow
def test_the_pages_are_made_from_their_rows(tmp_path):
    page, tables = tmp_path / "ledger.md", tmp_path / "designs.md"
    script("page.py", "--out", page, "--designs", tables)
    assert page.read_text() == (ROOT / "docs" / "ledger.md").read_text()
    assert tables.read_text() == (HERE / "designs.md").read_text()


def ledger() -> SimpleNamespace:
    """The contenders and designs of the ledger."""
    with importable("benchmarks/ledger"):
        from contenders import CONTENDERS
        from designs import DESIGNS, tables
    return SimpleNamespace(contenders=CONTENDERS, designs=DESIGNS, tables=tables)


USUAL = {"mim npfs", "lasso cpss", "relieff cpss", "relieff ipss"}
"""Contenders that warn in every way; the others take minutes."""


def warned() -> Iterator[Any]:
    for one in ledger().contenders:
        for design in one.warned:
            marks = [] if one.name in USUAL else pytest.mark.slow
            yield pytest.param(one.name, design, marks=marks)


@pytest.mark.parametrize(("name", "design"), [*warned()])
def test_runs_say_so_where_the_ledger_marks_that_they_do(name: str, design: str) -> None:
    found = ledger()
    (contender,) = (one for one in found.contenders if one.name == name)
    (drawn,) = (one for one in found.designs if one.name == design)
    assert contender.chain is not None
    chain = Chain.parse(contender.chain(drawn))

    def said() -> Iterator[str]:
        for seed in range(6):  # A warning on what is kept needs that something is.
            data = found.tables(drawn, True, seed, 12)[0].dataset()
            yield from chain.forewarnings(data)
            yield from chain.select(data, seed=seed).warnings

    assert any(
        word in line
        for line in said()
        for word in (
            "does not hold",
            "at most one in ten should",
            "more often than promised",
            "can be expected at the share",
            "rows, p-values of ranks around",
        )
    )
