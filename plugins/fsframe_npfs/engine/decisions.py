"""Decide by counts or by scores: p-values, corrections, and which features are relevant; the
probability that another seed reverses a decision, and how many fits would settle it.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr

from fsframe.method.statistics import adjusted_p_values
from fsframe_npfs.engine.nulls import critical_value


def level_of_one_test(p: NDArray[np.float64], alpha: float, correction: str) -> float:
    """Level with which an unadjusted p-value is compared under the correction.

    alpha, alpha / tests, or alpha·r / tests, where r is the number of hypotheses that the procedure
    of Benjamini and Hochberg rejects, but at least 1. Parameters as in `adjusted_p_values`.

    Examples
    --------
    >>> level_of_one_test(np.array([0.01, 0.02, 0.5]), 0.06, "bh")
    0.04
    """
    if correction == "none":
        return alpha
    if correction == "bonferroni":
        return alpha / p.size
    rejected = int(np.count_nonzero(adjusted_p_values(p) <= alpha))
    return alpha * max(rejected, 1) / p.size


_ROUNDING = 1e-12


@attrs.frozen(kw_only=True, eq=False)
class Decisions:
    """The decision of the test on each feature.

    Parameters
    ----------
    p : (m,) float64
        P(Z ≥ z) under the null.
    adjusted : (m,) float64
        `p` after correction.
    level : float
        Level of a single test after correction.
    critical : (m,) int
        Largest count that is not relevant (with ``at_least``: smallest that is).
    relevant : (m,) bool
    """

    p: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    level: float
    critical: NDArray[np.int64]
    relevant: NDArray[np.bool_]


def decide_by_tail(
    z: NDArray[np.int64],
    tail: NDArray[np.float64],
    *,
    alpha: float,
    correction: str,
    at_least: bool = False,
) -> Decisions:
    """Decide by counts that share one null distribution.

    Parameters
    ----------
    z : (m,) int
        Counts.
    tail : (n + 2,) float64
        P(Z ≥ z) under the null.
    alpha : float
        Level after correction.
    correction : {"none", "bonferroni", "bh"}
        As in `adjusted`.
    at_least : bool
        Relevant where z ≥ ζ instead of z > ζ, as in the authors' MATLAB code. The size of that
        test exceeds alpha.

    Returns
    -------
    Decisions

    Notes
    -----
    z > ζ is equivalent to P(Z ≥ z) ≤ alpha, and z ≥ ζ to P(Z > z) ≤ alpha, so the correction
    applies to that smaller probability there. A count of zero is never relevant: with ζ = 0
    (p0 below alpha, n = 1) "≥" would select every feature.
    """
    p = tail[z]
    deciding = tail[z + 1] if at_least else p
    level = level_of_one_test(deciding, alpha, correction)
    critical = critical_value(tail, level)
    relevant = (z >= critical if at_least else z > critical) & (z > 0)
    return Decisions(
        p=p,
        adjusted=adjusted_p_values(p, correction),
        level=level,
        critical=np.full(z.shape, critical, dtype=np.int64),
        relevant=relevant,
    )


def shrinkage_factor(rows: NDArray[np.int64] | NDArray[np.float64]) -> float:
    """Share λ of the differences between features' mean scores that is not sampling error.

    Parameters
    ----------
    rows : (n_labellings, m) int or float64, at least two labellings
        Mean scores, or counts.

    Returns
    -------
    float in [0, 1]
        max(0, 1 − v / V), where v is the variance within features over the number of labellings
        and V the variance of the features' means: 0 where features differ by no more than chance,
        near 1 where they have different rates.

    References
    ----------
    Efron, Morris 1975, Data analysis using Stein's estimator and its generalizations, J. Am. Stat.
    Assoc. 70:311, section 2.

    Examples
    --------
    >>> shrinkage_factor(np.array([[4, 0, 9], [5, 1, 9], [3, 2, 9]]))
    0.98...
    >>> shrinkage_factor(np.array([[5, 0], [0, 5]]))
    0.0
    """
    labellings = rows.shape[0]
    means = rows.mean(axis=0)
    between = ((means - means.sum() / means.size) ** 2).sum()
    within = rows.var(axis=0, ddof=1).sum() / labellings
    if between <= 0.0:  # all features are selected equally often
        return 0.0
    return float(max(0.0, 1.0 - (within / means.size) / (between / max(means.size - 1, 1))))


Floats = NDArray[np.float64]

_DIGITS = 9  # rounding to these makes values tied in exact arithmetic tie here


def centred(rows: Floats) -> Floats:
    """Means of at least two labellings minus λ times the feature's mean over the other labellings.

    `rows` are (n_labellings, K), λ is `shrinkage_factor`.

    Examples
    --------
    >>> centred(np.array([[5.0, 0.0], [0.0, 5.0]]))  # features that do not differ: λ = 0
    array([[5., 0.],
           [0., 5.]])
    """
    share = shrinkage_factor(rows)
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
        A feature's permuted means have variance V = B + within/permuted_n, where B is the variance
        between labels; their deviations from their mean are multiplied by √((B + within/n)/V). The
        first row is unchanged.

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


def shares_reached(rows: Floats, *, own: bool = False, other_labellings: bool = False) -> Floats:
    """Share of the values that are at least as large as each value.

    Parameters
    ----------
    rows : (n_labellings, K) float64
    own : bool
        Compare with values of the same feature only.
    other_labellings : bool
        Compare with values under other labellings only: (1 + #) / (1 + P·K). Computed for the first
        labelling; the other rows of the result are 1.

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
    if other_labellings:
        pool = np.sort(rows[1:], axis=None)
        shares = np.ones_like(rows)
        reached = pool.size - np.searchsorted(pool, rows[0], side="left")
        shares[0] = (1.0 + reached) / (1.0 + pool.size)
        return shares
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
        As in `adjusted`.
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
    "centred": scores minus λ times the feature's mean over the other labellings (`centred`), and
    ranks standardised over them (`studentised`), are each converted to the share of all (P + 1)·K
    values that are at least as large; the test statistic is the smaller of the two shares, ranked
    again among all (P + 1)·K. "pooled": the same without centring; "own": without centring, and
    among the values of the same feature. Ranks are bounded and tie far out in the tail, so a
    corrected test, which works there, uses scores only.

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

    The reversal probability is Φ(−|d|), where d is the larger of the two statistics' distances from
    the smallest value that passes, divided by √(2·s²), and s² sums the variances of the mean over
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
    shares = [shares_reached(v, own=own, other_labellings=excluding) for v in values]
    p = shares[0][0] if len(shares) == 1 else shares_reached(-np.minimum(*shares), own=own)[0]
    level = level_of_one_test(p, alpha, correction)
    relevant = p <= level * (1 + _ROUNDING)
    decisions = Decisions(
        p=p,
        adjusted=adjusted_p_values(p, correction),
        level=level,
        critical=np.full(p.shape, np.nan),  # type: ignore[arg-type]
        relevant=relevant,
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
    """Distance of the first row above the threshold, in deviations of a difference of seeds."""
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


BRIEF = 5.0
"""Remaining seconds below which nothing is printed about `settle`."""

BORDERLINE = 0.05
"""A decision is borderline if another seed reverses it with a larger probability than this."""

QUANTILE = 1.6448536269514722  # of the normal distribution at 1 − BORDERLINE
WORTH_TRYING = 100  # at most this many times as many bootstraps or permutations are suggested


def likely_exceedances(values: int, level: float) -> tuple[int, int]:
    """Range of the number of null values above their 1 − level quantile, estimated from `values`.

    The 16 % and 84 % quantiles of Binomial(values, level): one standard deviation on either side of
    the mean.

    Examples
    --------
    >>> likely_exceedances(1000, 0.01)
    (7, 13)
    """
    mean = values * level
    reach = int(4 * math.sqrt(mean) + 8)
    k = np.arange(max(0, int(mean) - reach), min(values, int(mean) + reach) + 1)
    below = bdtr(k, values, level)
    return int(k[np.argmax(below >= 0.1587)]), int(k[np.argmax(below >= 0.8413)])


def _variance(z: NDArray[np.int64], n: int) -> Floats:
    """Variance of the difference of two binomial counts out of n, one of which is z."""
    p = (z + 0.5) / (n + 1.0)
    return 2.0 * n * p * (1.0 - p)


def reversal_probability(z: NDArray[np.int64], n: int, threshold: NDArray[np.int64]) -> Floats:
    """Probability that another seed reverses each decision.

    Parameters
    ----------
    z : (m,) int
        Counts out of n.
    n : int
        Number of bootstraps.
    threshold : (m,) int
        ζ; counts above it are relevant.

    Returns
    -------
    (m,) float64 in [0, 0.5]

    Notes
    -----
    Bootstraps of one table are independent given the table, so the counts of two seeds are two
    draws from Binomial(n, π). Normal approximation: Φ(−|z − ζ − ½| / s) with
    s² = 2nπ̂(1 − π̂), π̂ = (z + ½)/(n + 1).

    Examples
    --------
    >>> z, threshold = np.array([30, 24, 2]), np.array([20, 20, 20])
    >>> reversal_probability(z, 50, threshold).round(3)
    array([0.026, 0.242, 0.   ])
    """
    distance = np.abs(z - threshold - 0.5)
    return ndtr(-distance / np.sqrt(_variance(z, n)))  # type: ignore[no-any-return]


def remedy(
    z: NDArray[np.int64], n: int, threshold: NDArray[np.int64]
) -> tuple[int, NDArray[np.bool_]]:
    """The number of bootstraps that would settle borderline decisions.

    Parameters as in `reversal_probability`, for the borderline decisions only.

    Returns
    -------
    (int, (m,) bool)
        The number that reduces the reversal probability to 0.05, for the decisions that can be
        settled; and those that a hundred times as many would not settle.

    Notes
    -----
    With c times the bootstraps a distance d grows c-fold, the standard deviation of counts √c-fold.

    Examples
    --------
    >>> remedy(np.array([24]), 50, np.array([20]))[0]
    276
    """
    times = _variance(z, n) / ((z - threshold - 0.5) / QUANTILE) ** 2
    unresolvable = times > WORTH_TRYING
    most = max(1.0, times[~unresolvable].max(initial=1.0))
    return math.ceil(n * most - 1e-9), unresolvable
