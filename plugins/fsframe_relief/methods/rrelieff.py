"""RReliefF: Relief for a numeric target."""

from __future__ import annotations

from typing import ClassVar

import attrs

from fsframe.params import choice, integer, param
from fsframe_relief.engine.neighbours import Nearest, Rule
from fsframe_relief.methods.parameters import decay_parameter, ties_parameter
from fsframe_relief.methods.selector import ReliefSelector

__all__ = ["Rrelieff"]


@attrs.frozen(kw_only=True)
class Rrelieff(ReliefSelector):
    """Scores N_CA / N_C - (N_A - N_CA) / (m - N_C) for a numeric target.

    Notes
    -----
    For target i the k nearest instances j, of any target value, have weights w_ij that sum to one
    (by default exp(-(rank / 20)^2), rank from 0, k = 70). With dy = |y_i - y_j| / range(y): N_C =
    sum w dy, N_A = sum w diff, N_CA = sum w dy diff.

    Departures: equal distances share rank and places; pairs with a missing value are left out of
    all four sums of that feature, weights renormalised. O(n^2 p) time.

    References
    ----------
    Robnik-Šikonja & Kononenko 1997, An adaptation of Relief for attribute estimation in
    regression, ICML. Robnik-Šikonja & Kononenko 2003, Machine Learning 53:23, Figure 3, eq. 8 and
    11-12.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> data = Dataset.from_arrays([[i, i % 3] for i in range(12)], [i / 2 for i in range(12)])
    >>> Rrelieff(k=3, weighting="equal", discrete_features=[1]).select(data, seed=0).selected
    array([0])
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"regression"})

    k: int = param(
        70,
        integer(1),
        help="Neighbours per target instance.",
        symbol="k",
        source="Robnik-Šikonja & Kononenko 2003, section 3.5",
    )
    weighting: str = param(
        "rank",
        choice("rank", "equal", "distance"),
        help="Weights of neighbours: exp(-(rank/decay)^2), equal, or 1/distance.",
        source="Robnik-Šikonja & Kononenko 2003, eq. 11-13",
    )
    decay: float = decay_parameter()
    ties: str = ties_parameter()

    def rule(self) -> Rule:
        return Nearest(k=self.k, weighting=self.weighting, decay=self.decay, ties=self.ties)
