"""The gap between class means, in standard deviations of the column."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import param, real
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection, rank_by_score
from fsframe.contracts.selector import Selector


@attrs.frozen(kw_only=True)
class Gap(Selector):
    """Columns whose class means lie furthest apart.

    Parameters
    ----------
    s0 : float ≥ 0
        Added to the standard deviation, so that columns that hardly vary do not win by chance.

    Notes
    -----
    score_j = (max_c m_cj - min_c m_cj) / (s_j + s0), with m_cj the mean of column j in class c and
    s_j its standard deviation over all rows. A row drawn k times in a bootstrap counts k times, as
    k copies of it would. O(n p) time, O(n p) memory.

    References
    ----------
    Tusher, Tibshirani, Chu 2001, Significance analysis of microarrays, PNAS 98:5116, eq. 1; departs
    in that s_j is taken over all rows, so that a column that separates the classes has a finite
    score.

    Examples
    --------
    >>> from fsframe.contracts.dataset import Dataset
    >>> data = Dataset.from_arrays([[1, 5], [2, 6], [8, 5], [9, 6]], ["a", "a", "b", "b"])
    >>> Gap(top=1).select(data).selected
    array([0])
    """

    takes_counts: ClassVar[bool] = True

    s0: float = param(
        0.0,
        real(0),
        help="Added to the standard deviation, so that columns that hardly vary do not win.",
        symbol="s₀",
        source="Tusher, Tibshirani, Chu 2001, eq. 1",
    )

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        X, y = data.X, data.y
        counts = np.ones(data.n_samples) if data.counts is None else data.counts.astype(float)
        # A class may have no rows in a resample.
        codes = np.unique(y)
        means = np.array([np.average(X[y == c], axis=0, weights=counts[y == c]) for c in codes])
        centre = np.average(X, axis=0, weights=counts)
        deviation = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=counts))
        # A constant column has a deviation of rounding errors only.
        flat = deviation <= 1e-12 * np.abs(X).max(axis=0)
        gap = np.where(flat, 0.0, means.max(axis=0) - means.min(axis=0))
        scores = gap / np.where(flat, 1.0, deviation + self.s0)
        default = max(1, data.n_features // 10)
        kept = rank_by_score(scores)[: self.keep_count(data.n_features, default)]
        return Selection(selected=kept, scores=scores)
