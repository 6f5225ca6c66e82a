"""Training rows as the loops need them: scaled, weighted, and drawn as prototypes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import integer, optional, param
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.standardise import (
    Scaling,
    learn_scaling,
    nominal_steps,
    scaling_over_parts,
)

Floats = NDArray[np.float64]


@attrs.frozen(eq=False)
class Training:
    """The training data of a margin method.

    Parameters
    ----------
    X : (n, A) float64
        Scaled columns, without constant ones; nominal columns hold codes of their levels.
    y : (n,) int
        Class codes.
    outer : (n,) float64
        Weight of each row in the outer sum: bootstrap count times upstream instance weight
        (scaled to mean one over the draws).
    count : (n,) float64
        Bootstrap count: weight of each row as a neighbour.
    scaling : Scaling
        Scaling of all columns of the table.
    varying : (A,) int
        The columns of the table that X holds.
    n_features, n_classes : int
        Numbers of features and classes of the table.
    steps : (A,) float64
        The step between different levels of each nominal column, 0 for columns of numbers.
    groups : (n,) int, optional
        Rows of equal code stay together in inner folds.
    drawn_from : int
        Number of rows that prototypes were drawn from; zero if these are not prototypes.
    """

    X: Floats
    y: NDArray[np.int64]
    outer: Floats
    count: Floats
    scaling: Scaling
    varying: NDArray[np.intp]
    n_features: int
    n_classes: int
    steps: Floats
    groups: NDArray[np.int64] | None = None
    drawn_from: int = 0

    def spread(self, values: Floats) -> Floats:
        """Values of the varying columns, with zeros for constant ones; matrices likewise."""
        if len(self.varying) == self.n_features:
            return values
        out = np.zeros((self.n_features,) * values.ndim)
        out[np.ix_(*[self.varying] * values.ndim)] = values
        return out

    def rows(self, X: Floats) -> Floats:
        """New rows of the table in the learned scale, varying columns only."""
        return self.scaling.apply_to_varying(X)

    def released(self) -> Training:
        """A copy without the rows, to free their memory once they are held in another form."""
        return attrs.evolve(self, X=np.empty((0, self.X.shape[1])))


def take_training(
    name: str,
    X: Floats | Dataset,
    y: NDArray[Any],
    n_classes: int,
    counts: NDArray[Any] | None = None,
    importance: Floats | None = None,
    standardize: bool = True,
    nominal: NDArray[np.bool_] | None = None,
) -> Training:
    """The training rows of a table; `nominal` marks the columns that hold codes of levels.

    Raises
    ------
    DataError
        If every column is constant, or the importance of all rows is zero.
    """
    count, outer = row_weights(name, len(y), counts, importance)
    scaling = learn_scaling(X, count, standardize)
    nominal = np.zeros(len(scaling.scale), dtype=bool) if nominal is None else nominal
    if nominal.any():
        scaling = scaling.leaving(nominal)
    varying = varying_columns(name, scaling, len(y))
    kept = scaling.apply_to_varying(X)
    steps = nominal_steps(kept, nominal[varying], count, standardize)
    return Training(kept, y, outer, count, scaling, varying, len(scaling.scale), n_classes, steps)


def row_weights(
    name: str, n: int, counts: NDArray[Any] | None, importance: Floats | None
) -> tuple[Floats, Floats]:
    """Weights of n rows as neighbours and in the outer sum, `count` and `outer` of `Training`."""
    count = np.ones(n) if counts is None else np.asarray(counts, dtype=np.float64)
    if importance is None:
        return count, count
    mean = float(importance @ count) / count.sum()
    if not mean > 0:
        raise DataError(f"{name}: all upstream instance weights are zero")
    return count, count * (importance / mean)


def varying_columns(name: str, scaling: Scaling, n: int) -> NDArray[np.intp]:
    """The columns that are not constant in the n rows; refused if there are none."""
    varying = scaling.varying
    if not varying.size:
        raise DataError(
            f"{name}: all {len(scaling.scale)} columns are constant in the {n} rows; there is "
            "nothing to select from"
        )
    return varying


def features_of(data: Dataset) -> Floats | Dataset:
    """The features if they are in memory as float64, else the table itself.

    The table is read some columns at a time, so only the scaled copy takes eight bytes per value.
    """
    return data.X if data.in_memory and data.matrix.dtype == np.float64 else data


def training_of(
    name: str, data: Dataset, upstream: Selection | None, standardize: bool = True
) -> Training:
    """The training rows of a Dataset, weighted by the upstream instance weights."""
    importance = None if upstream is None else upstream.instance_weights
    taken = take_training(
        name, features_of(data), data.y, data.n_classes, data.counts, importance, standardize,
        data.categorical,
    )  # fmt: skip
    return taken if data.groups is None else attrs.evolve(taken, groups=data.groups)


def require_margins(name: str, training: Training) -> None:
    """Refuse rows none of which has both a hit and a miss.

    Raises
    ------
    DataError
        If only one class is present, or no class has a second member.
    """
    _, members = np.unique(training.y, return_counts=True)
    if members.size < 2 or members.max() < 2:
        raise DataError(
            f"{name}: {members.size} class{'es' * (members.size > 1)} of at most {members.max()} "
            "rows: no row has both another member of its class and a row of another class, so "
            "there is no margin"
        )


def row_notes(training: Training) -> Iterator[str]:
    """Warnings about the rows: classes with a single member, and prototypes."""
    labels, members = np.unique(training.y, return_counts=True)
    lonely = labels[members == 1]
    if lonely.size:
        yield (
            f"{lonely.size} of {labels.size} classes have one member, which has no hit: "
            "such rows have no margin and count as neighbours of others only"
        )
    if training.drawn_from:
        yield (
            f"learned from {len(training.y)} of {training.drawn_from} rows, weighted for their "
            "classes (prototypes); another seed draws others"
        )


ROW_BYTES = 80
"""Bytes per row for drawing: labels, two weights, and temporaries."""


def prototypes_parameter() -> Any:
    """The parameter `prototypes` of methods that can learn from a sample of the rows."""
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

    The rows keep their order; all are taken if `n` is None or not below their number. Row weights
    are scaled within each class, in the outer sum and as neighbours, so that each class counts as
    much as before: sums over rows and over neighbours keep their expectations, and the cost and Σ
    differ from those of all rows by sampling error of the order 1/√n.
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
        steps=steps[varying],
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
