"""Small methods whose answers can be worked out by hand."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from fsframe.method.classifier import Classifier
from fsframe.method.run import Run
from fsframe.method.selection import PairWeights, Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import integer, param
from fsframe.resampling.resamples import Base, WrappingSelector
from fsframe.table.dataset import Dataset


@attrs.frozen(kw_only=True)
class Mean(Selector):
    """Columns by their mean, counts taken as weights; what it saw stands in tables."""

    takes_counts: ClassVar[bool] = True

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        scores = np.average(data.X, axis=0, weights=data.counts)
        kept = rank_by_score(scores)[: self.keep_count(data.n_features, 2)]
        return Selection(
            selected=kept,
            scores=scores,
            tables={
                "rows": data.X[:, 0],
                "counts": np.zeros(0) if data.counts is None else data.counts,
                "key": np.array(run.key, dtype=np.int64),
            },
        )


@attrs.frozen(kw_only=True)
class CopiedMean(Mean):
    """The same for rows that are copied."""

    takes_counts: ClassVar[bool] = False


@attrs.frozen(kw_only=True)
class Weighing(Selector):
    """All columns, with weights of every kind."""

    takes_counts: ClassVar[bool] = True

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        p = data.n_features
        return Selection(
            selected=np.arange(p)[::-1],
            scores=np.arange(p, dtype=float),
            weights=np.arange(p) + 1.0,
            pair_weights=PairWeights(np.arange(p), np.ones((p, p))),
            instance_weights=np.arange(data.n_samples) + 1.0,
        )


@attrs.frozen(kw_only=True)
class Random(Selector):
    """Columns by chance."""

    takes_counts: ClassVar[bool] = True

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        scores = run.generator().random(data.n_features)
        kept = rank_by_score(scores)[: self.keep_count(data.n_features, 3)]
        return Selection(selected=kept, scores=scores)


@attrs.frozen(kw_only=True)
class Vote(WrappingSelector):
    """Columns by how many of `n` resamples keep them."""

    n: int = param(4, integer(1), help="Resamples.")

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        from fsframe.resampling.resamples import select_resamples

        generator = run.generator(0)
        share = np.full(data.n_samples, 1 / data.n_samples)
        counts = generator.multinomial(data.n_samples, share, self.n)
        votes = np.zeros(data.n_features)
        for found in select_resamples(base, data, counts, run.child(1), label="vote"):
            votes[found.selected] += 1
        kept = rank_by_score(votes)[: self.keep_count(data.n_features, 2)]
        return Selection(selected=kept, scores=votes, tables={"counts": counts})


@attrs.frozen(kw_only=True)
class Nearest(Classifier):
    """The class whose mean is nearest."""

    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> FittedNearest:
        means = np.array([data.X[data.y == c].mean(axis=0) for c in range(data.n_classes)])
        return FittedNearest(means)


@attrs.frozen(eq=False)
class FittedNearest:
    means: np.ndarray

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.predict_scores(X).argmax(axis=1)

    def predict_scores(self, X: np.ndarray) -> np.ndarray:
        return -((X[:, None, :] - self.means[None]) ** 2).sum(axis=2)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"means": self.means}


def table(n: int = 6, p: int = 4) -> Dataset:
    """Column j has mean j; two classes."""
    X = np.tile(np.arange(p, dtype=float), (n, 1)) + np.linspace(-0.5, 0.5, n)[:, None]
    return Dataset.from_arrays(X, np.arange(n) % 2, name="table")
