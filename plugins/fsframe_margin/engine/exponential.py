"""A vectorisable exponential function for non-positive arguments."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import int64, types
from numba.extending import intrinsic

from fsframe.kernels.compiled import njit

__all__ = ["exp_nonpositive"]


@intrinsic
def _double_from_bits(typing_context: Any, bits: Any) -> Any:
    """The double whose bit pattern is a given int64 (numba has no scalar view)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


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
    value = p * _double_from_bits((int64(k) + 1023) << 52)  # type: ignore[call-arg]
    return value if x > -708.0 else 0.0
