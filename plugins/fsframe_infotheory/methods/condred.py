"""CondRed: relevance + class-conditional redundancy with the selected features."""

from __future__ import annotations

from typing import ClassVar

import attrs

from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.methods.estimator import EstimatingGreedyFilter

__all__ = ["Condred"]


@attrs.frozen(kw_only=True)
class Condred(EstimatingGreedyFilter):
    """Features by relevance + class-conditional redundancy.

    Notes
    -----
    J(X) = I(X; Y) + Σ_s I(X; X_s | Y) over the selected features X_s: β = 0, γ = 1 in `betagamma`.

    References
    ----------
    G. Brown, A. Pocock, M.-J. Zhao, M. Luján 2012, Conditional likelihood maximisation, J. Mach.
    Learn. Res. 13:27–66, section 4.2 and Figure 2.
    """

    conditional: ClassVar[bool] = False

    def criterion(self) -> Criterion:
        """I(X; Y) + Σ I(X; X_s | Y)."""
        return Criterion(
            term=lambda t: t.conditional_redundancy,
            score=lambda relevance, folded, n: relevance + folded,
        )
