"""Splits of a table into training and test rows: stratified, repeated, grouped, leave-one-out."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.run import Run

__all__ = ["Split", "five_by_two", "grouped_folds", "leave_one_out", "repeated_folds"]


@attrs.frozen(eq=False)
class Split:
    """One partition of the rows: which repetition and fold it is, and who is tested.

    Parameters
    ----------
    repeat, fold : int
        Counted from 0.
    train, test : (n,) int
        Ascending row numbers, disjoint, together all rows.
    """

    repeat: int
    fold: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


def repeated_folds(y: NDArray[Any], folds: int, repeats: int, run: Run) -> list[Split]:
    """Stratified k-fold cross-validation, repeated: the papers' protocol with 10 × 10.

    Parameters
    ----------
    y : (n_samples,) int
        Class codes; for a numeric target pass zeros.
    folds : int ≥ 2
    repeats : int ≥ 1
    run : Run
        Repetition r draws from part r of it.

    Returns
    -------
    list of Split
        ``repeats × folds`` of them, repetition by repetition.

    Raises
    ------
    DataError
        If a class has fewer members than there are folds: it would be missing from a test part, and
        with one fold more it could be missing from training.

    Notes
    -----
    Members of each class are shuffled and dealt out in turn; the next class goes on where the last
    one stopped, so that fold sizes differ by one row at the most.
    """
    if folds < 2:
        raise RequestError(f"cross-validation needs at least 2 folds, not {folds}")
    sizes = np.bincount(y)
    small = int(sizes[sizes > 0].min())
    if small < folds:
        raise DataError(
            f"the smallest class has {small} members, fewer than the {folds} folds; "
            f"use --folds {max(small, 2)} or less, or leave-one-out"
        )
    splits = []
    for repeat in range(repeats):
        place = deal(y, folds, run.generator(repeat))
        splits += [_split(repeat, fold, place == fold) for fold in range(folds)]
    return splits


def deal(y: NDArray[Any], folds: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Which fold each row is dealt to, class by class, as (n_samples,)."""
    place = np.empty(len(y), dtype=np.intp)
    start = 0
    for code in np.unique(y):
        members = generator.permutation(np.flatnonzero(y == code))
        place[members] = (start + np.arange(members.size)) % folds
        start = (start + members.size) % folds
    return place


def five_by_two(y: NDArray[Any], run: Run) -> list[Split]:
    """Five times two-fold cross-validation (Dietterich 1998), stratified."""
    return repeated_folds(y, folds=2, repeats=5, run=run)


def leave_one_out(n_samples: int) -> list[Split]:
    """Every row tested once by all the others.

    >>> [split.test.tolist() for split in leave_one_out(3)]
    [[0], [1], [2]]
    """
    rows = np.arange(n_samples)
    return [_split(0, row, rows == row) for row in range(n_samples)]


def grouped_folds(
    y: NDArray[Any], groups: NDArray[Any], folds: int, repeats: int, run: Run
) -> list[Split]:
    """Cross-validation in which rows of one group (a patient, a family) are never separated.

    Groups are dealt to folds from the largest to the smallest, each to the fold whose class
    frequencies stay nearest to those of the table; equal groups in random order.

    Raises
    ------
    DataError
        If there are fewer groups than folds, or a fold would hold all members of a class, so that
        it could not be learned.
    """
    names, code = np.unique(groups, return_inverse=True)
    if names.size < folds:
        raise DataError(f"{names.size} groups cannot be dealt to {folds} folds")
    n_classes = int(y.max()) + 1
    table = np.zeros((names.size, n_classes))
    np.add.at(table, (code, y), 1.0)
    share = table.sum(axis=0) / folds
    splits = []
    for repeat in range(repeats):
        order = run.generator(repeat).permutation(names.size)
        order = order[np.argsort(-table[order].sum(axis=1), kind="stable")]
        held = np.zeros((folds, n_classes))
        place = np.empty(names.size, dtype=np.intp)
        for group in order:
            # Distance from an even deal, in every class, if this group went to each fold.
            excess = ((held + table[group] - share) ** 2 - (held - share) ** 2).sum(axis=1)
            place[group] = int(np.argmin(excess))
            held[place[group]] += table[group]
        alone = np.argwhere(held == table.sum(axis=0))
        if alone.size:
            raise DataError(
                f"all members of class {int(alone[0][1])} are in groups that fall into one fold; "
                "it could not be learned. Use fewer folds, or check how groups span classes"
            )
        rows = place[code]
        splits += [_split(repeat, fold, rows == fold) for fold in range(folds)]
    return splits


def _split(repeat: int, fold: int, tested: NDArray[np.bool_]) -> Split:
    return Split(repeat, fold, np.flatnonzero(~tested), np.flatnonzero(tested))
