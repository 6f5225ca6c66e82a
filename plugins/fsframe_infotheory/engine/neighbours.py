"""Mutual information of continuous variables from distances to nearest neighbours, and its terms.

Unlike plug-in values, the estimates are nearly unbiased, so that they are negative as often as
positive if there is no information, with a standard deviation of about 1/√n nats.
"""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.kernels import in_threads
from fsframe.kernels.compiled import njit
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.entropy import clogc


@njit()
def _count_within(values, x, distance, strictly):
    """Number of the ascending `values` within `distance` of x.

    Compares the same difference from which the distance was computed, so that rounding loses no
    neighbour exactly at the distance.
    """
    low, high = 0, values.size
    while low < high:
        middle = (low + high) // 2
        gap = x - values[middle]
        if gap < distance or (gap == distance and not strictly):
            high = middle
        else:
            low = middle + 1
    first = low
    high = values.size
    while low < high:
        middle = (low + high) // 2
        gap = values[middle] - x
        if gap < distance or (gap == distance and not strictly):
            low = middle + 1
        else:
            high = middle
    return low - first


@njit()
def _ross(ascending, by_class, starts, n_neighbours, weights, psi):
    """Weighted mean of ψ(N) + ψ(k) − ψ(N_y) − ψ(m), and the sum of its weights.

    `by_class` holds the values of each class, ascending within it, `weights` likewise; psi[i] is
    ψ(i).
    """
    n = ascending.size
    total = 0.0
    weight = 0.0
    for c in range(starts.size - 1):
        first, last = starts[c], starts[c + 1]
        size = last - first
        # A class of one has no neighbour and is left out, as in Ross.
        if size < 2:
            continue
        k = min(n_neighbours, size - 1)
        members = by_class[first:last]
        for i in range(size):
            x = members[i]
            distance = np.inf
            for shift in range(k + 1):
                left, right = i - shift, i - shift + k
                if left >= 0 and right < size:
                    distance = min(distance, max(x - members[left], members[right] - x))
            near = _count_within(members, x, distance, False) - 1
            m = _count_within(ascending, x, distance, False) - 1
            total += weights[first + i] * (psi[n] + psi[near] - psi[size] - psi[m])
            weight += weights[first + i]
    return total, weight


def discrete_continuous_information(
    x: NDArray[np.float64],
    y: NDArray[np.int64],
    n_neighbours: int = 3,
    weights: NDArray[np.float64] | None = None,
) -> float:
    """I(X; Y) in bits of a continuous X and a discrete Y; may be negative.

    Parameters
    ----------
    x : (n,) float64, finite
    y : (n,) int64
        Classes 0, 1, …
    n_neighbours : int
        k, at least 1.
    weights : (n,) float64, optional
        Weight of each sample in the mean; neighbours are counted once each.

    Returns
    -------
    float
        Exactly 0 for a constant x or y.

    Notes
    -----
    I = ψ(N) − ⟨ψ(N_y)⟩ + ⟨ψ(k)⟩ − ⟨ψ(m)⟩, m the number of samples of any class within the distance
    of the k-th neighbour of the same class. Where values are tied, k is the number of neighbours
    of the same class within that distance (Gao et al. 2017), so that no noise needs to be added. In
    one dimension neighbours are found in sorted order: O(n log n).

    References
    ----------
    B. Ross 2014, Mutual information between discrete and continuous data sets, PLoS ONE 9:e87357,
    eq. 2; W. Gao, S. Kannan, S. Oh, P. Viswanath 2017, Estimating mutual information for
    discrete-continuous mixtures, NIPS 30.
    """
    if x.size < 2 or x.min() == x.max() or y.min() == y.max():
        return 0.0
    order = np.lexsort((x, y))
    starts = np.concatenate([[0], np.cumsum(np.bincount(y))])
    mass = np.ones(x.size) if weights is None else np.asarray(weights, dtype=np.float64)
    total, weight = _ross(
        np.sort(x), x[order], starts, n_neighbours, mass[order], _digammas(x.size)
    )
    return float(total / weight / np.log(2)) if weight > 0 else 0.0


