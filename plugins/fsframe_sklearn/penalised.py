"""Lasso and elastic net: columns in the order in which they enter as the penalty decreases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kinds import MOST_TIMES
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import choice, integer, number_to_keep, param, real
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import learn_scale, standardised
from fsframe_sklearn.estimators import fold_problems, guarded, make_folds, units_of
from fsframe_sklearn.learners import COEFFICIENT_COLUMNS, COPIES_IN_ONE_FOLD
from fsframe_sklearn.linear_models import Problem, largest_penalty, solve


@attrs.frozen(kw_only=True)
class Lasso(Selector):
    """Columns with a non-zero coefficient in a model with an ℓ₁ penalty.

    A numeric target is fitted by least squares, classes by logistic regression (one against the
    rest if there are more than two), on standardised columns, for `penalties` decreasing values of
    λ. Without `top`, the columns with a non-zero coefficient at the λ with the smallest
    cross-validated loss are kept, which may be none. With `top`, the first columns to enter are
    kept, without cross-validation, and the path ends when that many have entered.

    A column's score is the λ at which it enters, divided by the smallest λ without any column; 0 if
    it does not enter. Among columns that enter at the same step, larger coefficients rank first.
    With ``score_by=coefficient`` it is the largest |coefficient| of its models at the chosen λ, on
    standardised columns: the statistic with which `knockoffs` have the most power.
    Tables: ``penalties`` (m,), ``path`` (m, n_models, p) and, with cross-validation, ``loss``
    (folds, m), mean squared error or mean deviance. `model` contains the coefficients at the chosen
    λ, for standardised columns.

    Notes
    -----
    `weakness` below 1 gives the *randomised* lasso of Meinshausen and Bühlmann, for use under
    `ensemble` or `npfs`: in each fit, a random half of the columns is multiplied by it, which
    increases their penalty, so that each of several correlated columns is selected in some fits.
    Bootstrap counts weight rows in the loss; copies of a row and rows of a group are in one fold.
    Time at least O(folds · penalties · n · p).

    References
    ----------
    R. Tibshirani 1996, Regression shrinkage and selection via the lasso, J. R. Stat. Soc. B
    58:267–288. J. Friedman, T. Hastie, R. Tibshirani 2010, Regularization paths for generalized
    linear models via coordinate descent, J. Stat. Softw. 33(1). N. Meinshausen, P. Bühlmann 2010,
    Stability selection, J. R. Stat. Soc. B 72:417–473, sec. 3.1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> data = Dataset.from_arrays(X, X[:, 2] - 0.3 * X[:, 0])
    >>> Lasso(top=2).select(data).selected
    array([2, 0])
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    takes_counts: ClassVar[bool] = True
    takes_time: ClassVar[bool] = False
    table_copies: ClassVar[float] = 3.0
    reads_bytes: ClassVar[bool] = True
    joint: ClassVar[bool] = True

    top: int | float | None = number_to_keep(
        "those in the model that cross-validation chooses", ", in the order in which they enter"
    )
    penalties: int = param(
        50,
        integer(2, MOST_TIMES),
        help="Number of penalties on the path, evenly spaced on a log scale.",
    )
    smallest: float = param(
        0.01, real(above=0, below=1), help="Smallest penalty, as a fraction of the largest."
    )
    folds: int = param(5, integer(2), help="Number of folds; not used with top.")
    rule: str = param(
        "min",
        choice("min", "one-se"),
        help="Penalty with the smallest loss, or the largest within one standard error of it.",
    )
    score_by: str = param(
        "entry",
        choice("entry", "coefficient"),
        help="Score of a feature: the penalty at which it enters, or the size of its coefficient "
        "at the chosen penalty (0 outside the model).",
    )
    weakness: float = param(
        1.0,
        real(above=0, most=1),
        help="Below 1: for every fit, a new random half of the features is multiplied by this "
        "(randomised lasso).",
        source="Meinshausen, Bühlmann 2010, sec. 3.1",
    )

    @property
    def _l1_ratio(self) -> float:
        return 1.0

    def cost(self, n: int, p: int) -> Cost | None:
        if self.top is None:
            # All paths down to the smallest penalty.
            paths = (self.folds + 1) * self.penalties / 300
            return Cost(seconds=paths * (0.1 + 6e-6 * n * p), formula=f"{paths:g} (0.1 + 6e-6 np)")
        return Cost(seconds=6e-3 + 9e-8 * n * p, formula="0.006 + 9e-8 np")

    def check_request(self, data: Dataset) -> Iterator[str]:
        if self.top is None:
            yield from fold_problems(units_of(data), self.folds)

    def unlike_copies(self) -> str:
        return COPIES_IN_ONE_FOLD if self.top is None else ""

    def resampled_forewarning(self) -> str:
        # Scores by the coefficient, as knockoffs want them, need the chosen penalty.
        if self.top is not None or self.score_by != "entry":
            return ""
        name = self.method_name()
        return (
            f"without top every resample chooses a penalty by cross-validation, {self.folds} times "
            f"the work, and keeps as many features as that model has; within resamples use "
            f"{name}:top=10, which keeps the first ten to enter"
        )

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        p, name = data.n_features, self.method_name()
        counts = np.ones(data.n_samples) if data.counts is None else data.counts.astype(np.float64)
        factors = np.ones(p)
        if self.weakness < 1:
            factors[run.generator(2).random(p) < 0.5] = self.weakness
        centre, scale = learn_scale(data.matrix, counts)
        problem = Problem(
            X=_weakened(data, centre, scale, factors),
            responses=_responses(data),
            weights=counts,
            logistic=data.task == "classification",
            l1_ratio=self._l1_ratio,
        )
        largest = largest_penalty(problem)
        if not largest > 0:
            return Selection(
                selected=rank_by_score(np.zeros(p))[: self.keep_count(p, 0)],
                scores=np.zeros(p),
                warnings=("no column is associated with the label, so none enters",),
            )
        held = 8 * self.penalties * len(problem.responses) * p
        run.must_hold(held, f"{name}: the path of {self.penalties} penalties", "lower penalties")
        grid = largest * np.geomspace(1.0, self.smallest, self.penalties)
        tables: dict[str, NDArray[np.float64]] = {}
        with guarded(name, data) as issued:
            most = None if self.top is None else self.keep_count(p, p)
            path = solve(problem, grid, most)
            chosen = len(path.coef) - 1
            if self.top is None:
                tables["loss"] = self._losses(problem, data, factors, grid, run)
                chosen = _chosen(tables["loss"], self.rule)
        if self.score_by == "entry":
            scores = _entries(path.coef, grid) / largest
        else:
            scores = np.abs(path.coef[chosen]).max(axis=0)
        ranked = rank_by_score(scores)
        inside = (path.coef[chosen] != 0).any(axis=0)
        selected = ranked[inside[ranked]] if most is None else ranked[:most]
        empty = (
            ()
            if selected.size
            else ("cross-validation chooses the model without columns, so none is kept",)
        )
        return Selection(
            selected=selected,
            scores=scores,
            model={
                "coef": path.coef[chosen] * factors,
                "intercept": path.intercept[chosen],
                "centre": centre,
                "scale": np.where(np.isinf(scale), 1.0, scale),
            },
            model_columns=COEFFICIENT_COLUMNS,
            tables={"penalties": grid[: len(path.coef)], "path": path.coef, **tables},
            warnings=(*issued, *empty),
        )

    def _losses(
        self,
        problem: Problem,
        data: Dataset,
        factors: NDArray[np.float64],
        grid: NDArray[np.float64],
        run: Run,
    ) -> NDArray[np.float64]:
        """Loss on each fold, per penalty; columns are standardised on the other folds' rows."""
        name = self.method_name()
        splits = make_folds(data, data.y, units_of(data), self.folds, run.generator(1), name)
        losses = []
        for fold, (train, test) in enumerate(splits):
            learned = learn_scale(data.take_rows(train).matrix, problem.weights[train])
            fold_problem = attrs.evolve(problem, X=_weakened(data, *learned, factors))
            losses.append(solve(fold_problem.take(train), grid).losses(fold_problem.take(test)))
            run.progress(fold + 1, self.folds, name)
        return np.array(losses)


