"""Groups of features from a file of two columns: feature and group."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence

from fsframe.errors import DataError

__all__ = ["feature_groups_of"]

_HEADS = ({"feature", "group"}, {"feature", "set"}, {"name", "group"})
_MOST = 1 << 28


def feature_groups_of(
    given: str | os.PathLike[str] | Mapping[str, Sequence[str]] | None,
) -> dict[str, tuple[str, ...]]:
    """The features of each group, by its name; empty if nothing is given.

    Parameters
    ----------
    given : path, or mapping of str to sequence of str, optional
        A text file in UTF-8 with a feature and its group in each line, between them a tab, or else
        a semicolon or a comma; a first line ``feature,group`` is skipped.

    Raises
    ------
    DataError
        If the file cannot be read, or a line has not two fields.
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
    found: dict[str, list[str]] = {}
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
        found.setdefault(fields[1], []).append(fields[0])
    if not found:
        raise DataError(f"{given} holds no feature groups")
    return {title: tuple(members) for title, members in found.items()}
