"""Write a table reduced to the features a run kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.reading_options import (
    TABLE_FORM,
    check_reader_of_run,
    form_options,
    reading_arguments,
    stored_reading,
)
from fsframe.cli.run_file import is_stdout, not_to_replace, open_run
from fsframe.cli.terminal import say
from fsframe.errors import RequestError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fsframe.storage import RunRecord
    from fsframe.table.file_table import Table


@click.command()
@click.argument("run", type=click.Path())
@click.argument("words", nargs=-1, required=True, metavar="on DATA")
@click.option("-o", "--out", metavar="FILE", required=True, help="Where to write; - is stdout.")
@click.option(
    "--top", type=click.IntRange(min=1), help="Only this many of the kept features, best first."
)
@click.option("--keep", metavar="NAME,…", help="Additional columns to keep, such as an identifier.")
@click.option(
    "--defuse/--no-defuse",
    default=False,
    help="Put an apostrophe before cells that a spreadsheet would run as formulas. [default: "
    "cells are left as they are]",
)
@form_options
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing.")
def apply(
    run: str,
    words: tuple[str, ...],
    out: str,
    top: int | None,
    keep: str | None,
    defuse: bool,
    overwrite: bool,
    quiet: bool,
    **reading: Any,
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
    from fsframe.table.file_table import reduced_text, write_reduced
    from fsframe.table.source import read_table
    from fsframe.text import counted

    if len(words) != 2 or words[0] != "on":
        raise RequestError("name the table: fsframe apply RUN.h5 on DATA -o OUT.csv")
    path, record = open_run(run)
    kinds = stored_kinds(record.environment.get("kinds"))
    kept = [kinds[n].column or n if n in kinds else n for n in record.selected_names[:top]]
    # Several indicator columns come from one column of the table.
    names = tuple(dict.fromkeys(kept))
    if not names:
        raise RequestError(f"{run} kept no feature, so there is no reduced table to write")
    check_reader_of_run(record, words[1])
    form = {**stored_reading(record), **reading_arguments(**reading)}
    table = read_table(words[1], **{key: form[key] for key in TABLE_FORM if key in form})
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
    label = record.data.label or None
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
        overwrite=overwrite,
        defuse=defuse,
        apart_from=not_to_replace([path], [record]),
    )
    if not quiet:
        say(
            f"{counted(table.n_rows, 'row')} × {counted(len(names), 'feature')} of {words[1]}: "
            + ", ".join(names[:8])
            + (", …" if len(names) > 8 else "")
        )
        say(f"table: {written}")


def _filled(table: Table, names: Sequence[str], record: RunRecord) -> tuple[Table, int, list[str]]:
    """The table filled as by the run, the number of filled cells, and columns left unchanged."""
    assert record.fill is not None
    value = dict(zip(record.feature_names, record.fill.tolist(), strict=True))
    places = dict(zip(table.places(names), names, strict=True))
    # The fill value of an indicator column is no level of its source column.
    value = {name: value.get(name, float("nan")) for name in names}
    known: dict[int, Any]
    known = {place: value[name] for place, name in places.items() if value[name] == value[name]}
    if record.donors is not None and table.filled(known)[1]:
        known = _imputed(table, {place: places[place] for place in known}, record)
    found, n_filled, texts = table.filled(known)
    return found, n_filled, [places[column] for column in texts]


def _imputed(
    table: Table, places: dict[int, str], record: RunRecord
) -> dict[int, NDArray[np.float64]]:
    """Values imputed from the run's donor rows, by column; the table needs all columns of the
    distance."""
    import numpy as np

    from fsframe.method.stage_view import filled_rows
    from fsframe.table.column_kinds import stored_kinds

    donors, names = record.donors, record.feature_names
    assert donors is not None
    seen = [names[column] for column in donors.columns]
    kinds = stored_kinds(record.environment.get("kinds"))
    rows = np.full((table.n_rows, len(names)), np.nan)
    rows[:, donors.columns] = table.features(seen, kinds)
    columns = np.array([names.index(name) for name in places.values()])
    found = filled_rows(rows, columns, record.fill, donors)
    return dict(zip(places, found.T, strict=True))
