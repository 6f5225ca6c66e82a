"""Distances between instances, by rows or as a whole matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe_relief.engine.blocks import row_block, run_blocks
from fsframe_relief.engine.columns import Columns

__all__ = ["distance_rows", "full_distances"]


def distance_rows(
    columns: Columns, rows: NDArray[np.int64], out: NDArray[np.float64], first: int = 0
) -> NDArray[np.float64]:
    """Distances from the instances `rows` to those from `first` on, written into `out`.

    Parameters
    ----------
    rows : (b,) int64
        Target instances.
    out : (b, n) float64, C order
        Columns before `first` are left as they are.

    Returns
    -------
    (b, n) float64
        `out`: sums of diffs over all columns (Manhattan); where values are missing, the mean over
        the columns known in both times the number of columns, NaN if they share none.

    Notes
    -----
    O(b n p) time, `out` and as much again where values are missing.
    """
    from fsframe_relief.engine.distance_kernels import (
        mismatch_distances,
        plain_distances,
        probability_distances,
        special_distances,
    )

    out[:, first:] = 0.0
    shared = np.zeros_like(out) if columns.shares else np.empty((0, 0))
    if columns.plain.size:
        plain_distances(columns.scaled, rows, first, out)
    if columns.levelled.size:
        mismatch_distances(
            columns.planes, columns.known, columns.segments, rows, first, out, shared
        )
    if columns.special.size:
        special_distances(
            columns.values, columns.n_real, columns.weight, columns.floor, columns.slope,
            rows, first, out, shared,
        )  # fmt: skip
    chance = columns.probability
    if chance is not None:
        probability_distances(
            chance.values, chance.state, chance.first_state, chance.n_real, columns.floor,
            columns.slope, chance.level, chance.chance, chance.y, rows, first, out,
        )  # fmt: skip
    if columns.shares:
        always = columns.plain.size + columns.constant_weight
        if not columns.known.shape[1]:
            always += columns.levelled.size
        if chance is not None:
            always += chance.columns.size
        known = shared[:, first:] + float(always)
        with np.errstate(divide="ignore", invalid="ignore"):
            # 0 / 0 is NaN: no shared column, no neighbour
            out[:, first:] /= known
        out[:, first:] *= columns.n_features
    return out


def full_distances(columns: Columns, threads: int = 1) -> NDArray[np.float64]:
    """The (n, n) matrix of distances, each pair computed once; 8 n^2 bytes."""
    n = columns.n
    D = np.empty((n, n))
    width = row_block(n, columns.n_features)

    def block(i0: int) -> None:
        i1 = min(n, i0 + width)
        distance_rows(columns, np.arange(i0, i1), D[i0:i1], i0)
        D[i1:, i0:i1] = D[i0:i1, i1:].T

    for _ in run_blocks(block, range(0, n, width), threads):
        pass
    return D
