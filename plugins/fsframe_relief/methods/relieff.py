"""ReliefF and RReliefF: the k nearest of every class, or of all instances for a numeric target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs

from fsframe.method.cost import Cost
from fsframe.params import choice, integer, optional, param
from fsframe.table.dataset import Dataset
from fsframe_relief.engine.neighbours import Nearest, Rule
from fsframe_relief.methods.parameters import decay_parameter, ties_parameter
from fsframe_relief.methods.selector import ReliefSelector

__all__ = ["Relieff", "Rrelieff"]


@attrs.frozen(kw_only=True)
class Relieff(ReliefSelector):
    """Relief scores over the k nearest hits and misses; misses weighted by P(c) / (1 - P(class)).

    Notes
    -----
    W_a = 1/m sum_i [ sum_c P(c) / (1 - P(y_i)) mean_{j in M_c(i)} diff(a, i, j)
    - mean_{j in H(i)} diff(a, i, j) ].

    Departures from Kononenko 1994: instances at the k-th distance share the places left, so that
    the order of rows does not matter; the priors are renormalised over the classes that have a
    usable miss; if a class has fewer than k members, all of them are used, with a warning. With a
    numeric target it is RReliefF with equal weights. O(n^2 p) time, 8 n^2 bytes or, beyond the
    memory bound, blocks of rows.

    References
    ----------
    Kononenko 1994, Estimating attributes: analysis and extensions of RELIEF, ECML.
    Robnik-Šikonja & Kononenko 2003, Machine Learning 53:23, Figure 2 and section 2.7 (weighting).

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> data = Dataset.from_arrays([[0, 0], [1, 1], [0, 1], [1, 0]] * 6, [0, 0, 1, 1] * 6)
    >>> Relieff(k=5, discrete_features="all").select(data).scores.round(6).tolist()
    [0.5, 0.5]
    """

    k: int | None = param(
        None,
        optional(integer(1)),
        help="Neighbours per class; by default 10, with weighting by rank or distance 70.",
        symbol="k",
        source="Robnik-Šikonja & Kononenko 2003, section 3.5",
    )
    weighting: str = param(
        "equal",
        choice("equal", "rank", "distance"),
        help="Weights of neighbours: equal, exp(-(rank/decay)^2), or 1/distance.",
        source="Robnik-Šikonja & Kononenko 2003, eq. 11-13",
    )
    decay: float = decay_parameter()
    ties: str = ties_parameter()

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        if self.decay != 20.0 and self.weighting != "rank":
            yield f"decay={self.decay:g} has an effect with weighting=rank only"

    def cost(self, n: int, p: int) -> Cost:
        m = n if self.m is None else min(n, self.m)
        return Cost(
            seconds=1e-3 + 5e-11 * m * n * p,
            formula="0.001 + 5e-11 n²p" if m == n else f"0.001 + 5e-11 np × {m}",
        )

    @classmethod
    def proposal(cls, data: Dataset, gaps: bool) -> str:
        return "relieff" if data.n_features <= 200 else ""

    def rule(self) -> Rule:
        k = self.k if self.k is not None else (10 if self.weighting == "equal" else 70)
        return Nearest(k=k, weighting=self.weighting, decay=self.decay, ties=self.ties)


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
