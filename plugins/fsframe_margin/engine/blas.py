"""Linear algebra in one thread: sums split by threads differ in their last bits."""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["OneBlasThread", "one_blas_thread"]


@cache
def _controller() -> Any:
    import scipy.linalg.blas  # noqa: F401  a second library, which must be loaded to be found

    return ThreadpoolController().select(user_api="blas")


class OneBlasThread(ContextDecorator):
    """Holds the linear algebra libraries at one thread while anybody is inside.

    The limit belongs to the process, so it is set by the first to enter and lifted by the last to
    leave: resamples that run side by side share it.
    """

    _lock = threading.Lock()
    _inside = 0
    _limit: Any = None

    def __enter__(self) -> OneBlasThread:
        cls = OneBlasThread
        with cls._lock:
            if cls._inside == 0:
                cls._limit = _controller().limit(limits=1)
            cls._inside += 1
        return self

    def __exit__(self, *_: object) -> None:
        cls = OneBlasThread
        with cls._lock:
            cls._inside -= 1
            if cls._inside == 0:
                cls._limit.restore_original_limits()


one_blas_thread = OneBlasThread()
"""The context, and the decorator of everything whose bits must not depend on threads."""
