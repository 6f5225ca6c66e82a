"""Run files: one finished run of a chain as one sealed, verified HDF5 file.

The format is described in ``docs/file-format.md``. Names are imported when first used, so that
programs that only print help do not load HDF5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsframe.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from fsframe.storage.read import VerifyReport, load_run, verify_run
    from fsframe.storage.records import DataRecord, PairTestRecord, RunRecord, StageRecord
    from fsframe.storage.write import write_run

__all__ = [
    "DataRecord",
    "PairTestRecord",
    "RunRecord",
    "StageRecord",
    "VerifyReport",
    "load_run",
    "verify_run",
    "write_run",
]

_HOMES = {
    "DataRecord": "fsframe.storage.records",
    "PairTestRecord": "fsframe.storage.records",
    "RunRecord": "fsframe.storage.records",
    "StageRecord": "fsframe.storage.records",
    "VerifyReport": "fsframe.storage.read",
    "load_run": "fsframe.storage.read",
    "verify_run": "fsframe.storage.read",
    "write_run": "fsframe.storage.write",
}

if not TYPE_CHECKING:
    __getattr__ = lazy_attributes(__name__, _HOMES)
