"""mrmr_selection as a stage."""

from __future__ import annotations

from typing import ClassVar

import attrs
import mrmr
import numpy as np
import pandas as pd

from fsframe import Dataset, Run, Selection, Selector
from fsframe_adapters.refusing import DATA_ERRORS, quiet


@attrs.frozen(kw_only=True)
class PandasMrmr(Selector):
    """Columns in the order of mrmr_selection: F over the mean correlation with those kept."""

    data_errors: ClassVar[tuple[type[Exception], ...]] = DATA_ERRORS
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        count = self.keep_count(data.n_features, max(1, data.n_features // 2))
        select = mrmr.mrmr_classif if data.task == "classification" else mrmr.mrmr_regression
        X, y = pd.DataFrame(data.X), pd.Series(data.y)
        with quiet():
            columns = select(X, y, K=count, show_progress=False, n_jobs=1)
        order = np.array(columns, dtype=np.intp)
        # Columns that the package drops, such as constant ones, come last.
        left = np.setdiff1d(np.arange(data.n_features), order)
        order = np.concatenate([order, left])[:count]
        scores = np.zeros(data.n_features)
        scores[order] = np.arange(count, 0, -1) / data.n_features
        return Selection(selected=order, scores=scores)
