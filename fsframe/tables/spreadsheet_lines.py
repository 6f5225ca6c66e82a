"""Lines that spreadsheets put around a table: titles, a second line of names, totals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fsframe.tables.cell_syntax import is_missing, is_number
from fsframe.tables.dialect import field_splitter, first_record, unquote

__all__ = ["decimal_mark", "joined_names", "second_names", "title_end", "totals_begin"]

_LOOKED_AT, _MOST_TITLES, _FEWEST, _WIDTH = 12, 4, 3, 3
_SIGNS = (",", "\t", ";")
_ABSENT = {"-", "--", ".", "n.d.", "nd", "unknown", "missing", "not done"}
_COMMA, _POINT = (re.compile(rf"[+-]?[0-9]*{mark}[0-9]+") for mark in (",", r"\."))
_TOTAL = re.compile(
    r"(grand |column )?(totals?|sums?|means?|averages?|medians?|summe|gesamt|mittelwert)\s*:?",
    re.IGNORECASE,
)


def title_end(raw: bytes, sign: str | None = None) -> int:
    """Where the line of names begins: after lines of a title, of which at most one field is filled.

    0 if there is none. All lines after them have the same number of fields, at least three.

    >>> title_end(b"Study A, 2021\\n\\nid;x;y\\n1;2;3\\n2;3;4\\n3;4;5\\n")
    15
    """
    records, ends = _records(raw, 0)
    if len(records) < _FEWEST + 1:
        return 0
    for one in _SIGNS if sign is None else (sign,):
        split = field_splitter(one)
        head = [[unquote(field) for field in split(record)] for record in records[:2]]
        if len(head[0]) == len(head[1]) and sum(map(bool, head[0])) > 1:
            continue
        fields = [[unquote(field) for field in split(record)] for record in records]
        width = len(fields[-1])
        if width < _WIDTH:
            continue
        for k in range(1, min(_MOST_TITLES, len(fields) - _FEWEST + 1)):
            above, names = fields[:k], fields[k]
            if any(len(row) != width for row in fields[k:]):
                continue
            if not all(_is_title(row, width) for row in above):
                break
            if sum(map(bool, names)) >= max(2, width // 2) and not any(map(is_number, names)):
                return ends[k - 1]
    return 0


def _is_title(row: Sequence[str], width: int) -> bool:
    filled = sum(map(bool, row))
    return filled <= 1 if len(row) == width else 2 * len(row) <= width


def second_names(
    raw: bytes, start: int, split: Callable[[str], list[str]], first: Sequence[str]
) -> list[str] | None:
    """The fields of a second line of names at `start`, such as units; None if a row begins there.

    It holds no number, and at least two of its fields are above columns of numbers.
    """
    records, _ = _records(raw, start)
    if len(records) < _FEWEST + 1:
        return None
    second = [unquote(field) for field in split(records[0])]
    if len(second) != len(first) or len(first) < _WIDTH or any(map(is_number, second)):
        return None
    rest = [[unquote(field) for field in split(record)] for record in records[1:]]
    if any(len(row) != len(first) for row in rest):
        return None
    above, numeric = 0, 0
    for column, text in enumerate(second):
        below = {row[column] for row in rest}
        if text and text in below:
            return None
        numbers = [cell for cell in below if not is_missing(cell)]
        if numbers and all(map(is_number, numbers)):
            numeric += 1
            above += not is_missing(text) and text.lower() not in _ABSENT
    return second if above >= 2 and 2 * above >= numeric else None


def joined_names(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """One name for each column of two lines of names.

    The first line is kept if its names are complete and differ; otherwise the first is repeated to
    the right, where cells were merged, and the second appended.

    >>> joined_names(["age", "CRP"], ["years", "mg/l"])
    ['age', 'CRP']
    >>> joined_names(["id", "before", "", "after", ""], ["", "x", "y", "x", "y"])
    ['id', 'before x', 'before y', 'after x', 'after y']
    """
    if all(first) and len(set(first)) == len(first):
        return list(first)
    names, over = [], ""
    for upper, lower in zip(first, second, strict=True):
        over = upper or over
        names.append(f"{over} {lower}".strip() if lower else upper)
    return names


def totals_begin(raw: bytes, split: Callable[[str], list[str]]) -> int:
    """Where a last line of totals begins, which says so in its first filled field; else the end."""
    stop = len(raw.rstrip(b"\n"))
    start = raw.rfind(b"\n", 0, stop) + 1
    if not start or b'"' in raw[start:stop]:
        return len(raw)
    fields = [unquote(field) for field in split(raw[start:stop].decode(errors="ignore"))]
    first = next((field for field in fields if field), "")
    return start if _TOTAL.fullmatch(first) and sum(map(bool, fields)) > 1 else len(raw)


def decimal_mark(raw: bytes, start: int, sign: str) -> str:
    r"""The decimal mark: a comma if the first rows have numbers with commas and none with points.

    >>> decimal_mark(b"1,5;2;x\n2,5;3;y\n", 0, ";"), decimal_mark(b"1.5;2,5\n", 0, ";")
    (',', '.')
    """
    if sign == ",":
        return "."
    split = field_splitter(sign)
    cells = {unquote(field) for record in _records(raw, start)[0] for field in split(record)}
    commas = any(_COMMA.fullmatch(cell) for cell in cells)
    return "," if commas and not any(_POINT.fullmatch(cell) for cell in cells) else "."


def _records(raw: bytes, start: int) -> tuple[list[str], list[int]]:
    """The first records, and where each ends."""
    records: list[str] = []
    ends: list[int] = []
    while start < len(raw) and len(records) < _LOOKED_AT:
        end = first_record(raw, start)
        records.append(raw[start:end].decode(errors="ignore").removesuffix("\n"))
        ends.append(end)
        start = end
    return records, ends
