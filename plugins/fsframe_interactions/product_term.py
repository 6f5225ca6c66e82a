"""A numeric target: the F test of the product of two columns, given both of them."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.errors import RequestError
from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe_interactions.engine.best_pairs import Found, TestedPairs, smallest
from fsframe_interactions.engine.log_tails import log_f_tail

__all__ = ["product_pairs", "robust_p_values"]

BLOCK = 128
"""Columns of one side of a block of pairs."""

_NONE = 1e-9
"""Share of a column's variance below which it is collinear with others."""


def product_pairs(data: Dataset, keep: int, run: Run) -> tuple[TestedPairs, int]:
    """F of the product a·b in y ~ 1 + a + b + a·b, for all pairs; the `keep` of the smallest p.

    Parameters
    ----------
    data : Dataset
        With a numeric target; NaN is left out of every pair it enters, counts repeat rows. A
        categorical column of more than two levels enters as indicators, and the product as all
        their products.
    keep : int
    run : Run

    Returns
    -------
    found : TestedPairs
        `least_expected` holds the degrees of freedom of the residuals.
    n_varying : int
        Number of columns with at least two values, whose pairs were tested.

    Notes
    -----
    Pairs of numeric columns take eight matrix products over blocks of columns and one solve of
    3 × 3 each: O(p² n) time, 15 · 128² numbers per thread. Pairs with a categorical column are
    fitted one by one, O(n q²) for q terms.
    """
    rows = np.arange(data.n_samples)
    n_rows = data.n_samples if data.counts is None else int(data.counts.sum())
    if 9 * n_rows * data.n_features > run.memory // 2:
        raise RequestError(
            f"interactions: {n_rows} rows of {data.n_features} columns take "
            f"{9 * n_rows * data.n_features / 1e9:.1f} GB with a numeric target, more than half "
            f"of the {run.memory / 1e9:.1f} GB allowed; allow more memory, or put a filter before, "
            "such as mim:top=10000"
        )
    if data.counts is not None:
        rows = np.repeat(rows, data.counts)
    y = data.y[rows].astype(np.float64)
    y = y - y.mean()
    spread = np.sqrt(np.mean(y * y))
    y = y / spread if spread > 0 else y
    X = np.empty((len(rows), data.n_features))
    for start, stop in data.column_blocks():
        X[:, start:stop] = data.columns(start, stop)[rows]
    known = ~np.isnan(X)
    nominal = np.zeros(data.n_features, bool)
    live = np.zeros(data.n_features, bool)
    for j in range(data.n_features):
        present = X[known[:, j], j]
        if not present.size or present.min() == present.max():
            continue
        live[j] = True
        nominal[j] = data.categorical[j] and len(np.unique(present)) > 2
        if not nominal[j]:
            # Halves and the largest magnitude first: squares of extreme values overflow.
            scaled = present / np.abs(present).max()
            scaled = scaled - scaled.mean()
            X[known[:, j], j] = scaled / np.sqrt(np.mean(scaled**2))
    numeric = np.flatnonzero(live & ~nominal)
    parts: list[Found] = []
    starts = range(0, len(numeric), BLOCK)
    blocks = [
        (numeric[i : i + BLOCK], numeric[j : j + BLOCK]) for i in starts for j in starts if i <= j
    ]
    with threadpool_limits(1):
        for first in range(0, len(blocks), 64):
            parts += in_threads(
                run.threads,
                lambda block: _numeric_block(X, known, y, *block),
                blocks[first : first + 64],
            )
            if len(parts) > 64:
                parts = [smallest(parts, keep)]
            run.progress(min(first + 64, len(blocks)), len(blocks), "blocks of pairs")
    pairs = [
        (min(int(a), b), max(int(a), b))
        for a in np.flatnonzero(nominal)
        for b in np.flatnonzero(live).tolist()
        if int(a) < b or (int(a) > b and not nominal[b])
    ]
    if pairs:
        rows_of = [_one_by_one(X, known, y, nominal, a, b) for a, b in pairs]
        parts.append((np.array(pairs, np.int64), np.array(rows_of)))
    found = smallest(parts, keep)
    best = np.zeros(data.n_features)
    np.minimum.at(best, found[0].ravel(), np.repeat(found[1][:, 3], 2))
    return TestedPairs.of(found, best), int(np.count_nonzero(live))


