"""A table, its label and its weights, prepared for a method of the family."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.method.run import Run, size_text
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe_relief.engine.blocks import SMALL
from fsframe_relief.engine.columns import Columns, prepare_columns
from fsframe_relief.engine.neighbours import Target
from fsframe_relief.engine.part_scores import few_levels_over_parts
from fsframe_relief.engine.row_order import content_order
from fsframe_relief.engine.table_values import ByteTable, ColumnSummary, few_levels, summarise
from fsframe_relief.methods.parameters import ReliefParameters

__all__ = [
    "Problem",
    "discrete_columns",
    "label_codes",
    "make_problem",
    "make_target",
    "row_weights",
    "table_values",
    "ties_by_index",
    "with_target",
]

FEW_LEVELS = 10


@attrs.frozen(kw_only=True, eq=False)
class Problem:
    """A prepared table with its label.

    `order` are the rows of the dataset in the order used, `drawn` the targets as positions in it
    (None: all), `discrete` the columns with diff 0 or 1, `notes` the warnings, `groups` the groups
    of rows, in that order.
    """

    columns: Columns
    target: Target
    order: NDArray[np.intp]
    drawn: NDArray[np.int64] | None
    threads: int
    discrete: NDArray[np.bool_]
    notes: tuple[str, ...]
    groups: NDArray[np.int64] | None = None


def make_problem(
    method: ReliefParameters,
    data: Dataset,
    upstream: Selection | None,
    run: Run,
    *,
    columns: NDArray[np.intp] | None = None,
    discrete: tuple[NDArray[np.bool_], tuple[str, ...]] | None = None,
    draw: tuple[int, ...] = (0,),
) -> Problem:
    """The table of `data` (or some `columns` of it) prepared for `method`.

    `discrete` is that of `discrete_columns`, if known;
    `draw` is the key of the random stream that draws the targets.
    """
    X = table_values(data, columns)
    threads = threads_for(len(X), X.shape[1], run)
    summary = summarise(X, threads)
    if discrete is None:
        discrete = discrete_columns(method, data, X, summary)
    mask, notes = discrete
    if columns is not None:
        mask = mask[columns]
    y, value = label_codes(method, data)
    weights = row_weights(data.counts, upstream, len(y))
    if ties_by_index(method):
        order = np.arange(len(y))
    else:
        order = content_order(X, y if value is None else value, *weights)
    # Rows are sorted by class, so that loops over one class need no labels.
    order = order[np.argsort(y[order], kind="stable")]
    prepared = prepare_columns(
        X,
        mask,
        order=order,
        ramp=None if method.ramp is None else (method.ramp[0], method.ramp[1]),
        classes=y if method.missing == "probability" else None,
        counts=weights[0],
        names=data.feature_names if columns is None else None,
        summary=summary,
        threads=threads,
    )
    blank = prepared.blank
    if blank.size:
        first = data.feature_names[blank[0] if columns is None else columns[blank[0]]]
        notes = (*notes, f"{blank.size} columns have no value at all and no score, first {first!r}")
    return with_target(method, prepared, y, value, weights, order, run, draw, mask, notes)


def table_values(
    data: Dataset, columns: NDArray[np.intp] | None = None
) -> NDArray[Any] | ByteTable:
    """All or some columns of a table: uint8 as it is, other bytes and bits as a `ByteTable`."""
    seen = data if columns is None else data.take_columns(columns)
    if seen.matrix.dtype == np.uint8:
        return seen.values
    found = seen.byte_values()
    return seen.X if found is None else ByteTable(*found)


def threads_for(n: int, p: int, run: Run) -> int:
    """Number of threads for a table of that size."""
    return 1 if float(n) ** 2 * p < SMALL else run.threads


def ties_by_index(method: ReliefParameters) -> bool:
    """Whether ties are broken by the order of rows, which must then be kept."""
    return bool(getattr(method, "ties", "share") == "index")


def row_weights(
    counts: NDArray[np.int64] | None, upstream: Selection | None, n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count of each row, and its importance as a target."""
    importance = np.ones(n)
    if upstream is not None and upstream.instance_weights is not None:
        importance = upstream.instance_weights
    drawn = np.ones(n) if counts is None else counts.astype(np.float64)
    if not (drawn * importance).sum() > 0:
        raise DataError("all instance weights from the stage on the left are zero")
    return drawn, importance


def with_target(
    method: ReliefParameters,
    prepared: Columns,
    y: NDArray[np.int64],
    value: NDArray[np.float64] | None,
    weights: tuple[NDArray[np.float64], NDArray[np.float64]],
    order: NDArray[np.intp],
    run: Run,
    draw: tuple[int, ...],
    mask: NDArray[np.bool_],
    notes: tuple[str, ...],
) -> Problem:
    """The Problem of prepared columns, in `order`; labels and weights are not."""
    labellings = 8 * (method.permutations + 1) * len(y)
    if method.permutations and labellings > run.memory // 2:
        raise RequestError(
            f"{method.method_name()}: permutations={method.permutations} keeps "
            f"{size_text(labellings)} of row numbers, more than half of the "
            f"{size_text(run.memory)} that a fit may hold; ask for at most "
            f"{max(0, run.memory // 16 // len(y) - 1)}, or allow more memory (--memory)"
        )
    target, drawn, more = make_target(method, y, value, weights, order, run, draw)
    return Problem(
        columns=prepared,
        target=target,
        order=order,
        drawn=drawn,
        threads=threads_for(len(y), prepared.n_features, run),
        discrete=mask,
        notes=(*notes, *more),
    )