def continuous_information(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    n_neighbours: int = 3,
    weights: NDArray[np.float64] | None = None,
) -> float:
    """I(X; Y) in bits of two continuous variables; may be negative.

    Parameters and result as in `discrete_continuous_information`, but for `y`, (n,) float64; at
    most n − 1 neighbours are used.

    Notes
    -----
    Kraskov's first estimator, I = ψ(k) + ψ(N) − ⟨ψ(n_x + 1) + ψ(n_y + 1)⟩, n_x and n_y the
    numbers of samples strictly nearer in x, or y, than the k-th neighbour in the larger of both
    distances; both variables are first scaled to unit deviation. If the k-th neighbour is at
    distance zero, k, n_x + 1 and n_y + 1 are the numbers of equal samples (Gao et al. 2017).
    O(n log n).

    References
    ----------
    A. Kraskov, H. Stögbauer, P. Grassberger 2004, Estimating mutual information, Phys. Rev. E
    69:066138, eq. 8.
    """
    if x.size < 2 or x.min() == x.max() or y.min() == y.max():
        return 0.0
    points = np.column_stack([_scaled(x), _scaled(y)])
    k = min(n_neighbours, x.size - 1)
    tree = scipy.spatial.cKDTree(points)
    distance = tree.query(points, k=[k + 1], p=np.inf)[0][:, 0]
    twice = distance == 0
    same = np.full(x.size, k + 1)
    if twice.any():
        same[twice] = tree.query_ball_point(points[twice], 0.0, p=np.inf, return_length=True)
    mass = np.ones(x.size) if weights is None else np.asarray(weights, dtype=np.float64)
    total = _kraskov(
        points[:, 0].copy(), points[:, 1].copy(), np.sort(points[:, 0]), np.sort(points[:, 1]),
        distance, same - 1, mass, _digammas(x.size),
    )  # fmt: skip
    return float(total / mass.sum() / np.log(2)) if mass.sum() > 0 else 0.0


@njit()
def _kraskov(x, y, ascending_x, ascending_y, distance, k, weights, psi):
    """Σ w (ψ(k) + ψ(N) − ψ(n_x + 1) − ψ(n_y + 1)); see `continuous_information`."""
    total = 0.0
    for i in range(x.size):
        # Strictly nearer, itself included, is n + 1; among equal samples, all but itself.
        apart = distance[i] > 0
        near_x = _count_within(ascending_x, x[i], distance[i], apart) - (0 if apart else 1)
        near_y = _count_within(ascending_y, y[i], distance[i], apart) - (0 if apart else 1)
        total += weights[i] * (psi[k[i]] + psi[x.size] - psi[near_x] - psi[near_y])
    return total


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = values - values.mean()
    return centred / centred.std()


def _digammas(n: int) -> NDArray[np.float64]:
    """ψ(0 … n), with NaN for ψ(0), which is not used."""
    values = np.full(n + 1, np.nan)
    values[1:] = scipy.special.digamma(np.arange(1, n + 1))
    return values


@attrs.frozen(kw_only=True, eq=False)
class EstimatedTerms:
    """Informations of features X_j with one partner X_s and the class Y, estimated, in bits.

    Named as in `entropy.Terms`, without joint entropies, which continuous variables do
    not have.

    Parameters
    ----------
    relevance : (n_features,) float64
        I(X_j; Y).
    relevance_s : float
        I(X_s; Y).
    redundancy : (n_features,) float64
        I(X_j; X_s).
    conditional_redundancy : (n_features,) float64
        I(X_j; X_s | Y), or NaN if it was not requested.
    """

    relevance: NDArray[np.float64]
    relevance_s: float
    redundancy: NDArray[np.float64]
    conditional_redundancy: NDArray[np.float64]

    @property
    def conditional_relevance(self) -> NDArray[np.float64]:
        """I(X_j; Y | X_s) = I(X_j; Y) − I(X_j; X_s) + I(X_j; X_s | Y)."""
        return self.relevance - self.redundancy + self.conditional_redundancy

    @property
    def joint_relevance(self) -> NDArray[np.float64]:
        """I(X_j, X_s; Y) = I(X_s; Y) + I(X_j; Y | X_s)."""
        return self.relevance_s + self.conditional_relevance


