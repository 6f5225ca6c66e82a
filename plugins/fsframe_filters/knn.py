"""k nearest neighbours, unweighted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.method.classifier import Classifier
from fsframe.method.ranking import TIE
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, flag, integer, param, ties_of_neighbours
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import learn_scale, standardised, unequal_share

_BLOCK_BYTES = 1 << 25


@attrs.frozen(kw_only=True)
class Knn(Classifier):
    """Majority vote of the k nearest training rows; their mean for a numeric target.

    Parameters
    ----------
    k : int ≥ 1
        Number of neighbours; all rows if there are fewer.
    distance : {"euclidean", "manhattan"}
    standardize : bool
        Scale columns to mean 0 and standard deviation 1, learned from the training rows.
    ties : {"share", "index"}
        Whether rows tied at the k-th distance (within a relative 1e-10) share the remaining places,
        or are taken in row order.

    Notes
    -----
    With shared votes a prediction does not depend on the order of the rows: it is what is expected
    if ties are broken at random. In columns of few values most neighbours are tied. Tied votes go
    to the first class. A row that a bootstrap drew twice votes twice. A numeric target is predicted
    by the mean of the neighbours. In a nominal column two different levels are at distance 1 or,
    with `standardize`, √(2 / (1 − Σ p²)), p the shares of the levels, so that the mean squared
    difference of two rows is 2, as in a column of deviation 1. Time n·m·p for m new rows; 32 MiB
    for distances.

    References
    ----------
    Aha, Kibler, Albert 1991, Instance-based learning algorithms, Machine Learning 6.

    Examples
    --------
    >>> data = Dataset.from_arrays([[0.0], [1.0], [9.0], [10.0]], ["a", "a", "b", "b"])
    >>> Knn(k=1).fit(data).predict_labels([[2.0], [8.0]])
    ['a', 'b']
    >>> few = Dataset.from_arrays([[0.0], [0.0], [0.0], [1.0]], ["a", "b", "b", "a"])
    >>> [Knn(ties=ties).fit(few).predict_labels([[0.0]]) for ties in ("share", "index")]
    [['b'], ['a']]
    >>> numbers = Dataset.from_arrays([[0.0], [1.0], [9.0]], [0.5, 1.5, 7.0])
    >>> Knn(k=2).fit(numbers).predict([[0.4]])
    array([1.])
    """

    takes_nominal: ClassVar[bool] = True

    k: int = param(1, integer(1), help="Number of neighbours.", symbol="k")
    distance: str = param(
        "euclidean", choice("euclidean", "manhattan"), help="Distance between rows."
    )
    standardize: bool = param(
        True,
        flag(),
        help="Scale features to mean 0 and standard deviation 1, learned from the training rows.",
    )
    ties: str = ties_of_neighbours()

    def predicts(self) -> frozenset[str]:
        return frozenset({"classification", "regression"})

    def score_kind(self) -> str:
        return "probabilities"

    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> _Neighbours | _Mean:
        counts = data.row_counts.astype(np.float64)
        centre, scale = learn_scale(data.matrix, counts, standardize=self.standardize)
        nominal = np.flatnonzero(data.categorical)
        centre[nominal], scale[nominal] = 0.0, 1.0
        steps = np.ones(len(nominal))
        for k, column in enumerate(nominal.tolist() if self.standardize else ()):
            # Sizes are sorted, so that the names of levels do not affect rounding.
            _, place = np.unique(data.columns(column, column + 1), return_inverse=True)
            unequal = unequal_share(np.sort(np.bincount(place.ravel(), weights=counts)))
            steps[k] = np.sqrt(2.0 / unequal) if unequal > 1e-14 else 0.0
        kind = _Neighbours if data.task == "classification" else _Mean
        return kind(
            nominal=nominal,
            steps=steps,
            X=standardised(data.matrix, centre, scale),
            y=data.y,
            votes=counts,
            n_classes=data.n_classes,
            centre=centre,
            scale=scale,
            k=self.k,
            ties=self.ties,
            metric="cityblock" if self.distance == "manhattan" else "euclidean",
        )


@attrs.frozen(kw_only=True, eq=False)
class _Nearest:
    """Training rows, and a search for those nearest to new rows."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    votes: NDArray[np.float64]
    n_classes: int
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    k: int
    ties: str
    metric: str
    nominal: NDArray[np.intp]
    steps: NDArray[np.float64]

    def nearest(
        self, X: NDArray[np.float64]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        """For each row of X the nearest training rows, and the votes that each has of the k."""
        # As many rows as fit into a block, and their distances too.
        step = max(1, _BLOCK_BYTES // (8 * max(self.X.shape)))
        for start in range(0, len(X), step):
            block = X[start : start + step] - self.centre
            block /= self.scale
            for distance in self._distances(block):
                # At most as many rows as hold k copies: each has one or more.
                first = rank_by_score(-distance, self.k)
                earlier = np.concatenate([[0.0], np.cumsum(self.votes[first])[:-1]])
                taken = np.clip(self.k - earlier, 0.0, self.votes[first])
                yield (
                    (first, taken) if self.ties == "index" else self._shared(distance, first, taken)
                )

    def _shared(
        self, distance: NDArray[np.float64], first: NDArray[np.intp], taken: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The nearest rows and their votes, those tied with the last one sharing what is left."""
        last = distance[first[np.flatnonzero(taken)[-1]]]
        tied = np.flatnonzero(np.abs(distance - last) <= TIE * last)
        if tied.size == 1:
            return first, taken
        nearer = ~np.isin(first, tied)
        left = self.k - taken[nearer].sum()
        votes = self.votes[tied] * min(1.0, left / self.votes[tied].sum())
        return np.append(first[nearer], tied), np.append(taken[nearer], votes)

    def _distances(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distances from scaled rows to the training rows, (m, n)."""
        if not self.nominal.size:
            return np.asarray(scipy.spatial.distance.cdist(rows, self.X, self.metric))
        power = 2 if self.metric == "euclidean" else 1
        numbers = np.setdiff1d(np.arange(self.X.shape[1]), self.nominal)
        total = np.zeros((len(rows), len(self.X)))
        if numbers.size:
            total = (
                scipy.spatial.distance.cdist(rows[:, numbers], self.X[:, numbers], self.metric)
                ** power
            )
        for column, step in zip(self.nominal, self.steps, strict=True):
            total += np.not_equal.outer(rows[:, column], self.X[:, column]) * step**power
        return np.asarray(np.sqrt(total) if power == 2 else total)

    def arrays(self) -> dict[str, NDArray[np.float64] | NDArray[np.int64]]:
        """The arrays needed to predict again."""
        names = ("X", "y", "votes", "centre", "scale", "nominal", "steps")
        return {name: getattr(self, name) for name in names}


@attrs.frozen(kw_only=True, eq=False)
class _Neighbours(_Nearest):
    """A classifier by the vote of the nearest rows."""

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.argmax(self.predict_scores(X), axis=1).astype(np.int64)

    def predict_scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shares of the votes, (n, n_classes); rows sum to one."""
        shares = np.empty((len(X), self.n_classes))
        for row, (first, taken) in enumerate(self.nearest(X)):
            votes = np.bincount(self.y[first], weights=taken, minlength=self.n_classes)
            shares[row] = votes / votes.sum()
        return shares


@attrs.frozen(kw_only=True, eq=False)
class _Mean(_Nearest):
    """A regressor by the mean target of the nearest rows."""

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        means = np.empty(len(X))
        for row, (first, taken) in enumerate(self.nearest(X)):
            means[row] = self.y[first] @ taken / taken.sum()
        return means
