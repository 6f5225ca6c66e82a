"""Declarations for the conformance checks of the readers: how files to read are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Columns = Mapping[str, Sequence[Any]]


def _frame(columns: Columns) -> Any:
    import polars

    kinds = {
        name: polars.String if any(isinstance(cell, str) for cell in cells) else polars.Float64
        for name, cells in columns.items()
    }
    return polars.DataFrame({name: list(cells) for name, cells in columns.items()}, schema=kinds)


def _parquet(path: Path, columns: Columns) -> None:
    _frame(columns).write_parquet(path)


def _arrow(path: Path, columns: Columns) -> None:
    _frame(columns).write_ipc(path)


def _excel(path: Path, columns: Columns) -> None:
    _frame(columns).write_excel(path)


WRITES = {"parquet": _parquet, "arrow": _arrow, "excel": _excel}
ENDINGS = {"excel": ".xlsx"}
EXCEPTIONS: dict[str, dict[str, str]] = {
    "excel": {
        "numbers_keep_all_their_digits": "the program that writes the files gives numbers sixteen "
        "digits, where seventeen are needed"
    }
}
