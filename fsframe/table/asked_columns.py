"""Check the columns that options name: all that are not there, or have two roles, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fsframe.errors import DataError

__all__ = ["WORDS", "AskedColumns", "check_asked", "only"]

AskedColumns = Mapping[str, Sequence[int]]
"""Positions of columns by the role that was asked for them."""

WORDS = {
    "label": "label",
    "drop": "column to drop",
    "groups": "groups",
    "weight": "weight",
    "time": "time",
    "event": "events",
    "adjust": "column to adjust for",
    "keep": "column to keep",
    "categorical": "categorical column",
    "ordinal": "ordinal column",
}
"""What messages call the columns of each role."""

# A column that has the role of one line cannot have a role of a later line as well; a column that
# is dropped may still name groups, or hold weights.
_IS = {
    "label": "is the label",
    "drop": "is left out (--drop)",
    "groups": "names groups (--groups)",
    "weight": "holds weights (--weight)",
    "time": "is the time (--time)",
    "event": "tells the events (--event)",
    "adjust": "is a covariate (--adjust)",
}
_CANNOT = {
    "drop": "be dropped (--drop)",
    "groups": "name groups (--groups)",
    "weight": "be weights (--weight)",
    "time": "be the time (--time)",
    "event": "tell events (--event)",
    "adjust": "be a covariate (--adjust)",
    "keep": "be kept (--keep)",
    "categorical": "be categorical (--categorical)",
    "ordinal": "be ordinal (--ordinal)",
}
_TOGETHER = {
    ("drop", "groups"),
    ("drop", "weight"),
    *((role, kind) for role in ("time", "adjust") for kind in ("categorical", "ordinal")),
}


def check_asked(
    find: Callable[[str, Sequence[str | int]], list[int]],
    word: Callable[[int], str],
    n_columns: int = 0,
    **roles: Any,
) -> AskedColumns:
    """The columns of all roles, which exist, and none of which has two that exclude each other.

    Parameters
    ----------
    find : callable
        Given a role and keys, returns the positions of columns; DataError if there are none.
    word : callable
        What a message calls the column at a position.
    n_columns : int
        Number of columns, if without a given label it is the last that is neither dropped nor names
        groups or holds weights; 0 if none is.
    roles : str, int, several, bool or None
        The keys of each role of `WORDS`; True, False and None name no column.

    Returns
    -------
    dict of str to list of int
        Their positions, in the order of the keys, by role.

    Raises
    ------
    DataError
        Listing everything, one problem a line.

    Examples
    --------
    >>> find = lambda role, keys: ["abc".index(key) for key in keys]
    >>> check_asked(find, "column {}".format, label="c", drop=["a", "c"], keep="a")
    Traceback (most recent call last):
    fsframe.errors.DataError: column 2 is the label and cannot be dropped (--drop)
    column 0 is left out (--drop) and cannot be kept (--keep)
    """
    problems: list[str] = []
    places: dict[str, list[int]] = {}
    for role, given in roles.items():
        keys = _keys(given)
        try:
            places[role] = find(role, keys) if keys else []
        except DataError as error:
            problems.append(str(error))
    taken = {place for role in ("drop", "groups", "weight") for place in places.get(role, ())}
    if roles.get("label") is None:
        places["label"] = [k for k in reversed(range(n_columns)) if k not in taken][:1]
    for place in dict.fromkeys(place for found in places.values() for place in found):
        own = [role for role in WORDS if place in places.get(role, ())]
        problems += [
            f"{word(place)} {_IS[role]} and cannot {_CANNOT[other]}"
            for at, role in enumerate(own)
            if role in _IS
            for other in own[at + 1 :]
            if (role, other) not in _TOGETHER
        ]
    if problems:
        raise DataError("\n".join(problems))
    return places


def only(asked: AskedColumns, role: str) -> int | None:
    """The column of a role that one column has; None if none has it."""
    return next(iter(asked.get(role, ())), None)


def _keys(given: str | int | bool | Iterable[str | int] | None) -> list[str | int]:
    if given is None or isinstance(given, bool):
        return []
    return [given] if isinstance(given, (str, int)) else list(given)