@attrs.frozen(kw_only=True)
class ElasticNet(Lasso):
    """Columns with a non-zero coefficient in a model with an ℓ₁ and an ℓ₂ penalty.

    As `lasso`, with the penalty λ (`l1_ratio` ‖β‖₁ + (1 − `l1_ratio`)/2 ‖β‖₂²): correlated columns
    enter together, identical ones with equal coefficients.

    Notes
    -----
    As `lasso`.

    References
    ----------
    H. Zou, T. Hastie 2005, Regularization and variable selection via the elastic net, J. R. Stat.
    Soc. B 67:301–320. J. Friedman, T. Hastie, R. Tibshirani 2010, J. Stat. Softw. 33(1).
    """

    l1_ratio: float = param(
        0.5, real(above=0, below=1), help="Share of the ℓ₁ term in the penalty."
    )

    @property
    def _l1_ratio(self) -> float:
        return self.l1_ratio


def _weakened(
    data: Dataset,
    centre: NDArray[np.float64],
    scale: NDArray[np.float64],
    factors: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Standardised columns times their factors."""
    weakened = standardised(data.matrix, centre, scale)
    weakened *= factors
    return weakened


def _responses(data: Dataset) -> tuple[NDArray[np.float64], ...]:
    if data.task == "regression":
        return (np.asarray(data.y, dtype=np.float64),)
    present = np.unique(data.y)
    if present.size < 2:
        return (np.zeros(data.n_samples),)
    # One model suffices for two classes.
    codes = present[1:] if present.size == 2 else present
    return tuple((data.y == code).astype(np.float64) for code in codes)


def _entries(coef: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Penalty at which each column enters, (p,); 0 for one that does not.

    Columns that enter at the same step are spread over half of the interval to the previous
    penalty, larger coefficients earlier.
    """
    size = np.abs(coef).max(axis=1)
    inside = size > 0
    first = np.argmax(inside, axis=0)
    entries = np.zeros(coef.shape[2])
    for step in np.unique(first[inside.any(axis=0)]):
        new = np.flatnonzero(inside.any(axis=0) & (first == step))
        back = (grid[step - 1] - grid[step]) if step else 0.0
        entries[new] = grid[step] + 0.5 * back * size[step, new] / size[step, new].max()
    return entries


def _chosen(losses: NDArray[np.float64], rule: str) -> int:
    """Index of the penalty that `rule` chooses from the losses (folds, penalties)."""
    mean = losses.mean(axis=0)
    best = int(np.argmin(mean))
    if rule == "min":
        return best
    error = losses[:, best].std(ddof=1) / np.sqrt(len(losses))
    return int(np.argmax(mean <= mean[best] + error))
