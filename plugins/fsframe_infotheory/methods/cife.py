"""CIFE: relevance − redundancy + class-conditional redundancy, unweighted."""

from __future__ import annotations

import attrs

from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.methods.estimator import EstimatingGreedyFilter

__all__ = ["Cife"]


@attrs.frozen(kw_only=True)
class Cife(EstimatingGreedyFilter):
    """Features by relevance − redundancy + class-conditional redundancy (conditional infomax
    feature extraction).

    Notes
    -----
    J(X) = I(X; Y) − Σ_s [I(X; X_s) − I(X; X_s | Y)] over the selected features X_s.

    References
    ----------
    D. Lin, X. Tang 2006, Conditional infomax learning, ECCV, LNCS 3951:68–82, eq. 19; G. Brown, A.
    Pocock, M.-J. Zhao, M. Luján 2012, Conditional likelihood maximisation, J. Mach. Learn. Res.
    13:27–66, eq. 15.
    """

    def criterion(self) -> Criterion:
        """I(X; Y) − Σ [I(X; X_s) − I(X; X_s | Y)]."""
        return Criterion(
            term=lambda t: t.redundancy - t.conditional_redundancy,
            score=lambda relevance, folded, n: relevance - folded,
        )
