"""Splits of a table into training and test rows, the work of one fold of a cross-validation,
and the results of all folds as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain, Stage
from fsframe.errors import DataError, MemoryBoundError, RequestError
from fsframe.evaluation.grid import ChainGrid, default_classifier
from fsframe.evaluation.measuring import group_tables, measure_tables
from fsframe.method.answer import full_ranking
from fsframe.method.classifier import Classifier, PredictionMeasure
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.method.stage_view import Base
from fsframe.resampling.groups import class_text, deal_groups, deal_rows, single_row_classes
from fsframe.resampling.resamples import Recurring
from fsframe.storage.checked_tables import FoldTables, axes_over, fold_tables
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import times_and_events, times_of_groups


@attrs.frozen(eq=False)
class Split:
    """One partition of the rows, with its repetition and fold.

    Parameters
    ----------
    repeat, fold : int
        Counted from 0.
    train, test : (n,) int
        Ascending row numbers, disjoint. Together they are all rows; for folds in time, only the
        test rows and the rows before them.
    """

    repeat: int
    fold: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


def repeated_folds(
    y: NDArray[Any], folds: int, repeats: int, run: Run, classes: Sequence[Any] = ()
) -> list[Split]:
    """Stratified k-fold cross-validation, repeated: the papers' protocol with 10 × 10.

    Parameters
    ----------
    y : (n_samples,) int
        Class codes; for a numeric target pass zeros.
    folds : int ≥ 2
    repeats : int ≥ 1
    run : Run
        Repetition r uses the random stream `run.generator(r)`.
    classes : sequence, optional
        Class labels, for messages.

    Returns
    -------
    list of Split
        ``repeats × folds`` of them, repetition by repetition.

    Raises
    ------
    DataError
        If a class has fewer members than there are folds, so that some test part would lack it.

    """
    sizes = np.bincount(y)
    small = {code: int(size) for code, size in enumerate(sizes) if 0 < size < folds}
    if small:
        listed = ", ".join(f"{class_text(code, classes)} ({size})" for code, size in small.items())
        least = min(small.values())
        advice = f"use at most {least} folds, or " if least >= 2 else ""
        raise DataError(
            f"classes with fewer members than the {folds} folds: {listed}; "
            f"{advice}scheme=leave-one-out (--scheme), or leave these rows out"
        )
    places = (deal_rows(y, folds, run.generator(repeat)) for repeat in range(repeats))
    return _splits(places, folds)


def _splits(places: Iterable[NDArray[np.intp]], folds: int) -> list[Split]:
    """The splits of each repetition, given the fold of every row."""
    return [
        Split(repeat, fold, np.flatnonzero(place != fold), np.flatnonzero(place == fold))
        for repeat, place in enumerate(places)
        for fold in range(folds)
    ]


def unstratified_folds(
    y: NDArray[Any], folds: int, repeats: int, run: Run, classes: Sequence[Any] = ()
) -> list[Split]:
    """Repeated k-fold cross-validation without stratification by class.

    Parameters
    ----------
    y, folds, repeats, run, classes
        As for `repeated_folds`.

    Raises
    ------
    DataError
        If a training part lacks a class, which could not be learned.

    Notes
    -----
    Class shares differ between folds, so that accuracy varies more, and a class that is rare in
    training is common in the test part: in small tables the mean is slightly lower (Kohavi 1995).

    Examples
    --------
    >>> y = np.array([0] * 8 + [1] * 8)
    >>> [len(split.test) for split in unstratified_folds(y, 3, 1, Run())]
    [6, 5, 5]
    """
    if folds > len(y):
        raise RequestError(f"{len(y)} rows make 2 to {len(y)} folds, not {folds}")
    splits = repeated_folds(np.zeros(len(y), dtype=np.int64), folds, repeats, run)
    for split in splits:
        missing = np.setdiff1d(y, y[split.train])
        if missing.size:
            raise DataError(
                f"without stratification the training part of fold {split.fold + 1} of repetition "
                f"{split.repeat + 1} lacks the class {class_text(missing[0], classes)}; "
                "stratify, use more folds or another seed, or leave these rows out"
            )
    return splits


def folds_in_time(
    y: NDArray[Any],
    times: NDArray[np.float64],
    folds: int,
    classes: Sequence[Any] = (),
    groups: NDArray[Any] | None = None,
) -> list[Split]:
    """Rolling-origin splits: each block of time but the first is predicted from all earlier rows.

    Parameters
    ----------
    y : (n_samples,) int
        Class codes; for a numeric target pass zeros.
    times : (n_samples,)
    folds : int ≥ 2
        Rows are cut into `folds` + 1 blocks of about equal size; rows of equal time are in one
        block.
    classes : sequence, optional
        Class labels, for messages.
    groups : (n_samples,), optional
        Rows of equal value are in one block, as are groups that overlap in time, so that no group
        is in both the training and the test rows.

    Raises
    ------
    DataError
        If there are too few distinct times or non-overlapping groups, or the training rows of a
        fold lack a class that occurs later.

    References
    ----------
    R. Hyndman, G. Athanasopoulos 2021, Forecasting: principles and practice, 3rd edition, 5.10: a
    rolling origin.

    Examples
    --------
    >>> splits = folds_in_time(np.array([0, 1, 1, 0, 0, 1]), np.array([1.0, 2, 3, 4, 5, 6]), 2)
    >>> [(split.train.tolist(), split.test.tolist()) for split in splits]
    [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5])]
    """
    if groups is not None:
        times = times_of_groups(times, groups)
    place = np.searchsorted(np.sort(times), times, side="left") * (folds + 1) // len(times)
    stretch = np.unique(place, return_inverse=True)[1]
    if int(stretch.max()) != folds:
        many = np.unique(times).size
        what = f"{many} different times in {len(times)} rows do not"
        advice = "use fewer folds"
        if groups is not None:
            what = (
                f"{np.unique(groups).size} groups form only {many} part{'s' * (many > 1)}, since "
                "groups that overlap in time stay together: "
                f"{'these do' if many > 1 else 'it does'} not"
            )
            advice += ", or leave out the time or the groups (--drop)"
        raise DataError(
            f"{what} make {folds + 1} blocks of about equal size, of which {folds} are tested; "
            f"{advice}"
        )
    splits = []
    for fold in range(folds):
        train, test = np.flatnonzero(stretch <= fold), np.flatnonzero(stretch == fold + 1)
        lacking = np.setdiff1d(y, y[train])
        if lacking.size:
            raise DataError(
                f"the rows before block {fold + 2} of {folds + 1} lack the class "
                f"{class_text(lacking[0], classes)}, which cannot be learned from them; use "
                "fewer folds"
            )
        splits.append(Split(0, fold, train, test))
    return splits


def leave_one_out(n_samples: int) -> list[Split]:
    """Each row tested once, with all others for training.

    >>> [split.test.tolist() for split in leave_one_out(3)]
    [[0], [1], [2]]
    """
    return _splits([np.arange(n_samples)], n_samples)


def leave_one_group_out(
    y: NDArray[Any], groups: NDArray[Any], classes: Sequence[Any] = ()
) -> list[Split]:
    """Each group tested once, with all others for training.

    Raises
    ------
    DataError
        If a class occurs in a single group only.

    Examples
    --------
    >>> y, people = np.array([0, 0, 1, 0, 1]), np.array([2, 2, 5, 5, 2])
    >>> [split.test.tolist() for split in leave_one_group_out(y, people)]
    [[0, 1, 4], [2, 3]]
    """
    names, code = np.unique(groups, return_inverse=True)
    _refuse_lone_classes(y, code, classes)
    return _splits([code], names.size)


def grouped_folds(
    y: NDArray[Any],
    groups: NDArray[Any],
    folds: int,
    repeats: int,
    run: Run,
    classes: Sequence[Any] = (),
) -> list[Split]:
    """Cross-validation in which rows of one group (a patient, a family) are never separated.

    Parameters
    ----------
    y : (n_samples,) int
    groups : (n_samples,)
        Rows of equal value belong together.
    folds, repeats, run, classes
        As in `repeated_folds`.

    Raises
    ------
    DataError
        If there are fewer groups than folds, a class occurs in a single group only, so that it
        could not be learned when that group is tested, or a fold would hold a whole class.
    """
    names, code = np.unique(groups, return_inverse=True)
    if names.size < folds:
        raise DataError(f"{names.size} groups cannot be split into {folds} folds; use fewer folds")
    _refuse_lone_classes(y, code, classes)
    places = [deal_groups(y, groups, folds, run.generator(repeat)) for repeat in range(repeats)]
    for place in places:
        alone = [c for c in np.unique(y) if np.unique(place[y == c]).size < 2]
        if alone:
            raise DataError(
                f"all groups with class {class_text(alone[0], classes)} fall into one fold; it "
                "could not be learned. Use more folds, or check how groups span classes"
            )
    return _splits(places, folds)


def _refuse_lone_classes(y: NDArray[Any], code: NDArray[np.intp], classes: Sequence[Any]) -> None:
    listed = single_row_classes(y, code, classes)
    if listed:
        raise DataError(
            f"classes that lie within a single group: {listed}; when that group is tested the "
            "class cannot be learned. Check the groups, or leave the class out"
        )


def strata(data: Dataset) -> NDArray[np.int64]:
    """Strata for assigning rows to folds: the classes; a single one for a numeric target."""
    if data.task == "classification":
        return np.asarray(data.y, dtype=np.int64)
    return np.zeros(data.n_samples, dtype=np.int64)


def splits_of(
    data: Dataset, scheme: str, folds: int, repeats: int, run: Run, *, stratify: bool = True
) -> list[Split]:
    """The splits of a table by a scheme of `CrossValidation`; rows of a group stay together.

    Raises
    ------
    DataError
        If the table has too few rows, groups or members of a class for the scheme.
    RequestError
        If folds of groups are to be unstratified.
    """
    y, classes, groups = strata(data), data.classes, data.groups
    if data.times is not None:
        return folds_in_time(y, data.times.values[:, 0], folds, classes, groups)
    if scheme == "leave-one-out":
        alone = [str(classes[c]) for c in np.flatnonzero(np.bincount(y) == 1)] if classes else []
        if alone:
            raise DataError(
                f"classes with a single member: {', '.join(alone)}; left out, they cannot be "
                "learned"
            )
        if groups is not None:
            return leave_one_group_out(y, groups, classes)
        return leave_one_out(data.n_samples)
    if scheme == "five-by-two":
        # Dietterich 1998.
        folds, repeats = 2, 5
    if groups is not None:
        if not stratify:
            raise RequestError(
                "rows have groups, which are assigned whole and as evenly as possible: folds "
                "cannot be unstratified"
            )
        return grouped_folds(y, groups, folds, repeats, run, classes)
    if not classes and folds > len(y):
        raise DataError(f"{len(y)} rows allow at most {len(y)} folds, not {folds}")
    assign = repeated_folds if stratify else unstratified_folds
    return assign(y, folds, repeats, run, classes)


def inner_places(
    y: NDArray[np.int64], groups: NDArray[np.int64] | None, folds: int, run: Run
) -> NDArray[np.intp]:
    """Inner fold of each training row, for tuning, as (n,).

    There are fewer folds than requested if a class has fewer members, or groups allow no more.

    Raises
    ------
    DataError
        If no two folds allow every class to be learned.
    """
    sizes = np.bincount(y)
    for number in range(min(folds, int(sizes[sizes > 0].min())), 1, -1):
        if groups is None:
            return deal_rows(y, number, run.generator())
        if np.unique(groups).size < number:
            continue
        place = deal_groups(y, groups, number, run.generator())
        if not single_row_classes(y, place):
            return place
    raise DataError(
        "in the training rows of a fold a class has a single member, or lies within one group; "
        "parameters cannot be tuned there. Use other folds, or give each parameter one value"
    )


@attrs.frozen(kw_only=True)
class FoldTask(Base):
    """The work of one fold; counts of a resample are 0 for test rows and at least 1 for others.

    Parameters
    ----------
    base : str
        Text of the chain, which may hold sets to tune and may end with a classifier.
    classifier : str
        Text of the classifier for a chain that does not end with one.
    inner_folds : int
        Folds inside the training rows for tuning.
    sizes : tuple of int
        Numbers of top-ranked features with which the classifier is also evaluated.
    all_features : bool
        Whether the classifier is also fitted on all columns.
    """

    base: str
    classifier: str = ""
    inner_folds: int = 5
    sizes: tuple[int, ...] = ()
    all_features: bool = False

    def grid(self) -> ChainGrid:
        """The chains to choose from, each with its classifier."""
        grid = ChainGrid.parse(self.base)
        if grid.chains[0].classifier is not None:
            return grid
        return ChainGrid.parse(f"{self.base} {self.classifier or default_classifier()}")

    def select(
        self, data: Dataset, upstream: Selection | None = None, run: Run | None = None
    ) -> Selection:
        """Result of one fold: the kept features, and tables with the predictions.

        Tables: ``predicted`` (n_test,) class codes, ``class-scores`` (n_test, n_classes),
        ``chosen`` (1,) which chain of the grid, ``tuning`` (n_chains,) inner accuracies, ``curve``
        (n_sizes, n_test) predictions by number of features, ``all-features`` (n_test,) predictions
        on all columns, -1 if the classifier cannot be fitted on them, and ``all-features-scores``
        (n_test, n_classes), NaN in that case. For a numeric target predictions are numbers, NaN in
        place of -1, ``tuning`` holds the inner R², and there are no scores.
        """
        context = Run() if run is None else run
        assert data.counts is not None
        train_rows, test_rows = np.flatnonzero(data.counts), np.flatnonzero(data.counts == 0)
        drawn = data.counts[train_rows]
        table = data.with_counts(None)
        train = table.take_rows(train_rows).with_counts(None if (drawn == 1).all() else drawn)
        arrived = None if upstream is None else upstream.of_rows(train_rows)
        grid = self.grid()
        chosen, tuning = self._tuned(grid, train, arrived, context.child(0))
        chain = grid.chains[chosen]
        selection = _selected(chain, train, arrived, context.child(1))
        fitted = _fitted(chain, train, selection, context.child(1))
        X = table.take_rows(test_rows).values
        tables: dict[str, Any] = {
            "predicted": fitted.predict(X),
            **_score_table("class-scores", fitted, X, data.task),
            "chosen": np.array([chosen]),
            "tuning": tuning,
        }
        refusal: tuple[str, ...] = ()
        if self.all_features:
            if not chain.selecting and upstream is None:
                of_all = {"all-features": tables["predicted"]}
                if "class-scores" in tables:
                    of_all["all-features-scores"] = tables["class-scores"]
            else:
                of_all, refusal = _on_all_columns(chain, train, X, selection, context.child(3))
            tables |= of_all
        if self.sizes:
            tables["curve"] = self._curve(chain, train, selection, X, context.child(2))
        warnings = (*selection.warnings, *refusal)
        if not selection.selected.size:
            warnings = (*warnings, nothing_kept(data.task))
        return Selection(
            selected=selection.selected, scores=selection.scores, tables=tables, warnings=warnings
        )

    def _tuned(
        self,
        grid: ChainGrid,
        train: Dataset,
        upstream: Selection | None,
        run: Run,
    ) -> tuple[int, NDArray[np.float64]]:
        """The number of the chain that predicts best in the inner folds, and the quality of each.

        The quality is the share of correct predictions, or R² for a numeric target. Ties go to the
        first chain.
        """
        if len(grid) == 1:
            return 0, np.full(1, np.nan)
        place = inner_places(strata(train), train.groups, self.inner_folds, run)
        times = train.row_counts
        right = np.zeros(len(grid))
        classes = train.task == "classification"
        for fold in range(int(place.max()) + 1):
            tested = place == fold
            rows, held_out = np.flatnonzero(~tested), np.flatnonzero(tested)
            inner = train.take_rows(rows)
            arrived = None if upstream is None else upstream.of_rows(rows)
            tested_rows = train.take_rows(held_out).values
            kept = _selections(grid, inner, arrived, [run.child(fold, k) for k in range(len(grid))])
            for position, selection in kept:
                part = run.child(fold, position)
                fitted = _fitted(grid.chains[position], inner, selection, part)
                predicted = fitted.predict(tested_rows)
                y = train.y[held_out]
                good = predicted == y if classes else -((predicted - y) ** 2)
                right[position] += np.sum(good * times[held_out])
        share = right / times.sum()
        if not classes:
            mean = np.average(train.y, weights=times)
            variance = np.average((train.y - mean) ** 2, weights=times)
            share = 1.0 + share / variance if variance > 0 else share
        return int(np.argmax(share)), share

    def _curve(
        self, chain: Chain, train: Dataset, selection: Selection, X: NDArray[Any], run: Run
    ) -> NDArray[Any]:
        """Predictions of the classifier on the best 1, 2, … features of this fold's ranking."""
        ranking = full_ranking(selection)
        predictions = np.empty((len(self.sizes), len(X)), dtype=train.y.dtype)
        for row, size in enumerate(self.sizes):
            kept = attrs.evolve(selection, selected=ranking[:size])
            predictions[row] = _fitted(chain, train, kept, run.child(row)).predict(X)
        return predictions


