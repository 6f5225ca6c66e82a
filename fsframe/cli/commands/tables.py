"""Commands about tables: inspect, apply, predict."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
import click

from fsframe.atomic import check_destination, place_file
from fsframe.cli.options import (
    COUNT,
    form_options,
    overwrite_option,
    reading_arguments,
    reading_options,
)
from fsframe.cli.run_file import (
    check_reader_of_run,
    is_stdout,
    not_to_replace,
    open_run,
    source_of_run,
    stored_reading,
    table_after_on,
    table_of_run,
)
from fsframe.cli.terminal import cell, json_option, option, print_text, say, say_json, say_lines
from fsframe.errors import DataError, FsframeWarning, RequestError
from fsframe.table.reading_options import OF_FORM
from fsframe.text import counted, csv_text, listed, printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fsframe.storage import RunRecord
    from fsframe.table.dataset import Dataset
    from fsframe.table.table_columns import Table


@click.command()
@click.argument("data", type=click.Path())
@reading_options
@json_option
def inspect(data: str, as_json: bool, **reading: Any) -> None:
    """Describe a table, list what needs a decision, and suggest a chain to start with.

    Nothing is run. DATA is any table that `chain` reads. What no option states is guessed and
    shown: the label, identifiers, group columns, nominal columns; likely codes for missing values
    are only reported. The last lines give a command to start with and a forecast of its processor
    time from the numbers of rows and columns, accurate to a factor of three. A table in parts is
    read once, and the memory it needs is reported too.

    \b
    Example:
      fsframe inspect examples/parkinsons.csv
    """
    from fsframe.show.inspection import inspect_parts, inspect_table
    from fsframe.show.inspection_display import inspection_lines, inspection_object
    from fsframe.table.read import is_large
    from fsframe.table.reader import file_kind, find_table, in_parts

    options = reading_arguments(**reading)
    parted = in_parts(data)
    if not parted:
        path = find_table(data)
        parted = is_large(path, file_kind(path), options.get("x", "/X"))
    look: Any = inspect_parts if parted else inspect_table
    inspection = look(data, **options)
    if as_json:
        say_json(inspection_object(inspection))
    else:
        say_lines(inspection_lines(inspection))


@click.command()
@click.argument("run", type=click.Path())
@click.argument("words", nargs=-1, required=True, metavar="on DATA")
@option("-o --out FILE", "Where to write; - is stdout.", required=True)
@option("--top", "Only this many of the kept features, best first.", type=COUNT)
@option("--keep NAME,…", "Additional columns to keep, such as an identifier.")
@option(
    "--defuse/--no-defuse",
    "Put an apostrophe before cells that a spreadsheet would run as formulas. [default: cells are "
    "left as they are]",
    default=False,
)
@form_options
@overwrite_option
@option("-q --quiet", "Print nothing.")
def apply(
    run: str, words: tuple[str, ...], out: str, keep: str | None, quiet: bool, **options: Any
) -> None:
    """Write a table reduced to the features a run kept, with its label if it has one.

    Rows and columns keep the order of DATA, and cells their spelling; only missing values are
    filled in, if a stage of the run learned how (`impute`). A table that lacks a needed column is
    refused. DATA is read with the options of the run (--delimiter, --encoding, …) unless they are
    given here.

    \b
    Example:
      fsframe apply examples/parkinsons.immigrate-npfs.h5 on examples/parkinsons.csv -o reduced.csv
    """
    from fsframe.table.column_kinds import stored_kinds
    from fsframe.table.table_columns import reduced_text, write_reduced

    source = table_after_on(words, "fsframe apply RUN.h5 on DATA -o OUT.csv") or ""
    path, record = open_run(run)
    kinds = stored_kinds(record.environment.get("kinds"))
    kept = [
        kinds[n].column or n if n in kinds else n for n in record.selected_names[: options["top"]]
    ]
    # Several indicator columns come from one column of the table.
    names = tuple(dict.fromkeys(kept))
    if not names:
        raise RequestError(f"{run} kept no feature, so there is no reduced table to write")
    table = _read_as_run(record, source, reading_arguments(**options))
    if record.fill is not None:
        table, n_filled, texts = _filled(table, names, record)
        notes = (
            [f"{counted(n_filled, 'missing value')} filled in as the run does"] if n_filled else []
        )
        if texts:
            notes.append(f"text columns were not filled in: {', '.join(texts[:8])}")
        if notes and not quiet:
            say(f"note: {'; '.join(notes)}", err=True)
    further = [part.strip() for part in keep.split(",") if part.strip()] if keep else []
    label, defuse = _label_in(table, record), options["defuse"]
    if is_stdout(out):
        text = reduced_text(table, names, label=label, keep=further, defuse=defuse)
        click.echo(text, nl=False)
        return
    written = write_reduced(
        out,
        table,
        names,
        label=label,
        keep=further,
        overwrite=options["overwrite"],
        defuse=defuse,
        apart_from=not_to_replace([path], [record]),
    )
    if not quiet:
        say(
            f"{counted(table.n_rows, 'row')} × {counted(len(names), 'feature')} of {source}: "
            + ", ".join(names[:8])
            + (", …" if len(names) > 8 else "")
        )
        say(f"table: {written}")


def _label_in(table: Table, record: RunRecord) -> str | None:
    """The name that the run's label has, or would have, in another table; None if unknown."""
    label = record.data.label or None
    if table.spelled_names is not None:
        return label
    # Without a line of names, the label is found by its place, unless a feature is in that place.
    place = stored_reading(record).get("label", -1)
    if not isinstance(place, int) or not -len(table.names) <= place < len(table.names):
        return None
    return None if table.names[place] in record.feature_names else table.names[place]


