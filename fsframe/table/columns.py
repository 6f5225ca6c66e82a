"""Columns that a request names: features, groups of features, the label."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.arrays import (
    LARGEST,
    check_text,
    column_block,
    too_large,
)
from fsframe.table.roles import ROLES, AskedColumns, Role, as_keys, with_option
from fsframe.text import counted, did_you_mean, some_of

MAX_NAME_BYTES = 4_096
"""Longest name that can be stored (docs/file-format.md)."""


def column_word(column: int, name: str = "") -> str:
    """A column for messages: its number from 1, and its name.

    >>> column_word(2, "glucose")
    'column 3 (glucose)'
    """
    return f"column {column + 1} ({name})" if name else f"column {column + 1}"


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
    places: list[int] = []
    wrong: list[str] = []
    # Fast for many names and keys; names that occur twice are left to `find_column`.
    times = Counter(names or ())
    known = {name: place for place, name in enumerate(names or ()) if times[name] == 1}
    for key in keys:
        if not isinstance(key, (str, int)):
            key = str(key)  # a tuple, as frames with several levels of names call their columns
        try:
            place = known.get(key) if isinstance(key, str) else None
            places.append(find_column(names, n_columns, key, what) if place is None else place)
        except DataError as error:
            wrong.append(str(error) if not wrong else str(error).removeprefix(f"{what}: "))
    if wrong:
        raise DataError("; ".join(wrong))
    return places


def check_columns(
    names: Sequence[str] | None,
    n_columns: int,
    what: object,
    roles: Mapping[str, Any],
    *,
    beside: Sequence[str] = (),
    label_among: int = 0,
) -> AskedColumns:
    """The columns of all roles; none may have two roles that exclude each other.

    Parameters
    ----------
    names : sequence of str or None
    n_columns : int
    what : object
        The table, for messages.
    roles : mapping of str to keys
        The keys of each role of `ROLES`; True, False and None name no column. Other arguments of
        `fsframe.read` are ignored.
    beside : sequence of str
        Annotations of the rows, whose places follow those of the columns.
    label_among : int
        Number of columns: if no label is given, it is the last column that is neither dropped nor
        names groups or holds weights. With 0, no column is.

    Returns
    -------
    dict of str to list of int
        Their positions, in the order of the keys, by role.

    Raises
    ------
    DataError
        Lists all problems, one per line.

    Examples
    --------
    >>> check_columns("abc", 3, "t.csv", {"label": "c", "drop": ["a", "c"], "keep": "a"})
    Traceback (most recent call last):
    fsframe.errors.DataError: t.csv: column 3 (c) is the label and cannot be dropped (--drop)
    t.csv: column 1 (a) is left out (--drop) and cannot be kept (--keep)
    """

    def find(role: Role, keys: Sequence[str | int]) -> list[int]:
        annotated = [key for key in keys if key in beside and role.of_rows]
        others = [key for key in keys if key not in annotated]
        for key in others if beside and role.of_rows else ():
            if isinstance(key, str) and not key.isdigit() and key not in (names or ()):
                hint = did_you_mean(key, [*beside, *(names or ())])
                raise DataError(
                    f"{what}, {role.word}: there is no column {key!r}"
                    + (hint or f"; rows have {some_of(beside, 6)}")
                )
        return [
            *(n_columns + beside.index(str(key)) for key in annotated),
            *find_columns(names, n_columns, others, f"{what}, {role.word}"),
        ]

    def word(place: int) -> str:
        if place >= n_columns:
            return f"{what}: {beside[place - n_columns]!r}"
        return f"{what}: {column_word(place, names[place] if names else '')}"

    problems: list[str] = []
    places: dict[str, list[int]] = {}
    for role in ROLES.values():
        given = roles.get(role.name)
        one_name = isinstance(given, tuple) and str(given) in (names or ())
        keys = (str(given),) if one_name else as_keys(given)
        try:
            places[role.name] = find(role, keys) if keys else []
        except DataError as error:
            problems.append(str(error))
    taken = {place for role in ("drop", "groups", "weight") for place in places.get(role, ())}
    if roles.get("label") is None:
        places["label"] = [k for k in reversed(range(label_among)) if k not in taken][:1]
    for place in dict.fromkeys(place for columns in places.values() for place in columns):
        its_roles = [role for role in ROLES.values() if place in places.get(role.name, ())]
        problems += [
            f"{word(place)} {with_option(role.being, role)} and cannot "
            f"{with_option(other.verb, other)}"
            for at, role in enumerate(its_roles)
            if role.being
            for other in its_roles[at + 1 :]
            if other.name not in role.shares
        ]
    if problems:
        raise DataError("\n".join(problems))
    return places


def check_names(
    names: Sequence[str], columns: Sequence[int], path: object, *, in_line: bool = True
) -> None:
    """Check that the columns have different names of a valid length.

    `in_line` says whether the names are those in the first line of a text.

    DataError lists names given twice with their columns, or columns without a name.
    """
    place = f"{path}, line of names" if in_line else f"{path}, names of columns"
    wanted = [names[column] for column in columns]
    nameless = [column + 1 for column in columns if not names[column]]
    if nameless:
        shown = ", ".join(map(str, nameless[:8])) + (", …" if len(nameless) > 8 else "")
        hint = " (a delimiter at the end of the line adds an empty one)" if in_line else ""
        if nameless == [1]:
            hint = ", or leave this one out by its number (--drop 1, drop=[0])"
        raise DataError(f"{place}: no name for column {shown}; name every column{hint}")
    twice = [name for name, count in Counter(wanted).items() if count > 1]
    if twice:
        places = [
            f"{name[:60]!r} (columns {', '.join(str(c + 1) for c in columns if names[c] == name)})"
            for name in twice[:5]
        ]
        hint = ", or, if the first line is a row and not names, say so (header=False, --no-header)"
        raise DataError(
            f"{place}: used more than once: {some_of([*places, *twice[5:]])}; rename the columns"
            + hint * in_line
        )
    check_text(wanted, f"{path}: the name", "the column")
    long = next((name for name in wanted if len(name.encode()) > MAX_NAME_BYTES), None)
    if long is not None:
        raise DataError(f"{path}: the name {long[:30]!r}… is longer than {MAX_NAME_BYTES} bytes")


def check_finite(
    X: NDArray[Any], where: Callable[[int, int], str], *, takes_codes: bool = True
) -> None:
    """Raise DataError, naming the first, if a value is infinite or too large.

    `takes_codes` says whether codes of missing values can be given.
    """
    wrong = too_large(X)
    if wrong is not None:
        row, column = np.unravel_index(int(np.argmax(wrong)), X.shape)
        more = int(wrong.sum()) - 1
        others = f" ({more} more like it)" if more else ""
        columns = np.flatnonzero(wrong.any(axis=0))
        if len(columns) > 1:
            others += f" in {len(columns)} columns"
        place, value = where(int(row), int(column)), float(X[row, column])
        if np.isinf(value):
            way = "or make it missing"
            if takes_codes:
                way = f"leave the field empty if it is missing, or say so (na='{value:g}', --na "
                way += f"{value:g})"
            raise DataError(
                f"{place}: infinite, or too large for a number ({value:g}){others}; correct it, "
                + way
            )
        raise DataError(
            f"{place}: too large (above {LARGEST:g} in magnitude, so that its square is infinite)"
            f"{others}; correct it, divide the column by a constant, or leave the field empty if "
            "missing"
        )


# Common codes for missing values: nines, minima of integer types, powers of ten.
_USUAL_CODES = frozenset(
    [sign * value for value in (99.0, 999.0, 9999.0, 99999.0, 999999.0, 1e30) for sign in (1, -1)]
    + [-9.0, -32768.0, -2147483648.0]
)
# Numbers above a short scale by which surveys mark answers as not known, refused or not asked.
_ANSWERS = tuple(
    frozenset(
        float(digit * nines + last) for digit, last in ((7, 0), (8, 0), (9, 0), (9, -1), (9, -2))
    )
    for nines in (11, 111, 1111)
)
_FEW = 10


def counting_columns(X: NDArray[Any]) -> list[int]:
    """The columns that are 0, 1, 2, … or 1, 2, 3, … down the table.

    >>> counting_columns(np.array([[1, 7, 0], [2, 8, 2], [3, 9, 1]]))
    [0]
    """
    rows = np.arange(len(X), dtype=np.float64)
    first, last = X[0].astype(np.float64), X[-1].astype(np.float64)
    starts = np.isin(first, (0.0, 1.0)) & (last == first + rows[-1]) & (len(X) > 2)
    return [c for c in np.flatnonzero(starts).tolist() if np.all(X[:, c] == first[c] + rows)]


def maybe_coded_columns(
    X: NDArray[Any], lowest: NDArray[np.float64], highest: NDArray[np.float64]
) -> list[int]:
    """The columns of X (n, p) for which `likely_codes` is worth a call, given their (p,) extremes.

    An extreme is infinite or a usual code, or the lowest is a whole number of at most -9 and the
    only negative one.

    >>> X = np.array([[-999.0, -200, -20], [3, 4, -7], [5, -200, 6]])
    >>> maybe_coded_columns(X, X.min(axis=0), X.max(axis=0))
    [0, 1]
    """
    usual = [*_USUAL_CODES.union(*_ANSWERS), np.inf, -np.inf]
    maybe = np.isin(lowest, usual) | np.isin(highest, usual)
    negative = np.flatnonzero((lowest <= -9) & (lowest == np.floor(lowest)) & ~maybe)
    few = X[:, negative]
    maybe[negative] = (few < 0).sum(axis=0) == (few == lowest[negative]).sum(axis=0)
    return np.flatnonzero(maybe).tolist()


def _answers_missing(values: NDArray[np.float64]) -> list[tuple[float, int]]:
    """Codes of missing answers above the (n,) values of a scale, with how often they occur.

    Empty if there is only one.
    """
    different, times = np.unique(values[~np.isnan(values)], return_counts=True)
    family = next((set_of for set_of in _ANSWERS if different[-1] in set_of), frozenset())
    coded = np.isin(different, [*family])
    scale = different[~coded]
    if coded.sum() < 2 or len(scale) < 3 or (scale != np.floor(scale)).any():
        return []
    if different[coded][0] - scale[-1] <= scale[-1] - scale[0]:
        return []
    return [(float(v), int(n)) for v, n in zip(different[coded], times[coded], strict=True)]


def likely_codes(values: NDArray[np.float64]) -> list[tuple[float, int]]:
    """The lowest and the highest of (n,) values that look like codes for a missing one.

    Each comes with how often it occurs. An infinite value is a code. Others are repeated outliers:
    further from the other values than these are from each other, or the only negative one. There
    must be at least three other values, and ten if the code is negative and not a usual one.
    Several numbers such as 77, 88 and 99 are codes if the other values are whole and further from
    them than from each other.

    >>> likely_codes(np.array([1.0, 2, 3, 4, 88, 2, 99, 99]))
    [(88.0, 1), (99.0, 2)]
    """
    answers = _answers_missing(values)
    if answers:
        return answers
    codes = []
    for code in (float(np.nanmin(values)), float(np.nanmax(values))):
        usual, times = code in _USUAL_CODES, int(np.count_nonzero(values == code))
        if np.isinf(code):
            codes.append((code, times))
            continue
        if not usual and not (code <= -9 and code.is_integer()):
            continue
        rest = values[(values != code) & ~np.isnan(values)]
        if times < 2 or not len(rest):
            continue
        low, high, different = float(rest.min()), float(rest.max()), len(np.unique(rest))
        gap = low - code if code < low else code - high
        if usual:
            apart = different >= 3 and (gap > high - low or (code <= -9 and low >= 0))
        else:
            apart = different >= _FEW and times > 2 and low >= 0 and 10 * gap > high - low
        if apart:
            codes.append((code, times))
    return codes


_WEAK = {
    "empty": "without any value: {}; they carry no information",
    "constant": "with one value only: {}; they carry no information",
    "counting": "counting the rows: {}; drop what is an identifier",
    "coded": "in which a repeated extreme value looks like a code for a missing one: {}; if so, ",
}


def column_warnings(weak: Mapping[str, Sequence[str]], *, takes_codes: bool = True) -> list[str]:
    """One sentence for each kind of weakness, given the columns that have it.

    These are columns without any value (``empty``) or with one only (``constant``), columns that
    count the rows (``counting``), and columns with likely codes for missing values (``coded``).
    `takes_codes` as for `check_finite`.
    """
    way = "say it (--na CODE, na=)" if takes_codes else "make it missing"
    return [
        f"{counted(len(names), 'column')} {_WEAK[kind].format(some_of(names))}"
        + way * (kind == "coded")
        for kind, names in weak.items()
        if names
    ]


# Numbers in one block of a table that is not an array: 32 MiB as float64.
_BLOCK = 1 << 22


def feature_warnings(X: Any, names: Sequence[str], *, takes_codes: bool) -> list[str]:
    """Warnings about the columns of a table (`column_warnings`).

    Parameters
    ----------
    X : (n_samples, n_features) array or ColumnSource
        Values that are neither float64 nor whole are converted to float64, block by block.
    names : sequence of str
    takes_codes : bool
        As for `check_finite`.
    """
    weak: dict[str, list[str]] = {kind: [] for kind in _WEAK}
    n_samples, n_features = X.shape
    kept = X.dtype == np.float64 or X.dtype.kind in "iub"
    whole = isinstance(X, np.ndarray) and kept
    width = n_features if whole else max(1, _BLOCK // n_samples)
    for start in range(0, n_features, width):
        block = np.asarray(column_block(X, start, min(start + width, n_features)))
        if not kept:
            block = block.astype(np.float64)
        some = np.array(names[start : start + width], dtype=object)
        plain = block.dtype.kind != "f"
        least, most = (np.minimum, np.maximum) if plain else (np.fmin, np.fmax)
        lowest = least.reduce(block, axis=0).astype(np.float64)
        highest = most.reduce(block, axis=0).astype(np.float64)
        weak["empty"] += some[np.isnan(lowest)].tolist()
        weak["constant"] += some[lowest == highest].tolist()
        weak["counting"] += some[counting_columns(block)].tolist()
        weak["coded"] += [
            f"{some[c]} ({code:g}, {times} times)"
            for c in maybe_coded_columns(block, lowest, highest)
            for code, times in likely_codes(block[:, c].astype(np.float64))
        ]
    return column_warnings(weak, takes_codes=takes_codes)


_HEADS = ({"feature", "group"}, {"feature", "set"}, {"name", "group"})
_MOST = 1 << 28


def feature_groups_of(
    given: str | os.PathLike[str] | Mapping[str, Sequence[str]] | None,
) -> dict[str, tuple[str, ...]]:
    """The features of each group, by its name; empty if nothing is given.

    Parameters
    ----------
    given : path, or mapping of str to sequence of str, optional
        A text file in UTF-8 with a feature and its group in each line, separated by a tab, a
        semicolon or a comma; a first line ``feature,group`` is skipped.

    Raises
    ------
    DataError
        If the file cannot be read, or a line does not have two fields.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(title): tuple(map(str, members)) for title, members in given.items()}
    try:
        with open(given, encoding="utf-8-sig", newline="") as file:
            text = file.read(_MOST + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read feature groups from {given}: {error}") from None
    if len(text) > _MOST:
        raise DataError(f"{given}: feature groups of more than 256 MB are not read")
    first = text.split("\n", 1)[0]
    sign = next((sign for sign in "\t;," if sign in first), ",")
    by_group: dict[str, list[str]] = {}
    try:
        lines = [line for line in csv.reader(text.splitlines(), delimiter=sign) if any(line)]
    except csv.Error as error:
        raise DataError(f"{given}: {error}") from None
    for number, line in enumerate(lines, start=1):
        fields = [field.strip() for field in line]
        if number == 1 and {field.lower() for field in fields} in _HEADS:
            continue
        if len(fields) != 2 or not all(fields):
            raise DataError(
                f"{given}, line {number}: {len(fields)} fields, not 2: a feature and its group"
            )
        by_group.setdefault(fields[1], []).append(fields[0])
    if not by_group:
        raise DataError(f"{given} holds no feature groups")
    return {title: tuple(members) for title, members in by_group.items()}
