"""Parquet, Arrow, Excel and ARFF files, read by libraries into data frames."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

from fsframe.errors import DataError
from fsframe.tables.reader import Reader
from fsframe.tables.size_limits import check_expansion, check_size, decompressed_bound, shown
from fsframe.tables.text_file import load_text

__all__ = ["ArffReader", "ArrowReader", "ExcelReader", "ParquetReader"]


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


_MERGED = re.compile(rb'<mergeCell ref="([A-Z]+)([0-9]+):([A-Z]+)([0-9]+)"')
_FIRST = re.compile(rb'<c r="([A-Z]+)([0-9]+)"')


class ExcelReader(Reader):
    """The first sheet of a workbook as text, so that it is read as a file of text is.

    Cells that are merged over several rows hold their value in each of them.
    """

    spelled = True

    def _read(self, path: Path) -> Any:
        import fastexcel

        with zipfile.ZipFile(path) as archive:
            size = sum(info.file_size for info in archive.infolist())
            bound = decompressed_bound(path.stat().st_size)
            if size > bound:
                raise DataError(
                    f"{path} would decompress to {shown(size)}, and {shown(bound)} are allowed; "
                    "save the sheet as CSV"
                )
            merged = _merged_down(archive)
        sheet = fastexcel.read_excel(path).load_sheet(0, header_row=None, dtypes="string")
        frame = sheet.to_polars()
        columns = frame.get_columns()
        for column, start, stop in merged:
            if 0 <= column < len(columns) and 0 <= start < stop <= len(frame):
                cells = columns[column].to_list()
                cells[start:stop] = [cells[start]] * (stop - start)
                columns[column] = type(columns[column])(columns[column].name, cells)
        filled = frame.with_columns(columns)
        return filled.write_csv(include_header=False).encode()


def _merged_down(archive: zipfile.ZipFile) -> list[tuple[int, int, int]]:
    """Cells merged over rows of one column: the column, the first row, and the row after the last,
    counted from the first cell that is used."""
    sheets = sorted(
        name for name in archive.namelist() if re.fullmatch(r"xl/worksheets/sheet[0-9]+\.xml", name)
    )
    if not sheets:
        return []
    raw = archive.read(
        "xl/worksheets/sheet1.xml" if "xl/worksheets/sheet1.xml" in sheets else sheets[0]
    )
    place = raw.rfind(b"<mergeCells")
    first = _FIRST.search(raw)
    if place < 0 or first is None:
        return []
    left, top = _number(first[1]), int(first[2]) - 1
    return [
        (_number(a) - left, int(row) - 1 - top, int(last) - top)
        for a, row, b, last in _MERGED.findall(raw, place)
        if a == b and int(last) > int(row)
    ]


def _number(letters: bytes) -> int:
    """The column of spreadsheet letters, from 0."""
    found = 0
    for letter in letters:
        found = 26 * found + letter - 64
    return found - 1


class ArffReader(Reader):
    """An ARFF file as a polars DataFrame: nominal attributes as Enum, ``?`` as missing.

    Notes
    -----
    SciPy reads numeric and nominal attributes; it refuses those of text, and sparse rows.
    """

    def _read(self, path: Path) -> Any:
        import io

        import polars
        from scipy.io import arff

        records, meta = arff.loadarff(io.StringIO(load_text(path).decode()))
        columns = []
        for name in meta.names():
            kind, levels = meta[name]
            values = records[name]
            if kind == "nominal":
                texts = [text.decode() for text in values.tolist()]
                found = [None if text == "?" else text for text in texts]
                columns.append(polars.Series(name, found, polars.Enum(list(levels))))
            elif kind == "numeric":
                columns.append(polars.Series(name, values.astype(float)))
            else:
                columns.append(polars.Series(name, [str(value) for value in values]))
        return polars.DataFrame(columns)