_RULE = {
    "classification": "most frequent class",
    "regression": "mean target",
    "survival": "same risk for all",
}


def nothing_kept(task: str) -> str:
    """A warning that the chain kept no feature, and what is predicted."""
    return f"the chain kept no feature; the {_RULE[task]} of the training rows was predicted"


def _score_table(
    name: str, fitted: Any, X: NDArray[Any], task: str
) -> dict[str, NDArray[np.float64]]:
    """The table of class scores, if there are classes."""
    return {name: fitted.predict_scores(X)} if task == "classification" else {}


def _selected(chain: Chain, train: Dataset, upstream: Selection | None, run: Run) -> Selection:
    """The selection by the selectors of `chain`; all columns if it is a classifier only."""
    if chain.selecting:
        return Chain(chain.selecting).select(train, upstream, run)
    return upstream or Selection.of_every_column(train.n_features)


def _selections(
    grid: ChainGrid, train: Dataset, upstream: Selection | None, runs: Sequence[Run]
) -> Iterator[tuple[int, Selection]]:
    """The number of each chain of the grid with its selection; chains share a fit where they can.

    Chains that differ only in their classifier have the same selection. The selections of chains
    that differ in a count `top` that only cuts (`Selector.top_only_cuts`) are beginnings of the
    longest. A fit draws from the run of the first chain that it serves.
    """
    places: dict[tuple[str, ...], list[int]] = {}
    for place, chain in enumerate(grid.chains):
        places.setdefault(_fit_of(chain, train), []).append(place)
    for served in places.values():
        counts = {place: _count_kept(grid.chains[place]) for place in served}
        longest = max(served, key=counts.__getitem__)
        selection = _selected(grid.chains[longest], train, upstream, runs[served[0]])
        for place, count in counts.items():
            # The longest is not cut: it may exceed its count, such as by columns to keep.
            kept = selection.selected if count == counts[longest] else selection.selected[:count]
            yield place, attrs.evolve(selection, selected=kept)


