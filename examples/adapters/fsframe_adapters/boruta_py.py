"""BorutaPy as a stage."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from boruta import BorutaPy as Theirs
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from fsframe import Dataset, Run, Selection, Selector
from fsframe.method.selection import rank_by_score
from fsframe.params import integer, param, real
from fsframe_adapters.refusing import DATA_ERRORS, quiet


@attrs.frozen(kw_only=True)
class BorutaPy(Selector):
    """Columns that BorutaPy confirms; the score is 1/rank, a half for tentative columns."""

    data_errors: ClassVar[tuple[type[Exception], ...]] = DATA_ERRORS
    takes_groups: ClassVar[bool] = False
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})

    trees: int = param(200, integer(1), help="Number of trees in a forest.")
    max_iter: int = param(100, integer(2), help="Maximum number of forests.")
    alpha: float = param(0.05, real(above=0, below=1), help="Level of the test.")

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        forest = RandomForestClassifier if data.task == "classification" else RandomForestRegressor
        theirs = Theirs(
            forest(n_jobs=1),
            n_estimators=self.trees,
            max_iter=self.max_iter,
            alpha=self.alpha,
            random_state=int(run.generator().integers(2**31 - 1)),
        )
        with quiet():
            fitted = theirs.fit(data.X, data.y)
        scores = 1.0 / np.asarray(fitted.ranking_, dtype=np.float64)
        confirmed = int(np.count_nonzero(fitted.support_))
        return Selection(
            selected=rank_by_score(scores)[: self.keep_count(data.n_features, confirmed)],
            scores=scores,
        )
