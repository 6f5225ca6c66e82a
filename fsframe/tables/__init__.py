"""Tables from files: delimited text (also compressed), NPZ and HDF5, with errors that say where.

What is accepted and how it is understood is described in ``docs/data.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsframe.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from fsframe.tables.locate import find_table
    from fsframe.tables.source import read_table
    from fsframe.tables.table import Table, reduced_text, write_reduced
    from fsframe.tables.to_dataset import read

__all__ = ["Table", "find_table", "read", "read_table", "reduced_text", "write_reduced"]

_HOMES = {
    "Table": ".table",
    "find_table": ".locate",
    "read": ".to_dataset",
    "read_table": ".source",
    "reduced_text": ".table",
    "write_reduced": ".table",
}

__getattr__ = lazy_attributes(__name__, _HOMES)
