"""mlxtend's sequential search as a stage."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from mlxtend.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import Ridge, RidgeClassifier

from fsframe import Dataset, Run, Selection, Selector
from fsframe.params import integer, param
from fsframe_adapters.refusing import DATA_ERRORS, quiet


@attrs.frozen(kw_only=True)
class MlxtendForward(Selector):
    """Columns in the order in which mlxtend adds them to a ridge model; half by default."""

    data_errors: ClassVar[tuple[type[Exception], ...]] = DATA_ERRORS
    takes_groups: ClassVar[bool] = False
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})

    folds: int = param(3, integer(2), help="Folds, in the order of the rows.")

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        p = data.n_features
        count = self.keep_count(p, max(1, p // 2))
        model = RidgeClassifier() if data.task == "classification" else Ridge()
        search = SequentialFeatureSelector(model, k_features=count, cv=self.folds, n_jobs=1)
        with quiet():
            search.fit(data.X, data.y)
        order: list[int] = []
        for size in range(1, count + 1):
            order += [c for c in search.subsets_[size]["feature_idx"] if c not in order]
        scores = np.zeros(p)
        scores[order] = np.arange(count, 0, -1) / p
        return Selection(selected=order, scores=scores)