def _read_as_run(record: RunRecord, source: str, given: dict[str, Any]) -> Table:
    """Read another table with the options of the run, except for those that are `given`."""
    from fsframe.table.read import read_table

    check_reader_of_run(record, source)
    form = {**stored_reading(record), **given}
    form = {key: form[key] for key in OF_FORM if key in form}
    table = _without_second_names(read_table(source, **form), record)
    signs = [key for key in ("delimiter", "decimal") if key in form and key not in given]
    if signs and len(table.names) == 1 and not {*table.names} & {*record.feature_names}:
        said = listed([f"--{key} {form[key]}" for key in signs])
        raise DataError(
            f"{source} has one column if it is read as the table of the run ({said}): say how it "
            "is written (--delimiter, --decimal)"
        )
    if not all(re.fullmatch("f[1-9][0-9]*", name) for name in record.feature_names):
        return table
    # These names mean that the run's table had no line of names: features are found by place.
    if "header" not in form and not {*table.names} & {*record.feature_names}:
        table = read_table(source, **form, header=False)
    last = max(int(name[1:]) for name in record.feature_names)
    if table.spelled_names is None and len(table.names) < last:
        raise DataError(
            f"{source} has {len(table.names)} columns without names, the table of the run "
            f"{last} or more: its features are found by their place, so that a column that is "
            "left out in front of them, such as the label, must be there, if only empty"
        )
    return table


def _without_second_names(table: Table, record: RunRecord) -> Table:
    """The table without the names of columns that the run left out by place and that have the name
    of an earlier column."""
    keys = stored_reading(record).get("drop", ())
    # The command line counts from 1.
    dropped = {int(k) - 1 if isinstance(k, str) and k.isdecimal() else k for k in keys}
    names = [
        "" if k in dropped and name in table.names[:k] else name
        for k, name in enumerate(table.names)
    ]
    return attrs.evolve(table, names=tuple(names))


def _filled(table: Table, names: Sequence[str], record: RunRecord) -> tuple[Table, int, list[str]]:
    """The table with gaps filled as in the run, the number of filled cells, and the text columns
    that were left unchanged."""
    assert record.fill is not None
    value = dict(zip(record.feature_names, record.fill.tolist(), strict=True))
    places = dict(zip(table.places(names), names, strict=True))
    # Columns behind indicator columns are left out: an indicator's fill value is no level.
    value = {name: value.get(name, float("nan")) for name in names}
    known: dict[int, Any]
    known = {place: value[name] for place, name in places.items() if value[name] == value[name]}
    if record.donors is not None and table.filled(known)[1]:
        known = _imputed(table, {place: places[place] for place in known}, record)
    filled, n_filled, texts = table.filled(known)
    return filled, n_filled, [places[column] for column in texts]


def _imputed(
    table: Table, places: dict[int, str], record: RunRecord
) -> dict[int, NDArray[np.float64]]:
    """Values imputed from the run's donor rows, by column; the table needs every column by which
    the distance to donors is measured."""
    import numpy as np

    from fsframe.method.stage_view import filled_rows
    from fsframe.table.column_kinds import stored_kinds

    donors, names = record.donors, record.feature_names
    assert donors is not None
    seen = [names[column] for column in donors.columns]
    kinds = stored_kinds(record.environment.get("kinds"))
    rows = np.full((table.n_rows, len(names)), np.nan)
    rows[:, donors.columns] = table.numbers(seen, kinds)
    columns = np.array([names.index(name) for name in places.values()])
    values = filled_rows(rows, columns, record.fill, donors)
    return dict(zip(places, values.T, strict=True))


