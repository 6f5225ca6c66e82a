"""Readers that go by way of data frames (Parquet, Arrow, Excel, ARFF), and all writers."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from fsframe.errors import DataError
from fsframe.table.reader import Columns, Reader, Writer
from fsframe.table.spelling.text_file import (
    check_expansion,
    check_size,
    decompressed_bound,
    defused,
    load_text,
    shown,
)
from fsframe.text import did_you_mean, listed, printable, tex


class ParquetReader(Reader):
    """A Parquet file as a polars DataFrame."""

    def _read(self, path: Path) -> Any:
        import polars

        lazy = polars.scan_parquet(path, glob=False)
        _check(lazy, path)
        return polars.read_parquet(path, glob=False)


class ArrowReader(Reader):
    """An Arrow IPC file, such as Feather version 2, as a polars DataFrame."""

    def _read(self, path: Path) -> Any:
        import polars

        _check(polars.scan_ipc(path, glob=False), path)
        return polars.read_ipc(path)


def _check(lazy: Any, path: Path) -> None:
    """Refuse a file that declares too large a size, before anything is decompressed."""
    import polars

    rows = int(lazy.select(polars.len()).collect().item())
    columns = len(lazy.collect_schema())
    check_expansion(rows, columns, path.stat().st_size, str(path))
    check_size(2 * 8 * rows * columns, f"{path} with {rows} rows × {columns} columns")


_MERGED = re.compile(rb'<mergeCell ref="([A-Z]+)([0-9]+):([A-Z]+)([0-9]+)"')
_FIRST = re.compile(rb'<c r="([A-Z]+)([0-9]+)"')


class ExcelReader(Reader):
    """A sheet of a workbook as text, to be read like a text file.

    `x` names the sheet; by default it is the first that holds a table. Cells that are merged over
    several rows hold their value in each of them.
    """

    spelled = True
    options = frozenset({"x"})
    called = "sheet of a workbook"

    def _read(self, path: Path, x: str = "") -> Any:
        import fastexcel

        with zipfile.ZipFile(path) as archive:
            size = sum(info.file_size for info in archive.infolist())
            bound = decompressed_bound(path.stat().st_size)
            if size > bound:
                raise DataError(
                    f"{path} would decompress to {shown(size)}, and {shown(bound)} are allowed; "
                    "save the sheet as CSV"
                )
            book = fastexcel.read_excel(path)
            place = self._place(book, path, x.strip("/"))
            merged = _merged_down(archive, place)
        frame = book.load_sheet(place, header_row=None, dtypes="string").to_polars()
        numbers = book.load_sheet(place, header_row=None, dtypes="float").to_polars()
        frame = _with_all_digits(frame, numbers)
        columns = frame.get_columns() if merged else []
        for column, start, stop in merged:
            if 0 <= column < len(columns) and 0 <= start < stop <= len(frame):
                cells = columns[column].to_list()
                cells[start:stop] = [cells[start]] * (stop - start)
                columns[column] = type(columns[column])(columns[column].name, cells)
        return frame.with_columns(columns).write_csv(include_header=False).encode()

    def _place(self, book: Any, path: Path, wanted: str) -> int:
        """The number of the sheet to read; sets a note if another might be meant."""
        names = list(book.sheet_names)
        if wanted and wanted not in names:
            raise DataError(
                f"{path} has no sheet {wanted!r}{did_you_mean(wanted, names)}; its sheets are "
                f"{listed(names)}"
            )
        if len(names) > 1:
            tables = [wanted] if wanted else [name for name in names if _holds_a_table(book, name)]
            chosen, *others = tables or names[:1]
            self.called = f"sheet {chosen!r} of a workbook"
            if others:
                self.notes = (
                    f"sheet {chosen!r} was read; {listed(others)} may be meant as well (--x SHEET, "
                    "x='SHEET')",
                )
            return names.index(chosen)
        return 0


_FEWEST_ROWS = 3


def _holds_a_table(book: Any, name: str) -> bool:
    """Whether at least three rows of a sheet have at least two filled cells."""
    import polars

    frame = book.load_sheet(name, header_row=None, dtypes="string", n_rows=100).to_polars()
    if frame.width < 2:
        return False
    filled = polars.sum_horizontal(polars.all().is_not_null())
    return int(frame.select((filled > 1).sum()).item()) >= _FEWEST_ROWS


def _with_all_digits(spelled: Any, exact: Any) -> Any:
    """The frame `spelled`, with numbers that lost digits replaced by those of the frame `exact`.

    As text, fastexcel gives numbers nine decimals: 1e-12 would be 0.
    """
    import polars

    # One query: a call for each of thousands of columns takes longer than reading them.
    exact = exact.rename(lambda name: f"{name} exact")
    both = spelled.hstack(exact.get_columns())
    cells = []
    for name, number in zip(spelled.columns, exact.columns, strict=True):
        text, value = polars.col(name), polars.col(number)
        lost = (text.cast(polars.Float64, strict=False) != value).fill_null(False)
        cells.append(polars.when(lost).then(value.cast(polars.String)).otherwise(text).alias(name))
    return both.select(cells)


def _merged_down(archive: zipfile.ZipFile, sheet: int) -> list[tuple[int, int, int]]:
    """Cells of a sheet that are merged over several rows of one column.

    For each the column, the first row, and the row after the last, counted from the first used
    cell.
    """
    members = archive.namelist()
    file = _file_of_sheet(archive, sheet) or f"xl/worksheets/sheet{sheet + 1}.xml"
    if file not in members:
        return []
    raw = archive.read(file)
    place = raw.rfind(b"<mergeCells")
    first = _FIRST.search(raw)
    if place < 0 or first is None:
        return []
    left, top = _number(first[1]), int(first[2]) - 1
    return [
        (_number(a) - left, int(row) - 1 - top, int(last) - top)
        for a, row, b, last in _MERGED.findall(raw, place)
        if a == b and int(last) > int(row)
    ]


_SHEET = re.compile(rb'<sheet\b[^>]*\br:id="([^"]+)"')
_RELATION = re.compile(rb"<Relationship\b[^>]*>")
_RELATIONS = "xl/_rels/workbook.xml.rels"


def _file_of_sheet(archive: zipfile.ZipFile, sheet: int) -> str:
    """The member of the archive that holds a sheet, by its number; empty if unknown."""
    if not {"xl/workbook.xml", _RELATIONS} <= set(archive.namelist()):
        return ""
    keys = _SHEET.findall(archive.read("xl/workbook.xml"))
    for relation in _RELATION.findall(archive.read(_RELATIONS)):
        said = dict(re.findall(rb'\b(Id|Target)="([^"]*)"', relation))
        if sheet < len(keys) and said.get(b"Id") == keys[sheet]:
            target = said.get(b"Target", b"").decode(errors="replace")
            return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
    return ""


def _number(letters: bytes) -> int:
    """The column of spreadsheet letters, from 0."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number - 1


