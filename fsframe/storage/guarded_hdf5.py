"""Guarded reading of HDF5 objects: hard links, plain types, known filters, bounded sizes."""

from __future__ import annotations

import math
import secrets
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.storage.spec import NUMBER_TYPES, TEXT_BYTES, Limits, require
from fsframe.text import printable

_SHUFFLE, _DEFLATE = h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE
_FLETCHER32 = h5py.h5z.FILTER_FLETCHER32
# In this order, each once: gzip applied twice could expand a millionfold.
_PIPELINES = (
    [_FLETCHER32],
    [_SHUFFLE, _FLETCHER32],
    [_DEFLATE, _FLETCHER32],
    [_SHUFFLE, _DEFLATE, _FLETCHER32],
)
_CHECKSUM_BYTES = 4
# Chunks are about 1 MiB. Many small ones would cost more than their content.
_FREE_CHUNKS, _SMALL_CHUNK = 64, 1 << 16
# Chunks of this size take 64 MiB at most, even if expanded a thousandfold.
_HARMLESS_CHUNK = 1 << 16
_HDF5_ERRORS = (
    zlib.error,
    MemoryError,
    OSError,
    RuntimeError,
    ValueError,
    KeyError,
    TypeError,
    OverflowError,
)


class _Budget:
    """Bytes that may still be read from one file, and the addresses of the objects seen so far."""

    def __init__(self, limits: Limits, file_bytes: int) -> None:
        self.limits = limits
        self.seen: set[int] = set()
        self.all = self.left = limits.memory(file_bytes)

    def take(self, size: int, where: str) -> None:
        self.left -= size
        require(
            self.left >= 0,
            f"{where}: the arrays declare more than {self.all} bytes in all; if you trust the "
            "file, load_run(path, limits=Limits(total_expansion=1100)) reads it",
        )


def open_image(content: bytes, limits: Limits) -> tuple[Any, GuardedGroup]:
    """An open handle (to be closed by the caller) and the root group of an HDF5 file in memory."""
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_fapl_core(1 << 16, False)
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    access.set_file_image(content)
    # HDF5 considers two open files of the same name identical.
    name = f"fsframe-run-{secrets.token_hex(8)}".encode()
    try:
        handle = h5py.h5f.open(name, h5py.h5f.ACC_RDONLY, access)
        return handle, GuardedGroup(h5py.h5g.open(handle, b"/"), "", _Budget(limits, len(content)))
    except _HDF5_ERRORS as error:
        raise StoreError(f"the HDF5 part cannot be opened: {error}") from error


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: GuardedGroup, *arguments: Any, **options: Any) -> Any:
        try:
            return method(self, *arguments, **options)
        except _HDF5_ERRORS as error:
            raise StoreError(f"{self.path or '/'}: HDF5 cannot read it: {error}") from error

    call.__doc__ = method.__doc__
    return call