def _numeric_block(
    X: NDArray[np.float64],
    known: NDArray[np.bool_],
    y: NDArray[np.float64],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
) -> Found:
    """Pairs a < b of two groups of columns: F, 1, residual degrees of freedom, log p."""
    Ma, Mb = known[:, first].astype(np.float64), known[:, second].astype(np.float64)
    A, B = np.where(Ma > 0, X[:, first], 0.0), np.where(Mb > 0, X[:, second], 0.0)
    A2, B2, yA, yM = A * A, B * B, A * y[:, None], Ma * y[:, None]
    n, a, b, ab = Ma.T @ Mb, A.T @ Mb, Ma.T @ B, A.T @ B
    aa, bb, aab, abb, aabb = A2.T @ Mb, Ma.T @ B2, A2.T @ B, A.T @ B2, A2.T @ B2
    sy, ay, by, aby = yM.T @ Mb, yA.T @ Mb, yM.T @ B, yA.T @ B
    yy = (yM * y[:, None]).T @ Mb
    inside = np.greater.outer(second, first).T & (n > 4)
    i, j = np.nonzero(inside)
    pick = lambda values: values[i, j]  # noqa: E731
    gram = np.stack([
        np.stack([pick(n), pick(a), pick(b)], -1),
        np.stack([pick(a), pick(aa), pick(ab)], -1),
        np.stack([pick(b), pick(ab), pick(bb)], -1),
    ], -2)  # fmt: skip
    of_product = np.stack([pick(ab), pick(aab), pick(abb)], -1)
    of_y = np.stack([pick(sy), pick(ay), pick(by)], -1)
    size = np.maximum(pick(n), 1.0)
    # Collinear columns: the effect of their product cannot be estimated.
    sound = np.linalg.det(gram / size[:, None, None]) > _NONE
    gram[~sound] = np.eye(3)
    solved = np.linalg.solve(gram, np.stack([of_product, of_y], -1))
    left = pick(aabb) - np.einsum("pi,pi->p", of_product, solved[:, :, 0])
    shared = pick(aby) - np.einsum("pi,pi->p", of_product, solved[:, :, 1])
    rest = np.maximum(pick(yy) - np.einsum("pi,pi->p", of_y, solved[:, :, 1]), 0.0)
    sound &= (left > _NONE * size) & (rest > _NONE * size)
    explained = np.where(sound, shared**2 / np.where(sound, left, 1.0), 0.0)
    lower = size - 4
    residual = np.maximum(rest - explained, _NONE * rest * 1e-6)
    f = np.where(sound, explained / np.where(sound, residual / lower, 1.0), 0.0)
    log_p = np.where(sound, log_f_tail(f, 1.0, lower), 0.0)
    pairs = np.column_stack([first[i], second[j]]).astype(np.int64)
    return pairs[sound], np.column_stack([f, np.ones(len(f)), lower, log_p])[sound]


