"""A table of text as a Dataset: its label, the kinds of its columns, and warnings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.array_checks import unlabelled_left_out
from fsframe.table.arrays import EXACT
from fsframe.table.column_facts import merged_spellings
from fsframe.table.column_guesses import check_default_label, untidy
from fsframe.table.column_kinds import (
    ColumnKind,
    ranks,
    read_texts,
)
from fsframe.table.columns import (
    check_classes,
    check_finite,
    check_names,
    check_spelled,
    feature_warnings,
    label_missing,
    label_values,
)
from fsframe.table.dataset import Dataset
from fsframe.table.label_guess import is_usual_label, likely_names, looks_measured
from fsframe.table.reader import table_name
from fsframe.table.roles import AskedColumns, only
from fsframe.table.sheet import Sheet
from fsframe.table.source import contents_of_sheet
from fsframe.table.text_file import is_number
from fsframe.text import some_of

_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_BYTES_FROM = 1 << 20
"""Minimum number of cells for keeping a table of single digits as bytes."""
_FEW, _MANY = 10, 20


def from_sheet(
    sheet: Sheet,
    asked: AskedColumns,
    *,
    guessed: bool,
    all_categorical: bool,
    task: str | None,
    orders: Sequence[tuple[str, ...]],
    dates: str | None,
    worded: Sequence[str],
    unlabelled: bool,
    given: Mapping[str, Any],
) -> Dataset:
    """The Dataset of a text table, whose columns have the roles that `check_asked` has found.

    Parameters
    ----------
    guessed : bool
        Whether the label is the last column since none was named.
    orders : sequence of tuple of str
        The orders of the levels of the ordinal columns.
    worded : sequence of str
        Columns that are categorical if they hold text.
    unlabelled : bool
        Whether rows without a label are left out.
    given : mapping of str to JSON values
        The arguments of `fsframe.read`.
    """
    path, n = sheet.path, sheet.n_fields
    warnings = list(sheet.notes)
    place, group, weighing = (only(asked, role) for role in ("label", "groups", "weight"))
    dropped = set(asked["drop"])
    roles = {None if guessed else place, group, weighing}
    # A declared kind makes a feature of the first column, whose name is then missed.
    roles |= {*asked["categorical"], *asked["keep"]}
    if sheet.has_row_names and 0 not in dropped and 0 not in roles:
        dropped.add(0)
        warnings.append("the first column has no name and holds row names or numbers: left out")
    aside = {*dropped, group, weighing}
    left = [column for column in range(n) if column not in aside]
    if len(left) < 2:
        raise DataError(
            f"{path} has {len(left)} columns to use; a table needs features and a label"
        )
    assert place is not None
    columns = [column for column in left if column != place]
    taken_up = {c for role, found in asked.items() if role != "label" for c in found} | dropped
    try:
        names, label_name = _names(sheet, columns, place)
    except DataError as error:
        seen = contents_of_sheet(sheet)
        if guessed:
            check_default_label(seen, given, place, taken_up, task)
        raise untidy(str(error), seen, given, place, taken_up) from None
    mask = np.isin(columns, asked["categorical"]) | all_categorical
    stays = np.isin(columns, asked["keep"])
    beside = sorted(column for column in {place, group, weighing} if column is not None)
    missing: dict[int, str] = {}
    taken = sheet.take(columns, beside, _watch(sheet, place, weighing, missing, unlabelled))
    problems = list(missing.values())
    texts, X = taken.texts[place], taken.X
    undeclared = [c for c in taken.bad if not mask[columns.index(c)] and c not in asked["ordinal"]]
    if guessed and _doubtful(sheet, place, texts, label_name, bool(undeclared)):
        seen = contents_of_sheet(sheet)
        warnings += check_default_label(seen, given, place, taken_up, task)
    if X.size < _BYTES_FROM:
        X = X.astype(np.float64, copy=False)
    if sheet.cells.decimal == ",":
        texts = [text.replace(",", ".") if _COMMA.fullmatch(text) else text for text in texts]
    known = [row for row, text in enumerate(texts) if not (unlabelled and sheet.missing(text))]
    if len(known) < len(texts):
        warnings.append(unlabelled_left_out(len(texts) - len(known)))
        texts = [texts[row] for row in known]
    same = merged_spellings([text for text in texts if not sheet.missing(text)])
    if same:
        spelled = ", ".join(f"{text!r} as {best!r}" for text, best in same.items())
        warnings.append(f"spellings of one class were merged: {spelled}")
        texts = [same.get(text, text) for text in texts]
    if place not in missing:
        with _noted(problems):
            labels, kind = label_values(
                texts, lambda row: sheet.where(known[row], place), task, missing=sheet.missing
            )
    ordered = dict(zip(asked["ordinal"], orders, strict=True))
    texts_in = [k for k, column in enumerate(columns) if column in taken.bad]
    mask[[k for k in texts_in if names[k] in worded]] = True
    unsettled = False
    with _noted(problems):
        try:
            kinds, notes = _kinds_of_columns(
                sheet, taken.bad, columns, mask, ordered, X, names, dates
            )
        except DataError:
            unsettled = bool(undeclared)
            raise
        check_finite(X, lambda row, column: sheet.where(row, columns[column]))
        _check_whole(sheet, columns, X)
    if weighing is not None and weighing not in missing:
        with _noted(problems):
            weights = _weights(sheet, weighing, taken.texts[weighing])
    if unsettled:
        raise untidy("\n".join(problems), contents_of_sheet(sheet), given, place, taken_up)
    if problems:
        raise DataError("\n".join(problems))
    warnings += check_classes(
        labels, label_name, lambda row: f"line {sheet.line(known[row])}", kind, path, guessed
    )
    if len(known) < len(X):
        X = X[known]
    if taken.coded:
        listing = ", ".join(sheet.missing.codes)
        notes.append(f"{taken.coded} cells that hold {listing} were taken as missing")
    return Dataset.from_arrays(
        X,
        labels,
        names,
        categorical=mask,
        groups=None if group is None else np.array(taken.texts[group])[known],
        group_name="group" if group is None else _column_name(sheet, group),
        name=table_name(path),
        label_name=label_name,
        task=kind,
        warnings=(*warnings, *notes, *feature_warnings(X, names), *_number_names(sheet, names)),
        kinds=kinds,
        keep=stays,
        weights=None if weighing is None else [weights[row] for row in known],
        weight_name="weight" if weighing is None else _column_name(sheet, weighing),
    )


@contextmanager
def _noted(problems: list[str]) -> Iterator[None]:
    """Add errors to `problems`, to be reported together."""
    try:
        yield
    except DataError as error:
        problems.append(str(error))


def _weights(sheet: Sheet, column: int, texts: list[str]) -> list[float]:
    point = sheet.cells.decimal
    plain = [text.replace(",", ".") if point == "," else text for text in texts]
    for row, text in enumerate(plain):
        if not is_number(text):
            raise DataError(
                f"{sheet.where(row, column)}: the weight {texts[row]!r} is not a number"
            )
    return [float(text) for text in plain]


def _watch(
    sheet: Sheet, label: int, weighing: int | None, missing: dict[int, str], unlabelled: bool
) -> Callable[[int, list[str], int], None]:
    """A callback that adds the first missing label, group and weight to `missing`, by column; no
    label if rows without one are left out."""

    def watch(column: int, texts: list[str], row: int) -> None:
        if unlabelled and column == label:
            return
        different = {text for text in set(texts) if sheet.missing(text)}
        if different and column not in missing:
            place = next(place for place, text in enumerate(texts) if text in different)
            where = sheet.where(row + place, column)
            if column == label:
                missing[column] = str(label_missing(where, texts[place]))
            elif column == weighing:
                missing[column] = f"{where}: the weight is missing; 0 leaves a row out"
            else:
                missing[column] = (
                    f"{where}: the group is missing; every row needs one; give an unrelated "
                    "row its own group"
                )

    return watch


def _check_whole(sheet: Sheet, columns: list[int], X: NDArray[Any]) -> None:
    """Refuse columns of which two whole numbers, as spelled, become the same float64."""
    if X.dtype.kind != "f":
        return
    large = [columns[k] for k in np.flatnonzero((np.abs(X) > EXACT).any(axis=0)).tolist()]
    for column, texts in sheet.take([], large).texts.items() if large else ():
        check_spelled(texts, f"{sheet.path}: {sheet.word(column)}")


def _column_name(sheet: Sheet, column: int) -> str:
    return sheet.names[column] if sheet.names else f"column {column + 1}"


def _names(sheet: Sheet, columns: list[int], place: int) -> tuple[tuple[str, ...], str]:
    if sheet.names is None:
        return tuple(f"f{k + 1}" for k in range(len(columns))), "class"
    check_names(sheet.names, [*columns, place], sheet.path)
    return tuple(sheet.names[column] for column in columns), sheet.names[place]


def _doubtful(
    sheet: Sheet, place: int, texts: list[str], label_name: str, other_texts: bool
) -> bool:
    """Whether the last column may not be the label, so that all columns have to be looked at."""
    if is_usual_label(label_name) and sheet.names:
        return False
    names = sheet.names or ()
    if other_texts or any(is_usual_label(name) for name in names):
        return True
    different = {text for text in texts if not sheet.missing(text)}
    if all(map(is_number, different)):
        whole = all(float(text).is_integer() for text in different if "inf" not in text.lower())
        kind = "whole number" if whole else "number"
        return looks_measured(kind, len(different), len(texts)) or (
            len(different) <= _FEW and len(names) > _MANY and bool(likely_names(names))
        )
    return 2 * len(different) > len(texts) > _MANY


def _number_names(sheet: Sheet, names: tuple[str, ...]) -> list[str]:
    numbers = [name for name in names if sheet.names and is_number(name)]
    if not numbers or 2 * len(numbers) < len(names):
        return []
    return [
        f"the first line was taken as names, though {len(numbers)} of them are numbers "
        f"({some_of(numbers, 3)}); if it is a row, say so (header=False, --no-header)"
    ]


def _kinds_of_columns(
    sheet: Sheet,
    bad: dict[int, Any],
    columns: list[int],
    mask: NDArray[np.bool_],
    ordered: dict[int, tuple[str, ...]],
    X: NDArray[Any],
    names: tuple[str, ...],
    dates: str | None,
) -> tuple[dict[str, ColumnKind], list[str]]:
    """Convert columns that are not numeric, in `X`; returns their kinds, and notes.

    DataError lists every column that cannot be used as it is declared.
    """
    kinds: dict[str, ColumnKind] = {}
    notes: list[str] = []
    dated, further, refused = [], [], {}
    texts = sheet.take([], sorted({*bad, *ordered})).texts if bad or ordered else {}
    for column in sorted(texts):
        place, order = columns.index(column), ordered.get(column)
        name = names[place]
        if order is not None:
            mask[place] = False
        if order == () and column not in bad:
            X[:, place], levels = ranks(X[:, place].astype(np.float64))
            kinds[name] = ColumnKind("ordinal", levels)
            continue
        is_missing = {text: sheet.missing(text) for text in set(texts[column])}
        cells = [None if is_missing[text] else text for text in texts[column]]
        decimal = sheet.cells.decimal
        read = read_texts(cells, name, order=order, nominal=bool(mask[place]), decimal=decimal)
        if read.unknown:
            further.append(
                f"these levels are missing from the order of {sheet.word(column)}: "
                f"{some_of(read.unknown, 10)} (--ordinal '{name}=low<high')"
            )
        elif read.values is None:
            refused[column] = bad[column]
        elif read.kind is not None and read.kind.kind == "date" and dates is None:
            dated.append(column)
        else:
            X[:, place] = read.values
            notes += [read.note] if read.note else []
            if read.kind is not None:
                kinds[name] = read.kind
    if refused or dated or further:
        infinite = [columns[place] for place in np.flatnonzero(np.isinf(X).any(axis=0)).tolist()]
        raise sheet.not_numbers(refused, infinite, dated, further)
    return kinds, notes
