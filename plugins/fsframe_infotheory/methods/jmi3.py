"""JMI3: joint relevance with every pair of selected features."""

from __future__ import annotations

import attrs

from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.methods.greedy_filter import GreedyFilter

__all__ = ["Jmi3"]


@attrs.frozen(kw_only=True)
class Jmi3(GreedyFilter):
    """Features by joint mutual information with each pair of selected ones, summed.

    Notes
    -----
    J(X) = Σ_{u<w} I(X, X_u, X_w; Y) over unordered pairs of selected features; the second feature
    is selected by I(X, X_s; Y) as in `jmi`, since there is no pair yet. O(k² p n).

    References
    ----------
    M. Sechidis, L. Azzimonti, A. Pocock, G. Corani, J. Weatherall, G. Brown 2019, Efficient
    feature selection using shrinkage estimators, Mach. Learn. 108:1261–1286, JMI-3.
    """

    def criterion(self) -> Criterion:
        """Σ I(X, X_u, X_w; Y)."""
        return Criterion(
            term=lambda t: t.joint_relevance,
            score=lambda relevance, folded, n: folded,
            partners="pairs",
        )
