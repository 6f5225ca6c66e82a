"""Attribute-relation files (Weka), read by SciPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fsframe.tables.reader import Reader
from fsframe.tables.text_file import load_text

__all__ = ["ArffReader"]


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
