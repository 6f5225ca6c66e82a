"""From mean scores under the true label and permuted ones to p-values and relevant features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fsframe_npfs.engine.corrections import adjusted, level_of_one_test
from fsframe_npfs.engine.decisions import Verdict, share_taken_off
from fsframe_npfs.engine.seed_sensitivity import likely_exceedances

__all__ = ["by_standings", "centred", "evenly_spread", "shares_reached", "studentised"]

Floats = NDArray[np.float64]

_ROUNDING = 1e-12
_DIGITS = 9  # so that values that tie on paper tie here


def centred(rows: Floats) -> Floats:
    """Means of each labelling less λ times the mean of the feature over the other labellings.

    Parameters
    ----------
    rows : (n_labellings, K) float64, at least two labellings

    Returns
    -------
    (n_labellings, K) float64
        λ as in `fsframe_npfs.engine.decisions.share_taken_off`.

    Examples
    --------
    >>> centred(np.array([[5.0, 0.0], [0.0, 5.0]]))  # features that do not differ: λ = 0
    array([[5., 0.],
           [0., 5.]])
    """
    share = share_taken_off(rows, rows.shape[1])
    return rows - share * (rows.sum(axis=0) - rows) / (len(rows) - 1)


def studentised(rows: Floats) -> Floats:
    """Each feature's means in standard deviations from its mean over the other labellings.

    Parameters
    ----------
    rows : (n_labellings, K) float64, at least three labellings

    Returns
    -------
    (n_labellings, K) float64
        Zero where a feature's means are the same under all labellings, and at most 1e9 in size.

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


def evenly_spread(rows: Floats, within: Floats, n: int, permuted_n: int) -> Floats:
    """Means of each labelling, the permuted ones as spread out as means of n bootstraps would be.

    Parameters
    ----------
    rows : (P + 1, K) float64
        Means of n bootstraps of the true label, and of `permuted_n` of each permuted one.
    within : (K,) float64
        Variance of the bootstraps of one permuted label about their mean.
    n, permuted_n : int

    Returns
    -------
    (P + 1, K) float64
        A feature's permuted means vary by B + within/permuted_n, B the variance from label to
        label; each is moved towards their mean by the root of (B + within/n) over that. The first
        row stays.

    Examples
    --------
    >>> evenly_spread(np.array([[9.0], [4.0], [0.0], [2.0]]), np.array([4.0]), 100, 2).round(2)
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
    """For each labelling and feature, the share of values that reach its own, ties counted.

    Parameters
    ----------
    rows : (n_labellings, K) float64
    own : bool
        Among the values of the same feature, not of all.
    without_itself : bool
        Leave out the other features under the same labelling: (1 + others) / (1 + P·K). For the
        first labelling only; the rest of the result is 1.

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


