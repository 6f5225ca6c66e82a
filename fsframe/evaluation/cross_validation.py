"""Cross-validation as a wrapping stage: runs, checkpoints and files work as for any other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.dataset import Dataset
from fsframe.errors import DataError, FsframeError, RequestError
from fsframe.evaluation.fold_task import FoldTask, full_ranking
from fsframe.evaluation.folds import (
    Split,
    five_by_two,
    grouped_folds,
    leave_one_out,
    repeated_folds,
)
from fsframe.evaluation.grid import ChainGrid
from fsframe.params import choice, either, integer, listing, optional, param, text
from fsframe.resampling import select_resamples
from fsframe.run import Run
from fsframe.selection import Selection, rank_by_score
from fsframe.selector import WrappingSelector
from fsframe.suggest import did_you_mean

__all__ = ["CrossValidation"]


@attrs.frozen(kw_only=True)
class CrossValidation(WrappingSelector):
    """How well a chain predicts rows it has not seen, and how often it keeps each feature.

    Parameters
    ----------
    base : str
        The chain, with its classifier; parameters given as sets (``sigma={4,2,1}``) are tuned
        inside the training rows of each fold.
    scheme : {"folds", "five-by-two", "leave-one-out"}
    folds, repeats : int
        Of repeated stratified cross-validation.
    groups : str, optional
        A column whose values name groups that are never separated; it is no feature then.
    classifier : str
        For a chain that does not end with a classifier.
    inner_folds : int
        For tuning.
    curve : tuple of int or "auto", optional
        Numbers of features at which the classifier is also tried.

    Notes
    -----
    Each fold is one resample of the whole table: scaling, discretisation, imputation, tuning and
    selection see its training rows only. Kept are the features that more than half of the folds
    keep; the score of a feature is the share of folds that keep it.

    Tables: ``fold`` (repeats, n_samples), ``predicted`` (repeats, n_samples) class codes,
    ``class-scores`` (repeats, n_samples, n_classes), ``kept`` (n_splits, n_features), ``chosen``
    (n_splits,), ``tuning`` (n_splits, n_chains); with a curve ``sizes``, ``curve`` (n_sizes,
    repeats, n_samples) and ``place`` (n_splits, n_features), the rank of each feature from 0.

    Cost: repeats × folds fits of the chain, times inner folds × combinations where it is tuned.

    References
    ----------
    Ambroise, McLachlan 2002, Selection bias in gene extraction on the basis of microarray
    gene-expression data, PNAS 99(10); Varma, Simon 2006, Bias in error estimation when using
    cross-validation for model selection, BMC Bioinformatics 7:91.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    takes_missing: ClassVar[bool] = True

    scheme: str = param(
        "folds",
        choice("folds", "five-by-two", "leave-one-out"),
        help="Repeated stratified folds, 5 × 2, or every row by all the others.",
    )
    folds: int = param(10, integer(2), help="Folds of scheme=folds.")
    repeats: int = param(10, integer(1), help="Repetitions of scheme=folds.")
    groups: str | None = param(
        None, optional(text("a column's name")), help="Column whose groups are never separated."
    )
    classifier: str = param(
        "", text("a classifier"), help="For a chain that does not end with a classifier."
    )
    inner_folds: int = param(5, integer(2), help="Folds inside the training rows for tuning.")
    curve: tuple[int, ...] | str | None = param(
        None,
        optional(either(listing(integer(1), least=1), choice("auto"))),
        help="Numbers of features at which the classifier is also tried; auto doubles from 1.",
    )

    def check_parameters(self) -> Iterator[str]:
        if self.top is not None:
            yield "top is for the chain under study (base), which decides what is kept"
        if self.base is None:
            return
        if self.groups is not None and self.scheme != "folds":
            yield f"groups are for scheme=folds, not {self.scheme}"
        try:
            grid = FoldTask(base=self.base, classifier=self.classifier, inner_folds=2).grid()
        except FsframeError as error:
            yield str(error)
            return
        if grid.chains[0].classifier is None:
            yield (
                f"the chain `{self.base}` does not end with a classifier: add one on the right, or "
                "name one (--classifier margin)"
            )

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        if self.base is None:
            raise RequestError("cross-validation: name the chain to evaluate (base=…)")
        columns, groups = self._group_column(data)
        upstream = _without(data, columns, upstream)
        splits = self._splits(data, groups, run.child(0))
        task = FoldTask(
            base=self.base,
            classifier=self.classifier,
            inner_folds=self.inner_folds,
            sizes=self._sizes(len(columns)),
        )
        counts = np.ones((len(splits), data.n_samples), dtype=np.int64)
        for row, split in zip(counts, splits, strict=True):
            row[split.test] = 0
        found = select_resamples(task, data, counts, run.child(1), upstream=upstream, label="folds")
        return _gathered(data, splits, list(found), task)

    def _group_column(self, data: Dataset) -> tuple[NDArray[np.intp], NDArray[np.float64] | None]:
        every = np.arange(data.n_features)
        if self.groups is None:
            return every, None
        if self.groups not in data.feature_names:
            raise RequestError(
                f"there is no column {self.groups!r} to group by"
                + did_you_mean(self.groups, data.feature_names)
            )
        column = data.feature_names.index(self.groups)
        groups = data.X[:, column]
        if np.isnan(groups).any():
            raise DataError(f"column {self.groups!r} has missing values; every row needs its group")
        return np.delete(every, column), groups

    def _splits(self, data: Dataset, groups: NDArray[np.float64] | None, run: Run) -> list[Split]:
        if self.scheme == "leave-one-out":
            return leave_one_out(data.n_samples)
        if self.scheme == "five-by-two":
            return five_by_two(data.y, run)
        if groups is not None:
            return grouped_folds(data.y, groups, self.folds, self.repeats, run)
        return repeated_folds(data.y, self.folds, self.repeats, run)

    def _sizes(self, n_features: int) -> tuple[int, ...]:
        if self.curve is None:
            return ()
        if self.curve == "auto":
            doubled = [1 << k for k in range(n_features.bit_length()) if 1 << k < n_features]
            return (*doubled, n_features)
        assert not isinstance(self.curve, str)
        return tuple(sorted({min(size, n_features) for size in self.curve}))


