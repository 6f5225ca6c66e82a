"""Chunks of rows for sums over pairs, with bits that do not depend on threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowChunks"]

Floats = NDArray[np.float64]
T = TypeVar("T")


class RowChunks:
    """Chunks of rows with about the same number of pairs (i, j > i), and threads to process them.

    Parameters
    ----------
    n : int
        Number of rows.
    pairs : int
        Approximate number of pairs in a chunk.
    most : int, optional
        Maximum number of chunks.
    threads : int
        Number of threads; sums are divided by chunks, never by threads.

    Notes
    -----
    While `summed` runs, no more than two arrays per thread are held besides the sum.
    """

    def __init__(self, n: int, pairs: int, most: int | None, threads: int) -> None:
        self.threads = max(1, threads)
        before = np.concatenate([[0], np.cumsum(np.arange(n - 1, -1, -1))])
        pieces = max(1, round(before[-1] / pairs))
        pieces = pieces if most is None else min(pieces, most)
        cuts = np.searchsorted(before, before[-1] * np.arange(pieces + 1) / pieces)
        cuts[0], cuts[-1] = 0, n
        self.chunks = [(int(a), int(b)) for a, b in pairwise(np.unique(cuts))]

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """The threads, which live as long as this object: starting them costs as much as a pass."""
        return ThreadPoolExecutor(self.threads)

    def __getstate__(self) -> dict[str, Any]:
        """Everything except the threads, so that fitted objects can be pickled."""
        return {name: value for name, value in vars(self).items() if name != "pool"}

    def each(self, work: Callable[[T], None], items: Sequence[T]) -> None:
        """Call `work` with every item."""
        if self.threads == 1 or len(items) <= 1:
            for item in items:
                work(item)
        else:
            list(self.pool.map(work, items))

    def each_chunk(self, work: Callable[[int, int], None]) -> None:
        """Call `work` with the first row of every chunk and the one after its last."""
        self.each(lambda chunk: work(*chunk), self.chunks)

    def summed(self, shape: tuple[int, ...], add: Callable[[Floats, int, int], None]) -> Floats:
        """The sum of arrays of `shape` that `add` fills for every chunk, in the order of chunks."""

        def part(chunk: tuple[int, int]) -> Floats:
            held = np.zeros(shape)
            add(held, *chunk)
            return held

        total = np.zeros(shape)
        if self.threads == 1 or len(self.chunks) == 1:
            for chunk in self.chunks:
                total += part(chunk)
            return total
        waiting: deque[Future[Floats]] = deque()
        for chunk in self.chunks:
            if len(waiting) > self.threads:  # Otherwise all arrays might be in memory at once.
                total += waiting.popleft().result()
            waiting.append(self.pool.submit(part, chunk))
        for held in waiting:
            total += held.result()
        return total
