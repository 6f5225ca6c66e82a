"""Differences between operating systems: owners, locks, limits, signals, processes, shared memory.

No other module uses names that only some systems have (`tests/core/test_system.py` checks this).
Where a system lacks a feature, the functions here say so by their result, and
`missing_protections` names what is then not guarded. All of it is used on Linux; nothing has been
tried on macOS or Windows.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import subprocess

LINUX = sys.platform.startswith("linux")
WINDOWS = sys.platform == "win32"
NAME = sys.platform

OVER_TIME = "SIGXCPU"
"""Name of the signal that ends a process at its limit of processor time."""

# Without this flag, Windows changes line ends.
_BINARY = getattr(os, "O_BINARY", 0)

STDOUT_PATHS = ("/dev/stdout", "/dev/fd/1")
"""Paths that stand for standard output."""

STREAM_FOLDERS = ("/dev/fd/", "/proc/", "/dev/std")
"""Prefixes of paths that may stand for an open stream."""


def missing_protections() -> tuple[str, ...]:
    """The protections that this system lacks, one sentence each; empty on Linux.

    Examples
    --------
    >>> missing_protections()
    ()
    """
    missing = []
    if user_number() is None:
        missing.append(
            "owners of files cannot be checked: nothing is kept beside tables, and kernels are "
            "compiled in every process"
        )
    if fcntl is None:
        missing.append(
            "files have no locks that end with their process: after a run was killed, its lock "
            "has to be removed by hand"
        )
    if not can_limit_processes():
        missing.append("processes have no limit of memory: --contained is refused")
    if not hasattr(os, "O_NOFOLLOW"):
        missing.append("a link that takes the place of a file just before it is opened is followed")
    if not _HAS_TIMER:
        missing.append("a plugin whose import does not end is waited for")
    if not CAN_SHARE_MEMORY:
        missing.append("each worker is sent a copy of the table")
    return tuple(missing)


# Owners of files


def user_number() -> int | None:
    """The number of this process's user; None where files have no owner that can be checked."""
    return os.getuid() if hasattr(os, "getuid") else None


def _user(number: int) -> str:
    try:
        import pwd

        return f"{pwd.getpwuid(number).pw_name} (user {number})"
    except (ImportError, KeyError):
        return f"user {number}"


def _group(number: int) -> str:
    try:
        import grp

        return grp.getgrgid(number).gr_name
    except (ImportError, KeyError):
        return str(number)


@lru_cache
def is_private_group(user: int, group: int) -> bool:
    """Whether a group is private to a user (see `distrust`), according to the system's lists."""
    try:
        import grp
        import pwd

        owner, entry = pwd.getpwuid(user), grp.getgrgid(group)
    except (ImportError, KeyError):
        return False
    alone = set(entry.gr_mem) <= {owner.pw_name}
    return owner.pw_gid == group and entry.gr_name == owner.pw_name and alone


# The owner and the POSIX permission bits tell who can have written a file that is about to be
# executed, such as compiled kernels. Access control lists, with which an owner can let others
# write, are not read.

UNKNOWN = "cannot be checked for its owner on this system"


def trusted_owners(source: Path) -> frozenset[int]:
    """The numbers of the users who can change what this process executes anyway.

    These are this user, root, and the owner of `source`, a Python file that this process has
    imported; none where files have no owners that can be checked.
    """
    me = user_number()
    if me is None:
        return frozenset()
    owners = {me, 0}
    # A source that is in an archive, or was removed, has no owner.
    with contextlib.suppress(OSError):
        owners.add(os.stat(source).st_uid)
    return frozenset(owners)


def distrust(state: os.stat_result, owners: frozenset[int]) -> str:
    """The reason why others than `owners` can have written a file or folder; empty if they cannot.

    Write permission for the group is accepted if the group is private to the owner: the owner's
    primary group, with the same name and no other members (the default of Debian, Ubuntu and Red
    Hat).
    """
    if user_number() is None:
        return UNKNOWN
    if state.st_uid not in owners:
        return f"belongs to {_user(state.st_uid)}, not to you, root or the owner of the program"
    if state.st_mode & stat.S_IWOTH:
        return "can be written to by everybody"
    if state.st_mode & stat.S_IWGRP and not is_private_group(state.st_uid, state.st_gid):
        return f"can be written to by the group {_group(state.st_gid)}"
    return ""


def distrust_folder(folder: Path, owners: frozenset[int]) -> str:
    """The reason why others than `owners` can have created a folder or put files into it.

    Empty if they cannot, or if there is no such folder. Somebody who can write to a folder above
    can replace this one, but only by a folder or a link of their own, and both are refused.
    """
    if user_number() is None:
        return UNKNOWN
    try:
        for above in folder.parents:
            state = os.lstat(above)
            if stat.S_ISLNK(state.st_mode) and state.st_uid not in owners:
                return f"is reached by a link, {above}, that belongs to {_user(state.st_uid)}"
        state = os.lstat(folder)
        if stat.S_ISLNK(state.st_mode):
            return "is a link"
        return distrust(state, owners)
    except OSError:
        return ""


# Opening files


def open_for_reading(path: str | os.PathLike[str], *, follow: bool = True) -> int:
    """Open a file without waiting for the writer of a named pipe; the descriptor is not inherited.

    Parameters
    ----------
    path : path
    follow : bool
        Whether to follow a link at the end of the path. Where the system cannot refuse a link when
        it opens a file, the path is checked beforehand.

    Raises
    ------
    OSError
        With errno ELOOP if the path is a link and `follow` is false.
    """
    flags = os.O_RDONLY | _BINARY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    if not follow:
        if not hasattr(os, "O_NOFOLLOW") and os.path.islink(path):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
        flags |= getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags)


