"""Sums of c·log₂c over whole counts, and informations from them."""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Terms",
    "clogc",
    "clogc_table",
    "sum_clogc",
]


@lru_cache(maxsize=2)
def clogc_table(n: int) -> NDArray[np.float64]:
    """c·log₂c for c = 0 … n, with 0·log₂0 = 0.

    Notes
    -----
    H = log₂N − (1/N) Σ c·log₂c, so that an entropy takes one look-up per cell. 8 (n + 1) bytes.

    >>> clogc_table(4).tolist()[:3]
    [0.0, 0.0, 2.0]
    """
    table = clogc(np.arange(n + 1))
    table.setflags(write=False)
    return table


def clogc(counts: ArrayLike) -> NDArray[np.float64]:
    """c·log₂c of each count, 0 for 0; counts need not be whole.

    >>> clogc([0, 1, 8]).tolist()
    [0.0, 0.0, 24.0]
    """
    c = np.asarray(counts, dtype=np.float64)
    return c * np.log2(c, out=np.zeros_like(c), where=c > 0)


def sum_clogc(counts: ArrayLike) -> float:
    """Σ c·log₂c, rounded once, so that it does not depend on the order of the counts."""
    return math.fsum(clogc(counts).ravel())


Sums = NDArray[np.float64] | float


@attrs.frozen(kw_only=True, eq=False)
class Terms:
    """Σ c·log₂c of features X_j with one partner X_s and the class Y, and informations from them.

    Parameters
    ----------
    total : float or (n_features,)
        Weight n of the samples counted.
    j, jy, js, jsy : (n_features,) float64
        Sums over the levels of X_j, and over those of X_j with Y, X_s, or both.
    s, sy, y : float or (n_features,)
        Sums over the levels of X_s, of X_s with Y, and of Y.

    Notes
    -----
    H = log₂n − Σ/n, so that log₂n cancels wherever as many entropies are added as subtracted.
    All properties are (n_features,) in bits.
    """

    total: Sums
    j: Sums
    jy: Sums
    s: Sums
    sy: Sums
    y: Sums
    js: NDArray[np.float64]
    jsy: NDArray[np.float64]

    @property
    def redundancy(self) -> NDArray[np.float64]:
        """I(X_j; X_s)."""
        return np.log2(self.total) + (self.js - self.j - self.s) / self.total

    @property
    def conditional_redundancy(self) -> NDArray[np.float64]:
        """I(X_j; X_s | Y)."""
        return (self.jsy - self.jy - self.sy + self.y) / self.total

    @property
    def joint_relevance(self) -> NDArray[np.float64]:
        """I(X_j, X_s; Y)."""
        return np.log2(self.total) + (self.jsy - self.js - self.y) / self.total

    @property
    def conditional_relevance(self) -> NDArray[np.float64]:
        """I(X_j; Y | X_s)."""
        return (self.jsy - self.js - self.sy + self.s) / self.total

    @property
    def joint_entropy(self) -> NDArray[np.float64]:
        """H(X_j, X_s, Y)."""
        return np.log2(self.total) - self.jsy / self.total

    @property
    def relative_joint_relevance(self) -> NDArray[np.float64]:
        """I(X_j, X_s; Y) / H(X_j, X_s, Y), zero where all three are constant."""
        entropy = self.joint_entropy
        live = entropy > 1e-12
        return np.divide(self.joint_relevance, entropy, out=np.zeros_like(entropy), where=live)
