"""Many bootstraps of one table: together, and one by one.

    python benchmarks/relief/bootstraps.py [--repeats 3]

Wall seconds for 20 bootstraps, the best of the repeats; "one by one" is `select` on each, with the
same number of threads; "together" is `select_many`, whose results are the same bits (checked here
once more). Genotypes of 500 columns or more are compared once for all bootstraps. Continuous
columns have different ranges, and so different distances, in each bootstrap, and only parallel fits
save time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import fsframe
from fsframe.method.run import Run

TABLES = [
    ("genotypes", 500, 2000),
    ("genotypes", 1000, 1000),
    ("genotypes", 200, 10_000),
    ("normal", 200, 500),
    ("normal", 1000, 100),
]
BOOTSTRAPS = 20


def best(repeats: int, work: Callable[[], object]) -> float:
    """Least wall seconds of several calls after a first one."""
    work()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    print("| kind | N | A | method | threads | one by one s | together s | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for kind, n, p in TABLES:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p))
        if kind == "genotypes":
            X = rng.binomial(2, 0.3, (n, p)).astype(float)
        data = fsframe.Dataset.from_arrays(X, rng.integers(0, 2, n))
        drawn = [np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(BOOTSTRAPS)]
        counts = np.array(drawn)
        for name in ("relieff", "multisurf"):
            method = fsframe.selectors[name]()
            for threads in (1, 2):
                run = Run(threads=threads)

                def one_by_one(method=method, data=data, counts=counts, run=run):  # type: ignore[no-untyped-def]
                    return [
                        method.select(data.with_counts(row), run=run.child(b)).scores
                        for b, row in enumerate(counts)
                    ]

                def together(method=method, data=data, counts=counts, run=run):  # type: ignore[no-untyped-def]
                    return [found.scores for found in method.select_many(data, counts, run=run)]

                np.testing.assert_array_equal(together(), one_by_one())
                alone = best(arguments.repeats, one_by_one)
                many = best(arguments.repeats, together)
                print(
                    f"| {kind} | {n} | {p} | {name} | {threads} | {alone:.3f} | {many:.3f} | "
                    f"{alone / many:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
