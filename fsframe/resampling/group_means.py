"""Tables of groups: the independent unit of a test is the group, represented by its means."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.resampling.groups import Grouping
from fsframe.table.arrays import freeze
from fsframe.table.dataset import Dataset


def label_problem(data: Dataset, name: str) -> str:
    """A sentence of the method `name` if labels vary within groups; empty otherwise."""
    if data.groups is None:
        return ""
    _, first, code = np.unique(data.groups, return_index=True, return_inverse=True)
    mixed = data.y != data.y[first][code]
    if not mixed.any():
        return ""
    row = int(np.argmax(mixed))
    return (
        f"{name}: the label varies within {data.group_name!r} (rows "
        f"{first[code[row]] + 1} and {row + 1}); with groups their means are tested, which "
        "need a label that is the same in all rows of a group. Leave the groups out "
        "(--groups) only if rows are independent"
    )


def with_group_means(data: Dataset, name: str) -> Dataset:
    """The table of groups: the mean of each column over a group's rows, and the group's label.

    `data` itself without groups. A column that does not vary within a group stays as it is there;
    of categories it is the most frequent (the lowest, on a tie). A value is missing where all of a
    group's are. Counts of groups are those that they were drawn with.

    Raises
    ------
    DataError
        Of the method `name`, if the label varies within a group, or a resample splits a group.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [4.0, np.nan]])
    >>> data = Dataset.from_arrays(X, np.array([0, 0, 1]), groups=np.array([7, 7, 9]))
    >>> means = with_group_means(data, "anova-f")
    >>> means.X.tolist(), means.y.tolist()
    ([[2.0, 5.0], [4.0, nan]], [0, 1])
    """
    if data.groups is None:
        return data
    problem = label_problem(data, name)
    if problem:
        raise DataError(problem)
    codes = data.y if data.task == "classification" else None
    together = Grouping.of(data.groups, codes, data.counts)
    first = np.zeros(len(together), dtype=np.intp)
    first[together.code[::-1]] = np.arange(data.n_samples)[::-1]
    if (together.rest != 1).any():
        raise DataError(
            f"{name}: a resample splits rows of one {data.group_name!r}; the test uses "
            "means over whole groups"
        )
    X = np.empty((len(together), data.n_features))
    for start, stop in data.column_blocks():
        block = np.asarray(data.columns(start, stop)).astype(np.float64)
        for place in range(stop - start):
            nominal = bool(data.categorical[start + place])
            X[:, start + place] = _of_groups(block[:, place], together, nominal)
    X.setflags(write=False)
    given = data.covariates
    if given is not None:
        means = [
            _of_groups(values, together, bool(nominal))
            for values, nominal in zip(given.values.T, given.nominal, strict=True)
        ]
        given = attrs.evolve(given, values=freeze(np.column_stack(means)))
    return attrs.evolve(
        data,
        covariates=given,
        matrix=X,
        y=data.y[first],
        counts=None if data.counts is None else together.times,
        groups=None,
        group_name="",
    )


def _of_groups(
    values: NDArray[np.float64], together: Grouping, nominal: bool
) -> NDArray[np.float64]:
    """One value per group."""
    known = ~np.isnan(values)
    code, present = together.code[known], values[known]
    low, high = np.full(len(together), np.inf), np.full(len(together), -np.inf)
    np.minimum.at(low, code, present)
    np.maximum.at(high, code, present)
    if nominal:
        levels, level = np.unique(present, return_inverse=True)
        times = np.zeros((len(together), max(1, levels.size)))
        np.add.at(times, (code, level), 1.0)
        mean = levels[times.argmax(axis=1)] if levels.size else np.zeros(len(together))
    else:
        rows = np.maximum(np.bincount(code, minlength=len(together)), 1)
        # Differences from the smallest, because sums of large values would lose small variation.
        rest = np.bincount(code, weights=present - low[code], minlength=len(together)) / rows
        mean = np.where(np.isfinite(low), low, 0.0) + rest
    return np.where(high < low, np.nan, np.where(low == high, low, mean))
