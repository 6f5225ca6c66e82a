"""The test as published, in plain arrays: reference for tests of the compiled engine.

Wan et al. 2010, eq. 2–4: with x_a, x_b and the class as the three factors of a contingency table,
the model of homogeneous association has every two-way term and no three-way term. Its deviance
against the saturated model measures interaction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats


def pair_table(
    a: NDArray[np.int64], b: NDArray[np.int64], y: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Count the rows of each level of `a`, level of `b` and class; a negative code is a gap.

    >>> pair_table(np.array([0, 1, -1]), np.array([0, 0, 0]), np.array([1, 1, 0])).tolist()
    [[[0.0, 1.0]], [[0.0, 1.0]]]
    """
    known = (a >= 0) & (b >= 0)
    table = np.zeros((a.max() + 1, b.max() + 1, y.max() + 1))
    np.add.at(table, (a[known], b[known], y[known]), 1.0)
    return table


def fitted(table: NDArray[np.float64], tolerance: float = 1e-12) -> NDArray[np.float64]:
    """Expected counts without the three-way term, by iterative proportional fitting."""
    expected = np.ones_like(table)
    for _ in range(100_000):
        before = expected
        for axis in (2, 1, 0):  # n_ij·, n_i·k, n_·jk
            observed, have = table.sum(axis, keepdims=True), expected.sum(axis, keepdims=True)
            expected = expected * np.divide(observed, have, out=np.zeros_like(have), where=have > 0)
        if np.abs(expected - before).max() <= tolerance * table.sum():
            break
    return expected


def degrees_of_freedom(table: NDArray[np.float64]) -> int:
    """Number of cells that the model can fill, minus its free parameters there (a matrix rank)."""
    margins = [table.sum(axis, keepdims=True) > 0 for axis in range(3)]
    i, j, k = np.nonzero(margins[0] & margins[1] & margins[2])
    columns = [np.equal.outer(code, np.unique(code)) for code in (
        i * table.shape[1] + j, i * table.shape[2] + k, j * table.shape[2] + k
    )]  # fmt: skip
    return len(i) - int(np.linalg.matrix_rank(np.hstack(columns).astype(float)))


def pair_test(table: NDArray[np.float64]) -> tuple[float, int, float]:
    """G², its degrees of freedom, and the p-value of χ².

    >>> g2, df, p = pair_test(np.array([[[10.0, 0], [0, 10]], [[0, 10], [10, 0]]]) + 1)
    >>> round(g2, 3), df, p < 1e-6
    (39.006, 1, True)
    """
    seen = table > 0
    g2 = 2.0 * float(np.sum(table[seen] * np.log(table[seen] / fitted(table)[seen])))
    df = degrees_of_freedom(table)
    return g2, df, float(stats.chi2.sf(g2, df)) if df else 1.0
