"""All pairs of a tile of columns: counted, screened by an upper bound of G², fitted if need be."""

from __future__ import annotations

import numpy as np

from fsframe.bit_counts import LANES
from fsframe.compiled import njit
from fsframe_interactions.engine.fit import deviance, fit, freedom, kirkwood
from fsframe_interactions.engine.tables import complete_table, count_block, gather_rows

__all__ = ["FIT_ROUNDS", "FIT_TOLERANCE", "screen_tile"]

FIT_TOLERANCE = 1e-9
"""Relative size of what the margins of a fit may be off: G² is then exact to about 1e-16 n."""

FIT_ROUNDS = 2000
"""Rounds of fitting at most; reached only where the fit has cells that tend to zero."""


@njit()
def screen_tile(  # type: ignore[no-untyped-def]
    lanes,
    offsets,
    depth,
    words,
    stored,
    levels,
    margins,
    xlogx,
    least,
    row_block,
    first_block,
    last_block,
    pairs,
    found,
):
    """Test the columns of one block against those of some blocks, each pair a < b once.

    Parameters
    ----------
    lanes, offsets, depth, words, stored, levels, margins
        As in `fsframe_interactions.engine.planes.Planes`.
    xlogx : (n + 1,) float64
        x log x of every possible count.
    least : (most degrees of freedom + 1,) float64
        G² below which a pair of so many degrees of freedom is not reported; ascending.
    row_block, first_block, last_block : int
        Columns 8·row_block … against 8·first_block … 8·last_block − 1.
    pairs : (capacity, 2) int64
        Written: a and b of the pairs reported.
    found : (capacity, 3) float64
        Written: G², degrees of freedom, least expected count among cells that are not empty under
        the model.

    Returns
    -------
    int
        How many pairs were written.
    """
    n_columns = levels.size
    n_words = words[words.size - 1]
    classes = words.size - 1
    most_levels = margins.shape[1]
    first = row_block * LANES
    last = min(first + LANES, n_columns)
    rows = np.empty((max(1, depth[row_block] * LANES), n_words), np.uint64)
    starts = np.empty(LANES + 1, np.int64)
    n_rows = gather_rows(lanes, offsets[row_block], n_words, first, last, stored, rows, starts)
    largest = 1
    for block in range(first_block, last_block):
        largest = max(largest, depth[block])
    cells = np.empty(max(1, largest * classes * n_rows * LANES), np.uint64)
    space = np.empty((4, most_levels * most_levels * classes))
    ij_space = np.empty(most_levels * most_levels)
    ik_space = np.empty(most_levels * classes)
    jk_space = np.empty(most_levels * classes)
    of_k = np.empty(classes)
    written = 0
    for block in range(first_block, last_block):
        if n_rows:
            count_block(rows, n_rows, lanes, offsets[block], depth[block], words, n_words, cells)
        for a in range(first, last):
            levels_a = levels[a]
            if levels_a < 2:
                continue
            for b in range(max(a + 1, block * LANES), min((block + 1) * LANES, n_columns)):
                levels_b = levels[b]
                if levels_b < 2:
                    continue
                table = space[0][: levels_a * levels_b * classes].reshape(
                    levels_a, levels_b, classes
                )
                lane = b - block * LANES
                at_row = starts[a - first]
                for i in range(stored[a]):
                    for j in range(stored[b]):
                        for k in range(classes):
                            place = ((j * classes + k) * n_rows + at_row + i) * LANES + lane
                            table[i, j, k] = np.float64(np.int64(cells[place]))
                complete_table(table, stored[a], stored[b], margins[a], margins[b])

                # The bound: margins, and sums of x log x over the table and them.
                of_ij = ij_space[: levels_a * levels_b].reshape(levels_a, levels_b)
                of_ik = ik_space[: levels_a * classes].reshape(levels_a, classes)
                of_jk = jk_space[: levels_b * classes].reshape(levels_b, classes)
                of_ik[:] = 0.0
                of_jk[:] = 0.0
                bound = 0.0
                for i in range(levels_a):
                    for j in range(levels_b):
                        both = 0.0
                        for k in range(classes):
                            count = table[i, j, k]
                            bound += xlogx[np.uintp(np.int64(count))]
                            both += count
                            of_ik[i, k] += count
                            of_jk[j, k] += count
                        of_ij[i, j] = both
                        bound -= xlogx[np.uintp(np.int64(both))]
                of_k[:] = 0.0
                total = 0.0
                for i in range(levels_a):
                    size = 0.0
                    for k in range(classes):
                        count = of_ik[i, k]
                        bound -= xlogx[np.uintp(np.int64(count))]
                        of_k[k] += count
                        size += count
                    bound += xlogx[np.uintp(np.int64(size))]
                    if size > 0.0:
                        for k in range(classes):
                            of_ik[i, k] /= size
                    total += size
                for k in range(classes):
                    bound += xlogx[np.uintp(np.int64(of_k[k]))]
                for j in range(levels_b):
                    size = 0.0
                    for k in range(classes):
                        count = of_jk[j, k]
                        bound -= xlogx[np.uintp(np.int64(count))]
                        size += count
                    bound += xlogx[np.uintp(np.int64(size))]
                    if size > 0.0:
                        for k in range(classes):
                            if of_k[k] > 0.0:
                                of_jk[j, k] /= size * of_k[k]
                norm = 0.0
                for i in range(levels_a):
                    for j in range(levels_b):
                        share = 0.0
                        for k in range(classes):
                            share += of_ik[i, k] * of_jk[j, k]
                        norm += of_ij[i, j] * share
                if not total > 0.0:
                    continue
                bound -= xlogx[np.uintp(np.int64(total))]
                bound = 2.0 * (bound + total * np.log(norm))
                # A little room for rounding: what is left out must be below.
                if bound + 1e-9 * total < least[1]:
                    continue

                expected = space[1][: levels_a * levels_b * classes].reshape(
                    levels_a, levels_b, classes
                )
                kirkwood(table, of_ij, of_ik, of_jk, expected)
                free = freedom(of_ij, of_ik, of_jk)
                if free == 0 or bound + 1e-9 * total < least[free]:
                    continue
                fit(of_ij, of_ik, of_jk, expected, FIT_TOLERANCE, FIT_ROUNDS)
                g2 = deviance(table, expected)
                if g2 < least[free]:
                    continue
                smallest = np.inf
                for i in range(levels_a):
                    for j in range(levels_b):
                        for k in range(classes):
                            if of_ij[i, j] > 0.0 and of_ik[i, k] > 0.0 and of_jk[j, k] > 0.0:
                                smallest = min(smallest, expected[i, j, k])
                pairs[written, 0] = a
                pairs[written, 1] = b
                found[written, 0] = g2
                found[written, 1] = free
                found[written, 2] = smallest
                written += 1
    return written
