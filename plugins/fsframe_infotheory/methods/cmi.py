"""CMI: information that a candidate adds to all selected features together."""

from __future__ import annotations

import attrs

from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.methods.greedy_filter import GreedyFilter

__all__ = ["Cmi"]


@attrs.frozen(kw_only=True)
class Cmi(GreedyFilter):
    """Features by the information they add to all selected ones jointly, without approximation.

    Notes
    -----
    J(X) = I(X; Y | S) with S all selected features as one variable. Its levels multiply, so that
    after a few features every sample has a level of its own and no information is left; then scores
    are zero and the lowest columns follow. ``stop=positive`` ends there.

    References
    ----------
    G. Brown, A. Pocock, M.-J. Zhao, M. Luján 2012, Conditional likelihood maximisation, J. Mach.
    Learn. Res. 13:27–66, eq. 8.
    """

    def criterion(self) -> Criterion:
        """I(X; Y | S)."""
        return Criterion(
            term=lambda t: t.conditional_relevance,
            fold="last",
            score=lambda relevance, folded, n: folded,
            partners="all",
        )