def create_file(path: str | os.PathLike[str], mode: int = 0o666) -> int:
    """Create a file and return a descriptor for writing.

    FileExistsError if the path exists or is a link; `mode` holds the POSIX permission bits.
    """
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY, mode)


# Locks

_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


def open_lock(path: Path) -> int:
    """Open a lock file, creating it if there is none, without following a link."""
    flags = os.O_RDWR | os.O_CREAT | _BINARY | getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags, 0o666)


def lock_file(descriptor: int) -> bool | None:
    """Whether an exclusive lock was acquired until the process ends; None where there are none."""
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


def release_lock(path: Path, descriptor: int) -> None:
    """Remove a lock file and close it."""
    if not WINDOWS:
        # Before unlocking: afterwards it may be the file of the next holder.
        with contextlib.suppress(OSError):
            os.unlink(path)
    os.close(descriptor)
    if WINDOWS:
        # Open files cannot be removed there.
        with contextlib.suppress(OSError):
            os.unlink(path)


# Processes


def process_exists(pid: int) -> bool | None:
    """Whether this machine has a process with this number; None where that cannot be asked."""
    if WINDOWS:
        # os.kill would send a console event or end the process.
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def boot_id() -> str:
    """An identifier of the machine and its last boot; empty if unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def process_status(pid: int) -> list[str]:
    """State and further fields of ``/proc/PID/stat``; empty where the system has no such file."""
    try:
        # The name of the program, in parentheses, may itself hold blanks and parentheses.
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def in_worker() -> bool:
    """Whether this is a worker process, started by multiprocessing."""
    processes = sys.modules.get("multiprocessing")
    return processes is not None and processes.parent_process() is not None


def available_processors() -> int:
    """Number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# Memory and limits


def physical_memory() -> int | None:
    """Bytes of memory of the machine; None if the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def address_space_limit() -> int | None:
    """The limit of this process's address space in bytes; None without one."""
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def allocate_from_one_arena() -> None:
    """Let all threads of this process allocate from one arena of glibc; do nothing elsewhere."""
    # M_ARENA_MAX of <malloc.h>.
    adjust = getattr(ctypes.CDLL(None), "mallopt", None) if LINUX else None
    if adjust is not None:
        adjust(-8, 1)


def can_limit_processes() -> bool:
    """Whether the system keeps processes to a limit of address space; macOS and Windows do not."""
    return resource is not None and sys.platform != "darwin"


def limited_process(command: Sequence[str], memory: int, seconds: int) -> subprocess.Popen[bytes]:
    """Start a process with at most `memory` bytes of address space and `seconds` of processor time.

    No core is dumped. Call this only if `can_limit_processes`.
    """
    import subprocess

    assert resource is not None

    def limit() -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return subprocess.Popen(command, preexec_fn=limit)


CAN_SHARE_MEMORY = hasattr(os, "memfd_create") and LINUX
"""Whether other processes of this machine can map memory of this one (`shared_memory`)."""


def shared_memory() -> int:
    """A descriptor of memory for `open_shared_memory`; call this only if `CAN_SHARE_MEMORY`."""
    return os.memfd_create("fsframe", getattr(os, "MFD_CLOEXEC", 0))


def open_shared_memory(pid: int, descriptor: int) -> int:
    """Open memory that another process shares, and return this process's descriptor of it.

    Raises
    ------
    OSError
        If that process has ended or closed it, or is in another namespace.
    """
    return open_for_reading(f"/proc/{pid}/fd/{descriptor}")


# Signals

STOPPING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""The signals that stop a process, as far as the system has them."""

PASSED_ON = tuple(number for number in STOPPING if number != signal.SIGINT)
"""The signals of `STOPPING` except SIGINT, which Ctrl-C sends to all processes of the group."""

_HAS_TIMER = hasattr(signal, "setitimer")


@contextlib.contextmanager
def signals_handled(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], object]
) -> Iterator[None]:
    """Context in which `handler` is called for these signals, except for those that are ignored.

    It has no effect outside the main thread.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in numbers:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            # Another handler may have been installed for good meanwhile.
            if signal.getsignal(number) is handler:
                signal.signal(number, earlier)


@contextlib.contextmanager
def terminal_signals_blocked() -> Iterator[None]:
    """Block SIGINT and SIGHUP, where that is possible, in processes started in this context."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def track_semaphores() -> None:
    """Start the process that removes semaphores of worker processes; Windows needs none.

    It removes the semaphores of killed processes silently: its warning would follow the last event
    of ``--progress json``, or the user's prompt, and calls for no action.
    """
    if WINDOWS:
        return
    from multiprocessing import resource_tracker

    # The new process takes over the warning options of this one.
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.pop()


@contextlib.contextmanager
def raises_after(seconds: float, error: type[BaseException]) -> Iterator[None]:
    """Raise `error` in the main thread after `seconds`, and every second from then on.

    Has no effect in other threads, for 0 seconds, and where no timer can interrupt.
    """
    main = threading.current_thread() is threading.main_thread()
    if not (main and seconds and _HAS_TIMER):
        yield
        return

    def on_alarm(number: int, frame: FrameType | None) -> None:
        raise error

    before = signal.signal(signal.SIGALRM, on_alarm)
    # Repeatedly, since a `finally` of the interrupted code may wait as well.
    left, again = signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, left, again)
