"""Decide by scores: p-values from mean scores under the true and the permuted labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fsframe_npfs.engine.count_decisions import (
    Decisions,
    adjusted,
    level_of_one_test,
    shrinkage_factor,
)
from fsframe_npfs.engine.forecasts import likely_exceedances

Floats = NDArray[np.float64]

_ROUNDING = 1e-12
_DIGITS = 9  # rounding to these makes values tied in exact arithmetic tie here


def centred(rows: Floats) -> Floats:
    """Means of at least two labellings minus λ times the feature's mean over the other labellings.

    `rows` are (n_labellings, K), λ is `fsframe_npfs.engine.count_decisions.shrinkage_factor`.

    Examples
    --------
    >>> centred(np.array([[5.0, 0.0], [0.0, 5.0]]))  # features that do not differ: λ = 0
    array([[5., 0.],
           [0., 5.]])
    """
    share = shrinkage_factor(rows, rows.shape[1])
    return rows - share * (rows.sum(axis=0) - rows) / (len(rows) - 1)


def studentised(rows: Floats) -> Floats:
    """Each feature's means, standardised by its mean and deviation over the other labellings.

    `rows` are (n_labellings, K), at least three labellings. Zero where a feature's means are equal
    under all labellings; at most 1e9 in magnitude.

    Examples
    --------
    >>> studentised(np.array([[4.0], [0.0], [2.0]])).round(2).ravel().tolist()
    [2.12, -2.12, 0.0]
    """
    others = len(rows) - 1
    around = rows - rows.mean(axis=0)  # so that squares do not cancel
    mean = (around.sum(axis=0) - around) / others
    square = ((around**2).sum(axis=0) - around**2) / others - mean**2
    deviation = np.sqrt(np.maximum(square, 0.0) * others / (others - 1))
    away = around - mean
    tiny = np.abs(away) <= _ROUNDING * (np.abs(rows).max(axis=0) + _ROUNDING)
    floor = np.maximum(deviation, np.abs(away) / 1e9)
    return np.where(tiny, 0.0, away / np.where(floor > 0, floor, 1.0))


def shrink_permuted(rows: Floats, within: Floats, n: int, permuted_n: int) -> Floats:
    """Shrink the means of permuted labellings to the variance of means over n bootstraps.

    Parameters
    ----------
    rows : (P + 1, K) float64
        Means over n bootstraps of the true label, and over `permuted_n` of each permuted one.
    within : (K,) float64
        Variance over the bootstraps of one permuted label.
    n, permuted_n : int

    Returns
    -------
    (P + 1, K) float64
        A feature's permuted means have variance B + within/permuted_n, B the variance between
        labels; their deviations are multiplied by the root of (B + within/n) over that. The first
        row is unchanged.

    Examples
    --------
    >>> shrink_permuted(np.array([[9.0], [4.0], [0.0], [2.0]]), np.array([4.0]), 100, 2).round(2)
    array([[9.  ],
           [3.43],
           [0.57],
           [2.  ]])
    """
    permuted = rows[1:]
    mean, total = permuted.mean(axis=0), permuted.var(axis=0, ddof=1)
    between = np.maximum(total - within / permuted_n, 0.0)
    share = np.divide(between + within / n, total, out=np.ones_like(total), where=total > 0)
    return np.vstack((rows[0], mean + (permuted - mean) * np.sqrt(np.minimum(share, 1.0))))


def shares_reached(rows: Floats, *, own: bool = False, without_itself: bool = False) -> Floats:
    """Share of the values that are at least as large as each value.

    Parameters
    ----------
    rows : (n_labellings, K) float64
    own : bool
        Among the values of the same feature only.
    without_itself : bool
        Exclude the other features under the same labelling: (1 + others) / (1 + P·K). Computed for
        the first labelling; the other rows of the result are 1.

    Returns
    -------
    (n_labellings, K) float64 in (0, 1]

    Examples
    --------
    >>> shares_reached(np.array([[3.0, 1.0], [2.0, 1.0]]))
    array([[0.25, 1.  ],
           [0.5 , 1.  ]])
    """
    if own:
        ascending = np.sort(rows, axis=0)
        below = [
            np.searchsorted(a, r, side="left") for a, r in zip(ascending.T, rows.T, strict=True)
        ]
        return 1.0 - np.stack(below, axis=1) / len(rows)
    if without_itself:
        pool = np.sort(rows[1:], axis=None)
        found = np.ones_like(rows)
        reached = pool.size - np.searchsorted(pool, rows[0], side="left")
        found[0] = (1.0 + reached) / (1.0 + pool.size)
        return found
    pool = np.sort(rows, axis=None)
    return (pool.size - np.searchsorted(pool, rows, side="left")) / pool.size


def decide_by_scores(
    scores: Floats,
    ranks: Floats,
    errors: Floats,
    *,
    alpha: float,
    correction: str,
    compare: str = "centred",
    within: Floats | None = None,
    numbers: tuple[int, int] = (1, 1),
) -> tuple[Decisions, Floats]:
    """Decide by mean scores and mean normal scores, and compute reversal probabilities.

    Parameters
    ----------
    scores, ranks : (P + 1, K) float64
        Mean scores and mean normal scores of ranks per labelling, the true one first; a corrected
        test does not use ranks.
    errors : (2, K) float64
        Standard errors of the first rows over bootstraps.
    alpha : float in (0, 1)
        Level after correction.
    correction : {"none", "bonferroni", "bh"}
        As in `fsframe_npfs.engine.count_decisions.adjusted`.
    compare : {"centred", "pooled", "own"}
        As in `fsframe_npfs.methods.npfs.Npfs`.
    within : (K,) float64, optional
        As in `shrink_permuted`, which a corrected test applies if `numbers` differ.
    numbers : tuple of int
        n and `permuted_n`.

    Returns
    -------
    decisions : Decisions
        `critical` is NaN, since no count is compared.
    reversal : (K,) float64 in [0, 0.5]
        Probability that another seed reverses the decision.

    Notes
    -----
    "centred": scores minus λ times the feature's mean over the other labellings, and ranks
    standardised by them, are each converted to the share of all (P + 1)·K values that are at least
    as large; the test statistic is the smaller of the two shares, ranked again among all
    (P + 1)·K. "pooled": the same with scores and ranks not centred; "own": among the values of the
    same feature. Ranks are bounded and tie far out in the tail, so a corrected test, which works
    there, uses scores only.

    Every step treats all labellings alike. Under the null they are exchangeable (for equal numbers
    of bootstraps): of the (P + 1)·K values at most α(P + 1)K have a share of at most α, whatever
    their dependence, and on average labelling 0 has 1/(P + 1) of them, at most α·K.
    With a correction the pool is that of the other labellings, p = (1 + #) / (1 + P·K), the usual
    permutation p-value: with all labellings in the pool, "bonferroni" could select at most
    alpha·(P + 1) features. With "bonferroni", a labelling that selects any feature has fewer than
    α(P + 1/K) values of others above its largest. The labelling with the l-th largest maximum has
    l − 1 values above it, so it selects a feature only if l ≤ α(P + 1/K): the probability of
    selecting any feature is at most α. That too is exact for equal numbers of bootstraps. With
    fewer bootstraps under permuted labels, their means have a larger variance than that of the
    true label, and a far quantile of them selects almost nothing; `shrink_permuted` corrects the
    variance, not the shape of the distribution: the level then rests on simulations, not a proof.

    The reversal probability is Φ(−|d|), d the larger of the two statistics' distances to
    the smallest value that passes, over √(2·s²), where s² sums the variances of the mean over
    bootstraps, of the feature's mean over labellings, and of the threshold, a quantile.
    Time O(P·K·log(P·K)), memory O(P·K).
    """
    own = compare == "own"
    raw = (scores,) if correction != "none" else (scores, ranks)
    if correction != "none" and within is not None and numbers[1] < numbers[0]:
        scores = shrink_permuted(scores, within, *numbers)
        raw = (scores,)
    scale = np.ones((len(raw), scores.shape[1]))
    if compare == "centred":
        values = [centred(scores)]
        if len(raw) > 1:
            values.append(studentised(ranks))
            deviation = ranks[1:].std(axis=0, ddof=1)
            scale[1] = np.where(deviation > 0, deviation, 1.0)
    else:
        values = list(raw)
    values = [np.round(v / _magnitude(v), _DIGITS) * _magnitude(v) for v in values]
    excluding = correction != "none" and not own
    shares = [shares_reached(v, own=own, without_itself=excluding) for v in values]
    p = shares[0][0] if len(shares) == 1 else shares_reached(-np.minimum(*shares), own=own)[0]
    tests = p.size
    level = level_of_one_test(p, alpha, correction, tests)
    relevant = p <= level * (1 + _ROUNDING)
    decisions = Decisions(
        p=p,
        adjusted=adjusted(p, correction, tests),
        level=level,
        critical=np.full(p.shape, np.nan),  # type: ignore[arg-type]
        relevant=relevant,
        threshold_error=np.zeros(p.shape),
    )
    beyond = [_permuted_beyond(s, shares, level, own) for s in shares]
    distances = [
        _distance(v, k, s, e, c, own)
        for v, k, s, e, c in zip(values, beyond, scale, errors, raw, strict=False)
    ]
    return decisions, ndtr(-np.abs(np.max(distances, axis=0)))


def _magnitude(values: Floats) -> float:
    """The largest absolute value, to which rounding is relative."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest if largest > 0 else 1.0


def _permuted_beyond(share: Floats, shares: list[Floats], level: float, own: bool) -> float:
    """Number of permuted values of one statistic beyond its threshold at `level`."""
    size = len(share) - 1 if own else share[1:].size
    if own or len(shares) == 1:
        return level * size
    smaller = np.sort(np.minimum(*shares), axis=None)
    # Values that pass have a smaller share than this; the pool includes the features themselves.
    passing = smaller[min(int(level * smaller.size * (1 + _ROUNDING)), smaller.size - 1)]
    return float(np.count_nonzero(share[1:] < passing))


def _distance(
    values: Floats, beyond: float, scale: Floats, error: Floats, raw: Floats, own: bool
) -> Floats:
    """Distance of the first row above the threshold, in deviations between two seeds."""
    pool = np.sort(values[1:], axis=0 if own else None)
    size = pool.shape[0]

    def reached_by(number: int) -> Floats:
        return pool[size - 1 - min(max(number, 0), size - 1)]

    few, many = likely_exceedances(size, max(beyond, 1.0) / size)
    threshold_error = np.maximum(reached_by(few) - reached_by(many), 0.0) / 2.0
    of_means = raw[1:].var(axis=0, ddof=1) / (len(raw) - 1)
    variance = 2.0 * ((error**2 + of_means) / scale**2 + threshold_error**2)
    away = values[0] - reached_by(int(beyond))
    return away / np.sqrt(np.where(variance > 0, variance, np.finfo(float).tiny))  # type: ignore[no-any-return]
