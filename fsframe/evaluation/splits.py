"""Splits of a table into training and test rows, and inner folds of the training rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run
from fsframe.resampling.groups import class_text, deal_groups, lone_classes
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import times_of_wholes


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

    Notes
    -----
    Members of each class are shuffled and assigned to folds in turn; the next class continues where
    the last one stopped, so that fold sizes differ by at most one row.
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
    return _splits((deal(y, folds, run.generator(repeat)) for repeat in range(repeats)), folds)


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


def deal(y: NDArray[Any], folds: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Fold of each row, assigned class by class, as (n_samples,)."""
    place = np.empty(len(y), dtype=np.intp)
    start = 0
    for code in np.unique(y):
        members = generator.permutation(np.flatnonzero(y == code))
        place[members] = (start + np.arange(members.size)) % folds
        start = (start + members.size) % folds
    return place


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
        times = times_of_wholes(times, groups)
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
    listed = lone_classes(y, code, classes)
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
            return deal(y, number, run.generator())
        if np.unique(groups).size < number:
            continue
        place = deal_groups(y, groups, number, run.generator())
        if not lone_classes(y, place):
            return place
    raise DataError(
        "in the training rows of a fold a class has a single member, or lies within one group; "
        "parameters cannot be tuned there. Use other folds, or give each parameter one value"
    )
