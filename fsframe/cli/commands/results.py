"""Commands that show results: show, table, plot, report."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path
from typing import Any

import click

from fsframe.atomic import check_destination, check_ending, place_file
from fsframe.cli.options import COUNT, offered, overwrite_option
from fsframe.cli.run_file import (
    find_results,
    is_stdout,
    source_of_run,
    table_after_on,
    table_for,
    table_of_run,
)
from fsframe.cli.running import show_study
from fsframe.cli.terminal import cell, json_option, option, print_text, say, say_json, say_lines
from fsframe.errors import RequestError
from fsframe.registry import writers


@click.command()
@click.argument("run", type=click.Path())
@json_option
@option(
    "--csv FILE",
    "Also write one line per fold of an evaluation, or per metric and set size of a stability "
    "study.",
    called="csv_out",
)
@option("--overwrite", "Replace the file of --csv if it exists.")
def show(run: str, as_json: bool, csv_out: str | None, overwrite: bool) -> None:
    """Show what a run file holds: chain, data, stages, kept features, top pairs, warnings.

    RUN may be the folder of a comparison, or a study: then its results and tests are shown.

    \b
    Example:
      fsframe show examples/parkinsons.immigrate-npfs.h5
    """
    from fsframe.show.display import file_lines, file_object, protocol_csv

    given = find_results([run], comparisons=True, folders=False)
    if given.study is not None:
        if csv_out is not None:
            raise RequestError(f"--csv is for a single run; fsframe table {run} -o {csv_out}")
        from fsframe.show.results import StudyResult

        show_study(StudyResult(record=given.study), as_json=as_json)
        return
    (path,), (record,) = given.paths, given.records
    if csv_out is not None:
        check_destination(csv_out, overwrite=overwrite, apart_from=given.used())
        protocol_csv(record, Path(csv_out), overwrite=overwrite)
    if as_json:
        say_json(file_object(record, path))
        return
    say_lines(file_lines(record, path))


@click.command()
@click.argument("run", type=click.Path())
@click.argument("words", nargs=-1, metavar="[on DATA]")
@option("-o --out FILE", "Where to write; - is standard output. [default: -]")
@option(
    "--format FORMAT",
    "csv, tsv, xlsx, parquet, latex, markdown, or what a plugin writes. [default: by the ending "
    "of FILE (.csv, .tsv, .xlsx, .parquet, .tex, .md); csv]",
    called="form",
    **offered(writers),
)
@option("--pairs", "Write one row per pair of features instead.")
@option("--kept", "Only the features that were kept.")
@option("--top", "Only this many rows, from the top.", type=COUNT)
@option(
    "--means/--no-means",
    "Read the run's table, for the direction of each feature and its mean in every class. "
    "[default: if it is still there]",
    default=True,
)
@option(
    "--defuse/--no-defuse",
    "CSV, TSV: put an apostrophe before cells that a spreadsheet would run as formulas. [default: "
    "defuse]",
    default=True,
)
@overwrite_option
def table(
    run: str, words: tuple[str, ...], out: str | None, pairs: bool, kept: bool, **options: Any
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
    from fsframe.table.reader import format_of, is_text, table_bytes

    source = table_after_on(words, "fsframe table RUN.h5 on DATA -o FILE")
    if pairs and (kept or source):
        raise RequestError(
            "--pairs writes pairs: leave out --kept and `on DATA`, which are for features"
        )
    target = None if out is None or is_stdout(out) else Path(out)
    chosen = options["form"] or ("csv" if target is None else format_of(target))
    if target is None and not is_text(chosen):
        raise RequestError(f"{chosen} is not a text format; name the file to write: -o FILE")
    given = find_results([run], comparisons=True, folders=False)
    if given.study is not None and (pairs or kept or source):
        raise RequestError(
            f"{run} is a comparison, whose results are written: leave out --pairs, --kept and "
            "`on DATA`, which are for a single run"
        )
    used, top, overwrite = given.used(source), options["top"], options["overwrite"]
    if target is not None:
        check_destination(target, overwrite=overwrite, apart_from=used)
    if given.study is not None:
        results = result_columns(study_comparisons(given.study).values())
        what, columns = "results", {name: values[:top] for name, values in results.items()}
    else:
        what, (record,) = "pairs" if pairs else "features", given.records
        if pairs:
            frame = record.pair_table()
            if not len(frame):
                raise RequestError(f"{run} holds no pairs: none of its stages weighs or tests them")
        else:
            file, means = given.paths[0], options["means"]
            data = table_for("direction and means", record, file, source, means)
            frame = record.feature_table(data)
            if kept:
                frame = frame.where(frame.columns["kept"])
        frame = frame.head(top)
        columns = {name: frame.cells(name) for name in frame.columns}
    if target is None:
        shown = {cell(name): [cell(value) for value in each] for name, each in columns.items()}
        print_text(table_bytes(shown, chosen, defuse=options["defuse"]).decode())
        return
    content = table_bytes(columns, chosen, defuse=options["defuse"])
    written = place_file(target, content, overwrite=overwrite, apart_from=used)
    say(f"{what}: {len(next(iter(columns.values())))}, columns: {', '.join(columns)}")
    say(f"table: {written}")


@click.command()
@click.argument("kind", required=False)
@click.argument("words", nargs=-1, metavar="RUN... [on DATA]")
@option(
    "-o --out FILE", "Ending in .svg, .pdf or .png. [default: RUN.KIND.svg beside the first run]"
)
@option("--most", "Draw at most this many features or pairs.", type=COUNT)
@option("--pair NAME,NAME", "For the kind pair: the two features.")
@option("--metric NAME", "For the kinds pareto and cd: the measure.")
@option("--dpi", "PNG.", type=click.FloatRange(10, 1200), default=200)
@option(
    "--outlines", "SVG: draw text as outlines, which look the same everywhere but cannot be edited."
)
@overwrite_option
def plot(
    kind: str | None, words: tuple[str, ...], out: str | None, pair: str | None, **options: Any
) -> None:
    """Plot one run or several; without arguments, list the kinds of plots.

    A folder, such as one written by `compare -o`, or a study stands for the chains compared in it;
    for a study, its first seed is drawn.

    Colours are safe for colour-blind readers; in grey, markers and dashes tell lines apart. Equal
    runs give equal bytes.

    \b
    Examples:
      fsframe plot
      fsframe plot scores examples/parkinsons.immigrate-npfs.h5 -o scores.pdf
    """
    from fsframe.show.plots import draw, known_kinds

    if kind is None:
        say_lines(_plot_kind_lines())
        return
    kinds = known_kinds()
    if kind not in kinds:
        if Path(kind).exists():
            raise RequestError(
                f"{kind!r} is a file; name the plot before it: fsframe plot scores {kind} "
                "(`fsframe plot` lists the kinds)"
            )
        # Raises an error that lists the kinds.
        draw(kind, [])
    if not words or words[0] == "on":
        raise RequestError(
            f"name the run: fsframe plot {kind} RUN.h5 (it needs {kinds[kind].needs})"
        )
    runs, source = _split(words, "name one table after `on`: fsframe plot KIND RUN on DATA")
    given = find_results(runs, comparisons=kinds[kind].several)
    target = Path(out) if out else given.named(f"{kind.replace('/', '-')}.svg")
    form = target.suffix.lower().removeprefix(".")
    if form not in ("svg", "pdf", "png"):
        raise RequestError(f"{target}: end its name in .svg, .pdf or .png")
    ends = tuple(part.strip() for part in pair.split(",")) if pair else None

    from fsframe.show.plots.canvas import figure_bytes

    records, study, used = given.records, given.study, given.used(source)
    metric, overwrite = options["metric"], options["overwrite"]
    if study is not None:
        records = [run for row in study.first_runs() for run in row]
        metric = metric or (study.measures[0] if "metric" in kinds[kind].options else None)
    check_destination(target, overwrite=overwrite, apart_from=used)
    data = None
    if kinds[kind].data:
        file = given.paths[0]
        how = f"fsframe plot {kind} {shlex.quote(str(file))} on DATA"
        data = table_of_run(records[0], source_of_run(records[0], file, source, how))
    elif source:
        raise RequestError(f"the plot {kind!r} is drawn from the run alone, without a table")
    figure = draw(kind, records, data, most=options["most"], pair=ends, metric=metric)
    content = figure_bytes(figure, form, dpi=options["dpi"], outlines=options["outlines"])
    say(f"picture: {place_file(target, content, overwrite=overwrite, apart_from=used)}")


def _split(words: tuple[str, ...], how: str) -> tuple[list[str], str | None]:
    """The runs and the table of ``RUN... on DATA``; `how` is the message for anything else."""
    if "on" not in words:
        return list(words), None
    place = words.index("on")
    if len(words) != place + 2:
        raise RequestError(how)
    return list(words[:place]), words[place + 1]


def _plot_kind_lines() -> list[str]:
    from fsframe.show.plots import known_kinds

    kinds = known_kinds()
    width = max(map(len, kinds)) + 2
    lines = ["Kinds of plots: fsframe plot KIND RUN… -o FILE.svg", ""]
    for name, kind in kinds.items():
        text = f"{kind.shows}; needs {kind.needs}"
        lines += textwrap.wrap(
            text, 80, initial_indent=name.ljust(width), subsequent_indent=" " * width
        )
    return lines


@click.command()
@click.argument("run", type=click.Path())
@click.argument("words", nargs=-1, metavar="[on DATA]")
@option("-o --out FILE", "[default: RUN.html beside the run file, FOLDER.html beside a folder]")
@option(
    "--means/--no-means",
    "Read the run's table, for class means and plots of values. [default: if it is still there]",
    default=True,
)
@option("--overwrite", "Replace the report if it exists.")
def report(run: str, words: tuple[str, ...], out: str | None, means: bool, overwrite: bool) -> None:
    """Write a report: verdict, figures, tables, leakage checklist, methods text, provenance.

    One self-contained HTML file; tables can be sorted and filtered, and are complete without
    scripts. RUN may be the folder of a comparison, or a study (study.zip or its folder).

    \b
    Example:
      fsframe report examples/parkinsons.immigrate-npfs.h5
    """
    from fsframe.show.page import report_page, report_page_of_study

    if words and words[0] != "on":
        raise RequestError(
            "a report is about one run or comparison: `fsframe plot sets RUN RUN` shows what "
            "several runs keep in common, `fsframe compare` tests which of their chains is better"
        )
    source = table_after_on(words, "fsframe report RUN.h5 on DATA")
    given = find_results([run], comparisons=not source)
    records, paths = given.records, given.paths
    if given.study is None and len(paths) > 1:
        raise RequestError(f"{run} has {len(paths)} runs; name one run and one table")
    target, used = Path(out) if out else given.named("html"), given.used(source)
    check_destination(target, overwrite=overwrite, apart_from=used)
    table = "fsframe table RUN.h5 -o {} writes a table"
    check_ending(target, ".html", ".htm", holds="a report, which is HTML,", instead=table)
    if given.study is not None:
        text = report_page_of_study(given.study, given.where, None if given.where else paths[0])
    else:
        data = table_for("pictures of values", records[0], paths[0], source, means)
        text = report_page(records[0], paths[0], data)
    written = place_file(target, text.encode(), overwrite=overwrite, apart_from=used)
    say(f"report: {written}")