@click.command()
@click.argument("run", type=click.Path())
@click.argument("words", nargs=-1, required=True, metavar="on DATA")
@option(
    "--train DATA",
    "The table the run was made on. [default: the path recorded in the run, or beside its file]",
)
@reading_options
@option("--classifier STAGE", "The classifier to use, for a run without one.")
@option(
    "--id NAME",
    "Column of DATA that names its rows. [default: names of samples in the first line, or row "
    "numbers]",
    called="id_name",
)
@option("-o --out FILE", "Where to write; - is stdout. [default: -]")
@option(
    "--defuse/--no-defuse",
    "Put an apostrophe before classes and names of rows that a spreadsheet would run as formulas. "
    "[default: defuse]",
    default=True,
)
@overwrite_option
def predict(run: str, words: tuple[str, ...], out: str | None, **options: Any) -> None:
    """Predict the label of every row of a table with a finished run.

    Writes a CSV with the number or the name of the row, the predicted class, and a score for every
    class (larger is more likely); for a numeric target, the row and the prediction. The classifier
    is fitted again on the table of the run, which must still be there; of the new table, only the
    columns that it uses are read. Both tables are read with the options of the run (--drop, --na,
    --decimal, …) unless they are given here; how the new one is written may be said for it alone.

    \b
    Example:
      fsframe predict examples/parkinsons.immigrate-npfs.h5 on examples/parkinsons.csv \\
        --classifier margin
    """
    from fsframe.chains.audit import refit
    from fsframe.table.reader import find_table
    from fsframe.table.spelling.text_file import defused

    data = table_after_on(words, "fsframe predict RUN.h5 on DATA") or ""
    path, record = open_run(run)
    source = source_of_run(record, path, options["train"], "--train DATA")
    out = None if out is not None and is_stdout(out) else out
    used = [path, find_table(source), find_table(data)]
    if out is not None:
        check_destination(out, overwrite=options["overwrite"], apart_from=used)
    given = reading_arguments(**options)
    try:
        trained_on = table_of_run(record, source, **given)
    except DataError:
        # The new table alone may be written so.
        further = {key: value for key, value in given.items() if key not in OF_FORM}
        trained_on = table_of_run(record, source, **further)
    fitted = refit(record, trained_on, options["classifier"] or "").restricted_to_its_columns()
    features = record.feature_names
    if fitted.numbers is not None:
        features = tuple(features[column] for column in fitted.numbers)
    table = _read_as_run(record, data, given)
    title, rows = _named_rows(table, options["id_name"])
    X = table.numbers(features, trained_on.kinds)
    if trained_on.in_memory:
        _warn_of_other_values(trained_on, features, X)
    # Labels of a table of arrays may be numbers.
    shown = [str(name) if out else cell(str(name)) for name in fitted.classes]
    names = [defused(name) for name in shown] if options["defuse"] else shown
    rows = [defused(name) for name in rows] if options["defuse"] else rows
    if fitted.task == "regression":
        header = [title, "prediction"]
        cells = [[repr(float(value))] for value in fitted.predict(X)]
    else:
        header = [title, "class", *(f"score {name}" for name in shown)]
        pairs = zip(fitted.predict_scores(X), fitted.predict(X), strict=True)
        cells = [[names[code], *map(repr, scores.tolist())] for scores, code in pairs]
    text = csv_text([header, *([row, *of_row] for row, of_row in zip(rows, cells, strict=True))])
    if out is None:
        print_text(text)
        return
    content, overwrite = text.encode(), options["overwrite"]
    written = place_file(out, content, overwrite=overwrite, apart_from=used)
    say(f"predictions: {written}")


def _named_rows(table: Table, name: str | None) -> tuple[str, list[str]]:
    """The title and the cells of the first column of predictions, which names the rows."""
    from fsframe.table.spelling.dialect import unquote

    if name is not None:
        return name, [unquote(cells[0]) for cells in table.rows(table.places([name]))]
    if table.row_names is not None:
        return "sample", list(table.row_names)
    return "row", [str(row) for row in range(1, table.n_rows + 1)]


def _warn_of_other_values(trained_on: Dataset, features: Sequence[str], X: NDArray[Any]) -> None:
    """Warn of columns where most values are far outside the range in the table of the run, and of
    nominal ones with levels that it has not."""
    import numpy as np

    place = {name: column for column, name in enumerate(trained_on.feature_names)}
    columns = [place[name] for name in features]
    known = trained_on.take_columns(np.array(columns, dtype=np.intp)).X
    least, most = np.fmin.reduce(known, axis=0), np.fmax.reduce(known, axis=0)
    span = most - least
    nominal = np.asarray(trained_on.categorical)[columns]
    far = ((least - span > X) | (most + span < X)).mean(axis=0) > 0.5
    for of_columns, what in (
        (
            far & (span > 0) & ~nominal,
            "most values of {} are far outside those of the table of the run; are they in other "
            "units?",
        ),
        (
            (most < X).any(axis=0) & nominal,
            "{}: levels that do not occur in the table of the run count as one more level; are "
            "they spelled in another way?",
        ),
    ):
        if of_columns.any():
            names = [printable(name) for name, one in zip(features, of_columns, strict=True) if one]
            shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
            warnings.warn(what.format(shown), FsframeWarning, stacklevel=2)
