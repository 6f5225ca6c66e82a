"""σ and pruning by inner cross-validation, with the models of all folds as one set of jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe.resampling.groups import deal_groups, require_two
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.parallel import workers_within
from fsframe_margin.engine.prediction import class_distances, nearest_class
from fsframe_margin.engine.training import Training, take_training

__all__ = ["IM4E_PATH", "IMMIGRATE_PATH", "Setting", "Tuned", "stratified_folds", "tune"]

Floats = NDArray[np.float64]
Setting = tuple[float, Any]
"""σ, and what else a method tunes with it."""

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
    training: Training,
    start: Floats,
    settings: Sequence[Setting],
    fit: Callable[[PairSpace, Floats, Setting], Floats],
    folds: NDArray[np.intp],
    standardize: bool,
    run: Run,
) -> Tuned:
    """The setting with the best accuracy over folds.

    Parameters
    ----------
    training : Training
        All rows; their outer weights are those of the accuracy.
    start : (A, A) or (A,) float64
        W, or w of the linear measure, at which every fit starts.
    settings : sequence
        σ, and what else `fit` uses.
    fit : callable
        Gives the weights for the pairs of a fold's training rows, the start in their columns, and a
        setting.
    folds : (n,) int
        Fold of each row.
    standardize : bool
        Whether columns are scaled; the scale is learned from the training rows of a fold.
    run : Run
        Every fit has one thread, and as many run at a time as memory allows; results do not depend
        on that number.

    Notes
    -----
    Ties go to the earlier setting. A fold whose training rows have only one class is left out. The
    pairs and the scaled table of a fold are shared by all settings.
    """
    y, weight = training.y, training.outer
    right, seen = np.zeros(len(settings)), 0.0
    jobs: list[tuple[NDArray[np.intp], int, Callable[[], NDArray[np.int64]]]] = []
    for fold in range(int(folds.max()) + 1):
        held_out, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        _, members = np.unique(y[train], return_counts=True)
        if not held_out.size or members.size < 2 or members.max() < 2:
            continue
        seen += weight[held_out].sum()
        predict = _predictions(training, start, train, held_out, fit, standardize, run)
        jobs += [(held_out, k, partial(predict, setting)) for k, setting in enumerate(settings)]
    workers = workers_within(run, *training.X.shape)
    found = in_threads(workers, lambda job: job[-1](), jobs)
    for (held_out, k, _), predicted in zip(jobs, found, strict=True):
        right[k] += weight[held_out][predicted == y[held_out]].sum()
    if not seen:
        return Tuned(0, np.full(len(settings), np.nan))
    accuracy = right / seen
    return Tuned(int(np.argmax(accuracy)), accuracy)


def _predictions(
    training: Training,
    start: Floats,
    train: NDArray[np.intp],
    held_out: NDArray[np.intp],
    fit: Callable[[PairSpace, Floats, Setting], Floats],
    standardize: bool,
    run: Run,
) -> Callable[[Setting], NDArray[np.int64]]:
    """From a setting, the classes that a fit on the rows `train` predicts for `held_out`."""
    linear = start.ndim == 1
    inner = take_training(
        "tuning",
        training.X[train],
        training.y[train],
        training.n_classes,
        training.count[train],
        training.outer[train] / training.count[train],
        standardize,
        None if training.steps is None else training.steps > 0,
    )
    space = PairSpace(
        inner.X, inner.y, inner.outer, inner.count,
        memory=run.route, linear=linear, steps=inner.steps,
    )  # fmt: skip
    rows = inner.rows(training.X[held_out])
    first = start[np.ix_(*[inner.varying] * start.ndim)]
    norm = first.sum() if linear else np.linalg.norm(first)
    if not norm > 0:  # All columns with a starting weight are constant in this fold.
        first = np.ones(len(first)) if linear else np.eye(len(first))
        norm = len(first) if linear else np.sqrt(len(first))
    first = first / norm

    def predict(setting: Setting) -> NDArray[np.int64]:
        weights = fit(space, first, setting)
        return nearest_class(class_distances(space, weights, setting[0], rows, training.n_classes))

    return predict
