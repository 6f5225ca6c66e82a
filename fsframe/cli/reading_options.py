"""Options that say how a table is read, shared by the commands that take one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fsframe.errors import RequestError

if TYPE_CHECKING:
    from fsframe.dataset import Dataset

__all__ = ["read_data", "reading_options"]

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--label",
        metavar="NAME|NUMBER",
        help="Column of the label: its name, or its number from 1 (from the end: -1). "
        "[default: the last column]",
    ),
    click.option(
        "--task",
        type=click.Choice(["classification", "regression"]),
        help="What the label is. [default: classes, unless it holds numbers that are not whole]",
    ),
    click.option("--drop", metavar="NAME,…", help="Columns to leave out, such as identifiers."),
    click.option(
        "--categorical",
        metavar="NAME,…",
        help="Columns whose numbers are names of categories.",
    ),
    click.option("--delimiter", metavar="SIGN", help="Between fields. [default: found out]"),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line holds names. [default: found out]",
    ),
    click.option("--x", "x_path", metavar="PATH", help="HDF5, NPZ: features. [default: X]"),
    click.option("--y", "y_path", metavar="PATH", help="HDF5, NPZ: label. [default: y]"),
    click.option(
        "--names",
        "names_path",
        metavar="PATH",
        help="HDF5, NPZ: feature names. [default: feature_names]",
    ),
)


def reading_options(function: F) -> F:
    """`function` with the options that `read_data` takes."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def read_data(path: str, **options: Any) -> Dataset:
    """The table at `path`, read as the command line's options say."""
    from fsframe.reading import read

    label = options.get("label")
    arguments: dict[str, Any] = {
        "drop": _list(options.get("drop")),
        "categorical": _list(options.get("categorical")) or None,
        "task": options.get("task"),
        "delimiter": (options.get("delimiter") or "").replace("\\t", "\t") or None,
        "header": options.get("header"),
    }
    for key, name in (("x", "x_path"), ("y", "y_path"), ("names", "names_path")):
        if options.get(name):
            arguments[key] = options[name]
    return read(path, label=_label(label), **arguments)


def _list(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else ()


def _label(text: str | None) -> str | int | None:
    """A column's name, or for a number its index from 0, as `read` takes it."""
    if text is None:
        return None
    body = text.strip()
    if body.lstrip("-").isdigit():
        number = int(body)
        if number == 0:
            raise RequestError("--label 0: columns are numbered from 1 (from the end: -1)")
        return number - 1 if number > 0 else number
    return text
