"""Best first; scores within 1e-10 bit are equal, and ties go to the lower column."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.ranking import TIE

__all__ = ["TIE", "first_best", "ranked"]

# The relative tolerance of all rankings, here in bits: information is a difference of entropies,
# and their rounding error does not shrink with it.


def first_best(scores: NDArray[np.float64]) -> int:
    """Lowest index whose score is within `TIE` of the largest; NaN and −inf are no candidates.

    >>> first_best(np.array([0.1, 0.5, 0.5 + 1e-12, np.nan]))
    1
    """
    return int(np.argmax(scores >= np.fmax.reduce(scores) - TIE))


def ranked(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """The indices that repeated `first_best` gives; NaN left out.

    >>> ranked(np.array([0.1, 0.5, 0.5 + 1e-12, np.nan])).tolist()
    [1, 2, 0]
    """
    order = np.argsort(-scores, kind="stable")
    order = order[~np.isnan(scores[order])]
    values = scores[order]
    gaps = values[:-1] - values[1:]
    if not np.any((gaps > 0) & (gaps <= TIE)):
        return order
    # Unequal scores within the tolerance: the lowest index of those in reach is next.
    chosen: list[int] = []
    taken = np.zeros(scores.size, dtype=bool)
    reach: list[int] = []
    entered = best = 0
    while len(chosen) < order.size:
        while taken[order[best]]:
            best += 1
        while entered < order.size and values[entered] >= values[best] - TIE:
            heapq.heappush(reach, int(order[entered]))
            entered += 1
        index = heapq.heappop(reach)
        taken[index] = True
        chosen.append(index)
    return np.array(chosen, dtype=np.intp)
