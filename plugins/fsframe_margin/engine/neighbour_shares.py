"""Shares α and β of eq. 3.6, and the log-sums they depend on, from distances between rows; and the
line search of Algorithm 2, whose trials need such sums only.

Rows are sorted by class, so that the hits of row i are a range of columns, `begin` to `end`. There
are two algorithms. The direct one computes exp(−q/σ) once for each pair i < j and uses it for both
rows. If such a sum is too small to be accurate (`SMALLEST_SUM`), the shifted one first subtracts
the smallest q of each row, with two exponentials per pair.

The line search goes along the arc of norm one between the weights W and their target U. Distances
are linear in the weights, so a trial costs exponentials only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit


@intrinsic
def _power_of_two(typing_context: Any, shifted: Any) -> Any:
    """2^k, from k + 1.5 · 2^52, a whole −1022 ≤ k ≤ 1023 in the lowest bits of a double.

    Conversion of a double to an integer vectorises with AVX-512 only.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        biased = builder.add(builder.bitcast(arguments[0], word), ir.Constant(word, 1023))
        bits = builder.shl(biased, ir.Constant(word, 52))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64), generate


_WHOLE = 1.5 * 2.0**52
"""Adding a whole number to this gives a double whose lowest bits are that number."""


@njit(inline="always")
def exp_nonpositive(x: float) -> float:
    """exp(x) for x ≤ 0 (or above by rounding), to 2 units in the last place; 0 below −708.

    The library function is a call per element; this is straight-line arithmetic
    that vectorises: x = k ln 2 + r with |r| ≤ ln 2 / 2, a Taylor polynomial of
    degree 13 in r, and 2^k written into the exponent bits.
    """
    # Below −708 the result would be subnormal; neighbours that far do not contribute to any sum.
    clamped = max(x, -708.0)
    k = math.floor(clamped * 1.4426950408889634 + 0.5)
    r = clamped - k * 0.693147180369123816490
    r = r - k * 1.90821492927058770002e-10
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    value = p * _power_of_two(k + _WHOLE)  # type: ignore[call-arg]
    return value if x > -708.0 else 0.0


Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Flags = NDArray[np.bool_]
SUM = {"reassoc", "contract", "nsz"}
ELEMENTWISE = {"contract"}


SMALLEST_SUM = 1e-200
"""A smaller sum of exponentials without a shift may have lost terms to underflow."""

_SMALLEST_LOG = math.log(SMALLEST_SUM)


# Loops run over slices from zero: with an offset, every index would be checked for being negative,
# and the loops would not vectorise.


class ClassRanges(NamedTuple):
    """Weights of the rows as neighbours, and where the class of each begins and ends."""

    counts: Floats
    begin: Places
    end: Places


class Shares(NamedTuple):
    """The quantities besides q that the coefficients of pairs need; rows sorted by class.

    `hit_rate` and `miss_rate` are outer/Σ exp(−q/σ) over hits and over misses, for the direct
    algorithm; both are empty if the shifted one is needed.
    """

    outer: Floats
    counts: Floats
    log_hits: Floats
    log_misses: Floats
    hit_rate: Floats
    miss_rate: Floats
    end: Places
    inverse: float
    """1/σ"""


@njit(fastmath=ELEMENTWISE)
def add_squares(value: float, row: Floats, weight: float, out: Floats) -> None:
    for p in range(out.size):
        z = value - row[p]
        out[p] += weight * z * z


@njit(fastmath=ELEMENTWISE)
def scaled(first: Floats, second: Floats, a: float, b: float, out: Floats) -> None:
    for p in range(out.size):
        out[p] = a * first[p] + b * second[p]


