"""Read a Dataset from a file, a data frame or a table in parts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from fsframe.errors import RequestError
from fsframe.table.array_files import ArrayColumns, cannot_leave_rows_out
from fsframe.table.column_kinds import Ordinal, as_ordinal, check_readings
from fsframe.table.columns import feature_groups_of
from fsframe.table.dataset import Dataset, dataset_of
from fsframe.table.frames import is_annotated, is_frame, is_labelled
from fsframe.table.reader import (
    Form,
    file_kind,
    find_table,
    full_name,
    in_parts,
    table_name,
)
from fsframe.table.roles import Keys, as_keys, asked_sides, said
from fsframe.table.sheet import Sheet
from fsframe.table.source import is_large, load_content
from fsframe.table.text_file import is_number
from fsframe.text import some_of


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
    transpose: bool = False,
    samples: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    **sides: str | Iterable[str],
) -> Dataset:
    """Read a table from a file, a data frame or parts.

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
        Columns to leave out. In the names of `drop`, `categorical`, `ordinal` and `keep` a ``*``
        stands for any characters: ``"rs*"`` are all columns that begin with rs and that no other
        argument names.
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
        Encoding of text, such as ``"windows-1252"``; UTF-8 by default.
    na : str, number or several
        Further codes for missing values, such as ``-999``.
    x, y, names : str
        Paths of features, label and feature names in NPZ and HDF5 files; ``x="layers/NAME"`` is a
        layer of an AnnData. `names` may be a file with the names of a text or an array that has
        none, one in each line.
    in_memory : bool, optional
        Whether the features of an HDF5 file are loaded, or read by columns. By default they are
        loaded up to 2 GiB as float64, and a larger table is read in parts.
    ordinal : str, int, several, or mapping of these to sequences, optional
        Ordinal columns, whose levels become ranks 0, 1, …: ``{"size": ["S", "M", "L"]}``, or the
        name alone if levels are numbers.
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
        or was censored; not a feature (`Dataset.with_events`).
    feature_groups : path, or mapping of str to sequence of str, optional
        Features that are kept or dropped together, by the name of their group; or a text file of
        two columns, feature and group.
    time : str, optional
        Column of the time of each row: numbers, or dates with `dates`; not a feature. Training rows
        are always before test rows, and bootstraps draw blocks of time.
    adjust : str or several
        Covariates to adjust for; not features.
    missing_label : {"drop"}, optional
        Leave out rows of text, workbooks and data frames that have no label, and samples whose
        annotation, if it is the label, is missing; by default they are an error.
    name : str
        Name of a data frame; tables from files have the name of the file.
    transpose : bool
        Whether a text or a workbook has features in rows: the first column names them, the first
        line the samples. Rows of text are facts about the samples: one may be the label.
    samples : path, optional
        A table about the samples of a text or a workbook, whose first column names them: the label,
        groups, covariates. Its columns are not features, and its rows are matched by name.
    labels : path, optional
        A file with the label of each row, in their order, for a table that has none. `label` names
        the column if there are several; this is not necessary if there are two, of which the first
        is also the first of the table.
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
    adjust = further.pop("adjust", [])
    if categorical is not None and not isinstance(categorical, bool):
        categorical = as_keys(categorical)
    roles: dict[str, Any] = {
        "drop": drop, "categorical": categorical, "groups": groups, "ordinal": ordinal,
        "dates": dates, "encode": encode, "keep": keep, "weight": weight, "event": event,
        "feature_groups": sets, "time": time, "adjust": adjust, **further,
    }  # fmt: skip
    form = Form(
        delimiter=delimiter, header=header, decimal=decimal, encoding=encoding, na=na,
        x=x, y=y, names=names, in_memory=in_memory, transpose=transpose,
        samples=None if samples is None else os.fspath(samples),
        labels=None if labels is None else os.fspath(labels),
    )  # fmt: skip
    if is_frame(path) or is_annotated(path) or is_labelled(path):
        layer = x.strip("/").removeprefix("layers/") if x.strip("/").startswith("layers/") else None
        wrong = [key for key in form.said() if not (key == "x" and layer and is_annotated(path))]
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
    asked = roles | {"label": label, "ordinal": orders, "missing_label": missing_label}
    named = {"label": label, "task": None if event else task, "missing_label": missing_label}
    one = {role: given for role, given in sides.items() if isinstance(given, str)}
    reading = said(form.said() | roles | {"ordinal": orders, "in_memory": None} | named | one)

    def finished(data: Dataset, beside: Mapping[str, Any] | None = None) -> Dataset:
        codes = categorical if isinstance(categorical, tuple) else ()
        whole = data.with_roles(sets, time, adjust, beside, codes, **further)
        whole = whole.with_events(event, beside)
        return attrs.evolve(whole.encoded(encode), reading=reading)

    def by_parts(parts: Any) -> Dataset:
        from fsframe.table.parts import read_parts

        if missing_label is not None:
            raise cannot_leave_rows_out("a table in parts")
        if labels is not None:
            raise RequestError("labels (--labels) goes with a table in memory, not in parts")
        return finished(read_parts(parts, form, asked, task))

    if in_parts(path):
        return by_parts(path)
    if not isinstance(path, (str, os.PathLike)):
        raise RequestError(
            f"read takes a path or a data frame, not {type(path).__name__}; arrays and sparse "
            "matrices have no label among them: Dataset.from_arrays(X, y)"
        )
    table_path = find_table(path)
    kind = file_kind(table_path)
    if in_memory is None and is_large(table_path, kind, x):
        return by_parts([table_path])
    if kind not in ("text", "npz", "hdf5"):
        reading["reader"] = full_name(kind)
    columns = load_content(table_path, kind, form, label=label, refuse=True)
    if labels is not None and columns.own_label is not None:
        asked["label"] = label = columns.names[columns.own_label]
    if missing_label is not None and isinstance(columns, ArrayColumns):
        columns = columns.labelled_rows(label)
    beside = columns.arrays.others if isinstance(columns, ArrayColumns) else None
    if columns.decimal == ",":
        # A table of few rows that is predicted later may not show it.
        reading["decimal"] = ","
    data = dataset_of(columns, asked, task, table_name(table_path), given=reading)
    if isinstance(columns, Sheet) and columns.spelled_names:
        notes = (*data.warnings, *_number_names(data.feature_names))
        data = attrs.evolve(data, warnings=notes)
    return finished(data, beside)


def _number_names(names: tuple[str, ...]) -> list[str]:
    """A warning if half of the names or more are numbers, so that they may be a row."""
    numbers = [name for name in names if is_number(name)]
    if not numbers or 2 * len(numbers) < len(names):
        return []
    return [
        f"the first line was taken as names, though {len(numbers)} of them are numbers "
        f"({some_of(numbers, 3)}); if it is a row, say so (header=False, --no-header)"
    ]
