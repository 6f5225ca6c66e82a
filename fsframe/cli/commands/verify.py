"""Check the integrity of run files."""

from __future__ import annotations

import click

from fsframe.cli.run_file import open_run
from fsframe.cli.terminal import say


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path())
def verify(runs: tuple[str, ...]) -> None:
    """Check the integrity of run files: the seal, the layout, every checksum and digest.

    \b
    Example:
      fsframe verify examples/parkinsons.immigrate-npfs.h5
    """
    for run in runs:
        path, record = open_run(run)
        say(f"{path}: sound")
        mixed = record.environment.get("mixed")
        if mixed:
            say(f"  mixed: {mixed}")
        for name, digest in record.digests().items():
            say(f"  {digest}  {name}")
