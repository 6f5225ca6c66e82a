"""Kuncheva's index in plain arrays: reference for tests of the compiled metric."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray


def kuncheva(chosen: NDArray[Any]) -> float:
    """Mean of (r K − k²) / (k (K − k)) over the pairs of runs, r features being common to both.

    `chosen` is (n, K) of 0 and 1, with k ones in each row.
    """
    K, k = chosen.shape[1], int(chosen[0].sum())
    indices = [(int((a & b).sum()) * K - k * k) / (k * (K - k)) for a, b in combinations(chosen, 2)]
    return float(np.mean(indices))
