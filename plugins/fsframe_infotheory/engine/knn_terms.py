"""Information terms with nearest-neighbour estimates for continuous features."""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.threads import in_threads
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.entropy import clogc
from fsframe_infotheory.engine.nearest_neighbours import (
    continuous_information,
    discrete_continuous_information,
)

__all__ = ["EstimatedTerms", "Estimator"]


@attrs.frozen(kw_only=True, eq=False)
class EstimatedTerms:
    """Informations of features X_j with one partner X_s and the class Y, estimated, in bits.

    Named as in `information_terms.Terms`, without joint entropies, which continuous variables do
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
