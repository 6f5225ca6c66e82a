"""Prototypes: a sample of every class, weighted by the number of rows each stands for."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.params import integer, optional, param
from fsframe_margin.engine.training import Training

__all__ = ["drawn_prototypes", "prototypes_parameter", "with_prototypes"]


def prototypes_parameter() -> Any:
    """The parameter of methods that can learn from a sample of the rows."""
    return param(
        None,
        optional(integer(4)),
        help="With more rows than this, learn from a sample of this many, weighted by class.",
        source="Zhao, Hong, Liu, §6, second direction",
    )


def drawn_prototypes(
    y: NDArray[np.integer], n: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """About `n` rows drawn without replacement, each class with its share and at least two rows.

    Examples
    --------
    >>> y = np.repeat([0, 1], [90, 10])
    >>> rows = drawn_prototypes(y, 20, np.random.default_rng(0))
    >>> np.bincount(y[rows]).tolist()
    [18, 2]
    """
    chosen = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        share = min(members.size, max(2, round(n * members.size / len(y))))
        chosen.append(generator.choice(members, size=share, replace=False))
    return np.sort(np.concatenate(chosen))


def with_prototypes(training: Training, n: int | None, generator: np.random.Generator) -> Training:
    """`training` with about `n` of its rows, each weighted for those of its class left out.

    Parameters
    ----------
    training : Training
        The rows to draw from, (N, A).
    n : int ≥ 4, optional
        How many; all of them by default, or where there are not more.
    generator : Generator
        Draws them.

    Returns
    -------
    Training
        About n rows, sorted as they were, with weights of their own.

    Notes
    -----
    Row weights are scaled within each class, in the outer sum and as neighbours, so that each class
    counts as much as before: sums over rows and over neighbours keep their expectations, and the
    cost and Σ differ from those of all rows by sampling error of the order 1/√n.
    """
    if n is None or n >= len(training.y):
        return training
    rows = drawn_prototypes(training.y, n, generator)
    outer, count = training.outer[rows].copy(), training.count[rows].copy()
    for label in np.unique(training.y):
        ours, all_of_it = training.y[rows] == label, training.y == label
        for sample, whole in ((outer, training.outer), (count, training.count)):
            held = sample[ours].sum()
            # instance weights may leave a class, or all of it that was drawn, without weight
            if held > 0:
                sample[ours] *= whole[all_of_it].sum() / held
    return attrs.evolve(
        training,
        X=np.ascontiguousarray(training.X[rows]),
        y=training.y[rows],
        outer=outer,
        count=count,
        groups=None if training.groups is None else training.groups[rows],
        drawn_from=len(training.y),
    )
