"""Compiled rules that turn rows of distances into rows of signed neighbour weights, in place.

Target i spreads ``+omega_i`` over its misses and ``-omega_i`` over its hits, so that the score of a
feature is the sum over pairs of weight times diff. Misses of class c get the share
P(c) / sum of P over the other classes that have a usable miss. In regression (``signed`` false)
there is one class and all weights are positive with sum omega_i. NaN distances are no neighbours.
Rows are sorted by class: class c is the columns ``bounds[c] … bounds[c + 1]``.

Nearest neighbours are found by distances of bytes first: differences of bytes take an eighth of the
time of those of doubles, or less, with a bounded error. They exclude instances that cannot be
neighbours; distances of the few others are computed in doubles. Processors have an instruction for
sums over eight bytes, which LLVM's vectoriser does not find by itself: four targets are compared
with eight rows at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numba.core import types
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Listed = NDArray[np.int32]

TIE = 1e-12
"""Distances that differ by less than this fraction count as equal: sums are rounded."""

FAST = {"reassoc", "contract", "nsz"}


@njit(fastmath=FAST)
def row_moments(D: Floats, rows: Places, counts: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Sum, weight, mean and population deviation of each row's distances, without itself and NaN.

    The distances of rows to themselves are set to NaN.
    """
    b, n = D.shape
    total, weight, mean, spread = np.empty(b), np.empty(b), np.empty(b), np.empty(b)
    for r in range(b):
        D[r, rows[r]] = np.nan
        s = 0.0
        c = 0.0
        for j in range(n):
            d = D[r, j]
            s += counts[j] * d if d == d else 0.0
            c += counts[j] if d == d else 0.0
        m = s / c if c > 0.0 else 0.0
        q = 0.0
        for j in range(n):
            d = D[r, j]
            q += counts[j] * (d - m) * (d - m) if d == d else 0.0
        total[r] = s
        weight[r] = c
        mean[r] = m
        spread[r] = np.sqrt(q / c) if c > 0.0 else 0.0
    return total, weight, mean, spread


@njit()
def class_factors(size: Floats, own_class: int, to: Any, omega: float, factor: Floats) -> None:
    """Write the factor of the weights in each class; 0 if a class has no usable neighbour.

    `to` is a `neighbours.ForKernels`.
    """
    prior, usable = to.prior, 0.0
    for c in range(size.shape[0]):
        if c != own_class and size[c] > 0.0:
            usable += prior[c]
    for c in range(size.shape[0]):
        if size[c] <= 0.0:
            factor[c] = 0.0
        elif not to.signed:
            factor[c] = omega / size[c]
        elif c == own_class:
            factor[c] = -omega / size[c]
        elif usable > 0.0:
            factor[c] = omega * prior[c] / usable / size[c]
        else:
            factor[c] = 0.0


