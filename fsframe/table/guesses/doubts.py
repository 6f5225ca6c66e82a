"""Doubts about the roles of columns, and suggested arguments that would settle them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import starmap
from typing import Any

import attrs
import numpy as np

from fsframe.errors import DataError, UntidyTableError
from fsframe.table.arrays import as_whole
from fsframe.table.column_kinds import as_ordinal
from fsframe.table.guesses.column_facts import Contents
from fsframe.table.guesses.column_guesses import Guesses, column_keys
from fsframe.table.guesses.label_guess import guess_label, looks_measured, why_no_label
from fsframe.table.reading_options import OPTIONS
from fsframe.table.roles import ROLES, as_keys, shortened
from fsframe.table.spelling.column_names import is_usual_label, likely_names, names_raise_doubts
from fsframe.table.spelling.text_file import is_number
from fsframe.table.table_columns import Cells, Table
from fsframe.text import list_part

_FEW, _MANY = 10, 20
_FIRST = {"label": 0, "task": 1, "groups": 2, "drop": 3, "categorical": 4, "adjust": 5, "na": 6}


SETTLES = "\nWhat would settle it:"
"""Line between a problem and the suggestions that would settle it."""


@attrs.frozen
class Doubts:
    """Errors and warnings about the roles of columns, with suggestions that would settle them.

    Parameters
    ----------
    table : Table
        The facts of its columns are gathered only if there is a doubt.
    given : mapping of str to JSON values
        The arguments of `fsframe.read` so far.
    skip : set of int
        Columns that have another role than the label.
    """

    table: Table
    given: Mapping[str, Any]
    skip: set[int]

    @cached_property
    def _seen(self) -> Contents:
        return Contents.of(self.table)

    def looks_doubtful(self, cells: Cells, other_texts: bool) -> bool:
        """Whether it is doubtful that the last column is the label, so that all must be examined.

        Its name is not usual. `cells` are its numbers or texts; `other_texts` says whether other
        columns hold undeclared text.
        """
        table = self.table
        names = table.names if table.spelled_names else ()
        if other_texts or any(map(is_usual_label, names)) or names_raise_doubts(names):
            return True
        if isinstance(cells, np.ndarray):
            numbers = set(cells[~np.isnan(cells)].astype(np.float64).tolist())
        else:
            different = {text for text in cells if not table.missing(text)}
            if not all(map(is_number, different)):
                return 2 * len(different) > len(cells) > _MANY
            numbers = {float(text) for text in different}
        whole = all(number.is_integer() for number in numbers if np.isfinite(number))
        kind = "whole number" if whole else "number"
        few = len(numbers) <= _FEW and len(names) > _MANY
        return looks_measured(kind, len(numbers), len(cells)) or (few and bool(likely_names(names)))

    def check_default_label(self, last: int, task: str | None) -> list[str]:
        """Warnings about `last`, the label by default; UntidyTableError if it is too doubtful.

        The error suggests other labels. If the task is ``"regression"``, a measurement may be the
        label.
        """
        contents, given = self._seen, self.given
        guess = guess_label(contents.columns, contents.n_rows, self.skip, self.table.path)
        name = contents.columns[last].name
        measured = guess.place == last and task == "regression"
        if guess.sure or measured:
            return [
                f"the last column, {name!r}, was taken as the label: {doubt} (--label, label=)"
                for doubt in guess.doubts
            ]
        for role in ("groups", "adjust", "weight"):
            for key in as_keys(given.get(role)):
                if is_usual_label(str(key)):
                    raise UntidyTableError(
                        f"{self.table.path}: no label is named, and {key!r}, which looks like it, "
                        f"has another role (--{role}, {role}=): leave that role out, or name the "
                        "label (--label, label=)"
                    )
        ways: list[dict[str, object]] = []
        for place in dict.fromkeys((guess.place, last)):
            if why_no_label(contents.columns[place], contents.n_rows):
                continue
            # One of a time and an event is the label, and the other is not a feature.
            skip = {*self.skip, *(guess.pair or ())} - {place}
            keys = column_keys(contents)
            other = {**given, "label": keys[place]}
            if guess.pair and place in guess.pair:
                time, event = guess.pair
                if place == guess.place == time:
                    other["event"] = contents.columns[event].name
                else:
                    rest = event if place == time else time
                    other["drop"] = [*given.get("drop", ()), keys[rest]]
            ways.append(self._suggestion(place, skip, other))
        of = contents.columns[guess.place].name
        apart = guess.place == last or guess.pair is not None
        why = guess.doubts[0] if apart else f"{of!r} looks more like one"
        raise _not_named(self.table.path, name, why, ways)

    def untidy(self, problem: str, label: int) -> DataError:
        """The error about columns that cannot be used as they are, with a suggestion."""
        way = self._suggestion(label, self.skip, self.given)
        return UntidyTableError(f"{problem}{SETTLES}" if way else problem, (way,) if way else ())

    def _suggestion(
        self, label: int, skip: set[int], arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The suggested arguments if `label` is the label, without those already given."""
        guesses = Guesses(self._seen, label, skip, dates=bool(self.given.get("dates")))
        more = guesses.suggested(arguments, known=self._seen.typed, adjusting=False)
        return abbreviated(added(more, self.given), guesses.names, self.given)


