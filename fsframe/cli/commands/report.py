"""Write an HTML report with figures on one run or several."""

from __future__ import annotations

from pathlib import Path

import click

from fsframe.cli.reading_options import table_if_there, table_of_run
from fsframe.cli.run_file import find_runs
from fsframe.cli.saying import say
from fsframe.errors import RequestError

__all__ = ["report"]


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="RUN... [on DATA]")
@click.option("-o", "--out", metavar="FILE", help="[default: RUN.html beside the first run file]")
@click.option(
    "--means/--no-means",
    default=True,
    help="Whether to read the run's table, for means and pictures of values. [default: where it "
    "is still there]",
)
@click.option("--overwrite", is_flag=True, help="Replace the report if it exists.")
def report(words: tuple[str, ...], out: str | None, means: bool, overwrite: bool) -> None:
    """Write a report: a verdict, pictures, tables, a checklist of leaks, methods, how it was made.

    One HTML file that needs nothing from elsewhere; its tables sort and filter, and are complete
    without scripts. Of several runs, or of a folder of them, it begins with what they have in
    common. Drawn with matplotlib (the extra fsframe[report]).

    \b
    Example:
      fsframe report examples/parkinsons.immigrate-npfs.h5
    """
    runs, source = list(words), None
    if "on" in words:
        place = words.index("on")
        runs = list(words[:place])
        if len(words) != place + 2 or len(runs) != 1:
            raise RequestError("say one run and one table: fsframe report RUN.h5 on DATA")
        source = words[-1]
    if not runs:
        raise RequestError("say of which run: fsframe report RUN.h5")

    from fsframe.report.page import report_page, report_page_of_several
    from fsframe.storage import check_destination, load_run, place_file

    paths = find_runs(runs)
    if source and len(paths) > 1:
        raise RequestError(f"{runs[0]} has {len(paths)} runs; say one run and one table")
    target = Path(out) if out else paths[0].with_suffix(".html")
    records = [load_run(path) for path in paths]
    # Nor the tables that runs were made on, named or not.
    tables = [source or "", *(record.data.source for record in records)]
    used: list[str | Path] = [*paths, *(table for table in tables if table)]
    check_destination(target, overwrite=overwrite, apart_from=used)
    if len(records) > 1:
        page = report_page_of_several(list(zip(records, paths, strict=True)))
    else:
        data = table_of_run(records[0], source) if source else None
        if data is None and means:
            data = table_if_there(records[0], "pictures of values")
        page = report_page(records[0], paths[0], data)
    say(f"report: {place_file(target, page.encode(), overwrite=overwrite, apart_from=used)}")
