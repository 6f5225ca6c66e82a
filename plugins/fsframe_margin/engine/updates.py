"""The minimiser of <Σ, W> in step 2, for each interpretation of the constraint."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RULES = ("elementwise", "psd", "psd-clip")


def gain(gradient: Floats, penalty: float = 0.0) -> Floats:
    """(−Σ − λ)⁺, the element-wise rule before its norm: for W or w whole, or for a tile of W.

    Every route of `immigrate` takes the rule from here.
    """
    return np.maximum(-gradient - penalty, 0.0)


def elementwise(gradient: Floats, penalty: float = 0.0) -> Floats | None:
    """The exact minimiser of <Σ, W> + λ Σ W over W ≥ 0, ‖W‖_F = 1: (−Σ − λ)⁺ / ‖(−Σ − λ)⁺‖_F.

    Parameters
    ----------
    gradient : (A, A) or (A,) float64
        Σ, symmetric.
    penalty : float
        λ ≥ 0.

    Returns
    -------
    ndarray or None
        None if no entry of −Σ − λ is positive, so that no weights lower the cost.

    Notes
    -----
    At fixed norm the linear form is smallest along its negative gradient, projected onto the cone
    W ≥ 0; the same argument as eq. 3.17, entry by entry.

    Examples
    --------
    >>> elementwise(np.array([[-3.0, 1.0], [1.0, -4.0]]))
    array([[0.6, 0. ],
           [0. , 0.8]])
    """
    positive = gain(gradient, penalty)
    norm = math.sqrt(np.vdot(positive, positive))
    return positive / norm if 0 < norm < math.inf else None


def positive_semidefinite(gradient: Floats, clip: bool = False) -> Floats | None:
    """W = ΦΦᵀ of Theorem 3.1 (eq. 3.8): the minimiser of <Σ, W> over W ⪰ 0, ‖W‖_F = 1.

    Parameters
    ----------
    gradient : (A, A) float64
        Σ, symmetric.
    clip : bool
        Set negative entries to zero and renormalise, as the authors' program does: ΦΦᵀ may have
        negative entries, contrary to W ≥ 0 of eq. 3.5. The result is then not a minimiser.

    Returns
    -------
    (A, A) float64 or None
        None if Σ has no negative eigenvalue.
    """
    values, vectors = np.linalg.eigh(gradient)
    positive = np.maximum(-values, 0.0)
    if not positive.any():
        return None
    W = (vectors * (positive / np.linalg.norm(positive))) @ vectors.T
    W = (W + W.T) / 2
    if not clip:
        return W
    W = np.maximum(W, 0.0)
    return W / np.linalg.norm(W)


def update(gradient: Floats, rule: str, penalty: float = 0.0) -> Floats | None:
    """The minimiser of step 2 under `rule`, or None if no weights lower the cost."""
    if rule == "elementwise":
        return elementwise(gradient, penalty)
    return positive_semidefinite(gradient, clip=rule == "psd-clip")


def prune(W: Floats, threshold: float) -> Floats:
    """W with entries below `threshold` set to zero, renormalised (§3.4.3).

    If every entry is below it, the largest are kept.

    Examples
    --------
    >>> prune(np.array([[0.8, 0.1], [0.1, 0.583]]), 0.5).round(3)
    array([[0.808, 0.   ],
           [0.   , 0.589]])
    """
    kept = np.where(min(threshold, W.max()) > W, 0.0, W)
    return kept / np.linalg.norm(kept)
