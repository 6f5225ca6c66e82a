"""Limits of address space (``ulimit -v``): what is reserved, and the least that is enough."""

from __future__ import annotations

import ctypes
import os
import sys

from fsframe.errors import FsframeError

__all__ = ["check_address_space", "reserve_little"]

# M_ARENA_MAX of <malloc.h>.
_ARENA_MAX = -8
# Measured: 0.92 GB is too little for two processors, 1.02 GB enough; a processor's threads of
# polars and BLAS take 5 MB.
_LEAST = 1_100_000_000
_LEAST_PER_PROCESSOR = 8_000_000


def _limit() -> int | None:
    """The limit of this process's address space in bytes; None without one."""
    if not sys.platform.startswith("linux"):
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def reserve_little() -> None:
    """Let all threads allocate from one arena if this process has a limit of address space.

    glibc reserves 64 MiB for each of up to eight arenas per processor, of which a thread touches a
    few kilobytes: with a dozen threads, half of the address space of a run. To be called before
    threads are started. Elsewhere than on Linux with glibc, and without a limit (``ulimit -v``),
    nothing changes.
    """
    if _limit() is None:
        return
    adjust = getattr(ctypes.CDLL(None), "mallopt", None)
    if adjust is not None:
        adjust(_ARENA_MAX, 1)


def check_address_space() -> None:
    """Check that the numerical libraries can be loaded and start their threads.

    With less they abort the process, or try for ever.

    Raises
    ------
    FsframeError
        With the limit and the least that is enough.
    """
    limit, least = _limit(), _LEAST + _LEAST_PER_PROCESSOR * (os.cpu_count() or 1)
    if limit is not None and limit < least:
        raise FsframeError(
            f"not enough memory: this process may have {limit / 1e9:.3g} GB of address space; "
            f"allow at least {least / 1e9:.3g} GB (ulimit -v {-(-least // 1024)})"
        )
