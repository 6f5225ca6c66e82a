"""Parquet and Arrow files, read by polars."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fsframe.tables.reader import Reader
from fsframe.tables.size_limits import check_expansion, check_size

__all__ = ["ArrowReader", "ParquetReader"]


class ParquetReader(Reader):
    """A Parquet file as a polars DataFrame."""

    def _read(self, path: Path) -> Any:
        import polars

        lazy = polars.scan_parquet(path, glob=False)
        _check(lazy, path)
        return polars.read_parquet(path, glob=False)


class ArrowReader(Reader):
    """An Arrow IPC file, such as Feather version 2, as a polars DataFrame."""

    def _read(self, path: Path) -> Any:
        import polars

        _check(polars.scan_ipc(path, glob=False), path)
        return polars.read_ipc(path)


def _check(lazy: Any, path: Path) -> None:
    """Refuse by the declared size, before anything is decompressed."""
    import polars

    rows = int(lazy.select(polars.len()).collect().item())
    columns = len(lazy.collect_schema())
    check_expansion(rows, columns, path.stat().st_size, str(path))
    check_size(2 * 8 * rows * columns, f"{path} with {rows} rows × {columns} columns")
