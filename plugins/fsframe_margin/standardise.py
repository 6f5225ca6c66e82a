"""Columns with mean zero and standard deviation one, learned from training rows only."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["Scaling", "learn_scaling"]

Floats = NDArray[np.float64]


@attrs.frozen(eq=False)
class Scaling:
    """Centre and scale of every column; constant columns have scale zero.

    Parameters
    ----------
    centre, scale : (A,) float64
        `apply` returns (x − centre) / scale, and zero where the scale is zero.
    """

    centre: Floats
    scale: Floats

    @property
    def varying(self) -> NDArray[np.intp]:
        """Columns that are not constant."""
        return np.flatnonzero(self.scale > 0)

    def apply(self, X: Floats) -> Floats:
        """X in the learned scale."""
        safe = np.where(self.scale > 0, self.scale, 1.0)
        return np.where(self.scale > 0, (X - self.centre) / safe, 0.0)


def learn_scaling(X: Floats, counts: Floats | None = None, standardize: bool = True) -> Scaling:
    """The scaling of `X`'s columns, a row drawn c times counting c times.

    Parameters
    ----------
    X : (n, A) float64, finite
    counts : (n,) float64, optional
        Bootstrap counts; 1 by default.
    standardize : bool
        Otherwise centre 0 and scale 1, and 0 for constant columns.

    Notes
    -----
    The variance has Σc − 1 below it, as in the papers' programs. A column whose spread is within
    rounding of its size is constant: its differences are noise of the last digit.

    Examples
    --------
    >>> learn_scaling(np.array([[1.0, 5.0], [3.0, 5.0]])).scale.round(3)
    array([1.414, 0.   ])
    """
    weight = np.ones(len(X)) if counts is None else np.asarray(counts, dtype=float)
    total = weight.sum()
    # overflow of squares: columns of the order 1e200 are brought to 1 first
    size = np.abs(X).max(axis=0)
    size[size == 0] = 1.0
    scaled = X / size
    centre = weight @ scaled / total
    spread = np.sqrt(weight @ (scaled - centre) ** 2 / max(total - 1, 1.0))
    constant = (X[0] == X).all(axis=0) | (spread <= 4 * np.finfo(float).eps)
    if standardize:
        return Scaling(centre * size, np.where(constant, 0.0, spread * size))
    return Scaling(np.zeros(X.shape[1]), np.where(constant, 0.0, 1.0))
