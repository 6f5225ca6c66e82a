"""Cells of an interaction: odds of the classes compared with those under main effects alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.run import Run
from fsframe_interactions.engine.bit_rows import BitRows
from fsframe_interactions.engine.log_linear_fit import fit, kirkwood
from fsframe_interactions.engine.screen import FIT_ROUNDS, FIT_TOLERANCE

__all__ = ["cell_tables"]


def cell_tables(bit_rows: BitRows, pairs: NDArray[np.int64], run: Run) -> dict[str, NDArray[Any]]:
    """Counts, expected counts and log odds ratios of every cell of some pairs, by name.

    The log odds ratio of class k in a cell is log((n_k + ½)/(n − n_k + ½)) minus that of the
    expected counts: zero if main effects explain the cell, positive if class k is more frequent.
    """
    places, counts, fits = [], [], []
    classes = bit_rows.n_classes
    tables = bit_rows.tables(pairs, run)
    for rank, (a, b) in enumerate(pairs.tolist()):
        shape = (int(bit_rows.levels[a]), int(bit_rows.levels[b]), classes)
        own = tables(np.array([rank]))[0, : shape[0], : shape[1]]
        table, expected = np.array(own, dtype=np.float64), np.empty(shape)
        margins = (np.empty(shape[:2]), np.empty((shape[0], classes)), np.empty(shape[1:]))
        kirkwood(table, *margins, expected)
        fit(*margins, expected, FIT_TOLERANCE, FIT_ROUNDS)
        cells = np.moveaxis(np.indices(shape), 0, -1).reshape(-1, 3)
        places.append(np.column_stack([np.full(len(cells), rank), cells]))
        counts.append(table)
        fits.append(expected)
    if not places:
        return {}
    log_odds = [_log_odds(n) - _log_odds(m) for n, m in zip(counts, fits, strict=True)]
    return {
        "cells": np.concatenate(places).astype(np.int64),
        "cell_counts": np.concatenate([n.ravel() for n in counts]).astype(np.int64),
        "cell_expected": np.concatenate([m.ravel() for m in fits]),
        "cell_log_odds": np.concatenate([values.ravel() for values in log_odds]),
    }


def _log_odds(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    others = counts.sum(axis=2, keepdims=True) - counts
    return np.asarray(np.log((counts + 0.5) / (np.maximum(others, 0.0) + 0.5)))
