"""Informations of a feature with a partner and the class, from sums of c·log₂c."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["Terms"]

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
