"""Finding the run file that is meant on the command line."""

from __future__ import annotations

from pathlib import Path

import click

from fsframe.errors import StoreError
from fsframe.suggest import did_you_mean

__all__ = ["find_run"]


def find_run(text: str) -> Path:
    """The path of the run file that `text` names.

    A bare name that is not in this folder is looked for one folder down, since a run file is left
    beside its data; it is taken where exactly one matches, and said on stderr.

    Raises
    ------
    StoreError
        If there is no such file, or several match.
    """
    path = Path(text)
    if path.is_file():
        return path
    if path.is_dir():
        raise StoreError(f"{text} is a folder; name a run file in it")
    if path.name == text:
        below = sorted(found for found in Path().glob(f"*/{_escaped(text)}") if found.is_file())
        if len(below) == 1:
            click.echo(f"note: reading {below[0]}", err=True)
            return below[0]
        if below:
            several = ", ".join(map(str, below))
            raise StoreError(f"there is no {text} here, but several below: {several}; say which")
    folder = path.parent
    near = [str(found) for found in folder.glob("*.h5")] if folder.is_dir() else []
    raise StoreError(f"there is no run file {text!r}{did_you_mean(text, near)}")


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
