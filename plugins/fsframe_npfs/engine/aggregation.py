"""Aggregate rankings over resamples: ranks, their mean, and the bound of stability selection."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = [
    "complete_ranks",
    "false_selections_bound",
    "linear_scores",
    "list_ranks",
    "threshold_for",
]


def list_ranks(selected: NDArray[np.intp], n_features: int) -> NDArray[np.float64]:
    """Ranks of all K features where only a list of the k best is known, best first.

    1 … k in the list; the others share the mean of the remaining ranks, (k + 1 + K) / 2.

    Examples
    --------
    >>> list_ranks(np.array([2, 0]), 4)
    array([2. , 3.5, 1. , 3.5])
    """
    ranks = np.full(n_features, (selected.size + 1 + n_features) / 2.0)
    ranks[selected] = np.arange(1, selected.size + 1)
    return ranks


def complete_ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks of all features by score, 1 for the largest; ties share their mean rank.

    Features with a NaN score share the mean of the last ranks. Ranks sum to K(K + 1)/2.

    Examples
    --------
    >>> complete_ranks(np.array([0.5, np.nan, 0.9, 0.5]))
    array([2.5, 4. , 1. , 2.5])
    """
    ranks: NDArray[np.float64] = scipy.stats.rankdata(np.where(np.isnan(scores), np.inf, -scores))
    return ranks


def linear_scores(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over resamples of scores that decrease linearly with the rank, from 1 to 0.

    Σ_l (K − r_il) / (n (K − 1)) for ranks r (n_resamples, n_features), 1 the best.

    References
    ----------
    Abeel, Helleputte, Van de Peer, Dupont, Saeys 2010, Robust biomarker identification for cancer
    diagnosis with ensemble feature selection methods, Bioinformatics 26:392, section 2.2 (complete
    linear aggregation: all resamples weigh the same).

    Examples
    --------
    >>> linear_scores(np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]]))
    array([0.75, 0.75, 0.  ])
    """
    n_features = ranks.shape[1]
    return (n_features - ranks.mean(axis=0)) / max(n_features - 1, 1)


def false_selections_bound(kept: float, n_features: int, threshold: float) -> float:
    """Bound on the expected number of noise features selected in a share `threshold` of the halves.

    q² / ((2π − 1) K), with q = `kept`, the mean number of features kept per half, and the threshold
    π in (0.5, 1].

    Notes
    -----
    Proved for a base that selects noise features no more often than at random, and all with equal
    probability. Without that assumption, and for complementary halves, it bounds the expected
    number of selected features whose probability of selection in a half is at most q/K.

    References
    ----------
    Meinshausen, Bühlmann 2010, Stability selection, J. R. Statist. Soc. B 72:417, theorem 1; Shah,
    Samworth 2013, J. R. Statist. Soc. B 75:55, theorem 1.

    Examples
    --------
    >>> false_selections_bound(10, 1000, 0.75)
    0.2
    """
    return kept**2 / ((2.0 * threshold - 1.0) * n_features)


def threshold_for(kept: float, n_features: int, false_selections: float) -> float:
    """Threshold π at which the bound equals `false_selections`; unattainable if above 1.

    Examples
    --------
    >>> threshold_for(10, 1000, 0.2)
    0.75
    """
    return (1.0 + kept**2 / (n_features * false_selections)) / 2.0
