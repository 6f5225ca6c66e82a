"""A numeric target: tests of the product of two columns."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.errors import RequestError
from fsframe.kernels import in_threads
from fsframe.method.run import Run, size_text
from fsframe.method.statistics import normal_scores, orthonormal_basis
from fsframe.table.dataset import Dataset
from fsframe_interactions.engine.contingency_tables import log_f_tail
from fsframe_interactions.engine.screen import ScreenedPairs, TestedPairs, best_of_columns, smallest

BLOCK = 128
"""Columns of one side of a block of pairs."""

_BLOCK_BYTES = 96
"""Bytes of the temporaries of a block, for each row and column of one side: twelve arrays."""

_COLLINEAR = 1e-9
"""Share of variance unexplained by other terms up to which a term counts as collinear."""

_FEW_VALUES = 5
"""Most distinct values for which a numeric column has one effect per value."""

_NEGLIGIBLE = 1e-3
"""Terms of a main effect whose size, relative to the largest, is below this are left out."""


def product_pairs(data: Dataset, keep: int, run: Run) -> tuple[TestedPairs, int]:
    """Test the product a·b in y ~ 1 + a + b + a·b by F for all pairs; return the best `keep`.

    Parameters
    ----------
    data : Dataset
        Table with a numeric target. Rows with NaN are left out of the pairs of that column; counts
        repeat rows. A categorical column of more than two levels enters as indicators, and the
        product as all their products.
    keep : int
    run : Run

    Returns
    -------
    tested : TestedPairs
        `least_expected` holds the degrees of freedom of the residuals.
    n_varying : int
        Number of columns with at least two values, whose pairs were tested.

    Notes
    -----
    Pairs of numeric columns take fourteen matrix products over blocks of columns and one solve of
    3 × 3 each: O(p² n) time, about ten copies of 128 columns per thread. Pairs with a categorical
    column are fitted one by one, O(n q²) for q terms.
    """
    n_rows = int(data.row_counts.sum())
    held = 9 * n_rows * data.n_features
    of_thread = _BLOCK_BYTES * n_rows * min(BLOCK, data.n_features)
    if held + of_thread > run.memory:
        raise RequestError(
            f"interactions: {n_rows} rows of {data.n_features} columns take "
            f"{size_text(held + of_thread)} with a numeric target, more than the "
            f"{size_text(run.memory)} allowed; allow more memory, or put a filter before, such "
            "as mim:top=10000"
        )
    threads = min(run.threads, (run.memory - held) // of_thread)
    rows = data.counted_rows
    y = data.y[rows].astype(np.float64)
    if data.covariates is not None:
        design = data.covariates.design()[rows]
        y = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
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
            # Divided by the largest magnitude first: squares of extreme values overflow.
            scaled = present / np.abs(present).max()
            scaled = scaled - scaled.mean()
            X[known[:, j], j] = scaled / np.sqrt(np.mean(scaled**2))
    numeric = np.flatnonzero(live & ~nominal)
    parts: list[ScreenedPairs] = []
    starts = range(0, len(numeric), BLOCK)
    blocks = [
        (numeric[i : i + BLOCK], numeric[j : j + BLOCK]) for i in starts for j in starts if i <= j
    ]
    with threadpool_limits(1):
        for first in range(0, len(blocks), 64):
            parts += in_threads(
                threads,
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
    pairs_and_tests = smallest(parts, keep)
    best = best_of_columns(pairs_and_tests[0], pairs_and_tests[1][:, 3], data.n_features)
    return TestedPairs.of(pairs_and_tests, best), int(np.count_nonzero(live))


def _numeric_block(
    X: NDArray[np.float64],
    known: NDArray[np.bool_],
    y: NDArray[np.float64],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
) -> ScreenedPairs:
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
    # For collinear columns, the effect of the product cannot be estimated.
    usable = np.linalg.det(gram / size[:, None, None]) > _COLLINEAR
    gram[~usable] = np.eye(3)
    solved = np.linalg.solve(gram, np.stack([of_product, of_y], -1))
    left = pick(aabb) - np.einsum("pi,pi->p", of_product, solved[:, :, 0])
    shared = pick(aby) - np.einsum("pi,pi->p", of_product, solved[:, :, 1])
    rest = np.maximum(pick(yy) - np.einsum("pi,pi->p", of_y, solved[:, :, 1]), 0.0)
    usable &= (left > _COLLINEAR * size) & (rest > _COLLINEAR * size)
    explained = np.where(usable, shared**2 / np.where(usable, left, 1.0), 0.0)
    lower = size - 4
    residual = np.maximum(rest - explained, _COLLINEAR * rest * 1e-6)
    f = np.where(usable, explained / np.where(usable, residual / lower, 1.0), 0.0)
    log_p = np.where(usable, log_f_tail(f, 1.0, lower), 0.0)
    pairs = np.column_stack([first[i], second[j]]).astype(np.int64)
    return pairs[usable], np.column_stack([f, np.ones(len(f)), lower, log_p])[usable]


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
    if upper < 1 or lower < 1 or rests[0] <= _COLLINEAR * len(target):
        return 0.0, 0.0, float(max(lower, 0)), 0.0
    residual = max(rests[1], 1e-15 * rests[0])
    f = max(0.0, rests[0] - rests[1]) / upper / (residual / lower)
    return f, float(upper), float(lower), float(log_f_tail(f, upper, lower))


def robust_tests(data: Dataset, screened: TestedPairs) -> TestedPairs:
    """Test the products of pairs of columns, given flexible main effects and covariates.

    Parameters
    ----------
    data : Dataset
        Table with a numeric target. Rows with NaN are left out of the pairs of that column; counts
        repeat rows.
    screened : TestedPairs

    Returns
    -------
    TestedPairs
        F from the robust covariance, with degrees of freedom that are 0 where the product cannot be
        told from main effects; `least_expected` holds those of the residuals. The effect is the
        change of the target, in its units, for one standard deviation of both columns (of normal
        scores, for a column of more than five values); NaN if a column has more than two
        categories.

    Notes
    -----
    A main effect consists of the column itself and a cubic spline of its normal scores with knots
    at the terciles, or of an indicator for each category or for each of at most five distinct
    values. The product is that of the normal scores (of indicators, all products). Covariates enter
    as columns do. Two tests are computed, and p is the larger of theirs: the Wald test with the HC2
    estimate of covariance, Σ r_i r_iᵀ e_i² / (1 − h_i) between (Σ r_i r_iᵀ)⁻¹, r the product given
    the main effects, which is approximate whatever the variances; and F, which is exact for normal
    residuals of equal variance. The error is the larger of theirs, too. O(n) for each pair, and
    8 n q bytes for q terms.

    References
    ----------
    MacKinnon, White 1985, J. Econometrics 29:305 (HC2); Hastie, Tibshirani, Friedman 2009, The
    Elements of Statistical Learning, 2nd ed., eq. 5.3 (cubic splines).
    """
    pairs, rows = screened.pairs, data.counted_rows
    target = data.y[rows].astype(np.float64)
    scale = float(np.std(target / np.abs(target).max(initial=1e-300)))
    scale *= float(np.abs(target).max(initial=0.0))
    given = np.empty((len(rows), 0))
    if data.covariates is not None:
        sides = zip(data.covariates.values[rows].T, data.covariates.nominal, strict=True)
        given = np.hstack([_Terms.of(values, bool(nominal)).main for values, nominal in sides])
    terms = {}
    for column in np.unique(pairs).tolist():
        values = np.asarray(data.columns(column, column + 1))[rows, 0].astype(np.float64)
        terms[column] = _Terms.of(values, bool(data.categorical[column]))
    y = _standard(target)
    tests = np.zeros((len(pairs), 6))
    for a in np.unique(pairs[:, 0]).tolist():
        places = np.flatnonzero(pairs[:, 0] == a)
        others = [terms[b] for b in pairs[places, 1].tolist()]
        # Pairs of columns without gaps that have a single product are computed together.
        alike = [of.factors.shape[1] == 1 and bool(of.known.all()) for of in others]
        if terms[a].factors.shape[1] > 1 or not terms[a].known.all():
            alike = [False] * len(others)
        many = [place for place, together in enumerate(alike) if together]
        for some in [many, *([place] for place, together in enumerate(alike) if not together)]:
            if some:
                tested = _robust(terms[a], [others[place] for place in some], given, y)
                tests[places[some]] = tested
    f, upper, lower, log_p, effect, error = tests.T
    return attrs.evolve(
        screened, statistic=f, freedom=upper.astype(np.int64), fitted_freedom=upper, log_p=log_p,
        least_expected=lower, effect=effect * scale, error=error * scale,
        best_log_p=best_of_columns(pairs, log_p, len(screened.best_log_p)),
    )  # fmt: skip


@attrs.frozen(kw_only=True, eq=False)
class _Terms:
    """Terms of one column in a model: main effects (n, q), and its factors of products.

    Rows whose value is missing are 0 in both, and not `known`.
    """

    main: NDArray[np.float64]
    factors: NDArray[np.float64]
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, values: NDArray[np.float64], nominal: bool) -> _Terms:
        known = ~np.isnan(values)
        present = values[known]
        levels = np.unique(present)
        if nominal or len(levels) <= _FEW_VALUES:
            main = np.equal.outer(present, levels[1:]).astype(np.float64)
            factors = main if nominal and len(levels) > 2 else _standard(present)[:, None]
        else:
            plain = _standard(present)
            score = normal_scores(present)
            factors = (score / np.std(score))[:, None]
            main = np.column_stack([plain, *_spline(factors[:, 0])])
            main = (main - main.mean(axis=0)) / main.std(axis=0)
            main = orthonormal_basis(main, _NEGLIGIBLE) * np.sqrt(len(present))
        filled = [np.zeros((len(values), part.shape[1])) for part in (main, factors)]
        for columns, part in zip(filled, (main, factors), strict=True):
            columns[known] = part
        return cls(main=filled[0], factors=filled[1], known=known)


def _robust(
    a: _Terms, others: list[_Terms], given: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.float64]:
    """F, its two degrees of freedom, log p, effect and error of pairs of `a`, (m, 6).

    Several pairs at once must have equally many products and no missing values.
    """
    known = a.known & others[0].known if len(others) == 1 else a.known
    y, n = y[known], int(known.sum())
    none = np.array([0.0, 0.0, 0.0, 0.0, np.nan, np.nan])
    if n < 3:
        return np.tile(none, (len(others), 1))
    basis = np.column_stack([np.ones(n), a.main[known], given[known]])
    [basis] = _orthonormal_bases(basis[None], _COLLINEAR * n)
    width = max(of.main.shape[1] for of in others)
    main = np.zeros((len(others), n, width))
    for place, of in enumerate(others):
        main[place, :, : of.main.shape[1]] = of.main[known]
    main = _orthonormal_bases(main - basis @ (basis.T @ main), _COLLINEAR * n)
    factors = np.stack([of.factors[known] for of in others])
    product = (a.factors[known][None, :, :, None] * factors[:, :, None, :]).reshape(
        len(others), n, -1
    )
    rest = product - basis @ (basis.T @ product)
    rest -= main @ (main.transpose(0, 2, 1) @ rest)
    directions = _orthonormal_bases(rest, 1e-8 * n)
    unexplained = (y - basis @ (basis.T @ y))[None, :, None]
    unexplained = unexplained - main @ (main.transpose(0, 2, 1) @ unexplained)
    slopes = directions.transpose(0, 2, 1) @ unexplained
    plain = (unexplained - directions @ slopes)[:, :, 0]
    leverage = (basis**2).sum(axis=1) + (main**2).sum(axis=2) + (directions**2).sum(axis=2)
    meat = directions * (plain / np.sqrt(np.maximum(1.0 - leverage, _COLLINEAR)))[:, :, None]
    covariance = meat.transpose(0, 2, 1) @ meat
    total = (unexplained[:, :, 0] ** 2).sum(axis=1)
    upper = np.any(directions != 0.0, axis=1).sum(axis=1)
    terms = np.any(basis != 0.0, axis=0).sum() + np.any(main != 0.0, axis=1).sum(axis=1)
    lower = n - terms - upper
    usable = (upper > 0) & (lower > 0) & (total > _COLLINEAR * n)
    tiny = np.where(usable, 1e-15 * total, 1.0)
    variance = np.maximum((plain**2).sum(axis=1) / np.maximum(lower, 1), tiny)
    weights, axes = np.linalg.eigh(covariance)
    along = (axes.transpose(0, 2, 1) @ slopes)[:, :, 0]
    robust = (along**2 / np.maximum(weights, tiny[:, None])).sum(axis=1)
    f = np.minimum((slopes[:, :, 0] ** 2).sum(axis=1) / variance, robust) / np.maximum(upper, 1)
    tests = np.tile(none, (len(others), 1))
    tests[:, 2] = np.maximum(lower, 0)
    tests[usable, 0], tests[usable, 1] = f[usable], upper[usable]
    tests[usable, 3] = log_f_tail(f[usable], upper[usable], lower[usable])
    if product.shape[2] == 1:
        length = np.sqrt((rest[:, :, 0] ** 2).sum(axis=1))
        sign = np.sign((directions[:, :, 0] * rest[:, :, 0]).sum(axis=1))
        largest = np.sqrt(np.maximum(covariance[:, 0, 0], variance))
        tests[usable, 4] = (slopes[:, 0, 0] * sign)[usable] / length[usable]
        tests[usable, 5] = largest[usable] / length[usable]
    return tests


def _orthonormal_bases(values: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Orthonormal bases of m matrices (n, q), with zeros for directions of square ≤ `least`."""
    size, axes = np.linalg.eigh(values.transpose(0, 2, 1) @ values)
    scale = np.where(size > least, 1.0 / np.sqrt(np.where(size > least, size, 1.0)), 0.0)
    return np.asarray(values @ (axes * scale[:, None, :]))


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
