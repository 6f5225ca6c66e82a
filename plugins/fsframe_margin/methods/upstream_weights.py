"""Upstream weights as a matrix or a vector, to start from or to measure distances with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.method.selection import PairWeights, Selection

__all__ = ["feature_weights", "pair_matrix", "upstream_matrix", "upstream_pairs"]

Floats = NDArray[np.float64]


def pair_matrix(pairs: PairWeights, size: int) -> Floats:
    """Pair weights as a (size, size) matrix, zero for unknown pairs.

    >>> pair_matrix(PairWeights.from_triplets([2, 0], [0], [1], [0.5], [0.1, 0.2]), 3)
    array([[0.2, 0. , 0.5],
           [0. , 0. , 0. ],
           [0.5, 0. , 0.1]])
    """
    W = np.zeros((size, size))
    i, j, weight = pairs.triplets()
    columns = pairs.columns
    W[columns[i], columns[j]] = W[columns[j], columns[i]] = weight
    main = pairs.main_effects()
    if main is not None:
        W[columns, columns] = main
    return W


def feature_weights(upstream: Selection | None, columns: NDArray[np.intp]) -> Floats:
    """The upstream weights of `columns`; ones if there are none, or all are zero."""
    if upstream is not None and upstream.weights is not None:
        arrived = upstream.weights[columns]
        if arrived.any():
            return arrived
    return np.ones(columns.size)


def upstream_pairs(upstream: Selection | None) -> PairWeights | None:
    """The upstream pair weights, or None if feature weights are newer (`Selection.carried`)."""
    if upstream is None or upstream.pair_weights is None:
        return None
    older = "pair_weights" in upstream.carried and "weights" not in upstream.carried
    return None if older and upstream.weights is not None else upstream.pair_weights


def upstream_matrix(upstream: Selection, columns: NDArray[np.intp], size: int) -> Floats | None:
    """W over `columns` from the upstream weights, norm one: pair weights, else diag(w), else None.

    Negative pair weights (of `lfe` or a psd update) are set to zero: eq. 3.5 needs W ≥ 0.
    """
    pairs = upstream_pairs(upstream)
    if pairs is not None:
        W = pair_matrix(pairs, size)[np.ix_(columns, columns)]
    elif upstream.weights is not None:
        W = np.diag(upstream.weights[columns])
    else:
        return None
    W = np.maximum(W, 0.0)
    norm = np.linalg.norm(W)
    return W / norm if norm > 0 else None
