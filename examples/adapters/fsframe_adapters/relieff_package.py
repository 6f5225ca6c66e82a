"""ReliefF of the package of that name as a stage."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from ReliefF import ReliefF as Theirs

from fsframe import Dataset, Run, Selection, Selector
from fsframe.method.selection import rank_by_score
from fsframe.params import integer, param
from fsframe_adapters.refusing import DATA_ERRORS, quiet


@attrs.frozen(kw_only=True)
class RelieffPackage(Selector):
    """Columns by the scores of the package ReliefF; a tenth is kept by default.

    It counts equal values, so that only columns of few values can be told apart.
    """

    data_errors: ClassVar[tuple[type[Exception], ...]] = DATA_ERRORS

    k: int = param(10, integer(1), help="Neighbours of a row, of any class.")

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        theirs = Theirs(n_neighbors=min(self.k, data.n_samples - 1), n_features_to_keep=1)
        with quiet():
            theirs.fit(data.X, data.y)
        scores = np.asarray(theirs.feature_scores, dtype=np.float64)
        default = max(1, data.n_features // 10)
        return Selection(
            selected=rank_by_score(scores)[: self.keep_count(data.n_features, default)],
            scores=scores,
        )
