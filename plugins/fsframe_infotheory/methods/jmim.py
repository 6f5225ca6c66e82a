"""JMIM: smallest joint mutual information with any one selected feature."""

from __future__ import annotations

import attrs

from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.methods.estimator import EstimatingGreedyFilter

__all__ = ["Jmim"]


@attrs.frozen(kw_only=True)
class Jmim(EstimatingGreedyFilter):
    """Features by the smallest joint mutual information with any selected one (joint mutual
    information maximisation).

    Notes
    -----
    J(X) = min_s I(X, X_s; Y) over the selected features X_s.

    References
    ----------
    M. Bennasar, Y. Hicks, R. Setchi 2015, Feature selection using joint mutual information
    maximisation, Expert Syst. Appl. 42(22):8520–8532, eq. 14.
    """

    def criterion(self) -> Criterion:
        """min I(X, X_s; Y)."""
        return Criterion(
            term=lambda t: t.joint_relevance,
            fold="least",
            score=lambda relevance, folded, n: folded,
        )
