"""Kinds of columns: how the cells of a table become the numbers of a Dataset."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.showing import some_of

__all__ = [
    "ColumnKind",
    "as_ordinal",
    "check_readings",
    "coded",
    "days_of",
    "kinds_as_json",
    "level_text",
    "looks_boolean",
    "numbers_of",
    "ranks",
    "stored_kinds",
]

KINDS = ("nominal", "ordinal", "boolean", "date", "indicator")
_TRUE, _FALSE = ("true", "yes"), ("false", "no")
_EPOCH = datetime.date(1970, 1, 1)

Ordinal = str | int | Iterable[str | int] | Mapping[str | int, Sequence[Any] | None]


@attrs.frozen
class ColumnKind:
    """Kind of a column that does not simply hold numbers.

    Parameters
    ----------
    kind : {"nominal", "ordinal", "boolean", "date", "indicator"}
    levels : tuple of str
        For nominal and ordinal columns the levels of the codes 0, 1, …, as spelled in the table;
        for boolean ones the words for 0 and 1; for an indicator the level for which it is 1.
    column : str
        For an indicator: the column of the table that it was made from.
    """

    kind: str = attrs.field(validator=attrs.validators.in_(KINDS))
    levels: tuple[str, ...] = ()
    column: str = ""


def level_text(value: Any) -> str:
    """A level as text: whole numbers without a point, however they are spelled.

    >>> level_text(1990.0), level_text("2.0"), level_text("blue"), level_text(2.5)
    ('1990', '2', 'blue', '2.5')
    """
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    return str(int(number)) if number == int(number) and abs(number) < 2**53 else repr(number)


def check_readings(*, dates: str | None = None, encode: str | None = None) -> None:
    """Check the requested conversions of dates and nominal columns.

    Raises
    ------
    RequestError
    """
    if dates not in (None, "days"):
        raise RequestError(f"dates must be days, not {dates!r}")
    if encode not in (None, "onehot"):
        raise RequestError(f"encode must be onehot, not {encode!r}")


def as_ordinal(given: Ordinal | None) -> dict[str | int, tuple[str, ...]]:
    """Ordinal columns as a mapping of columns to the order of their levels; empty: numeric order.

    >>> as_ordinal({"size": ["S", "M"]}), as_ordinal("grade")
    ({'size': ('S', 'M')}, {'grade': ()})
    """
    if given is None:
        return {}
    if isinstance(given, (str, int)):
        return {given: ()}
    if not isinstance(given, Mapping):
        return dict.fromkeys(given, ())
    found = {key: tuple(map(level_text, order or ())) for key, order in given.items()}
    twice = [key for key, order in found.items() if len(set(order)) != len(order)]
    if twice:
        raise RequestError(f"ordinal column {twice[0]!r}: a level occurs twice in its order")
    return found


def looks_boolean(texts: Iterable[str]) -> tuple[str, str] | None:
    """The words for false and true if there are no others, else None.

    >>> looks_boolean({"yes", "no"}), looks_boolean({"yes", "maybe"})
    (('no', 'yes'), None)
    """
    words = {text.strip().lower() for text in texts}
    for no, yes in zip(_FALSE, _TRUE, strict=True):
        if words and words <= {no, yes}:
            return no, yes
    return None


def days_of(text: str) -> float | None:
    """Days since 1970-01-01 of an ISO 8601 date or time; None for other text.

    >>> days_of("1970-01-03"), days_of("1970-01-01 12:00"), days_of("blue"), days_of("20")
    (2.0, 0.5, None, None)
    """
    plain = text.strip()
    # "2021" and "20210304" are taken as numbers elsewhere.
    if len(plain) < 8 or "-" not in plain[1:]:
        return None
    try:
        if len(plain) <= 10:
            return float((datetime.date.fromisoformat(plain) - _EPOCH).days)
        moment = datetime.datetime.fromisoformat(plain)
    except ValueError:
        return None
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)


def ranks(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Numbers as ranks 0, 1, … of their levels, NaN where missing, and the levels as text.

    >>> ranks(np.array([10.0, 2.0, np.nan, 10.0]))
    (array([ 1.,  0., nan,  1.]), ('2', '10'))
    """
    levels, place = np.unique(values, return_inverse=True)
    levels = levels[~np.isnan(levels)]
    found = np.where(np.isnan(values), np.nan, place.ravel().astype(np.float64))
    return found, tuple(level_text(level) for level in levels.tolist())


