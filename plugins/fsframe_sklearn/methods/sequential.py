"""Greedy search by cross-validation: add or remove one column at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import attrs
import numpy as np

from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, integer, number_to_keep, optional, param, real, text
from fsframe.table.dataset import Dataset
from fsframe_sklearn.engine.rows import drawn_rows, guarded, make_folds
from fsframe_sklearn.methods.learners import LearnerSelector, check_scoring

__all__ = ["Sequential"]


@attrs.frozen(kw_only=True)
class Sequential(LearnerSelector):
    """Columns found by repeatedly adding, or removing, the best one by cross-validation.

    A forward search adds columns while the mean score over folds increases by at least `tol`; a
    backward search removes them while it decreases by at most `tol`. With `top`, the search
    continues to that number. A column's score reflects the step at which it was added or removed; 0
    if a forward search ended before it. Tables ``steps`` (m,), the columns in the order in which
    they were added or removed, and ``curve`` (m,), the score after each step.

    Notes
    -----
    Selecting k of p columns takes O(k·p·folds) fits forward and O(p²·folds) backward, where the
    search continues to one column so that all are ranked. Of equally good columns the first is
    added, the last removed. Copies of a row and rows of a group are in one fold.

    References
    ----------
    A. W. Whitney 1971, A direct method of nonparametric measurement selection, IEEE Trans. Comput.
    C-20:1100–1103, with nearest neighbours. T. Marill, D. M. Green 1963, On the effectiveness of
    receptors in recognition systems, IEEE Trans. Inf. Theory 9:11–17 (backward).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> data = Dataset.from_arrays(X, X[:, 2] > 0)
    >>> Sequential(of="LogisticRegression", top=1).select(data).selected
    array([2])
    """

    takes_time: ClassVar[bool] = False

    default_of = {
        "classification": "KNeighborsClassifier",
        "regression": "KNeighborsRegressor",
    }

    top: int | float | None = number_to_keep("`tol` decides")
    direction: str = param(
        "forward",
        choice("forward", "backward"),
        help="forward adds features to an empty set, backward removes from all.",
    )
    tol: float = param(
        1e-3,
        real(0),
        help="Smallest gain for adding a feature; backward: largest loss for removing one.",
    )
    folds: int = param(5, integer(2), help="Number of folds.")
    scoring: str | None = param(
        None,
        optional(text("a measure of scikit-learn")),
        help="Scorer of scikit-learn for a fold; by default the estimator's own score.",
    )

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        yield from check_scoring(self.scoring)

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        X, y, unit = drawn_rows(data)
        splits = make_folds(data, y, unit, self.folds, run.generator(1), "sequential")
        learner = self.learner(data, self.seed(run, 0))

        def score(columns: list[int]) -> float:
            taken = X[:, sorted(columns)]
            scores = [
                learner.fit(taken[train], y[train]).score(taken[test], y[test], self.scoring)
                for train, test in splits
            ]
            return float(np.mean(scores))

        search = self._forward if self.direction == "forward" else self._backward
        with guarded(f"sequential: {self.learner_name(data)}", data) as issued:
            found = search(score, data.n_features, run)
        return attrs.evolve(found, warnings=tuple(issued))

    def _forward(self, score: Callable[[list[int]], float], p: int, run: Run) -> Selection:
        most = self.keep_count(p, p)
        chosen: list[int] = []
        curve: list[float] = []
        while len(chosen) < most:
            left = [column for column in range(p) if column not in chosen]
            found = np.array([score([*chosen, column]) for column in left])
            best = int(rank_by_score(found)[0])
            if self.top is None and chosen and found[best] - curve[-1] < self.tol:
                break
            chosen.append(left[best])
            curve.append(float(found[best]))
            run.progress(len(chosen), most, "sequential")
        scores = np.zeros(p)
        scores[chosen] = np.arange(p, p - len(chosen), -1) / p
        return Selection(
            selected=chosen,
            scores=scores,
            tables={"steps": np.array(chosen), "curve": np.array(curve)},
        )

    def _backward(self, score: Callable[[list[int]], float], p: int, run: Run) -> Selection:
        left = list(range(p))
        gone: list[int] = []
        curve = [score(left)]
        enough = 0
        while len(left) > 1:
            found = np.array([score([c for c in left if c != column]) for column in left])
            # In reverse order, so that of tied columns the last one is removed.
            worst = len(left) - 1 - int(rank_by_score(found[::-1])[0])
            if not enough and curve[-1] - found[worst] > self.tol:
                enough = len(left)
            gone.append(left.pop(worst))
            curve.append(float(found[worst]))
            run.progress(len(gone), p - 1, "sequential")
        order = np.array([*left, *gone[::-1]])
        scores = np.empty(p)
        scores[order] = np.arange(p, 0, -1) / p
        return Selection(
            selected=order[: self.keep_count(p, enough or 1)],
            scores=scores,
            tables={"steps": np.array(gone, dtype=np.int64), "curve": np.array(curve)},
        )
