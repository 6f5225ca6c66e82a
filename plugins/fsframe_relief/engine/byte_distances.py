"""Sums of absolute differences of bytes: four targets against eight rows at a time.

Processors have an instruction for sums over eight bytes, which LLVM's vectoriser does not find by
itself.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numba.core import types

__all__ = ["TOGETHER", "near_rows_of_four"]

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
