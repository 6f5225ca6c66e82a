"""Small tables in the file formats that plugins write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fsframe.errors import RequestError
from fsframe.registry import Offer, writers
from fsframe.tables.writer import Columns

__all__ = ["format_of", "is_text", "table_bytes"]


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
