"""Tables with both columns' margins held: how far G² spreads when there is no interaction."""

from __future__ import annotations

import math

import numpy as np

from fsframe.contracts.compiled import njit
from fsframe_interactions.engine.fit import fit, kirkwood
from fsframe_interactions.engine.screen import FIT_ROUNDS, FIT_TOLERANCE

__all__ = ["canonical", "simulate_pairs"]

_BURN_IN = 50
_LONGER = 0.25
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit()
def _mixed(x):
    """The finaliser of splitmix64: every bit of `x` moves every bit of the result."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit()
def _order(keys):
    """Places of a few keys in ascending order, equal ones as they come.

    By insertion: the compiled `numpy.argsort` takes longer to compile than to serve.
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
    """Write the table with levels, classes and the two columns in an order of its own.

    Tables that differ only in the order of levels, of classes, or of the columns come out equal
    (but for cells that their counts and margins do not tell apart), and so does what is drawn
    from them. `tilt`, of the same shape, goes along. Returns (levels of the first, levels of the
    second, key of the table).
    """
    levels_a, levels_b, classes = table.shape
    keys_a = np.zeros(levels_a, np.uint64)
    keys_b = np.zeros(levels_b, np.uint64)
    keys_k = np.zeros(classes, np.uint64)
    whole = np.uint64(0)
    for i in range(levels_a):
        for j in range(levels_b):
            for k in range(classes):
                cell = np.uint64(np.int64(table[i, j, k])) * _GOLDEN
                cell += _mixed(np.uint64(np.int64(of_ij[i, j])) + _GOLDEN)
                # Symmetric in the two columns.
                cell += _mixed(np.uint64(np.int64(of_ik[i, k])) * _GOLDEN + np.uint64(1))
                cell += _mixed(np.uint64(np.int64(of_jk[j, k])) * _GOLDEN + np.uint64(1))
                cell = _mixed(cell)
                keys_a[i] += cell
                keys_b[j] += cell
                keys_k[k] += cell
                whole += cell
    order_a, order_b, order_k = _order(keys_a), _order(keys_b), _order(keys_k)
    swap = levels_b < levels_a
    if levels_a == levels_b:
        for i in range(levels_a):
            mine, theirs = keys_a[order_a[i]], keys_b[order_b[i]]
            if mine != theirs:
                swap = theirs < mine
                break
    first, second = (levels_b, levels_a) if swap else (levels_a, levels_b)
    for i in range(first):
        for j in range(second):
            for k in range(classes):
                a, b = (order_a[j], order_b[i]) if swap else (order_a[i], order_b[j])
                ordered[(i * second + j) * classes + k] = table[a, b, order_k[k]]
                tilted[(i * second + j) * classes + k] = tilt[a, b, order_k[k]]
    return first, second, whole


@njit()
def _shuffled(order, count):
    """Put a random choice of `count` members of `order` in front, in random order."""
    for place in range(count):
        other = place + int(np.random.random() * (len(order) - place))
        order[place], order[other] = order[other], order[place]


@njit()
def _walk(table, tilt, inverse, log_factorials, xlogx, moves, rows, columns):
    """Move `table` so many times; the change of Σ n log n.

    A move adds a step to one class and takes it from another in turns around a cycle of cells, two
    to a row and two to a column of levels, so that no margin of two factors changes; Metropolis'
    rule accepts it. Cycles of more than four cells come in for tables with empty cells.
    """
    levels_a, levels_b, classes = table.shape
    longest = min(levels_a, levels_b)
    changed = 0.0
    for _ in range(moves):
        length = 2
        while length < longest and np.random.random() < _LONGER:
            length += 1
        _shuffled(rows, length)
        _shuffled(columns, length)
        k = int(np.random.random() * classes)
        other = int(np.random.random() * (classes - 1))
        if other >= k:
            other += 1
        # Steps of about two standard deviations of a normal law with these expected counts.
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
            own = step if t % 2 == 0 else -step
            more, less = table[i, j, k], table[i, j, other]
            if more + own < 0 or less - own < 0:
                possible = False
                break
            ratio += own * (tilt[i, j, k] - tilt[i, j, other])
            ratio += log_factorials[more] - log_factorials[more + own]
            ratio += log_factorials[less] - log_factorials[less - own]
        if not possible or (ratio < 0.0 and np.random.random() >= math.exp(ratio)):
            continue
        for t in range(2 * length):
            i, j = rows[t // 2], columns[((t + 1) // 2) % length]
            own = step if t % 2 == 0 else -step
            more, less = table[i, j, k], table[i, j, other]
            changed += xlogx[more + own] - xlogx[more] + xlogx[less - own] - xlogx[less]
            table[i, j, k] += own
            table[i, j, other] -= own
    return changed


@njit()
def simulate_pairs(
    tables, levels, pairs, statistics, tilts, log_factorials, xlogx, n_simulated, seed, moments
):
    """Write what G² comes to in tables of the same margins, for each pair.

    Parameters
    ----------
    tables : (m, most levels, most levels, n_classes) int64
        How often levels and class occur together, pair by pair.
    levels : (n_columns,) int64
    pairs : (m, 2) int64
    statistics : (m,) float64
        Their G².
    tilts : (m or 1, most levels, most levels, n_classes) float64
        Log of what the cells are expected to hold beyond both main effects of levels; one entry
        serves for all pairs.
    log_factorials, xlogx : (n_rows + 1,) float64
        log n! and n log n.
    n_simulated : int
        Tables kept per pair, after as many moves each as there are cells.
    seed : uint64
    moments : (m, 2) float64
        Written: mean and variance of G².

    Notes
    -----
    Under main effects alone the table given its margins n_ij·, n_i·k and n_·jk has a law without
    unknowns, Π 1/n_ijk! (with a tilt t: Π e^(t n)/n!), and the fit (1) is the same for all of them,
    so that G² changes by 2 Δ Σ n log n and nothing is fitted again.
    """
    most, classes = tables.shape[2], tables.shape[3]
    space = np.empty((4, most * most * classes))
    for pair in range(len(pairs)):
        a, b = pairs[pair]
        shape = (levels[a], levels[b], classes)
        size = levels[a] * levels[b] * classes
        counted = space[0][:size].reshape(shape)
        # A loop: numba compiles the message of an assignment of unequal shapes for two seconds.
        for i in range(levels[a]):
            for j in range(levels[b]):
                for k in range(classes):
                    counted[i, j, k] = tables[pair, i, j, k]
        of_ij, of_ik = np.empty((levels[a], levels[b])), np.empty((levels[a], classes))
        of_jk = np.empty((levels[b], classes))
        expected = space[1][:size].reshape(shape)
        kirkwood(counted, of_ij, of_ik, of_jk, expected)
        tilt = tilts[pair if len(tilts) > 1 else 0]
        first, second, key = canonical(counted, tilt, of_ij, of_ik, of_jk, space[2], space[3])
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
        np.random.seed(np.int64(_mixed(key ^ seed) & np.uint64(0xFFFFFFFF)))
        moves = first * second * (classes - 1)
        value, mean, squares = statistics[pair], 0.0, 0.0
        for draw in range(-_BURN_IN, n_simulated):
            value += 2.0 * _walk(
                walker, tilted, expected, log_factorials, xlogx, moves, rows, columns
            )
            if draw >= 0:
                away = value - mean
                mean += away / (draw + 1)
                squares += away * (value - mean)
        moments[pair, 0] = max(0.0, mean)
        moments[pair, 1] = squares / n_simulated
