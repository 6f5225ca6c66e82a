"""Contingency tables of pairs: the model without interaction, tails of its tests, simulation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from fsframe.kernels.bit_counts import LANES, at, count_rows, popcount
from fsframe.kernels.compiled import njit

FIT_TOLERANCE = 1e-9
"""Relative tolerance of the margins of a fit; the error of G² is then about 1e-16 n."""

FIT_ROUNDS = 2000
"""Most rounds of fitting; reached only if cells of the fit tend to zero."""


@njit()
def row_starts(first, last, stored, starts):
    """Write the first bit row of each column of one block; return their number."""
    starts[0] = 0
    for column in range(first, last):
        starts[column - first + 1] = starts[column - first] + stored[column]
    return starts[last - first]


@njit()
def gather_rows(lanes, offset, n_words, first, last, stored, rows):
    """Write the bit rows of the columns of one block contiguously."""
    written = 0
    for column in range(first, last):
        for level in range(stored[column]):
            for word in range(n_words):
                place = offset + (level * n_words + word) * LANES + column - first
                rows[written, word] = lanes[place]
            written += 1


@njit()
def count_block(rows, n_rows, lanes, offset, depth, words, n_words, cells):
    """Count the bits that each of `rows` shares with each bit row of a block, class by class.

    They are written to `cells`, (depth, n_classes, n_rows, 8) uint64.
    """
    for level in range(depth):
        for k in range(words.size - 1):
            first = words[k]
            length = words[k + 1] - first
            mine = at(lanes, offset + (level * n_words + first) * LANES)
            into = at(cells, (level * (words.size - 1) + k) * n_rows * LANES)
            count_rows(mine, rows, n_rows, n_words, first, length, into)


@njit()
def complete_table(table, stored_a, stored_b, of_a, of_b):
    """Fill in the last level of columns without missing values from the other column's margin."""
    levels_a, levels_b, classes = table.shape
    if stored_b < levels_b:
        for i in range(stored_a):
            for k in range(classes):
                rest = of_a[i, k]
                for j in range(stored_b):
                    rest -= table[i, j, k]
                table[i, stored_b, k] = rest
    if stored_a < levels_a:
        for j in range(levels_b):
            for k in range(classes):
                rest = of_b[j, k]
                for i in range(stored_a):
                    rest -= table[i, j, k]
                table[stored_a, j, k] = rest


