"""A Dataset from a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from fsframe.errors import DataError, RequestError, UntidyTableError
from fsframe.table.annotated_arrays import is_annotated, is_labelled
from fsframe.table.array_files import check_asked_of_arrays, dataset_from_arrays
from fsframe.table.arrays import freeze
from fsframe.table.column_kinds import (
    ColumnKind,
    Ordinal,
    as_ordinal,
    check_readings,
    level_text,
    numbers_of,
    ranks,
)
from fsframe.table.columns import (
    as_keys,
    feature_groups_of,
    feature_warnings,
    find_column,
    find_columns,
)
from fsframe.table.dataset import Dataset
from fsframe.table.frames import is_frame
from fsframe.table.from_sheet import from_sheet
from fsframe.table.parts import large_in_file, read_parts
from fsframe.table.reader import ArrayTable, file_kind, find_table, full_name, in_parts, table_name
from fsframe.table.roles import ROLES, asked_sides, check_asked
from fsframe.table.sheet import Sheet
from fsframe.table.source import load_content, missing_codes

Keys = str | int | Iterable[str | int]
_FORM = {"x": "/X", "y": "/y", "names": "/feature_names"}
"""Defaults of the arguments about the form of a file; None for the others."""


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
    decimal: str | None = None,
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
    missing_label: str | None = None,
    name: str = "data",
    **sides: str | Iterable[str],
) -> Dataset:
    """The table in a file.

    Parameters
    ----------
    path : path
        Delimited text (also compressed by gzip, bzip2, xz or zip), NPZ or HDF5, recognised by
        content; ``"-"`` is standard input. If there is no such file, the one known file of that
        name with an ending. Also a data frame of pandas, polars or pyarrow, an AnnData, or a
        DataArray or Dataset of xarray (`Dataset.from_frame`), which takes `label`, `drop`,
        `categorical`, `groups`, `task`, `ordinal`, `dates` and `encode`. Also a table in parts,
        which is never loaded whole: a pattern (``"parts/*.parquet"``), a folder or a list of
        Parquet, Arrow or HDF5 files, a lazy frame of polars, a dataset of pyarrow, a frame of dask;
        and one HDF5, Parquet or Arrow file too large for memory.
    label : str or int, optional
        The label column by name, or by position from 0 (from the end if negative). By default the
        last column; in NPZ and HDF5 the array `y`.
    drop : str, int or several
        Columns to leave out.
    categorical : str, int, several, or True, optional
        Categorical columns; True for all. Text in them is coded 0, 1, … in sorted order.
    groups : str or int, optional
        Column of numbers or text whose equal values mark rows that belong together, such as
        recordings of one person; not a feature. No resample separates them.
    task : {"classification", "regression"}, optional
        By default regression exactly if the label holds numbers that are not whole.
    delimiter : str, optional
        One character, or tab, comma, semicolon, space; detected by default.
    header : bool, optional
        Whether the first line holds names; detected by default.
    decimal : {".", ","}, optional
        Decimal mark in text; detected by default.
    encoding : str, optional
        Of text, such as ``"windows-1252"``; UTF-8 by default.
    na : str, number or several
        Further codes for missing values, such as ``-999``.
    x, y, names : str
        Paths of features, label and feature names in NPZ and HDF5 files; ``x="layers/NAME"`` is a
        layer of an AnnData.
    in_memory : bool, optional
        Whether the features of an HDF5 file are loaded, or read by columns. By default they are
        loaded up to 2 GiB as float64, and a larger table is read in parts.
    ordinal : str, int, several, or mapping of these to sequences, optional
        Columns of which only the order of their levels counts, as ranks 0, 1, …:
        ``{"size": ["S", "M", "L"]}``, or the name alone where levels are numbers.
    dates : {"days"}, optional
        Columns of dates (ISO 8601) become days since 1970-01-01; they are refused otherwise.
    encode : {"onehot"}, optional
        Columns of 0 and 1, ``NAME=LEVEL``, in place of nominal ones (`Dataset.encoded`), for
        methods that read columns as numbers.
    keep : str, int or several
        Columns that every stage keeps.
    weight : str or int, optional
        Column of whole numbers that say how many equal rows each row stands for; not a feature.
    event : str, optional
        The column, by name, of 1 and 0 that says whether the label, a time, ended with the event
        or was censored; not a feature (`Dataset.surviving`).
    feature_groups : path, or mapping of str to sequence of str, optional
        Features that are kept or dropped together, by the name of their group; or a text file of
        two columns, feature and group.
    time : str, optional
        Column of the time of each row: numbers, or dates with `dates`; not a feature. Training rows
        are always before test rows, and bootstraps draw blocks of time.
    adjust : str or several
        Covariates to adjust for; not features.
    missing_label : {"drop"}, optional
        Rows of text, workbooks and data frames that have no label are left out; by default they are
        an error.
    name : str
        Name of a data frame; tables from files have the name of the file.
    sides : str or several
        Columns of further side roles (`fsframe.table.roles`); not features.

    Returns
    -------
    Dataset
        With `warnings` about weaknesses of the data.

    Raises
    ------
    DataError
        If the file is missing, damaged or of another format, or its content cannot be used; the
        message names line and column.
    RequestError
        If an argument is out of range.

    Notes
    -----
    Cost: text 0.05 – 0.1 µs a cell, tables of single digits 0.01 µs. Memory: the text, 8 bytes a
    cell, and less than 500 MB more. `docs/data.md` describes every rule.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "toy.csv").write_text("a,b,class\\n1,2,ill\\n3,4,well\\n5,6,ill\\n7,,well")
    >>> data = read(folder / "toy")
    >>> data.feature_names, data.classes, data.n_samples
    (('a', 'b'), ('ill', 'well'), 4)
    """
    sets = feature_groups_of(feature_groups)
    drop, keep = as_keys(drop), as_keys(keep)
    further = asked_sides({"adjust": adjust, **sides}, "read")
    texts = tuple(name for names_of_role in further.values() for name in names_of_role)
    adjust = further.pop("adjust", [])
    if categorical is not None and not isinstance(categorical, bool):
        categorical = as_keys(categorical)
    codes = missing_codes(na)
    roles: dict[str, Any] = {
        "drop": drop, "categorical": categorical, "groups": groups, "ordinal": ordinal,
        "dates": dates, "encode": encode, "keep": keep, "weight": weight, "event": event,
        "feature_groups": sets, "time": time, "adjust": adjust, **further,
    }  # fmt: skip
    form: dict[str, Any] = {
        "x": x, "y": y, "names": names, "delimiter": delimiter, "header": header,
        "decimal": decimal, "encoding": encoding, "na": list(codes), "in_memory": in_memory,
    }  # fmt: skip
    # Arguments about the form of a file that are not the defaults.
    form = {key: value for key, value in form.items() if value not in ("", [], _FORM.get(key))}
    if is_frame(path) or is_annotated(path) or is_labelled(path):
        layer = x.strip("/").removeprefix("layers/") if x.strip("/").startswith("layers/") else None
        wrong = [key for key in form if not (key == "x" and layer and is_annotated(path))]
        if wrong:
            raise RequestError(
                f"{', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} for files, not for "
                f"{type(path).__name__}" + "; its label is label=" * ("y" in wrong)
            )
        return Dataset.from_frame(
            path, label, name=name, task=task, layer=layer, missing_label=missing_label, **roles
        )
    if event is not None:
        if task not in (None, "survival"):
            raise RequestError(
                f"a label with events is a survival time, which does not fit task {task}"
            )
        task = "regression"
    elif task == "survival":
        raise RequestError("task survival: name the column of events (--event, event=)")
    check_readings(dates=dates, encode=encode, missing_label=missing_label)
    orders = as_ordinal(ordinal)
    wanted = {role: roles.get(role, label) for role in ROLES} | {"ordinal": orders}
    every = categorical is True
    listed_sets = {title: list(members) for title, members in sets.items()}

    def by_parts(given: Any) -> Dataset:
        _no_choice_of_labels(missing_label, "a table in parts")
        found = read_parts(
            given, label, drop=drop, keep=keep, groups=groups, task=task,
            categorical=categorical, x=x, y=y, names=names, na=codes,
            ordinal=ordinal, dates=dates, encode=encode, weight=weight, delimiter=delimiter,
            header=header is not None, encoding=encoding, decimal=decimal not in (None, "."),
            in_memory=in_memory, time=time, adjust=adjust, **further,
        ).with_roles(sets).with_events(event)  # fmt: skip
        reading = dict(found.reading)
        if event:
            reading.pop("task", None)
            reading["event"] = event
        if sets:
            reading["feature_groups"] = listed_sets
        return attrs.evolve(found, reading=reading)

    if in_parts(path):
        return by_parts(path)
    if not isinstance(path, (str, os.PathLike)):
        raise RequestError(
            f"read takes a path or a data frame, not {type(path).__name__}; arrays and sparse "
            "matrices have no label among them: Dataset.from_arrays(X, y)"
        )
    given = (
        form
        | roles
        | {
            "label": label,
            "task": None if event else task,
            "drop": list(drop),
            "categorical": list(categorical) if isinstance(categorical, tuple) else categorical,
            "keep": list(keep),
            "ordinal": {str(key): list(order) for key, order in orders.items()} or None,
            "missing_label": missing_label,
            "feature_groups": listed_sets or None,
            "in_memory": None,
            **{name: given for name, given in sides.items() if isinstance(given, str)},
        }
    )
    reading = {key: value for key, value in given.items() if value not in (None, [])}

    def finished(data: Dataset, beside: Mapping[str, Any] | None = None) -> Dataset:
        whole = data.with_roles(sets, time, adjust, beside, **further).with_events(event)
        return attrs.evolve(whole.encoded(encode), reading=reading)

    found = find_table(path)
    kind = file_kind(found)
    if kind not in ("text", "npz", "hdf5"):
        reading["reader"] = full_name(kind)
    if in_memory is None and large_in_file(found, kind, x):
        return by_parts([found])
    table = load_content(
        found, kind, label=label, refused=[key for key in form if key not in ("x", "y")],
        **{"in_memory": in_memory, **form},
    )  # fmt: skip
    if isinstance(table, Sheet):
        asked = check_asked(
            lambda role, keys: find_columns(
                table.names, table.n_fields, keys, f"{found}, {ROLES[role].word}"
            ),
            lambda place: f"{found}: {table.word(place)}",
            table.n_fields,
            **wanted if table.names else {k: v for k, v in wanted.items() if not _by_name(k)},
        )
        found_in = from_sheet(
            table, asked, guessed=label is None, all_categorical=every, task=task,
            orders=tuple(orders.values()), dates=dates, worded=texts,
            unlabelled=missing_label == "drop", given=reading,
        )  # fmt: skip
        return finished(found_in)
    if isinstance(table, ArrayTable):
        _no_choice_of_labels(missing_label, f"the arrays of {found}")
        asked = check_asked_of_arrays(table, **wanted)
        data = dataset_from_arrays(table, asked, label=label, all_categorical=every, task=task)
        return finished(_ranked(data, orders), table.others)
    try:
        task = None if event else task
        data = Dataset.from_frame(
            table, label, task=task, name=table_name(found), missing_label=missing_label, **roles
        )
    except UntidyTableError as error:
        raise UntidyTableError(f"{found}: {error.problem}", error.ways) from None
    except DataError as error:
        raise DataError(f"{found}: {error}") from None
    notes = feature_warnings(data.values, data.feature_names)
    return attrs.evolve(data, reading=reading, warnings=(*data.warnings, *notes))


def _no_choice_of_labels(missing_label: str | None, what: str) -> None:
    """Raise RequestError if rows without a label were to be left out of a table of arrays."""
    if missing_label is not None:
        raise RequestError(
            f"missing_label is for text, workbooks and data frames, not for {what}: take the rows "
            "without a label out of it"
        )


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
    return attrs.evolve(data, matrix=freeze(X), kinds=kinds, categorical=mask)


def _row_of(table: str, name: str, row: int) -> str:
    return f"{table}, column {name!r}, row {row + 1}"


def _by_name(role: str) -> bool:
    """Whether columns of a role may have names assigned to unnamed columns."""
    return role == "event" or ROLES[role].side
