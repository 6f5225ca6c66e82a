"""Declarations for the conformance checks of the readers: how files to read are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Columns = Mapping[str, Sequence[Any]]


def _frame(columns: Columns) -> Any:
    import polars

    kinds = {
        name: polars.String if any(isinstance(cell, str) for cell in cells) else polars.Float64
        for name, cells in columns.items()
    }
    return polars.DataFrame({name: list(cells) for name, cells in columns.items()}, schema=kinds)


WRITES = {
    "parquet": lambda path, columns: _frame(columns).write_parquet(path),
    "arrow": lambda path, columns: _frame(columns).write_ipc(path),
    "excel": lambda path, columns: _frame(columns).write_excel(path),
}
ENDINGS = {"excel": ".xlsx"}
EXCEPTIONS: dict[str, dict[str, str]] = {
    "excel": {
        "numbers_keep_all_their_digits": "the program that writes the files gives numbers sixteen "
        "digits, where seventeen are needed"
    }
}
