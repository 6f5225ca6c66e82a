"""The files of units, and the manifest that says to which run they belong."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

import fsframe.registry
from fsframe.atomic import as_store_errors, place_file
from fsframe.errors import StoreError
from fsframe.grammar import parse_stages
from fsframe.kinds import offered_by
from fsframe.method.run import DEFAULT_MEMORY, Run, size_text
from fsframe.method.selection import Selection
from fsframe.registry import Offer, Registry, classifiers, find_offer, selectors
from fsframe.storage.encoding import (
    NUMERIC_LIBRARIES,
    fingerprint,
    numeric_differences,
    release,
)
from fsframe.storage.spec import require
from fsframe.storage.unit_bytes import pack_selections
from fsframe.system import open_for_reading
from fsframe.table.dataset import Dataset
from fsframe.table.frozen_table import declared_roles
from fsframe.table.roles import ROLES
from fsframe.text import printable

MANIFEST = "manifest"
"""Name of the file that holds the manifest, without which units are useless."""
_MANIFEST_HEAD = re.compile(rb"fsframe-unfinished 1\nsha256 ([0-9a-f]{64})\n")
_MOST_BYTES = 1 << 24
SOFTWARE = ("fsframe", "numpy", "scipy", "numba")
"""Distributions whose releases may change the last bits of a result."""


def _earlier(value: Any) -> tuple[tuple[int, Mapping[str, str]], ...]:
    return tuple((int(last), _mapping(numerics)) for last, numerics in value)


def _mapping(value: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType({str(name): str(text) for name, text in value.items()})


@attrs.frozen(kw_only=True)
class Manifest:
    """Identifies an unfinished run.

    Parameters
    ----------
    chain : str
        Canonical text.
    seed : int
    sha256 : str
        `Dataset.sha256` of the table.
    memory : int
        Bytes by which methods choose their algorithm (`fsframe.method.run.Run.route`); 0 if
        unknown, as in manifests of earlier releases.
    software : mapping of str to str
        Version of everything that may change a bit of the result.
    request : mapping of str to str
        How the run was requested: where the table was read from and how, the memory limit, the
        command. Sufficient to resume the run; does not affect the result.
    numerics : mapping of str to str
        The fingerprint (`fsframe.storage.encoding`) of the process that wrote the
        latest units.
    earlier : tuple of (int, mapping)
        For a mixed run: of each earlier process with another fingerprint, the number of its last
        file of units and the fingerprint.
    """

    chain: str
    seed: int
    sha256: str
    memory: int = 0
    software: Mapping[str, str] = attrs.field(converter=_mapping)
    request: Mapping[str, str] = attrs.field(factory=dict, converter=_mapping)
    numerics: Mapping[str, str] = attrs.field(factory=dict, converter=_mapping)
    earlier: tuple[tuple[int, Mapping[str, str]], ...] = attrs.field(default=(), converter=_earlier)

    @classmethod
    def of(
        cls,
        chain: object,
        data: Dataset,
        seed: int,
        request: Mapping[str, str] | None = None,
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> Manifest:
        """The manifest of a run of `chain`, a chain or its text, that is about to begin."""
        return cls(
            chain=str(chain),
            seed=seed,
            sha256=data.sha256,
            memory=memory,
            software=software(chain),
            request=request or {},
            numerics=fingerprint(),
        )

    @property
    def identity(self) -> str:
        """SHA-256 of the request: equal for equal chain, seed, table, memory and versions.

        docs/file-format.md, section 4. Stored results of equal identity answer the same request.
        """
        parts = {
            "chain": self.chain,
            "memory": self.memory,
            "providers": providers(self.chain),
            "seed": self.seed,
            "software": dict(self.software),
            "table": self.sha256,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def differences(self, other: Manifest, *, mixed: bool = False) -> list[str]:
        """Why units of this run cannot serve the `other` one; empty if they can.

        Another numeric fingerprint is no reason if `mixed`, or if this run was resumed with it
        before.

        >>> a = Manifest(chain="mim", seed=0, sha256="ab", software={"numpy": "2.1"})
        >>> a.differences(attrs.evolve(a, seed=7, request={"command": "again"}))
        ['its seed is 0, not 7']
        """
        reasons = []
        if self.chain != other.chain:
            reasons.append(f"its chain is `{printable(self.chain)}`, not `{other.chain}`")
        if self.sha256 != other.sha256:
            reasons.append(
                f"its data have SHA-256 {printable(self.sha256[:12])}…, these {other.sha256[:12]}…"
            )
        if self.seed != other.seed:
            reasons.append(f"its seed is {self.seed}, not {other.seed}")
        if self.memory and other.memory and self.memory != other.memory:
            reasons.append(
                f"its algorithms were chosen for {size_text(self.memory)} of memory beside the "
                f"table, not {size_text(other.memory)} (--memory, memory=)"
            )
        known = bool(self.numerics and other.numerics)
        accepted = mixed or any(dict(other.numerics) == dict(each) for _, each in self.earlier)
        if known and not accepted:
            changed = numeric_differences(self.numerics, other.numerics)
            reasons += [f"it was started with {printable(text)}" for text in changed]
        for name in sorted({*self.software, *other.software}):
            if name in NUMERIC_LIBRARIES and (known or mixed):
                continue
            old, new = (each.software.get(name, "absent") for each in (self, other))
            # Plugins used by only one of two different chains add no information.
            if old != new and not (self.chain != other.chain and "absent" in (old, new)):
                reasons.append(f"it was started with {printable(name)} {printable(old)}, not {new}")
        return reasons

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """The manifest at `path`, which may be untrusted; StoreError if it is damaged or none."""
        with as_store_errors(f"cannot read {path}"), open(path, "rb") as file:
            content = file.read(_MOST_BYTES)
        head = _MANIFEST_HEAD.match(content)
        body = content[head.end() :] if head else b""
        if head is None or hashlib.sha256(body).hexdigest().encode() != head[1]:
            raise StoreError(f"{path} is damaged, or not the manifest of a run")
        try:
            return cls._from_json(json.loads(body))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StoreError(f"{path} is not the manifest of a run: {error}") from None

    def keep(self, folder: Path) -> None:
        """Write the manifest to the folder, whose lock the caller holds, in place of another."""
        # ASCII: file names that are not UTF-8 survive.
        body = json.dumps(attrs.asdict(self, recurse=False), default=dict, indent=1).encode()
        digest = hashlib.sha256(body).hexdigest()
        content = f"fsframe-unfinished 1\nsha256 {digest}\n".encode() + body
        place_file(folder / MANIFEST, content, overwrite=True)

    @classmethod
    def of_folder(cls, folder: Path) -> Manifest | None:
        """The manifest that a folder holds, None if there is none; StoreError if it is damaged."""
        path = folder / MANIFEST
        return cls.read(path) if os.path.lexists(path) else None

    @classmethod
    def _from_json(cls, content: Any) -> Manifest:
        if type(content["seed"]) is not int or content["seed"] < 0:
            raise ValueError("its seed is not a whole number")
        if not all(isinstance(content[name], str) for name in ("chain", "sha256")):
            raise ValueError("its chain or its digest is not text")
        # Manifests of earlier releases do not have these.
        values = {"numerics": {}, "earlier": (), "memory": 0, **content}
        if type(values["memory"]) is not int or values["memory"] < 0:
            raise ValueError("its memory is not a whole number")
        return cls(**{field.name: values[field.name] for field in attrs.fields(cls)})


def software(chain: object) -> dict[str, str]:
    """Versions of everything that may change a bit of the results of `chain`, or of its text.

    These are the interpreter (major and minor), numerical libraries, and the plugins of every
    stage, also within a `base`; for a class that this process has registered, a digest of its code.
    """
    versions = {name: release(name) for name in ("python", *SOFTWARE)}
    return versions | {o.plugin.software: o.version for _, o in _offers(str(chain))}


def providers(text: str) -> dict[str, str]:
    """The provider of each method of a chain, also within a `base`, by the name asked for."""
    return {name: offer.provider for name, offer in _offers(text)}


def _offers(text: str) -> Iterator[tuple[str, Offer]]:
    """Each stage's name and offer, and those of other objects of plugins that it names, such as the
    null of npfs; by text, since a base may hold sets to tune."""
    for stage in parse_stages(text):
        registry, offer = find_offer(stage.name, selectors, classifiers)
        yield stage.name, offer
        for key in ("base", "classifier"):
            if stage.params.get(key):
                yield from _offers(stage.params[key])
        for parameter in registry[stage.name].parameters():
            home = offered_by(parameter.kind)
            if home and parameter.name in stage.params:
                offered: Registry = getattr(fsframe.registry, home)
                for named in offered.matching(stage.params[parameter.name]):
                    yield f"{parameter.name} {named.name}", named


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
    """The place of each unit in a file; StoreError, saying what is wrong, if it is damaged."""
    content = _content(path)
    head = _HEAD.match(content)
    if head is None:
        raise StoreError("it is not a unit file")
    body, size = memoryview(content)[head.end() :], int(head[2])
    require(len(body) >= size, "it is cut short")
    require(len(body) == size, "it is too long")
    unchanged = hashlib.sha256(body).hexdigest().encode() == head[1]
    require(unchanged, "it was changed after it was written: its SHA-256 is another")
    length = int.from_bytes(body[:8], "little")
    require(len(body) - length >= 8, "its index is cut short")
    offset = 8 + length
    places: dict[Unit, Place] = {}
    for unit, size in _entries(bytes(body[8:offset])):
        require(unit not in places, "it holds one unit twice")
        require(size <= len(body) - offset, "its units are cut short")
        digest = hashlib.sha256(body[offset : offset + size]).digest()
        places[unit] = Place(path, head.end() + offset, size, digest)
        offset += size
    require(offset == len(body), "it is too long for its index")
    return places


def read_unit(place: Place) -> bytes:
    """The bytes of a unit, verified again; StoreError if they have changed."""
    with as_store_errors(f"cannot read {place.path}"), open(place.path, "rb") as file:
        file.seek(place.offset)
        content = file.read(place.length)
    unchanged = hashlib.sha256(content).digest() == place.sha256
    require(unchanged, f"{place.path} has changed while it was in use")
    return content


@as_store_errors("it cannot be read")
def _content(path: Path) -> bytes:
    # Neither block on a named pipe nor follow a symbolic link.
    with open(open_for_reading(path, follow=False), "rb") as file:
        require(stat.S_ISREG(os.fstat(file.fileno()).st_mode), "it is not a file")
        return file.read()


def _entries(raw: bytes) -> list[tuple[Unit, int]]:
    try:
        index = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"its index is not JSON: {error}") from None
    few = isinstance(index, list) and len(index) <= _MOST_UNITS
    require(few, "its index is not a list of units")
    units = []
    for entry in index:
        known = isinstance(entry, list) and len(entry) == 2
        require(known, "its index has an entry of another form")
        is_length = type(entry[1]) is int and entry[1] >= 0
        require(is_length, "its index has a length that is not a whole number")
        units.append((Unit.parse(entry[0]), entry[1]))
    return units


def call_key(
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

    `what` is the kind of work, `text` the chain or stage that does it. The result is the key of
    `run`, where its parts begin, and 32 hexadecimal digits of a SHA-256 of everything else. The key
    makes calls of one run differ; the digest protects a stage that calls twice under one key with
    different tables.
    """
    digest = hashlib.sha256()
    header = declared_roles(data) | {
        "what": what,
        "text": text,
        "parts": sorted(parts),
        "entropy": run.entropy,
        "table": _table_digest(data),
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


def _add(digest: Any, content: bytes) -> None:
    digest.update(len(content).to_bytes(8, "little"))
    digest.update(content)


def _bytes(array: NDArray[Any] | None) -> bytes:
    if array is None:
        return b""
    # Counts of another integer type are the same counts.
    wide = np.ascontiguousarray(array, dtype="<f8" if array.dtype.kind == "f" else "<i8")
    return f"{wide.dtype.kind}{wide.shape}".encode() + wide.tobytes()


_known_digests: dict[int, tuple[Any, str]] = {}
"""Weak references to matrices of tables, and their digests, by identity: calls share a table."""


def _table_digest(data: Dataset) -> str:
    if data.in_parts:
        return str(data.matrix.rows_sha256)
    matrix, known = data.matrix, _known_digests.get(id(data.matrix))
    if data.nbytes and known is not None and known[0]() is matrix:
        return known[1]
    digest = hashlib.sha256(f"{data.n_samples}x{data.n_features}".encode())
    for start, stop in data.column_blocks():
        # Transposed, so that columns are contiguous in any memory layout.
        digest.update(np.ascontiguousarray(data.columns(start, stop).T, dtype="<f8").tobytes())
    if data.nbytes:
        key = id(matrix)
        forget = weakref.ref(matrix, lambda _: _known_digests.pop(key, None))
        _known_digests[key] = (forget, digest.hexdigest())
    return digest.hexdigest()
