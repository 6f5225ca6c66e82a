"""Which of 64 bytes equal a value, as the bits of one word."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numba.core import types

__all__ = ["equal_bits"]

intrinsic: Any = extending.intrinsic

_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


@intrinsic
def equal_bits(typing_context: Any, array: Any, offset: Any, value: Any) -> Any:
    """The 64 bits ``array.flat[offset + i] == value`` of a contiguous uint8 array, i = 0 … 63.

    One comparison and one move where registers hold 64 bytes; nothing checks the bound.
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