def make_target(
    method: ReliefParameters,
    y: NDArray[np.int64],
    value: NDArray[np.float64] | None,
    weights: tuple[NDArray[np.float64], NDArray[np.float64]],
    order: NDArray[np.intp],
    run: Run,
    draw: tuple[int, ...],
) -> tuple[Target, NDArray[np.int64] | None, tuple[str, ...]]:
    """The target of rows in `order`, the targets drawn (None: all), and warnings."""
    counts, importance = weights
    sizes = np.bincount(y, weights=counts)
    omega = (counts * importance)[order]
    drawn = None
    notes: tuple[str, ...] = ()
    if method.m is not None and method.m < counts.sum():
        copies = counts[order].astype(np.int64)
        times = run.generator(*draw).multivariate_hypergeometric(
            copies, method.m, method="marginals"
        )
        drawn = np.flatnonzero(times).astype(np.int64)
        omega = times * importance[order]
    elif method.m is not None and method.m > counts.sum():
        all_used = f"m={method.m} is more than the {int(counts.sum())} instances: all were used"
        notes = (all_used,)
    if not omega.sum() > 0:
        raise DataError("all target instances that were drawn have weight zero; draw more (m)")
    target = Target(
        y=y[order],
        prior=sizes / sizes.sum(),
        counts=counts[order],
        omega=omega / omega.sum(),
        value=None if value is None else value[order],
        ramp=(0.0, 1.0) if method.ramp is None else (method.ramp[0], method.ramp[1]),
    )
    return target, drawn, notes


def label_codes(
    method: ReliefParameters, data: Dataset, rows: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Class codes, and the numeric target divided by its range (None in classification).

    Of some `rows` only, if they are given.
    """
    y = data.y if rows is None else data.y[rows]
    task = data.task if method.task == "data" else method.task
    if task not in method.tasks:
        raise RequestError(
            f"{method.method_name()}: task={task} is not supported; it is made for "
            f"{' and '.join(sorted(method.tasks))}"
        )
    if task == "classification":
        codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
        if codes.max(initial=0) < 1:
            raise DataError(f"label {data.label_name!r} has one class only; two are needed")
        return codes, None
    value = y.astype(np.float64)
    if data.task == "classification":
        try:
            value = np.asarray(data.classes, dtype=np.float64)[y]
        except (TypeError, ValueError):
            raise RequestError(
                f"{method.method_name()}: task=regression needs numbers, and label "
                f"{data.label_name!r} has classes such as {data.classes[0]!r}"
            ) from None
    spread = float(np.ptp(value))
    if not spread > 0:
        raise DataError(f"label {data.label_name!r} has the same value everywhere")
    return np.zeros(len(value), dtype=np.int64), value / spread


def discrete_columns(
    method: ReliefParameters,
    data: Dataset,
    X: NDArray[Any] | ByteTable | None = None,
    summary: ColumnSummary | None = None,
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Mask of discrete columns, and a warning about that choice; `X` and its summary are those of
    all columns, if known."""
    wanted = method.discrete_features
    p = data.n_features
    if wanted == "all":
        return np.ones(p, dtype=bool), ()
    if wanted == "none":
        return np.zeros(p, dtype=bool), ()
    if wanted == "auto":
        if data.categorical.any() or data.ordinal.any():
            return np.asarray(data.categorical), ()
        if data.in_parts:
            mask = few_levels_over_parts(data.matrix, FEW_LEVELS)
        else:
            X = table_values(data) if X is None else X
            mask = few_levels(X, summary or summarise(X), FEW_LEVELS)
        if not mask.any():
            return mask, ()
        note = (
            f"{int(mask.sum())} of {p} columns have at most {FEW_LEVELS} distinct values and were "
            "taken as discrete, the others as continuous; discrete_features says it for certain"
        )
        return mask, (note,)
    mask, absent = np.zeros(p, dtype=bool), []
    place = {name: k for k, name in enumerate(data.feature_names)}
    for item in wanted:
        if isinstance(item, int) and item < p:
            mask[item] = True
        elif str(item) in place:
            mask[place[str(item)]] = True
        elif isinstance(item, int):
            raise RequestError(
                f"{method.method_name()}: discrete_features names column {item}, and there are "
                f"{p}, numbered from 0"
            )
        else:
            absent.append(str(item))
    if absent:
        # A stage before may have dropped the column, so this is no error.
        return mask, (f"discrete_features names columns that are not here: {', '.join(absent)}",)
    return mask, ()
