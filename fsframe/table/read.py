"""Open a table with what further files say of it, and read it as a Dataset."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from fsframe.errors import DataError, RequestError
from fsframe.registry import readers
from fsframe.table.column_kinds import Ordinal, as_ordinal, check_readings
from fsframe.table.columns import feature_groups_of, find_column
from fsframe.table.dataset import Dataset, dataset_of
from fsframe.table.files.array_files import load_arrays
from fsframe.table.files.cells import Sheet
from fsframe.table.files.sheet import AboutSamples, about_samples, load_sheet, with_samples
from fsframe.table.frames import FrameColumns, appended, is_annotated, is_frame
from fsframe.table.reader import (
    IN_BLOCKS,
    ArrayTable,
    Form,
    cannot_leave_rows_out,
    check_options,
    file_kind,
    find_table,
    full_name,
    in_parts,
    table_name,
)
from fsframe.table.roles import Keys, as_keys, asked_sides, said
from fsframe.table.spelling.dialect import quoted, unquote
from fsframe.table.spelling.text_file import is_number, load_text, memory_bound
from fsframe.table.table_columns import Annotations, Table
from fsframe.text import some_of

if TYPE_CHECKING:
    # What a run does not need of a table.
    from fsframe.table.guesses.column_facts import Contents

_FORMS = {"npz": "NPZ arrays", "hdf5": "HDF5 datasets"}
_LABEL = "class"
"""Name of a label whose file does not name it."""

LARGE = 2 * 1024**3
"""Bytes as float64 above which the features of an HDF5 file are read in parts in any case."""

_NUMBERED_LINE = re.compile(r"([0-9]+)[\s,;]+(.+)")


def load_content(
    path: Path,
    kind: str,
    form: Form,
    *,
    label: str | int | None = None,
    one_column: bool = False,
    refuse: bool = False,
) -> Table:
    """The columns of a file that is not read in parts, before they have roles.

    Parameters
    ----------
    path : Path
    kind : str
        As `file_kind` gives it.
    form : Form
        Arguments that do not apply to the format are ignored; with `refuse` they are an error,
        unless a plugin's reader makes text of the file.
    label : str or int, optional
        As in `fsframe.read`.
    one_column : bool
        Whether a text without a delimiter is a table of one column.

    Returns
    -------
    Sheet, ArrayTable, or FrameColumns

    Raises
    ------
    DataError
        If the file is damaged, or of an unknown format.
    """
    if form.labels is not None:
        alone = attrs.evolve(form, labels=None)
        table = load_content(path, kind, alone, one_column=True, refuse=refuse)
        return _with_labels(table, path, form, label)
    if kind not in _FORMS and form.names != Form().names:
        alone = attrs.evolve(form, names=Form().names)
        table = load_content(path, kind, alone, label=label, one_column=one_column, refuse=refuse)
        return _with_names(table, path, form)
    said = {key: value for key, value in form.said().items() if key != "in_memory"}
    # Text and arrays need none.
    reader = readers[kind]() if kind in readers else None
    spelled: dict[str, Any] = {}
    if reader is not None and reader.spelled:
        given = {key: said[key] for key in sorted(reader.options & set(said))}
        # After reading, which may set both for the file.
        spelled["text"] = reader.read(path, **given)
        spelled |= {"called": reader.called or kind, "notes": reader.notes}
    of_rows = form.transpose or form.samples is not None
    if kind == "text" or spelled:
        one_column = one_column and not of_rows
        if refuse and not spelled:
            check_options(path, "text", [key for key in ("x", "y") if key in said])
        sheet = load_sheet(path, form, label=label, one_column=one_column, **spelled)
        if not of_rows:
            return sheet
        about = None if form.samples is None else _about_samples(form, path)
        turned = with_samples(sheet, about, transpose=form.transpose)
        return attrs.evolve(turned, form=kind)
    if form.transpose:
        raise RequestError(
            f"--transpose (transpose=) is for text and workbooks, not for {path}: its rows are "
            "samples"
        )
    if of_rows and kind in _FORMS:
        raise _nameless(path)
    if kind in _FORMS:
        return attrs.evolve(load_arrays(path, kind, form), form=_FORMS[kind])
    assert reader is not None
    paths = {key: said[key] for key in ("x", "y") if key in said}
    if refuse:
        check_options(path, kind, [key for key in said if key not in {*paths, "samples"}])
    check_options(path, kind, sorted(paths.keys() - reader.options))
    content = reader.read(path, **paths)
    if form.samples is not None:
        if not isinstance(content, ArrayTable) or content.row_names is None:
            raise _nameless(path)
        content = about_samples(content, _about_samples(form, path))
    if isinstance(content, ArrayTable):
        return attrs.evolve(content, form=kind)
    return FrameColumns(content, path, kind)


def _nameless(path: Path) -> RequestError:
    """The error for a table about the samples of a file that does not name its samples."""
    return RequestError(
        f"--samples (samples=) is for text, workbooks and formats that name their samples, not for "
        f"{path}: give the labels in the order of its rows (--labels FILE)"
    )


def _beside(given: str | None, path: Path) -> Path:
    """The file `given`, or the one of that name beside the table at `path` if both were moved."""
    file = Path(str(given))
    beside = path.with_name(file.name)
    return beside if beside.is_file() and not file.exists() else file


def _opened(given: str | None, path: Path, form: Form, **spelled: Any) -> Table:
    """A further file of the table at `path`, with the codes and the encoding of its `form`."""
    spelling = Form(na=form.na, encoding=form.encoding, **spelled)
    return open_table(_beside(given, path), spelling, one_column=True)


_TURNED = "; its features look to be in rows, which must be samples: turn it, and save it again"


def _with_names(table: Table, path: Path, form: Form) -> Table:
    """A text or arrays without names of columns, with the names from a file.

    The file has one name in each line, possibly after its number. Repeated names are numbered.
    DataError if the table has names, or another number of columns, or the file cannot be read.
    """
    file = _beside(form.names, path)
    lines = load_text(file, form.encoding).decode().splitlines()
    names = [line.strip() for line in lines if line.strip()]
    arrays = table if isinstance(table, ArrayTable) else None
    if (table.spelled_names if arrays is None else arrays.stored_names) is not None:
        raise DataError(f"{path} has names of columns, so that {file} is not needed (--names)")
    width = table.n_fields
    if len(names) != width:
        turned = _TURNED if len(names) == table.n_rows else ""
        raise DataError(f"{file} has {len(names)} names, and {path} has {width} columns{turned}")
    numbered = [found for name in names if (found := _NUMBERED_LINE.fullmatch(name))]
    if len(numbered) == width:
        first = int(numbered[0][1])
        if [int(found[1]) for found in numbered] == [*range(first, first + width)]:
            names = [found[2] for found in numbered]
    times = Counter[str]()
    unique = []
    for name in names:
        times[name] += 1
        unique.append(name if times[name] == 1 else f"{name} ({times[name]})")
    notes = table.notes
    if again := [repr(name) for name, many in times.items() if many > 1]:
        notes = (*notes, f"names that occur again are numbered: {some_of(again, 3)}")
    if arrays is not None:
        return attrs.evolve(arrays, names=tuple(unique), notes=notes)
    assert isinstance(table, Sheet)
    spelled = tuple(quoted(name, table.delimiter) for name in unique)
    return attrs.evolve(table, names=tuple(unique), spelled_names=spelled, notes=notes)


def _with_labels(table: Table, path: Path, form: Form, label: str | int | None) -> Table:
    """A table with the label of each row, from a separate file, as its last column or its label.

    DataError if the table has a label or a column of that name, or the files do not fit.

    Notes
    -----
    A text is written anew with the label and parsed again: that takes its size in memory, and as
    much time as reading it.
    """
    rows = table.n_rows
    # The commas of one column of numbers must not separate two.
    decimal = "," if table.decimal == "," else None
    other = _opened(form.labels, path, form, decimal=decimal)
    if other.n_rows == rows - 1 and (len(other.names) > 1 or not other.names[0][:1].isalpha()):
        # The first label was taken as a name, since it occurs only once. A word that does is one:
        # as a label it would be the only one of its class.
        other = _opened(form.labels, path, form, decimal=decimal, header=False)
    file, width = other.path, len(other.names)
    cells = [[unquote(cell) for cell in row] for row in other.rows(range(width))]
    own = [_LABEL if name == f"f{k + 1}" else name for k, name in enumerate(other.names)]
    place = width - 1
    if label is not None and not (width <= 2 and label == own[place]):
        place = find_column(other.names, width, label, str(file))
    name = own[place]
    if other.n_rows != rows:
        raise DataError(
            f"{file} has {other.n_rows} rows, and {path} has {rows}: a file of labels has "
            "that of each row, in their order" + (_TURNED if other.n_rows == table.n_fields else "")
        )
    if width > 1:
        own_first = table.column(0) if isinstance(table, Sheet) else []
        _check_order(path, own_first, other, [row[0] for row in cells], label is None)
    if table.own_label is not None:
        raise DataError(
            f"{path} has the label {table.names[table.own_label]!r} already, so that {file} is not "
            "needed (--labels)"
        )
    if name in table.names:
        raise DataError(f"{path} has a column {name!r} already, as the label in {file}")
    if isinstance(table, Sheet):
        return _with_last_column(table, path, name, [row[place] for row in cells])
    values = other.values(place)
    if isinstance(table, ArrayTable):
        y = np.array([text or "" for text in values]) if isinstance(values, list) else values
        return attrs.evolve(table, y=y, label_name=name)
    assert isinstance(table, FrameColumns)
    frame = appended(table.frame, {name: values})
    return FrameColumns(frame, path, table.form, own_label=table.n_fields)


def _check_order(
    path: Path, own: Sequence[str], labels: Table, first: Sequence[str], unclear: bool
) -> None:
    """Raise DataError if a file of labels has the rows in another order, or an unclear label.

    `own` and `first` are the first columns of the table and of the file, which may name the rows.
    """
    if own == first and (not unclear or len(labels.names) == 2):
        return
    about = "with --samples (samples=) instead of --labels (labels=)"
    if own != first and sorted(own) == sorted(first):
        raise DataError(
            f"the rows of {labels.path} are those of {path} in another order: give it {about}"
        )
    if unclear:
        raise DataError(
            f"{labels.path} has {len(labels.names)} columns, "
            f"{some_of(list(map(repr, labels.names)), 4)}: name that of the label "
            "with --label (label=), by its number if it has no name; a table that names the rows "
            f"of {path} in its first column is given {about}"
        )


def _with_last_column(sheet: Sheet, path: Path, name: str, texts: list[str]) -> Sheet:
    sign = sheet.delimiter
    head = [*(sheet.spelled_names or sheet.names), quoted(name, sign)]
    rows = zip(sheet.rows(range(sheet.n_fields)), texts, strict=True)
    lines = [head, *([*row, quoted(text, sign)] for row, text in rows)]
    joined = load_sheet(
        path,
        Form(delimiter=sign, decimal=sheet.decimal, header=True, na=sheet.missing.codes),
        text="".join(sign.join(line) + "\n" for line in lines).encode(),
        called=sheet.form,
        notes=sheet.notes,
    )
    return attrs.evolve(joined, first_line=sheet.first_line, own_label=sheet.n_fields)


def _about_samples(form: Form, path: Path) -> AboutSamples:
    """The table about the samples of the table at `path`."""
    other = _opened(form.samples, path, form)
    return AboutSamples(
        path=other.path,
        names=[unquote(cells[0]) for cells in other.rows([0])],
        columns={name: other.values(k) for k, name in enumerate(other.names) if k},
    )


def is_large(path: Path, kind: str, x: str, most: int | None = None) -> bool:
    """Whether the table in a file is so large that it is not loaded, but read in parts.

    So are features at `x` of an HDF5 file of more than `most` bytes as float64 (`LARGE` by
    default), and any that would not fit into the memory for tables (`memory_bound`).
    """
    if kind not in IN_BLOCKS:
        return False
    if kind == "hdf5":
        from fsframe.table.files.hdf5 import Hdf5Arrays

        with Hdf5Arrays(path) as file:
            form = file.table_form(x)
        bound = min(LARGE if most is None else most, memory_bound())
        return form is not None and 8 * math.prod(form[0]) > bound
    if path.stat().st_size < memory_bound() // 200:
        return False
    import polars

    frame = polars.scan_ipc(path) if kind == "arrow" else polars.scan_parquet(path, glob=False)
    rows = int(frame.select(polars.len()).collect().item())
    return bool(16 * rows * len(frame.collect_schema()) > memory_bound())


def open_table(path: str | os.PathLike[str], form: Form, **options: Any) -> Table:
    """Open the table in a file that is not read in parts; `options` as for `load_content`.

    Raises
    ------
    DataError
        If the file is missing, damaged, of an unknown format, or rows of a text differ in length.
    """
    table_path = find_table(path)
    kind = file_kind(table_path)
    table = load_content(table_path, kind, form, **options)
    if isinstance(table, Sheet):
        table.check()
    return table


def read_table(path: str | os.PathLike[str], **form: Any) -> Table:
    """Open the table in a file, with or without a label; its cells stay as they are.

    Parameters
    ----------
    path
        As in `fsframe.read`.
    form
        Fields of `fsframe.table.reader.Form`.

    Returns
    -------
    Table
        Columns of a text file without a line of names are called ``f1, f2, …``. For a table in
        parts (a folder, a pattern), only the columns that are used are loaded; parts in HDF5 files
        have no label here.

    Raises
    ------
    DataError
        If the file is missing, damaged, of another kind, or its rows differ in length.
    """
    table_path, asked = find_table(path), Form(**form)
    kind = "" if in_parts(table_path) else file_kind(table_path)
    # Of an HDF5 file that can be loaded, also the label is read.
    if kind and not is_large(table_path, kind, asked.x, most=memory_bound()):
        return open_table(table_path, asked, one_column=True)
    from fsframe.table.parts import rows_of_parts

    return rows_of_parts(table_path, asked)


def contents(path: str | os.PathLike[str], label: str | int | None = None, **form: Any) -> Contents:
    """Summarise the columns of a file, even if it cannot be used in a chain.

    `form` are fields of `fsframe.table.reader.Form`. DataError if the file is not a table: missing,
    damaged, rows of different lengths. O(n log n) per column, for the number of different values.
    """
    from fsframe.table.guesses.column_facts import Contents

    try:
        source = open_table(path, Form(**form), label=label)
    except DataError:
        # A single column is shown, too, but only if blanks do not separate fields, as in `read`.
        source = open_table(path, Form(**form), label=label, one_column=True)
    return Contents.of(source)


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
        name with an ending. Also a data frame of pandas, polars or pyarrow, or an AnnData
        (`Dataset.from_frame`), which takes `label`, `drop`, `categorical`, `groups`, `task`,
        `ordinal`, `dates` and `encode`. Also a table in parts, which is never loaded whole: a
        pattern (``"parts/*.parquet"``), a folder or a list of Parquet, Arrow or HDF5 files, a lazy
        frame of polars, a dataset of pyarrow, a frame of dask; and one HDF5, Parquet or Arrow file
        too large for memory.
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
        Whether an HDF5, Parquet or Arrow file is loaded, or read in parts. By default an HDF5 file
        is loaded up to 2 GiB as float64, and the others as far as they fit into memory.
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
        A table about the samples, whose first column names them as the table does: the label,
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
    if is_frame(path) or is_annotated(path):
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
    if in_memory is False and kind not in IN_BLOCKS:
        raise RequestError(
            f"in_memory=False is for HDF5, Parquet and Arrow files, not for {path}: others are "
            "loaded whole"
        )
    large = in_memory is None and is_large(table_path, kind, x)
    if kind in IN_BLOCKS:
        # A table in parts has another digest: it is read again in the same way under other bounds.
        reading["in_memory"] = not large and in_memory is not False
    if in_memory is False or large:
        return by_parts([table_path])
    if kind not in ("text", "npz", "hdf5"):
        reading["reader"] = full_name(kind)
    columns = load_content(table_path, kind, form, label=label, refuse=True)
    if labels is not None and columns.own_label is not None:
        asked["label"] = label = columns.names[columns.own_label]
    if missing_label is not None and isinstance(columns, ArrayTable):
        columns = columns.labelled_rows(label)
    if columns.decimal == ",":
        # A table of few rows that is predicted later may not show it.
        reading["decimal"] = ","
    data = dataset_of(columns, asked, task, table_name(table_path), given=reading)
    if isinstance(columns, Sheet) and columns.spelled_names:
        notes = (*data.warnings, *_number_names(data.feature_names))
        data = attrs.evolve(data, warnings=notes)
    return finished(data, Annotations(columns))


def _number_names(names: tuple[str, ...]) -> list[str]:
    """A warning if half of the names or more are numbers, so that they may be a row."""
    numbers = [name for name in names if is_number(name)]
    if not numbers or 2 * len(numbers) < len(names):
        return []
    return [
        f"the first line was taken as names, though {len(numbers)} of them are numbers "
        f"({some_of(numbers, 3)}); if it is a row, say so (header=False, --no-header)"
    ]
