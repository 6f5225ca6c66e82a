"""Gaussian model-X knockoffs: how far from the features they are, their draws, their thresholds."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Knockoffs at the boundary of what is possible would be functions of the features.
_INSIDE = 1.0 - 1e-3


def equicorrelated(correlation: Floats, sets: NDArray[np.int64]) -> Floats:
    """S, block diagonal over groups of features: γ times the block of the correlation of each.

    Parameters
    ----------
    correlation : (p, p) float64, positive definite
    sets : (p,) int64
        The group of each feature; −1: a group of its own, for which S is diagonal.

    Returns
    -------
    (p, p) float64
        γ is the largest, up to 1, for which 2Σ − S is positive definite.

    References
    ----------
    Dai, Barber 2016, The knockoff filter for FDR control in group-sparse and multitask regression,
    ICML, section 2.2; with groups of one, Barber, Candès 2015, Ann. Stat. 43:2055, section 2.1.1.

    Examples
    --------
    >>> equicorrelated(np.array([[1.0, 0.8], [0.8, 1.0]]), np.array([-1, -1])).diagonal().round(2)
    array([0.4, 0.4])
    """
    alike = (sets[:, None] == sets[None, :]) & (sets >= 0)
    np.fill_diagonal(alike, True)
    blocks = np.where(alike, correlation, 0.0)
    least = scipy.linalg.eigh(2.0 * correlation, blocks, eigvals_only=True, subset_by_index=[0, 0])[
        0
    ]
    found: Floats = min(1.0, float(least)) * _INSIDE * blocks
    return found


def least_reconstructable(correlation: Floats, sweeps: int = 30, tol: float = 1e-4) -> Floats:
    """S, diagonal, from which a feature can least be reconstructed (MVR knockoffs).

    Minimises tr (2Σ − S)⁻¹ + Σ 1/s_j, which is tr G⁻¹ of the joint covariance G up to constants, by
    coordinate descent. In one coordinate, s_j → s_j + δ changes the inverse A of 2Σ − S by a matrix
    of rank one, and the minimum is at δ = (1 − √c s_j)/(√c + A_jj), c = (A²)_jj.

    Parameters
    ----------
    correlation : (p, p) float64, positive definite
    sweeps : int
        Most passes over all coordinates, O(p³) each.
    tol : float
        Passes end when the objective decreases by less than this share.

    Returns
    -------
    (p, p) float64

    References
    ----------
    Spector, Janson 2022, Powerful knockoffs via minimizing reconstructability, Ann. Stat. 50:252,
    section 3 and appendix on computation.

    Examples
    --------
    >>> least_reconstructable(np.eye(3)).diagonal().round(3)
    array([1., 1., 1.])
    """
    p = correlation.shape[0]
    s = equicorrelated(correlation, np.full(p, -1)).diagonal().copy()
    last = np.inf
    for _ in range(sweeps):
        inverse = np.linalg.inv(2.0 * correlation - np.diag(s))
        objective = float(np.trace(inverse) + (1.0 / s).sum())
        if objective > last * (1.0 - tol):
            break
        last = objective
        for j in range(p):
            column = inverse[:, j].copy()
            root = np.sqrt(column @ column)
            step = (1.0 - root * s[j]) / (root + column[j])
            s[j] += step
            inverse += np.outer(column * (step / (1.0 - step * column[j])), column)
    return np.diag(s)


class Sampler:
    """Draws knockoffs of standardised rows.

    Parameters
    ----------
    correlation : (p, p) float64, positive definite
        Σ.
    S : (p, p) float64
        The covariance of a feature and its knockoff is Σ − S; 0 ≤ S ≤ 2Σ.
    """

    def __init__(self, correlation: Floats, S: Floats) -> None:
        solved = scipy.linalg.solve(correlation, S, assume_a="pos")
        self._back = np.eye(S.shape[0]) - solved
        spread = 2.0 * S - S @ solved
        values, vectors = np.linalg.eigh((spread + spread.T) / 2.0)
        # Rounding makes zero eigenvalues slightly negative.
        self._root = vectors * np.sqrt(np.maximum(values, 0.0))

    def draw(self, Z: Floats, generator: np.random.Generator) -> Floats:
        """Knockoffs of `Z`, (n, p) float64: Z (I − Σ⁻¹S) + N(0, 2S − SΣ⁻¹S).

        References
        ----------
        Candès, Fan, Janson, Lv 2018, Panning for gold, J. R. Statist. Soc. B 80:551, equation 3.13.
        """
        found: Floats = Z @ self._back + generator.normal(size=Z.shape) @ self._root.T
        return found


def knockoff_threshold(leads: Floats, level: float) -> float:
    """The smallest t > 0 with (1 + #{W ≤ −t}) / #{W ≥ t} ≤ level; infinite if there is none.

    `leads` holds W, (p,): by how much each feature's score exceeds that of its knockoff.

    References
    ----------
    Barber, Candès 2015, equation 1.9 (knockoff+).

    Examples
    --------
    >>> knockoff_threshold(np.array([3.0, 2.5, 2.0, -1.0, 0.5, 0.0]), 0.4)
    2.0
    """
    for t in np.unique(np.abs(leads[leads != 0])):
        behind, ahead = np.count_nonzero(leads <= -t), np.count_nonzero(leads >= t)
        if 1 + behind <= level * ahead:
            return float(t)
    return np.inf


def e_values(leads: Floats, level: float) -> Floats:
    """Knockoff e-values: p·1{W ≥ T} / (1 + #{W ≤ −T}) at the threshold T of `level`.

    References
    ----------
    Ren, Barber 2024, Derandomised knockoffs: leveraging e-values for false discovery rate control,
    J. R. Statist. Soc. B 86:122, equation 8.

    Examples
    --------
    >>> e_values(np.array([3.0, 2.5, 2.0, -1.0, 0.5, 0.0]), 0.4)
    array([6., 6., 6., 0., 0., 0.])
    """
    t = knockoff_threshold(leads, level)
    if not np.isfinite(t):
        return np.zeros(leads.size)
    return np.where(leads >= t, leads.size / (1.0 + np.count_nonzero(leads <= -t)), 0.0)


def kept_by_e_values(e: Floats, level: float) -> NDArray[np.bool_]:
    """e-BH: the k largest, for the largest k whose k-th is at least p/(level·k).

    References
    ----------
    Wang, Ramdas 2022, False discovery rate control with e-values, J. R. Statist. Soc. B 84:822.

    Examples
    --------
    >>> kept_by_e_values(np.array([8.0, 0.0, 9.0, 1.0]), 0.25)
    array([ True, False,  True, False])
    """
    p = e.size
    ordered = np.sort(e)[::-1]
    # e-values such as p/1 meet the bound exactly: compared up to rounding.
    enough = np.flatnonzero(ordered * level * np.arange(1, p + 1) >= p * (1.0 - 1e-12))
    if not enough.size:
        return np.zeros(p, dtype=bool)
    return np.asarray(e >= ordered[enough[-1]])
