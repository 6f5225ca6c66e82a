"""Linear algebra and sums over pairs in threads, whose number changes no bit."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ContextDecorator
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from fsframe.method.run import Run


@cache
def _controller() -> Any:
    import scipy.linalg.blas  # noqa: F401  SciPy's own library, found only once it is loaded

    return ThreadpoolController().select(user_api="blas")


class OneBlasThread(ContextDecorator):
    """Limits the linear algebra libraries to one thread while any caller is inside.

    The limit applies to the process. It is set by the first caller to enter and removed by the last
    one to leave, so that concurrent resamples share it.
    """

    _lock = threading.Lock()
    _inside = 0
    _limit: Any = None

    def __enter__(self) -> OneBlasThread:
        cls = OneBlasThread
        with cls._lock:
            if cls._inside == 0:
                cls._limit = _controller().limit(limits=1)
            cls._inside += 1
        return self

    def __exit__(self, *_: object) -> None:
        cls = OneBlasThread
        with cls._lock:
            cls._inside -= 1
            if cls._inside == 0:
                cls._limit.restore_original_limits()


one_blas_thread = OneBlasThread()
"""Context manager, and decorator for functions whose bits must not depend on threads."""


STORED_ROWS = 4096
"""Above this many rows distances are recomputed in every pass (3 N² doubles are 400 MB)."""

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

        if len(self.chunks) == 1:
            return part(self.chunks[0])
        total = np.zeros(shape)
        if self.threads == 1:
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


def workers_within(run: Run, n_samples: int, n_features: int) -> int:
    """Number of fits that may run at a time: `run.threads`, or fewer if memory requires it.

    A fit holds up to three N × N arrays (none above 4096 rows), a few copies of the table, and
    eight A × A arrays if W is stored as a matrix. Only the number of concurrent fits is bounded
    here, so that results do not depend on it.
    """
    rows = min(n_samples, STORED_ROWS)
    each = 24 * rows * rows + 32 * n_samples * n_features
    each += min(64 * n_features * n_features, run.memory // 2)
    return int(max(1, min(run.threads, run.memory // max(1, each))))
