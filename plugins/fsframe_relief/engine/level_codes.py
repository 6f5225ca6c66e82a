"""Discrete columns as small codes, and the codes' bits packed 64 columns to a word."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe_relief.engine.byte_table import ByteTable

__all__ = ["bit_planes", "level_codes"]

SLICE = 1 << 20
"""Values converted at a time: bounds temporaries to some 10 MB."""


def level_codes(
    X: NDArray[Any] | ByteTable,
    columns: NDArray[np.intp],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    whole: NDArray[np.bool_],
    holes: bool,
    order: NDArray[np.intp],
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Codes 0 … of discrete columns (the type's largest value: missing), and levels per column."""
    n = X.shape[0]
    with np.errstate(over="ignore", invalid="ignore"):
        span = high[columns] - low[columns]
    # Whole numbers in a short range are their own codes; anything else is looked up.
    direct = whole[columns] & (span < 255)
    n_levels = np.where(direct, span + 1, 0).astype(np.int64)
    looked_up = {}
    for k in np.flatnonzero(~direct):
        column = X[order, columns[k]]
        known = ~np.isnan(column)
        found, inverse = np.unique(column[known], return_inverse=True)
        coded = np.full(n, -1, dtype=np.int64)
        coded[known] = inverse
        looked_up[int(k)] = coded
        n_levels[k] = found.size
    kind: Any = np.uint8 if n_levels.max(initial=0) < 256 else np.uint32
    gap: Any = np.iinfo(kind).max
    codes = np.empty((n, columns.size), dtype=kind)
    short = np.flatnonzero(direct)
    every = np.array_equal(columns[short], np.arange(X.shape[1]))
    step = max(1, SLICE // max(1, short.size))
    for r in range(0, n, step):
        block = X[order[r : r + step]] if every else X[np.ix_(order[r : r + step], columns[short])]
        block = np.subtract(block, low[columns[short]])
        if holes:
            np.copyto(block, gap, where=np.isnan(block))
        codes[r : r + step, short if short.size < columns.size else slice(None)] = block
    for place, coded in looked_up.items():
        codes[:, place] = np.where(coded < 0, gap, coded)
    return codes, n_levels


def bit_planes(
    codes: NDArray[Any], n_levels: NDArray[np.int64], gaps: bool
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]]:
    """The bits of the codes, 64 columns to a word, columns of equal width together.

    Returns planes (n, words), known (n, words or 0), and segments (bits, first word, words, first
    word of known) as rows.
    """
    n = codes.shape[0]
    bits = np.array([max(1, int(m - 1).bit_length()) for m in n_levels], dtype=np.int64)
    segments = []
    first = at = 0
    for width in np.unique(bits):
        words = -(-int((bits == width).sum()) // 64)
        segments.append((int(width), first, words, at))
        first += int(width) * words
        at += words if gaps else 0
    planes, known = np.zeros((n, 8 * first), np.uint8), np.zeros((n, 8 * at), np.uint8)
    gap = np.iinfo(codes.dtype).max
    for width, begin, words, place in segments:
        members = np.flatnonzero(bits == width)
        every = members.size == codes.shape[1]
        step = max(1, SLICE // members.size)
        used = -(-members.size // 8)
        for r in range(0, n, step):
            rows = slice(r, r + step)
            block = codes[rows] if every else codes[rows][:, members]
            for b in range(width):
                left = 8 * (begin + b * words)
                bit = np.packbits(block & codes.dtype.type(1 << b), axis=1, bitorder="little")
                planes[rows, left : left + used] = bit
            if gaps:
                bit = np.packbits(block != gap, axis=1, bitorder="little")
                known[rows, 8 * place : 8 * place + used] = bit
    return (
        planes.view(np.uint64),
        known.view(np.uint64),
        np.array(segments, dtype=np.int64).reshape(-1, 4),
    )
