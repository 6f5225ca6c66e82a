"""MIFS: relevance − β · redundancy with each selected feature."""

from __future__ import annotations

import attrs

from fsframe.contracts.params import param, real
from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.methods.estimator import EstimatingGreedyFilter

__all__ = ["Mifs"]


@attrs.frozen(kw_only=True)
class Mifs(EstimatingGreedyFilter):
    """Features by relevance − β · summed redundancy (Battiti's MIFS).

    Notes
    -----
    J(X) = I(X; Y) − β Σ_s I(X; X_s), over the selected features X_s. The penalty grows with their
    number and dominates late choices; `mrmr` takes the mean instead.

    References
    ----------
    R. Battiti 1994, Using mutual information for selecting features in supervised neural net
    learning, IEEE Trans. Neural Netw. 5(4):537–550, eq. 8; G. Brown, A. Pocock, M.-J. Zhao, M.
    Luján 2012, Conditional likelihood maximisation, J. Mach. Learn. Res. 13:27–66, eq. 13.
    """

    beta: float = param(
        1.0, real(0), help="Weight of the redundancy.", symbol="β", source="Battiti 1994"
    )

    def criterion(self) -> Criterion:
        """I(X; Y) − β Σ I(X; X_s)."""
        beta = self.beta
        return Criterion(
            term=lambda t: t.redundancy,
            score=lambda relevance, folded, n: relevance - beta * folded,
            per_class=False,
        )
