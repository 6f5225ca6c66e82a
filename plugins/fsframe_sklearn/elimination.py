"""Searches by an estimator: recursive elimination, and columns added or removed one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import (
    choice,
    count_or_fraction,
    integer,
    number_to_keep,
    param,
    real,
)
from fsframe.table.dataset import Dataset
from fsframe_sklearn.estimators import counted_data, guarded, make_folds, parse_options
from fsframe_sklearn.learners import (
    COPIES_IN_ONE_FOLD,
    LEARNER,
    Fitted,
    Learner,
    LearnerSelector,
    check_scoring,
    cost_of_fit,
    scoring_parameter,
    target_unit,
)

Columns = NDArray[np.intp]


def eliminate(
    learner: Learner,
    X: NDArray[np.float64],
    y: NDArray[Any],
    step: int,
    seen: Callable[[Columns, Fitted], None],
) -> Columns:
    """Columns from the last remaining to the first eliminated; `seen` is called with every fit.

    Of equally important columns the later one is eliminated first. For every k, the first k are the
    columns that scikit-learn's ``RFE`` keeps.
    """
    left = np.arange(X.shape[1])
    gone: list[Columns] = []
    while left.size:
        fitted = learner.fit(X[:, left], y)
        seen(left, fitted)
        worst_last = rank_by_score(fitted.importance(power=2))
        number = max(1, min(step, left.size - 1))
        gone.append(left[worst_last[::-1][:number]])
        left = np.sort(left[worst_last[: left.size - number]])
    return np.concatenate(gone)[::-1]


@attrs.frozen(kw_only=True)
class Rfe(LearnerSelector):
    """Columns that survive recursive elimination.

    The estimator is fitted, the `step` columns with the smallest squared coefficients (or
    ``feature_importances_``) are removed, and this is repeated until one column remains. Without
    `top`, half of the columns are kept, as by scikit-learn's ``RFE``. A column's score is the share
    of columns that do not rank above it.

    Notes
    -----
    O(p / step) fits. The paper's estimator is a linear support vector machine; scikit-learn's for
    several classes is one against one, the squares summed over pairs of classes.

    References
    ----------
    I. Guyon, J. Weston, S. Barnhill, V. Vapnik 2002, Gene selection for cancer classification using
    support vector machines, Machine Learning 46:389–422, sec. 2.6.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> Rfe(top=1).select(Dataset.from_arrays(X, X[:, 2] > 0)).selected
    array([2])
    """

    joint: ClassVar[bool] = True

    default_of = {"classification": "SVC", "regression": "SVR"}

    of: str | None = param(
        None,
        LEARNER,
        help='Class name of the estimator; by default SVC or SVR with kernel="linear" (libsvm, '
        "slow on many rows: LinearSVC or LinearSVR is quicker there). Its C and epsilon for a "
        "numeric target are relative to the target's standard deviation.",
    )
    top: int | float | None = number_to_keep("half of them")
    step: int | float = param(
        1,
        count_or_fraction(),
        help="Features removed at a time: a count, or a fraction of all.",
    )

    def learner(self, data: Dataset, seed: int) -> Learner:
        learner = super().learner(data, seed)
        if self.of is not None:
            return learner
        further: dict[str, Any] = {"kernel": "linear"}
        if data.task == "regression":
            # These have the target's unit: a target inside the tube would leave nothing to fit.
            unit, made = target_unit(data), learner.estimator
            further |= {name: unit * getattr(made, name) for name in ("C", "epsilon", "tol")}
        given = parse_options(self.options)
        learner.estimator.set_params(**{k: v for k, v in further.items() if k not in given})
        return learner

    def reads_importance(self) -> bool:
        return True

    def cost(self, n: int, p: int) -> Cost | None:
        return self._cost_of_fits(n, p, 1)

    def _cost_of_fits(self, n: int, p: int, eliminations: int) -> Cost | None:
        fit = cost_of_fit(self._candidates()[0], n, -(-p // 2))
        if fit is None:
            return None
        fits = eliminations * -(-p // self._step(p))
        quicker = f"{self.method_name()}:of=LinearSVC (LinearSVR for a numeric target)"
        return Cost(
            seconds=fits * fit.seconds,
            formula=f"{fits} fits of {fit.formula} seconds on p/2 columns",
            remedy=quicker if self.of is None else "",
        )

    def _step(self, n_features: int) -> int:
        if isinstance(self.step, int):
            return self.step
        return max(1, int(self.step * n_features + 1e-9))

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        X, y, _ = counted_data(data)
        with guarded(f"{self.method_name()}: {self.learner_name(data)}", data) as issued:
            order = self._order(data, X, y, run)
        return self._kept(order, max(1, data.n_features // 2), {}, issued)

    def _order(self, data: Dataset, X: NDArray[np.float64], y: NDArray[Any], run: Run) -> Columns:
        p = data.n_features
        return eliminate(
            self.learner(data, self.seed(run, 0)),
            X,
            y,
            self._step(p),
            lambda left, _: run.progress(p - left.size + 1, p, self.method_name()),
        )

    def _kept(
        self, order: Columns, default: int, tables: dict[str, Any], notes: list[str]
    ) -> Selection:
        scores = np.empty(order.size)
        scores[order] = np.arange(order.size, 0, -1) / order.size
        return Selection(
            selected=order[: self.keep_count(order.size, default)],
            scores=scores,
            tables=tables,
            warnings=tuple(notes),
        )


@attrs.frozen(kw_only=True)
class Rfecv(Rfe):
    """Columns that survive recursive elimination, as many as cross-validation finds best.

    For each fold, columns are eliminated on the rows of the other folds, and each model is scored
    on the fold. The number of columns with the best mean score (the smallest if tied) is then kept
    by an elimination on all rows; `top` overrides it. Tables ``sizes`` (m,) and ``curve`` (folds,
    m): the scores by number of columns.

    Notes
    -----
    O((folds + 1) · p / step) fits. Copies of a row and rows of a group are in one fold. The maximum
    of the curve is optimistic; use `evaluate` to estimate the performance of the kept columns.

    References
    ----------
    As `rfe`; F. Pedregosa et al. 2011, Scikit-learn, JMLR 12 (``RFECV``).
    """

    takes_time: ClassVar[bool] = False

    top: int | float | None = number_to_keep("the number with the best cross-validation score")
    folds: int = param(5, integer(2), help="Number of folds.")
    scoring: str | None = scoring_parameter(" for a fold")

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        yield from check_scoring(self.scoring)

    def folds_of_rows(self) -> int:
        return self.folds

    def cost(self, n: int, p: int) -> Cost | None:
        return self._cost_of_fits(n, p, self.folds + 1)

    def unlike_copies(self) -> str:
        return COPIES_IN_ONE_FOLD

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        X, y, unit = counted_data(data)
        splits = make_folds(data, y, unit, self.folds, run.generator(1), "rfecv")
        curve: list[list[float]] = []
        with guarded(f"rfecv: {self.learner_name(data)}", data) as issued:
            for fold, (train, test) in enumerate(splits):
                scored: list[tuple[int, float]] = []

                def score(
                    left: Columns,
                    fitted: Fitted,
                    test: Columns = test,
                    scored: list[tuple[int, float]] = scored,
                ) -> None:
                    value = fitted.score(X[test][:, left], y[test], self.scoring)
                    scored.append((left.size, value))

                learner = self.learner(data, self.seed(run, 2, fold))
                eliminate(learner, X[train], y[train], self._step(data.n_features), score)
                curve.append([value for _, value in scored])
                run.progress(fold + 1, self.folds + 1, "rfecv")
            sizes = np.array([size for size, _ in scored])[::-1]
            order = super()._order(data, X, y, attrs.evolve(run, listener=None))
        run.progress(self.folds + 1, self.folds + 1, "rfecv")
        table = np.array(curve)[:, ::-1]
        best = int(sizes[rank_by_score(table.mean(axis=0))[0]])
        return self._kept(order, best, {"sizes": sizes, "curve": table}, issued)


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
    joint: ClassVar[bool] = True

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
    scoring: str | None = scoring_parameter(" for a fold")

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        yield from check_scoring(self.scoring)

    def folds_of_rows(self) -> int:
        return self.folds

    def cost(self, n: int, p: int) -> Cost | None:
        # Without top, the number of steps forward depends on the scores.
        forward = self.direction == "forward"
        if forward and self.top is None:
            return None
        steps, mean = (self.keep_count(p, p), 1) if forward else (p, 2)
        fit = cost_of_fit(self._candidates()[0], n, -(-steps // 2))
        if fit is None:
            return None
        fits = self.folds * steps * -(-p // mean)
        return Cost(seconds=fits * fit.seconds, formula=f"{fits} fits of {fit.formula} seconds")

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        X, y, unit = counted_data(data)
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
            selection = search(score, data.n_features, run)
        return attrs.evolve(selection, warnings=tuple(issued))

    def _forward(self, score: Callable[[list[int]], float], p: int, run: Run) -> Selection:
        most = self.keep_count(p, p)
        chosen: list[int] = []
        curve: list[float] = []
        while len(chosen) < most:
            left = [column for column in range(p) if column not in chosen]
            trial_scores = np.array([score([*chosen, column]) for column in left])
            best = int(rank_by_score(trial_scores)[0])
            if self.top is None and chosen and trial_scores[best] - curve[-1] < self.tol:
                break
            chosen.append(left[best])
            curve.append(float(trial_scores[best]))
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
            trial_scores = np.array([score([c for c in left if c != column]) for column in left])
            # In reverse order, so that of tied columns the last one is removed.
            worst = len(left) - 1 - int(rank_by_score(trial_scores[::-1])[0])
            if not enough and curve[-1] - trial_scores[worst] > self.tol:
                enough = len(left)
            gone.append(left.pop(worst))
            curve.append(float(trial_scores[worst]))
            run.progress(len(gone), p - 1, "sequential")
        order = np.array([*left, *gone[::-1]])
        scores = np.empty(p)
        scores[order] = np.arange(p, 0, -1) / p
        return Selection(
            selected=order[: self.keep_count(p, enough or 1)],
            scores=scores,
            tables={"steps": np.array(gone, dtype=np.int64), "curve": np.array(curve)},
        )
