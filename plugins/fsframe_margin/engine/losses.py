"""Losses of a row's margin, and their slopes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

if TYPE_CHECKING:
    # Loads the compiler, which a screen about im4e does without.
    from fsframe_margin.engine.margins import PairSpace, Point

Floats = NDArray[np.float64]

LOSSES = ("linear", "logistic", "hinge", "sigmoid")


def loss(name: str, margin: Floats) -> tuple[Floats, Floats]:
    """The loss ℓ(m) of each margin, and −ℓ′(m), with which a row pulls on the weights.

    Parameters
    ----------
    name : {"linear", "logistic", "hinge", "sigmoid"}
        ℓ(m) = −m, log(1 + e^{−m}), max(0, 1 − m), or 1/(1 + e^m).
    margin : (n,) float64

    Returns
    -------
    tuple of two (n,) float64
        The second is never negative. Of hinge it is 1 below m = 1, and 0 from there on.

    Examples
    --------
    >>> [value.tolist() for value in loss("hinge", np.array([-1.0, 0.5, 2.0]))]
    [[2.0, 0.5, 0.0], [1.0, 1.0, 0.0]]
    """
    if name == "linear":
        return -margin, np.ones_like(margin)
    if name == "logistic":
        return np.logaddexp(0.0, -margin), expit(-margin)
    if name == "hinge":
        return np.maximum(1.0 - margin, 0.0), (margin < 1.0).astype(float)
    value = expit(-margin)
    return value, value * (1.0 - value)


def soft_margins(space: PairSpace, point: Point, sigma: float) -> Floats:
    """The margin of each row with σ times its entropies, rows sorted by class; 0 without a hit.

    Parameters
    ----------
    space : PairSpace
    point : Point
        Of `space`, at the same σ.
    sigma : float > 0

    Returns
    -------
    (n,) float64
        Σ_m β q − Σ_h α q − σ (E_miss − E_hit), the negated contribution of a row to eq. 3 after
        step (a), with each entropy relative to its largest value, log of the number of hits or of
        misses: otherwise the rows of a large class would have larger margins at any w.
    """
    sums = np.concatenate([[0.0], np.cumsum(space.count)])
    of_class = sums[space.end] - sums[space.begin]
    # A row alone in its class has no hits, and no weight in the sum over rows.
    hits = np.where(space.alone, 1.0, of_class - space.count)
    misses = np.maximum(sums[-1] - of_class, np.finfo(float).tiny)
    log_hits = np.where(space.alone, 0.0, point.log_hits)
    margins = sigma * (log_hits - np.log(hits) - point.log_misses + np.log(misses))
    return np.where(space.alone, 0.0, margins)
