"""Units of work over blocks of target rows, the same however many threads share them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["ROW_BLOCK", "row_block", "run_blocks"]

ROW_BLOCK = 64
"""Most target rows per unit of work."""
SMALL = 2e7
"""Pairs times columns below which starting threads costs more than they save."""


def row_block(n: int, p: int) -> int:
    """Target rows per unit of work: set by the table, so that threads do not change sums.

    Some twelve units share the work evenly, and pass over half of a symmetric matrix only; where
    there is little to do, fewer and larger ones cost less to start.

    >>> row_block(30, 5), row_block(100, 10_000), row_block(2000, 100)
    (64, 8, 64)
    """
    if n * n * p < SMALL:
        return ROW_BLOCK
    return min(max(n // 12 // 8 * 8, 8), ROW_BLOCK)


def run_blocks(work: Callable[[int], Any], starts: range, threads: int) -> Any:
    """Results of ``work(start)`` in order, computed by up to `threads` threads.

    At most four results per thread are held back, so that memory stays bounded.
    """
    if threads <= 1 or len(starts) <= 1:
        yield from map(work, starts)
        return
    with ThreadPoolExecutor(threads) as pool:
        pending: list[Any] = []
        for start in starts:
            pending.append(pool.submit(work, start))
            if len(pending) >= 4 * threads:
                yield pending.pop(0).result()
        for future in pending:
            yield future.result()
