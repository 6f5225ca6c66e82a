"""Run files: one finished run of a chain as one sealed, verified HDF5 file.

The format is described in ``docs/file-format.md``. Names are imported when first used, so that
programs that only print help do not load HDF5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsframe.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from fsframe.storage.read import load_run as load_run
    from fsframe.storage.records import DataRecord as DataRecord
    from fsframe.storage.records import PairTestRecord as PairTestRecord
    from fsframe.storage.records import RunRecord as RunRecord
    from fsframe.storage.records import StageRecord as StageRecord
    from fsframe.storage.write import write_run as write_run
else:
    _RECORDS = ("DataRecord", "PairTestRecord", "RunRecord", "StageRecord")
    _HOMES = {"load_run": ".read", "write_run": ".write", **dict.fromkeys(_RECORDS, ".records")}
    __all__ = sorted(_HOMES)
    __getattr__ = lazy_attributes(__name__, _HOMES)
