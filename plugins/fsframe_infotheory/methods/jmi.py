"""JMI: joint relevance with each selected feature; pair weights on request."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import choice, param
from fsframe.contracts.run import Run
from fsframe.contracts.selection import PairWeights
from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.engine.encode import Encoded
from fsframe_infotheory.engine.greedy import Ranking
from fsframe_infotheory.engine.pair_information import PairParameters
from fsframe_infotheory.engine.part_counts import EncodedParts
from fsframe_infotheory.methods.estimator import EstimatingGreedyFilter

__all__ = ["Jmi"]


@attrs.frozen(kw_only=True)
class Jmi(PairParameters, EstimatingGreedyFilter):
    """Features by joint mutual information with each selected one and the class, summed.

    Notes
    -----
    Sum: J(X) = Σ_s I(X, X_s; Y) over the selected features X_s; mean: I(X; Y) − (1/|S|) Σ_s
    [I(X; X_s) − I(X; X_s | Y)], which is (sum − Σ_s I(X_s; Y)) / |S| and so gives the same order.

    References
    ----------
    H. Yang, J. Moody 1999, Data visualization and feature selection: new algorithms for
    nongaussian data, NIPS 12:687–693, section 3.2; G. Brown, A. Pocock, M.-J. Zhao, M. Luján 2012,
    Conditional likelihood maximisation, J. Mach. Learn. Res. 13:27–66, eq. 14 and 20.

    Examples
    --------
    >>> from fsframe.contracts.dataset import Dataset
    >>> X = [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0]]
    >>> Jmi(top=2).select(Dataset.from_arrays(X, [0, 0, 1, 1, 1, 0])).selected
    array([0, 1])
    """

    form: str = param(
        "sum",
        choice("sum", "mean"),
        help="Sum of joint relevances, or Brown's mean, which ranks identically.",
        source="Brown et al. 2012, eq. 20",
    )

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        if self.estimator == "knn" and self.pairs != "none":
            yield "pairs are counted, so they need estimator=plug-in"

    @classmethod
    def proposal(cls, data: Dataset, gaps: bool) -> str:
        # In memory a test of all features, with a screen before it, comes first.
        return ("jmi:top=100" + ",missing=level" * gaps) if data.in_parts else ""

    def criterion(self) -> Criterion:
        """Σ I(X, X_s; Y), or I(X; Y) minus the mean of I(X; X_s) − I(X; X_s | Y)."""
        if self.form == "sum":
            return Criterion(
                term=lambda t: t.joint_relevance, score=lambda relevance, folded, n: folded
            )
        return Criterion(
            term=lambda t: t.redundancy - t.conditional_redundancy,
            score=lambda relevance, folded, n: relevance - folded / n,
        )

    def pair_weights(
        self, encoded: Encoded | EncodedParts, ranking: Ranking, given: NDArray[np.intp], run: Run
    ) -> PairWeights | None:
        """Pair weights, if asked for."""
        selected = np.concatenate([given, ranking.selected])
        return self.weigh_pairs(encoded, selected, run, np.log(2) if self.unit == "nats" else 1.0)
