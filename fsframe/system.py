"""What operating systems do differently: owners, locks, limits, signals, processes, shared memory.

No other module uses names that only some systems have (`tests/core/test_system.py` reads them
all). Where a system has no such thing, the functions here say so by their result, and
`missing_protections` names what is then not guarded. All of it is used on Linux; nothing was
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
from collections.abc import Iterator, Sequence
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

# Without it Windows changes the ends of lines.
_BINARY = getattr(os, "O_BINARY", 0)

STDOUT_PATHS = ("/dev/stdout", "/dev/fd/1")
"""Paths that stand for standard output."""

STREAM_FOLDERS = ("/dev/fd/", "/proc/", "/dev/std")
"""How paths begin that may stand for an open stream."""


def missing_protections() -> tuple[str, ...]:
    """What is not guarded on this system, one sentence each; empty on Linux.

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
    """Whether the group has no member but the user, as far as the system's lists tell."""
    try:
        import grp
        import pwd

        owner, entry = pwd.getpwuid(user), grp.getgrgid(group)
    except (ImportError, KeyError):
        return False
    alone = set(entry.gr_mem) <= {owner.pw_name}
    return owner.pw_gid == group and entry.gr_name == owner.pw_name and alone


# Who can have written a file that is about to be executed, such as compiled kernels: by owner and
# permission bits of POSIX. Access control lists, with which an owner can let others write, are not
# read.

UNKNOWN = "cannot be checked for its owner on this system"


def trusted_owners(source: Path) -> frozenset[int]:
    """The users who can change what this process executes anyway, by number.

    This user, root, and the owner of `source`, a Python file that this process has imported; empty
    where files have no owners that can be checked.
    """
    me = user_number()
    if me is None:
        return frozenset()
    owners = {me, 0}
    # A source in an archive, or gone since, has none.
    with contextlib.suppress(OSError):
        owners.add(os.stat(source).st_uid)
    return frozenset(owners)


def distrust(state: os.stat_result, owners: frozenset[int]) -> str:
    """Why somebody else than `owners` can have written a file or folder; empty if nobody can.

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
    """Why somebody else than `owners` can have put files into a folder, or put the folder there.

    Empty if nobody can, or there is no such folder. Who can write to a folder above can replace
    this one by one of their own, which is then refused; by a link only if the link is their own,
    which is refused too.
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
    """A descriptor that is not inherited; a named pipe is opened without waiting for its writer.

    Parameters
    ----------
    path : path
    follow : bool
        Whether to follow a link at the end of the path. Where the system cannot refuse it while
        it opens a file, it is looked for before.

    Raises
    ------
    OSError
        With errno ELOOP for a link that is not to be followed.
    """
    flags = os.O_RDONLY | _BINARY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    if not follow:
        if not hasattr(os, "O_NOFOLLOW") and os.path.islink(path):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
        flags |= getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags)


def create_file(path: str | os.PathLike[str], mode: int = 0o666) -> int:
    """A descriptor for writing a file that did not exist; FileExistsError if it did, or is a link.

    `mode` are the permission bits of POSIX.
    """
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY, mode)


# Locks

_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


def open_lock(path: Path) -> int:
    """A descriptor of a lock file, which is created if there is none; a link is not followed."""
    flags = os.O_RDWR | os.O_CREAT | _BINARY | getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags, 0o666)


def lock_file(descriptor: int) -> bool | None:
    """Whether an exclusive lock, until the process ends, was acquired; None where there is none."""
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
        # While it is locked: later it may be the file of the next holder.
        with contextlib.suppress(OSError):
            os.unlink(path)
    os.close(descriptor)
    if WINDOWS:
        # Open files cannot be removed there.
        with contextlib.suppress(OSError):
            os.unlink(path)


# Processes


def process_exists(pid: int) -> bool | None:
    """Whether there is a process of that number on this machine; None if that cannot be asked."""
    if WINDOWS:
        # os.kill would send an event of the console, or end the process.
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def boot_id() -> str:
    """Identifies the machine and its last boot; empty if unknown."""
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


def process_space() -> str:
    """The namespace of this process's number (containers have their own); empty if unknown."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


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
    """Let all threads of this process allocate from one arena of glibc; elsewhere nothing."""
    # M_ARENA_MAX of <malloc.h>.
    adjust = getattr(ctypes.CDLL(None), "mallopt", None) if LINUX else None
    if adjust is not None:
        adjust(-8, 1)


def can_limit_processes() -> bool:
    """Whether the system keeps processes to a limit of address space; macOS and Windows do not."""
    return resource is not None and sys.platform != "darwin"


def limited_process(command: Sequence[str], memory: int, seconds: int) -> subprocess.Popen[bytes]:
    """Start a process with at most `memory` bytes of address space and `seconds` of processor time.

    No core is dumped. Only where `can_limit_processes`.
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
    """A descriptor of memory that `open_shared_memory` can open; if `CAN_SHARE_MEMORY`."""
    return os.memfd_create("fsframe", getattr(os, "MFD_CLOEXEC", 0))


def open_shared_memory(pid: int, descriptor: int) -> int:
    """A descriptor, of this process, of memory that another process shares.

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
"""Those of them that a terminal's Ctrl-C does not send to all processes of the group."""

_HAS_TIMER = hasattr(signal, "setitimer")


@contextlib.contextmanager
def terminal_signals_blocked() -> Iterator[None]:
    """Processes started meanwhile never receive SIGINT and SIGHUP, where these can be blocked."""
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

    It removes without a word what a process that was killed could not: its warning would follow
    the last event of ``--progress json``, or a user's prompt, and asks nothing of anybody.
    """
    if WINDOWS:
        return
    from multiprocessing import resource_tracker

    # It is started with the warning options of this process.
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.pop()


@contextlib.contextmanager
def raises_after(seconds: float, error: type[BaseException]) -> Iterator[None]:
    """Raise `error` in the main thread after that time, and every second from then on.

    Without effect in other threads, for 0 seconds, and where there is no timer that interrupts.
    """
    main = threading.current_thread() is threading.main_thread()
    if not (main and seconds and _HAS_TIMER):
        yield
        return

    def on_alarm(number: int, frame: FrameType | None) -> None:
        raise error

    before = signal.signal(signal.SIGALRM, on_alarm)
    # Repeatedly, since a `finally` of what is interrupted may wait as well.
    left, again = signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, left, again)
