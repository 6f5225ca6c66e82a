"""Write an HTML report with figures on one run or several."""

from __future__ import annotations

from pathlib import Path

import click

from fsframe.cli.reading_options import table_if_there, table_of_run
from fsframe.cli.run_file import find_comparison, find_runs, not_to_replace
from fsframe.cli.terminal import say
from fsframe.errors import RequestError


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="RUN... [on DATA]")
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    help="[default: RUN.html beside the first run file, FOLDER.html beside a folder]",
)
@click.option(
    "--means/--no-means",
    default=True,
    help="Read the run's table, for class means and plots of values. [default: if it is still "
    "there]",
)
@click.option("--overwrite", is_flag=True, help="Replace the report if it exists.")
def report(words: tuple[str, ...], out: str | None, means: bool, overwrite: bool) -> None:
    """Write a report: verdict, figures, tables, leakage checklist, methods text, provenance.

    One self-contained HTML file; tables can be sorted and filtered, and are complete without
    scripts. RUN may be the folder of a comparison, or a study (study.zip or its folder). For
    several other runs it starts with what they have in common.

    \b
    Example:
      fsframe report examples/parkinsons.immigrate-npfs.h5
    """
    runs, source = list(words), None
    if "on" in words:
        runs = list(words[: words.index("on")])
        if len(words) != 3 or len(runs) != 1:
            raise RequestError("name one run and one table: fsframe report RUN.h5 on DATA")
        source = words[-1]
    if not runs:
        raise RequestError("name the run: fsframe report RUN.h5")

    from fsframe.show.page import report_page, report_page_of_several
    from fsframe.show.study_page import report_page_of_study
    from fsframe.storage import check_destination, load_run, place_file

    several = None if source or len(runs) > 1 else find_comparison(runs[0])
    if several is not None:
        place, used = several.name.with_name(f"{several.name.name}.html"), several.used()
    else:
        paths = find_runs(runs)
        if source and len(paths) > 1:
            raise RequestError(
                f"{paths[0].parent} has {len(paths)} runs; name one run and one table"
            )
        records = [load_run(path) for path in paths]
        place, used = paths[0].with_suffix(".html"), not_to_replace(paths, records, source)
    target = Path(out) if out else place
    check_destination(target, overwrite=overwrite, apart_from=used)
    if several is not None:
        text = report_page_of_study(several.study, several.where, several.file)
    elif len(records) > 1:
        text = report_page_of_several(list(zip(records, paths, strict=True)))
    else:
        data = table_of_run(records[0], source) if source else None
        if data is None and means:
            data = table_if_there(records[0], "pictures of values")
        text = report_page(records[0], paths[0], data)
    written = place_file(target, text.encode(), overwrite=overwrite, apart_from=used)
    say(f"report: {written}")