@njit()
def nearest_weights(
    D: Floats, index: Listed, bounds: Places, rows: Places, to: Any, rule: Any
) -> None:
    """Overwrite distances with the weights of the k nearest of each class.

    `rule` is a `neighbours.NearestForKernels`, `to` a `neighbours.ForKernels`; with `pooled`, all
    other classes count as one, and `to.prior` has two. k counts drawn copies, so it may exceed the
    number of rows; `slots` rows are kept in order, k or all if there are fewer.

    ``D[r]`` are distances to all instances, or to the instances ``index[r]`` if there are any;
    those of class c are in places ``bounds[r, c] … bounds[r, c + 1]``, and nothing follows the last
    class. Those of the targets `rows` to themselves are NaN already.

    kind 0: equal, 1: exp(-(rank / decay)^2), 2: 1 / distance. Ties at the k-th place share the
    remaining places, or with `by_index` are taken in row order.
    """
    k, slots, kind, decay, by_index, pooled = rule
    counts, listed = to.counts, index.size > 0
    n_classes = bounds.shape[1] - 1
    n_groups = to.prior.shape[0]
    # One more than needed, to detect ties of the k-th that were not kept.
    most = slots + 1
    best = np.empty((n_groups, most))
    units = np.empty((n_groups, most))
    place = np.empty((n_groups, most), np.int64)
    filled = np.empty(n_groups, np.int64)
    size = np.empty(n_groups)
    factor = np.empty(n_groups)
    near = np.empty(D.shape[1], np.int64)
    weight = np.empty(D.shape[1])
    group = np.empty(D.shape[1], np.int64)
    for r in range(D.shape[0]):
        mine = to.y[rows[r]]
        own_group = 0 if pooled else mine
        row = D[r, : bounds[r, n_classes]]
        filled[:] = 0
        size[:] = 0.0
        for c in range(n_classes):
            g = (0 if c == mine else 1) if pooled else c
            m = filled[g]
            last = best[g, slots] if m == most else np.inf
            at = bounds[r, c]
            part = row[at : bounds[r, c + 1]]
            for e in range(part.shape[0]):
                d = part[e]
                if not (d < last):
                    continue
                q = m if m < most else slots
                while q > 0 and best[g, q - 1] > d:
                    best[g, q] = best[g, q - 1]
                    units[g, q] = units[g, q - 1]
                    place[g, q] = place[g, q - 1]
                    q -= 1
                best[g, q] = d
                units[g, q] = counts[index[r, at + e] if listed else at + e]
                place[g, q] = at + e
                m = min(m + 1, most)
                if m == most:
                    last = best[g, slots]
            filled[g] = m
        n_near = 0
        for g in range(n_groups):
            # The k-th place counts drawn copies; the places nearer than the edge are full.
            edge = -1.0
            seen = 0.0
            for q in range(filled[g]):
                seen += units[g, q]
                edge = best[g, q]
                if seen >= k:
                    break
            low = edge * (1.0 - TIE)
            high = edge * (1.0 + TIE)
            nearer = 0.0
            zero = 0.0
            for q in range(filled[g]):
                nearer += units[g, q] if best[g, q] < low else 0.0
                zero += units[g, q] if best[g, q] <= 0.0 else 0.0
            begin = n_near
            tied = 0.0
            kept = not by_index and (filled[g] < most or best[g, slots] > high)
            if kept:
                for q in range(filled[g]):
                    if best[g, q] <= high:
                        near[n_near] = place[g, q]
                        group[n_near] = g
                        n_near += 1
                        tied += units[g, q] if best[g, q] >= low else 0.0
            for c in range(n_classes):
                if kept or ((c != g) if not pooled else ((c == mine) != (g == 0))):
                    continue
                # the tied group is larger than the list: search the whole row
                at = bounds[r, c]
                part = row[at : bounds[r, c + 1]]
                for e in range(part.shape[0]):
                    if part[e] <= high:
                        near[n_near] = at + e
                        group[n_near] = g
                        n_near += 1
                        j = index[r, at + e] if listed else at + e
                        tied += counts[j] if part[e] >= low else 0.0
            left = k - nearer
            share = min(1.0, left / tied) if tied > 0.0 else 0.0
            for q in range(begin, n_near):
                j = near[q]
                d = row[j]
                w = 1.0 * counts[index[r, j] if listed else j]
                if d >= low:
                    if by_index:
                        w = min(w, left)
                        left -= w
                    else:
                        w *= share
                if kind == 1:
                    rank = 0.0
                    for e in range(filled[g]):
                        if best[g, e] >= d * (1.0 - TIE):
                            break
                        rank += units[g, e]
                    w *= np.exp(-((rank / decay) ** 2))
                elif kind == 2:
                    # The limit of 1 / d: neighbours at distance zero take all the weight.
                    if zero > 0.0:
                        w = w if d <= 0.0 else 0.0
                    else:
                        w /= d
                weight[q] = w
                size[g] += w
        class_factors(size, own_group, to, to.omega[rows[r]], factor)
        row[:] = 0.0
        for q in range(n_near):
            row[near[q]] = weight[q] * factor[group[q]]


