"""Export the results of a run, by feature or by pair, as a table."""

from __future__ import annotations

from pathlib import Path

import click

from fsframe.cli.options import OfferedName
from fsframe.cli.reading_options import table_if_there, table_of_run
from fsframe.cli.run_file import find_comparison, is_stdout, not_to_replace, open_run
from fsframe.cli.terminal import cell, print_text, say
from fsframe.errors import RequestError
from fsframe.registry import writers


@click.command()
@click.argument("run", type=click.Path())
@click.argument("words", nargs=-1, metavar="[on DATA]")
@click.option(
    "-o", "--out", metavar="FILE", help="Where to write; - is standard output. [default: -]"
)
@click.option(
    "--format",
    "form",
    type=OfferedName("format", writers),
    help="csv, tsv, xlsx, parquet, latex, markdown, or what a plugin writes. [default: by the "
    "ending of FILE (.csv, .tsv, .xlsx, .parquet, .tex, .md); csv]",
)
@click.option("--pairs", is_flag=True, help="Write one row per pair of features instead.")
@click.option("--kept", is_flag=True, help="Only the features that were kept.")
@click.option("--top", type=click.IntRange(min=1), help="Only this many rows, from the top.")
@click.option(
    "--means/--no-means",
    default=True,
    help="Read the run's table, for the direction of each feature and its mean in every class. "
    "[default: if it is still there]",
)
@click.option(
    "--defuse/--no-defuse",
    default=True,
    help="CSV, TSV: put an apostrophe before cells that a spreadsheet would run as formulas. "
    "[default: defuse]",
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
def table(
    run: str,
    words: tuple[str, ...],
    out: str | None,
    form: str | None,
    pairs: bool,
    kept: bool,
    top: int | None,
    means: bool,
    defuse: bool,
    overwrite: bool,
) -> None:
    """Write a run's results: rank, feature, score, p, q, selection frequency, means, by stage.

    One row per feature, the kept ones first; with --pairs one row per pair, with its statistic,
    degrees of freedom, p, q and weight. Columns that the run has no values for are left out. RUN
    may be the folder of a comparison, or a study: then one row per table, chain and measure.

    \b
    Examples:
      fsframe table examples/parkinsons.immigrate-npfs.h5 -o genes.csv
      fsframe table examples/parkinsons.immigrate-npfs.h5 --pairs --top 20
    """
    from fsframe.evaluation.comparison import study_comparisons
    from fsframe.show.comparisons import result_columns
    from fsframe.storage import check_destination, place_file
    from fsframe.table.reader import format_of, is_text, table_bytes

    if words and (len(words) != 2 or words[0] != "on"):
        raise RequestError("name the table: fsframe table RUN.h5 on DATA -o FILE")
    if pairs and (kept or words):
        raise RequestError("--pairs writes pairs; --kept and `on DATA` apply to single features")
    target = None if out is None or is_stdout(out) else Path(out)
    chosen = form or ("csv" if target is None else format_of(target))
    if target is None and not is_text(chosen):
        raise RequestError(f"{chosen} is not a text format; name the file to write: -o FILE")
    several = find_comparison(run)
    if several is not None:
        if pairs or kept or words:
            raise RequestError(
                "for a comparison its results are written; --pairs, --kept and `on DATA` apply "
                "to a single run"
            )
        what, used = "results", several.used()
    else:
        path, record = open_run(run)
        what = "pairs" if pairs else "features"
        used = not_to_replace([path], [record], *words[1:])
    if target is not None:
        check_destination(target, overwrite=overwrite, apart_from=used)
    if several is not None:
        results = result_columns(study_comparisons(several.study).values())
        columns = {name: values[:top] for name, values in results.items()}
    else:
        if pairs:
            found = record.pair_table()
            if not len(found):
                raise RequestError(f"{run} holds no pairs: none of its stages weighs or tests them")
        else:
            data = table_of_run(record, words[1]) if words else None
            if data is None and means:
                data = table_if_there(record, "direction and means")
            found = record.feature_table(data)
            if kept:
                found = found.where(found.columns["kept"])
        found = found.head(top)
        columns = {name: found.cells(name) for name in found.columns}
    if target is None:
        shown = {cell(name): [cell(value) for value in each] for name, each in columns.items()}
        print_text(table_bytes(shown, chosen, defuse=defuse).decode())
        return
    content = table_bytes(columns, chosen, defuse=defuse)
    written = place_file(target, content, overwrite=overwrite, apart_from=used)
    say(f"{what}: {len(next(iter(columns.values())))}, columns: {', '.join(columns)}")
    say(f"table: {written}")
