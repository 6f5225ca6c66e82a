"""Splits of a table into training and test rows: stratified, repeated, grouped, leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.run import Run
from fsframe.errors import DataError, RequestError

__all__ = [
    "Split",
    "deal",
    "deal_groups",
    "five_by_two",
    "grouped_folds",
    "leave_one_out",
    "repeated_folds",
]


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
        Repetition r draws from part r of it.
    classes : sequence, optional
        Labels behind the codes, for messages.

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
    small = {code: int(size) for code, size in enumerate(sizes) if 0 < size < folds}
    if small:
        listed = ", ".join(f"{_label(classes, code)} ({size})" for code, size in small.items())
        least = min(small.values())
        advice = f"use at most {least} folds, or " if least >= 2 else ""
        raise DataError(
            f"classes with fewer members than the {folds} folds: {listed}; {advice}"
            "--scheme leave-one-out, or leave these rows out"
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


def five_by_two(y: NDArray[Any], run: Run, classes: Sequence[Any] = ()) -> list[Split]:
    """Five times two-fold cross-validation (Dietterich 1998), stratified."""
    return repeated_folds(y, 2, 5, run, classes)


def leave_one_out(n_samples: int) -> list[Split]:
    """Every row tested once by all the others.

    >>> [split.test.tolist() for split in leave_one_out(3)]
    [[0], [1], [2]]
    """
    rows = np.arange(n_samples)
    return [_split(0, row, rows == row) for row in range(n_samples)]


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
        If there are fewer groups than folds, a class lies within one group, so that it could not be
        learned when that group is tested, or a fold would hold all members of a class.
    """
    if folds < 2:
        raise RequestError(f"cross-validation needs at least 2 folds, not {folds}")
    names, code = np.unique(groups, return_inverse=True)
    if names.size < folds:
        raise DataError(f"{names.size} groups cannot be dealt to {folds} folds; use fewer folds")
    within = [c for c in np.unique(y) if np.unique(code[y == c]).size < 2]
    if within:
        listed = ", ".join(f"{_label(classes, c)} ({int((y == c).sum())} rows)" for c in within)
        raise DataError(
            f"classes that lie within a single group: {listed}; when that group is tested the "
            "class cannot be learned. Check the groups, or leave the class out"
        )
    splits = []
    for repeat in range(repeats):
        place = deal_groups(y, groups, folds, run.generator(repeat))
        alone = [c for c in np.unique(y) if np.unique(place[y == c]).size < 2]
        if alone:
            raise DataError(
                f"all groups with class {_label(classes, alone[0])} fall into one fold; it could "
                "not be learned. Use more folds, or check how groups span classes"
            )
        splits += [_split(repeat, fold, place == fold) for fold in range(folds)]
    return splits


def deal_groups(
    y: NDArray[Any], groups: NDArray[Any], folds: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Which fold each row is dealt to, groups kept together, as (n_samples,).

    Notes
    -----
    Groups are taken from the largest to the smallest, equal ones in random order, each to the fold
    whose class frequencies it brings nearest to an even deal, classes counted as shares of their
    members; on a tie to the fold with the fewest rows. So no fold stays empty while there are
    groups enough.
    """
    names, code = np.unique(groups, return_inverse=True)
    classes, label = np.unique(y, return_inverse=True)
    table = np.zeros((names.size, classes.size))
    np.add.at(table, (code, label), 1.0)
    rows = table.sum(axis=1)
    table /= table.sum(axis=0)
    order = generator.permutation(names.size)
    order = order[np.argsort(-rows[order], kind="stable")]
    held, sizes = np.zeros((folds, classes.size)), np.zeros(folds)
    place = np.empty(names.size, dtype=np.intp)
    for group in order:
        even = held - 1.0 / folds
        excess = ((even + table[group]) ** 2 - even**2).sum(axis=1)
        # Rounded, so that folds which are equal but for the last bits are told apart by size.
        fold = int(np.lexsort((sizes, np.round(excess, 12)))[0])
        place[group] = fold
        held[fold] += table[group]
        sizes[fold] += rows[group]
    return place[code]


def _label(classes: Sequence[Any], code: int) -> str:
    return f"{str(classes[code])!r}" if classes else f"number {int(code)}"


def _split(repeat: int, fold: int, tested: NDArray[np.bool_]) -> Split:
    return Split(repeat, fold, np.flatnonzero(~tested), np.flatnonzero(tested))