@njit(fastmath={"nsz", "nnan"})
def smallest(z: Floats) -> float:
    # Eight running minima, since a single one makes each comparison wait for the one before.
    m0 = m1 = m2 = m3 = m4 = m5 = m6 = m7 = np.inf
    eights = z.size // 8
    for k in range(eights):
        p = 8 * k
        m0 = min(m0, z[p])
        m1 = min(m1, z[p + 1])
        m2 = min(m2, z[p + 2])
        m3 = min(m3, z[p + 3])
        m4 = min(m4, z[p + 4])
        m5 = min(m5, z[p + 5])
        m6 = min(m6, z[p + 6])
        m7 = min(m7, z[p + 7])
    for p in range(8 * eights, z.size):
        m0 = min(m0, z[p])
    return min(min(min(m0, m1), min(m2, m3)), min(min(m4, m5), min(m6, m7)))


@njit(fastmath=ELEMENTWISE)
def terms(z: Floats, least: float, count: Floats) -> None:
    for p in range(z.size):
        z[p] = count[p] * exp_nonpositive(least - z[p])


@njit(fastmath=SUM)
def total(z: Floats) -> float:
    result = 0.0
    for p in range(z.size):
        result += z[p]
    return result


@njit()
def row_log_sums(z: Floats, i: int, rows: ClassRanges, logs: Floats) -> None:
    """Write both log-sums of row i into logs (2, N), given q/σ in z, which is overwritten."""
    count, begin, end = rows
    z[i] = np.inf  # a row is not its own neighbour
    before, hits, after = z[: begin[i]], z[begin[i] : end[i]], z[end[i] :]
    low = min(smallest(before), smallest(after))
    terms(before, low, count[: begin[i]])
    terms(after, low, count[end[i] :])
    logs[1, i] = np.log(total(before) + total(after)) - low
    if end[i] - begin[i] < 2:
        logs[0, i] = -np.inf
        return
    low = smallest(hits)
    terms(hits, low, count[begin[i] : end[i]])
    logs[0, i] = np.log(total(hits)) - low


@njit()
def log_sums(
    first: Floats, second: Floats, a: float, b: float, rows: ClassRanges, logs: Floats, start: int,
    stop: int,
) -> None:  # fmt: skip
    """Write log Σ count·exp(−q/σ) over hits and over misses of rows start ≤ i < stop, (2, N).

    q/σ = a·first + b·second: a trial point of the line search costs exponentials only.
    A row without a hit gets −inf.
    """
    z = np.empty(first.shape[1])
    for i in range(start, stop):
        scaled(first[i], second[i], a, b, z)
        row_log_sums(z, i, rows, logs)


@njit(fastmath=ELEMENTWISE)
def _mixed_exponentials(first: Floats, second: Floats, a: float, b: float, out: Floats) -> None:
    for p in range(out.size):
        out[p] = exp_nonpositive(-(a * first[p] + b * second[p]))


@njit(fastmath=SUM)
def _share_out(e: Floats, count: Floats, own_count: float, sums: Floats) -> float:
    weighted_sum = 0.0
    for p in range(e.size):
        weighted_sum += count[p] * e[p]
        sums[p] += own_count * e[p]
    return weighted_sum


@njit()
def row_sums(
    first: Floats, second: Floats, a: float, b: float, i: int, rows: ClassRanges, sums: Floats,
    buffer: Floats,
) -> None:  # fmt: skip
    """Add Σ count·exp(−q/σ) over the pairs (i, j > i) to the sums of both rows, (2, N).

    `sums[0]` is over hits, `sums[1]` over misses. q/σ = a·first + b·second, where `first` and
    `second` are row i of the measurements.
    """
    count, hits, misses = rows.counts, sums[0], sums[1]
    low, middle = i + 1, rows.end[i]
    e = buffer[: first.size - low]
    _mixed_exponentials(first[low:], second[low:], a, b, e)
    hits[i] += _share_out(e[: middle - low], count[low:middle], count[i], hits[low:middle])
    misses[i] += _share_out(e[middle - low :], count[middle:], count[i], misses[middle:])


@njit()
def direct_sums(
    first: Floats, second: Floats, a: float, b: float, rows: ClassRanges, sums: Floats, start: int,
    stop: int,
) -> None:  # fmt: skip
    """`row_sums` of the rows start ≤ i < stop, from measurements between all rows."""
    buffer = np.empty(first.shape[1])
    for i in range(start, stop):
        row_sums(first[i], second[i], a, b, i, rows, sums, buffer)


