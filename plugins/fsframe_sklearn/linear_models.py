"""Coefficients along a path of penalties, and nominal columns as indicators of 0 and 1."""

from __future__ import annotations

import math
import warnings
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import level_places

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
    """

    X: Floats
    responses: tuple[Floats, ...]
    weights: Floats
    logistic: bool
    l1_ratio: float

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
    λ (l1_ratio ‖β‖₁ + (1 − l1_ratio)/2 ‖β‖₂²), with an unpenalised intercept: least squares by
    coordinate descent of scikit-learn, logistic models by `solve_logistic`. Each penalty starts
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
    y = (response - mean) * root
    last = {"coef_init": np.zeros(X.shape[1])}

    def step(penalty: float) -> tuple[Floats, float]:
        _, coefs, _ = enet_path(
            X,
            y,
            l1_ratio=problem.l1_ratio,
            alphas=[penalty],
            precompute=False,
            tol=1e-8,
            max_iter=20_000,
            **last,
        )
        last["coef_init"] = coefs[:, 0]
        return coefs[:, 0], mean - float(centre @ coefs[:, 0])

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
        whole, settled = True, False
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
                if (not whole and trial[j] == 0.0) or curve[j] <= 0.0:
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
                if whole:
                    settled = True
                    break
                whole = True
            else:
                whole = False
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