@njit()
def count_pairs(lanes, offsets, words, stored, pairs, tables):
    """Add the joint counts of `pairs` of columns to `tables`, for levels with bit rows.

    `tables` is (m, most levels, most levels, n_classes).
    """
    n_words = words[words.size - 1]
    for pair in range(len(pairs)):
        a, b = pairs[pair]
        for i in range(stored[a]):
            mine = offsets[a // LANES] + i * n_words * LANES + a % LANES
            for j in range(stored[b]):
                theirs = offsets[b // LANES] + j * n_words * LANES + b % LANES
                for k in range(words.size - 1):
                    count = np.uint64(0)
                    for word in range(words[k], words[k + 1]):
                        count += popcount(lanes[mine + word * LANES] & lanes[theirs + word * LANES])
                    tables[pair, i, j, k] += np.int64(count)


@njit()
def complete_tables(levels, stored, margins, pairs, tables):
    """Fill in the last levels of tables that `count_pairs` has counted."""
    for pair in range(len(pairs)):
        a, b = pairs[pair]
        table = tables[pair, : levels[a], : levels[b]]
        complete_table(table, stored[a], stored[b], margins[a], margins[b])


@njit()
def tile_cells(depth, stored, classes, row_block, first_block, last_block):
    """Number of counts that `tile_counts` writes for a tile."""
    n_rows = 0
    for column in range(row_block * LANES, min((row_block + 1) * LANES, stored.size)):
        n_rows += stored[column]
    deepest = 0
    for block in range(first_block, last_block):
        deepest += depth[block]
    return deepest * classes * n_rows * LANES


@njit()
def tile_counts(lanes, offsets, depth, words, stored, row_block, first_block, last_block, counts):
    """Add to `counts` the numbers of bits that one block's columns share with a range of blocks'.

    `counts` holds (depth, n_classes, n_rows, 8) numbers for each block of the range, one after the
    other.
    """
    classes, n_words = words.size - 1, words[words.size - 1]
    first = row_block * LANES
    last = min(first + LANES, stored.size)
    starts = np.empty(LANES + 1, np.int64)
    n_rows = row_starts(first, last, stored, starts)
    if not n_rows:
        return
    rows = np.empty((n_rows, n_words), np.uint64)
    gather_rows(lanes, offsets[row_block], n_words, first, last, stored, rows)
    largest = 0
    for block in range(first_block, last_block):
        largest = max(largest, depth[block])
    cells = np.empty(largest * classes * n_rows * LANES, np.uint64)
    into = 0
    for block in range(first_block, last_block):
        count_block(rows, n_rows, lanes, offsets[block], depth[block], words, n_words, cells)
        size = depth[block] * classes * n_rows * LANES
        for place in range(size):
            counts[into + place] += cells[place]
        into += size


@njit()
def kirkwood(table, of_ij, of_ik, of_jk, expected):
    """Write the margins of `table` (levels, levels, classes) and its Kirkwood superposition.

    That is p_ij p_ik p_jk / (p_i p_j p_k) divided by its sum η, a member of the model without the
    three-way term and the start of iterative proportional fitting. Returns the total count.
    """
    levels_a, levels_b, classes = table.shape
    of_ij[:] = 0.0
    of_ik[:] = 0.0
    of_jk[:] = 0.0
    total = 0.0
    for i in range(levels_a):
        for j in range(levels_b):
            for k in range(classes):
                count = table[i, j, k]
                of_ij[i, j] += count
                of_ik[i, k] += count
                of_jk[j, k] += count
                total += count
    norm = 0.0
    for i in range(levels_a):
        of_i = 0.0
        for j in range(levels_b):
            of_i += of_ij[i, j]
        for j in range(levels_b):
            of_j = 0.0
            for k in range(classes):
                of_j += of_jk[j, k]
            for k in range(classes):
                value = 0.0
                if of_ij[i, j] > 0.0 and of_ik[i, k] > 0.0 and of_jk[j, k] > 0.0:
                    of_k = 0.0
                    for row in range(levels_a):
                        of_k += of_ik[row, k]
                    value = of_ij[i, j] / of_i * of_ik[i, k] / of_j * of_jk[j, k] / of_k
                expected[i, j, k] = value
                norm += value
    if norm > 0.0:
        for i in range(levels_a):
            for j in range(levels_b):
                for k in range(classes):
                    expected[i, j, k] *= total / norm
    return total


@njit()
def fit(of_ij, of_ik, of_jk, expected, tolerance, most):
    """Scale `expected` to the three margins in turn until none is off by more than `tolerance`.

    Every step stays within the model, where the deviance is flat at the fit: its error is of the
    order of the squared error of the margins. Tables whose fit has empty cells other than those of
    empty margins converge slowly and stop after `most` rounds.
    """
    levels_a, levels_b, classes = expected.shape
    for _ in range(most):
        worst = 0.0
        for i in range(levels_a):
            for j in range(levels_b):
                have = 0.0
                for k in range(classes):
                    have += expected[i, j, k]
                if have > 0.0:
                    ratio = of_ij[i, j] / have
                    for k in range(classes):
                        expected[i, j, k] *= ratio
        for i in range(levels_a):
            for k in range(classes):
                have = 0.0
                for j in range(levels_b):
                    have += expected[i, j, k]
                if have > 0.0:
                    ratio = of_ik[i, k] / have
                    worst = max(worst, abs(ratio - 1.0))
                    for j in range(levels_b):
                        expected[i, j, k] *= ratio
        for j in range(levels_b):
            for k in range(classes):
                have = 0.0
                for i in range(levels_a):
                    have += expected[i, j, k]
                if have > 0.0:
                    ratio = of_jk[j, k] / have
                    worst = max(worst, abs(ratio - 1.0))
                    for i in range(levels_a):
                        expected[i, j, k] *= ratio
        if worst <= tolerance:
            return


@njit()
def deviance(table, expected):
    """G² = 2 Σ n log(n / expected), over cells with n > 0."""
    total = 0.0
    levels_a, levels_b, classes = table.shape
    for i in range(levels_a):
        for j in range(levels_b):
            for k in range(classes):
                count = table[i, j, k]
                if count > 0.0:
                    total += count * np.log(count / max(expected[i, j, k], 1e-300))
    return max(0.0, 2.0 * total)


@njit()
def _positive(margin):
    for i in range(margin.shape[0]):
        for j in range(margin.shape[1]):
            if not margin[i, j] > 0.0:
                return False
    return True


@njit()
def freedom(of_ij, of_ik, of_jk):
    """Degrees of freedom of the deviance: cells the model can fill minus its parameters there.

    Without empty margins that is (A − 1)(B − 1)(K − 1). A cell is empty under the model if its pair
    of levels never occurs, or one of the two never in the class. A pair of levels with c classes
    left gives c − 1 log odds; the rank of the main effects on all log odds is subtracted.
    """
    levels_a, levels_b = of_ij.shape
    classes = of_ik.shape[1]
    if _positive(of_ij) and _positive(of_ik) and _positive(of_jk):
        return (levels_a - 1) * (levels_b - 1) * (classes - 1)
    unknown = (levels_a + levels_b) * classes
    pivots = np.zeros((unknown, unknown))
    used = np.zeros(unknown, np.bool_)
    row = np.empty(unknown)
    rest = 0
    for i in range(levels_a):
        for j in range(levels_b):
            if of_ij[i, j] <= 0.0:
                continue
            first = -1
            for k in range(classes):
                if of_ik[i, k] <= 0.0 or of_jk[j, k] <= 0.0:
                    continue
                if first < 0:
                    first = k
                    continue
                row[:] = 0.0
                row[i * classes + k] = 1.0
                row[i * classes + first] = -1.0
                row[(levels_a + j) * classes + k] = 1.0
                row[(levels_a + j) * classes + first] = -1.0
                free = True
                for place in range(unknown):
                    if abs(row[place]) < 1e-9:
                        continue
                    # Loops, because array assignments take seconds to compile.
                    pivot = row[place]
                    if used[place]:
                        for other in range(unknown):
                            row[other] -= pivot * pivots[place, other]
                    else:
                        for other in range(unknown):
                            pivots[place, other] = row[other] / pivot
                        used[place] = True
                        free = False
                        break
                if free:
                    rest += 1
    return rest


def log_gamma_tail(shape: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
    """log Q(s, x), the upper regularised incomplete gamma function, for s > 0 and x ≥ 0.

    Notes
    -----
    Where Q underflows, three terms of its continued fraction x^s e^−x / Γ(s) · 1/(x + 1 − s −
    1(1 − s)/(x + 3 − s − …)); x is then above 600, and the error far below 1e-6 for s up to 50.

    Examples
    --------
    >>> log_gamma_tail(1.0, [2.0, 5000.0]).tolist()
    [-2.0, -5000.0]
    """
    s, value = np.broadcast_arrays(np.asarray(shape, float), np.asarray(x, float))
    if not s.ndim:
        return np.asarray(log_gamma_tail(s[None], value[None])[0])
    tail = special.gammaincc(s, value)
    small = tail < 1e-290
    log = np.asarray(np.log(np.where(small, 1.0, tail)))
    if small.any():
        s, value = s[small], value[small]
        depth = value + 5 - s
        depth = value + 3 - s - 2 * (2 - s) / depth
        depth = value + 1 - s - (1 - s) / depth
        log[small] = s * np.log(value) - value - special.gammaln(s) - np.log(depth)
    return log


def log_chi2_tail(g2: ArrayLike, freedom: ArrayLike) -> NDArray[np.float64]:
    """log P(χ² ≥ g2) with `freedom` degrees of freedom; 0 where there are none."""
    freedom = np.asarray(freedom, float)
    log = log_gamma_tail(np.where(freedom > 0, freedom, 2.0) / 2, np.asarray(g2, float) / 2)
    return np.where(freedom > 0, log, 0.0)


def log_f_tail(f: ArrayLike, upper: ArrayLike, lower: ArrayLike) -> NDArray[np.float64]:
    """log P(F ≥ f) with `upper` and `lower` degrees of freedom.

    Notes
    -----
    I_z(lower/2, upper/2) with z = lower/(lower + upper f); where it underflows, the leading term of
    its series, z^a (1 − z)^b / (a B(a, b)), whose error is of the order of z.
    """
    f, upper, lower = np.broadcast_arrays(*(np.asarray(v, float) for v in (f, upper, lower)))
    a, b = lower / 2, upper / 2
    with np.errstate(divide="ignore"):
        z = np.where(np.isinf(f), 0.0, lower / (lower + upper * np.where(np.isinf(f), 1.0, f)))
        tail = special.betainc(a, b, z)
        small = tail < 1e-290
        log = np.log(np.where(small, 1.0, tail))
        leading = a * np.log(np.maximum(z, 1e-300)) + b * np.log1p(-z)
    return np.where(small, leading - np.log(a) - special.betaln(a, b), log)


def false_discovery_rates(
    log_p: NDArray[np.float64], n_tests: int, method: str
) -> NDArray[np.float64]:
    """Adjusted p-values (q) of the m smallest p out of `n_tests`, given as logarithms in any order.

    As `scipy.stats.false_discovery_control` by `method` ("bh" or "by") on all `n_tests`, with p = 1
    for those not given; an upper bound of the result with their true p.

    References
    ----------
    Benjamini, Hochberg 1995, J. R. Stat. Soc. B 57:289; Benjamini, Yekutieli 2001, Ann. Stat.
    29:1165.

    Examples
    --------
    >>> false_discovery_rates(np.log([0.01, 0.02, 0.9]), 3, "bh").round(9).tolist()
    [0.03, 0.03, 0.9]
    """
    if not len(log_p):
        return np.empty(0)
    order = np.argsort(log_p, kind="stable")
    factor = float(n_tests)
    if method == "by":
        factor *= special.digamma(n_tests + 1) - special.digamma(1)  # 1 + 1/2 + … + 1/n
    raised = np.log(factor) + log_p[order] - np.log(np.arange(1, len(log_p) + 1))
    q_values = np.empty(len(log_p))
    q_values[order] = np.exp(np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 0.0))
    return q_values


_BURN_IN = 50  # tables discarded before the first that counts
_LONGER = 0.25  # probability of extending the cycle of a move
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit()
def _splitmix(x):
    """The finaliser of splitmix64: every bit of the result depends on every bit of `x`."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit()
def _order(keys):
    """Places of a few keys in ascending order; equal keys keep their order.

    Insertion sort, because `numpy.argsort` would take longer to compile than it saves.
    """
    order = np.empty(len(keys), np.int64)
    for place in range(len(keys)):
        at = place
        while at > 0 and keys[order[at - 1]] > keys[place]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = place
    return order


@njit()
def canonical(table, tilt, of_ij, of_ik, of_jk, ordered, tilted):
    """Write the table in canonical order of levels, classes and columns.

    Tables that differ only in the order of levels, of classes, or of the columns become equal
    (except for cells with equal counts and margins), and so do simulations from them. `tilt`, of
    the same shape, is permuted likewise. Returns the numbers of levels of the first and second
    column, and a key of the table.
    """
    levels_a, levels_b, classes = table.shape
    keys_a = np.zeros(levels_a, np.uint64)
    keys_b = np.zeros(levels_b, np.uint64)
    keys_k = np.zeros(classes, np.uint64)
    key = np.uint64(0)
    for i in range(levels_a):
        for j in range(levels_b):
            for k in range(classes):
                cell = np.uint64(np.int64(table[i, j, k])) * _GOLDEN
                cell += _splitmix(np.uint64(np.int64(of_ij[i, j])) + _GOLDEN)
                # Symmetric in the two columns.
                cell += _splitmix(np.uint64(np.int64(of_ik[i, k])) * _GOLDEN + np.uint64(1))
                cell += _splitmix(np.uint64(np.int64(of_jk[j, k])) * _GOLDEN + np.uint64(1))
                cell = _splitmix(cell)
                keys_a[i] += cell
                keys_b[j] += cell
                keys_k[k] += cell
                key += cell
    order_a, order_b, order_k = _order(keys_a), _order(keys_b), _order(keys_k)
    swap = levels_b < levels_a
    if levels_a == levels_b:
        for i in range(levels_a):
            key_a, key_b = keys_a[order_a[i]], keys_b[order_b[i]]
            if key_a != key_b:
                swap = key_b < key_a
                break
    first, second = (levels_b, levels_a) if swap else (levels_a, levels_b)
    for i in range(first):
        for j in range(second):
            for k in range(classes):
                a, b = (order_a[j], order_b[i]) if swap else (order_a[i], order_b[j])
                ordered[(i * second + j) * classes + k] = table[a, b, order_k[k]]
                tilted[(i * second + j) * classes + k] = tilt[a, b, order_k[k]]
    return first, second, key


@njit()
def _shuffle_front(order, count):
    """Move a random choice of `count` members of `order` to the front, in random order."""
    for place in range(count):
        other = place + int(np.random.random() * (len(order) - place))
        order[place], order[other] = order[other], order[place]


@njit()
def _metropolis(table, tilt, inverse, log_factorials, xlogx, moves, rows, columns):
    """Make `moves` Metropolis moves of `table`; return the change of Σ n log n.

    A move adds a step to one class and subtracts it from another, alternately around a cycle of
    cells with two in each row and column of levels, so that all two-factor margins are preserved.
    Cycles of more than four cells are needed for tables with empty cells.
    """
    levels_a, levels_b, classes = table.shape
    longest = min(levels_a, levels_b)
    changed = 0.0
    for _ in range(moves):
        length = 2
        while length < longest and np.random.random() < _LONGER:
            length += 1
        _shuffle_front(rows, length)
        _shuffle_front(columns, length)
        k = int(np.random.random() * classes)
        other = int(np.random.random() * (classes - 1))
        if other >= k:
            other += 1
        # Steps of about two standard deviations, by the normal approximation.
        spread = 0.0
        for t in range(2 * length):
            i, j = rows[t // 2], columns[((t + 1) // 2) % length]
            spread += inverse[i, j, k] + inverse[i, j, other]
        step = 1 + int(np.random.random() * max(1.0, math.floor(2.0 / math.sqrt(spread) + 0.5)))
        if np.random.random() < 0.5:
            step = -step
        possible, ratio = True, 0.0
        for t in range(2 * length):
            i, j = rows[t // 2], columns[((t + 1) // 2) % length]
            signed_step = step if t % 2 == 0 else -step
            more, less = table[i, j, k], table[i, j, other]
            if more + signed_step < 0 or less - signed_step < 0:
                possible = False
                break
            ratio += signed_step * (tilt[i, j, k] - tilt[i, j, other])
            ratio += log_factorials[more] - log_factorials[more + signed_step]
            ratio += log_factorials[less] - log_factorials[less - signed_step]
        if not possible or (ratio < 0.0 and np.random.random() >= math.exp(ratio)):
            continue
        for t in range(2 * length):
            i, j = rows[t // 2], columns[((t + 1) // 2) % length]
            signed_step = step if t % 2 == 0 else -step
            more, less = table[i, j, k], table[i, j, other]
            changed += (
                xlogx[more + signed_step] - xlogx[more] + xlogx[less - signed_step] - xlogx[less]
            )
            table[i, j, k] += signed_step
            table[i, j, other] -= signed_step
    return changed


@njit()
def simulate_pairs(
    tables, levels, pairs, statistics, tilts, log_factorials, xlogx, n_simulated, seed, moments
):
    """Write mean, variance and upper tail of G² over tables of the same margins, for each pair.

    Parameters
    ----------
    tables : (m, most levels, most levels, n_classes) int64
        Joint counts of levels and class, pair by pair.
    levels : (n_columns,) int64
    pairs : (m, 2) int64
    statistics : (m,) float64
        G² of the pairs.
    tilts : (m, most levels, most levels, n_classes) float64
        Log of expected cells relative to the main effects of levels.
    log_factorials, xlogx : (n_rows + 1,) float64
        log n! and n log n.
    n_simulated : int
        Tables simulated per pair, with levels · levels · (n_classes − 1) moves between them.
    seed : uint64
    moments : (m, 3) float64
        Written: mean and variance of G², and the number of tables with a larger G², where those
        with the same G² count half.

    Notes
    -----
    Under main effects alone the table given its margins has the distribution Π 1/n_ijk! (with a
    tilt t: Π e^(t n)/n!), and the fit is the same for all of them, so that G² changes by
    2 Δ Σ n log n without refitting.
    """
    most, classes = tables.shape[2], tables.shape[3]
    space = np.empty((4, most * most * classes))
    for pair in range(len(pairs)):
        a, b = pairs[pair]
        shape = (levels[a], levels[b], classes)
        size = levels[a] * levels[b] * classes
        counted = space[0][:size].reshape(shape)
        # A loop: numba takes two seconds to compile the shape check of an array assignment.
        for i in range(levels[a]):
            for j in range(levels[b]):
                for k in range(classes):
                    counted[i, j, k] = tables[pair, i, j, k]
        of_ij, of_ik = np.empty((levels[a], levels[b])), np.empty((levels[a], classes))
        of_jk = np.empty((levels[b], classes))
        expected = space[1][:size].reshape(shape)
        kirkwood(counted, of_ij, of_ik, of_jk, expected)
        first, second, key = canonical(
            counted, tilts[pair], of_ij, of_ik, of_jk, space[2], space[3]
        )
        table = space[2][:size].reshape((first, second, classes))
        tilted = space[3][:size].reshape((first, second, classes))
        expected = space[1][:size].reshape((first, second, classes))
        of_ij, of_ik = np.empty((first, second)), np.empty((first, classes))
        of_jk = np.empty((second, classes))
        kirkwood(table, of_ij, of_ik, of_jk, expected)
        fit(of_ij, of_ik, of_jk, expected, FIT_TOLERANCE, np.int64(FIT_ROUNDS))
        for i in range(first):
            for j in range(second):
                for k in range(classes):
                    expected[i, j, k] = 1.0 / max(expected[i, j, k], 1e-9)
        walker = table.astype(np.int64)
        rows, columns = np.arange(first), np.arange(second)
        np.random.seed(np.int64(_splitmix(key ^ seed) & np.uint64(0xFFFFFFFF)))
        moves = first * second * (classes - 1)
        value, mean, squares, reached = statistics[pair], 0.0, 0.0, 0.0
        # Equal G² of different cells may differ by rounding.
        same = 1e-6 * max(1.0, statistics[pair])
        for draw in range(-_BURN_IN, n_simulated):
            value += 2.0 * _metropolis(
                walker, tilted, expected, log_factorials, xlogx, moves, rows, columns
            )
            if draw >= 0:
                away = value - mean
                mean += away / (draw + 1)
                squares += away * (value - mean)
                if value > statistics[pair] + same:
                    reached += 1.0
                elif value > statistics[pair] - same:
                    reached += 0.5
        moments[pair, 0] = max(0.0, mean)
        moments[pair, 1] = squares / n_simulated
        moments[pair, 2] = reached