def coded(values: Sequence[str | None], name: str) -> tuple[NDArray[np.float64], ColumnKind, str]:
    """The text of column `name` as codes 0, 1, … of its sorted levels, NaN for None; and a note.

    >>> coded(["b", "a", None, "b"], "size")[::2]
    (array([ 1.,  0., nan,  1.]), "text in column 'size' was coded: a=0, b=1")
    """
    levels = tuple(sorted({value for value in values if value is not None}))
    code: dict[str | None, float] = {text: float(place) for place, text in enumerate(levels)}
    spelled = some_of([f"{text}={place}" for place, text in enumerate(levels)], 10)
    numbers = np.array([code.get(value, math.nan) for value in values])
    return numbers, ColumnKind("nominal", levels), f"text in column {name!r} was coded: {spelled}"


def numbers_of(
    texts: Sequence[str],
    kind: ColumnKind,
    missing: Callable[[str], bool],
    where: Callable[[int], str],
) -> NDArray[np.float64]:
    """The cells of a column of this kind as the numbers of a Dataset, NaN where missing.

    Parameters
    ----------
    texts : sequence of str
    kind : ColumnKind
        Levels it does not list get a code beyond all others in a nominal column.
    missing : callable
        Whether a text is a missing value.
    where : callable
        Names the row of a cell, for messages.

    Raises
    ------
    DataError
        At the first cell that is not a level of an ordinal or boolean column, or not a date.

    Examples
    --------
    >>> size = ColumnKind("ordinal", ("S", "M", "L"))
    >>> numbers_of(["M", "", "S"], size, lambda text: not text, str)
    array([ 1., nan,  0.])
    """
    code = {level_text(level): float(place) for place, level in enumerate(kind.levels)}
    found = np.empty(len(texts))
    known: dict[str, float] = {}
    for row, text in enumerate(texts):
        if text not in known:
            known[text] = math.nan if missing(text) else _number_of(text, kind, code, where, row)
        found[row] = known[text]
    return found


def _number_of(
    text: str, kind: ColumnKind, code: Mapping[str, float], where: Callable[[int], str], row: int
) -> float:
    level = level_text(text)
    if kind.kind == "indicator":
        return float(level in code)
    if kind.kind == "date":
        days = days_of(text)
        if days is not None:
            return days
        raise DataError(f"{where(row)}: {text!r} is not a date such as 2021-03-04; correct it")
    if kind.kind == "boolean":
        level = level.lower()
    if level in code:
        return code[level]
    if kind.kind == "nominal":
        return float(len(code))
    shown = " < ".join(kind.levels) if kind.kind == "ordinal" else " and ".join(kind.levels)
    raise DataError(f"{where(row)}: {text!r} is not one of the levels of this column: {shown}")


def kinds_as_json(kinds: Mapping[str, ColumnKind]) -> dict[str, Any]:
    """Kinds of columns by name, for the run file."""
    return {
        name: {"kind": kind.kind, "levels": list(kind.levels)}
        | ({"column": kind.column} if kind.column else {})
        for name, kind in kinds.items()
    }


def stored_kinds(found: Any) -> dict[str, ColumnKind]:
    """Kinds of columns from a run file; anything invalid is left out."""
    out: dict[str, ColumnKind] = {}
    for name, one in found.items() if isinstance(found, dict) else ():
        levels = one.get("levels", []) if isinstance(one, dict) else None
        if not isinstance(levels, list) or not all(isinstance(text, str) for text in levels):
            continue
        column = one.get("column", "")
        if one.get("kind") in KINDS and isinstance(column, str):
            out[name] = ColumnKind(one["kind"], tuple(levels), column)
    return out
