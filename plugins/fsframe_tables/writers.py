"""Tables as CSV, TSV, Excel, Parquet, LaTeX and Markdown.

Names come from files, which may be untrusted: what a spreadsheet would compute, TeX execute or a
browser interpret is escaped, so that it is shown instead.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, ClassVar

from fsframe.escaping import printable, tex
from fsframe.tables.cell_syntax import defused
from fsframe.tables.writer import Columns, Writer

_MARKS = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>|~&#$!@"})


class CsvWriter(Writer):
    """Comma-separated text, numbers in full precision."""

    sign: ClassVar[str] = ","

    def _write(self, columns: Columns, *, defuse: bool) -> bytes:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.sign, lineterminator="\n")

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


class TsvWriter(CsvWriter):
    """Tab-separated text, numbers in full precision."""

    sign = "\t"


class LatexWriter(Writer):
    """A ``tabular`` with the rules of booktabs, numbers with four digits."""

    def _write(self, columns: Columns, *, defuse: bool) -> bytes:
        kinds = "".join("l" if _is_text(cells) else "r" for cells in columns.values())
        lines = [
            "% needs \\usepackage{booktabs}",
            f"\\begin{{tabular}}{{{kinds}}}",
            "\\toprule",
            " & ".join(tex(name) for name in columns) + r" \\",
            "\\midrule",
        ]
        lines += [
            " & ".join(_tex_cell(value) for value in row) + r" \\"
            for row in zip(*columns.values(), strict=True)
        ]
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""]).encode()


class MarkdownWriter(Writer):
    """A table in Markdown, numbers with four digits."""

    def _write(self, columns: Columns, *, defuse: bool) -> bytes:
        marks = ("---" if _is_text(cells) else "--:" for cells in columns.values())
        rows = [[_short(value) for value in row] for row in zip(*columns.values(), strict=True)]
        lines = ["| " + " | ".join(map(_marked, row)) + " |" for row in ([*columns], *rows)]
        lines.insert(1, "|" + "|".join(marks) + "|")
        return "\n".join([*lines, ""]).encode()


class ParquetWriter(Writer):
    """A Parquet file, numbers and truth values as such."""

    def _write(self, columns: Columns, *, defuse: bool) -> bytes:
        target = io.BytesIO()
        _frame(columns).write_parquet(target, statistics=False)
        return target.getvalue()


class ExcelWriter(Writer):
    """An Excel workbook; text that looks like a formula stays text."""

    def _write(self, columns: Columns, *, defuse: bool) -> bytes:
        from datetime import datetime

        from xlsxwriter import Workbook

        target = io.BytesIO()
        # Text that looks like a formula, a number or a link stays text.
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


def _short(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    # Adding 0.0 makes minus zero plain.
    return f"{value + 0.0:.4g}"


def _is_text(cells: Sequence[Any]) -> bool:
    return any(isinstance(cell, (str, bool)) for cell in cells)


def _tex_cell(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, float):
        return tex(_short(value))
    digits, _, power = _short(value).partition("e")
    return f"${digits} \\times 10^{{{int(power)}}}$" if power else f"${digits}$"


def _marked(text: str) -> str:
    # Some readers turn addresses into links.
    return printable(text).translate(_MARKS).replace("://", "\\://").replace("www.", "www\\.")


def _frame(columns: Columns) -> Any:
    import polars

    return polars.DataFrame({name: list(cells) for name, cells in columns.items()})
