"""Compiled bit counts: common bits and differing codes of bit rows, eight words at once.

Shared by plugins that count levels from bit rows; numba has no intrinsic for either.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numba.core import config, types

from fsframe.errors import RequestError
from fsframe.kernels.compiled import njit

LANES = 8
"""Features side by side in one block: eight 64-bit words fill one 512-bit register."""


def intrinsic(generator: Callable[..., Any]) -> Any:
    """`numba.extending.intrinsic`; with ``NUMBA_DISABLE_JIT``, a function that says what to do."""
    if not vars(config).get("DISABLE_JIT"):
        return extending.intrinsic(generator)

    def refuse(*_: Any) -> None:
        raise RequestError("levels are counted by compiled code only; unset NUMBA_DISABLE_JIT")

    return refuse


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
    """Address of element `offset` of a contiguous uint64 array, without bounds check."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.gep(data, [args[1]])

    return _WORDS(array, types.intp), generate


@intrinsic
def equal_bits(typing_context: Any, array: Any, offset: Any, value: Any) -> Any:
    """The 64 bits ``array.flat[offset + i] == value`` of a contiguous uint8 array; no bounds check.

    One comparison and a move where registers hold 64 bytes.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        vector = ir.VectorType(ir.IntType(8), 64)
        start = builder.gep(data, [args[1]])
        loaded = builder.load(builder.bitcast(start, vector.as_pointer()))
        loaded.align = 1
        wanted = builder.insert_element(ir.Constant(vector, ir.Undefined), args[2], _I32(0))
        everywhere = ir.Constant(ir.VectorType(_I32, 64), [0] * 64)
        wanted = builder.shuffle_vector(wanted, ir.Constant(vector, ir.Undefined), everywhere)
        return builder.bitcast(builder.icmp_unsigned("==", loaded, wanted), _I64)

    return types.uint64(array, types.intp, types.uint8), generate


@intrinsic
def shifted(typing_context: Any, address: Any, offset: Any) -> Any:
    """The address `offset` words later."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return _WORDS(_WORDS, types.intp), generate


def _sums(builder: Any, n: Any, count: int, terms: Callable[[Any], list[Any]]) -> list[Any]:
    """Generate a loop over w < n, and return the sums of the `count` vectors from ``terms(w)``.

    LLVM's loop vectoriser leaves the plain loop scalar (measured 0.26 ns per word against 0.08),
    hence explicit vectors; on a machine without wide registers LLVM splits them.
    """
    zero = ir.Constant(_VECTOR, [0] * LANES)
    before = builder.block
    loop = builder.append_basic_block("words")
    after = builder.append_basic_block("counted")
    builder.cbranch(builder.icmp_signed(">", n, n.type(0)), loop, after)

    builder.position_at_end(loop)
    w = builder.phi(n.type)
    w.add_incoming(n.type(0), before)
    sums = [builder.phi(_VECTOR) for _ in range(count)]
    for total in sums:
        total.add_incoming(zero, before)
    results = [builder.add(total, t) for total, t in zip(sums, terms(w), strict=True)]
    following = builder.add(w, n.type(1))
    w.add_incoming(following, loop)
    for total, result in zip(sums, results, strict=True):
        total.add_incoming(result, loop)
    builder.cbranch(builder.icmp_signed("<", following, n), loop, after)

    builder.position_at_end(after)
    final = [builder.phi(_VECTOR) for _ in range(count)]
    for total, result in zip(final, results, strict=True):
        total.add_incoming(zero, before)
        total.add_incoming(result, loop)
    return final


def _of_vectors(builder: Any, name: str, result: Any, *given: Any) -> Any:
    """Call an LLVM intrinsic on vectors of eight words."""
    module = builder.module
    function = module.globals.get(name) or ir.Function(
        module, ir.FunctionType(result, [value.type for value in given]), name
    )
    return builder.call(function, given)


def _ctpop(builder: Any, vector: Any) -> Any:
    return _of_vectors(builder, f"llvm.ctpop.v{LANES}i64", _VECTOR, vector)


def _vector_at(builder: Any, address: Any) -> Any:
    """Eight words from an address without alignment to vectors."""
    vector = builder.load(builder.bitcast(address, _VECTOR.as_pointer()))
    vector.align = 8
    return vector


def _word_at(builder: Any, address: Any) -> Any:
    """One word in all eight lanes."""
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    first = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    word = builder.insert_element(undefined, builder.load(address), _I32(0))
    return builder.shuffle_vector(word, undefined, first)


Terms = Callable[[Any, Any, list[Any], Any, Any], list[Any]]
"""``terms(builder, first, rows, w, n)``: the vectors that word w adds, one for each row."""


def _counter(together: int, terms: Terms, reduced: bool = False) -> Any:
    """An intrinsic ``f(first, rows, stride, n, out)`` for `together` rows, `stride` words apart.

    Writes ``out[b, lane]``, the sum over w < n of the terms of row b; with `reduced` ``out[b]``,
    the sum over lanes as well.
    """

    def typed(typing_context: Any, first: Any, rows: Any, stride: Any, n: Any, out: Any) -> Any:
        signature = types.void(_WORDS, _WORDS, types.intp, types.intp, _WORDS)
        return signature, _generate

    def _generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        first, rows, stride, n, out = args
        starts = [builder.gep(rows, [builder.mul(stride, n.type(b))]) for b in range(together)]
        sums = _sums(builder, n, together, lambda w: terms(builder, first, starts, w, n))
        for b, total in enumerate(sums):
            if reduced:
                name = f"llvm.vector.reduce.add.v{LANES}i64"
                total = _of_vectors(builder, name, _I64, total)
                builder.store(total, builder.gep(out, [n.type(b)]))
            else:
                into = builder.gep(out, [n.type(b * LANES)])
                builder.store(total, builder.bitcast(into, _VECTOR.as_pointer())).align = 8
        return context.get_dummy_value()

    return intrinsic(typed)


