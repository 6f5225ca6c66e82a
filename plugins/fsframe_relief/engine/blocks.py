"""Work over blocks of target rows, divided in the same way for any number of threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from typing import Any

__all__ = ["ROW_BLOCK", "row_block", "run_blocks"]

ROW_BLOCK = 64
"""Most target rows per unit of work."""
SMALL = 2e7
"""Pairs times columns below which starting threads costs more than they save."""


def row_block(n: int, p: int) -> int:
    """Target rows per unit of work: set by the table, so that threads do not change sums.

    About ten units divide the work evenly, and process only half of a symmetric matrix; for small
    tables fewer and larger ones cost less to start.

    >>> row_block(30, 5), row_block(100, 10_000), row_block(200, 1000), row_block(2000, 100)
    (64, 8, 24, 64)
    """
    if n * n * p < SMALL:
        return ROW_BLOCK
    return min(max(n // 8 // 8 * 8, 8), ROW_BLOCK)


def run_blocks(work: Callable[[int], Any], starts: range, threads: int) -> Iterator[Any]:
    """Results of ``work(start)`` in order, computed by up to `threads` threads.

    The calling thread works too, so that nothing waits for a thread to wake up. At most sixteen
    results per thread are kept, so that memory stays bounded.
    """
    if threads <= 1 or len(starts) <= 1:
        yield from map(work, starts)
        return
    pending = 16 * threads
    for first in range(0, len(starts), pending):
        yield from _map_ordered(work, starts[first : first + pending], threads - 1)


def _map_ordered(work: Callable[[int], Any], starts: range, n_helpers: int) -> list[Any]:
    """All results; each thread takes the next start as soon as it is free."""
    results: list[Any] = [None] * len(starts)
    left = deque(enumerate(starts))

    def take() -> None:
        while True:
            try:
                place, start = left.popleft()
            except IndexError:
                return
            results[place] = work(start)

    pool = _helpers(os.getpid(), n_helpers)
    futures = [pool.submit(take) for _ in range(min(n_helpers, len(starts) - 1))]
    try:
        take()
    finally:
        left.clear()
        # those that have not begun by now have nothing left to do
        begun = [future for future in futures if not future.cancel()]
        wait(begun)
    for future in begun:
        future.result()
    return results


@lru_cache(maxsize=8)
def _helpers(pid: int, n: int) -> ThreadPoolExecutor:
    """Threads that are kept by this process: starting them takes longer than a small fit."""
    return ThreadPoolExecutor(n, thread_name_prefix="fsframe-relief")
