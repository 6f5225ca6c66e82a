"""NJMIM: as JMIM, normalised by joint entropy."""

from __future__ import annotations

import attrs

from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.methods.greedy_filter import GreedyFilter

__all__ = ["Njmim"]


@attrs.frozen(kw_only=True)
class Njmim(GreedyFilter):
    """Features by the smallest joint mutual information with any selected one, over joint entropy.

    Notes
    -----
    J(X) = min_s I(X, X_s; Y) / H(X, X_s, Y) over the selected features X_s. Beyond the first
    feature the score is a ratio, without unit.

    References
    ----------
    M. Bennasar, Y. Hicks, R. Setchi 2015, Feature selection using joint mutual information
    maximisation, Expert Syst. Appl. 42(22):8520–8532, eq. 17.
    """

    def criterion(self) -> Criterion:
        """min I(X, X_s; Y) / H(X, X_s, Y)."""
        return Criterion(
            term=lambda t: t.relative_joint_relevance,
            fold="least",
            score=lambda relevance, folded, n: folded,
        )

    def is_ratio(self) -> bool:
        """Scores after the first are ratios."""
        return True
