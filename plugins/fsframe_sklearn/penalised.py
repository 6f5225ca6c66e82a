"""Lasso and elastic net, and the penalised linear models that they fit along a path."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe.kinds import MOST_TIMES
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import choice, integer, number_to_keep, param, real
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import learn_scale, level_places, standardised
from fsframe_sklearn.estimators import fold_problems, guarded, make_folds, units_of
from fsframe_sklearn.learners import COEFFICIENT_COLUMNS, COPIES_IN_ONE_FOLD, target_unit

Floats = NDArray[np.float64]

_TOLERANCE = 1e-8


@attrs.frozen(kw_only=True, eq=False)
class Problem:
    """Standardised columns and the response of each model: the target, or a class indicator.

    Parameters
    ----------
    X : (n, p) float64
        Weighted mean 0.
    responses : tuple of (n,) float64
        The target itself, or 0 and 1.
    weights : (n,) float64
        Multiplicity of each row.
    logistic : bool
    l1_ratio : float
        Share of the ℓ₁ term in the penalty; 1 is the lasso.
    unit : float
        Of a numeric target, for the ℓ₂ term.
    """

    X: Floats
    responses: tuple[Floats, ...]
    weights: Floats
    logistic: bool
    l1_ratio: float
    unit: float = 1.0

    def take(self, rows: NDArray[np.intp]) -> Problem:
        return attrs.evolve(
            self,
            X=self.X[rows],
            responses=tuple(response[rows] for response in self.responses),
            weights=self.weights[rows],
        )


@attrs.frozen(kw_only=True, eq=False)
class Path:
    """Coefficients (n_penalties, n_models, p) and intercepts (n_penalties, n_models)."""

    coef: Floats
    intercept: Floats

    def losses(self, problem: Problem) -> Floats:
        """Mean squared error, or mean deviance over models, of each penalty on the rows given."""
        share = problem.weights / problem.weights.sum()
        losses = np.zeros(len(self.coef))
        for model, response in enumerate(problem.responses):
            predicted = self.coef[:, model] @ problem.X.T + self.intercept[:, model, None]
            if problem.logistic:
                # 2 log(1 + exp(-margin)), without overflow.
                lost = 2.0 * np.logaddexp(0.0, -(2.0 * response - 1.0) * predicted)
            else:
                lost = (response - predicted) ** 2
            losses += lost @ share
        return losses / len(problem.responses)


def largest_penalty(problem: Problem) -> float:
    """The smallest penalty at which all coefficients of all models are 0."""
    share = problem.weights / problem.weights.sum()
    largest = 0.0
    for response in problem.responses:
        gradient = problem.X.T @ (share * (response - share @ response))
        largest = max(largest, float(np.abs(gradient).max(initial=0.0)))
    return largest / problem.l1_ratio


def solve(problem: Problem, penalties: Floats, most: int | None = None) -> Path:
    """Solve for decreasing `penalties`; with `most`, until that many columns have entered.

    Notes
    -----
    Minimises the mean loss (half the squared error, or the log-loss) plus
    λ (l1_ratio ‖β‖₁ + (1 − l1_ratio)/2 ‖β‖₂² / unit), with an unpenalised intercept: least squares
    by coordinate descent of scikit-learn, logistic models by `solve_logistic`. Each penalty starts
    from the solution at the last one.
    """
    share = problem.weights / problem.weights.sum()
    coefs: list[Floats] = []
    intercepts: list[Floats] = []
    entered = np.zeros(problem.X.shape[1], dtype=bool)
    solver = _logistic if problem.logistic else _linear
    solvers = [solver(problem, response, share) for response in problem.responses]
    for penalty in penalties:
        fits = [step(float(penalty)) for step in solvers]
        coefs.append(np.array([coef for coef, _ in fits]))
        intercepts.append(np.array([intercept for _, intercept in fits]))
        entered |= (coefs[-1] != 0).any(axis=0)
        if most is not None and np.count_nonzero(entered) >= most:
            break
    return Path(coef=np.array(coefs), intercept=np.array(intercepts))


def _linear(problem: Problem, response: Floats, share: Floats) -> Any:
    """A function that returns coefficients and intercept at the next smaller penalty."""
    from sklearn.linear_model import enet_path

    mean, centre = float(share @ response), share @ problem.X
    # Rows scaled by the root of their share, so that the sum of squares is the weighted one.
    root = np.sqrt(share * len(share))
    X = np.asfortranarray((problem.X - centre) * root[:, None])
    y = (response - mean) * root / problem.unit
    last = {"coef_init": np.zeros(X.shape[1])}

    def step(penalty: float) -> tuple[Floats, float]:
        _, coefs, _ = enet_path(
            X,
            y,
            l1_ratio=problem.l1_ratio,
            alphas=[penalty / problem.unit],
            precompute=False,
            tol=1e-8,
            max_iter=20_000,
            **last,
        )
        last["coef_init"] = coefs[:, 0]
        beta = coefs[:, 0] * problem.unit
        return beta, mean - float(centre @ beta)

    return step


def _logistic(problem: Problem, response: Floats, share: Floats) -> Any:
    """As `_linear`, for one class against the rest."""
    from sklearn.exceptions import ConvergenceWarning

    columns = np.ascontiguousarray(problem.X.T)
    y, kept = response.astype(np.float64), share > 0
    rate = float(np.clip(share @ response, 1e-12, 1 - 1e-12))
    start = float(np.log(rate / (1 - rate)))
    coef = np.zeros(len(columns))
    # The tolerance is relative to the slopes of the model without columns.
    scale = float(np.abs(columns @ (share * (y - rate))).max(initial=0.0))
    last = {"intercept": start}

    def step(penalty: float) -> tuple[Floats, float]:
        if y[kept].min() == y[kept].max():
            # A fold without rows of the class, or without others.
            return np.zeros(len(columns)), start
        last["intercept"], converged = solve_logistic(
            columns, y, share, coef, last["intercept"], penalty * problem.l1_ratio,
            penalty * (1.0 - problem.l1_ratio), _TOLERANCE * scale,
        )  # fmt: skip
        if not converged:
            warnings.warn(
                f"the logistic path did not converge at penalty {penalty:.3g}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return coef.copy(), last["intercept"]

    return step


Levels = dict[int, NDArray[np.float64]]


def learn_levels(data: Dataset) -> Levels:
    """Levels of each nominal column, by column, in order of first occurrence."""
    levels = {}
    for column in np.flatnonzero(data.categorical).tolist():
        values = data.columns(column, column + 1)[:, 0].astype(np.float64)
        levels[column] = level_places(values)[1]
    return levels


def indicators(X: NDArray[Any], levels: Levels) -> NDArray[Any]:
    """Rows with each nominal column replaced by an indicator column for each of its levels.

    A level that was not learned has 0 in all of them.

    Examples
    --------
    >>> indicators(np.array([[5.0, 2.0], [7.0, 1.0]]), {1: np.array([1.0, 2.0])}).tolist()
    [[5.0, 0.0, 1.0], [7.0, 1.0, 0.0]]
    """
    if not levels:
        return X
    parts = [
        (X[:, column, None] == levels[column]).astype(X.dtype)
        if column in levels
        else X[:, column, None]
        for column in range(X.shape[1])
    ]
    return np.concatenate(parts, axis=1)


_STEPS = 200
_SWEEPS = 2_000
_HALVINGS = 40
_ROUNDING = 1e-13
"""Largest relative rounding error of an objective, a sum over up to some 10⁶ rows."""
_LEAST = 1e-5
"""Smallest p (1 − p) in the curvature: steps would be far too long for p near 0 or 1."""


@njit()
def _objective(linear, moved, y, share, coef, trial, size, l1, l2):
    """The objective after the part `size` of a step to `trial`, which adds `moved` to `linear`."""
    objective = 0.0
    for i in range(len(y)):
        eta = linear[i] + size * moved[i]
        # log(1 + e^η) without overflow.
        objective += share[i] * (max(eta, 0.0) + math.log1p(math.exp(-abs(eta))) - y[i] * eta)
    for j in range(len(coef)):
        value = coef[j] + size * (trial[j] - coef[j])
        objective += l1 * abs(value) + 0.5 * l2 * value * value
    return objective


@njit()
def _shrunk(value, by):
    if value > by:
        return value - by
    return value + by if value < -by else 0.0


@njit()
def solve_logistic(columns, y, share, coef, intercept, l1, l2, tolerance):
    """Minimise from `coef` and `intercept`; return the intercept, and whether it converged.

    Parameters
    ----------
    columns : (p, n) float64
        Columns of the table, as rows.
    y : (n,) float64
        0 or 1.
    share : (n,) float64
        Weights of rows, of sum 1.
    coef : (p,) float64
        The start, which the solution overwrites.
    intercept : float
        The start; it is not penalised.
    l1, l2 : float
        λ ρ and λ (1 − ρ).
    tolerance : float
        Largest violation of the optimality conditions: of |∂loss/∂β_j + l2 β_j| ≤ l1 where β_j = 0,
        and of its equality to −l1 sign β_j elsewhere.

    Notes
    -----
    A quadratic model of the loss at the present coefficients is minimised by coordinate descent,
    over the columns with a coefficient until they settle, then over all; the step is halved until
    the objective falls. One sweep is O(n p).

    References
    ----------
    J. Friedman, T. Hastie, R. Tibshirani 2010, Regularization paths for generalized linear models
    via coordinate descent, J. Stat. Softw. 33(1), section 3; G.-X. Yuan, C.-H. Ho, C.-J. Lin 2012,
    An improved GLMNET for l1-regularized logistic regression, JMLR 13:1999 (line search).
    """
    p, n = columns.shape
    linear = np.empty(n)
    for i in range(n):
        linear[i] = intercept
    for j in range(p):
        if coef[j] != 0.0:
            for i in range(n):
                linear[i] += coef[j] * columns[j, i]
    left, weight, moved = np.zeros(n), np.empty(n), np.empty(n)
    curve, trial = np.empty(p), np.empty(p)
    value = _objective(linear, left, y, share, coef, coef, 0.0, l1, l2)
    for _ in range(_STEPS):
        total, of_intercept = 0.0, 0.0
        for i in range(n):
            chance = 1.0 / (1.0 + math.exp(-linear[i]))
            left[i] = share[i] * (y[i] - chance)
            weight[i] = share[i] * max(chance * (1.0 - chance), _LEAST)
            total += weight[i]
            of_intercept += left[i]
        worst = abs(of_intercept)
        for j in range(p):
            slope, curve[j] = 0.0, l2
            for i in range(n):
                slope += columns[j, i] * left[i]
                curve[j] += columns[j, i] * columns[j, i] * weight[i]
            slope -= l2 * coef[j]
            if coef[j] == 0.0:
                worst = max(worst, abs(slope) - l1)
            else:
                worst = max(worst, abs(slope - math.copysign(l1, coef[j])))
        if worst <= tolerance:
            return intercept, True
        # `left` becomes the residual of the quadratic model, as coefficients move.
        for j in range(p):
            trial[j] = coef[j]
        for i in range(n):
            moved[i] = 0.0
        new = intercept
        all_columns, settled = True, False
        for _ in range(_SWEEPS):
            largest = 0.0
            by = 0.0
            for i in range(n):
                by += left[i]
            by /= total
            new += by
            for i in range(n):
                left[i] -= weight[i] * by
                moved[i] += by
            largest = total * by * by
            for j in range(p):
                if (not all_columns and trial[j] == 0.0) or curve[j] <= 0.0:
                    continue
                slope = 0.0
                for i in range(n):
                    slope += columns[j, i] * left[i]
                before = trial[j]
                trial[j] = _shrunk(slope + (curve[j] - l2) * before, l1) / curve[j]
                by = trial[j] - before
                if by != 0.0:
                    for i in range(n):
                        left[i] -= weight[i] * by * columns[j, i]
                        moved[i] += by * columns[j, i]
                    largest = max(largest, curve[j] * by * by)
            if largest <= 0.01 * tolerance * tolerance:
                if all_columns:
                    settled = True
                    break
                all_columns = True
            else:
                all_columns = False
        size = 1.0
        for _ in range(_HALVINGS):
            at = _objective(linear, moved, y, share, coef, trial, size, l1, l2)
            # Near the minimum a step gains less than rounding of the objective, which must not
            # halve it: the slopes, which are far more precise, tell when to stop.
            if at <= value + _ROUNDING * abs(value):
                break
            size *= 0.5
        else:
            # Any further gain is smaller than rounding errors.
            return intercept, settled
        for j in range(p):
            # A full step keeps the zeros exact.
            coef[j] = trial[j] if size == 1.0 else coef[j] + size * (trial[j] - coef[j])
        intercept += size * (new - intercept)
        for i in range(n):
            linear[i] += size * moved[i]
        value = at
    return intercept, False


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
        counts = data.row_counts.astype(np.float64)
        factors = np.ones(p)
        if self.weakness < 1:
            factors[run.generator(2).random(p) < 0.5] = self.weakness
        centre, scale = learn_scale(data.matrix, counts)
        responses, logistic = _responses(data), data.task == "classification"
        # The lasso does not depend on the unit.
        fixed = logistic or self._l1_ratio == 1
        problem = Problem(
            X=_weakened(data, centre, scale, factors),
            responses=responses,
            weights=counts,
            logistic=logistic,
            l1_ratio=self._l1_ratio,
            unit=1.0 if fixed else target_unit(data),
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

    As `lasso`, with the penalty λ (`l1_ratio` ‖β‖₁ + (1 − `l1_ratio`)/2 ‖β‖₂² / s): correlated
    columns enter together, identical ones with equal coefficients. s is the standard deviation of a
    numeric target, as in glmnet, so that its unit does not matter, and 1 for classes.

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
