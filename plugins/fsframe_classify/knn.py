"""k nearest neighbours, unweighted."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from fsframe.contracts.classifier import Classifier
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import choice, flag, integer, param
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection, rank_by_score
from fsframe.contracts.standardising import learn_scale

__all__ = ["Knn"]

_BLOCK_BYTES = 1 << 25


@attrs.frozen(kw_only=True)
class Knn(Classifier):
    """The class that most of the k nearest training rows have.

    Parameters
    ----------
    k : int ≥ 1
        Neighbours that vote; all rows where there are fewer.
    distance : {"euclidean", "manhattan"}
    standardize : bool
        Columns to mean 0 and standard deviation 1, learned from the training rows.

    Notes
    -----
    Equally near rows (within a fraction 1e-10 of the distance) are taken in the order of the table,
    and a vote that is level goes to the class that comes first. A row that a bootstrap drew twice
    votes twice. Time n·m·p for m new rows; memory 32 MiB for distances, whatever m.

    References
    ----------
    Aha, Kibler, Albert 1991, Instance-based learning algorithms, Machine Learning 6.

    Examples
    --------
    >>> data = Dataset.from_arrays([[0.0], [1.0], [9.0], [10.0]], ["a", "a", "b", "b"])
    >>> Knn(k=1).fit(data).predict_labels([[2.0], [8.0]])
    ['a', 'b']
    """

    k: int = param(1, integer(1), help="Neighbours that vote.", symbol="k")
    distance: str = param(
        "euclidean", choice("euclidean", "manhattan"), help="Distance between rows."
    )
    standardize: bool = param(
        True, flag(), help="Columns to mean 0 and standard deviation 1, learned from these rows."
    )

    def score_kind(self) -> str:
        return "probabilities"

    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> _Neighbours:
        counts = np.ones(data.n_samples) if data.counts is None else data.counts.astype(float)
        centre, scale = np.zeros(data.n_features), np.ones(data.n_features)
        if self.standardize:
            centre, scale = learn_scale(data.X, counts)
        return _Neighbours(
            X=(data.X - centre) / scale,
            y=data.y,
            votes=counts,
            n_classes=data.n_classes,
            centre=centre,
            scale=scale,
            k=self.k,
            metric="cityblock" if self.distance == "manhattan" else "euclidean",
        )


@attrs.frozen(kw_only=True, eq=False)
class _Neighbours:
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    votes: NDArray[np.float64]
    n_classes: int
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    k: int
    metric: str

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.argmax(self.predict_scores(X), axis=1).astype(np.int64)

    def predict_scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shares of the votes, (n, n_classes); rows sum to one."""
        shares = np.empty((len(X), self.n_classes))
        step = max(1, _BLOCK_BYTES // (8 * len(self.X)))
        for start in range(0, len(X), step):
            block = (X[start : start + step] - self.centre) / self.scale
            for row, distance in enumerate(cdist(block, self.X, self.metric)):
                shares[start + row] = self._vote(rank_by_score(-distance, self.k))
        return shares

    def _vote(self, nearest: NDArray[np.intp]) -> NDArray[np.float64]:
        """Votes of the nearest rows, k at most, copies counted, as shares."""
        # As many rows as hold k copies at most: each has one or more.
        first = nearest
        earlier = np.concatenate([[0.0], np.cumsum(self.votes[first])[:-1]])
        taken = np.clip(self.k - earlier, 0.0, self.votes[first])
        votes = np.bincount(self.y[first], weights=taken, minlength=self.n_classes)
        return votes / votes.sum()

    def arrays(self) -> dict[str, NDArray[np.float64] | NDArray[np.int64]]:
        """What is needed to predict again."""
        return {
            "X": self.X,
            "y": self.y,
            "votes": self.votes,
            "centre": self.centre,
            "scale": self.scale,
        }
