"""A lock on a folder that records its holder and is released when the holder dies."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from fsframe.errors import StoreError
from fsframe.storage import printable

try:
    import fcntl
except ImportError:  # not POSIX: the record alone decides
    fcntl = None  # type: ignore[assignment]

__all__ = ["FolderLock", "Holder"]

_MOST_BYTES = 10_000
_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


@attrs.frozen(kw_only=True)
class Holder:
    """A process, told apart from every other that had or will have its number.

    Parameters
    ----------
    pid : int
    host : str
    boot : str
        Which start of the machine it belongs to; empty where that cannot be found out.
    started : str
        When it started, in the system's own ticks since then; empty likewise.
    space : str
        Which count of processes its number belongs to (containers have their own); empty likewise.
    since : str
        When it took the lock, for people; decides nothing, so a wrong clock does no harm.
    """

    pid: int
    host: str = ""
    boot: str = ""
    started: str = ""
    space: str = ""
    since: str = ""

    @classmethod
    def this_process(cls) -> Holder:
        """The process that asks."""
        pid = os.getpid()
        return cls(
            pid=pid,
            host=socket.gethostname(),
            boot=_boot(),
            started=_started(pid),
            space=_space(),
            since=datetime.now().astimezone().isoformat(timespec="seconds"),
        )

    @property
    def same_start(self) -> bool:
        """Whether it ran since this start of this machine, whatever the machine is called now."""
        return bool(self.boot) and self.boot == _boot()

    def alive(self) -> bool | None:
        """Whether this process still runs; None if it runs on another machine, or might."""
        same_host = self.host == socket.gethostname()
        if self.same_start:
            # A machine may change its name, as that of a requeued job does; a container counts its
            # processes by itself.
            known = self.space == _space() if self.space and _space() else same_host
        else:
            if same_host and self.boot != _boot():
                return False
            known = same_host
        if not known:
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OverflowError):
            pass
        return self.started == _started(self.pid)

    def __str__(self) -> str:
        where = "" if self.host == socket.gethostname() else f" on {printable(self.host)}"
        return f"process {self.pid}{where}" + (
            f", since {printable(self.since)}" * bool(self.since)
        )


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> str:
    try:
        # The name of the program, in parentheses, may itself hold blanks and parentheses.
        facts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        # Dead, and only not collected yet by the one that started it.
        return "" if facts[0] in "ZX" else facts[19]
    except (OSError, IndexError):
        return ""


def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


class FolderLock:
    """The exclusive right to a folder, held until `release` or the process's end.

    The system's own lock on the file ``lock`` decides; the file's content says who holds it. Where
    the file system knows no locks, the content decides alone. A lock is dead, and taken, if the
    record names a process of this start of this machine that is gone, or whose system lock is free
    (one kernel keeps the locks of all its containers), or a process from before the last start.
    """

    def __init__(self, folder: Path, descriptor: int) -> None:
        self._folder = folder
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, folder: Path) -> FolderLock:
        """The lock of `folder`, which is there.

        Raises
        ------
        StoreError
            Saying who holds it, or why it cannot be taken.
        """
        path = folder / "lock"
        while True:
            try:
                descriptor = os.open(
                    path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666
                )
            except OSError as error:
                raise StoreError(
                    f"cannot write {path}: {error.strerror}; choose another place"
                ) from error
            try:
                if cls._take(path, descriptor):
                    return cls(folder, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            # The one who held it has finished and removed the file in between.
            os.close(descriptor)

    @staticmethod
    def _take(path: Path, descriptor: int) -> bool:
        locked = _system_lock(descriptor)
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
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, record, 0)
        except OSError as error:
            raise StoreError(
                f"cannot write {path}: {error.strerror}; free space or choose another place"
            ) from error
        return True

    def release(self) -> None:
        """Let go of the folder; the file goes too, if it is still there."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        with contextlib.suppress(OSError):
            os.unlink(self._folder / "lock")
        os.close(descriptor)


def _dead(holder: Holder, me: Holder, locked: bool | None) -> bool:
    """Whether a recorded holder holds nothing any more; `locked` as `_system_lock` says."""
    alive = holder.alive()
    if alive is None:
        # Of another count of processes, or another machine: only the kernel they share can tell.
        return bool(locked) and holder.same_start
    if alive and locked and holder.pid == me.pid:
        # This very process, which has let go.
        return True
    return not alive


def _system_lock(descriptor: int) -> bool | None:
    """Whether the system gives the lock; None where it has no such locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return None
        raise
    return True


def _read(descriptor: int) -> Holder | None:
    try:
        found: Any = json.loads(os.pread(descriptor, _MOST_BYTES, 0))
        texts = {name: str(found[name]) for name in ("host", "boot", "started", "since")}
        return Holder(pid=int(found["pid"]), space=str(found.get("space", "")), **texts)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _held(path: Path, holder: Holder | None) -> StoreError:
    folder = path.parent
    if holder is None:
        return StoreError(f"{folder} is in use by another process; wait for it, or stop it")
    if holder.alive() is None:
        return StoreError(
            f"{folder} is in use by {holder}; wait for it. If that process is gone, remove {path} "
            "and try again"
        )
    return StoreError(
        f"{folder} is in use by {holder}; wait for it, or stop it (kill {holder.pid})"
    )
