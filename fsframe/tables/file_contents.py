"""Contents of the columns of a file, examined before they have roles."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.tables.feature_checks import likely_codes
from fsframe.tables.source import ArraysInFile, TextInFile, open_table
from fsframe.tables.table import Table

__all__ = ["ColumnFacts", "Contents", "contents"]

_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?|[0-9]{1,2}[./][0-9]{1,2}[./]([0-9]{2}|[0-9]{4})"
)


@attrs.frozen(kw_only=True)
class ColumnFacts:
    """Summary of one column.

    Parameters
    ----------
    name : str
        ``f1, f2, …`` where the file has none.
    kind : {"number", "whole number", "two values", "text", "date", "empty"}
        *Two values* are two different numbers.
    different : int
        Different values, missing ones left out.
    missing : int
    low, high : float
        Range of numbers; NaN for other columns.
    examples : tuple of str
        For text: the most common values, at most three.
    counts_rows : bool
        Whether it is 0, 1, 2, … or 1, 2, 3, … down the table.
    codes : tuple of (float, int)
        Repeated extreme values that look like codes for missing ones, with how often they occur.
    """

    name: str
    kind: str
    different: int
    missing: int
    low: float = float("nan")
    high: float = float("nan")
    examples: tuple[str, ...] = ()
    counts_rows: bool = False
    codes: tuple[tuple[float, int], ...] = ()

    @property
    def constant(self) -> bool:
        """Whether there is one value only."""
        return self.different == 1


@attrs.frozen(kw_only=True, eq=False)
class Contents:
    """Summary of a file.

    Parameters
    ----------
    path : Path
    form : str
        Description of the format.
    n_rows : int
    columns : tuple of ColumnFacts
    named : bool
        Whether the file has column names.
    label_array : int, optional
        The column that is a separate array in the file, hence the label.
    beside : int
        How many of the last columns are annotations, not features.
    row_names : bool
        Whether the first column holds row names, which are not read.
    repeated_rows : int
        Rows equal to an earlier one in all columns.
    repeated_columns : tuple of (int, int)
        Columns equal to an earlier one, with that one.
    """

    path: Path
    form: str
    n_rows: int
    columns: tuple[ColumnFacts, ...] = attrs.field(repr=False)
    named: bool = True
    label_array: int | None = None
    beside: int = 0
    row_names: bool = False
    repeated_rows: int = 0
    repeated_columns: tuple[tuple[int, int], ...] = ()
    _codes: Any = attrs.field(repr=False)

    def codes(self, column: int) -> NDArray[np.int64]:
        """A column as (n_rows,) codes of its different values; -1 where missing."""
        found: NDArray[np.int64] = self._codes(column)
        return found


def contents(
    path: str | os.PathLike[str],
    *,
    label: str | int | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    na: str | float | Iterable[str | float] = (),
    x: str = "/X",
    y: str = "/y",
    names: str = "/feature_names",
) -> Contents:
    """Summarise the columns of a file, even if it cannot be used in a chain.

    The arguments are those of `read`. DataError if the file is not a table: missing, damaged, rows
    of different lengths. O(n log n) per column, for the number of different values.
    """
    load = partial(
        open_table, path, label=label, delimiter=delimiter, header=header, decimal=decimal,
        encoding=encoding, na=na, x=x, y=y, names=names, in_memory=None,
    )  # fmt: skip
    try:
        source = load()
    except DataError:
        # A single column is shown, too; blanks between fields are found as in `read`.
        source = load(one_column=True)
    found = _gathered(source)
    if isinstance(source, TextInFile):
        sheet = source.sheet
        return attrs.evolve(found, row_names=sheet.has_row_names, named=sheet.names is not None)
    if isinstance(source, ArraysInFile):
        arrays = source.arrays
        return attrs.evolve(
            found,
            label_array=arrays.X.shape[1] if arrays.y is not None else None,
            named=arrays.names is not None or bool(arrays.beside),
            beside=len(arrays.beside),
        )
    return found


def _gathered(source: Table) -> Contents:
    names, n_rows = source.names, source.n_rows
    facts: list[ColumnFacts] = []
    rows = np.zeros(n_rows, dtype=np.uint64)
    signs: dict[int, int] = {}
    repeated = []
    draw = np.random.default_rng(0)
    for start, X, texts in source.blocks():
        odd = draw.integers(1, 1 << 63, X.shape[1], dtype=np.uint64)
        factors: NDArray[np.uint64] = odd * np.uint64(2) + np.uint64(1)
        for k, found in enumerate(_numbers_facts(X, names[start : start + X.shape[1]])):
            column = start + k
            if column in texts:
                cells = texts[column]
                found = _text_facts(cells, names[column])
                bits = np.array([hash_of(text) for text in cells], dtype=np.uint64)
            else:
                # Zero equals minus zero; all missing values are equal.
                bits = np.where(np.isnan(X[:, k]), np.nan, X[:, k] + 0.0).view(np.uint64)
            facts.append(found)
            rows += bits * factors[k]
            earlier = signs.setdefault(hash(bits.tobytes()), column)
            if earlier != column and not found.constant and found.different:
                repeated.append((column, earlier))
    return Contents(
        path=source.path,
        form=source.form,
        n_rows=n_rows,
        columns=tuple(facts),
        repeated_rows=n_rows - len(np.unique(rows)),
        repeated_columns=tuple(repeated),
        codes=lambda column: _coded(source.column(column)),
    )


def hash_of(text: str | None) -> int:
    """A 64-bit hash of a text, constant within a process."""
    return hash(text) & 0xFFFFFFFFFFFFFFFF


def _coded(values: NDArray[Any] | list[str | None]) -> NDArray[np.int64]:
    if isinstance(values, list):
        place = {text: k for k, text in enumerate(sorted({v for v in values if v is not None}))}
        return np.array([-1 if v is None else place[v] for v in values])
    known = ~np.isnan(values)
    codes = np.full(len(values), -1)
    codes[known] = np.unique(values[known], return_inverse=True)[1]
    return codes


def _numbers_facts(X: NDArray[np.float64], names: Sequence[str]) -> Iterator[ColumnFacts]:
    """The facts of each numeric column."""
    ordered = np.array(X.T, order="C")
    ordered.sort(axis=1)
    known = np.isfinite(ordered)
    missing = np.isnan(ordered).sum(axis=1)
    changes = ((ordered[:, 1:] != ordered[:, :-1]) & ~np.isnan(ordered[:, 1:])).sum(axis=1)
    whole = ((ordered == np.floor(ordered)) | ~known).all(axis=1)
    rows = np.arange(len(X), dtype=np.float64)
    for k, name in enumerate(names):
        gaps = int(missing[k])
        if gaps == len(X):
            yield ColumnFacts(name=name, kind="empty", different=0, missing=gaps)
            continue
        different = int(changes[k]) + 1
        kind = "whole number" if whole[k] else "number"
        first = X[0, k]
        yield ColumnFacts(
            name=name,
            kind="two values" if different == 2 else kind,
            different=different,
            missing=gaps,
            low=float(ordered[k, 0]),
            high=float(ordered[k, len(X) - gaps - 1]),
            counts_rows=bool(
                len(X) > 2 and first in (0.0, 1.0) and np.array_equal(X[:, k], first + rows)
            ),
            codes=tuple(likely_codes(X[:, k])),
        )


def _text_facts(cells: Sequence[str | None], name: str) -> ColumnFacts:
    times = Counter(text for text in cells if text is not None)
    missing = len(cells) - sum(times.values())
    common = sorted(times, key=lambda text: (-times[text], text))[:3]
    dates = bool(times) and all(_DATE.fullmatch(text) for text in times)
    return ColumnFacts(
        name=name,
        kind="date" if dates else "text" if times else "empty",
        different=len(times),
        missing=missing,
        examples=tuple(common),
    )
