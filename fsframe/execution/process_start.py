"""First steps of a process: memory, streams and, in workers, the limits that libraries read."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import connection, current_process, parent_process
from typing import Any, TextIO

from fsframe.errors import FsframeError, StoreError
from fsframe.system import LINUX, address_space_limit, allocate_from_one_arena

# Measured: 0.92 GB is too little for two processors, 1.02 GB enough; a processor's threads of
# polars and BLAS take 5 MB.
_LEAST = 1_100_000_000
_LEAST_PER_PROCESSOR = 8_000_000


def reserve_little() -> None:
    """Let all threads allocate from one arena if this process has a limit of address space.

    glibc reserves 64 MiB for each of up to eight arenas per processor, of which a thread touches a
    few kilobytes: with a dozen threads, half of the address space of a run. Call this before
    threads are started. It does nothing without a limit (``ulimit -v``), and only applies to Linux
    with glibc.
    """
    if address_space_limit() is not None:
        allocate_from_one_arena()


def check_address_space() -> None:
    """Check that the numerical libraries can be loaded and start their threads.

    With too little address space they abort the process, or retry forever.

    Raises
    ------
    FsframeError
        With the limit and the least that is enough.
    """
    limit = address_space_limit() if LINUX else None
    least = _LEAST + _LEAST_PER_PROCESSOR * (os.cpu_count() or 1)
    if limit is not None and limit < least:
        raise FsframeError(
            f"not enough memory: this process may have {limit / 1e9:.3g} GB of address space; "
            f"allow at least {least / 1e9:.3g} GB (ulimit -v {-(-least // 1024)})"
        )


class TolerantStream:
    """Wraps a stream; text that can no longer be written is discarded.

    Examples
    --------
    >>> import os
    >>> reading, writing = os.pipe()
    >>> os.close(reading)
    >>> stream = TolerantStream(open(writing, "w", buffering=1))
    >>> print("nobody reads this", file=stream)
    >>> stream.close()
    """

    def __init__(self, stream: TextIO | None) -> None:
        # A stream is None if the shell has closed it.
        self._stream = open(os.devnull, "w") if stream is None else stream  # noqa: SIM115

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write `text`; discarded if the reader has gone."""
        try:
            return self._stream.write(text)
        except (OSError, ValueError):
            self._discard()
            return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts in the same way."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush; no error if the reader has gone."""
        try:
            self._stream.flush()
        except (OSError, ValueError):
            self._discard()

    def _discard(self) -> None:
        # Compiled code, worker processes and the interpreter's shutdown write there too.
        with contextlib.suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)


class OutputStream(TolerantStream):
    """Standard output: what cannot be written is a StoreError, but for a reader that has gone.

    Parameters
    ----------
    stream : text file, optional
        The stream to write to; None for one that the shell has closed.
    kept : callable
        Whether what is written is also in a file; then a closed stream is no error.
    """

    def __init__(self, stream: TextIO | None, kept: Callable[[], bool]) -> None:
        self._tolerated = kept if stream is None else lambda: False
        # Each write to a file opened for reading fails, as it does to a closed one.
        if stream is None:
            stream = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115
        super().__init__(stream)

    def write(self, text: str) -> int:
        """Write `text`, but not an empty one: click tries that first, and ignores errors.

        Bytes, which it tries too, have to be an error of the stream.
        """
        if text != "":
            with self._reported():
                self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush."""
        with self._reported():
            self._stream.flush()

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            self._discard()
            if self._tolerated():
                return
            reason = error.strerror or error
            raise StoreError(f"cannot write to standard output: {reason}") from error


def occupy_standard_streams() -> None:
    """Open the null device in the place of standard streams that the shell has closed.

    The next file opened would take their number, and what compiled code says on stderr would be
    written into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with contextlib.suppress(OSError):
                # The lowest free number is this one.
                os.open(os.devnull, os.O_RDWR)


_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


_worker = False


def leave_unguarded_script() -> None:
    """End a process that is about to start workers while it imports the script of its parent.

    multiprocessing would refuse with a hundred lines in each such process; the parent says what to
    do when they have died.
    """
    if not _worker and getattr(current_process(), "_inheriting", False):
        print("fsframe: a worker has imported a script that starts workers", file=sys.stderr)
        sys.stderr.flush()
        os._exit(1)


def start_worker() -> None:
    """Make this process a worker: one thread, ignores Ctrl-C, no stdout, exits with its parent.

    Ctrl-C at a terminal reaches every process of the group; it is the parent's to handle. A parent
    that was killed cannot tell its workers, so each watches the pipe that ends with it. What every
    task needs is imported now, not during the first task.
    """
    global _worker
    _worker = True
    reserve_little()
    # Results go to stdout; what a plugin prints while it works must not mix with them.
    # The reader of stderr may have gone.
    sys.stderr = TolerantStream(sys.stderr)  # type: ignore[assignment]
    sys.stdout = sys.stderr
    for name in _THREAD_VARIABLES:
        os.environ[name] = "1"
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_leave_with, args=(parent.sentinel,), daemon=True).start()
    importlib.import_module("fsframe.resampling.dispatch")
    # Excludes modules from garbage collection, which otherwise takes some 80 ms each time.
    gc.collect()
    gc.freeze()


def _leave_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
