"""The family of linear criteria: relevance − β·redundancy + γ·conditional redundancy."""

from __future__ import annotations

from typing import ClassVar

import attrs

from fsframe.contracts.params import param, real
from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.methods.estimator import EstimatingGreedyFilter

__all__ = ["Betagamma"]


@attrs.frozen(kw_only=True)
class Betagamma(EstimatingGreedyFilter):
    """Features by a linear combination of relevance, redundancy and conditional redundancy.

    Notes
    -----
    J(X) = I(X; Y) − β Σ_s I(X; X_s) + γ Σ_s I(X; X_s | Y) over the selected features X_s. β = γ =
    0 is `mim`, β = γ = 1 `cife`, γ = 0 `mifs`, β = 0, γ = 1 `condred`.

    References
    ----------
    G. Brown, A. Pocock, M.-J. Zhao, M. Luján 2012, Conditional likelihood maximisation, J. Mach.
    Learn. Res. 13:27–66, eq. 17 and Figure 2.
    """

    conditional: ClassVar[bool] = False

    beta: float = param(1.0, real(0), help="Weight of the redundancy.", symbol="β")
    gamma: float = param(
        1.0, real(0), help="Weight of the class-conditional redundancy.", symbol="γ"
    )

    def criterion(self) -> Criterion:
        """I(X; Y) − β Σ I(X; X_s) + γ Σ I(X; X_s | Y)."""
        beta, gamma = self.beta, self.gamma
        return Criterion(
            term=lambda t: beta * t.redundancy - gamma * t.conditional_redundancy,
            score=lambda relevance, folded, n: relevance - folded,
        )
