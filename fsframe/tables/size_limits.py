"""Limits on the size of a table, checked before memory is allocated."""

from __future__ import annotations

import os
import re
import resource

from fsframe.errors import DataError, RequestError

__all__ = [
    "MAX_CLASSES",
    "MAX_COLUMNS",
    "VARIABLE",
    "check_expansion",
    "check_size",
    "decompressed_bound",
    "memory_bound",
    "shown",
]

MAX_COLUMNS = 5_000_000
"""Columns of a text table: with more, the names alone exceed the memory of most machines."""

MAX_CLASSES = 5_000
"""Classes of a label: methods keep tables of classes × classes."""

VARIABLE = "FSFRAME_TABLE_MEMORY"

# A compressed file may expand by this factor, or to this many bytes, whichever is more.
_RATIO = 200
_FREE = 1 << 28

# The same for tables stored by columns, whose encodings pack repeated values far more.
_RATIO_OF_COLUMNS = 1100


def memory_bound() -> int:
    """Limit on the bytes for reading a table: half of the memory of this process.

    The environment variable ``FSFRAME_TABLE_MEMORY`` (such as ``12GB``) sets another bound.

    Raises
    ------
    RequestError
        If that variable holds no size.
    """
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)B?", given.upper())
        if not found:
            raise RequestError(f"{VARIABLE}={given!r} is not a size, such as 12GB")
        return int(float(found[1]) * 1000.0 ** " KMGT".index(found[2] or " "))
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    limits += [n for n in resource.getrlimit(resource.RLIMIT_AS) if n != resource.RLIM_INFINITY]
    return min(limits) // 2


def decompressed_bound(packed: int) -> int:
    """Limit on the decompressed size of a file of `packed` bytes.

    >>> decompressed_bound(10) == 1 << 28
    True
    """
    return min(memory_bound(), max(_FREE, _RATIO * packed))


def check_size(needed: int, what: str, advice: str = "") -> None:
    """Raise DataError, with both sizes, if `needed` bytes for `what` exceed the limit."""
    bound = memory_bound()
    if needed > bound:
        raise DataError(
            f"{what} would take {shown(needed)} of memory; {shown(bound)} are allowed "
            f"({advice}set {VARIABLE} for another bound)"
        )


def check_expansion(rows: int, columns: int, packed: int, what: str) -> None:
    """Refuse a file whose table, as float64, is over a thousand times as large as the file.

    Tables of up to 256 MiB are not refused, and none is if ``FSFRAME_TABLE_MEMORY`` sets a bound.

    Raises
    ------
    DataError
        With both sizes.
    """
    needed, bound = 8 * rows * columns, max(_FREE, _RATIO_OF_COLUMNS * packed)
    if needed > bound and not os.environ.get(VARIABLE, "").strip():
        raise DataError(
            f"{what} declares {rows} rows × {columns} columns in {shown(packed)}: they would take "
            f"{shown(needed)}, and {shown(bound)} are allowed; if it is meant to be like that, set "
            f"{VARIABLE}, such as to 4GB"
        )


def shown(size: int) -> str:
    """A size as text.

    >>> shown(2_500_000_000), shown(900)
    ('2.5 GB', '900 bytes')
    """
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError
