"""Tuning on one inner fold: one job per setting, with the pairs of rows shared by all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.run import Run
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.prediction import class_distances, nearest_class
from fsframe_margin.engine.training import Training, take_training

__all__ = ["fold_jobs"]

Floats = NDArray[np.float64]


def fold_jobs(
    training: Training,
    start: Floats,
    train: NDArray[np.intp],
    held_out: NDArray[np.intp],
    settings: Sequence[tuple[float, Any]],
    fit: Callable[[PairSpace, Floats, tuple[float, Any]], Floats],
    standardize: bool,
    run: Run,
) -> Iterator[Callable[[], NDArray[np.int64]]]:
    """Jobs that fit on `train` and predict the classes of `held_out`, one per setting (σ, …).

    `start` is W, or w of the linear measure.

    Scaling is learned from the training rows of the fold; the pairs and the scaled table are shared
    by all settings. Every job runs in one thread.
    """
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
    norm = np.linalg.norm(first) if not linear else first.sum()
    if norm > 0:
        first = first / norm
    else:  # All columns with a starting weight are constant in this fold.
        first = (
            np.eye(len(first)) / np.sqrt(len(first))
            if not linear
            else np.full(len(first), 1 / len(first))
        )

    def job(setting: tuple[float, Any]) -> NDArray[np.int64]:
        weights = fit(space, first, setting)
        return nearest_class(class_distances(space, weights, setting[0], rows, training.n_classes))

    for setting in settings:
        yield partial(job, setting)
