"""MultiSURF of scikit-rebate as a stage."""

from __future__ import annotations

import attrs
import numpy as np
import skrebate

from fsframe import Dataset, Run, Selection, Selector
from fsframe.method.selection import rank_by_score


@attrs.frozen(kw_only=True)
class SkrebateMultisurf(Selector):
    """Columns by scikit-rebate's MultiSURF; a tenth of them is kept by default."""

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        # Distances of all pairs of rows, and as much again while it sums them.
        run.must_hold(2 * 8 * data.n_samples**2, "skrebate-multisurf: distances")
        fitted = skrebate.MultiSURF(n_features_to_select=1, n_jobs=1).fit(data.X, data.y)
        scores = np.asarray(fitted.feature_importances_, dtype=np.float64)
        default = max(1, data.n_features // 10)
        return Selection(
            selected=rank_by_score(scores)[: self.keep_count(data.n_features, default)],
            scores=scores,
        )
