"""`anova-f` and scikit-learn's `f_classif` on the same tables: time, and error of F.

    OPENBLAS_NUM_THREADS=1 python benchmarks/sklearn_stages/f_test.py

Processor milliseconds on one thread, the least of three, of tables in memory. Errors are the
largest relative differences, over 20 columns, from F in extended precision. In the last table
values have an offset of 1e6, which costs `f_classif` digits because it does not centre them.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import f_classif

from fsframe.table.dataset import Dataset
from fsframe_filters.significance import AnovaF

TABLES = ((200_000, 40, 0.0), (3000, 3000, 0.0), (200, 50_000, 0.0), (200, 200, 0.0))
OFFSET = (3000, 300, 1e6)


def least_ms(work: Callable[[], NDArray[np.float64]]) -> tuple[float, NDArray[np.float64]]:
    """Processor milliseconds, the least of three, and the result."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        scores = work()
        times.append(time.process_time() - begun)
    return 1e3 * min(times), scores


def exact_f(x: NDArray[np.float64], y: NDArray[np.intp]) -> float:
    """F of a column in extended precision."""
    values = x.astype(np.longdouble)
    values -= values.mean()
    groups = [values[y == c] for c in np.unique(y)]
    between = sum(group.sum() ** 2 / len(group) for group in groups)
    within = (values**2).sum() - between
    return float(between / (len(groups) - 1) / (within / (len(values) - len(groups))))


def main() -> None:
    print("      rows   columns  offset   anova-f  f_classif   error of F: anova-f  f_classif")
    for n, p, offset in (*TABLES, OFFSET):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(n, p)) + offset, rng.integers(0, 3, n)
        data = Dataset.from_arrays(X, y)
        ours, scores = least_ms(lambda data=data: AnovaF().select(data).scores)
        theirs, other = least_ms(lambda X=X, y=y: f_classif(X, y)[0])
        exact = np.array([exact_f(X[:, j], y) for j in range(20)])
        wrong = [np.abs(found[:20] / exact - 1).max() for found in (scores, other)]
        print(
            f"{n:10} {p:9} {offset:7.0e} {ours:9.1f} {theirs:10.1f}"
            f" {wrong[0]:21.0e} {wrong[1]:10.0e}"
        )


if __name__ == "__main__":
    main()
