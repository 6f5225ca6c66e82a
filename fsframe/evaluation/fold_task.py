"""One fold: everything that learns, learned from the training rows; the others predicted."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chain import Chain
from fsframe.classifier import Classifier, FittedOnColumns
from fsframe.dataset import Dataset
from fsframe.errors import DataError
from fsframe.evaluation.folds import deal
from fsframe.evaluation.grid import ChainGrid
from fsframe.run import Run
from fsframe.selection import Selection, rank_by_score

__all__ = ["FoldTask"]


@attrs.frozen(kw_only=True)
class FoldTask:
    """What is done in each fold; a resample's counts are 1 on training rows, 0 on test rows.

    Parameters
    ----------
    base : str
        Text of the chain, which may hold sets to tune and may end with a classifier.
    classifier : str
        Text of the classifier for a chain that does not end with one.
    inner_folds : int
        Folds inside the training rows for tuning.
    sizes : tuple of int
        Numbers of best-ranked features at which the classifier is also tried.
    """

    base: str
    classifier: str
    inner_folds: int
    sizes: tuple[int, ...] = ()

    def grid(self) -> ChainGrid:
        """The chains to choose among, each with its classifier."""
        found = ChainGrid.parse(self.base)
        if found.chains[0].classifier is not None or not self.classifier:
            return found
        return ChainGrid.parse(f"{self.base} {self.classifier}")

    def select(
        self, data: Dataset, upstream: Selection | None = None, run: Run | None = None
    ) -> Selection:
        """What one fold gives: the kept features, and tables with the predictions.

        Tables: ``predicted`` (n_test,) class codes, ``class-scores`` (n_test, n_classes),
        ``chosen`` (1,) which chain of the grid, ``tuning`` (n_chains,) inner accuracies, ``curve``
        (n_sizes, n_test) predictions by number of features.
        """
        surroundings = Run() if run is None else run
        assert data.counts is not None
        train_rows, test_rows = np.flatnonzero(data.counts), np.flatnonzero(data.counts == 0)
        train = data.with_counts(None).take_rows(train_rows)
        grid = self.grid()
        chosen, tuning = self._tuned(grid, train, upstream, surroundings.child(0))
        selection, fitted = _fit(grid.chains[chosen], train, upstream, surroundings.child(1))
        X = data.X[test_rows]
        tables: dict[str, Any] = {
            "predicted": fitted.predict(X),
            "class-scores": fitted.predict_scores(X),
            "chosen": np.array([chosen]),
            "tuning": tuning,
        }
        if self.sizes:
            classifier = grid.chains[chosen].classifier
            assert classifier is not None
            tables["curve"] = self._curve(classifier, train, selection, X, surroundings.child(2))
        return Selection(
            selected=selection.selected,
            scores=selection.scores,
            tables=tables,
            warnings=selection.warnings,
            features_in=selection.features_in,
        )

    def select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None = None,
        run: Run | None = None,
    ) -> list[Selection]:
        """`select` on each fold, as the machinery for resamples asks for them."""
        surroundings = Run() if run is None else run
        return [
            self.select(data.with_counts(row), upstream, surroundings.child(b))
            for b, row in enumerate(counts)
        ]

    def _tuned(
        self, grid: ChainGrid, train: Dataset, upstream: Selection | None, run: Run
    ) -> tuple[int, NDArray[np.float64]]:
        """Which chain of the grid predicts best inside the training rows; ties to the first."""
        if len(grid) == 1:
            return 0, np.full(1, np.nan)
        small = int(train.class_sizes()[train.class_sizes() > 0].min())
        folds = min(self.inner_folds, small)
        if folds < 2:
            raise DataError(
                "a class has a single member in the training rows of a fold; parameters cannot be "
                "tuned there. Use fewer folds, or give the parameter one value"
            )
        place = deal(train.y, folds, run.generator())
        right = np.zeros(len(grid))
        for fold in range(folds):
            inner, held = train.take_rows(np.flatnonzero(place != fold)), place == fold
            for position, chain in enumerate(grid.chains):
                _, fitted = _fit(chain, inner, upstream, run.child(fold, position))
                right[position] += np.sum(fitted.predict(train.X[held]) == train.y[held])
        share = right / train.n_samples
        return int(np.argmax(share)), share

    def _curve(
        self,
        classifier: Classifier,
        train: Dataset,
        selection: Selection,
        X: NDArray[np.float64],
        run: Run,
    ) -> NDArray[np.int64]:
        """Predictions of the classifier on the best 1, 2, … features of this fold's ranking."""
        ranking = full_ranking(selection)
        found = np.empty((len(self.sizes), len(X)), dtype=np.int64)
        for row, size in enumerate(self.sizes):
            kept = attrs.evolve(selection, selected=ranking[:size])
            found[row] = classifier.fit(train, kept, run.child(row)).predict(X)
        return found


def full_ranking(selection: Selection) -> NDArray[np.intp]:
    """All ranked features, best first: the kept ones, then the others that have a score."""
    rest = [c for c in rank_by_score(selection.scores) if c not in set(selection.selected)]
    return np.concatenate([selection.selected, np.array(rest, dtype=np.intp)])


def _fit(
    chain: Chain, train: Dataset, upstream: Selection | None, run: Run
) -> tuple[Selection, FittedOnColumns]:
    selection, fitted = upstream, None
    for result in chain.steps(train, run, upstream):
        if result.selection is not None:
            selection = result.selection
        fitted = result.fitted
    assert fitted is not None
    if selection is None:
        every = np.arange(train.n_features)
        selection = Selection(selected=every, scores=np.full(train.n_features, np.nan))
    return selection, fitted