def by_standings(
    scores: Floats,
    ranks: Floats,
    errors: Floats,
    *,
    alpha: float,
    correction: str,
    compare: str = "centred",
    within: Floats | None = None,
    numbers: tuple[int, int] = (1, 1),
) -> tuple[Verdict, Floats]:
    """The verdict of mean scores and mean normal scores, and how likely another seed's differs.

    Parameters
    ----------
    scores, ranks : (P + 1, K) float64
        Mean scores, and mean normal scores of ranks, per labelling, the true one first; of ranks a
        corrected test looks at none.
    errors : (2, K) float64
        Standard errors of the first rows over bootstraps.
    alpha : float in (0, 1)
        Level after correction.
    correction : {"none", "bonferroni", "bh"}
        As in `fsframe_npfs.engine.corrections.adjusted`.
    compare : {"centred", "pooled", "own"}
        As in `fsframe_npfs.methods.npfs.Npfs`.
    within : (K,) float64, optional
        As in `evenly_spread`, which a corrected test of unequal `numbers` begins with.
    numbers : tuple of int
        n and `permuted_n`.

    Returns
    -------
    verdict : Verdict
        `critical` is NaN: no count decides.
    doubt : (K,) float64 in [0, 0.5]

    Notes
    -----
    "centred": scores less λ times the mean of the feature over the other labellings, and ranks in
    standard deviations from it, each become the share of all (P + 1)·K values that reach them; the
    smaller of the two shares is what is compared in the end, with those of all (P + 1)·K again.
    "pooled": the same with scores and ranks as they are; "own": among the values of the feature
    itself. Ranks are bounded, and far out in the tail they tie; a corrected test, which works
    there, uses scores alone.

    Every step treats all labellings alike. Under the null they are exchangeable (equal numbers
    of bootstraps given): among the (P + 1)·K values at most α(P + 1)K have a share of at most α,
    whatever their dependence, and labelling 0 holds 1/(P + 1) of them on average: at most α·K.
    With a correction the pool is that of the other labellings, p = (1 + #) / (1 + P·K), the usual
    p-value of permutations: with all in the pool, "bonferroni" could name alpha·(P + 1) features
    and no more. With "bonferroni" a labelling that names anything has
    fewer than α(P + 1/K) values of others above its largest, so the labelling with the l-th
    largest maximum, which has l − 1 above it, names something only if l ≤ α(P + 1/K): with
    chance at most α any feature is named. That too is exact for equal numbers of bootstraps. With
    fewer under permuted labels their means lie further out than that of the true one would, and
    a far quantile of them names nearly nothing; `evenly_spread` takes that off, and what is then
    exact is the variance, not the law: simulations stand for a proof.

    The chance of another answer is Φ(−|d|), d the larger of the two statistics' distances to
    the smallest value that passes, over √(2·s²): s² the variance of the mean over bootstraps, of
    the feature's mean over labellings, and of the quantile that the line is.
    Time O(P·K·log(P·K)), memory O(P·K).
    """
    own = compare == "own"
    raw = (scores,) if correction != "none" else (scores, ranks)
    if correction != "none" and within is not None and numbers[1] < numbers[0]:
        scores = evenly_spread(scores, within, *numbers)
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
    values = [np.round(v / _size(v), _DIGITS) * _size(v) for v in values]
    excluding = correction != "none" and not own
    shares = [shares_reached(v, own=own, without_itself=excluding) for v in values]
    p = shares[0][0] if len(shares) == 1 else shares_reached(-np.minimum(*shares), own=own)[0]
    tests = p.size
    level = level_of_one_test(p, alpha, correction, tests)
    relevant = p <= level * (1 + _ROUNDING)
    verdict = Verdict(
        p=p,
        adjusted=adjusted(p, correction, tests),
        level=level,
        critical=np.full(p.shape, np.nan),  # type: ignore[arg-type]
        relevant=relevant,
        line_error=np.zeros(p.shape),
    )
    beyond = [_permuted_beyond_the_line(s, shares, level, own) for s in shares]
    distances = [
        _distance(v, k, s, e, c, own)
        for v, k, s, e, c in zip(values, beyond, scale, errors, raw, strict=False)
    ]
    doubt = ndtr(-np.abs(np.max(distances, axis=0)))
    return verdict, doubt


def _size(values: Floats) -> float:
    """What rounding is relative to."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest if largest > 0 else 1.0


def _permuted_beyond_the_line(
    share: Floats, shares: list[Floats], level: float, own: bool
) -> float:
    """How many permuted values of one statistic lie beyond what just passes at `level`."""
    cells = len(share) - 1 if own else share[1:].size
    if own or len(shares) == 1:
        return level * cells
    smaller = np.sort(np.minimum(*shares), axis=None)
    # What passes has a smaller share than this; the features themselves take places in the pool.
    passing = smaller[min(int(level * smaller.size * (1 + _ROUNDING)), smaller.size - 1)]
    return float(np.count_nonzero(share[1:] < passing))


def _distance(
    values: Floats, beyond: float, scale: Floats, error: Floats, raw: Floats, own: bool
) -> Floats:
    """How far the first row is from the line, in deviations between two seeds; above it: > 0."""
    pool = np.sort(values[1:], axis=0 if own else None)
    cells = pool.shape[0]

    def reached_by(number: int) -> Floats:
        return pool[cells - 1 - min(max(number, 0), cells - 1)]

    few, many = likely_exceedances(cells, max(beyond, 1.0) / cells)
    line_error = np.maximum(reached_by(few) - reached_by(many), 0.0) / 2.0
    of_means = raw[1:].var(axis=0, ddof=1) / (len(raw) - 1)
    variance = 2.0 * ((error**2 + of_means) / scale**2 + line_error**2)
    away = values[0] - reached_by(int(beyond))
    return away / np.sqrt(np.where(variance > 0, variance, np.finfo(float).tiny))  # type: ignore[no-any-return]
