"""Compiled kernels: numba's `njit` with an on-disk cache, its first compilation said on stderr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

from fsframe.contracts.kernel_cache import KernelCache
from fsframe.contracts.remarks import remark

__all__ = ["njit"]

F = TypeVar("F", bound=Callable[..., Any])


class _Announcer(event.Listener):
    """Says once per process that kernels are being compiled; cached kernels raise no event."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        if self.said:
            return
        self.said = True
        remark("compiling numerical kernels (first use here, kept for later runs) …")

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())


def njit(**options: Any) -> Callable[[F], F]:
    """A decorator that compiles a function on its first call and keeps the machine code on disk.

    What is kept serves until any module of the function's folder, or `bit_counts`, changes:
    a kernel contains those of other modules that it calls. Where it is kept, and what happens where
    nothing can be, says `fsframe.contracts.kernel_cache`.

    Parameters
    ----------
    **options
        Options of `numba.njit`; ``cache=True`` and ``nogil=True`` unless told otherwise.

    Returns
    -------
    Callable
        The decorator.

    Examples
    --------
    >>> @njit(cache=False)
    ... def double(x):
    ...     return 2 * x
    >>> double(2.0)
    4.0
    """
    options = {"nogil": True, **options}
    kept = options.pop("cache", True)

    def decorate(function: F) -> F:
        compiled = numba.njit(**options)(function)
        # A function is compiled by numba only where there is no NUMBA_DISABLE_JIT.
        if kept and hasattr(compiled, "_cache"):
            compiled._cache = KernelCache(function)
        return compiled  # type: ignore[no-any-return]

    return decorate
