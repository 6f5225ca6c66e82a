"""Find columns by name or number, and check names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.suggest import did_you_mean

__all__ = [
    "MAX_NAME_BYTES",
    "as_keys",
    "check_names",
    "column_mask",
    "column_word",
    "find_column",
    "find_columns",
]

_SURROGATE = re.compile("[\ud800-\udfff]")

MAX_NAME_BYTES = 4_096
"""As in docs/file-format.md: a longer name could not be stored."""


def column_word(column: int, name: str = "") -> str:
    """A column for messages: its number from 1, and its name.

    >>> column_word(2, "glucose")
    'column 3 (glucose)'
    """
    return f"column {column + 1} ({name})" if name else f"column {column + 1}"


def as_keys(value: str | int | Iterable[str | int] | None) -> tuple[str | int, ...]:
    """One column or several, as a tuple of names and numbers."""
    if value is None:
        return ()
    if isinstance(value, (str, int)):
        return (value,)
    return tuple(value)


def find_column(names: Sequence[str] | None, n_columns: int, key: str | int, what: str) -> int:
    """The position of a column, given by name, or by position from 0 (from the end if negative).

    Digits that are not a name are a number from 1. `names` is None where the table has no line of
    names; `what` names file and purpose. DataError if there is no such column, or several have the
    name.
    """
    if not isinstance(key, str):
        if not -n_columns <= key < n_columns:
            # The command line counts from 1, Python from 0; the message gives both.
            counted = f"number {key + 1} (position {key})" if key >= 0 else str(key)
            raise DataError(f"{what}: there is no column {counted}; the table has {n_columns}")
        return int(key) % n_columns
    # Columns without names, or with equal names, can only be given by number.
    number = int(key) if key.isascii() and key.isdigit() and len(key) < 9 else 0
    if 1 <= number <= n_columns and (names is None or key not in names):
        return number - 1
    if names is None:
        raise DataError(
            f"{what}: there is no column {key!r}: the first line of the table does not hold "
            "names; give the number of the column"
        )
    places = [place for place, name in enumerate(names) if name == key]
    if len(places) == 1:
        return places[0]
    if places:
        numbers = ", ".join(str(place + 1) for place in places)
        raise DataError(f"{what}: several columns are named {key!r}: numbers {numbers}")
    hint = did_you_mean(key, [name for name in names if name])
    if not hint:
        shown = ", ".join([name for name in names if name][-6:])
        hint = f"; the last columns are {shown}"
    raise DataError(f"{what}: there is no column {key!r}{hint}")


def find_columns(
    names: Sequence[str] | None, n_columns: int, keys: Iterable[str | int], what: str
) -> list[int]:
    """The positions of several columns; DataError lists all that `find_column` does not find."""
    found: list[int] = []
    wrong: list[str] = []
    for key in keys:
        try:
            found.append(find_column(names, n_columns, key, what))
        except DataError as error:
            wrong.append(str(error) if not wrong else str(error).removeprefix(f"{what}: "))
    if wrong:
        raise DataError("; ".join(wrong))
    return found


def column_mask(
    names: Sequence[str] | None,
    n_columns: int,
    features: Sequence[int],
    keys: str | int | Iterable[str | int] | bool | None,
    what: str,
) -> NDArray[np.bool_]:
    """Which of the columns `features` the keys name; True stands for all, None for none.

    DataError if a column cannot be found, or is not one of `features`.
    """
    if keys is None or isinstance(keys, bool):
        return np.full(len(features), bool(keys))
    found = find_columns(names, n_columns, as_keys(keys), what)
    wrong = sorted(set(found) - set(features))
    if wrong:
        listing = ", ".join(column_word(c, names[c] if names else "") for c in wrong)
        raise DataError(f"{what}: {listing} is the label or is left out")
    return np.isin(features, found)


def check_names(names: Sequence[str], columns: Sequence[int], path: object) -> None:
    """Check that the columns have different names of a valid length.

    DataError lists names given twice with their columns, or columns without a name.
    """
    wanted = [names[column] for column in columns]
    nameless = [column + 1 for column in columns if not names[column]]
    if nameless:
        shown = ", ".join(map(str, nameless[:8])) + (", …" if len(nameless) > 8 else "")
        raise DataError(
            f"{path}, line of names: no name for column {shown}; name every column (a delimiter at "
            "the end of the line adds an empty one)"
        )
    twice = [name for name, count in Counter(wanted).items() if count > 1]
    if twice:
        places = ", ".join(
            f"{name[:60]!r} (columns {', '.join(str(c + 1) for c in columns if names[c] == name)})"
            for name in twice[:5]
        )
        more = f" and {len(twice) - 5} more" if len(twice) > 5 else ""
        raise DataError(
            f"{path}, line of names: used more than once: {places}{more}; rename the columns, or, "
            "if the first line is a row and not names, say so (header=False, --no-header)"
        )
    try:
        "".join(wanted).encode()
    except UnicodeEncodeError:
        name = next(name for name in wanted if _SURROGATE.search(name))
        raise DataError(
            f"{path}: the name {name[:30]!r} holds an unpaired surrogate character; rename the "
            "column"
        ) from None
    long = next((name for name in wanted if len(name.encode()) > MAX_NAME_BYTES), None)
    if long is not None:
        raise DataError(f"{path}: the name {long[:30]!r}… is longer than {MAX_NAME_BYTES} bytes")
