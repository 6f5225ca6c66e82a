"""Unit files: finished units in a small immutable file with checksums.

::

    fsframe-units 1\\n
    sha256 H\\n            of everything after the third line, in hexadecimal
    bytes N\\n             how many bytes that is
    length, 8 bytes       of the index, little-endian
    index                 JSON: [[unit, bytes], …]
    the units' bytes      one after the other
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import StoreError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.storage.units.array_bytes import pack, unpack
from fsframe.storage.units.selection_bytes import pack_selections
from fsframe.table.dataset import Dataset
from fsframe.table.frozen_table import declared_roles
from fsframe.table.roles import ROLES

__all__ = [
    "FitSteps",
    "Place",
    "Unit",
    "UnitStore",
    "call_key",
    "read_index",
    "read_unit",
    "unit_file",
]


_HEAD = re.compile(rb"fsframe-units 1\nsha256 ([0-9a-f]{64})\nbytes ([0-9]{1,19})\n")
_UNIT = re.compile(r"(?P<call>[0-9a-z.~-]{1,4000})/(?P<start>[0-9]{1,15})-(?P<stop>[0-9]{1,15})")
_MOST_UNITS = 1_000_000


@attrs.frozen
class Unit:
    """A piece of finished work: parts `start` … `stop` - 1 of the call with that key."""

    call: str
    start: int
    stop: int

    def __str__(self) -> str:
        return f"{self.call}/{self.start}-{self.stop}"

    @classmethod
    def parse(cls, text: object) -> Unit:
        """The unit of that name; StoreError if the name is invalid.

        >>> Unit.parse("0.2~ab/10-14").stop
        14
        """
        match = _UNIT.fullmatch(text) if isinstance(text, str) else None
        if match is None or int(match["start"]) >= int(match["stop"]):
            raise StoreError(f"it holds a unit with a name that is not allowed: {str(text)[:60]!r}")
        return cls(match["call"], int(match["start"]), int(match["stop"]))


class UnitStore(Protocol):
    """Stores finished units; implemented by `Checkpoint`."""

    def units(self, call: str) -> list[Unit]: ...
    def load(self, unit: Unit) -> bytes: ...
    def commit(self, unit: Unit, content: bytes) -> None: ...
    def remember(self, array: Any, digest: str) -> None: ...
    def remembered(self, array: Any) -> str | None: ...


@attrs.frozen
class Place:
    """Where a unit's bytes are, and their SHA-256."""

    path: Path
    offset: int
    length: int
    sha256: bytes


def unit_file(units: Sequence[tuple[Unit, bytes]]) -> bytes:
    """The content of a file that holds these units."""
    index = json.dumps([[str(unit), len(content)] for unit, content in units]).encode()
    body = b"".join([len(index).to_bytes(8, "little"), index, *(content for _, content in units)])
    digest = hashlib.sha256(body).hexdigest()
    return f"fsframe-units 1\nsha256 {digest}\nbytes {len(body)}\n".encode() + body


def read_index(path: Path) -> Mapping[Unit, Place]:
    """Location of each unit in a file whose checksum is right; StoreError says what is wrong."""
    content = _content(path)
    head = _HEAD.match(content)
    if head is None:
        raise StoreError("it is not a unit file")
    body = memoryview(content)[head.end() :]
    if len(body) != int(head[2]):
        raise StoreError(f"it is {'cut short' if len(body) < int(head[2]) else 'too long'}")
    if hashlib.sha256(body).hexdigest().encode() != head[1]:
        raise StoreError("it was changed after it was written: its SHA-256 is another")
    length = int.from_bytes(body[:8], "little")
    if len(body) < 8 or length > len(body) - 8:
        raise StoreError("its index is cut short")
    offset = 8 + length
    places: dict[Unit, Place] = {}
    for unit, size in _entries(bytes(body[8:offset])):
        if unit in places:
            raise StoreError("it holds one unit twice")
        if size > len(body) - offset:
            raise StoreError("its units are cut short")
        digest = hashlib.sha256(body[offset : offset + size]).digest()
        places[unit] = Place(path, head.end() + offset, size, digest)
        offset += size
    if offset != len(body):
        raise StoreError("it is too long for its index")
    return places


def read_unit(place: Place) -> bytes:
    """The bytes of a unit, checked once more; StoreError if they have changed since."""
    try:
        with open(place.path, "rb") as file:
            file.seek(place.offset)
            content = file.read(place.length)
    except OSError as error:
        raise StoreError(f"cannot read {place.path}: {error.strerror or error}") from error
    if hashlib.sha256(content).digest() != place.sha256:
        raise StoreError(f"{place.path} has changed while it was in use")
    return content


def _content(path: Path) -> bytes:
    try:
        # Neither block on a named pipe nor follow a symbolic link.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        with open(os.open(path, flags | getattr(os, "O_CLOEXEC", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise StoreError("it is not a file")
            return file.read()
    except OSError as error:
        raise StoreError(f"it cannot be read: {error.strerror or error}") from error


def _entries(raw: bytes) -> list[tuple[Unit, int]]:
    try:
        index = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"its index is not JSON: {error}") from None
    if not isinstance(index, list) or len(index) > _MOST_UNITS:
        raise StoreError("its index is not a list of units")
    found = []
    for entry in index:
        if not isinstance(entry, list) or len(entry) != 2:
            raise StoreError("its index has an entry of another form")
        if type(entry[1]) is not int or entry[1] < 0:
            raise StoreError("its index has a length that is not a whole number")
        found.append((Unit.parse(entry[0]), entry[1]))
    return found


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
    for role, columns in data.side_columns().items():
        word = ROLES[role].digest.encode()
        _add(digest, word + columns.tobytes() + bytes([columns.handled]))
    key = ".".join(map(str, run.key)) or "-"
    return f"{key}~{run.first}~{digest.hexdigest()[:32]}"


class FitSteps:
    """The steps of one fit, by number; `fsframe.method.run.Run.units` gives one.

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
