"""Probabilities of values in each class, for columns with gaps under the probability rule."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_relief.engine.byte_table import ByteTable
from fsframe_relief.engine.scaling import scaled

__all__ = ["Probability", "gap_chances"]


@attrs.frozen(kw_only=True, eq=False)
class Probability:
    """Columns with gaps under the probability rule, continuous ones first.

    A value's state is its code (continuous: one of five equal bins), a gap's the number of codes
    plus its class; states of column a are numbered from ``first_state[a]``. `chance` holds
    P(value | class), column by column, class by class.
    """

    columns: NDArray[np.intp]
    values: NDArray[np.float64]
    n_real: int
    level: NDArray[np.int64]
    state: NDArray[np.int32]
    first_state: NDArray[np.int64]
    chance: NDArray[np.float64]
    y: NDArray[np.int64]


def gap_chances(
    X: NDArray[Any] | ByteTable,
    columns: NDArray[np.intp],
    discrete: NDArray[np.bool_],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    order: NDArray[np.intp],
    classes: NDArray[np.int64] | None,
    counts: NDArray[np.float64] | None,
) -> Probability | None:
    """Chances of values in each class, Laplace-corrected; continuous columns in five equal bins."""
    if classes is None or not columns.size:
        return None
    y = classes[order]
    n_classes = int(y.max()) + 1
    rows = np.ones(len(y)) if counts is None else counts[order]
    columns = columns[np.argsort(discrete[columns], kind="stable")]
    n_real = int((~discrete[columns]).sum())
    values = X[np.ix_(order, columns)]
    values[:, :n_real] = scaled(X, columns[:n_real], low, high, order)
    level = np.full(values.shape, -1, dtype=np.int64)
    chances, first_state = [], [0]
    for k in range(columns.size):
        known = ~np.isnan(values[:, k])
        if k < n_real:
            level[known, k] = np.minimum((values[known, k] * 5).astype(np.int64), 4)
            n_levels = 5
        else:
            found, inverse = np.unique(values[known, k], return_inverse=True)
            level[known, k] = inverse
            n_levels = found.size
        place = y[known] * n_levels + level[known, k]
        seen = np.bincount(place, weights=rows[known], minlength=n_classes * n_levels)
        seen = seen.reshape(n_classes, n_levels)
        chance = (seen + 1) / (seen.sum(axis=1, keepdims=True) + n_levels)
        # room for a gap's states too, so that chances and states are numbered alike
        chances.append(np.append(chance.ravel(), np.zeros(n_classes * n_classes)))
        first_state.append(first_state[-1] + n_levels + n_classes)
    starts = np.array(first_state, dtype=np.int64)
    state = np.empty(level.shape, dtype=np.int32)
    for k in range(columns.size):
        gap_state = starts[k + 1] - starts[k] - n_classes + y
        state[:, k] = np.where(level[:, k] >= 0, level[:, k], gap_state) + starts[k]
    return Probability(
        columns=columns,
        values=values,
        n_real=n_real,
        level=level,
        state=state,
        first_state=starts,
        chance=np.concatenate(chances),
        y=y.astype(np.int64),
    )
