"""Compiled kernels: numba's `njit` with an on-disk cache; compilation is announced on stderr."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import event

from fsframe.contracts.kernel_cache import KernelCache
from fsframe.contracts.remarks import remark, ticking

__all__ = ["njit"]

F = TypeVar("F", bound=Callable[..., Any])


def _sign() -> tuple[Path, bool]:
    """The file that says that it was said, and whether this process is nobody's worker."""
    processes = sys.modules.get("multiprocessing")
    parent = None if processes is None else processes.parent_process()
    owner = os.getpid() if parent is None else parent.pid
    return Path(tempfile.gettempdir()) / f"fsframe-{owner}.compiling", parent is None


def _first_to_say() -> bool:
    """Whether no process of this one's run has said it before."""
    sign, _ = _sign()
    try:
        # Exclusively: what another user has put there is neither followed nor written to.
        os.close(os.open(sign, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    except OSError:
        # Rather twice than never.
        return True
    return True


def _forget(sign: Path) -> None:
    with contextlib.suppress(OSError):
        sign.unlink()


class _Compiling(event.Listener):
    """What goes with the compilation of kernels; cached kernels raise no event.

    That it happens is said once for a process and its workers, which compile at the same time. On
    a terminal the seconds are counted while it lasts. Python's search for garbage is put off
    meanwhile: nothing is found, in a sixth of the time that compiling takes.
    """

    def __init__(self) -> None:
        self._said = False
        self._tells = False
        self._depth = 0
        self._meanwhile = contextlib.ExitStack()

    # numba compiles under a lock: one thread at a time, kernels within kernels.
    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        if gc.isenabled():
            gc.disable()
            self._meanwhile.callback(gc.enable)
        if not self._said:
            self._said = True
            if _first_to_say():
                remark("compiling numerical kernels (once on this machine, kept for later runs) …")
                self._tells = True
        if self._tells:
            self._meanwhile.enter_context(ticking("compiling"))

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self._meanwhile.close()


event.register("numba:compile", _Compiling())
if _sign()[1]:
    # Of an earlier process of this number that was killed.
    _forget(_sign()[0])
    # A worker may be the one that says it.
    atexit.register(_forget, _sign()[0])


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
