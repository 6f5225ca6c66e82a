"""Aggregate rankings over resamples: ranks, and their mean."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["complete_ranks", "linear_scores", "list_ranks"]


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


def complete_ranks(scores: NDArray[np.float64], natural_zero: bool = False) -> NDArray[np.float64]:
    """Ranks of all features by score, 1 for the largest; ties share their mean rank.

    Features with a NaN score share the mean of the last ranks, together with those of score 0 where
    that says that a feature carries nothing (`natural_zero`). Ranks sum to K(K + 1)/2.

    Examples
    --------
    >>> complete_ranks(np.array([0.5, np.nan, 0.9, 0.5]))
    array([2.5, 4. , 1. , 2.5])
    >>> complete_ranks(np.array([0.5, np.nan, 0.9, 0.0]), natural_zero=True)
    array([2. , 3.5, 1. , 3.5])
    """
    nothing = 0.0 if natural_zero else np.inf
    ranks: NDArray[np.float64] = scipy.stats.rankdata(np.where(np.isnan(scores), nothing, -scores))
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
