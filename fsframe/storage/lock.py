"""A lock on a folder that records its holder and is released when the holder dies."""

from __future__ import annotations

import json
import os
import socket
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from fsframe.atomic import as_store_errors
from fsframe.errors import StoreError
from fsframe.system import (
    boot_id,
    lock_file,
    open_lock,
    process_exists,
    process_space,
    process_status,
    release_lock,
)
from fsframe.text import printable

_MOST_BYTES = 10_000


@attrs.frozen(kw_only=True)
class Holder:
    """A process, identified even if its process number is used again.

    Parameters
    ----------
    pid : int
    host : str
    boot : str
        Boot identifier of the machine; empty if unknown.
    started : str
        Start time in clock ticks since boot; empty if unknown.
    space : str
        PID namespace of its number (containers have their own); empty if unknown.
    since : str
        When it took the lock, for messages only.
    """

    pid: int
    host: str = ""
    boot: str = ""
    started: str = ""
    space: str = ""
    since: str = ""

    @classmethod
    def this_process(cls) -> Holder:
        """The current process."""
        pid = os.getpid()
        return cls(
            pid=pid,
            host=socket.gethostname(),
            boot=boot_id(),
            started=_started(pid),
            space=process_space(),
            since=datetime.now().astimezone().isoformat(timespec="seconds"),
        )

    @property
    def same_start(self) -> bool:
        """Whether it ran since the last boot of this machine, under any host name."""
        return bool(self.boot) and self.boot == boot_id()

    def alive(self) -> bool | None:
        """Whether this process still runs; None if it may run on another machine or container."""
        same_host = self.host == socket.gethostname()
        if self.same_start:
            # The host name may change (a requeued job); containers have PID namespaces.
            space = process_space()
            known = self.space == space if self.space and space else same_host
        else:
            if same_host and self.boot != boot_id():
                return False
            known = same_host
        if not known:
            return None
        exists = process_exists(self.pid)
        return exists and self.started == _started(self.pid)

    def __str__(self) -> str:
        where = "" if self.host == socket.gethostname() else f" on {printable(self.host)}"
        return f"process {self.pid}{where}" + (
            f", since {printable(self.since)}" * bool(self.since)
        )


def _started(pid: int) -> str:
    status = process_status(pid)
    # A zombie is dead, although its parent has not collected it yet.
    return status[19] if len(status) > 19 and status[0] not in "ZX" else ""


class FolderLock:
    """An exclusive lock on a folder, until `release` or the end of the process.

    The system's lock on the file ``lock`` decides; the file's content names the holder. Where the
    file system has no locks, the content alone decides. A lock is stale, and taken over, if its
    process ran since the last boot and is gone or its system lock is free (one kernel manages the
    locks of all its containers), or if its process ran before the last boot.
    """

    def __init__(self, folder: Path, descriptor: int) -> None:
        self._folder = folder
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, folder: Path) -> FolderLock:
        """Take the lock of an existing folder.

        Raises
        ------
        StoreError
            If it cannot be taken; the message names the holder, or the reason.
        """
        path = folder / "lock"
        while True:
            with as_store_errors(f"cannot write {path}", "; choose another place"):
                descriptor = open_lock(path)
            try:
                if cls._take(path, descriptor):
                    return cls(folder, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            # The holder has finished and removed the file meanwhile.
            os.close(descriptor)

    @staticmethod
    def _take(path: Path, descriptor: int) -> bool:
        locked = lock_file(descriptor)
        holder = _read(descriptor)
        if locked is False:
            raise _held(path, holder)
        try:
            if os.fstat(descriptor).st_ino != os.stat(path).st_ino:
                return False
        except FileNotFoundError:
            return False
        me = Holder.this_process()
        if holder is not None and not _dead(holder, me, locked):
            raise _held(path, holder)
        record = json.dumps(attrs.asdict(me)).encode()
        with as_store_errors(f"cannot write {path}", "; free space or choose another place"):
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, record)
        return True

    def release(self) -> None:
        """Release the lock and remove its file."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        release_lock(self._folder / "lock", descriptor)


def _dead(holder: Holder, me: Holder, locked: bool | None) -> bool:
    """Whether the lock of a recorded holder is stale; `locked` as from `lock_file`."""
    alive = holder.alive()
    if alive is None:
        # In another PID namespace, or on another machine: only a shared kernel can tell.
        return bool(locked) and holder.same_start
    if alive and locked and holder.pid == me.pid:
        # This process itself, which has released an earlier lock.
        return True
    return not alive


def _read(descriptor: int) -> Holder | None:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        content: Any = json.loads(os.read(descriptor, _MOST_BYTES))
        texts = {name: str(content[name]) for name in ("host", "boot", "started", "since")}
        return Holder(pid=int(content["pid"]), space=str(content.get("space", "")), **texts)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _held(path: Path, holder: Holder | None) -> StoreError:
    folder = path.parent
    if holder is None:
        return StoreError(f"{folder} is in use by another run; wait for it, or stop it")
    if holder.alive() is None:
        return StoreError(
            f"{folder} is in use by {holder}; wait for it. If that process is gone, remove {path} "
            "and try again"
        )
    if attrs.evolve(holder, since="") == attrs.evolve(Holder.this_process(), since=""):
        return StoreError(
            f"{folder} is in use by another run of this process; wait for it, or choose another "
            "run file for this one"
        )
    return StoreError(
        f"{folder} is in use by {holder}; wait for it, or stop it (kill {holder.pid})"
    )
