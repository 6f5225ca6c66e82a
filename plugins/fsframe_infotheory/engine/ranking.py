"""Best first; scores within 1e-10 bit are equal, and ties go to the lower column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.ranking import TIE

__all__ = ["TIE", "first_best"]

# The relative tolerance of all rankings, here in bits: information is a difference of entropies,
# and their rounding error does not shrink with it.


def first_best(scores: NDArray[np.float64]) -> int:
    """Lowest index whose score is within `TIE` of the largest; NaN and −inf are no candidates.

    >>> first_best(np.array([0.1, 0.5, 0.5 + 1e-12, np.nan]))
    1
    """
    return int(np.argmax(scores >= np.fmax.reduce(scores) - TIE))