def _fit_of(chain: Chain, train: Dataset) -> tuple[str, ...]:
    """The selectors of the chain as text, without the count to keep if that is cut afterwards."""
    texts = [str(stage) for stage in chain.selecting]
    if chain.selecting and train.keep is None and not train.feature_groups:
        last = chain.selecting[-1].method
        # A fraction refers to the columns that arrive, whose number differs between folds.
        if isinstance(last, Selector) and last.top_only_cuts() and isinstance(last.top, int):
            texts[-1] = str(Stage(chain.selecting[-1].name, attrs.evolve(last, top=1)))
    return tuple(texts)


def _count_kept(chain: Chain) -> int:
    """The count of columns that the last selector is to keep; 0 if its rule or a share decides."""
    last = chain.selecting[-1].method if chain.selecting else None
    return last.top if isinstance(last, Selector) and isinstance(last.top, int) else 0


def _fitted(chain: Chain, train: Dataset, selection: Selection, run: Run) -> Any:
    """The classifier of `chain` on the kept columns; the most frequent class if there are none."""
    classifier = chain.classifier
    assert isinstance(classifier, Classifier)
    if not selection.selected.size:
        return Constant.of(train)
    return classifier.fit(train, selection, run.child(len(chain.selecting)))


def _on_all_columns(
    chain: Chain,
    train: Dataset,
    X: NDArray[Any],
    selection: Selection,
    run: Run,
) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    """Tables with the predictions of the chain's classifier on all columns, and warnings.

    Predictions are -1 or NaN, with the reason as a warning, if the classifier does not accept the
    columns (such as missing values in one that the chain dropped) or needs too much memory. Invalid
    requests are raised. Missing values are filled as `selection` says.
    """
    plain = Selection.of_every_column(
        train.n_features, fill=selection.fill, donors=selection.donors
    )

    def predictions(fitted: Any) -> dict[str, NDArray[Any]]:
        of_classes = _score_table("all-features-scores", fitted, X, train.task)
        return {"all-features": fitted.predict(X), **of_classes}

    try:
        return predictions(_fitted(chain, train, plain, run)), ()
    except (DataError, MemoryBoundError) as error:
        classes = train.task == "classification"
        none = Constant(-1, np.full(train.n_classes, np.nan)) if classes else Constant(np.nan)
        return predictions(none), (f"no result on all features: {error}",)


