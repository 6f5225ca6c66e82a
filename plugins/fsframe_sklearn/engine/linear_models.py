"""Coefficients along a path of penalties, and nominal columns as indicators of 0 and 1."""

from __future__ import annotations

import warnings
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.table.column_kinds import level_places
from fsframe.table.dataset import Dataset
from fsframe_sklearn.engine.logistic_path import solve_logistic

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
    seed : int
    """

    X: Floats
    responses: tuple[Floats, ...]
    weights: Floats
    logistic: bool
    l1_ratio: float
    seed: int

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
        """Mean squared error, or mean deviance over models, on these rows, per penalty."""
        share = problem.weights / problem.weights.sum()
        found = np.zeros(len(self.coef))
        for model, response in enumerate(problem.responses):
            predicted = self.coef[:, model] @ problem.X.T + self.intercept[:, model, None]
            if problem.logistic:
                # 2 log(1 + exp(-margin)), without overflow.
                lost = 2.0 * np.logaddexp(0.0, -(2.0 * response - 1.0) * predicted)
            else:
                lost = (response - predicted) ** 2
            found += lost @ share
        return found / len(problem.responses)


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
    The mean loss (half the squared error, or the log-loss) plus
    λ (l1_ratio ‖β‖₁ + (1 − l1_ratio)/2 ‖β‖₂²), with an unpenalised intercept. Least squares by
    coordinate descent of scikit-learn, logistic models by `solve_logistic`; each penalty starts
    from the solution at the last one.
    """
    share = problem.weights / problem.weights.sum()
    coefs: list[Floats] = []
    intercepts: list[Floats] = []
    entered = np.zeros(problem.X.shape[1], dtype=bool)
    solver = _logistic if problem.logistic else _linear
    solvers = [solver(problem, response, share) for response in problem.responses]
    for penalty in penalties:
        found = [step(float(penalty)) for step in solvers]
        coefs.append(np.array([coef for coef, _ in found]))
        intercepts.append(np.array([intercept for _, intercept in found]))
        entered |= (coefs[-1] != 0).any(axis=0)
        if most is not None and np.count_nonzero(entered) >= most:
            break
    return Path(coef=np.array(coefs), intercept=np.array(intercepts))


def _linear(problem: Problem, response: Floats, share: Floats) -> Any:
    """A function of the next smaller penalty that returns coefficients and intercept."""
    from sklearn.linear_model import enet_path

    mean, centre = float(share @ response), share @ problem.X
    # Rows scaled by the root of their share, so that the sum of squares is the weighted one.
    root = np.sqrt(share * len(share))
    X = np.asfortranarray((problem.X - centre) * root[:, None])
    y = (response - mean) * root
    last = {"coef_init": np.zeros(X.shape[1])}

    def step(penalty: float) -> tuple[Floats, float]:
        _, found, _ = enet_path(
            X,
            y,
            l1_ratio=problem.l1_ratio,
            alphas=[penalty],
            precompute=False,
            tol=1e-8,
            max_iter=20_000,
            **last,
        )
        last["coef_init"] = found[:, 0]
        return found[:, 0], mean - float(centre @ found[:, 0])

    return step


def _logistic(problem: Problem, response: Floats, share: Floats) -> Any:
    """As `_linear`, for one class against the rest."""
    from sklearn.exceptions import ConvergenceWarning

    columns = np.ascontiguousarray(problem.X.T)
    y, kept = response.astype(np.float64), share > 0
    rate = float(np.clip(share @ response, 1e-12, 1 - 1e-12))
    start = float(np.log(rate / (1 - rate)))
    coef = np.zeros(len(columns))
    # Violations are compared with the slopes without any column.
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
    found = {}
    for column in np.flatnonzero(data.categorical).tolist():
        values = data.columns(column, column + 1)[:, 0].astype(np.float64)
        found[column] = level_places(values)[1]
    return found


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
