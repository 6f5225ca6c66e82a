"""Show what a run file holds."""

from __future__ import annotations

from pathlib import Path

import click

from fsframe.cli.run_file import not_to_replace, open_run
from fsframe.cli.terminal import json_option, say_json, say_lines


@click.command()
@click.argument("run", type=click.Path())
@json_option
@click.option(
    "--csv", "csv_out", metavar="FILE", help="For an evaluation: also write one line per fold."
)
@click.option("--overwrite", is_flag=True, help="Replace the file of --csv if it exists.")
def show(run: str, as_json: bool, csv_out: str | None, overwrite: bool) -> None:
    """Show what a run file holds: chain, data, stages, kept features, top pairs, warnings.

    \b
    Example:
      fsframe show examples/parkinsons.immigrate-npfs.h5
    """
    from fsframe.show.display import file_lines, protocol_csv, protocol_object
    from fsframe.storage import check_destination

    path, record = open_run(run)
    if csv_out is not None:
        used = not_to_replace([path], [record])
        check_destination(csv_out, overwrite=overwrite, apart_from=used)
        protocol_csv(record, Path(csv_out), overwrite=overwrite)
    if as_json:
        found = {
            **protocol_object(record, path),
            "created": record.created,
            "command": record.command,
            "fsframe_version": record.fsframe_version,
            "environment": dict(record.environment),
        }
        say_json(found)
        return
    say_lines(file_lines(record, path))
