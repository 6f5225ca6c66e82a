"""Large values that many tasks need: sent to each worker once, or not sent at all.

A task refers to a value by its token. A worker looks in its cache, then maps the parent's memory
if possible (Linux, same machine), and otherwise raises `ValueMissing`; the task is then sent again
with the value.
"""

from __future__ import annotations

import mmap
import os
import pickle
import uuid
from collections import OrderedDict
from typing import Any

import attrs

from fsframe.storage.units.lock import boot_id

__all__ = ["Parcel", "Scattered", "Shared", "SharedValue", "ValueMissing", "fetch"]

_ALIGNMENT = 64
_KEPT = 8

# In the process that shares: the values by token, until they are released.
_shared: dict[str, Any] = {}
# In a worker: the values it has fetched, least recently used first.
_fetched: OrderedDict[str, Any] = OrderedDict()


class ValueMissing(Exception):
    """A worker does not have the value of a token and cannot map it."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.token = token


@attrs.frozen
class Shared:
    """The name of a value, and where on this machine its bytes can be mapped.

    `sizes` are the bytes of the pickle and of each buffer; `descriptor` is None where the value is
    not in mappable memory.
    """

    token: str
    pid: int
    machine: str
    descriptor: int | None = None
    sizes: tuple[int, ...] = ()


@attrs.frozen
class Parcel:
    """A value with its token, sent as a whole."""

    token: str
    value: Any


@attrs.frozen
class Scattered(Parcel):
    """A value that a cluster stores on each worker; it is not cached a second time."""


class SharedValue:
    """A value that tasks can refer to, until `release`.

    Parameters
    ----------
    value
        Any picklable object.
    mappable : bool
        Whether other processes of this machine can map it.
    """

    def __init__(self, value: Any, *, mappable: bool) -> None:
        self.value = value
        token = uuid.uuid4().hex
        self._memory: int | None = None
        sizes: tuple[int, ...] = ()
        if mappable and hasattr(os, "memfd_create"):
            self._memory, sizes = _in_memory(token, value)
        self.shared = Shared(token, os.getpid(), boot_id(), self._memory, sizes)
        _shared[token] = value

    @staticmethod
    def holds(token: str) -> bool:
        """Whether this process shares a value of that token."""
        return token in _shared

    @property
    def parcel(self) -> Parcel:
        """The value itself, to be sent."""
        return Parcel(self.shared.token, self.value)

    def release(self) -> None:
        """Release the value; workers that have mapped it keep their mapping."""
        _shared.pop(self.shared.token, None)
        if self._memory is not None:
            os.close(self._memory)
            self._memory = None


def fetch(reference: Shared | Parcel) -> Any:
    """The referenced value; ValueMissing if it is not available here."""
    token = reference.token
    if isinstance(reference, Scattered):
        return reference.value
    if token in _shared:
        return _shared[token]
    if token in _fetched:
        _fetched.move_to_end(token)
        return _fetched[token]
    value = reference.value if isinstance(reference, Parcel) else _mapped(reference)
    _fetched[token] = value
    while len(_fetched) > _KEPT:
        _fetched.popitem(last=False)
    return value


def _aligned(size: int) -> int:
    return -size % _ALIGNMENT


def _in_memory(token: str, value: Any) -> tuple[int, tuple[int, ...]]:
    """A descriptor of memory that holds the token, the pickle and each buffer, aligned."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    pieces: list[memoryview] = [memoryview(token.encode()), memoryview(head)]
    pieces += [buffer.raw() for buffer in buffers]
    descriptor = os.memfd_create("fsframe", getattr(os, "MFD_CLOEXEC", 0))
    try:
        for piece in pieces:
            view = piece
            while view:
                view = view[os.write(descriptor, view) :]
            os.write(descriptor, bytes(_aligned(len(piece))))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, tuple(map(len, pieces))


def _mapped(shared: Shared) -> Any:
    """The value, its arrays in the parent's memory, read-only."""
    if shared.descriptor is None or shared.machine != boot_id():
        raise ValueMissing(shared.token)
    try:
        path = f"/proc/{shared.pid}/fd/{shared.descriptor}"
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        raise ValueMissing(shared.token) from None
    try:
        memory = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        raise ValueMissing(shared.token) from None
    finally:
        os.close(descriptor)
    pieces, place = [], 0
    for size in shared.sizes:
        pieces.append(memory[place : place + size])
        place += size + _aligned(size)
    # In another PID namespace the number may belong to another process: check the token.
    if bytes(pieces[0]) != shared.token.encode():
        raise ValueMissing(shared.token)
    return pickle.loads(pieces[1], buffers=pieces[2:])
