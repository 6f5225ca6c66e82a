"""Simulation of tables with fixed margins: the distribution of G² without interaction."""

from __future__ import annotations

import math

import numpy as np

from fsframe.kernels.compiled import njit
from fsframe_interactions.engine.contingency_tables import fit, kirkwood
from fsframe_interactions.engine.screen import FIT_ROUNDS, FIT_TOLERANCE

_BURN_IN = 50
_LONGER = 0.25
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit()
def _splitmix(x):
    """The finaliser of splitmix64: every bit of `x` moves every bit of the result."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit()
def _order(keys):
    """Places of a few keys in ascending order, equal ones as they come.

    Insertion sort: `numpy.argsort` would take longer to compile than it saves.
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
    the same shape, is permuted likewise. Returns (levels of the first, levels of the
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
                cell += _splitmix(np.uint64(np.int64(of_ij[i, j])) + _GOLDEN)
                # Symmetric in the two columns.
                cell += _splitmix(np.uint64(np.int64(of_ik[i, k])) * _GOLDEN + np.uint64(1))
                cell += _splitmix(np.uint64(np.int64(of_jk[j, k])) * _GOLDEN + np.uint64(1))
                cell = _splitmix(cell)
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
def _shuffle_front(order, count):
    """Move a random choice of `count` members of `order` to the front, in random order."""
    for place in range(count):
        other = place + int(np.random.random() * (len(order) - place))
        order[place], order[other] = order[other], order[place]


@njit()
def _metropolis(table, tilt, inverse, log_factorials, xlogx, moves, rows, columns):
    """Make so many Metropolis moves of `table`; return the change of Σ n log n.

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
    """Write mean, variance and upper tail of G² over tables of the same margins, for each pair.

    Parameters
    ----------
    tables : (m, most levels, most levels, n_classes) int64
        How often levels and class occur together, pair by pair.
    levels : (n_columns,) int64
    pairs : (m, 2) int64
    statistics : (m,) float64
        Their G².
    tilts : (m or 1, most levels, most levels, n_classes) float64
        Log of expected cells relative to the main effects of levels; one entry may be shared by
        all pairs.
    log_factorials, xlogx : (n_rows + 1,) float64
        log n! and n log n.
    n_simulated : int
        Tables kept per pair, after as many moves each as there are cells.
    seed : uint64
    moments : (m, 3) float64
        Written: mean and variance of G², and how many of the tables have a larger G², those
        with the same as halves.

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
        np.random.seed(np.int64(_splitmix(key ^ seed) & np.uint64(0xFFFFFFFF)))
        moves = first * second * (classes - 1)
        value, mean, squares, reached = statistics[pair], 0.0, 0.0, 0.0
        # The same G² from other cells differs by rounding.
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
