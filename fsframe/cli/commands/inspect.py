"""Describe a table, and suggest a chain to start with."""

from __future__ import annotations

from typing import Any

import click

from fsframe.cli.reading_options import reading_arguments, reading_options
from fsframe.cli.terminal import json_option, say_json, say_lines


@click.command()
@click.argument("data", type=click.Path())
@reading_options
@json_option
def inspect(data: str, as_json: bool, **reading: Any) -> None:
    """Describe a table, list what needs a decision, and suggest a chain to start with.

    Nothing is run. DATA is any table that `chain` reads. What no option states is guessed and
    shown: the label, identifiers, group columns, nominal columns; likely codes for missing values
    are only reported. The last lines give a command to start with and a forecast of its processor
    time from the numbers of rows and columns, correct within a factor of three. A table in parts is
    read once, and the memory it needs is reported too.

    \b
    Example:
      fsframe inspect examples/parkinsons.csv
    """
    from fsframe.table.reader import in_parts

    if in_parts(data):
        from fsframe.show.inspection import inspect_parts
        from fsframe.show.inspection_display import parts_lines, parts_object

        parts = inspect_parts(data, **reading_arguments(**reading))
        if as_json:
            say_json(parts_object(parts))
        else:
            say_lines(parts_lines(parts))
        return
    from fsframe.show.inspection import inspect_table
    from fsframe.show.inspection_display import inspection_lines, inspection_object

    found = inspect_table(data, **reading_arguments(**reading))
    if as_json:
        say_json(inspection_object(found))
    else:
        say_lines(inspection_lines(found))
