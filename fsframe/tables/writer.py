"""Tables written in the formats of plugins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final

from fsframe.errors import PluginError, RequestError
from fsframe.method.boundary import in_stage
from fsframe.registry import Offer, writers

__all__ = ["Columns", "Writer", "format_of", "is_text", "table_bytes"]

Columns = Mapping[str, Sequence[Any]]
"""Cells of one type in each column: str, bool, int or float; None if missing."""


class Writer(ABC):
    """A writer of one format; it has no parameters.

    Authors write `_write`; the core calls `write`, which checks the result, and writes the file
    atomically. Equal tables should give equal bytes.
    """

    @final
    def write(self, columns: Columns, *, defuse: bool = True) -> bytes:
        """A table as the bytes of a file.

        Parameters
        ----------
        columns : mapping of str to sequence
            All of one length.
        defuse : bool
            Whether to escape text that a spreadsheet would run as a formula
            (`fsframe.tables.cell_syntax.defused`).

        Raises
        ------
        PluginError
            If the author's code fails, or returns anything but bytes.
        """
        with in_stage(type(self), type(self).__name__, "writer"):
            content = self._write(columns, defuse=defuse)
        if not isinstance(content, bytes):
            raise PluginError(
                f"{type(self).__name__} returned {type(content).__name__}, not the bytes of a file"
            )
        return content

    @abstractmethod
    def _write(self, columns: Columns, *, defuse: bool) -> bytes:
        """The table in this format."""


def format_of(path: Path) -> str:
    """The format for a file's ending; bundled formats take precedence.

    Raises
    ------
    RequestError
        If the ending is unknown.

    >>> format_of(Path("genes.tex"))
    'latex'
    """

    def bundled_first(offer: Offer) -> tuple[bool, str]:
        return not offer.plugin.source.bundled, offer.name

    found: list[Any] = sorted(writers.offers(), key=bundled_first)
    for offer in found:
        if path.name.lower().endswith(offer.entry.endings or ("\0",)):
            return str(offer.name)
    known = ", ".join(ending for offer in found for ending in offer.entry.endings)
    raise RequestError(f"{path}: end its name in {known}, or say which format (--format)")


def is_text(form: str) -> bool:
    """Whether a format is text.

    >>> is_text("markdown"), is_text("parquet")
    (True, False)
    """
    entry: Any = writers.offer(form).entry
    return bool(entry.text)


def table_bytes(columns: Columns, form: str, *, defuse: bool = True) -> bytes:
    """A table as the bytes of a file; equal tables give equal bytes.

    Parameters
    ----------
    columns : mapping of str to sequence
        Cells of one type in each: str, bool, int or float; None if missing.
    form : str
        What a plugin writes, such as ``"csv"``.
    defuse : bool
        In CSV and TSV, whether an apostrophe is put before texts that a spreadsheet would take for
        formulas. Excel files hold such texts as texts.

    Returns
    -------
    bytes
        Numbers in full, but with four digits in LaTeX and Markdown, which are for reading.

    Raises
    ------
    PluginError
        If a library that writes the format is not installed, or its writer fails.
    RequestError
        If there is no such format.

    Examples
    --------
    >>> print(table_bytes({"feature": ["=A1", "b|c"], "p": [0.25, None]}, "csv").decode())
    feature,p
    '=A1,0.25
    b|c,
    >>> print(table_bytes({"feature": ["=A1", "b|c"], "p": [1 / 3, None]}, "markdown").decode())
    | feature | p |
    |---|--:|
    | =A1 | 0.3333 |
    | b\\|c |  |
    """
    content: bytes = writers[form]().write(columns, defuse=defuse)
    return content