@njit(fastmath=FAST)
def radius_weights(D: Floats, rows: Places, to: Any, near: Floats, far: Floats, star: bool) -> None:
    """Overwrite distances with weights of the instances nearer than ``near[r]``.

    With `star`, those beyond ``far[r]`` get negative weights. Both bounds are strict; a distance
    equal to a bound is neither near nor far. `to` is a `neighbours.ForKernels`.
    """
    y, bounds, counts, omega = to.y, to.bounds, to.counts, to.omega
    n_classes = to.prior.shape[0]
    inner = np.empty(n_classes)
    outer = np.empty(n_classes)
    inside = np.empty(n_classes)
    outside = np.empty(n_classes)
    for r in range(D.shape[0]):
        own_class = y[rows[r]]
        lo = near[r] - TIE * abs(near[r])
        hi = far[r] + TIE * abs(far[r]) if star else np.inf
        D[r, rows[r]] = np.nan
        for c in range(n_classes):
            d = D[r, bounds[c] : bounds[c + 1]]
            m = counts[bounds[c] : bounds[c + 1]]
            s = 0.0
            t = 0.0
            for j in range(d.shape[0]):
                s += m[j] if d[j] < lo else 0.0
                t += m[j] if d[j] > hi else 0.0
            inner[c] = s
            outer[c] = t
        class_factors(inner, own_class, to, omega[rows[r]], inside)
        class_factors(outer, own_class, to, omega[rows[r]], outside)
        for c in range(n_classes):
            d = D[r, bounds[c] : bounds[c + 1]]
            m = counts[bounds[c] : bounds[c + 1]]
            a = inside[c]
            b = outside[c]
            for j in range(d.shape[0]):
                d[j] = m[j] * ((a if d[j] < lo else 0.0) - (b if d[j] > hi else 0.0))


TOGETHER = 4
"""Targets compared at a time."""

intrinsic: Any = extending.intrinsic

_I8 = ir.IntType(8)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_EIGHT = ir.VectorType(_I64, 8)


def _differences(builder: Any, features: str, a: Any, b: Any) -> Any:
    """Code for eight sums of absolute differences of eight bytes each, between two <8 x i64>."""

    def called(name: str, width: int, x: Any, y: Any) -> Any:
        octets, words = ir.VectorType(_I8, 8 * width), ir.VectorType(_I64, width)
        function = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(words, [octets, octets]), name
        )
        return builder.call(function, [builder.bitcast(x, octets), builder.bitcast(y, octets)])

    if "+avx512bw" in features:
        return called("llvm.x86.avx512.psad.bw.512", 8, a, b)
    if "+avx2" in features:
        undefined = ir.Constant(_EIGHT, ir.Undefined)

        def part(x: Any, first: int) -> Any:
            places = ir.Constant(ir.VectorType(_I32, 4), list(range(first, first + 4)))
            return builder.shuffle_vector(x, undefined, places)

        halves = [called("llvm.x86.avx2.psad.bw", 4, part(a, k), part(b, k)) for k in (0, 4)]
        every = ir.Constant(ir.VectorType(_I32, 8), list(range(8)))
        return builder.shuffle_vector(*halves, every)
    octets = ir.VectorType(_I8, 64)
    x, y = builder.bitcast(a, octets), builder.bitcast(b, octets)
    more = builder.icmp_unsigned(">", x, y)
    gap = builder.select(more, builder.sub(x, y), builder.sub(y, x))
    words = builder.bitcast(gap, _EIGHT)
    # Pairs of bytes as 16 bits each, whose sum ends up in the highest 16 of 64.
    low = ir.Constant(_EIGHT, [0x00FF00FF00FF00FF] * 8)
    pairs = builder.add(
        builder.and_(words, low),
        builder.and_(builder.lshr(words, ir.Constant(_EIGHT, [8] * 8)), low),
    )
    product = builder.mul(pairs, ir.Constant(_EIGHT, [0x0001000100010001] * 8))
    return builder.lshr(product, ir.Constant(_EIGHT, [48] * 8))


