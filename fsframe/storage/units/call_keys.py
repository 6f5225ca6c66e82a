"""Keys of calls, equal exactly if all that a unit's result depends on is equal, and their steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.frozen_table import declared_roles
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe.storage.units.array_bytes import pack, unpack
from fsframe.storage.units.selection_bytes import pack_selections
from fsframe.storage.units.unit_files import Unit, UnitStore

__all__ = ["FitSteps", "call_key"]


def call_key(
    checkpoint: UnitStore,
    what: str,
    text: str,
    data: Dataset,
    run: Run,
    *,
    upstream: Selection | None = None,
    counts: NDArray[Any] | None = None,
    parts: Collection[str] = (),
) -> str:
    """The key under which the units of one call are stored.

    `what` is the kind of work, `text` which chain or stage does it; `checkpoint` keeps the digest
    of the table, which several calls share. The result is the key of `run`, where its parts begin,
    and 32 hexadecimal digits of a SHA-256 over everything else. The key makes calls of one run
    differ; the digest protects a stage that calls twice under one key with different tables.
    """
    digest = hashlib.sha256()
    header = declared_roles(data) | {
        "what": what,
        "text": text,
        "parts": sorted(parts),
        "entropy": run.entropy,
        "table": _table_digest(checkpoint, data),
    }
    _add(digest, json.dumps(header, sort_keys=True).encode())
    _add(digest, _bytes(data.y))
    _add(digest, _bytes(data.counts))
    _add(digest, _bytes(counts))
    _add(digest, b"" if upstream is None else pack_selections([upstream]))
    if data.groups is not None:
        _add(digest, b"groups" + _bytes(data.groups))
    for word, columns in ((b"times", data.times), (b"covariates", data.covariates)):
        if columns is not None:
            _add(digest, word + columns.tobytes() + bytes([columns.handled]))
    key = ".".join(map(str, run.key)) or "-"
    return f"{key}~{run.first}~{digest.hexdigest()[:32]}"


class FitSteps:
    """The steps of one fit, by number; `fsframe.contracts.run.Run.units` gives one.

    `call` is the key of the fit, under which `checkpoint` stores finished steps.
    """

    def __init__(self, checkpoint: UnitStore, call: str) -> None:
        self._checkpoint, self._call = checkpoint, call
        self._known = {unit.start: unit for unit in checkpoint.units(call)}

    def get(
        self, number: int, compute: Callable[[], Mapping[str, ArrayLike]]
    ) -> dict[str, NDArray[Any]]:
        """The arrays of step `number` ≥ 0: stored by an earlier attempt, else from `compute`.

        Numbers, truth values or texts by name, row-major; the same bits whether stored or just
        computed. StoreError if they cannot be kept, or what was kept has changed.
        """
        known = self._known.get(number)
        if known is not None:
            return unpack(self._checkpoint.load(known))[0]
        found = {name: np.array(value, order="C") for name, value in compute().items()}
        self._checkpoint.commit(Unit(self._call, number, number + 1), pack(found))
        return found


def _add(digest: Any, content: bytes) -> None:
    digest.update(len(content).to_bytes(8, "little"))
    digest.update(content)


def _bytes(array: NDArray[Any] | None) -> bytes:
    if array is None:
        return b""
    # Counts of another integer type are the same counts.
    wide = np.ascontiguousarray(array, dtype="<f8" if array.dtype.kind == "f" else "<i8")
    return f"{wide.dtype.kind}{wide.shape}".encode() + wide.tobytes()


def _table_digest(checkpoint: UnitStore, data: Dataset) -> str:
    if data.in_parts:
        return str(data.matrix.rows_sha256)
    if data.nbytes:
        found = checkpoint.remembered(data.matrix)
        if found is not None:
            return found
    digest = hashlib.sha256(f"{data.n_samples}x{data.n_features}".encode())
    for start, stop in data.column_blocks():
        # Transposed, so that columns are contiguous in any memory layout.
        digest.update(np.ascontiguousarray(data.columns(start, stop).T, dtype="<f8").tobytes())
    if data.nbytes:
        checkpoint.remember(data.matrix, digest.hexdigest())
    return digest.hexdigest()
