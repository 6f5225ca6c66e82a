"""Instances drawn from a table in parts, each compared with all of its rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe_relief.engine.neighbours import Nearest, Target
from fsframe_relief.engine.part_scores import scores_over_parts
from fsframe_relief.engine.row_order import content_order_over_parts
from fsframe_relief.methods.parameters import ReliefParameters
from fsframe_relief.methods.problem import (
    discrete_columns,
    label_codes,
    make_target,
    row_weights,
)

__all__ = ["can_draw_from_parts", "scores_in_parts"]

ROW_BYTES = 160
"""Bytes per row for sorting rows: labels, keys, and scratch."""


def can_draw_from_parts(method: ReliefParameters, data: Dataset) -> bool:
    """Whether scores over parts are supported: k nearest per class, shared ties, no gaps."""
    rule = method.rule()
    return (
        isinstance(rule, Nearest)
        and rule.ties == "share"
        and method.ramp is None
        and not method.permutations
        and method.task != "regression"
        and data.task == "classification"
        and not data.matrix.facts.missing.any()
    )


def scores_in_parts(
    method: ReliefParameters, data: Dataset, upstream: Selection | None, run: Run
) -> tuple[NDArray[np.float64], Target, NDArray[np.int64] | None, tuple[str, ...]]:
    """Scores, labels of the rows, the targets drawn (None: all), and warnings.

    The same instances are drawn as from the table in memory, with the same neighbours and weights.

    Raises
    ------
    RequestError
        If the arrays per row do not fit in memory.
    """
    rule = method.rule()
    assert isinstance(rule, Nearest)
    n = data.n_samples
    run.must_hold(
        ROW_BYTES * n,
        f"{method.method_name()}: {ROW_BYTES} bytes for each of {n} rows, to put them in order,",
        "put a filter such as mim:top=100 before",
    )
    discrete, notes = discrete_columns(method, data)
    y, _ = label_codes(method, data)
    weights = row_weights(data.counts, upstream, n)
    order = content_order_over_parts(data.matrix, run.memory // 4, y, *weights)
    order = order[np.argsort(y[order], kind="stable")]
    target, drawn, more = make_target(method, y, None, weights, order, run, (0,))
    targets = np.arange(n) if drawn is None else drawn
    scores = scores_over_parts(data.matrix, discrete, rule, target, order, targets, run)
    return scores, target, drawn, (*notes, *more)