@intrinsic
def near_rows_of_four(
    typing_context: Any, targets: Any, first: Any, rows: Any, at: Any, words: Any, limits: Any,
    out: Any,
) -> Any:  # fmt: skip
    """``near_rows_of_four(targets, first, rows, at, words, limits, out)``: mark near rows.

    Parameters
    ----------
    targets : (b, words) uint64
        Eight bytes a word; those of target `first` and the three after it are used.
    first : int
    rows : (…,) uint64
        From `at` on the first words of eight rows, then their second ones, and so on.
    at, words : int
    limits : (b,) int64
    out : (32,) int64
        Written: distances of the first target to the eight rows, of the second one, and so on.

    Returns
    -------
    int32
        Bit 8 t + l is set where the distance of target t to row l is at most the target's limit.
    """
    signature = types.int32(targets, types.intp, rows, types.intp, types.intp, limits, out)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        features = getattr(context.codegen(), "_tm_features", "") or ""

        def data(k: int) -> Any:
            return context.make_array(signature.args[k])(context, builder, args[k]).data

        first, at, words = args[1], args[3], args[4]
        kind = words.type
        mine = [
            builder.gep(data(0), [builder.mul(builder.add(first, kind(t)), words)])
            for t in range(TOGETHER)
        ]
        theirs = builder.bitcast(builder.gep(data(2), [at]), _EIGHT.as_pointer())
        limit = builder.gep(data(5), [first])
        stored = builder.bitcast(data(6), _EIGHT.as_pointer())
        undefined = ir.Constant(_EIGHT, ir.Undefined)
        spread = ir.Constant(ir.VectorType(_I32, 8), [0] * 8)

        def all_eight(word: Any) -> Any:
            one = builder.insert_element(undefined, word, _I32(0))
            return builder.shuffle_vector(one, undefined, spread)

        before = builder.block
        loop, after = builder.append_basic_block("words"), builder.append_basic_block("summed")
        builder.branch(loop)
        builder.position_at_end(loop)
        w = builder.phi(kind)
        w.add_incoming(kind(0), before)
        sums = [builder.phi(_EIGHT) for _ in mine]
        block = builder.load(builder.gep(theirs, [w]))
        block.align = 8
        new_sums = []
        for target, total in zip(mine, sums, strict=True):
            total.add_incoming(ir.Constant(_EIGHT, [0] * 8), before)
            word = all_eight(builder.load(builder.gep(target, [w])))
            new_sums.append(builder.add(total, _differences(builder, features, word, block)))
        following = builder.add(w, kind(1))
        w.add_incoming(following, loop)
        for total, result in zip(sums, new_sums, strict=True):
            total.add_incoming(result, loop)
        builder.cbranch(builder.icmp_signed("<", following, words), loop, after)

        builder.position_at_end(after)
        mask = _I32(0)
        for t, result in enumerate(new_sums):
            builder.store(result, builder.gep(stored, [kind(t)])).align = 8
            most = all_eight(builder.load(builder.gep(limit, [kind(t)])))
            near = builder.icmp_signed("<=", result, most)
            bits = builder.zext(builder.bitcast(near, _I8), _I32)
            mask = builder.or_(mask, builder.shl(bits, _I32(8 * t)))
        return mask

    return signature, generate


BYTE_TILE = 1 << 15
"""Bytes of rows that stay in the first-level cache while targets are compared with them."""
_NO_LIMIT = np.int64(2**31 - 1)


@njit()
def keep_smallest(best: Any, m: int, d: Any) -> int:
    """Insert d into the ascending list `best`, of which m are filled; return the new m."""
    k = best.shape[0]
    q = m if m < k else k - 1
    while q > 0 and best[q - 1] > d:
        best[q] = best[q - 1]
        q -= 1
    best[q] = d
    return min(m + 1, k)


@njit(fastmath=FAST)
def listed_distances(Z: Floats, rows: Places, index: Listed, starts: Places, out: Floats) -> None:
    """Write sum |z_ia - z_ja| into ``out[r, q]`` for the listed instances j = ``index[r, q]``."""
    for r in range(rows.shape[0]):
        x = Z[rows[r]]
        for q in range(starts[r, -1]):
            z = Z[index[r, q]]
            s = 0.0
            for a in range(x.shape[0]):
                s += abs(x[a] - z[a])
            out[r, q] = s


