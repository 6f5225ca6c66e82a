"""The definitions of the family in plain arrays: reference for tests of the compiled engine.

`delta` is (n, n, p): how much instances i and j differ in column a, NaN where a value is missing.
Weights of neighbours are (n,) vectors for one target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Sides = Callable[[int, Mask], tuple[Floats, Floats]]

TIE = 1e-12
"""Distances that differ by less than this share count as equal: sums are rounded."""


def differences(X: Floats, discrete: Mask) -> Floats:
    """diff(a, i, j): 0 or 1 for discrete columns, |x_i − x_j| over the range for the others."""
    delta = np.abs(X[:, None] - X[None])
    with np.errstate(invalid="ignore"):
        span = np.fmax.reduce(X) - np.fmin.reduce(X)
        ranged = np.where(span > 0, delta / np.where(span > 0, span, 1.0), 0.0)
    return np.where(np.isnan(delta), np.nan, np.where(discrete, delta > 0, ranged))


def distances(delta: Floats, weight: Any = 1.0) -> Floats:
    """Σ_a w_a diff(a, i, j) over the columns known in both, scaled up to all; NaN for i = j."""
    known = ~np.isnan(delta)
    total = np.where(known, delta * weight, 0.0).sum(axis=2)
    with np.errstate(invalid="ignore"):
        D = delta.shape[2] * total / (known * weight).sum(axis=2)
    np.fill_diagonal(D, np.nan)
    return D


def neighbours(d: Floats, members: Mask, rule: str, T: float, k: int) -> tuple[Floats, Floats]:
    """Weights of the near and the far ones among `members` at distances d from a target.

    nearest: the k nearest; those tied at the k-th place share the places left. surf, surfstar:
    nearer than T, the mean of all distances. multisurf, multisurfstar: nearer than the mean of d
    minus half its deviation. With a star also those beyond the upper bound. swrfstar: by a sigmoid.
    """
    members = members & ~np.isnan(d)
    none = np.zeros(len(d))
    if rule == "nearest":
        if members.sum() <= k:
            return members.astype(float), none
        edge = np.sort(d[members])[k - 1]
        tied = members & (np.abs(d - edge) <= TIE * edge)
        inner = members & (d < edge) & ~tied
        return inner + tied * (k - inner.sum()) / tied.sum(), none
    mean, deviation = float(np.nanmean(d)), float(np.nanstd(d))
    if rule == "swrfstar":
        if deviation == 0:
            return none, none
        s = 2 / (1 + np.exp(-(mean - d) / (deviation / 4))) - 1
        clear = members & (np.abs(mean - d) > TIE * mean)
        return np.where(clear & (s > 0), s, 0.0), np.where(clear & (s < 0), -s, 0.0)
    low = high = T
    if rule.startswith("multisurf"):
        low, high = mean - deviation / 2, mean + deviation / 2
    near = (members & (d < low * (1 - TIE))).astype(float)
    return near, (members & (d > high * (1 + TIE))).astype(float) * rule.endswith("star")


def mean_difference(delta_i: Floats, weights: Floats) -> Floats:
    """Weighted mean diff to a target, (p,), over the neighbours known there; NaN without any."""
    known = ~np.isnan(delta_i) & (weights > 0)[:, None]
    total = (weights[:, None] * known).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return (weights[:, None] * np.where(known, delta_i, 0.0)).sum(axis=0) / total


def relief_scores(
    X: Floats,
    y: NDArray[np.int64],
    delta: Floats,
    sides_of: Sides,
    omega: Floats | None = None,
    pooled: bool = False,
) -> Floats:
    """W = Σ_i ω_i [Σ_c P(c) / (1 − P(own)) mean diff to misses of c − mean diff to hits] / Σ ω.

    Near neighbours count like this, far ones with the opposite sign; P(c) / (1 − P(own)) is
    renormalised over the classes that have a neighbour. `sides_of(i, members)` gives the weights;
    `pooled` takes all misses as one class.
    """
    n = len(X)
    omega = np.ones(n) if omega is None else omega
    W = np.zeros(X.shape[1])
    for i in range(n):
        label = (y == y[i]).astype(int) if pooled else y
        prior = np.bincount(label, minlength=2)[:, None] / n
        others = np.arange(n) != i
        sides = [sides_of(i, (label == c) & others) for c in range(len(prior))]
        for side, sign in ((0, 1.0), (1, -1.0)):
            means = np.array([mean_difference(delta[i], weights[side]) for weights in sides])
            share = np.where(np.isnan(means), 0.0, prior)
            share[label[i]] = 0.0
            usable = share.sum(axis=0)
            misses = (share * np.nan_to_num(means)).sum(axis=0) / np.where(usable > 0, usable, 1.0)
            part = misses - np.nan_to_num(means[label[i]])
            W += sign * omega[i] * np.where(np.isnan(X[i]), 0.0, part)
    return W / omega.sum()


def scores(
    X: Floats,
    y: NDArray[np.int64],
    discrete: Mask,
    rule: str,
    k: int = 10,
    row: NDArray[np.intp] | None = None,
    omega: Floats | None = None,
    pooled: bool = False,
) -> Floats:
    """Scores in classification; rows with equal `row` are copies, no neighbours of one another."""
    row = np.arange(len(X)) if row is None else row
    delta = differences(X, discrete)
    D = distances(delta)
    D[np.equal.outer(row, row)] = np.nan
    T = float(np.nanmean(D))

    def sides(i: int, members: Mask) -> tuple[Floats, Floats]:
        return neighbours(D[i], members, rule, T, k)

    return relief_scores(X, y, delta, sides, omega, pooled)


def regression_scores(
    X: Floats, y: Floats, discrete: Mask, k: int, decay: float | None = None
) -> Floats:
    """RReliefF: P(diff in a | diff in y) − P(diff in a | same y), over the k nearest of each.

    Neighbours have weights e^{−(rank/decay)²}, or equal ones without `decay`.
    """
    n, p = X.shape
    delta = differences(X, discrete)
    D = distances(delta)
    dy = np.abs(y[:, None] - y[None]) / np.ptp(y)
    sums = np.zeros((4, p))  # of weight, and of weight times diff in y, in a, and in both
    for i in range(n):
        near, _ = neighbours(D[i], np.arange(n) != i, "nearest", np.nan, k)
        if decay is not None:
            closer = D[i][None] < D[i][:, None] * (1 - TIE)
            near = near * np.exp(-(((closer & (near > 0)[None]).sum(axis=1) / decay) ** 2))
        weight = near[:, None] * ~np.isnan(delta[i])
        known = weight.sum(axis=0)
        weight /= np.where(known > 0, known, 1.0) * n
        d, by_y = np.nan_to_num(delta[i]), dy[i][:, None]
        sums += [(weight * part).sum(axis=0) for part in (1.0, by_y, d, by_y * d)]
    m, c, a, ca = sums
    return ca / c - (a - ca) / (m - c)


def alike_scores(
    X: Floats, y: Floats, discrete: Mask, rule: str, omega: Floats | None = None
) -> Floats:
    """`surfstar`, `multisurfstar` and `swrfstar` for a numeric target.

    Hits of i are the instances with |y_i − y_j| below the standard deviation of y.
    """
    n, p = X.shape
    omega = np.ones(n) if omega is None else omega
    delta = differences(X, discrete)
    D = distances(delta)
    T, W = float(np.nanmean(D)), np.zeros(p)
    hit = np.abs(y[:, None] - y) < np.std(y, ddof=1)
    for i in range(n):
        others = np.arange(n) != i
        for members, worth in ((hit[i] & others, -1.0), (~hit[i], 1.0)):
            for weights, sign in zip(
                neighbours(D[i], members, rule, T, 0), (1.0, -1.0), strict=True
            ):
                part = np.nan_to_num(mean_difference(delta[i], weights))
                W += sign * worth * omega[i] * np.where(np.isnan(X[i]), 0.0, part)
    return W / omega.sum()


def iterative_scores(
    X: Floats, y: NDArray[np.int64], discrete: Mask, least: int, rounds: int
) -> Floats:
    """Iterative Relief, equations (5) to (8) of the family's page; no early stop."""
    p = X.shape[1]
    delta = differences(X, discrete)
    w, total = np.ones(p), np.zeros(p)
    for _ in range(rounds):
        D = distances(delta, w)

        def ball(i: int, members: Mask, D: Floats = D) -> tuple[Floats, Floats]:
            d, reach = D[i], [0.0]
            for of_class in (y == y[i], y != y[i]):
                near = np.sort(d[of_class & ~np.isnan(d)])
                reach += [near[min(least, len(near)) - 1]] if len(near) else []
            r = max(reach) * (1 + 1e-9)
            weight = np.maximum(0.0, 1 - (d / r) ** 2) if r > 0 else (d == 0).astype(float)
            return np.where(members & ~np.isnan(d), weight, 0.0), np.zeros(len(d))

        total += relief_scores(X, y, delta, ball)
        positive = np.maximum(total, 0)
        if not positive.any():
            break
        w = p * positive / positive.sum()
    return total / rounds
