"""Predict the rows of a table with a run."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.reading_options import (
    TABLE_FORM,
    check_reader_of_run,
    reading_arguments,
    reading_options,
    source_of_run,
    stored_reading,
    table_of_run,
)
from fsframe.cli.run_file import is_stdout, open_run
from fsframe.cli.terminal import cell, print_text, say
from fsframe.errors import DataError, FsframeWarning, RequestError
from fsframe.text import printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsframe.table.dataset import Dataset


@click.command()
@click.argument("run", type=click.Path())
@click.argument("words", nargs=-1, required=True, metavar="on DATA")
@click.option(
    "--train",
    metavar="DATA",
    help="The table the run was made on. [default: the path recorded in the run]",
)
@reading_options
@click.option(
    "--classifier",
    metavar="STAGE",
    default="",
    help="The classifier to use, for a run without one.",
)
@click.option("-o", "--out", metavar="FILE", help="Where to write; - is stdout. [default: -]")
@click.option(
    "--defuse/--no-defuse",
    default=True,
    help="Put an apostrophe before classes that a spreadsheet would run as formulas. [default: "
    "defuse]",
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
def predict(
    run: str,
    words: tuple[str, ...],
    train: str | None,
    classifier: str,
    out: str | None,
    defuse: bool,
    overwrite: bool,
    **reading: Any,
) -> None:
    """Predict the label of every row of a table with a finished run.

    Writes a CSV with the row number, the predicted class, and a score for every class (larger is
    more likely); for a numeric target, the row number and the prediction. The classifier is fitted
    again on the table of the run, which must still be there; of the new table, only the columns
    that it uses are read. Both tables are read with the options of the run (--drop, --na,
    --decimal, …) unless they are given here.

    \b
    Example:
      fsframe predict examples/parkinsons.immigrate-npfs.h5 on examples/parkinsons.csv \\
        --classifier margin
    """
    from fsframe.chains.audit import refit
    from fsframe.storage import check_destination, place_file
    from fsframe.table.source import read_table
    from fsframe.table.text_file import defused

    if len(words) != 2 or words[0] != "on":
        raise RequestError("name the table: fsframe predict RUN.h5 on DATA")
    path, record = open_run(run)
    source = source_of_run(record, train, "--train DATA")
    out = None if out is not None and is_stdout(out) else out
    used = [path, _file(source), _file(words[1])]
    if out is not None:
        check_destination(out, overwrite=overwrite, apart_from=used)
    given = reading_arguments(**reading)
    trained_on = table_of_run(record, source, **given)
    fitted = refit(record, trained_on, classifier).on_its_columns()
    features = record.feature_names
    if fitted.numbers is not None:
        features = tuple(features[column] for column in fitted.numbers)
    check_reader_of_run(record, words[1])
    form = {**stored_reading(record), **given}
    table = read_table(words[1], **{key: form[key] for key in TABLE_FORM if key in form})
    X = table.features(features, trained_on.kinds)
    if trained_on.in_memory:
        _warn_of_other_units(trained_on, features, X)
    # Labels of a table of arrays may be numbers.
    shown = [str(name) if out else cell(str(name)) for name in fitted.classes]
    names = [defused(name) for name in shown] if defuse else shown
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if fitted.task == "regression":
        writer.writerow(["row", "prediction"])
        writer.writerows([row, repr(float(v))] for row, v in enumerate(fitted.predict(X), start=1))
    else:
        scores, codes = fitted.predict_scores(X), fitted.predict(X)
        writer.writerow(["row", "class", *(f"score {name}" for name in shown)])
        for row, (code, values) in enumerate(zip(codes, scores, strict=True), start=1):
            writer.writerow([row, names[code], *(repr(float(value)) for value in values)])
    if out is None:
        print_text(text.getvalue())
        return
    written = place_file(out, text.getvalue().encode(), overwrite=overwrite, apart_from=used)
    say(f"predictions: {written}")


def _warn_of_other_units(trained_on: Dataset, features: Sequence[str], X: NDArray[Any]) -> None:
    """Name the columns of which most values are far outside those that the run was made on."""
    import numpy as np

    place = {name: column for column, name in enumerate(trained_on.feature_names)}
    columns = [place[name] for name in features]
    known = trained_on.take_columns(np.array(columns, dtype=np.intp)).X
    least, most = np.fmin.reduce(known, axis=0), np.fmax.reduce(known, axis=0)
    span = most - least
    far = ((least - span > X) | (most + span < X)).mean(axis=0) > 0.5
    far &= (span > 0) & ~np.asarray(trained_on.categorical)[columns]
    if far.any():
        names = [printable(name) for name, one in zip(features, far, strict=True) if one]
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        warnings.warn(
            f"most values of {shown} are far outside those of the table of the run; are they in "
            "other units?",
            FsframeWarning,
            stacklevel=2,
        )


def _file(name: str) -> Path | None:
    """The file of a table that may be named without its ending; None where there is none."""
    from fsframe.table.reader import find_table

    try:
        return find_table(name)
    except DataError:
        return None
