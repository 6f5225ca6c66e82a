"""mRMR: relevance − mean redundancy with the selected features."""

from __future__ import annotations

import attrs
import numpy as np

from fsframe.contracts.params import choice, param
from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.methods.estimator import EstimatingGreedyFilter

__all__ = ["Mrmr"]


@attrs.frozen(kw_only=True)
class Mrmr(EstimatingGreedyFilter):
    """Features by relevance − mean redundancy (minimum redundancy, maximum relevance).

    Notes
    -----
    Difference: J(X) = I(X; Y) − (1/|S|) Σ_s I(X; X_s); quotient: I(X; Y) / ((1/|S|) Σ_s I(X;
    X_s)), over the selected features X_s. A feature without any redundancy has, as a quotient, its
    relevance over 1e-12 bit.

    References
    ----------
    H. Peng, F. Long, C. Ding 2005, Feature selection based on mutual information, IEEE Trans.
    Pattern Anal. Mach. Intell. 27(8):1226–1238, eq. 6–7; C. Ding, H. Peng 2005, Minimum redundancy
    feature selection from microarray gene expression data, J. Bioinform. Comput. Biol.
    3(2):185–205, MID and MIQ.
    """

    form: str = param(
        "difference",
        choice("difference", "quotient"),
        help="Relevance minus mean redundancy, or divided by it.",
        source="Ding, Peng 2005, MID and MIQ",
    )

    def criterion(self) -> Criterion:
        """I(X; Y) − mean I(X; X_s), or the quotient of the two."""
        if self.form == "difference":
            return Criterion(
                term=lambda t: t.redundancy,
                score=lambda relevance, folded, n: relevance - folded / n,
                per_class=False,
            )
        return Criterion(
            term=lambda t: t.redundancy,
            # No redundancy at all, but for rounding: the quotient has no bound.
            score=lambda relevance, folded, n: relevance / np.maximum(folded / n, 1e-12),
            per_class=False,
        )

    def is_ratio(self) -> bool:
        """Whether scores after the first are quotients."""
        return self.form == "quotient"
