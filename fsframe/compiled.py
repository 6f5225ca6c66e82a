"""Compiled kernels: numba's `njit` with an on-disk cache, its first compilation said on stderr."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import event

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
        print(
            "fsframe: compiling numerical kernels (first use here, kept for later runs) …",
            file=sys.stderr,
            flush=True,
        )

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())


def njit(**options: Any) -> Callable[[F], F]:
    """A decorator that compiles a function on its first call and keeps the machine code on disk.

    What is kept serves until any module of the function's folder, or `fsframe.bit_counts`, changes:
    a kernel contains those of other modules that it calls.

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
    options = {"cache": True, "nogil": True, **options}

    def decorate(function: F) -> F:
        compiled = numba.njit(**options)(function)
        # numba looks at the module of the function only; where its inner names are others than
        # these, that is what happens
        kept = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
        if kept is not None and hasattr(kept, "_source_stamp"):
            folder = Path(inspect.getfile(function)).parent
            kept._source_stamp = (kept._source_stamp, _stamp(folder))
        return compiled

    return decorate


@lru_cache
def _stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, time of change and size of every module of a folder, and of the shared bit counts."""
    shared = Path(__file__).with_name("bit_counts.py")
    found = [(path.name, path.stat()) for path in [*sorted(folder.glob("*.py")), shared]]
    return tuple((name, state.st_mtime_ns, state.st_size) for name, state in found)
