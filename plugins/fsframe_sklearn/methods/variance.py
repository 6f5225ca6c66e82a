"""Columns whose variance exceeds a threshold."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import number_to_keep, param, real
from fsframe.table.column_kinds import level_places, unequal_share
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import learn_scale

__all__ = ["Variance"]


@attrs.frozen(kw_only=True)
class Variance(Selector):
    """Columns whose variance is above `threshold`; the score is the variance.

    Notes
    -----
    Σ c (x − x̄)² / Σ c over the rows with a value, c the count of each row, as in scikit-learn's
    ``VarianceThreshold``. A column whose deviation is within rounding of its magnitude (1e-14) has
    variance 0. The variance has the square of the column's unit, so a threshold above 0 makes sense
    only if all columns have the same unit, such as the genes of one array. The label is not used.
    For a nominal column the score is half the probability that two rows differ in level,
    (1 − Σ p²) / 2, which for two levels is the variance of 0 and 1. O(n p), in blocks of columns.

    References
    ----------
    F. Pedregosa et al. 2011, Scikit-learn: machine learning in Python, JMLR 12
    (``VarianceThreshold``).

    Examples
    --------
    >>> data = Dataset.from_arrays([[7, 1, 0], [7, 2, 9], [7, 3, 0]], ["a", "b", "a"])
    >>> Variance().select(data).selected
    array([2, 1])
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression", "survival"})
    takes_missing: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    reads_columns: ClassVar[bool] = True

    top: int | float | None = number_to_keep(
        "those above the threshold", ", the most variable first"
    )
    threshold: float = param(
        0.0, real(0), help="Features with a variance at or below this are dropped."
    )

    def adjusts(self) -> bool:
        # The label is not used, so that there is nothing to adjust.
        return True

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        counts = None if data.counts is None else data.counts.astype(np.float64)
        scores = np.zeros(data.n_features)
        for start, stop in data.column_blocks():
            block = np.asarray(data.columns(start, stop), dtype=np.float64)
            deviation = learn_scale(block, counts)[1]
            deviation[np.isinf(deviation)] = 0.0
            with np.errstate(over="ignore", under="ignore"):
                scores[start:stop] = np.minimum(deviation**2, np.finfo(np.float64).max)
            for k in np.flatnonzero(data.categorical[start:stop]):
                place, levels = level_places(block[:, k])
                known = place >= 0
                drawn = None if counts is None else counts[known]
                sizes = np.bincount(place[known], weights=drawn).astype(np.float64)
                scores[start + k] = unequal_share(sizes) / 2 if len(levels) > 1 else 0.0
        enough = int(np.count_nonzero(scores > self.threshold))
        kept = rank_by_score(scores)[: self.keep_count(data.n_features, enough)]
        notes = () if kept.size else (f"no column varies by more than {self.threshold:g}",)
        return Selection(selected=kept, scores=scores, warnings=notes)
