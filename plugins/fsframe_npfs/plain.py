"""NPFS as published, in plain arrays: reference for tests of `npfs:null=published`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom


def counts(chosen: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """z, how often each feature was chosen, and k_l, the number chosen from bootstrap l.

    `chosen` is (n, K) of 0 and 1: what the base chose from each of n bootstraps.
    """
    return chosen.sum(axis=0), chosen.sum(axis=1)


def neyman_pearson(chosen: NDArray[Any], alpha: float) -> NDArray[np.bool_]:
    """Mask of the relevant features: z_i > ζ, with P(Z > ζ) ≤ α for Z ~ Binomial(n, k/K)."""
    z, k = counts(chosen)
    n, K = chosen.shape
    null = binom(n, k[0] / K)
    critical = next(c for c in range(n + 1) if null.sf(c) <= alpha)
    return z > critical
