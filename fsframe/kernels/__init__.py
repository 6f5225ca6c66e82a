"""Compiled functions and their cache, counts of bits, and work in parallel threads."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from fsframe.text import remark

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
        remark(f"{_VARIABLE}={value[:30]!r} is not a number of threads and is ignored")


# Before any module of this package imports numba.
unset_senseless_threads()


T = TypeVar("T")
R = TypeVar("R")


def in_threads(threads: int, work: Callable[[T], R], units: Iterable[T]) -> list[R]:
    """The results of `work` for all units, in order, computed in parallel threads.

    The results depend on `threads` only if units write to the same memory.

    Examples
    --------
    >>> in_threads(2, lambda b: b * b, range(4))
    [0, 1, 4, 9]
    """
    listed = list(units)
    if threads <= 1 or len(listed) <= 1:
        return [work(unit) for unit in listed]
    with ThreadPoolExecutor(min(threads, len(listed))) as pool:
        return list(pool.map(work, listed))


SHORT = 8e-3
"""Seconds of a fit below which threads cost more than they give."""


def fits_in_threads(threads: int, fit: Callable[[T], R], units: Iterable[T]) -> list[R]:
    """`in_threads` for fits that alternate between the interpreter and compiled loops.

    If the first takes less than `SHORT`, all run one after the other: threads would wait for the
    interpreter most of the time, and small fits took twice as long in two of them. The clock
    decides on time only, not on results.
    """
    listed = list(units)
    if threads <= 1 or len(listed) <= 1:
        return in_threads(1, fit, listed)
    before = time.thread_time()
    first = fit(listed[0])
    short = time.thread_time() - before < SHORT
    return [first, *in_threads(1 if short else threads, fit, listed[1:])]


def in_order(
    pool: ThreadPoolExecutor, work: Callable[[T], R], units: Iterable[T], ahead: int
) -> Iterator[R]:
    """The results of `work` for all units, in order, computed ahead while earlier ones are used.

    Parameters
    ----------
    pool : ThreadPoolExecutor
    work : callable
    units : iterable
    ahead : int ≥ 1
        Most units that are begun and not yet used; the caller holds one more result.

    Examples
    --------
    >>> with ThreadPoolExecutor(2) as pool:
    ...     list(in_order(pool, lambda b: b * b, range(4), 3))
    [0, 1, 4, 9]
    """
    waiting: deque[Future[R]] = deque()
    for unit in units:
        if len(waiting) == ahead:
            yield waiting.popleft().result()
        waiting.append(pool.submit(work, unit))
    while waiting:
        yield waiting.popleft().result()


def read_ahead(items: Iterator[T], threads: int) -> Iterator[T]:
    """The items, each made by another thread while the one before it is in use.

    Parameters
    ----------
    items : iterator
        Yields anything but None. Its errors are raised where the item would be yielded.
    threads : int
        With 1, no other thread is used, and each item is made when it is asked for.

    Notes
    -----
    Two items are held at a time.

    Examples
    --------
    >>> list(read_ahead(iter("abc"), 2))
    ['a', 'b', 'c']
    """
    if threads <= 1:
        yield from items
        return
    with ThreadPoolExecutor(1) as reader:
        following = reader.submit(next, items, None)
        while (item := following.result()) is not None:
            following = reader.submit(next, items, None)
            yield item
            # Free it before the next one is waited for.
            del item