def check_label_in_parts(names: Sequence[str], last: str, labels: Cells, what: str) -> None:
    """Raise UntidyTableError if the last column of a table in parts may not be the label.

    Only names and that column are known, so a measurement is doubted only if features are many.
    """
    if is_usual_label(last):
        return
    usual = [name for name in names if is_usual_label(name)]
    numbers = as_whole(labels) if isinstance(labels, np.ndarray) else None
    different = 0 if numbers is None else len(np.unique(numbers))
    kind = "number" if numbers is not None and numbers.dtype.kind == "f" else "whole number"
    measured = len(names) > _MANY and looks_measured(kind, different, len(labels))
    if usual or measured:
        better = [*usual, *(name for name in likely_names(names) if name != last)][:1]
        why = f"{usual[0]!r} looks more like one" if usual else f"{different} different numbers"
        ways: list[dict[str, object]] = [{"label": name} for name in dict.fromkeys((*better, last))]
        raise _not_named(what, last, why, ways)


def _not_named(
    what: object, last: str, why: str, ways: Sequence[dict[str, object]]
) -> UntidyTableError:
    return UntidyTableError(
        f"{what}: no label is named, and the last column, {last!r}, may not be it: {why}. Name the "
        "label:",
        tuple(ways),
    )


def added(further: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, object]:
    """The arguments of `further` that are not among those `given`; of lists, the new members."""
    new: dict[str, object] = {}
    for key, value in further.items():
        known = given.get(key)
        if isinstance(value, (list, tuple)) and isinstance(known, (list, tuple)):
            value = [one for one in value if one not in known]
            if value:
                new[key] = value
        elif value != known:
            new[key] = value
    return new


def abbreviated(
    options: Mapping[str, Any], names: Sequence[str], given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Arguments of `fsframe.read` with patterns in place of many columns (`shortened`).

    No pattern matches a column that has another role here or in the arguments already `given`.

    >>> names = [f"q{k}" for k in range(12)]
    >>> orders = dict.fromkeys(names[2:], ("no", "yes"))
    >>> abbreviated({"label": "q0", "ordinal": orders}, names, {"drop": ["q1"]})
    {'label': 'q0', 'ordinal': {'q*': ('no', 'yes')}}
    """
    given = given or {}
    short = dict(options)
    by_role = {role: as_keys(options.get(role)) for role in ROLES}

    def short_keys(role: str, keys: Sequence[str | int]) -> list[str | int]:
        # A pattern must not match columns that are named elsewhere.
        besides = {key for other in by_role if other != role for key in by_role[other]}
        besides |= {key for other in ROLES for key in as_keys(given.get(other))}
        return shortened(keys, [name for name in names if name not in besides])

    for role in ("drop", "categorical"):
        if isinstance(short.get(role), (list, tuple)):
            short[role] = short_keys(role, short[role])
    if "ordinal" in short:
        orders = as_ordinal(short["ordinal"])
        short["ordinal"] = {
            key: order
            for order in dict.fromkeys(orders.values())
            for key in short_keys("ordinal", [key for key in orders if orders[key] == order])
        }
    return short


def spelled_key(key: str | int) -> str:
    """A column as an option names it: by name, or by number from 1."""
    return str(_from_one(key))


def in_order(options: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `fsframe.read` in the order in which they are shown: the label first."""
    return {key: options[key] for key in sorted(options, key=lambda key: (_FIRST.get(key, 9), key))}


def as_arguments(options: Mapping[str, Any]) -> str:
    """Arguments of `fsframe.read` as keyword arguments for a data frame, without those about files.

    >>> as_arguments({"drop": ["id", 3], "na": ["-9"], "ordinal": {"size": ("S", "M")}})
    "drop=['id', 3], ordinal={'size': ['S', 'M']}"
    """
    of_files = {name for name, option in OPTIONS.items() if not option.of_frames}
    given = {key: value for key, value in options.items() if key not in of_files}
    if "ordinal" in given:
        given["ordinal"] = {key: list(order) for key, order in given["ordinal"].items()}
    return ", ".join(f"{key}={value!r}" for key, value in given.items())


def as_settings(options: Mapping[str, Any]) -> str:
    """Arguments of `fsframe.read` as keys of a study file, where columns are numbered from 1.

    >>> as_settings({"label": 3, "ordinal": {0: ("S", "M")}})
    'label = 4; ordinal = {"1" = ["S", "M"]}'
    """
    return "; ".join(f"{key} = {_as_toml(value)}" for key, value in options.items())


def _as_toml(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(str(_from_one(k)))} = {_as_toml(v)}" for k, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_as_toml, value))}]"
    return json.dumps(_from_one(value), ensure_ascii=False)


def _from_one(key: Any) -> Any:
    return key + 1 if type(key) is int else key


def as_words(options: Mapping[str, Any]) -> list[str]:
    """Arguments of `fsframe.read` as words of a command.

    >>> as_words({"label": 3, "drop": ["id", "date of birth"]})
    ['--label', '4', '--drop', 'id,date of birth']
    """
    words: list[str] = []
    for key, value in options.items():
        if isinstance(value, bool):
            # Columns that are nominal by their kind are not options.
            words += OPTIONS[key].switch(value) if key in OPTIONS else []
        elif key == "na":
            codes = value if isinstance(value, (list, tuple)) else [value]
            words += [word for code in codes for word in ("--na", str(code))]
        elif key == "ordinal":
            words += ["--ordinal", ",".join(starmap(_spelled_order, as_ordinal(value).items()))]
        elif isinstance(value, (list, tuple)):
            words += [f"--{key}", ",".join(list_part(spelled_key(one)) for one in value)]
        elif key in ROLES and ROLES[key].given == "column":
            words += [ROLES[key].option, spelled_key(value)]
        else:
            words += [f"--{key.replace('_', '-')}", str(value)]
    return words


def _spelled_order(key: str | int, order: Sequence[str]) -> str:
    signs = ",=<"
    levels = "<".join(list_part(level, signs) for level in order)
    name = list_part(spelled_key(key), signs)
    return f"{name}={levels}" if order else name
