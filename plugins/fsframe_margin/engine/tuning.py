"""σ and pruning by inner cross-validation, with the models of all folds as one set of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.side_by_side import in_threads
from fsframe.resampling.groups import deal_groups, require_two

__all__ = ["IM4E_PATH", "IMMIGRATE_PATH", "Tuned", "stratified_folds", "tune"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

IMMIGRATE_PATH = (4.0, 2.0, 1.0, 0.5, 0.25, 0.125)
"""σ from 4, halved until it is not larger than 0.2 (IMMIGRATE paper, §4.2)."""

IM4E_PATH = tuple(2.0**-i for i in range(14))
"""σ from 1, halved while it is at least 1e-4 (IM4E paper, §5.2)."""


@attrs.frozen(eq=False)
class Tuned:
    """The setting with the best cross-validated accuracy, and all accuracies.

    Parameters
    ----------
    best : int
        Position in the settings.
    accuracy : (n_settings,) float64
        Weighted share of held-out rows that were classified correctly.
    """

    best: int
    accuracy: Floats


def stratified_folds(
    y: NDArray[np.integer],
    n_folds: int,
    generator: np.random.Generator,
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.intp]:
    """The fold of every row, stratified by class, in random order.

    Rows of one group are in the same fold; there are at most as many folds as groups.

    Raises
    ------
    DataError
        If a class occurs in one group only, so that it cannot be learned without that group.

    Examples
    --------
    >>> folds = stratified_folds(np.array([0, 0, 0, 1, 1, 1]), 3, np.random.default_rng(0))
    >>> [sorted(np.array([0, 0, 0, 1, 1, 1])[folds == k]) == [0, 1] for k in range(3)]
    [True, True, True]
    """
    if groups is not None:
        require_two(groups, y.astype(np.int64, copy=False), "tuning")
        return deal_groups(y, groups, min(n_folds, np.unique(groups).size), generator)
    folds = np.empty(len(y), dtype=np.intp)
    assigned = 0
    for label in np.unique(y):
        members = generator.permutation(np.flatnonzero(y == label))
        # Each class continues where the last one stopped, so that fold sizes differ by at most one.
        folds[members] = (assigned + np.arange(members.size)) % n_folds
        assigned += members.size
    return folds


def tune(
    y: NDArray[np.integer],
    weight: Floats,
    folds: NDArray[np.intp],
    n_settings: int,
    fit_fold: Callable[[NDArray[np.intp], NDArray[np.intp]], Iterable[Callable[[], Labels]]],
    threads: int = 1,
) -> Tuned:
    """The setting with the best accuracy over folds.

    Parameters
    ----------
    y, weight : (n,) arrays
        Class codes, and the weight of each row in the accuracy.
    folds : (n,) int
        Fold of each row.
    n_settings : int
        Number of settings.
    fit_fold : callable
        From training and held-out rows, one job per setting that returns the predicted classes of
        the held-out rows.
    threads : int
        Number of jobs at a time; results do not depend on it.

    Notes
    -----
    Ties go to the earlier setting. A fold whose training rows have only one class is left out.
    """
    right, seen = np.zeros(n_settings), 0.0
    jobs: list[tuple[NDArray[np.intp], int, Callable[[], Labels]]] = []
    for fold in range(int(folds.max()) + 1):
        held_out, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        _, members = np.unique(y[train], return_counts=True)
        if not held_out.size or members.size < 2 or members.max() < 2:
            continue
        seen += weight[held_out].sum()
        jobs += [(held_out, k, job) for k, job in enumerate(fit_fold(train, held_out))]
    for (held_out, k, _), predicted in zip(
        jobs, in_threads(threads, lambda job: job(), [job for *_, job in jobs]), strict=True
    ):
        right[k] += weight[held_out][predicted == y[held_out]].sum()
    if not seen:
        return Tuned(0, np.full(n_settings, np.nan))
    accuracy = right / seen
    return Tuned(int(np.argmax(accuracy)), accuracy)
