"""Logistic regression with ℓ₁ and ℓ₂ penalties: proximal Newton steps by coordinate descent."""

from __future__ import annotations

import math

import numpy as np

from fsframe.kernels.compiled import njit

_STEPS = 200
_SWEEPS = 2_000
_HALVINGS = 40
_LEAST = 1e-5
"""Least p (1 − p) in the curvature: near 0 or 1 a step would be far too long."""


@njit()
def _objective(linear, moved, y, share, coef, trial, size, l1, l2):
    """After the part `size` of a step from `coef` to `trial`, by which `linear` changes."""
    found = 0.0
    for i in range(len(y)):
        eta = linear[i] + size * moved[i]
        # log(1 + e^η) without overflow.
        found += share[i] * (max(eta, 0.0) + math.log1p(math.exp(-abs(eta))) - y[i] * eta)
    for j in range(len(coef)):
        value = coef[j] + size * (trial[j] - coef[j])
        found += l1 * abs(value) + 0.5 * l2 * value * value
    return found


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
        One column of the table a row.
    y : (n,) float64
        0 or 1.
    share : (n,) float64
        Weights of rows, of sum 1.
    coef : (p,) float64
        Where to start; the solution is written here.
    intercept : float
        Where to start; it is not penalised.
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
            if at <= value:
                break
            size *= 0.5
        else:
            # Rounding hides what could still be gained.
            return intercept, settled
        for j in range(p):
            # A full step keeps the zeros exact.
            coef[j] = trial[j] if size == 1.0 else coef[j] + size * (trial[j] - coef[j])
        intercept += size * (new - intercept)
        for i in range(n):
            linear[i] += size * moved[i]
        value = at
    return intercept, False