@njit()
def keep_weighted(lists: Any, starts: Places) -> None:
    """Move the listed instances of non-zero weight to the front of their `feature_scores.Lists`."""
    index, weight, length = lists
    for r in range(index.shape[0]):
        m = 0
        for q in range(starts[r, -1]):
            w = weight[r, q]
            index[r, m] = index[r, q]
            weight[r, m] = w
            m += w != 0.0
        length[r] = m


@njit()
def _shortened(index: Any, near: Any, length: int, k: int, slack: int, best: Any) -> Any:
    """Keep the candidates within the limit that the k-th smallest distance so far sets.

    Returns their number and the limit.
    """
    m = 0
    for e in range(length):
        if m < k or near[e] < best[k - 1]:
            m = keep_smallest(best, m, near[e])
    if m < k:
        return length, _NO_LIMIT
    limit = np.int64(best[k - 1]) + slack
    kept = 0
    for e in range(length):
        if near[e] <= limit:
            index[kept] = index[e]
            near[kept] = near[e]
            kept += 1
    return kept, limit


@njit()
def byte_neighbours(
    mine: NDArray[np.uint64], packed: NDArray[np.uint64], first: Places, words: int, rows: Places,
    bounds: Places, k: int, slack: Places, capacity: int, index: NDArray[np.int32], starts: Places,
    settled: NDArray[np.bool_],
) -> None:  # fmt: skip
    """List, class by class, all rows within `slack` of the k-th smallest distance of bytes.

    Parameters
    ----------
    mine : (b rounded up to a multiple of four, words) uint64
        The targets' bytes, eight to a word.
    packed : uint64
        The rows' bytes, class by class from `first[c]` on, eight rows at a time: all their first
        words, then all their second ones, and so on.
    rows : (b,) int64
        The targets, which are not listed.
    bounds : (n_classes + 1,) int64
    k : int
    slack : (b,) int64
    capacity : int
        Maximum number of candidates in a class; a target with more is not `settled`.
    index, starts, settled
        Written: ``index[r, starts[r, c] : starts[r, c + 1]]`` are the rows of class c, ascending.
    """
    b, full = rows.shape[0], mine.shape[0]
    together = max(1, BYTE_TILE // (64 * words))
    near_rows = np.empty((full, capacity), np.int32)
    near = np.empty((full, capacity), np.int32)
    length = np.zeros(full, np.int64)
    limits = np.empty(full, np.int64)
    best = np.empty(k, np.int32)
    distances = np.empty(8 * TOGETHER, np.int64)
    for c in range(bounds.shape[0] - 1):
        begin, end = bounds[c], bounds[c + 1]
        n_blocks = -(-(end - begin) // 8)
        length[:] = 0
        limits[:] = _NO_LIMIT
        limits[b:] = -1
        for tile in range(0, n_blocks, together):
            for t0 in range(0, full, TOGETHER):
                for block in range(tile, min(n_blocks, tile + together)):
                    at = first[c] + block * 8 * words
                    mask = near_rows_of_four(mine, t0, packed, at, words, limits, distances)
                    if mask == 0:
                        continue
                    for e in range(8 * TOGETHER):
                        if not (mask >> e) & 1:
                            continue
                        t, row = t0 + (e >> 3), begin + 8 * block + (e & 7)
                        if row >= end or row == rows[t] or distances[e] > limits[t]:
                            continue
                        q = length[t]
                        near_rows[t, q] = row
                        near[t, q] = distances[e]
                        length[t] = q + 1
                        if q + 1 == capacity:
                            kept, limit = _shortened(
                                near_rows[t], near[t], q + 1, k, slack[t], best
                            )  # fmt: skip
                            if kept > capacity // 2:
                                settled[t] = False
                                kept, limit = 0, np.int64(-1)
                            length[t], limits[t] = kept, limit
        for t in range(b):
            q = length[t]
            if settled[t] and q > k:
                q, _ = _shortened(near_rows[t], near[t], q, k, slack[t], best)
            at = starts[t, c]
            for e in range(q):
                index[t, at + e] = near_rows[t, e]
            starts[t, c + 1] = at + q