class ArffReader(Reader):
    """An ARFF file as a polars DataFrame: nominal attributes as Enum, ``?`` as missing.

    Notes
    -----
    SciPy reads numeric and nominal attributes; it refuses those of text, and sparse rows.
    """

    def _read(self, path: Path) -> Any:
        import polars
        from scipy.io import arff

        text = load_text(path).decode()
        if re.search(r"^@data\s*(?:%.*\n\s*)*\{", text, re.IGNORECASE | re.MULTILINE):
            raise DataError(
                f"{path}: rows in braces, as of sparse ARFF, are not read; save the table as CSV, "
                "Matrix Market or svmlight"
            )
        # SciPy knows names in single quotes only.
        text = re.sub(r"(?im)^\s*@attribute.*", lambda line: line[0].replace('"', "'"), text)
        try:
            records, meta = arff.loadarff(io.StringIO(text))
        # Also IndexError, of a short row, and StopIteration, without @data.
        except Exception as error:
            raise DataError(
                f"{path} is not read as ARFF ({type(error).__name__}: {error}): attributes of text "
                "(string), levels that are not declared, incomplete rows and comments behind cells "
                "are not read; save the table as CSV"
            ) from error
        _check_lengths(path, text, len(meta.names()))
        columns = []
        for name in meta.names():
            kind, levels = meta[name]
            values = records[name]
            if kind == "nominal":
                texts = [text.decode() for text in values.tolist()]
                entries = [None if text == "?" else text for text in texts]
                columns.append(polars.Series(name, entries, polars.Enum(list(levels))))
            elif kind == "numeric":
                columns.append(polars.Series(name, values.astype(float)))
            else:
                columns.append(polars.Series(name, [str(value) for value in values]))
        return polars.DataFrame(columns)


def _check_lengths(path: Path, text: str, n_attributes: int) -> None:
    """Refuse rows with more cells than attributes, such as a weight in braces: SciPy cuts them."""
    rows = re.split(r"(?im)^\s*@data.*$", text, maxsplit=1)[-1].splitlines()
    kept = (row.strip() for row in rows)
    for number, row in enumerate((row for row in kept if row and row[0] != "%"), start=1):
        sign = "," if "," in row else "\t"
        if row.count(sign) < n_attributes:
            continue
        # More signs than that may stand in quotes.
        cells = min(len(next(csv.reader([row], delimiter=sign, quotechar=q))) for q in "'\"")
        if cells > n_attributes + row.endswith(sign):
            raise DataError(
                f"{path}: row {number} has {cells} cells, and there are {n_attributes} attributes; "
                "weights of rows, in braces, are not read: correct the row, or save the table as "
                "CSV, with a column for weights (--weight)"
            )


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
    # Adding 0.0 avoids minus zero.
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