def _one_by_one(
    X: NDArray[np.float64],
    known: NDArray[np.bool_],
    y: NDArray[np.float64],
    nominal: NDArray[np.bool_],
    a: int,
    b: int,
) -> tuple[float, float, float, float]:
    """F, its two degrees of freedom and log p of one pair with indicator columns."""
    rows = known[:, a] & known[:, b]
    target = y[rows]

    def terms(column: int) -> NDArray[np.float64]:
        values = X[rows, column]
        if not nominal[column]:
            return values[:, None]
        return np.equal.outer(values, np.unique(values)[1:]).astype(np.float64)

    of_a, of_b = terms(a), terms(b)
    products = (of_a[:, :, None] * of_b[:, None, :]).reshape(len(target), -1)
    main = np.column_stack([np.ones(len(target)), of_a, of_b])
    full = np.column_stack([main, products])
    ranks, rests = [], []
    for design in (main, full):
        solution, _, rank, _ = np.linalg.lstsq(design, target, rcond=None)
        ranks.append(int(rank))
        rests.append(float(np.sum((target - design @ solution) ** 2)))
    upper, lower = ranks[1] - ranks[0], len(target) - ranks[1]
    if upper < 1 or lower < 1 or rests[0] <= _NONE * len(target):
        return 0.0, 0.0, float(max(lower, 0)), 0.0
    residual = max(rests[1], 1e-15 * rests[0])
    f = max(0.0, rests[0] - rests[1]) / upper / (residual / lower)
    return f, float(upper), float(lower), float(log_f_tail(f, upper, lower))


def robust_p_values(data: Dataset, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """p of the products of pairs of columns, given curved main effects and unequal variances.

    Parameters
    ----------
    data : Dataset
        With a numeric target; NaN is left out of every pair it enters, counts repeat rows.
    pairs : (m, 2) int64

    Returns
    -------
    (m,) float64
        NaN if a column is nominal, or the product cannot be told from the main effects.

    Notes
    -----
    Main effects are cubic splines with knots at the terciles; the test is t with the HC3 estimate
    of variance, Σ r_i² e_i² / (1 − h_i)² / (Σ r_i²)², of which r is the product given the main
    effects. O(n) for each pair.

    References
    ----------
    MacKinnon, White 1985, J. Econometrics 29:305 (HC3); Hastie, Tibshirani, Friedman 2009, The
    Elements of Statistical Learning, 2nd ed., eq. 5.3 (cubic splines).
    """
    rows = np.arange(data.n_samples)
    if data.counts is not None:
        rows = np.repeat(rows, data.counts)
    found = np.full(len(pairs), np.nan)
    for place, (a, b) in enumerate(pairs.tolist()):
        if data.categorical[a] or data.categorical[b]:
            continue
        own = [np.asarray(data.columns(j, j + 1))[rows, 0].astype(np.float64) for j in (a, b)]
        known = ~(np.isnan(own[0]) | np.isnan(own[1]))
        first, second = (_standard(values[known]) for values in own)
        y = _standard(data.y[rows][known].astype(np.float64))
        main = np.column_stack([np.ones(len(y)), *_spline(first), *_spline(second)])
        basis, size, _ = np.linalg.svd(main, full_matrices=False)
        basis = basis[:, size > _NONE * size[0]]
        lower = len(y) - basis.shape[1] - 1
        product = first * second
        rest = product - basis @ (basis.T @ product)
        strength = float(rest @ rest)
        if lower < 1 or strength <= _NONE * len(y):
            continue
        unexplained = y - basis @ (basis.T @ y)
        slope = float(rest @ unexplained) / strength
        leverage = (basis**2).sum(axis=1) + rest**2 / strength
        residual = (unexplained - slope * rest) / np.maximum(1.0 - leverage, _NONE)
        error = np.sqrt(np.sum((rest * residual) ** 2)) / strength
        if error > 0:
            found[place] = 2.0 * scipy.stats.t.sf(abs(slope / error), lower)
    return found


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = np.abs(values).max(initial=0.0)
    scaled = values / largest if largest > 0 else values
    spread = float(np.std(scaled))
    return np.asarray((scaled - scaled.mean()) / spread if spread > 0 else 0.0 * scaled)


def _spline(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The terms of a cubic spline of a column with knots at its terciles, without the constant."""
    knots = np.quantile(values, (1 / 3, 2 / 3))
    bends = [np.maximum(values - knot, 0.0) ** 3 for knot in knots.tolist()]
    return [values, values**2, values**3, *bends]
