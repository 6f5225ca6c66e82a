"""The methods that differ in one rule: which instances are neighbours, and their weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs

from fsframe.params import choice, integer, optional, param
from fsframe_relief.engine.neighbours import Nearest, Radius, Rule, Sigmoid
from fsframe_relief.methods.problem import decay_parameter, ties_parameter
from fsframe_relief.methods.selector import ReliefSelector


@attrs.frozen(kw_only=True)
class Relief(ReliefSelector):
    """Relief scores over the nearest hit and the nearest miss of each target.

    Notes
    -----
    Every target adds (diff miss - diff hit) / m to the score W.

    Kira & Rendell 1992, Figure 1, with these departures: all instances are targets unless `m` is
    given (the paper draws m); diff is not squared, as in all later members of the family;
    instances equally near share their place; with more than two classes the miss is the nearest
    instance of any other class. O(n^2 p) time.

    References
    ----------
    Kira & Rendell 1992, A practical approach to feature selection, ICML, Figure 1.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> data = Dataset.from_arrays([[0, 5], [1, 5], [8, 4], [9, 6]], ["a", "a", "b", "b"])
    >>> Relief(discrete_features="none").select(data).scores.round(3).tolist()
    [0.722, 0.0]
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})

    ties: str = param(
        "share",
        choice("share", "index"),
        help="Instances tied for the nearest share the place, or the first row takes it.",
    )

    def rule(self) -> Rule:
        return Nearest(k=1, ties=self.ties, pooled=True)


@attrs.frozen(kw_only=True)
class RelievedF(ReliefSelector):
    """Relief scores over all nearest hits and all nearest misses of each other class.

    Notes
    -----
    All instances are targets. For every target the hits at the smallest hit distance are averaged,
    and so are the misses of each class at that class's smallest distance; misses are weighted by
    P(c) / (1 - P(y_i)). The result is the limit of Relief's score for many targets drawn and ties
    broken at random.

    Departure from John, Kohavi & Pfleger 1994: `m` may draw targets, for tables with too many rows;
    with missing=probability missing values follow P(value | class), as in the paper, and by default
    they are left out as in the rest of the family. O(n^2 p) time.

    References
    ----------
    John, Kohavi & Pfleger 1994, Irrelevant features and the subset selection problem, ICML,
    section 4. Kohavi & John 1997, Artificial Intelligence 97:273, section 3.2.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> data = Dataset.from_arrays([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> RelievedF(discrete_features="all").select(data).scores.tolist()
    [-0.5, -0.5]
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})

    def rule(self) -> Rule:
        return Nearest(k=1)


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

    pace: ClassVar[float] = 5e-11

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


@attrs.frozen(kw_only=True)
class Surf(ReliefSelector):
    """Relief scores over all hits and misses nearer than T, the mean distance over all pairs.

    Notes
    -----
    H_i and M_i are the instances with d_ij < T, T = 2 / (N (N - 1)) sum_{i<j} d_ij, strictly; a
    distance within a fraction 1e-12 of T counts as equal to it. No parameter to choose; the
    neighbourhood does not depend on the labels, so label permutations are one matrix product.

    Departures from Greene et al. 2009: misses of more than two classes are weighted by P(c) / (1 -
    P(y_i)); with a numeric target the same neighbourhood enters the RReliefF sums. O(n^2 p) time.

    References
    ----------
    Greene, Penrod, Kiralis & Moore 2009, BioData Mining 2:5.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Surf(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    def rule(self) -> Rule:
        return Radius()


@attrs.frozen(kw_only=True)
class Surfstar(ReliefSelector):
    """Relief scores over instances nearer than T, minus those over instances farther than T.

    Notes
    -----
    T is the mean distance over all pairs; W = S(d_ij < T) - S(d_ij > T), S being the mean miss diff
    minus the mean hit diff. Distant instances sharpen pure interactions and cancel main effects: a
    feature with a main effect loses as much at a distance as it gains nearby.

    Departure from Greene et al. 2010: misses of more than two classes are weighted by
    P(c) / (1 - P(y_i)). With a numeric target, hits are the instances whose value differs by less
    than its standard deviation (divisor N - 1), as in the authors' program ReBATE. O(n^2 p) time.

    References
    ----------
    Greene, Himmelstein, Kiralis & Moore 2010, EvoBIO, LNCS 6023:182.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Surfstar(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    splits_values: ClassVar[bool] = True

    def rule(self) -> Rule:
        return Radius(star=True)


@attrs.frozen(kw_only=True)
class Multisurf(ReliefSelector):
    """Relief scores over all hits and misses within a radius adapted to each target.

    Notes
    -----
    Neighbours have d_ij < mean_i - sd_i / 2, strictly, within a tie band of 1e-12. The mean and the
    standard deviation (divisor N - 1 instances, the target itself left out) are taken over the
    distances from target i.

    Departures from Urbanowicz et al. 2018: misses of more than two classes are weighted by
    P(c) / (1 - P(y_i)); with a numeric target the same neighbourhood enters the RReliefF sums.
    O(n^2 p) time.

    References
    ----------
    Urbanowicz, Olson, Schmitt, Meeker & Moore 2018, J. Biomedical Informatics 85:168, section 2.4.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Multisurf(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    def rule(self) -> Rule:
        return Radius(own=True)


@attrs.frozen(kw_only=True)
class Multisurfstar(ReliefSelector):
    """Relief scores over near instances minus those over far ones, by thresholds of each target.

    Notes
    -----
    Instances nearer than mean_i - sd_i / 2 are near, those beyond mean_i + sd_i / 2 are far, and
    those between are ignored. S(far) is subtracted as it is; the paper scores far instances by
    1 - diff, which is the same unless a target has no far hit or no far miss.

    Departure from Granizo-Mackenzie & Moore 2013: misses of more than two classes are weighted by
    P(c) / (1 - P(y_i)). With a numeric target, hits are the instances whose value differs by less
    than its standard deviation (divisor N - 1), as in the authors' program ReBATE. O(n^2 p) time.

    References
    ----------
    Granizo-Mackenzie & Moore 2013, EvoBIO, LNCS 7833:1.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Multisurfstar(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    splits_values: ClassVar[bool] = True

    def rule(self) -> Rule:
        return Radius(own=True, star=True)


@attrs.frozen(kw_only=True)
class Swrfstar(ReliefSelector):
    """Relief scores over all instances by a sigmoid of distance; distant ones are subtracted.

    Notes
    -----
    The weight of j for target i is s_ij = 2 / (1 + exp(-(t_i - d_ij) / u_i)) - 1, t_i the mean and
    4 u_i the standard deviation of the distances from i. Instances with s > 0 are near, those with
    s < 0 far; W = S(near, s) - S(far, |s|), S being weighted means with divisor sum |s|.

    Departures from Stokes & Visweswaran 2012: t and u are those of the target, for hits and misses,
    and means are divided by the sum of weights. Numeric targets as in `surfstar`. O(n^2 p) time,
    and an exponential per pair.

    References
    ----------
    Stokes & Visweswaran 2012, BioData Mining 5:20.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Swrfstar(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    splits_values: ClassVar[bool] = True

    def rule(self) -> Rule:
        return Sigmoid()
