"""Assemble the features, label, groups and weights from the columns of any table.

The label is read in the same way for all kinds of tables, those in parts among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError, refuse
from fsframe.table.arrays import (
    EXACT,
    MANY_CLASSES,
    as_whole,
    check_spelled,
    check_whole,
    infer_task,
    text_array,
    unlabelled_left_out,
)
from fsframe.table.column_kinds import (
    ColumnKind,
    ColumnNote,
    WordsRead,
    coded_together,
    merged_spellings,
    number_note,
)
from fsframe.table.columns import check_columns, check_finite, check_names
from fsframe.table.roles import ROLES, Layout, names_of, only, side_roles, spelled_out
from fsframe.table.spelling.column_names import is_usual_label
from fsframe.table.spelling.number_spellings import label_numbers
from fsframe.table.spelling.text_file import MAX_CLASSES, is_number, known_texts
from fsframe.table.table_columns import (
    BadColumn,
    Cells,
    Table,
    missing_cells,
    not_numbers,
    way,
)
from fsframe.text import counted, some_of

if TYPE_CHECKING:
    from fsframe.table.guesses.doubts import Doubts

_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")


Parts = dict[str, Any]
"""The contents of a table, as arguments of `Dataset.from_arrays`."""


def from_columns(
    table: Table,
    roles: Mapping[str, Any],
    task: str | None,
    *,
    given: Mapping[str, Any],
) -> Parts:
    """The contents of a table whose columns have these roles.

    Parameters
    ----------
    table : Table
    roles : mapping of str to argument
        The arguments of `fsframe.read` that concern columns.
    task : {"classification", "regression"}, optional
    given : mapping of str to JSON values
        The arguments of `fsframe.read`.

    Raises
    ------
    DataError
        As for `assembled`; or if a column does not exist, or none is left to use.
    UntidyTableError
        If the label is not named and may be another column than the last.
    """
    n, own = table.n_fields, table.own_label
    if roles["label"] is None and own is not None:
        roles = {**roles, "label": table.names[own]}
    guessed = roles["label"] is None
    # Texts in columns of events, and of side roles except for times, are categories.
    sides = [role.name for role in side_roles() if role.name != "time"]
    worded = [name for role in ("event", *sides) for name in names_of(roles.get(role))]
    names = table.names[:n] if table.spelled_names else None
    if names is None:
        # Without a line of names, such roles are assigned later, by the names f1, f2, ….
        later = [role.name for role in ROLES.values() if role.given == "name" or role.side]
        roles = {**roles, **dict.fromkeys(later)}
    roles = spelled_out(roles, names)
    among = 0 if table.no_label else n
    features = {*table.names[:n]} if len(table.names) > n else set()
    beside = [name for name in table.names[n:] if name not in features]
    asked = check_columns(names, n, table.what, roles, beside=beside, label_among=among)
    if guessed and table.no_label:
        raise DataError(table.no_label)
    if own is not None and roles["label"] == table.names[own]:
        # Its name means the label by itself, even if a feature has the same name.
        asked = {**asked, "label": [own]}
    warnings: list[str] = []
    place, dropped = only(asked, "label"), set(asked["drop"])
    # The first column stays if something is declared for it; a feature without a name is an error.
    used = {c for role in ("groups", "weight", "categorical", "keep") for c in asked[role]}
    used |= set() if guessed else {*asked["label"]}
    if table.has_row_names and 0 not in dropped and 0 not in used:
        dropped.add(0)
        warnings.append("the first column has no name and holds row names or numbers: left out")
    layout = Layout.of({**asked, "drop": [*dropped]}, n, roles)
    if not layout.features:
        usable = int(place in {*range(n)} - dropped)
        raise DataError(
            f"{table.what} has {counted(usable, 'column')} to use; a table needs features and a "
            "label"
        )
    assert place is not None
    taken_up = {c for role, places in asked.items() if role != "label" for c in places} | dropped

    @cache
    def doubts() -> Doubts:
        # Imported here, since most tables raise none.
        from fsframe.table.guesses.doubts import Doubts

        return Doubts(table, given, taken_up)

    # An annotation may have the name of a feature.
    together = [[*layout.features, place]]
    if place >= n:
        together = [layout.features, [place]]
    try:
        for places in together if names else ():
            check_names(table.names, places, table.what, in_line=table.takes_codes)
    except DataError as error:
        if table.no_label:
            raise
        if guessed:
            doubts().check_default_label(place, task)
        raise doubts().untidy(str(error), place) from None
    parts = assembled(table, layout, task, roles=roles, worded=worded, doubts=doubts)
    return {**parts, "warnings": (*warnings, *parts["warnings"])}


def features_only(table: Table, worded: Sequence[str] = ()) -> Parts:
    """The contents of a table that has no label: all its columns are features."""
    if not table.names:
        raise DataError(f"{table.what} has no column; a table needs at least one feature")
    return assembled(table, Layout.of({}, len(table.names), {}), worded=worded)


def assembled(
    table: Table,
    layout: Layout,
    task: str | None = None,
    *,
    roles: Mapping[str, Any] | None = None,
    worded: Sequence[str],
    doubts: Callable[[], Doubts] | None = None,
) -> Parts:
    """Assemble the features, label, groups and weights of a table.

    Parameters
    ----------
    table : Table
    layout : Layout
        If it has no label, the result has none.
    task : {"classification", "regression"}, optional
    roles : mapping of str to argument, optional
        The arguments of `fsframe.read`: `dates`, `missing_label`, and whether there is a `label`.
    worded : sequence of str
        Columns that are categorical if they hold text.
    doubts : callable, optional
        Returns what suggests how to settle columns that cannot be used as they are.

    Raises
    ------
    DataError
        Lists all problems of the columns, one per line.
    """
    if not table.n_rows:
        raise DataError(f"{table.what} has no rows, only names of columns")
    roles, layout = roles or {}, table.by_type(layout)
    columns, place = layout.features, layout.label
    # Numbered by place in the file, since a run finds its columns in other tables by name.
    names = tuple(table.names[column] for column in columns)
    named = table.spelled_names is not None and place is not None
    label_name = table.names[place] if named and place is not None else "class"
    guessed = doubts is not None and roles["label"] is None
    mask = np.array(layout.categorical, dtype=bool)
    beside = [column for column in (layout.groups, layout.weight) if column is not None]
    taken = table.take(columns, beside, place)
    X, cells = taken.X, dict[int, Any](taken.texts)
    if layout.orders:
        X = _writable(X)
    warnings: list[str] = []
    at = {column: k for k, column in enumerate(columns)}
    undeclared = [c for c in taken.bad if not mask[at[c]] and c not in layout.orders]
    if guessed and not (named and is_usual_label(label_name)):
        assert doubts is not None and place is not None
        asked = doubts()
        if asked.looks_doubtful(cells[place], bool(undeclared)):
            warnings += asked.check_default_label(place, task)
    missing = _missing_beside(table, layout, cells)
    problems = list(missing.values())
    label = None
    if place is not None:
        with _adding_errors_to(problems):
            label = read_label(
                table,
                place,
                label_name,
                _with_decimal_points(table, cells[place]),
                task,
                guessed=guessed,
                leave_out=roles["missing_label"] == "drop",
            )
            warnings += label.notes
    mask[[at[column] for column in taken.bad if names[at[column]] in worded]] = True
    padded = table.zero_padded()
    if label is not None and place in padded and label.values.dtype.kind != "U":
        warnings.append(str(number_note(label_name, _PADDED)))
    words = WordsRead(dates=roles.get("dates"), decimal=table.decimal)
    words.kinds.update((names[at[column]], ColumnKind("boolean")) for column in taken.truths)
    words.notes.extend(
        ColumnNote(
            names[at[column]],
            "holds text, and was read as numbers",
            "hold text, and were read as numbers",
        )
        for column in taken.spelled
        if not mask[at[column]] and column not in layout.orders
    )
    words.notes.extend(
        number_note(names[at[column]], _PADDED)
        for column in sorted(padded & at.keys() - taken.bad.keys() - layout.orders.keys())
        if not mask[at[column]]
    )
    unsettled = False
    with _adding_errors_to(problems):
        try:
            _read_words(table, taken.bad, layout, mask, X, names, words)
        except DataError:
            unsettled = bool(undeclared)
            raise
        check_finite(
            X if isinstance(X, np.ndarray) else np.empty((0, 0)),
            lambda row, column: table.where(row, columns[column]),
            takes_codes=table.takes_codes,
        )
        _check_whole(table, columns, X)
    if layout.weight is not None and layout.weight not in missing:
        with _adding_errors_to(problems):
            cells[layout.weight] = _weights(table, layout.weight, cells[layout.weight])
    if unsettled and doubts is not None and place is not None:
        raise doubts().untidy("\n".join(problems), place)
    refuse(DataError, problems)
    known: Any = slice(None)
    if label is not None and label.known is not None:
        known = label.known
        X = X[known]
    notes = coded_together(words.notes)
    if taken.coded:
        hold, were = ("holds", "was") if taken.coded == 1 else ("hold", "were")
        cells_held = f"{counted(taken.coded, 'cell')} that {hold} {taken.codes}"
        notes.append(f"{cells_held} {were} taken as missing")
    notes += [
        f"no cell that was read holds the code {code!r} (--na, na=)"
        + "; give each code by itself" * ("," in code)
        for code in table.unseen_codes()
    ]
    return {
        "X": X,
        "feature_names": names,
        "categorical": mask,
        "y": None if label is None else label.values,
        "label_name": label_name,
        "task": None if label is None else label.task,
        "warnings": (*warnings, *notes),
        "kinds": words.kinds,
        "keep": layout.keep,
        **layout.of_rows(lambda k: (_column_name(table, k), np.array(cells[k])[known])),
    }


_PADDED = "without the zeros in front"


def _writable(X: Any) -> NDArray[Any]:
    """The features, in memory, so that ranks can be written into them."""
    dense = X.read(0, X.shape[1]) if hasattr(X, "read") else X
    fit = dense.flags.writeable and dense.dtype != np.int8
    return dense if fit else np.array(dense, dtype=np.float64)


@contextmanager
def _adding_errors_to(problems: list[str]) -> Iterator[None]:
    """Add errors to `problems`, to be reported together."""
    try:
        yield
    except DataError as error:
        problems.append(str(error))


def _column_name(table: Table, column: int) -> str:
    return table.names[column] if table.spelled_names else f"column {column + 1}"


def _with_decimal_points(table: Table, cells: Any) -> Any:
    """The cells of a label with points for decimal commas."""
    if table.decimal != ",":
        return cells
    return [text.replace(",", ".") if _COMMA.fullmatch(text) else text for text in cells]


def _missing_beside(table: Table, layout: Layout, cells: Mapping[int, Any]) -> dict[int, str]:
    """Messages about the first missing group and the first missing weight, by column."""
    missing: dict[int, str] = {}
    for column in sorted({layout.groups, layout.weight} - {None, layout.label}):  # type: ignore[type-var]
        assert column is not None
        absent = np.flatnonzero(missing_cells(cells[column], table.missing))
        if not absent.size:
            continue
        where = table.where(int(absent[0]), column)
        if column == layout.weight:
            missing[column] = f"{where}: the weight is missing; 0 leaves a row out"
        else:
            missing[column] = (
                f"{where}: the group is missing; every row needs one; give an unrelated row its "
                "own group"
            )
    return missing


def _weights(table: Table, column: int, texts: Cells) -> Any:
    if isinstance(texts, np.ndarray):
        return texts
    plain = [text.replace(",", ".") if table.decimal == "," else text for text in texts]
    for row, text in enumerate(plain):
        if not is_number(text):
            raise DataError(
                f"{table.where(row, column)}: the weight {texts[row]!r} is not a number"
            )
    return [float(text) for text in plain]


def _check_whole(table: Table, columns: Sequence[int], X: NDArray[Any]) -> None:
    """Refuse columns in which two whole numbers, as spelled, become the same float64."""
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f" or not columns:
        return
    beyond = (np.fmax.reduce(X, axis=0) > EXACT) | (np.fmin.reduce(X, axis=0) < -EXACT)
    large = [columns[k] for k in np.flatnonzero(beyond).tolist()]
    for column, texts in table.texts(large) if large else ():
        check_spelled(texts, f"{table.what}: {table.word(column)}")


def _read_words(
    table: Table,
    bad: Mapping[int, BadColumn],
    layout: Layout,
    mask: NDArray[np.bool_],
    X: NDArray[Any],
    names: Sequence[str],
    words: WordsRead,
) -> None:
    """Write columns that are not numeric into `X` as numbers.

    DataError lists every column that cannot be used as it is declared.
    """
    columns = layout.features
    place_of = {column: place for place, column in enumerate(columns)}
    worded = sorted({*bad, *layout.orders})
    for column, texts in table.texts(worded) if worded else ():
        place, order = place_of[column], layout.orders.get(column)
        if order is not None:
            mask[place] = False
        if order == () and column not in bad:
            X[:, place] = words.ranked(names[place], X[:, place])
            continue
        cells = known_texts(texts, table.missing_in(column))
        values = words.numbers(place, names[place], cells, order=order, nominal=bool(mask[place]))
        if values is not None:
            X[:, place] = values
    if words.texts or words.dated or words.unknown:
        further = [
            f"these levels are missing from the order of {table.word(columns[place])}: "
            f"{some_of(levels, 10)} ({way(table, 'ordinal', repr(f'{names[place]}=low<high'))})"
            for place, levels in words.unknown
        ]
        infinite = [columns[place] for place in np.flatnonzero(np.isinf(X).any(axis=0)).tolist()]
        refused = {columns[place]: bad[columns[place]] for place in words.texts}
        dated = [columns[place] for place in words.dated]
        raise not_numbers(
            table, refused, infinite, dated, further, labelled=layout.label is not None
        )


def check_classes(
    labels: NDArray[Any],
    name: str,
    where: Callable[[int], str],
    task: str,
    path: object,
    guessed: bool = False,
    *,
    said: bool = False,
) -> list[str]:
    """Check a label, (n,) numbers or text, and return warnings about it.

    `where` names a row in messages; `guessed` says that the user did not name the label, `said`
    that the task is given. DataError if there is one class only, a class has a single member, there
    are more than `MAX_CLASSES`, or a numeric target is constant.
    """
    values, first, counts = np.unique(labels, return_index=True, return_counts=True)
    if len(values) == 1:
        word = "one value" if task == "regression" else "one class"
        raise DataError(
            f"{path}: label {name!r} has {word} only, {values[0]!s}, in all {len(labels)} rows; "
            "selection needs at least two"
        )
    if task == "regression":
        return []
    alone = np.flatnonzero(counts == 1)
    numeric = labels.dtype.kind in "if" and not said
    many = numeric and len(values) > MANY_CLASSES
    hint = ""
    # Counts: few values, the largest of which are rare.
    if many or (numeric and len(values) > 2 and alone.size):
        hint = "; if it is a number to predict, say so (--task regression, task='regression')"
    if guessed:
        hint += f"; if another column is the label, name it (--label, label=), not {name!r}"
    if len(values) > MAX_CLASSES:
        raise DataError(
            f"{path}: label {name!r} has {len(values)} different values in {len(labels)} rows; "
            f"at most {MAX_CLASSES} classes are allowed{hint}"
        )
    if alone.size:
        shown = ", ".join(f"{str(values[c])[:60]} ({where(int(first[c]))})" for c in alone[:3])
        more = f" and {alone.size - 3} more" if alone.size > 3 else ""
        raise DataError(
            f"{path}: classes with a single member in label {name!r}: {shown}{more}; every class "
            f"needs at least two: take the rows out, or merge classes{hint}"
        )
    if many:
        return [f"label {name!r} has {len(values)} different numbers, taken as classes{hint}"]
    return []


@attrs.frozen(kw_only=True, eq=False)
class Label:
    """A label that was read and checked.

    Parameters
    ----------
    values : (n_known,) whole numbers, floats or text
    task : {"classification", "regression"}
    known : list of int, optional
        The rows that have a label, if the others are to be left out; None: all.
    notes : tuple of str
        Rows that were left out, spellings that were merged, and how numbers were spelled.
    """

    values: NDArray[Any]
    task: str
    known: list[int] | None = None
    notes: tuple[str, ...] = ()


def read_label(
    table: Table,
    place: int,
    name: str,
    cells: Cells,
    task: str | None,
    *,
    guessed: bool,
    leave_out: bool = False,
) -> Label:
    """The label in the cells of a column.

    Texts that are all numbers are numbers, unless the type of the column says that it holds
    classes; texts that differ in case or blanks only are one class.

    Parameters
    ----------
    table : Table
    place : int
        The place of the column.
    name : str
        Name of the label in messages.
    cells : (n,) numbers, NaN where missing, or texts
    task : {"classification", "regression"}, optional
        By default regression exactly if the label holds numbers that are not all whole, and the
        type of the column does not say otherwise.
    guessed : bool
        Whether the user did not name the label.
    leave_out : bool
        Whether rows without a label are left out.

    Raises
    ------
    DataError
        If a label is missing or infinite, or as in `check_classes`.
    RequestError
        If there is no such task.
    """
    if task not in (None, "classification", "regression"):
        raise RequestError(f"task must be classification or regression, not {task!r}")
    notes: list[str] = []
    absent = missing_cells(cells, table.missing_in(place))
    rows = None
    if absent.any() and leave_out:
        rows = np.flatnonzero(~absent).tolist()
        notes.append(unlabelled_left_out(int(absent.sum())))
        cells = cells[~absent] if isinstance(cells, np.ndarray) else [cells[k] for k in rows]
    elif absent.any():
        row = int(np.flatnonzero(absent)[0])
        text = "NaN" if isinstance(cells, np.ndarray) else cells[row]
        way = "leave such rows out (--missing-label drop, missing_label='drop')"
        possible = table.leaves_rows_out and place != table.own_label
        raise DataError(
            f"{table.where(row, place)}: the label is missing ({text or 'empty'}); fill it in, or "
            + (way if possible else "take the row out")
        )
    row_of = rows.__getitem__ if rows is not None else int

    def where(row: int) -> str:
        return table.where(row_of(row), place)

    typed = table.is_typed(place)
    kind = task or ("classification" if typed else None)
    if isinstance(cells, np.ndarray):
        values, kind = _of_numbers(cells, kind, table.what, where)
    else:
        texts, merged = _merged(cells)
        notes += merged
        if typed and kind == "classification":
            values = np.array(texts, dtype=object)
        else:
            values, kind = _of_texts(table, name, texts, kind, where, notes)
    notes += check_classes(
        values, name, lambda row: table.row(row_of(row)), kind, table.what, guessed,
        said=task is not None or typed,
    )  # fmt: skip
    return Label(values=values, task=kind, known=rows, notes=tuple(notes))


def _merged(texts: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """The texts with spellings of one class merged, and a note if there are such."""
    same = merged_spellings(texts)
    if not same:
        return texts, []
    spelled = ", ".join(f"{text!r} as {best!r}" for text, best in same.items())
    merged = [same.get(text, text) for text in texts]
    return merged, [f"spellings of one class were merged: {spelled}"]


def _of_numbers(
    numbers: NDArray[Any], task: str | None, what: object, where: Callable[[int], str]
) -> tuple[NDArray[Any], str]:
    infinite = np.flatnonzero(~np.isfinite(numbers))
    if infinite.size:
        raise DataError(
            f"{where(int(infinite[0]))}: the label is infinite; correct it, or take the row out"
        )
    check_whole(numbers[:, None], f"{what}: the label")
    kind = task or infer_task(numbers)
    return as_whole(numbers) if kind == "classification" else numbers, kind


def _of_texts(
    table: Table,
    name: str,
    texts: Sequence[str],
    task: str | None,
    where: Callable[[int], str],
    notes: list[str],
) -> tuple[NDArray[Any], str]:
    words = {text for text in set(texts) if not is_number(text)}
    if not words:
        check_spelled(set(texts), "the label")
        if table.decimal is None:
            notes.append(f"column {name!r} holds text, and was read as numbers")
        value = {text: float(text) for text in set(texts)}
        return _of_numbers(np.array([value[text] for text in texts]), task, table.what, where)
    amounts = None if task == "classification" else label_numbers(texts, table.decimal)
    if amounts is not None:
        notes.append(str(number_note(name, amounts[1])))
        return _of_numbers(amounts[0], task, table.what, where)
    if task == "regression":
        row = next(row for row, text in enumerate(texts) if text in words)
        raise DataError(
            f"{where(row)}: {texts[row]!r} is not a number; regression needs a numeric label"
        )
    return text_array(texts), "classification"
