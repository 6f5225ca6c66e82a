"""Units of work over blocks of target rows, the same however many threads share them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["ROW_BLOCK", "run_blocks"]

ROW_BLOCK = 64
"""Target rows per unit of work; fixed, so that sums do not depend on the number of threads."""


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
