"""Compiled loops that find nearest neighbours by distances of bytes, then exactly.

Differences of bytes take an eighth of the time of those of doubles, or less, with a bounded error.
They exclude instances that cannot be neighbours; distances of the few others are computed in
doubles. Processors have an instruction for sums over eight bytes, which LLVM's vectoriser does not
find by itself: four targets are compared with eight rows at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numba.core import types
from numpy.typing import NDArray

from fsframe.kernels.compiled import njit

TOGETHER = 4
"""Targets at a time."""

intrinsic: Any = extending.intrinsic

_I8 = ir.IntType(8)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_EIGHT = ir.VectorType(_I64, 8)


def _differences(builder: Any, features: str, a: Any, b: Any) -> Any:
    """Eight sums of the absolute differences of eight bytes each, of two <8 x i64>."""

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
    """``near_rows_of_four(targets, first, rows, at, words, limits, out)``: which rows are near.

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
        found = []
        for own, total in zip(mine, sums, strict=True):
            total.add_incoming(ir.Constant(_EIGHT, [0] * 8), before)
            word = all_eight(builder.load(builder.gep(own, [w])))
            found.append(builder.add(total, _differences(builder, features, word, block)))
        following = builder.add(w, kind(1))
        w.add_incoming(following, loop)
        for total, result in zip(sums, found, strict=True):
            total.add_incoming(result, loop)
        builder.cbranch(builder.icmp_signed("<", following, words), loop, after)

        builder.position_at_end(after)
        mask = _I32(0)
        for t, result in enumerate(found):
            builder.store(result, builder.gep(stored, [kind(t)])).align = 8
            most = all_eight(builder.load(builder.gep(limit, [kind(t)])))
            near = builder.icmp_signed("<=", result, most)
            bits = builder.zext(builder.bitcast(near, _I8), _I32)
            mask = builder.or_(mask, builder.shl(bits, _I32(8 * t)))
        return mask

    return signature, generate


Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Listed = NDArray[np.int32]

FAST = {"reassoc", "contract", "nsz"}
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
def keep_weighted(index: Listed, weight: Floats, starts: Places, length: Places) -> None:
    """Move the listed instances of non-zero weight to the front of their lists."""
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
    # Keep the candidates within the limit set by the k-th smallest distance so far; returns their
    # number and the limit.
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
    mine : (b or a little more, words) uint64
        The targets' bytes, eight to a word; as many as a multiple of four.
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
        Written: ``index[r, starts[r, c] : starts[r, c + 1]]`` are those of class c, ascending.
    """
    b, full = rows.shape[0], mine.shape[0]
    together = max(1, BYTE_TILE // (64 * words))
    found = np.empty((full, capacity), np.int32)
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
                        found[t, q] = row
                        near[t, q] = distances[e]
                        length[t] = q + 1
                        if q + 1 == capacity:
                            kept, limit = _shortened(
                                found[t], near[t], q + 1, k, slack[t], best
                            )  # fmt: skip
                            if kept > capacity // 2:
                                settled[t] = False
                                kept, limit = 0, np.int64(-1)
                            length[t], limits[t] = kept, limit
        for t in range(b):
            q = length[t]
            if settled[t] and q > k:
                q, _ = _shortened(found[t], near[t], q, k, slack[t], best)
            at = starts[t, c]
            for e in range(q):
                index[t, at + e] = found[t, e]
            starts[t, c + 1] = at + q
