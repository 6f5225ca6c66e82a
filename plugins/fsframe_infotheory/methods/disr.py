"""DISR: joint relevance with each selected feature, normalised by joint entropy."""

from __future__ import annotations

import attrs

from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.methods.greedy_filter import GreedyFilter

__all__ = ["Disr"]


@attrs.frozen(kw_only=True)
class Disr(GreedyFilter):
    """Features by joint mutual information with each selected one, normalised by joint entropy
    (double input symmetrical relevance).

    Notes
    -----
    J(X) = Σ_s I(X, X_s; Y) / H(X, X_s, Y) over the selected features X_s. Beyond the first feature
    the score is a ratio, without unit; constant features get a share of the information of X_s.

    References
    ----------
    P. Meyer, G. Bontempi 2006, On the use of variable complementarity for feature selection in
    cancer classification, EvoWorkshops, LNCS 3907:91–102, eq. 18; G. Brown, A. Pocock, M.-J. Zhao,
    M. Luján 2012, Conditional likelihood maximisation, J. Mach. Learn. Res. 13:27–66, Table 3.
    """

    def criterion(self) -> Criterion:
        """Σ I(X, X_s; Y) / H(X, X_s, Y)."""
        return Criterion(
            term=lambda t: t.relative_joint_relevance, score=lambda relevance, folded, n: folded
        )

    def is_ratio(self) -> bool:
        """Scores after the first are ratios."""
        return True
