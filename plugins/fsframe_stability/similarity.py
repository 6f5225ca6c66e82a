"""Similarity of features: a checked, thresholded matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fsframe.errors import DataError

__all__ = ["alike"]


def alike(similarity: NDArray[np.float64], threshold: float) -> Any:
    """The similarities of different features that reach a threshold.

    Parameters
    ----------
    similarity : (p, p) float64
        Symmetric, in [0, 1], ones on the diagonal.
    threshold : float
        Entries below it count as 0.

    Returns
    -------
    (p, p) scipy.sparse.csr_array of float64
        Entries ≥ threshold and above 0, without the diagonal.

    Raises
    ------
    DataError
        If an entry is outside [0, 1] or the diagonal is not 1.

    Notes
    -----
    Sparse, because few features are similar; its products run on one thread, so that results do not
    depend on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> alike(np.array([[1.0, 0.9], [0.9, 1.0]]), 0.85).nnz
    2
    """
    outside = ~((similarity >= 0.0) & (similarity <= 1.0))
    if outside.any():
        i, j = np.argwhere(outside)[0]
        raise DataError(
            f"similarities must lie in [0, 1], features {i} and {j} have {similarity[i, j]:g}; "
            "use the absolute value of a correlation"
        )
    diagonal = similarity.diagonal()
    if not np.allclose(diagonal, 1.0):
        i = int(np.argmax(np.abs(diagonal - 1.0)))
        raise DataError(
            f"a feature must have similarity 1 with itself, feature {i} has {diagonal[i]:g}"
        )
    keep = (similarity >= threshold) & (similarity > 0.0)
    np.fill_diagonal(keep, False)
    rows, columns = np.nonzero(keep)
    values = similarity[rows, columns]
    return sparse.csr_array((values, (rows, columns)), shape=similarity.shape)
