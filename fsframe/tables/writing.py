"""Small tables as bytes of a file: CSV, TSV, Excel, Parquet, LaTeX, Markdown.

Names come from files, and files from strangers: what a spreadsheet would compute, TeX obey or a
browser interpret is written so that it is shown instead.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fsframe.errors import PluginError, RequestError
from fsframe.escaping import printable
from fsframe.tables.formulas import defused

__all__ = ["FORMATS", "TEXT_FORMATS", "format_of", "table_bytes"]

FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "xlsx": (".xlsx",),
    "parquet": (".parquet",),
    "latex": (".tex",),
    "markdown": (".md",),
}
"""Formats by name, and the endings that stand for them."""

TEXT_FORMATS = ("csv", "tsv", "latex", "markdown")

Columns = Mapping[str, Sequence[Any]]

_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "[": "{[}",
        "]": "{]}",
        "*": r"{*}",
        "−": r"\textminus{}",
    }
)
_MARKS = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>|~&#$!@"})


def format_of(path: Path) -> str:
    """The format that a file's ending stands for.

    Raises
    ------
    RequestError
        If it stands for none.

    >>> format_of(Path("genes.tex"))
    'latex'
    """
    ending = path.suffix.lower()
    for name, endings in FORMATS.items():
        if ending in endings:
            return name
    known = ", ".join(end for endings in FORMATS.values() for end in endings)
    raise RequestError(f"{path}: end its name in {known}, or say which format (--format)")


def table_bytes(columns: Columns, form: str, *, defuse: bool = True) -> bytes:
    """A table as the bytes of a file; equal tables give equal bytes.

    Parameters
    ----------
    columns : mapping of str to sequence
        Cells of one kind in each: str, bool, int or float; None where there is none.
    form : str
        Of `FORMATS`.
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
        If the library that writes Excel files is not installed.
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
    if form in ("csv", "tsv"):
        return _delimited(columns, "," if form == "csv" else "\t", defuse)
    if form == "latex":
        return _latex(columns)
    if form == "markdown":
        return _markdown(columns)
    if form == "xlsx":
        return _excel(columns)
    if form == "parquet":
        target = io.BytesIO()
        _frame(columns).write_parquet(target, statistics=False)
        return target.getvalue()
    raise RequestError(f"format {form!r} is none of {', '.join(FORMATS)}")


def _delimited(columns: Columns, sign: str, defuse: bool) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=sign, lineterminator="\n")

    def spelled(value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return defused(value) if defuse else value
        return str(value).lower() if isinstance(value, bool) else repr(value)

    writer.writerow([spelled(name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        writer.writerow([spelled(value) for value in row])
    return text.getvalue().encode()


def _short(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_text(cells: Sequence[Any]) -> bool:
    return any(isinstance(cell, (str, bool)) for cell in cells)


def _latex(columns: Columns) -> bytes:
    kinds = "".join("l" if _is_text(cells) else "r" for cells in columns.values())
    lines = [
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{{kinds}}}",
        "\\toprule",
        " & ".join(_tex(name) for name in columns) + r" \\",
        "\\midrule",
    ]
    lines += [
        " & ".join(_tex_cell(value) for value in row) + r" \\"
        for row in zip(*columns.values(), strict=True)
    ]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""]).encode()


def _tex(text: str) -> str:
    return printable(text).translate(_TEX)


def _tex_cell(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, float):
        return _tex(_short(value))
    digits, _, power = _short(value).partition("e")
    return f"${digits} \\times 10^{{{int(power)}}}$" if power else f"${digits}$"


def _markdown(columns: Columns) -> bytes:
    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    marks = ("---" if _is_text(cells) else "--:" for cells in columns.values())
    lines = [row([_marked(name) for name in columns]), "|" + "|".join(marks) + "|"]
    lines += [
        row([_marked(_short(value)) for value in cells])
        for cells in zip(*columns.values(), strict=True)
    ]
    return "\n".join([*lines, ""]).encode()


def _marked(text: str) -> str:
    # Some readers make links of addresses by themselves.
    return printable(text).translate(_MARKS).replace("://", "\\://").replace("www.", "www\\.")


def _frame(columns: Columns) -> Any:
    import polars

    return polars.DataFrame({name: list(cells) for name, cells in columns.items()})


def _excel(columns: Columns) -> bytes:
    try:
        from xlsxwriter import Workbook
    except ImportError:
        raise PluginError(
            "Excel files are written with xlsxwriter, which is not installed; install "
            "fsframe[excel], or write .csv"
        ) from None
    from datetime import datetime

    target = io.BytesIO()
    # What looks like a formula, a number or a link is the text that it is.
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_numbers": False,
        "strings_to_urls": False,
        "nan_inf_to_errors": True,
    }
    with Workbook(target, options) as book:
        book.set_properties({"created": datetime(2000, 1, 1)})
        _frame(columns).write_excel(
            book, worksheet="answer", autofit=True, float_precision=6, freeze_panes=(1, 0)
        )
    return target.getvalue()