class GuardedGroup:
    """A group from which only what docs/file-format.md allows can be read.

    Anything else is a StoreError. `path` is for messages, empty for the root; `budget` is shared by
    all groups of a file.
    """

    def __init__(self, group: Any, path: str, budget: _Budget) -> None:
        self._group = group
        self.path = path
        self._budget = budget
        self._limits = budget.limits

    @_guarded
    def members(self) -> tuple[str, ...]:
        """Names of the members, sorted; StoreError if one is not a hard link."""
        count, most = self._group.get_num_objs(), self._limits.members
        self._require(count <= most, f"has {count} members; at most {most} are allowed")
        raw: list[bytes] = []
        self._group.links.iterate(lambda name: raw.append(name) if len(raw) < count else None)
        names = []
        for encoded in raw:
            length = len(encoded)
            known = length <= self._limits.name_bytes
            self._require(known, f"has a member whose name is {length} bytes long")
            name = self._decode(encoded, "has a member whose name")
            hard = self._group.links.get_info(encoded).type == h5py.h5l.TYPE_HARD
            self._require(hard, f"has a link to elsewhere, {printable(name)!r}")
            names.append(name)
        return tuple(sorted(names))

    def check_members(
        self, required: Iterable[str], optional: Iterable[str] = ()
    ) -> frozenset[str]:
        """The names of the members, checked against those of the format."""
        names = frozenset(self.members())
        needed = frozenset(required)
        missing, strange = needed - names, names - needed - frozenset(optional)
        self._require(not missing, f"lacks {', '.join(sorted(missing))}")
        listed = ", ".join(map(printable, sorted(strange)))
        self._require(not strange, f"has members the format does not know: {listed}")
        return names

    @_guarded
    def attributes(self, expected: dict[str, type]) -> dict[str, Any]:
        """The attributes by name; exactly those expected, with the expected types."""
        count = h5py.h5a.get_num_attrs(self._group)
        self._require(count == len(expected), f"has {count} attributes, not {len(expected)}")
        attributes: dict[str, Any] = {}
        for name, kind in expected.items():
            is_present = h5py.h5a.exists(self._group, name.encode())
            self._require(is_present, f"lacks the attribute {name}")
            attributes[name] = self._attribute(name, kind)
        return attributes

    def _attribute(self, name: str, kind: type) -> Any:
        attribute, what = h5py.h5a.open(self._group, name.encode()), f"attribute {name}"
        stored, space = attribute.get_type(), attribute.get_space()
        scalar = space.get_simple_extent_type() == h5py.h5s.SCALAR
        self._require(scalar, f"{what} is not a single value")
        if kind is str:
            width = stored.get_size()
            fixed = isinstance(stored, h5py.h5t.TypeStringID) and not stored.is_variable_str()
            self._require(fixed, f"{what} is not text of fixed length")
            self._require(width <= self._limits.attribute_bytes, f"{what} is {width} bytes long")
            array = np.zeros((), dtype=f"S{width}")
            attribute.read(array, mtype=stored)
            return self._decode(array.item(), what)
        wanted = np.dtype("<i8" if kind is int else "<f8")
        number = isinstance(stored, (h5py.h5t.TypeIntegerID, h5py.h5t.TypeFloatID))
        self._require(number and stored.dtype == wanted, f"{what} is not of type {wanted.name}")
        array = np.zeros((), dtype=wanted)
        attribute.read(array)
        return array.item()

    @_guarded
    def group(self, name: str) -> GuardedGroup:
        """The member group of that name."""
        self._check_object(name, h5py.h5o.TYPE_GROUP, "group")
        inner = h5py.h5g.open(self._group, name.encode())
        return GuardedGroup(inner, f"{self.path}/{name}", self._budget)

    @_guarded
    def array(self, name: str, kind: str | None = None) -> NDArray[Any]:
        """The member dataset of that name: numbers as stored, text as an array of bytes.

        `kind` is the NumPy name of the type it must have, or ``"text"``; any allowed type by
        default.
        """
        self._check_object(name, h5py.h5o.TYPE_DATASET, "dataset")
        dataset = h5py.h5d.open(self._group, name.encode())
        where = f"{self.path}/{printable(name)}"
        stored = dataset.get_type()
        dtype = _plain_type(stored)
        if dtype is None:
            raise StoreError(f"{where} has a type that is not allowed in a run file")
        stored_kind = "text" if dtype.kind == "S" else dtype.name
        require(kind in (None, stored_kind), f"{where} holds {stored_kind}, not {kind}")
        shape = self._sound_shape(dataset, dtype, where)
        array = np.zeros(shape, dtype=dtype)
        if array.size:
            dataset.read(h5py.h5s.ALL, h5py.h5s.ALL, array, mtype=stored)
        truth = dtype.kind != "b" or array.view(np.uint8).max(initial=0) <= 1
        require(truth, f"{where} holds truth values other than 0 and 1")
        return array

    def count_memory(self, size: int, where: str) -> None:
        """Count `size` bytes towards the memory that reading the file may take."""
        self._budget.take(size, where)

    def texts(self, name: str) -> tuple[str, ...]:
        """The member dataset of that name as texts; StoreError if it has several dimensions."""
        array = self.array(name, "text")
        where = f"{self.path}/{name}"
        require(array.ndim == 1, f"{where} is not a list of texts")
        self._budget.take(TEXT_BYTES * array.size, where)
        return tuple(self._decode(raw, f"dataset {name}") for raw in array.tolist())

    def decoded(self, name: str) -> NDArray[Any]:
        """The member dataset of that name, text as str."""
        array = self.array(name)
        if array.dtype.kind != "S":
            return array
        where = f"{self.path}/{printable(name)}"
        self._budget.take(TEXT_BYTES * array.size, where)
        texts = [self._decode(raw, f"dataset {printable(name)}") for raw in array.ravel().tolist()]
        # In a NumPy array every text takes the space of the longest, four bytes a character.
        self._budget.take(4 * array.size * max(map(len, texts), default=0), where)
        return np.array(texts, dtype=str if texts else "U1").reshape(array.shape)

    def _sound_shape(self, dataset: Any, dtype: np.dtype[Any], where: str) -> tuple[int, ...]:
        shape, most = tuple(dataset.shape), self._limits.dimensions
        plan = dataset.get_create_plist()
        size = dtype.itemsize * math.prod(shape)
        known = 1 <= len(shape) <= most
        require(known, f"{where} has {len(shape)} dimensions; 1 to {most} are allowed")
        require(not plan.get_external_count(), f"{where} keeps its values in another file")
        if not size:
            return shape
        require(
            plan.get_layout() == h5py.h5d.CHUNKED,
            f"{where} is not stored in chunks with a checksum (or is a virtual dataset)",
        )
        inside = all(a <= b for a, b in zip(plan.get_chunk(), shape, strict=True))
        require(inside, f"{where} has chunks larger than itself")
        filters = [plan.get_filter(k)[0] for k in range(plan.get_nfilters())]
        require(
            filters in _PIPELINES,
            f"{where} must have the fletcher32 checksum and no filter besides shuffle and gzip",
        )
        stored = dataset.get_storage_size()
        bounded = size <= self._limits.expansion * stored
        require(bounded, f"{where} declares {size} bytes but stores {stored}")
        self._budget.take(size, where)
        self._check_chunks(dataset, dtype, where, gzip=_DEFLATE in filters)
        return shape

    def _check_chunks(self, dataset: Any, dtype: np.dtype[Any], where: str, gzip: bool) -> None:
        """Check that all chunks exist, have checksums, and decompress to their declared size.

        HDF5 decompresses a chunk to its full length, up to a thousand times the stored one, before
        comparing it with the declared length.
        """
        shape, chunk = dataset.shape, dataset.get_create_plist().get_chunk()
        expected = math.prod(-(-length // part) for length, part in zip(shape, chunk, strict=True))
        chunk_bytes = dtype.itemsize * math.prod(chunk)
        few = expected <= _FREE_CHUNKS + math.prod(shape) * dtype.itemsize // _SMALL_CHUNK
        require(few, f"{where} is cut into {expected} chunks, too many for its size")
        n_chunks = dataset.get_num_chunks()
        require(n_chunks == expected, f"{where} has {n_chunks} chunks, not {expected}")
        chunks: list[Any] = []
        dataset.chunk_iter(chunks.append)
        for info in chunks:
            require(not info.filter_mask, f"{where} has a chunk without its checksum")
            if not gzip:
                has_its_size = info.size == chunk_bytes + _CHECKSUM_BYTES
                require(has_its_size, f"{where} has a chunk of {info.size} bytes")
            elif info.size > _HARMLESS_CHUNK:
                _, raw = dataset.read_direct_chunk(info.chunk_offset)
                stream = zlib.decompressobj()
                content = stream.decompress(raw[:-_CHECKSUM_BYTES], chunk_bytes + 1)
                require(
                    len(content) == chunk_bytes and stream.eof,
                    f"{where} has a chunk that does not decompress to its declared size",
                )

    def _check_object(self, name: str, wanted: int, word: str) -> None:
        what = f"member {printable(name)}"
        hard = self._group.links.get_info(name.encode()).type == h5py.h5l.TYPE_HARD
        self._require(hard, f"{what} is a link to elsewhere")
        info = h5py.h5o.get_info(self._group, name.encode())
        self._require(info.type == wanted, f"{what} is not a {word}")
        # A forged file may understate its reference counts, so addresses are remembered too.
        once = info.rc == 1 and info.addr not in self._budget.seen
        self._require(once, f"{what} is one object under several names")
        self._budget.seen.add(info.addr)

    def _decode(self, raw: bytes, what: str) -> str:
        self._require(b"\0" not in raw, f"{what} holds a NUL character")
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise StoreError(f"{self.path or '/'} {what} is not UTF-8") from None

    def _require(self, sound: bool, problem: str) -> None:
        require(sound, f"{self.path or '/'} {problem}")


def _plain_type(stored: Any) -> np.dtype[Any] | None:
    """The NumPy type of a stored type; None if the format does not allow it."""
    if isinstance(stored, h5py.h5t.TypeStringID):
        return None if stored.is_variable_str() else np.dtype(f"S{stored.get_size()}")
    if not isinstance(stored, (h5py.h5t.TypeIntegerID, h5py.h5t.TypeFloatID, h5py.h5t.TypeEnumID)):
        return None
    dtype = stored.dtype
    if isinstance(stored, h5py.h5t.TypeEnumID) and dtype != np.dtype(bool):
        return None
    little = dtype.newbyteorder("<") == dtype
    return dtype if little and dtype.name in NUMBER_TYPES else None