@njit()
def cost_of(log_hits: Floats, log_misses: Floats, alone: Flags, outer: Floats) -> float:
    """Σ_n o_n (log-sum over misses − log-sum over hits) of the rows that have a hit."""
    cost = 0.0
    for i in range(alone.size):
        if not alone[i]:
            cost += outer[i] * (log_misses[i] - log_hits[i])
    return cost


@njit()
def settled(sums: Floats, alone: Flags, outer: Floats) -> float:
    """Replace sums over hits and misses (2, N) by their logs, and return `cost_of` them.

    NaN, and the sums as they were, if one is too small to be accurate. Rows without a hit get −inf.
    """
    for i in range(alone.size):
        if not (alone[i] or sums[0, i] >= SMALLEST_SUM) or not sums[1, i] >= SMALLEST_SUM:
            return np.nan
    for i in range(alone.size):
        sums[0, i] = -np.inf if alone[i] else math.log(sums[0, i])
        sums[1, i] = math.log(sums[1, i])
    return cost_of(sums[0], sums[1], alone, outer)


@njit()
def row_rates(
    log_hits: Floats, log_misses: Floats, alone: Flags, outer: Floats
) -> tuple[Floats, Floats, Floats]:
    """The logs over hits, and outer/Σ exp(−q/σ) over hits and over misses.

    Both rates are empty if such a sum is too small to be accurate. A row without a hit has outer
    weight 0; its log becomes infinite, which keeps 0 · exp finite.
    """
    n = alone.size
    logs, hit_rate, miss_rate = np.empty(n), np.empty(n), np.empty(n)
    accurate = True
    for i in range(n):
        logs[i] = np.inf if alone[i] else log_hits[i]
        accurate = accurate and logs[i] >= _SMALLEST_LOG and log_misses[i] >= _SMALLEST_LOG
    if not accurate:
        return logs, np.empty(0), np.empty(0)
    for i in range(n):
        hit_rate[i] = outer[i] * math.exp(-logs[i])
        miss_rate[i] = outer[i] * math.exp(-log_misses[i])
    return logs, hit_rate, miss_rate


@njit(fastmath=ELEMENTWISE)
def _both_shares(
    q: Floats, by: Shares, logs: Floats, i: int, j: int, sign: float, c: Floats
) -> None:
    inverse, outer, count, others = by.inverse, by.outer[j:], by.counts[j:], logs[j:]
    own_outer, own_count, own_log = by.outer[i], by.counts[i], logs[i]
    for p in range(c.size):
        z = -q[p] * inverse
        c[p] = sign * (
            own_outer * count[p] * exp_nonpositive(z - own_log)
            + outer[p] * own_count * exp_nonpositive(z - others[p])
        )


@njit(fastmath=ELEMENTWISE)
def _exponentials(q: Floats, inverse: float, out: Floats) -> None:
    for p in range(out.size):
        out[p] = exp_nonpositive(-q[p] * inverse)


@njit(fastmath=ELEMENTWISE)
def _weigh_both(rate: Floats, counts: Floats, i: int, j: int, sign: float, c: Floats) -> None:
    others, count, own_rate, own_count = rate[j:], counts[j:], rate[i], counts[i]
    for p in range(c.size):
        c[p] = sign * c[p] * (own_rate * count[p] + others[p] * own_count)


@njit()
def row_coefficients(q: Floats, i: int, j: int, n: int, by: Shares, c: Floats) -> None:
    """Write c_ij + c_ji of eq. 3.5 for the n pairs (i, j), (i, j + 1), … into c.

    outer_i α_ij + outer_j α_ji for hits, minus the same in β for misses. j > i: hits come first,
    up to end[i]. q is row i of the measurements.
    """
    middle = min(max(by.end[i], j), j + n)
    hits, misses = c[: middle - j], c[middle - j : n]
    if by.hit_rate.size:
        _exponentials(q[j:], by.inverse, c[:n])
        _weigh_both(by.hit_rate, by.counts, i, j, 1.0, hits)
        _weigh_both(by.miss_rate, by.counts, i, middle, -1.0, misses)
        return
    _both_shares(q[j:], by, by.log_hits, i, j, 1.0, hits)
    _both_shares(q[middle:], by, by.log_misses, i, middle, -1.0, misses)


