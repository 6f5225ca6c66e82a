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

from fsframe.kernels.kernel_cache import KernelCache
from fsframe.remarks import remark, ticking

__all__ = ["njit"]

F = TypeVar("F", bound=Callable[..., Any])


def _sign() -> tuple[Path, bool]:
    """The file that marks that compilation was announced, and whether this is the main process."""
    processes = sys.modules.get("multiprocessing")
    parent = None if processes is None else processes.parent_process()
    owner = os.getpid() if parent is None else parent.pid
    return Path(tempfile.gettempdir()) / f"fsframe-{owner}.compiling", parent is None


def _first_to_announce() -> bool:
    """Whether neither the main process nor one of its workers has announced it before."""
    sign, _ = _sign()
    try:
        # Exclusively, so that a file or link of another user is not written to.
        os.close(os.open(sign, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    except OSError:
        # Better twice than never.
        return True
    return True


def _forget(sign: Path) -> None:
    with contextlib.suppress(OSError):
        sign.unlink()


class _Compiling(event.Listener):
    """Announces the compilation of kernels; cached kernels raise no event.

    It is announced once for a process and its workers. A terminal shows the elapsed seconds.
    Garbage collection is paused: it finds nothing, in a sixth of the time of compilation.
    """

    def __init__(self) -> None:
        self._announced = False
        self._shown = False
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
        if not self._announced:
            self._announced = True
            if _first_to_announce():
                remark("compiling numerical kernels (once on this machine, kept for later runs) …")
                self._shown = True
        if self._shown:
            self._meanwhile.enter_context(ticking("compiling"))

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self._meanwhile.close()


event.register("numba:compile", _Compiling())
if _sign()[1]:
    # Left by a killed process with the same number.
    _forget(_sign()[0])
    # Also if a worker announces it.
    atexit.register(_forget, _sign()[0])


def njit(**options: Any) -> Callable[[F], F]:
    """A decorator that compiles a function on its first call and keeps the machine code on disk.

    The code is valid until a module of the function's folder, or `bit_counts`, changes, since a
    kernel contains the kernels of other modules that it calls. `fsframe.kernels.kernel_cache`
    documents the cache.

    Parameters
    ----------
    **options
        Options of `numba.njit`; ``cache=True`` and ``nogil=True`` by default.

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
        # With NUMBA_DISABLE_JIT, `njit` returns the function itself.
        if kept and hasattr(compiled, "_cache"):
            compiled._cache = KernelCache(function)
        return compiled  # type: ignore[no-any-return]

    return decorate
