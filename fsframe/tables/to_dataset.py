"""A Dataset from a file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.column_kinds import (
    ColumnKind,
    Ordinal,
    as_ordinal,
    check_readings,
    days_of,
    level_text,
    looks_boolean,
    numbers_of,
    ranks,
)
from fsframe.contracts.data_frames import is_annotated, is_frame, is_labelled
from fsframe.contracts.dataset import Dataset
from fsframe.errors import DataError, RequestError
from fsframe.tables.array_table import ArrayTable
from fsframe.tables.arrays import dataset_from_arrays
from fsframe.tables.feature_sets import sets_of_features
from fsframe.tables.features import (
    check_finite,
    coded_categories,
    feature_warnings,
    listed,
)
from fsframe.tables.locate import file_kind, find_table, in_parts, table_name
from fsframe.tables.names import as_keys, check_names, column_word, find_column, find_columns
from fsframe.tables.numbers import is_number
from fsframe.tables.parts import large_in_file, read_parts
from fsframe.tables.reader import named_paths, read_frame
from fsframe.tables.sheet import Sheet, load_sheet
from fsframe.tables.target import check_classes, doubted_label, label_missing, label_values

__all__ = ["read"]

_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
Keys = str | int | Iterable[str | int]
_USUAL_LABELS = ("class", "label", "target", "y", "outcome")


def read(
    path: str | os.PathLike[str] | Any,
    label: str | int | None = None,
    *,
    drop: Keys = (),
    categorical: Keys | bool | None = None,
    groups: str | int | None = None,
    task: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    na: str | float | Iterable[str | float] = (),
    x: str = "/X",
    y: str = "/y",
    names: str = "/feature_names",
    in_memory: bool | None = None,
    ordinal: Ordinal | None = None,
    dates: str | None = None,
    encode: str | None = None,
    keep: Keys = (),
    weight: str | int | None = None,
    event: str | None = None,
    feature_groups: str | os.PathLike[str] | Mapping[str, Sequence[str]] | None = None,
    time: str | None = None,
    adjust: str | Iterable[str] = (),
) -> Dataset:
    """The table in a file.

    Parameters
    ----------
    path : path
        Delimited text (also packed by gzip, bzip2, xz or zip), NPZ or HDF5, told by its content;
        ``"-"`` is standard input. Where there is no such file, the one known file of that name
        with an ending. Also a data frame of pandas, polars or pyarrow, an AnnData, or a DataArray
        or Dataset of xarray (`Dataset.from_frame`), which
        takes `label`, `drop`, `categorical`, `groups`, `task`, `ordinal`, `dates` and `encode`.
        Also a table in parts, which is never whole in memory: a pattern (``"parts/*.parquet"``), a
        folder or a list of Parquet, Arrow or HDF5 files, a lazy frame of polars, a dataset of
        pyarrow, a frame of dask; and one HDF5, Parquet or Arrow file too large for memory.
    label : str or int, optional
        The label column by name, or by position from 0 (from the end if negative). By default the
        last column; in NPZ and HDF5 the array `y`.
    drop : str, int or several
        Columns to leave out.
    categorical : str, int, several, or True, optional
        Columns whose values are names of categories; True for all. Text in them is coded 0, 1, … in
        sorted order.
    groups : str or int, optional
        The column, of numbers or text, whose equal values name rows that belong together, such as
        recordings of one person. It is no feature; no resample takes them apart.
    task : {"classification", "regression"}, optional
        By default regression exactly if the label holds numbers that are not whole.
    delimiter : str, optional
        One character, or tab, comma, semicolon, space; found out by default.
    header : bool, optional
        Whether the first line holds names; found out by default.
    decimal : {".", ","}
        Decimal mark in text.
    encoding : str, optional
        Of text, such as ``"windows-1252"``; UTF-8 by default.
    na : str, number or several
        Further codes of a missing value, such as ``-999``.
    x, y, names : str
        Where NPZ and HDF5 files keep features, label and feature names.
    in_memory : bool, optional
        Whether the features of an HDF5 file are loaded, or stay there and are read by columns. By
        default they are loaded up to 2 GiB as float64, and a larger table is read in parts.
    ordinal : str, int, several, or mapping of these to sequences, optional
        Columns of which only the order of their levels counts, as ranks 0, 1, …:
        ``{"size": ["S", "M", "L"]}``, or the name alone where levels are numbers.
    dates : {"days"}, optional
        Columns of dates (ISO 8601) become days since 1970-01-01; they are refused otherwise.
    encode : {"onehot"}, optional
        Columns of 0 and 1, ``NAME=LEVEL``, in place of nominal ones (`Dataset.encoded`), for
        methods that read columns as numbers.
    keep : str, int or several
        Columns that every stage keeps, whatever it finds.
    weight : str or int, optional
        The column of whole numbers that say how many equal rows each row stands for; no feature.
    event : str, optional
        The column, by name, of 1 and 0 that says whether the label, a time, ended with the event
        or was censored; no feature (`Dataset.surviving`).
    feature_groups : path, or mapping of str to sequence of str, optional
        Features that are kept or dropped together, by what their group is called; or a text file
        of two columns, feature and group.
    time : str, optional
        The column of when each row was, numbers, or dates with `dates`; no feature. Training rows
        are always before test rows, and bootstraps draw stretches of time.
    adjust : str or several
        Columns whose effect is to be taken out; no features.

    Returns
    -------
    Dataset
        With `warnings` about what is usable but weak.

    Raises
    ------
    DataError
        If the file is missing, damaged or of another kind, or its content cannot be used; the
        message names line and column.
    RequestError
        If an argument is out of range.

    Notes
    -----
    Cost: text 0.05 – 0.1 µs a cell, tables of single digits 0.01 µs. Memory: the text, 8 bytes a
    cell, and less than 500 MB beside. `docs/data.md` describes every rule.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "toy.csv").write_text("a,b,class\\n1,2,ill\\n3,4,well\\n5,6,ill\\n7,,well")
    >>> data = read(folder / "toy")
    >>> data.feature_names, data.classes, data.n_samples
    (('a', 'b'), ('ill', 'well'), 4)
    """
    if is_frame(path) or is_annotated(path) or is_labelled(path):
        return Dataset.from_frame(
            path, label, drop=drop, categorical=categorical, groups=groups, task=task,
            ordinal=ordinal, dates=dates, encode=encode, keep=keep, weight=weight,
            feature_groups=sets_of_features(feature_groups), time=time, adjust=adjust, event=event,
        )  # fmt: skip
    if event is not None:
        if task not in (None, "survival"):
            raise RequestError(f"a label with events is a time until them, no task {task}")
        task = "regression"
    elif task == "survival":
        raise RequestError("task survival: name the column of events (--event, event=)")
    check_readings(dates=dates, encode=encode)

    def by_parts(given: Any) -> Dataset:
        found = read_parts(
            given, label, drop=as_keys(drop), keep=as_keys(keep), groups=groups, task=task,
            categorical=_keys(categorical), x=x, y=y, names=names, na=codes,
            ordinal=ordinal, dates=dates, encode=encode, weight=weight, delimiter=delimiter,
            header=header is not None, encoding=encoding, decimal=decimal != ".",
            in_memory=in_memory,
        ).with_roles(sets, time, adjust)  # fmt: skip
        if not sets:
            return found
        named = {title: list(members) for title, members in sets.items()}
        return attrs.evolve(found, reading={**found.reading, "feature_groups": named})

    sets = sets_of_features(feature_groups)
    orders = as_ordinal(ordinal)
    codes = tuple(str(code) for code in ([na] if isinstance(na, (str, int, float)) else na))
    if in_parts(path):
        return by_parts(path)
    drop, keep = as_keys(drop), as_keys(keep)
    adjust = (adjust,) if isinstance(adjust, str) else tuple(adjust)
    if categorical is not None and not isinstance(categorical, bool):
        categorical = as_keys(categorical)
    given = {
        "label": label,
        "drop": list(drop),
        "categorical": categorical if isinstance(categorical, bool) else list(categorical or ()),
        "groups": groups,
        "task": None if event else task,
        "delimiter": delimiter,
        "header": header,
        "decimal": None if decimal == "." else decimal,
        "encoding": encoding,
        "na": list(codes),
        "x": None if x == "/X" else x,
        "y": None if y == "/y" else y,
        "names": None if names == "/feature_names" else names,
        "ordinal": {str(key): list(order) for key, order in orders.items()} or None,
        "dates": dates,
        "encode": encode,
        "keep": list(keep),
        "weight": weight,
        "event": event,
        "feature_groups": {title: list(members) for title, members in sets.items()} or None,
        "time": time,
        "adjust": list(adjust),
    }

    def finished(data: Dataset, beside: Mapping[str, Any] | None = None) -> Dataset:
        played = data.with_roles(sets, time, adjust, beside)
        return attrs.evolve(played.with_events(event).encoded(encode), reading=reading)

    reading = {key: value for key, value in given.items() if value not in (None, [])}
    found = find_table(path)
    kind = file_kind(found)
    if in_memory is None and large_in_file(found, kind, x):
        return by_parts([found])
    if kind == "text":
        sheet = load_sheet(
            found,
            delimiter=delimiter,
            label=label,
            header=header,
            decimal=decimal,
            encoding=encoding,
            na=codes,
        )
        found_in = _from_sheet(
            sheet, label, drop, categorical, groups, task, orders, dates, keep, weight, adjust
        )
        return finished(found_in)
    if kind not in ("npz", "hdf5"):
        paths = named_paths(x, y)
        told: dict[str, Any] = {"names": names != "/feature_names"}
        told |= {"delimiter": delimiter, "header": header is not None, "encoding": encoding}
        told |= {"decimal": decimal != ".", "in_memory": in_memory is not None, "na": codes}
        wrong = [key for key, value in told.items() if value]
        if wrong:
            raise RequestError(f"{found} is read as {kind}, where {', '.join(wrong)} mean nothing")
        frame = read_frame(found, kind, **paths)
        if isinstance(frame, ArrayTable):
            data = dataset_from_arrays(frame, label, drop, categorical, task, groups, keep, weight)
            return finished(_ranked(data, orders), frame.others)
        try:
            data = Dataset.from_frame(
                frame,
                label,
                drop=drop,
                categorical=categorical,
                groups=groups,
                task=None if event else task,
                name=table_name(found),
                ordinal=ordinal,
                dates=dates,
                encode=encode,
                keep=keep,
                weight=weight,
                event=event,
                feature_groups=sets,
                time=time,
                adjust=adjust,
            )
        except DataError as error:
            raise DataError(f"{found}: {error}") from None
        notes = feature_warnings(data.X, data.feature_names)
        return attrs.evolve(data, reading=reading, warnings=(*data.warnings, *notes))
    from fsframe.tables.arrays import load_arrays

    table: ArrayTable = load_arrays(
        found, kind, x=x, y=y, names=names, in_memory=in_memory, na=codes
    )
    data = dataset_from_arrays(table, label, drop, categorical, task, groups, keep, weight)
    return finished(_ranked(data, orders), table.others)


def _keys(given: Keys | bool | None) -> Any:
    return given if given is None or isinstance(given, bool) else as_keys(given)


def _ranked(data: Dataset, orders: Mapping[str | int, tuple[str, ...]]) -> Dataset:
    """Arrays with ranks in place of the numbers of ordinal columns."""
    if not orders:
        return data
    if not data.nbytes:
        raise DataError(
            f"{data.name}: columns of a table that stays in its file cannot be ranked; read it "
            "into memory (in_memory=True)"
        )
    X, kinds, mask = data.X.copy(), dict(data.kinds), data.categorical.copy()
    names = data.feature_names
    for key, order in orders.items():
        place = find_column(names, len(names), key, f"{data.name}, ordinal column")
        if order:
            kind = ColumnKind("ordinal", order)
            texts = ["" if value != value else level_text(value) for value in X[:, place]]
            where = partial(_row_of, data.name, names[place])
            X[:, place] = numbers_of(texts, kind, lambda text: not text, where)
        else:
            X[:, place], levels = ranks(X[:, place])
            kind = ColumnKind("ordinal", levels)
        kinds[names[place]], mask[place] = kind, False
    X.setflags(write=False)
    return attrs.evolve(data, matrix=X, kinds=kinds, categorical=mask)


def _row_of(table: str, name: str, row: int) -> str:
    return f"{table}, column {name!r}, row {row + 1}"


def _from_sheet(
    sheet: Sheet,
    label: str | int | None,
    drop: tuple[str | int, ...],
    categorical: Keys | bool | None,
    groups: str | int | None,
    task: str | None,
    orders: Mapping[str | int, tuple[str, ...]],
    dates: str | None,
    keep: tuple[str | int, ...],
    weight: str | int | None,
    worded: tuple[str, ...],
) -> Dataset:
    path, n = sheet.path, sheet.n_fields
    warnings: list[str] = []
    dropped = set(find_columns(sheet.names, n, drop, f"{path}, column to drop"))
    group = None if groups is None else find_column(sheet.names, n, groups, f"{path}, groups")
    weighing = None if weight is None else find_column(sheet.names, n, weight, f"{path}, weight")
    if sheet.has_row_names and 0 not in dropped and label != 0 and 0 not in (group, weighing):
        dropped.add(0)
        warnings.append("the first column has no name and holds row names or numbers: left out")
    aside = {group, weighing}
    left = [column for column in range(n) if column not in dropped and column not in aside]
    if len(left) < 2:
        raise DataError(
            f"{path} has {len(left)} columns to use; a table needs features and a label"
        )
    place = left[-1] if label is None else find_column(sheet.names, n, label, f"{path}, label")
    if place in dropped:
        raise DataError(f"{path}: {_word(sheet, place)} is the label and cannot be dropped")
    if place == group:
        raise DataError(f"{path}: {_word(sheet, place)} is the label and cannot name groups")
    if place == weighing:
        raise DataError(f"{path}: {_word(sheet, place)} is the label and cannot be weights")
    columns = [column for column in left if column != place]
    names, label_name = _names(sheet, columns, place)
    mask = _mask_of(sheet, columns, categorical, "categorical column")
    stays = _mask_of(sheet, columns, keep, "column to keep")
    beside = sorted({place, *(column for column in aside if column is not None)})
    taken = sheet.take(columns, beside, _watch(sheet, place, weighing))
    texts, X = taken.texts[place], taken.X
    if sheet.cells.decimal == ",":
        texts = [text.replace(",", ".") if _COMMA.fullmatch(text) else text for text in texts]
    labels, kind = label_values(
        texts, lambda row: sheet.where(row, place), task, missing=sheet.missing
    )
    ordered = _ordinal_columns(sheet, columns, orders)
    texts_in = [k for k, column in enumerate(columns) if column in taken.bad]
    mask[[k for k in texts_in if names[k] in worded]] = True
    kinds, notes = _kinds_of_columns(sheet, taken.bad, columns, mask, ordered, X, names, dates)
    check_finite(X, lambda row, column: sheet.where(row, columns[column]))
    if label is None:
        warnings += _other_label(names, label_name)
        if label_name.lower() not in _USUAL_LABELS:
            warnings += doubted_label(label_name, labels, kind, X, names)
    warnings += check_classes(
        labels, label_name, lambda row: f"line {sheet.line(row)}", kind, path, label is None
    )
    if taken.coded:
        listing = ", ".join(sheet.missing.codes)
        notes.append(f"{taken.coded} cells that hold {listing} were taken as missing")
    return Dataset.from_arrays(
        X,
        labels,
        names,
        categorical=mask,
        groups=None if group is None else np.array(taken.texts[group]),
        group_name="group" if group is None else _column_name(sheet, group),
        name=table_name(path),
        label_name=label_name,
        task=kind,
        warnings=(*warnings, *notes, *feature_warnings(X, names), *_number_names(sheet, names)),
        kinds=kinds,
        keep=stays,
        weights=None if weighing is None else _weights(sheet, weighing, taken.texts[weighing]),
        weight_name="weight" if weighing is None else _column_name(sheet, weighing),
    )


def _weights(sheet: Sheet, column: int, texts: list[str]) -> list[float]:
    point = sheet.cells.decimal
    plain = [text.replace(",", ".") if point == "," else text for text in texts]
    for row, text in enumerate(plain):
        if not is_number(text):
            raise DataError(f"{sheet.where(row, column)}: the weight {texts[row]!r} is no number")
    return [float(text) for text in plain]


def _watch(sheet: Sheet, label: int, weighing: int | None) -> Callable[[int, list[str], int], None]:
    """A watch that stops the reading at the first missing label, group or weight."""

    def watch(column: int, texts: list[str], row: int) -> None:
        different = {text for text in set(texts) if sheet.missing(text)}
        if different:
            place = next(place for place, text in enumerate(texts) if text in different)
            if column == weighing:
                raise DataError(
                    f"{sheet.where(row + place, column)}: the weight is missing; 0 leaves a row out"
                )
            if column != label:
                raise DataError(
                    f"{sheet.where(row + place, column)}: the group is missing; name one for every "
                    "row, a name of its own where a row stands alone"
                )
            raise label_missing(sheet.where(row + place, column), texts[place])

    return watch


def _column_name(sheet: Sheet, column: int) -> str:
    return sheet.names[column] if sheet.names else f"column {column + 1}"


def _word(sheet: Sheet, column: int) -> str:
    return column_word(column, sheet.names[column] if sheet.names else "")


def _names(sheet: Sheet, columns: list[int], place: int) -> tuple[tuple[str, ...], str]:
    if sheet.names is None:
        return tuple(f"f{k + 1}" for k in range(len(columns))), "class"
    check_names(sheet.names, [*columns, place], sheet.path)
    return tuple(sheet.names[column] for column in columns), sheet.names[place]


def _other_label(names: tuple[str, ...], label_name: str) -> list[str]:
    lowered = {name.lower(): name for name in names}
    others = [lowered[usual] for usual in _USUAL_LABELS if usual in lowered]
    if not others or label_name.lower() in _USUAL_LABELS:
        return []
    return [
        f"the last column, {label_name!r}, was taken as the label; there is a column "
        f"{others[0]!r} too: "
        "name the label if that is meant"
    ]


def _number_names(sheet: Sheet, names: tuple[str, ...]) -> list[str]:
    numbers = [name for name in names if sheet.names and is_number(name)]
    if not numbers or 2 * len(numbers) < len(names):
        return []
    return [
        f"the first line was taken as names, though {len(numbers)} of them are numbers "
        f"({listed(numbers, 3)}); if it is a row, say so (header=False, --no-header)"
    ]


def _mask_of(
    sheet: Sheet, columns: list[int], keys: Keys | bool | None, word: str
) -> NDArray[np.bool_]:
    mask = np.zeros(len(columns), dtype=bool)
    if isinstance(keys, bool) or keys is None:
        mask[:] = bool(keys)
        return mask
    what = f"{sheet.path}, {word}"
    found = find_columns(sheet.names, sheet.n_fields, as_keys(keys), what)
    position = {column: place for place, column in enumerate(columns)}
    wrong = [column for column in found if column not in position]
    if wrong:
        listing = ", ".join(_word(sheet, column) for column in wrong)
        raise DataError(f"{what}: {listing} is the label or is left out")
    mask[[position[column] for column in found]] = True
    return mask


def _ordinal_columns(
    sheet: Sheet, columns: list[int], orders: Mapping[str | int, tuple[str, ...]]
) -> dict[int, tuple[str, ...]]:
    what = f"{sheet.path}, ordinal column"
    found = {find_column(sheet.names, sheet.n_fields, key, what): o for key, o in orders.items()}
    wrong = [column for column in found if column not in columns]
    if wrong:
        listing = ", ".join(_word(sheet, column) for column in wrong)
        raise DataError(f"{what}: {listing} is the label or is left out")
    return found


def _kinds_of_columns(
    sheet: Sheet,
    bad: dict[int, Any],
    columns: list[int],
    mask: NDArray[np.bool_],
    ordered: dict[int, tuple[str, ...]],
    X: NDArray[np.float64],
    names: tuple[str, ...],
    dates: str | None,
) -> tuple[dict[str, ColumnKind], list[str]]:
    """Put numbers into `X` for columns that hold none, and say what kinds they are.

    Raises
    ------
    DataError
        Listing every column that cannot be used as it is declared.
    """
    kinds: dict[str, ColumnKind] = {}
    notes: list[str] = []
    dated, further, refused = [], [], {}
    texts = sheet.take([], sorted({*bad, *ordered})).texts if bad or ordered else {}
    for column in sorted(texts):
        place, cells = columns.index(column), texts[column]
        name, where = names[place], partial(sheet.where, column=column)
        there = {text for text in set(cells) if not sheet.missing(text)}
        order, words = ordered.get(column), None
        if order is not None:
            mask[place] = False
            unknown = sorted({level_text(text) for text in there} - set(order))
            if not order and column not in bad:
                X[:, place], levels = ranks(X[:, place])
                kinds[name] = ColumnKind("ordinal", levels)
                continue
            if unknown:
                further.append(
                    f"say where levels of {_word(sheet, column)} stand in its order: "
                    f"{listed(unknown, 10)} (--ordinal '{name}=low<high')"
                )
                continue
            kind = ColumnKind("ordinal", order)
        elif mask[place]:
            X[:, place], categories = coded_categories(cells, sheet.missing)
            spelled = listed([f"{text}={code}" for code, text in enumerate(categories)], 10)
            notes.append(f"text in column {name!r} was coded: {spelled}")
            kinds[name] = ColumnKind("nominal", categories)
            continue
        elif (words := looks_boolean(there)) is not None:
            kind = ColumnKind("boolean", words)
            notes.append(f"column {name!r} was read as {words[0]}=0, {words[1]}=1")
        elif all(days_of(text) is not None for text in there):
            if dates is None:
                dated.append(column)
                continue
            kind = ColumnKind("date")
        else:
            refused[column] = bad[column]
            continue
        X[:, place] = numbers_of(cells, kind, sheet.missing, where)
        kinds[name] = kind
    if refused or dated or further:
        infinite = [columns[place] for place in np.flatnonzero(np.isinf(X).any(axis=0)).tolist()]
        raise sheet.not_numbers(refused, infinite, dated, further)
    return kinds, notes