@njit(fastmath=SUM)
def product_sum(c: Floats, q: Floats) -> float:
    dot = 0.0
    for p in range(c.size):
        dot += c[p] * q[p]
    return dot


@njit()
def distances_by_coefficients(q: Floats, by: Shares, out: Floats, start: int, stop: int) -> None:
    """Add Σ c_ij q_ij over the pairs (i, j > i) of the rows start ≤ i < stop to out[0]."""
    N = q.shape[0]
    c = np.empty(N)
    for i in range(start, stop):
        m = N - i - 1
        row_coefficients(q[i], i, i + 1, m, by, c)
        out[0] += product_sum(c[:m], q[i, i + 1 :])


T = TypeVar("T")

SMALLEST_STEP = 2.0**-24
_SUFFICIENT = 1e-4
"""Share of the predicted decrease of the cost that a step has to achieve."""


class Arc(NamedTuple):
    """The points ((1−t) W + t U) / ‖·‖_F, from <Σ + λ, W>, <Σ + λ, U> and <W, U>.

    Along it the cost decreases at t = 0 whenever <Σ, U> < <Σ, W>.
    """

    here: float
    along: float
    overlap: float


def slope(arc: Arc) -> float:
    """The derivative of the cost at t = 0."""
    return arc.along - arc.here - arc.here * (arc.overlap - 1.0)


def descends(arc: Arc) -> bool:
    """Whether the slope is negative; at a stationary point it is only rounding error."""
    return slope(arc) < -1e-14 * (abs(arc.along) + abs(arc.here))


def factors(arc: Arc, t: float) -> tuple[float, float]:
    """The factors of W and of U at t."""
    norm = math.sqrt((1 - t) ** 2 + 2 * t * (1 - t) * arc.overlap + t * t)
    return (1 - t) / norm, t / norm


def suffices(arc: Arc, t: float, start: float, cost: float) -> bool:
    """Whether the cost at t is sufficiently below that at the start."""
    return cost <= start + _SUFFICIENT * t * slope(arc) and cost < start


def shorter(arc: Arc, t: float, start: float, cost: float) -> float:
    """The trial after t, whose cost does not suffice: t/2, t/4 or t/8.

    That is the nearest to the lowest point of the parabola through the costs at 0 and t, with the
    slope at 0. Halves keep steps free of the rounding errors of costs.
    """
    excess = cost - start - slope(arc) * t
    # Without curvature, as by rounding where the costs are almost equal, there is no lowest point.
    lowest = -slope(arc) * t / (2.0 * excess) if excess > 0.0 else 0.5
    # Nearest by ratio: the bounds are √(½ · ¼) and √(¼ · ⅛), rounded.
    if lowest > 0.35:
        return 0.5 * t
    return 0.25 * t if lowest > 0.18 else 0.125 * t


def first_step(
    arc: Arc, trial: Callable[[float], tuple[float, T]], start: float, least: float
) -> tuple[float, T | None]:
    """The first trial from t = 1 to `least` whose cost suffices, with its point; 0 if none does.

    `trial` returns the cost and the point at t.
    """
    t = 1.0
    while t >= least:
        cost, point = trial(t)
        if suffices(arc, t, start, cost):
            return t, point
        t = shorter(arc, t, start, cost)
    return 0.0, None


@njit()
def mix(first: Floats, second: Floats, a: float, b: float) -> None:
    """Replace the upper triangle of `second` by a·first + b·second."""
    for i in range(first.shape[0]):
        for j in range(i + 1, first.shape[0]):
            second[i, j] = a * first[i, j] + b * second[i, j]
