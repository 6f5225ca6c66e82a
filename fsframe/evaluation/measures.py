"""How good predictions are: accuracy, balanced accuracy, AUC, log-loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

__all__ = ["accuracy", "auc", "balanced_accuracy", "log_loss"]


def accuracy(y: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Share of rows predicted right.

    >>> accuracy(np.array([0, 1, 1]), np.array([0, 1, 0])) == 2 / 3
    True
    """
    return float(np.mean(y == predicted))


def balanced_accuracy(y: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Mean over the classes present in `y` of the share of their rows predicted right.

    >>> balanced_accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    0.5
    """
    return float(np.mean([np.mean(predicted[y == code] == code) for code in np.unique(y)]))


def auc(y: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """Area under the ROC curve; for more classes the mean over ordered pairs of classes.

    Parameters
    ----------
    y : (n,) int
        Class codes.
    scores : (n, n_classes)
        Larger is more likely.

    Returns
    -------
    float
        NaN where fewer than two classes are present in `y`.

    Notes
    -----
    For two classes the probability that a row of class 1 has the larger difference of scores than
    one of class 0, ties counted half. For more, Hand and Till's M (their eq. 7): the mean over
    ordered pairs (a, b) of classes present of the probability that a row of a has the larger score
    of a than a row of b.

    References
    ----------
    Hand, Till 2001, A simple generalisation of the area under the ROC curve, Machine Learning 45.

    >>> auc(np.array([0, 0, 1]), np.array([[2.0, 1.0], [1.0, 2.0], [0.0, 3.0]]))
    1.0
    """
    present = np.unique(y)
    if present.size < 2:
        return float("nan")
    if scores.shape[1] == 2:
        return _area(scores[:, 1] - scores[:, 0], y == 1)
    return float(np.mean([area for a in present for area in _areas(scores[:, a], y, a, present)]))


def _areas(
    score: NDArray[np.float64], y: NDArray[np.int64], a: int, present: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The areas of class a against each other class present, in its own score.

    One sort for all of them, where ranks for every pair of classes would take n log n each: a
    thousand classes are a million pairs. Counts are exact, so the bits are those of the ranks.
    """
    positive = np.sort(score[y == a])
    below = np.searchsorted(positive, score, side="left")
    above = positive.size - np.searchsorted(positive, score, side="right")
    won = np.bincount(y, weights=above + (positive.size - above - below) / 2)
    members = np.bincount(y)
    unknown = np.bincount(y, weights=np.isnan(score)) > 0
    others = present[present != a]
    areas = won[others] / (positive.size * members[others])
    return np.where(unknown[others] | unknown[a], np.nan, areas)


def _area(score: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """Mann-Whitney: how often a positive row has the larger score, ties half."""
    n_positive = int(positive.sum())
    n_negative = positive.size - n_positive
    ranks = rankdata(score)
    return float(
        (ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)
    )


def log_loss(y: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """Mean negative log-probability, in nats, of the right class.

    Parameters
    ----------
    y : (n,) int
    scores : (n, n_classes)
        Probabilities: every row non-negative, with sum one.

    Returns
    -------
    float
        NaN if `scores` are no probabilities: such a score has no log-loss.

    Notes
    -----
    L = −(1/n) Σ ln max(p_{i,y_i}, ε) with ε = 2⁻⁵², so that a wrong certainty costs 36 nats, not
    infinity.

    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]])), 4)
    0.6931
    """
    if (
        np.isnan(scores).any()
        or (scores < 0).any()
        or not np.allclose(scores.sum(axis=1), 1.0, atol=1e-6)
    ):
        return float("nan")
    likely = np.maximum(scores[np.arange(len(y)), y], np.finfo(np.float64).eps)
    return float(-np.mean(np.log(likely)))
