"""CMIM: smallest information that a candidate adds to any one selected feature."""

from __future__ import annotations

import attrs
import numpy as np

from fsframe.contracts.params import flag, param
from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.methods.estimator import EstimatingGreedyFilter

__all__ = ["Cmim"]


@attrs.frozen(kw_only=True)
class Cmim(EstimatingGreedyFilter):
    """Features by the smallest information they add to any selected one (conditional mutual
    information maximisation).

    Notes
    -----
    J(X) = min(I(X; Y), min_s I(X; Y | X_s)) over the selected features X_s. Fleuret's algorithm
    starts each candidate's score at I(X; Y), hence the outer minimum; the text of Brown et al. has
    none (``clamp=false``), and then a feature that is informative only together with another can
    come early. The clamped score can only fall, so a candidate that has fallen below the best is
    not counted with the other selected features (lazy evaluation); the result is the same.

    References
    ----------
    F. Fleuret 2004, Fast binary feature selection with conditional mutual information, J. Mach.
    Learn. Res. 5:1531–1555, eq. 5 and the algorithm of section 5; G. Brown, A. Pocock, M.-J. Zhao,
    M. Luján 2012, Conditional likelihood maximisation, J. Mach. Learn. Res. 13:27–66, eq. 16.
    """

    clamp: bool = param(
        True,
        flag(),
        help="Cap the score at I(X; Y), as in the published algorithm.",
        source="Fleuret 2004, section 5",
    )

    def criterion(self) -> Criterion:
        """min I(X; Y | X_s), at most I(X; Y) where clamped."""
        if not self.clamp:
            return Criterion(
                term=lambda t: t.conditional_relevance,
                fold="least",
                score=lambda relevance, folded, n: folded,
            )
        return Criterion(
            term=lambda t: t.conditional_relevance,
            fold="least",
            score=lambda relevance, folded, n: np.minimum(relevance, folded),
            lazy=True,
        )
