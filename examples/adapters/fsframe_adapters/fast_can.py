"""fastcan as a stage."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from fastcan import FastCan as Theirs

from fsframe import Dataset, Run, Selection, Selector
from fsframe_adapters.refusing import DATA_ERRORS, quiet


@attrs.frozen(kw_only=True)
class FastCan(Selector):
    """Columns by the gain in squared canonical correlation, in the order of a forward search."""

    data_errors: ClassVar[tuple[type[Exception], ...]] = DATA_ERRORS
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        count = self.keep_count(data.n_features, max(1, data.n_features // 2))
        y = data.y
        if data.task == "classification":
            # Indicators: codes of classes are no numbers.
            y = (data.y[:, None] == np.unique(data.y)[1:]).astype(np.float64)
        with quiet():
            search = Theirs(count, verbose=0).fit(data.X, y)
        order = np.asarray(search.indices_, dtype=np.intp)
        scores = np.zeros(data.n_features)
        # The place in the search, since a later gain may be larger than an earlier one.
        scores[order] = np.arange(count, 0, -1) / data.n_features
        return Selection(
            selected=order, scores=scores, tables={"gains": np.asarray(search.scores_)}
        )
