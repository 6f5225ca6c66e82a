"""Options that say how a table is read, shared by the commands that take one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.terminal import Option, all_options, option
from fsframe.errors import RequestError, UntidyTableError
from fsframe.table.roles import ROLES, side_roles
from fsframe.text import level_orders, list_parts, unquoted

if TYPE_CHECKING:
    from fsframe.table.dataset import Dataset

TABLE_FORM = ("na", "delimiter", "decimal", "encoding", "header", "x", "y", "names", "transpose")
"""The arguments of `fsframe.read` that `read_table` takes too."""


def _joined(context: click.Context, parameter: click.Parameter, given: Sequence[str]) -> str | None:
    return ",".join(given) or None


def _of_role(name: str) -> Option:
    """The option of a role of columns; one that takes several names may be given repeatedly."""
    role = ROLES[name]
    several: dict[str, Any] = (
        {"multiple": True, "callback": _joined} if role.given == "columns" else {}
    )
    return option(f"{role.option} {role.metavar}", role.help, **several)


_FORM = (
    option("--na CODE", "Code for a missing value (-999); repeatable.", multiple=True),
    option(
        "--delimiter CHARACTER",
        "Field separator: a character, or tab, comma, semicolon, space. [default: detected]",
    ),
    option("--decimal", "Decimal mark in text. [default: detected]", type=click.Choice([".", ","])),
    option("--encoding NAME", "Text encoding, such as windows-1252. [default: utf-8]"),
    option(
        "--header/--no-header",
        "Whether the first line holds column names. [default: detected]",
        default=None,
    ),
    option(
        "--x PATH",
        "Path of the features in an HDF5, NPZ, MAT or AnnData file; sheet of a workbook. [default: "
        "X]",
        called="x_path",
    ),
    option("--y PATH", "HDF5, NPZ, MAT, AnnData: path of the label. [default: y]", called="y_path"),
    option(
        "--names PATH",
        "Path (HDF5, NPZ) or file of feature names.",
        called="names_path",
    ),
    option("--transpose", "Features are in rows, samples in columns."),
)

form_options = all_options(*_FORM)
"""The options for the format of a table, without those for the roles of its columns."""

reading_options = all_options(
    _of_role("label"),
    option(
        "--task",
        "Kind of label. [default: classes, unless it holds numbers that are not whole]",
        type=click.Choice(["classification", "regression"]),
    ),
    option(
        "--missing-label",
        "Leave out rows without a label. [default: an error]",
        type=click.Choice(["drop"]),
    ),
    *map(_of_role, ("drop", "categorical", "ordinal")),
    option(
        "--dates",
        "Convert dates to days since 1970-01-01. [default: dates are refused]",
        type=click.Choice(["days"]),
    ),
    option("--encode", "Nominal columns become indicator columns.", type=click.Choice(["onehot"])),
    *map(_of_role, ("keep", "weight", "event", "groups")),
    *(_of_role(role.name) for role in side_roles()),
    option(
        "--feature-groups FILE", "File of features to keep or drop together.", type=click.Path()
    ),
    option("--samples FILE", "Table about the samples: label, groups, …", type=click.Path()),
    option("--labels FILE", "The label of each row, in a file of its own.", type=click.Path()),
    *_FORM,
)
"""The options that `read_data` takes."""

_PARAMETERS = reading_options(lambda: None).__click_params__  # type: ignore[attr-defined]
READING = tuple(parameter.name for parameter in reversed(_PARAMETERS))
"""Names of the options that `read_data` takes."""


def read_data(path: str, **options: Any) -> Dataset:
    """Read the table at `path` with the options of the command line."""
    from fsframe.table.read import read

    return read(path, **reading_arguments(**options))


def reading_arguments(**options: Any) -> dict[str, Any]:
    """The options of the command line that were given, as arguments of `fsframe.read`."""
    from fsframe.table.columns import feature_groups_of

    arguments: dict[str, Any] = {
        "feature_groups": feature_groups_of(options.get("feature_groups")),
        "na": tuple(options.get("na") or ()),
        "delimiter": (options.get("delimiter") or "").replace("\\t", "\t"),
        "header": options.get("header"),
        "transpose": options.get("transpose") or None,
        "samples": options.get("samples"),
        "labels": options.get("labels"),
    }
    for key, role in ROLES.items():
        given = options.get(key)
        if role.given == "column":
            given = _column(given, role.option)
        elif role.given == "columns":
            given = _orders(given) if key == "ordinal" else _list(given)
        arguments[key] = given
    for key in ("task", "decimal", "encoding", "dates", "encode", "missing_label"):
        arguments[key] = options.get(key)
    for key, name in (("x", "x_path"), ("y", "y_path"), ("names", "names_path")):
        arguments[key] = options.get(name)
    return {key: value for key, value in arguments.items() if value not in (None, (), "", {})}


def ways_as_lines(error: UntidyTableError, given: Sequence[str], command: Any) -> list[str]:
    """The ways to use an untidy table, each as a whole command or as a line of a study file.

    Commands are the words `given` with further options, if the click command `command`, which was
    called, takes `--label`.
    """
    from fsframe.table.doubts import as_words

    command = getattr(command, "last", command)
    if any(parameter.name == "label" for parameter in getattr(command, "params", ())):
        return [shlex.join(["fsframe", *given, *as_words(way)]) for way in error.ways]
    return [
        "; ".join(f"{key} = {json.dumps(value)}" for key, value in way.items())
        for way in error.ways
    ]


def _list(text: str | None) -> tuple[str, ...]:
    return tuple(unquoted(part) for part in list_parts(text) if part) if text else ()


def _orders(text: str | None) -> dict[str, tuple[str, ...]]:
    """The levels of each ordinal column, in order, from a text such as ``size=S<M<L,grade``."""
    orders = level_orders(text or "")
    for name, levels in orders.items():
        if levels and (len(levels) < 2 or not all(levels)):
            raise RequestError(
                f"--ordinal {name}={'<'.join(levels)}: write the levels from the lowest to the "
                "highest, with < between them, such as size=S<M<L; a level that contains < goes in "
                'double quotes: age="<18"<18-65'
            )
    return orders


def _column(text: str | None, option: str) -> str | int | None:
    """A column as an argument of `read`: its name, or its index from 0 if `text` is a number."""
    if text is None:
        return None
    body = text.strip()
    if body.lstrip("-").isdigit():
        number = int(body)
        if number == 0:
            raise RequestError(f"{option} 0: columns are numbered from 1 (from the end: -1)")
        return number - 1 if number > 0 else number
    return text
