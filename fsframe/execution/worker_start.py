"""First steps of a worker process: limits that numerical libraries read on import."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
import threading
from multiprocessing import connection, parent_process

from fsframe.execution.allocator import reserve_little
from fsframe.execution.tolerant_stream import TolerantStream

__all__ = ["start_worker"]

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def start_worker() -> None:
    """Make this process a worker: one thread, ignores Ctrl-C, no stdout, exits with its parent.

    Ctrl-C at a terminal reaches every process of the group; it is the parent's to handle. A parent
    that was killed cannot tell its workers, so each watches the pipe that ends with it. What every
    task needs is imported now, not during the first task.
    """
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
    importlib.import_module("fsframe.resampling.work")
    # Excludes modules from garbage collection, which otherwise takes some 80 ms each time.
    gc.collect()
    gc.freeze()


def _leave_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
