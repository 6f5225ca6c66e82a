"""Prototypes: a sample of every class, weighted to represent all its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import integer, optional, param
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.standardise import scaling_over_parts
from fsframe_margin.engine.training import Training, row_weights, varying_columns

__all__ = [
    "drawn_prototypes",
    "prototypes_over_parts",
    "prototypes_parameter",
    "with_prototypes",
]

Floats = NDArray[np.float64]

ROW_BYTES = 80
"""Bytes per row for drawing: labels, two weights, and temporaries."""


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
    """`training` with about `n` of its rows, weighted to represent those of their class.

    They are in their original order; None, or as many as there are, means all. Row weights are
    scaled within each class, in the outer sum and as neighbours, so that each class counts as much
    as before: sums over rows and over neighbours keep their expectations, and the cost and Σ differ
    from those of all rows by sampling error of the order 1/√n.
    """
    if n is None or n >= len(training.y):
        return training
    rows = drawn_prototypes(training.y, n, generator)
    outer, count = _scaled_weights(rows, training.y, training.outer, training.count)
    return attrs.evolve(
        training,
        X=np.ascontiguousarray(training.X[rows]),
        y=training.y[rows],
        outer=outer,
        count=count,
        groups=None if training.groups is None else training.groups[rows],
        drawn_from=len(training.y),
    )


def prototypes_over_parts(
    name: str,
    data: Dataset,
    upstream: Selection | None,
    standardize: bool,
    n: int,
    generator: np.random.Generator,
    run: Run,
) -> Training:
    """The training rows of `with_prototypes` for a table in parts.

    Two passes over the rows: the first learns the scale of the columns from all rows, the second
    reads the drawn rows, which are the same as for the table in memory.

    Raises
    ------
    RequestError
        If the arrays per row do not fit in memory.
    DataError
        If every column is constant, or the importance of all rows is zero.
    """
    run.must_hold(
        ROW_BYTES * data.n_samples + 8 * min(n, data.n_samples) * data.n_features,
        f"{name}: {ROW_BYTES} bytes for each of {data.n_samples} rows, and {n} prototypes,",
        "draw fewer, or put a filter such as mim:top=100 before",
    )
    importance = None if upstream is None else upstream.instance_weights
    count, outer = row_weights(name, data.n_samples, data.counts, importance)
    scaling, steps = scaling_over_parts(data, standardize, run.memory // 4, run.threads)
    varying = varying_columns(name, scaling, data.n_samples)
    rows = drawn_prototypes(data.y, n, generator)
    outer, count = _scaled_weights(rows, data.y, outer, count)
    drawn = data.take_rows(rows)
    return Training(
        X=scaling.apply_to_varying(drawn.X),
        y=drawn.y,
        outer=outer,
        count=count,
        scaling=scaling,
        varying=varying,
        n_features=data.n_features,
        n_classes=data.n_classes,
        groups=drawn.groups,
        drawn_from=data.n_samples,
        steps=steps[varying] if steps[varying].any() else None,
    )


def _scaled_weights(
    rows: NDArray[np.intp], y: NDArray[np.int64], *weights: Floats
) -> Iterator[Floats]:
    """Weights of the drawn rows, scaled to the total weight of each class."""
    for whole in weights:
        sample = whole[rows].copy()
        for label in np.unique(y):
            ours = y[rows] == label
            total = sample[ours].sum()
            # Instance weights may be zero for a class, or for all its drawn rows.
            if total > 0:
                sample[ours] *= whole[y == label].sum() / total
        yield sample
