"""pyHSICLasso as a stage."""

from __future__ import annotations

import contextlib
import io
from typing import ClassVar

import attrs
import numpy as np
from pyHSICLasso import HSICLasso as Theirs

from fsframe import Dataset, Run, Selection, Selector
from fsframe.method.selection import rank_by_score
from fsframe_adapters.refusing import DATA_ERRORS, quiet, same_random_state


@attrs.frozen(kw_only=True)
class HsicLasso(Selector):
    """Columns of the HSIC lasso in the order of its path; the score is its coefficient."""

    data_errors: ClassVar[tuple[type[Exception], ...]] = DATA_ERRORS
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        count = self.keep_count(data.n_features, max(1, data.n_features // 2))
        # A kernel of all pairs of rows for every column, and copies of them.
        kernels = 8 * data.n_samples**2 * (data.n_features + 1)
        run.must_hold(2 * kernels, "hsic-lasso: kernels of all pairs of rows")
        lasso = Theirs()
        y = data.y + 1 if data.task == "classification" else data.y
        # It talks on stdout, where fsframe's results go, and moves numpy's random state.
        with contextlib.redirect_stdout(io.StringIO()), quiet(), same_random_state():
            lasso.input(data.X, y)
            fit = lasso.classification if data.task == "classification" else lasso.regression
            fit(count, B=0, n_jobs=1)
        scores = np.zeros(data.n_features)
        scores[lasso.get_index()] = np.nan_to_num(lasso.get_index_score())
        return Selection(selected=rank_by_score(scores)[:count], scores=scores)
