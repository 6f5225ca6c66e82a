"""The arguments of `fsframe.read` besides roles of columns: each is declared once, here.

Commands make their options of these, study files their keys, and suggestions their words. Imports
no NumPy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from fsframe.table.roles import ROLES


@attrs.frozen
class ReadingOption:
    """One argument of `fsframe.read`.

    Parameters
    ----------
    name : str
        The argument, and the key of a study file.
    flag : str
        The option of commands, with the word for its value, such as ``--na CODE``; two names
        separated by a slash stand for true and false. Empty if commands have none.
    help : str
        Help of the option.
    values : tuple of type
        Types of the value in a file.
    choices : tuple of str
        The only values, if they are few.
    of_frames : bool
        Whether it is for data frames too, and not about how a file is written.
    further_file : bool
        Whether it is the path of a file besides that of the table.
    not_in_parts : str
        What to do instead for a table in parts; empty if it applies there too.
    """

    name: str
    flag: str
    help: str = ""
    values: tuple[type, ...] = attrs.field(default=(str,), kw_only=True)
    choices: tuple[str, ...] = attrs.field(default=(), kw_only=True)
    of_frames: bool = attrs.field(default=False, kw_only=True)
    further_file: bool = attrs.field(default=False, kw_only=True)
    not_in_parts: str = attrs.field(default="", kw_only=True)

    @property
    def of_form(self) -> bool:
        """Whether it says how the file of the table is written, and a command has it."""
        return bool(self.flag) and not (self.of_frames or self.further_file)

    def switch(self, value: bool) -> list[str]:
        """The word of a command for this value; empty if there is none, as for a default."""
        names = self.flag.split("/") if self.flag else []
        return names[:1] if value else names[1:]


_KNOWN = "its columns have kinds already; leave it out"
_DECLARED = (
    ReadingOption(
        "task", "--task", choices=("classification", "regression"), of_frames=True,
        help="Kind of label. [default: classes, unless it holds numbers that are not whole]",
    ),
    ReadingOption(
        "missing_label", "--missing-label", choices=("drop",), of_frames=True,
        help="Leave out rows without a label. [default: an error]",
    ),
    ReadingOption(
        "dates", "--dates", choices=("days",), of_frames=True,
        help="Convert dates to days since 1970-01-01. [default: dates are refused]",
        not_in_parts="write the parts with these columns as numbers",
    ),
    ReadingOption(
        "encode", "--encode", choices=("onehot",), of_frames=True,
        help="Nominal columns become indicator columns.", not_in_parts="write the parts with "
        "columns of 0 and 1, or use a method that takes nominal columns",
    ),
    ReadingOption(
        "feature_groups", "--feature-groups FILE", "File of features to keep or drop together.",
        values=(dict, str), of_frames=True, further_file=True,
    ),
    ReadingOption(
        "samples", "--samples FILE", "Table about the samples: label, groups, …",
        further_file=True, not_in_parts="write the parts with its columns",
    ),
    ReadingOption(
        "labels", "--labels FILE", "The label of each row, in a file of its own.",
        further_file=True,
    ),
    ReadingOption(
        "na", "--na CODE", "Code for a missing value (-999); repeatable.", values=(list,)
    ),
    ReadingOption(
        "delimiter", "--delimiter CHARACTER", not_in_parts=_KNOWN,
        help="Field separator: a character, or tab, comma, semicolon, space. [default: detected]",
    ),
    ReadingOption(
        "decimal", "--decimal", "Decimal mark in text. [default: detected]", choices=(".", ","),
        not_in_parts=_KNOWN,
    ),
    ReadingOption(
        "encoding", "--encoding NAME", "Text encoding, such as windows-1252. [default: utf-8]",
        not_in_parts=_KNOWN,
    ),
    ReadingOption(
        "header", "--header/--no-header", values=(bool,), not_in_parts=_KNOWN,
        help="Whether the first line holds column names. [default: detected]",
    ),
    ReadingOption(
        "x", "--x PATH", "Path of the features in an HDF5, NPZ, MAT or AnnData file; sheet of a "
        "workbook. [default: X]",
    ),
    ReadingOption("y", "--y PATH", "HDF5, NPZ, MAT, AnnData: path of the label. [default: y]"),
    ReadingOption("names", "--names PATH", "Path (HDF5, NPZ) or file of feature names."),
    ReadingOption(
        "transpose", "--transpose", "Features are in rows, samples in columns.", values=(bool,),
        not_in_parts="write the parts with samples in rows",
    ),
    ReadingOption(
        "in_memory", "", values=(bool,), not_in_parts="to load a single file, give its path"
    ),
)  # fmt: skip

OPTIONS = {option.name: option for option in _DECLARED}
"""The arguments by name, in the order of help."""

OF_FORM = tuple(option.name for option in OPTIONS.values() if option.of_form)
"""The arguments of `fsframe.read` that `fsframe.table.read.read_table` takes too."""


def stored_types() -> dict[str, tuple[type, ...]]:
    """Each argument of `fsframe.read`, roles too, with the types of its value in a file."""
    return {name: each.values for name, each in (ROLES | OPTIONS).items()}


def not_in_parts() -> dict[str, str]:
    """The arguments that tables in parts do not support, and what to do instead."""
    return {n: each.not_in_parts for n, each in (ROLES | OPTIONS).items() if each.not_in_parts}


def with_further_files(reading: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Arguments of `fsframe.read` with absolute paths of further files, relative to `folder`."""
    given = {key: path for key, path in reading.items() if isinstance(path, str) and path}
    files = [key for key in given if key in OPTIONS and OPTIONS[key].further_file]
    # It may also be a path inside the table's file.
    if "names" in given and (folder / given["names"]).is_file():
        files.append("names")
    return {**reading, **{key: os.path.abspath(folder / given[key]) for key in files}}
