"""Compiled bit counts: AND of bit rows and population count, eight features at once.

Shared by plugins that count levels from bit rows; numba has no intrinsic for either.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numba.core import types

from fsframe.contracts.compiled import njit

__all__ = [
    "LANES",
    "at",
    "count_rows",
    "popcount",
    "shifted",
]

LANES = 8
"""Features side by side in one block: eight 64-bit words fill one 512-bit register."""

intrinsic: Any = extending.intrinsic

_WORDS = types.CPointer(types.uint64)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_VECTOR = ir.VectorType(_I64, LANES)


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Number of bits set in one 64-bit word."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@intrinsic
def at(typing_context: Any, array: Any, offset: Any) -> Any:
    """Address of element `offset` of a contiguous uint64 array; nothing checks the bound."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.gep(data, [args[1]])

    return _WORDS(array, types.intp), generate


@intrinsic
def shifted(typing_context: Any, address: Any, offset: Any) -> Any:
    """The address `offset` words further on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return _WORDS(_WORDS, types.intp), generate


def _counter(together: int) -> Any:
    """An intrinsic ``f(lanes, rows, stride, n, out)`` for `together` bit rows.

    Adds to nothing: writes ``out[b, l] = Σ_w popcount(lanes[w, l] & rows[b·stride + w])`` for
    ``b < together``, ``l < LANES``, ``w < n``. LLVM's loop vectoriser leaves the plain loop scalar
    (measured 0.26 ns per word against 0.08), hence the explicit vectors; on a machine without
    wide registers LLVM splits them.
    """

    def typed(typing_context: Any, lanes: Any, rows: Any, stride: Any, n: Any, out: Any) -> Any:
        signature = types.void(_WORDS, _WORDS, types.intp, types.intp, _WORDS)
        return signature, _generate

    def _generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes, rows, stride, n, out = args
        lanes = builder.bitcast(lanes, _VECTOR.as_pointer())
        out = builder.bitcast(out, _VECTOR.as_pointer())
        name = f"llvm.ctpop.v{LANES}i64"
        ctpop = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR]), name
        )
        zero = ir.Constant(_VECTOR, [0] * LANES)
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
        starts = [builder.gep(rows, [builder.mul(stride, n.type(b))]) for b in range(together)]
        before = builder.block
        loop = builder.append_basic_block("words")
        after = builder.append_basic_block("counted")
        builder.cbranch(builder.icmp_signed(">", n, n.type(0)), loop, after)

        builder.position_at_end(loop)
        w = builder.phi(n.type)
        w.add_incoming(n.type(0), before)
        sums = [builder.phi(_VECTOR) for _ in range(together)]
        lane_words = builder.load(builder.gep(lanes, [w]))
        lane_words.align = 8
        results = []
        for start, total in zip(starts, sums, strict=True):
            total.add_incoming(zero, before)
            word = builder.load(builder.gep(start, [w]))
            word = builder.insert_element(undefined, word, _I32(0))
            word = builder.shuffle_vector(word, undefined, first)
            common = builder.call(ctpop, [builder.and_(lane_words, word)])
            results.append(builder.add(total, common))
        following = builder.add(w, n.type(1))
        w.add_incoming(following, loop)
        for total, result in zip(sums, results, strict=True):
            total.add_incoming(result, loop)
        builder.cbranch(builder.icmp_signed("<", following, n), loop, after)

        builder.position_at_end(after)
        for b, result in enumerate(results):
            final = builder.phi(_VECTOR)
            final.add_incoming(zero, before)
            final.add_incoming(result, loop)
            results[b] = final
        for b, final in enumerate(results):
            stored = builder.store(final, builder.gep(out, [n.type(b)]))
            stored.align = 8
        return context.get_dummy_value()

    return intrinsic(typed)


_count_common_1 = _counter(1)
_count_common_2 = _counter(2)
_count_common_4 = _counter(4)


@njit(inline="always")
def count_rows(
    lanes: Any, rows: Any, n_rows: int, stride: int, first: int, n: int, out: Any
) -> None:
    """Common bits of one bit row of eight features with each of some other bit rows.

    Parameters
    ----------
    lanes : address
        The first of its `n` words of eight features (see `at`).
    rows : (…,) uint64
        Row b begins at word ``b * stride + first``.
    n_rows, stride, first, n : int
    out : address
        ``out[b, lane]`` is written for b < n_rows, lane < 8.
    """
    b = 0
    while b + 4 <= n_rows:
        _count_common_4(lanes, at(rows, b * stride + first), stride, n, shifted(out, b * LANES))
        b += 4
    if b + 2 <= n_rows:
        _count_common_2(lanes, at(rows, b * stride + first), stride, n, shifted(out, b * LANES))
        b += 2
    if b < n_rows:
        _count_common_1(lanes, at(rows, b * stride + first), stride, n, shifted(out, b * LANES))