class Estimator:
    """Estimates on one table; discrete columns are determined once, from all rows.

    Parameters
    ----------
    data : Dataset
        Samples without a value of a feature are left out of its estimates.
    discretiser : Discretiser
        Columns that it keeps as levels are discrete; the others are continuous.
    weights : (n_samples,) float64, optional
        Bootstrap counts times importance; they weight the mean over samples, not the neighbours.
    n_neighbours : int
        k.
    threads : int

    Notes
    -----
    Discrete with discrete is the plug-in value; discrete with continuous, either way round, is
    Ross's estimate; continuous with continuous is Kraskov's. Estimates may be negative.
    """

    def __init__(
        self,
        data: Dataset,
        discretiser: Discretiser,
        weights: NDArray[np.float64] | None,
        n_neighbours: int,
        threads: int,
    ) -> None:
        self.data = data
        self.weights = weights
        self.n_neighbours = n_neighbours
        self.threads = threads
        self.discrete = discretiser.learn(data).as_levels
        self.label, self.label_is_discrete = data.y.astype(np.float64), True
        if data.task == "regression":
            nothing = np.zeros(data.n_samples, np.int64)
            self.label_is_discrete = discretiser.learn_values(data.y, nothing, None)[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.data.n_features

    @cached_property
    def relevance(self) -> NDArray[np.float64]:
        """I(X_j; Y) of every feature, as (n_features,)."""
        return self._with(self.label, self.label_is_discrete, None)

    def partner(self, feature: int) -> int:
        """One feature as a partner: its number."""
        return feature

    def terms(self, feature: int, per_class: bool = True) -> EstimatedTerms:
        """Terms of every feature with `feature`; those given the class need `per_class`.

        Notes
        -----
        I(X_j; X_s | Y) = Σ_c p(c) I(X_j; X_s | Y = c), each estimated on the samples of class c.
        """
        partner = self._column(feature)
        discrete = bool(self.discrete[feature])
        given_class = np.full(self.data.n_features, np.nan)
        if per_class:
            y = self.data.y
            mass = np.ones(y.size) if self.weights is None else self.weights
            given_class = np.zeros(self.data.n_features)
            for c in np.unique(y):
                share = mass[y == c].sum() / mass.sum()
                given_class += share * self._with(partner, discrete, y == c)
        return EstimatedTerms(
            relevance=self.relevance,
            relevance_s=float(self.relevance[feature]),
            redundancy=self._with(partner, discrete, None),
            conditional_redundancy=given_class,
        )

    def _column(self, feature: int) -> NDArray[np.float64]:
        return np.asarray(self.data.columns(feature, feature + 1), dtype=np.float64)[:, 0]

    def _with(
        self, target: NDArray[np.float64], discrete: bool, rows: NDArray[np.bool_] | None
    ) -> NDArray[np.float64]:
        """Information of every feature about `target` in the samples `rows`."""
        bits = np.empty(self.data.n_features)
        known = ~np.isnan(target) if rows is None else ~np.isnan(target) & rows

        def work(bound: tuple[int, int]) -> None:
            block = np.asarray(self.data.columns(*bound), dtype=np.float64)
            for j in range(bound[1] - bound[0]):
                present = known & ~np.isnan(block[:, j])
                mass = None if self.weights is None else self.weights[present]
                levels = bool(self.discrete[bound[0] + j])
                bits[bound[0] + j] = _information(
                    block[present, j], levels, target[present], discrete, self.n_neighbours, mass
                )

        in_threads(self.threads, work, self.data.column_blocks(1 << 22))
        return bits


def _information(
    x: NDArray[np.float64],
    x_discrete: bool,
    y: NDArray[np.float64],
    y_discrete: bool,
    n_neighbours: int,
    weights: NDArray[np.float64] | None,
) -> float:
    """I(X; Y) in bits by the estimator for the types of the two variables."""
    if x_discrete and y_discrete:
        return _plug_in(_codes(x), _codes(y), weights)
    if x_discrete:
        return discrete_continuous_information(y, _codes(x), n_neighbours, weights)
    if y_discrete:
        return discrete_continuous_information(x, _codes(y), n_neighbours, weights)
    return continuous_information(x, y, n_neighbours, weights)


def _codes(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _plug_in(
    x: NDArray[np.int64], y: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> float:
    if not x.size:
        return 0.0
    width = int(y.max()) + 1
    cells = np.bincount(x * width + y, weights=weights, minlength=(int(x.max()) + 1) * width)
    table = cells.reshape(-1, width)
    n = table.sum()
    sums = [clogc(part).sum() for part in (table, table.sum(axis=0), table.sum(axis=1))]
    return max(0.0, float(np.log2(n) + (sums[0] - sums[1] - sums[2]) / n)) if n > 0 else 0.0
