"""The first sheet of an Excel workbook, read by fastexcel."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from fsframe.errors import DataError
from fsframe.tables.reader import Reader
from fsframe.tables.size_limits import decompressed_bound, shown

__all__ = ["ExcelReader"]


class ExcelReader(Reader):
    """The first sheet of a workbook as a polars DataFrame; its first row holds the names."""

    def _read(self, path: Path) -> Any:
        import fastexcel

        with zipfile.ZipFile(path) as archive:
            size = sum(info.file_size for info in archive.infolist())
        bound = decompressed_bound(path.stat().st_size)
        if size > bound:
            raise DataError(
                f"{path} would decompress to {shown(size)}, and {shown(bound)} are allowed; save "
                "the sheet as CSV"
            )
        return fastexcel.read_excel(path).load_sheet(0).to_polars()
