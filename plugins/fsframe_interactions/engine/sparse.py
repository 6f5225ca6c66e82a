"""Tables with small expected counts: the mean of G² when classes follow the fitted main effects."""

from __future__ import annotations

import math

import numpy as np

from fsframe.contracts.compiled import njit
from fsframe_interactions.engine.fit import deviance, fit, kirkwood
from fsframe_interactions.engine.screen import FIT_ROUNDS, FIT_TOLERANCE
from fsframe_interactions.engine.tables import pair_counts

__all__ = ["binomial", "canonical", "simulate_pairs"]

_ROUNDS = 200
_TOLERANCE = 1e-5
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
def canonical(table, of_ij, of_ik, of_jk, ordered):
    """Write the table with levels, classes and the two columns in an order of its own.

    Tables that differ only in the order of levels, of classes, or of the columns come out equal
    (but for cells that their counts and margins do not tell apart), and so does what is drawn
    from them. Returns (levels of the first, levels of the second, key of the table).
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
    return first, second, whole


@njit()
def binomial(n, p):
    """One binomial draw, in time that does not grow with n.

    Below n p = 10 by inversion, whose time grows with n p, else by transformed rejection with
    squeeze: Hörmann 1993, J. Stat. Comput. Simul. 46:101, BTRS.
    """
    if p > 0.5:
        return n - binomial_of_half(n, 1.0 - p)
    return binomial_of_half(n, p)


@njit()
def _by_inversion(n, p):
    """`binomial` for small n p: the draw at which the summed chances pass a uniform number.

    As `numpy.random.binomial` draws, which compiles a second method for large n p as well. Sums
    that rounding lets end below the number, ten standard deviations off, are drawn again.
    """
    if p == 0.0:
        return 0
    q = 1.0 - p
    of_none = q**n
    most = min(n, n * p + 10.0 * math.sqrt(n * p * q + 1.0))
    while True:
        left, chance, drawn = np.random.random(), of_none, 0
        while drawn <= most:
            if left <= chance:
                return drawn
            left -= chance
            drawn += 1
            chance = (n - drawn + 1) * p * chance / (drawn * q)


@njit()
def binomial_of_half(n, p):
    """`binomial` for p ≤ ½."""
    if n * p < 10.0:
        return _by_inversion(n, p)
    q = 1.0 - p
    spread = math.sqrt(n * p * q)
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    squeeze = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    odds = math.log(p / q)
    mode = math.floor((n + 1) * p)
    height = math.lgamma(mode + 1.0) + math.lgamma(n - mode + 1.0)
    while True:
        u = np.random.random() - 0.5
        v = np.random.random()
        us = 0.5 - abs(u)
        k = math.floor((2.0 * a / us + b) * u + c) if us > 0.0 else -1.0
        if k < 0.0 or k > n:
            continue
        if us >= 0.07 and v <= squeeze:
            return np.int64(k)
        v = math.log(max(v, 1e-300) * alpha / (a / (us * us) + b))
        if v <= height - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0) + (k - mode) * odds:
            return np.int64(k)


@njit()
def simulate_pairs(lanes, offsets, words, stored, levels, margins, pairs, n_simulated, seed, means):
    """Write the mean of G² under the main-effects model of each pair.

    Parameters
    ----------
    lanes, offsets, words, stored, levels, margins
        As in `fsframe_interactions.engine.planes.Planes`.
    pairs : (m, 2) int64
    n_simulated : int
        Tables drawn per pair: the class of every row anew, with the odds that the two main effects
        give it; the margin of the two columns stays as it is.
    seed : uint64
    means : (m,) float64
        Written.
    """
    most, classes = margins.shape[1], words.size - 1
    space = np.empty((4, most * most * classes))
    for pair in range(len(pairs)):
        a, b = pairs[pair]
        shape = (levels[a], levels[b], classes)
        size = levels[a] * levels[b] * classes
        counted = space[0][:size].reshape(shape)
        pair_counts(lanes, offsets, words, stored, levels, margins, a, b, counted)
        of_ij, of_ik = np.empty((levels[a], levels[b])), np.empty((levels[a], classes))
        of_jk = np.empty((levels[b], classes))
        expected = space[1][:size].reshape(shape)
        kirkwood(counted, of_ij, of_ik, of_jk, expected)
        first, second, key = canonical(counted, of_ij, of_ik, of_jk, space[2])
        table = space[2][:size].reshape((first, second, classes))
        expected = space[1][:size].reshape((first, second, classes))
        of_ij, of_ik = np.empty((first, second)), np.empty((first, classes))
        of_jk = np.empty((second, classes))
        kirkwood(table, of_ij, of_ik, of_jk, expected)
        fit(of_ij, of_ik, of_jk, expected, FIT_TOLERANCE, np.int64(FIT_ROUNDS))
        drawn = space[3][:size].reshape((first, second, classes))
        sizes = of_ij.copy()
        chances = expected.copy()
        np.random.seed(np.int64(_mixed(key ^ seed) & np.uint64(0xFFFFFFFF)))
        mean = 0.0
        for _ in range(n_simulated):
            for i in range(first):
                for j in range(second):
                    left = int(sizes[i, j])
                    rest = 0.0
                    for k in range(classes):
                        rest += chances[i, j, k]
                    for k in range(classes):
                        if left == 0 or k == classes - 1:
                            drawn[i, j, k] = left
                            left = 0
                            continue
                        share = chances[i, j, k] / rest if rest > 0.0 else 0.0
                        some = left if share >= 1.0 else binomial(left, share)
                        drawn[i, j, k] = some
                        left -= some
                        rest -= chances[i, j, k]
            kirkwood(drawn, of_ij, of_ik, of_jk, expected)
            fit(of_ij, of_ik, of_jk, expected, _TOLERANCE, np.int64(_ROUNDS))
            mean += deviance(drawn, expected)
        means[pair] = mean / n_simulated
