"""The compiled loops against the best array formulation known to us, on one thread.

    python benchmarks/relief/kernels.py [NAME …]

Ratios are processor seconds of the arrays / of the compiled loop, the least of several alternating
runs of each; both are first checked to give the same numbers. A compiled loop is kept if the ratio
is 3 or more at such sizes, or if the README in this folder gives another reason.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Case = tuple[str, str, Callable[[], Any], Callable[[], Any]]
"""Name of the loop, size and array formulation, the loop, the arrays; both return their result."""


def least(work: Callable[[], Any], other: Callable[[], Any], turns: int = 5) -> tuple[float, float]:
    """Least processor seconds of two functions, called alternately."""
    best = [np.inf, np.inf]
    for _ in range(turns):
        for k, piece in enumerate((work, other)):
            start = time.process_time()
            piece()
            best[k] = min(best[k], time.process_time() - start)
    return best[0], best[1]


def cases() -> Iterator[Case]:
    """All compiled loops of the family."""
    import kernel_distances
    import kernel_neighbours
    import kernel_scores

    for module in (kernel_distances, kernel_neighbours, kernel_scores):
        yield from module.cases()


def main() -> None:
    wanted = sys.argv[1:]
    print("| loop | size (array formulation) | loop ms | arrays ms | ratio |")
    print("|---|---|---|---|---|")
    for name, what, loop, arrays in cases():
        if wanted and name not in wanted:
            continue
        np.testing.assert_allclose(loop(), arrays(), rtol=1e-9, atol=1e-9, err_msg=name)
        a, b = least(loop, arrays)
        print(f"| {name} | {what} | {a * 1e3:.2f} | {b * 1e3:.2f} | {b / a:.1f} |", flush=True)


if __name__ == "__main__":
    main()
