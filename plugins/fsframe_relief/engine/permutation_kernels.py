"""Signed weights of pairs under permuted labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.compiled import njit

__all__ = ["pair_weights"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@njit()
def pair_weights(
    A: Floats,
    first: Places,
    second: Places,
    labels: Places,
    near: Floats,
    far: Floats,
    out: Floats,
) -> None:
    """Weights of pairs under each labelling.

    ``A[i, j]`` is the unsigned weight of j for target i, negative if j is far. ``near[t, i, c]``
    is the factor of near weights in class c for target i under labelling t, `far` that of far
    weights. ``out[t, q]`` adds both directions of pair q.
    """
    for t in range(labels.shape[0]):
        y = labels[t]
        for q in range(first.shape[0]):
            i = first[q]
            j = second[q]
            a = A[i, j]
            b = A[j, i]
            s = a * (near[t, i, y[j]] if a > 0.0 else far[t, i, y[j]])
            out[t, q] = s + b * (near[t, j, y[i]] if b > 0.0 else far[t, j, y[i]])