def _without(
    data: Dataset, columns: NDArray[np.intp], upstream: Selection | None
) -> Selection | None:
    """What the folds see: what arrives, less the column of groups."""
    if columns.size == data.n_features:
        return upstream
    if upstream is None:
        return Selection(selected=columns, scores=np.full(data.n_features, np.nan))
    kept = upstream.selected[np.isin(upstream.selected, columns)]
    return attrs.evolve(upstream, selected=kept)


def _gathered(
    data: Dataset, splits: list[Split], found: list[Selection], task: FoldTask
) -> Selection:
    """One Selection with the tables of all folds."""
    repeats, n = 1 + max(split.repeat for split in splits), data.n_samples
    fold = np.full((repeats, n), -1, dtype=np.int64)
    predicted = np.full((repeats, n), -1, dtype=np.int64)
    scores = np.full((repeats, n, data.n_classes), np.nan)
    kept = np.zeros((len(splits), data.n_features), dtype=bool)
    curve = np.full((len(task.sizes), repeats, n), -1, dtype=np.int64)
    place = np.full((len(splits) if task.sizes else 0, data.n_features), -1, dtype=np.int64)
    warnings: dict[str, int] = {}
    for number, (split, selection) in enumerate(zip(splits, found, strict=True)):
        where = (split.repeat, split.test)
        fold[where] = split.fold
        predicted[where] = selection.tables["predicted"]
        scores[where] = selection.tables["class-scores"]
        kept[number, selection.selected] = True
        for warning in selection.warnings:
            warnings[warning] = warnings.get(warning, 0) + 1
        if task.sizes:
            curve[:, split.repeat, split.test] = selection.tables["curve"]
            ranking = full_ranking(selection)
            place[number, ranking] = np.arange(ranking.size)
    share = kept.mean(axis=0)
    tables = {
        "fold": fold,
        "truth": data.y,
        "predicted": predicted,
        "class-scores": scores,
        "kept": kept,
        "chosen": np.concatenate([selection.tables["chosen"] for selection in found]),
        "tuning": np.vstack([selection.tables["tuning"] for selection in found]),
    }
    if task.sizes:
        tables |= {"sizes": np.array(task.sizes), "curve": curve, "place": place}
    ranked = rank_by_score(share)
    return Selection(
        selected=ranked[share[ranked] > 0.5],
        scores=share,
        tables=tables,
        warnings=[f"in {times} of {len(splits)} folds: {text}" for text, times in warnings.items()],
    )


def grid_of(stage: CrossValidation) -> ChainGrid:
    """The chains that a cross-validation chooses among."""
    assert stage.base is not None
    return FoldTask(base=stage.base, classifier=stage.classifier, inner_folds=2).grid()
