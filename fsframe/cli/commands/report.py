"""Write an HTML report with figures on a run."""

from __future__ import annotations

from pathlib import Path

import click

from fsframe.cli.run_file import find_run
from fsframe.cli.saying import say

__all__ = ["report"]


@click.command()
@click.argument("run", type=click.Path())
@click.option("-o", "--out", metavar="FILE", help="[default: RUN.html beside the run file]")
@click.option("--overwrite", is_flag=True, help="Replace the report if it exists.")
def report(run: str, out: str | None, overwrite: bool) -> None:
    """Write a report on a run: scores, pairs, bootstraps, convergence, provenance.

    A single HTML file, without scripts and external resources. Drawn with matplotlib (the
    extra fsframe[report]).

    \b
    Example:
      fsframe report examples/parkinsons.immigrate-npfs.h5
    """
    from fsframe.report.page import report_page
    from fsframe.storage import check_destination, load_run, place_file

    path = find_run(run)
    target = Path(out) if out else path.with_suffix(".html")
    check_destination(target, overwrite=overwrite, apart_from=[path])
    page = report_page(load_run(path), path)
    say(f"report: {place_file(target, page.encode(), overwrite=overwrite)}")
