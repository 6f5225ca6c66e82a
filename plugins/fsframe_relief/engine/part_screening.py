"""Candidate neighbours in a table in parts: screened by distances of bytes, decided in doubles.

A continuous column is a byte q = round(255 z), a discrete one a code, whose difference counts 255.
With D_ij the sum over columns and e_i the sum of |255 z − q| of row i, 255 d_ij is within e_i + e_j
of D_ij. So a row is among the k nearest of a class only if D_ij − e_j is at most the k-th smallest
D_ij + e_j of that class, plus 2 e_i: of the rows seen so far, too, and that limit only falls.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.threads import in_threads
from fsframe_relief.engine import part_kernels as kernels
from fsframe_relief.engine.neighbour_kernels import TIE

__all__ = ["TIE", "NearRows", "near_rows"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@attrs.frozen(kw_only=True, eq=False)
class NearRows:
    """All rows at most as far as the k-th nearest of a group, and some more.

    Parameters
    ----------
    numbers, distances : (b, n_groups, capacity)
        Numbers of the rows, and their exact distances.
    sizes : (b, n_groups) int64
    lost : (b,) bool
        Targets with more candidates than the lists can take.
    k : int
        Number of neighbours in each group.
    """

    numbers: Places
    distances: Floats
    sizes: Places
    lost: NDArray[np.bool_]
    k: int

    def nearest(self, targets: NDArray[np.intp], most: int) -> tuple[Floats, Floats, Places]:
        """The smallest distances of some targets, (b, n_groups, most), ascending, ∞ at the end.

        Then the k-th smallest (or the last; −1 without any), and how many rows are as far as that.
        """
        groups = self.sizes.shape[1]
        best = np.full((len(targets), groups, most), np.inf)
        edge, tied = np.full(best.shape[:2], -1.0), np.zeros(best.shape[:2], np.int64)
        for t, g in np.ndindex(*best.shape[:2]):
            size = int(self.sizes[targets[t], g])
            if not size:
                continue
            own = np.sort(self.distances[targets[t], g, :size])
            best[t, g, : min(size, most)] = own[:most]
            e = edge[t, g] = own[min(size, self.k) - 1]
            tied[t, g] = ((own >= e * (1 - TIE)) & (own <= e * (1 + TIE))).sum()
        return best, edge, tied

    def sums(
        self,
        kept: NDArray[np.intp],
        rows: Any,
        targets: Floats,
        best: Floats,
        edge: Floats,
        weight: Floats,
        at_edge: Floats,
    ) -> Places:
        """What the neighbours of the targets `kept` give every column, in whole numbers."""
        owners, numbers, weights = kernels.listed_weights(
            self.numbers[kept], self.distances[kept], self.sizes[kept], best, edge, weight, at_edge
        )
        order = np.argsort(numbers, kind="stable")
        owners, numbers, weights = owners[order], numbers[order], weights[order]
        wanted, place = np.unique(numbers, return_inverse=True)
        found = np.zeros(targets.shape[1], np.int64)
        for which, values in rows.some(wanted):
            first, last = np.searchsorted(place, [which.start, which.stop])
            kernels.add_listed(
                targets, owners[first:last], values, place[first:last] - which.start,
                weights[first:last], rows.real.size, found,
            )  # fmt: skip
        return found


def near_rows(
    rows: Any,
    targets: Floats,
    own: Places,
    y: Places,
    mine: Places,
    pooled: bool,
    n_groups: int,
    k: int,
    capacity: int,
    threads: int,
) -> NearRows:
    """The rows that may be near targets, after one pass over all rows.

    Parameters
    ----------
    rows : iterable of blocks
        With `blocks`, `coded` and `ready`.
    targets : (b, p) float64
        Continuous columns scaled to 0 … 1, then codes of discrete ones.
    own : (b,) int64
        Numbers of the targets' rows, which are no neighbours of themselves.
    y : (n,) int64
        Class of every row.
    mine : (b,) int64
        Classes of the targets.
    pooled : bool
        Whether there are two groups, hits and misses, in place of one for each class.
    k : int
    capacity : int
        Of the lists; above k.
    threads : int
        Each has targets of its own; they change no bit.

    Returns
    -------
    NearRows

    Notes
    -----
    O(b n p) differences of bytes, and of doubles only for rows that bytes do not rule out. Memory:
    20 bytes for each place of a list, and a block of rows as bytes and as it was read.
    """
    b, n_real = len(targets), rows.real.size
    exact = targets[:, :n_real] * 255
    codes = np.empty(targets.shape, np.uint8)
    codes[:, :n_real] = np.rint(exact)
    codes[:, n_real:] = targets[:, n_real:] - rows.summary.low[rows.codes]
    # One more for the rounding of all this and for ties.
    slack = 2 * np.ceil(np.abs(exact - np.rint(exact)).sum(axis=1)).astype(np.int32) + 2
    top = np.full((b, n_groups, k), kernels.FAR, np.int32)
    found = np.empty((b, n_groups * capacity), np.int32)
    near = NearRows(
        numbers=np.empty((b, n_groups, capacity), np.int64),
        distances=np.empty((b, n_groups, capacity)),
        sizes=np.zeros((b, n_groups), np.int64),
        lost=np.zeros(b, bool),
        k=k,
    )
    threads = max(1, min(threads, b))
    shares = [slice(*cut) for cut in pairwise(np.linspace(0, b, threads + 1).astype(int).tolist())]
    for at, block in rows.blocks():
        theirs, error = rows.coded(block)
        classes = y[at : at + len(block)]
        lost = np.ceil(error).astype(np.int32)
        counts = np.zeros(b, np.int64)

        def screen(t: slice, at: int = at, theirs: Any = theirs, classes: Any = classes,
                   lost: Any = lost, counts: Any = counts) -> None:  # fmt: skip
            kernels.screen(
                codes[t], own[t], theirs, n_real, at, classes, mine[t], pooled, slack[t], lost,
                top[t], near.lost[t], found[t], counts[t],
            )  # fmt: skip

        in_threads(threads, screen, shares)
        wanted = np.unique(np.concatenate([found[t, :size] for t, size in enumerate(counts)]))
        if not wanted.size:
            continue
        values = rows.ready(block[wanted]).T.copy()
        place = np.empty(len(block), np.int64)
        place[wanted] = np.arange(len(wanted))

        def add_found(t: slice, at: int = at, values: Any = values, place: Any = place,
                    classes: Any = classes, counts: Any = counts) -> None:  # fmt: skip
            kernels.add_exact_distances(
                targets[t], n_real, at, classes, mine[t], pooled, k, found[t], counts[t], place,
                values, near.numbers[t], near.distances[t], near.sizes[t], near.lost[t],
            )  # fmt: skip

        in_threads(threads, add_found, shares)
    return near