def _common_with_words(builder: Any, lanes: Any, rows: list[Any], w: Any, n: Any) -> list[Any]:
    """Bits that eight lanes have in common with word w of each row."""
    mine = _vector_at(builder, builder.gep(lanes, [builder.mul(w, w.type(LANES))]))
    words = [_word_at(builder, builder.gep(row, [w])) for row in rows]
    return [_ctpop(builder, builder.and_(mine, word)) for word in words]


def _common_with_vectors(builder: Any, first: Any, rows: list[Any], w: Any, n: Any) -> list[Any]:
    """Bits that eight words of a row have in common with those of each other row."""
    place = builder.mul(w, w.type(LANES))
    mine = _vector_at(builder, builder.gep(first, [place]))
    vectors = [_vector_at(builder, builder.gep(row, [place])) for row in rows]
    return [_ctpop(builder, builder.and_(mine, one)) for one in vectors]


def _differing(bits: int) -> Terms:
    """Terms that count the places where codes of `bits` bits differ between eight lanes and rows.

    Bit q of the codes has the words n·q to n·(q + 1) - 1.
    """

    def terms(builder: Any, lanes: Any, rows: list[Any], w: Any, n: Any) -> list[Any]:
        places = [builder.add(w, builder.mul(n, n.type(q))) for q in range(bits)]
        mine = [
            _vector_at(builder, builder.gep(lanes, [builder.mul(place, n.type(LANES))]))
            for place in places
        ]
        counts = []
        for row in rows:
            each = [
                builder.xor(vector, _word_at(builder, builder.gep(row, [place])))
                for place, vector in zip(places, mine, strict=True)
            ]
            counts.append(_ctpop(builder, reduce(builder.or_, each)))
        return counts

    return terms


_count_common_1, _count_common_2, _count_common_4 = (
    _counter(together, _common_with_words) for together in (1, 2, 4)
)
_difference_1_1, _difference_1_4 = (_counter(together, _differing(1)) for together in (1, 4))
_difference_2_1, _difference_2_4 = (_counter(together, _differing(2)) for together in (1, 4))
_common_1 = _counter(1, _common_with_vectors, reduced=True)


def _common_of_four() -> Any:
    """An intrinsic ``f(row, first, second, third, fourth, n, out)``: see `common_bits_of_four`."""

    def typed(
        typing_context: Any, row: Any, first: Any, second: Any, third: Any, fourth: Any, n: Any,
        out: Any,
    ) -> Any:  # fmt: skip
        return types.void(*[_WORDS] * 5, types.intp, _WORDS), generate

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row, *others, n, out = args
        sums = _sums(
            builder, n, len(others), lambda w: _common_with_vectors(builder, row, others, w, n)
        )
        for b, total in enumerate(sums):
            name = f"llvm.vector.reduce.add.v{LANES}i64"
            total = _of_vectors(builder, name, _I64, total)
            builder.store(total, builder.gep(out, [n.type(b)]))
        return context.get_dummy_value()

    return intrinsic(typed)


common_bits_of_four = _common_of_four()
"""Common bits of a row with each of four others, ``f(row, first, second, third, fourth, n, out)``.

All are addresses of n times eight words; ``out[b]`` is written for b < 4.
"""


@njit(inline="always")
def count_rows(
    lanes: Any, rows: Any, n_rows: int, stride: int, first: int, n: int, out: Any
) -> None:
    """Count the bits that a bit row of eight features has in common with each of other bit rows.

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


@njit(inline="always")
def count_differences(
    lanes: Any, rows: Any, n_rows: int, stride: int, bits: int, n: int, out: Any
) -> None:
    """Count the places where codes of one or two bits differ between eight instances and others.

    Parameters
    ----------
    lanes : address
        The first word of eight instances: n words for each bit of the codes.
    rows : address
        Row b begins at word ``b * stride``, in the same order.
    n_rows, stride, bits, n : int
    out : address
        ``out[b, lane]`` is written for b < n_rows, lane < 8.
    """
    b = 0
    if bits == 1:
        while b + 4 <= n_rows:
            _difference_1_4(lanes, shifted(rows, b * stride), stride, n, shifted(out, b * LANES))
            b += 4
        while b < n_rows:
            _difference_1_1(lanes, shifted(rows, b * stride), stride, n, shifted(out, b * LANES))
            b += 1
    else:
        while b + 4 <= n_rows:
            _difference_2_4(lanes, shifted(rows, b * stride), stride, n, shifted(out, b * LANES))
            b += 4
        while b < n_rows:
            _difference_2_1(lanes, shifted(rows, b * stride), stride, n, shifted(out, b * LANES))
            b += 1


@njit(inline="always")
def common_bits(row: Any, other: Any, n: int, out: Any) -> None:
    """Write the number of common bits of two rows, addresses of 8 n words each, to ``out[0]``."""
    _common_1(row, other, 0, n, out)
