"""``fsframe verify RUN.h5``: whether a run file is sound, byte for byte."""

from __future__ import annotations

import click

from fsframe.cli.run_file import find_run

__all__ = ["verify"]


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path())
def verify(runs: tuple[str, ...]) -> None:
    """Check that run files are sound: the seal, the layout, every checksum and digest.

    \b
    Example:
      fsframe verify examples/parkinsons.immigrate-npfs.h5
    """
    from fsframe.store import load_run, printable

    for run in runs:
        path = find_run(run)
        record = load_run(path)
        click.echo(f"{path}: sound")
        mixed = record.environment.get("mixed")
        if mixed:
            click.echo(f"  mixed: {printable(str(mixed))}")
        for name, digest in record.digests().items():
            click.echo(f"  {digest}  {name}")
