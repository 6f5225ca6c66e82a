"""Compiled functions and their cache, counts of bits, and threads."""

from __future__ import annotations

import os

from fsframe.remarks import remark

_VARIABLE = "NUMBA_NUM_THREADS"


def unset_senseless_threads() -> None:
    """Remove ``NUMBA_NUM_THREADS`` from the environment, with a remark, unless it is 1 or more.

    No kernel uses the threads of numba. With 0, importing numba fails, and the plugin that imports
    it would be blamed; with text that is not a number, numba prints a traceback.
    """
    value = os.environ.get(_VARIABLE)
    if value is None:
        return
    try:
        usable = int(value) > 0
    except ValueError:
        usable = False
    if not usable:
        del os.environ[_VARIABLE]
        remark(f"{_VARIABLE}={value[:30]!r} is no number of threads and is not used")


# Before any module of this package imports numba.
unset_senseless_threads()
