"""ICAP: relevance − redundancy that the class does not compensate for."""

from __future__ import annotations

import attrs
import numpy as np

from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.methods.estimator import EstimatingGreedyFilter

__all__ = ["Icap"]


@attrs.frozen(kw_only=True)
class Icap(EstimatingGreedyFilter):
    """Features whose redundancy with selected ones is penalised and whose synergy is not rewarded
    (interaction capping).

    Notes
    -----
    J(X) = I(X; Y) − Σ_s max(0, I(X; X_s) − I(X; X_s | Y)) over the selected features X_s.

    References
    ----------
    A. Jakulin 2005, Machine learning based on attribute interactions, PhD thesis, University of
    Ljubljana, section 6.3; G. Brown, A. Pocock, M.-J. Zhao, M. Luján 2012, Conditional likelihood
    maximisation, J. Mach. Learn. Res. 13:27–66, eq. 18.
    """

    def criterion(self) -> Criterion:
        """I(X; Y) − Σ max(0, I(X; X_s) − I(X; X_s | Y))."""
        return Criterion(
            term=lambda t: np.maximum(0.0, t.redundancy - t.conditional_redundancy),
            score=lambda relevance, folded, n: relevance - folded,
        )