@attrs.frozen(eq=False)
class Constant:
    """Predicts one value, and the same scores, for every row."""

    value: Any
    scores: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, train: Dataset) -> Constant:
        """The most frequent class of the table, with the shares of all, or its mean target."""
        times = None if train.counts is None else train.counts.astype(np.float64)
        if train.task != "classification":
            return cls(float(np.average(train.y, weights=times)))
        drawn = np.bincount(train.y, times, minlength=train.n_classes)
        return cls(np.argmax(drawn), drawn / drawn.sum())

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        return np.full(len(X), self.value)

    def predict_scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        assert self.scores is not None
        return np.tile(self.scores, (len(X), 1))


def gather_folds(
    data: Dataset,
    splits: list[Split],
    selections: list[Selection],
    task: FoldTask,
    named: tuple[tuple[str, PredictionMeasure], ...],
    suspicion: tuple[str, ...],
) -> Selection:
    """Combine the selections of all folds into one Selection, with the named measures.

    `suspicion` holds warnings about the table, which precede those of the folds.
    """
    repeats, n = 1 + max(split.repeat for split in splits), data.n_samples
    classes = data.task == "classification"
    fold = np.full((repeats, n), -1, dtype=np.int64)
    kept = np.zeros((len(splits), data.n_features), dtype=bool)
    place = np.full((len(splits) if task.sizes else 0, data.n_features), -1, dtype=np.int64)
    predictions: dict[str, NDArray[Any]] = {}
    # Where a fold has its test rows, all folds have repetitions and rows.
    axis_of_rows = axes_over(FoldTables, "repeats")
    for name, axis in axis_of_rows.items():
        if name in selections[0].tables:
            shape = list(selections[0].tables[name].shape)
            shape[axis : axis + 1] = repeats, n
            codes = classes and not name.endswith("scores")
            predictions[name] = np.full(shape, *((-1, np.int64) if codes else (np.nan, float)))
    notes = Recurring()
    for number, (split, selection) in enumerate(zip(splits, selections, strict=True)):
        fold[split.repeat, split.test] = split.fold
        for name, array in predictions.items():
            axis, part = axis_of_rows[name], selection.tables[name]
            if data.times is not None:
                # A fold in time also predicts the rows of later blocks.
                later = np.delete(np.arange(n), split.train)
                part = part.compress(np.isin(later, split.test), axis)
            array[(slice(None),) * axis + (split.repeat, split.test)] = part
        kept[number, selection.selected] = True
        notes.add(selection.warnings)
        if task.sizes:
            ranking = full_ranking(selection)
            place[number, ranking] = np.arange(ranking.size)
    share = kept.mean(axis=0)
    every = predictions.get("all-features")
    if every is not None and not (every >= 0 if classes else ~np.isnan(every)).any():
        del predictions["all-features"]
        predictions.pop("all-features-scores", None)
    tables = {
        "fold": fold,
        "truth": data.y,
        **predictions,
        **({"event": times_and_events(data.y)[1]} if data.task == "survival" else {}),
        "kept": kept,
        "chosen": np.concatenate([selection.tables["chosen"] for selection in selections]),
        "tuning": np.vstack([selection.tables["tuning"] for selection in selections]),
        **({"sizes": np.array(task.sizes), "place": place} if task.sizes else {}),
    }
    plain = fold_tables(tables, data.n_features)
    tables |= measure_tables(plain, data.classes, named) | group_tables(plain, data)
    return kept_by_most(share, tables, (*suspicion, *notes.lines(len(splits), "folds")))


def kept_by_most(
    share: NDArray[np.float64], tables: Mapping[str, NDArray[Any]], warnings: Sequence[str]
) -> Selection:
    """The columns that more than half of the resamples keep; scores are the shares that do."""
    ranked = rank_by_score(share)
    return Selection(
        selected=ranked[share[ranked] > 0.5], scores=share, tables=tables, warnings=warnings
    )
