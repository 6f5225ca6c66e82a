"""Linear algebra in one thread: sums divided among threads differ in their last bits."""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["OneBlasThread", "one_blas_thread"]


@cache
def _controller() -> Any:
    import scipy.linalg.blas  # noqa: F401  SciPy's own library, found only once it is loaded

    return ThreadpoolController().select(user_api="blas")


class OneBlasThread(ContextDecorator):
    """Limits the linear algebra libraries to one thread while any caller is inside.

    The limit applies to the process. It is set by the first caller to enter and removed by the last
    one to leave, so that concurrent resamples share it.
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
"""Context manager, and decorator for functions whose bits must not depend on threads."""
