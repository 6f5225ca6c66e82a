"""Facts about the columns of a table: kinds, ranges, levels, missing values and their codes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.table.column_kinds import OTHER_DATE, level_text, merged_spellings
from fsframe.table.columns import counting_columns, likely_codes, maybe_coded_columns
from fsframe.table.spelling.number_spellings import odd_cells
from fsframe.table.table_columns import Column, Table

_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?")
_COMMENTS = re.compile(r"\b(comments?|remarks?|notes?|free.?text)\b", re.IGNORECASE)
_FEW, _WORDS = 10, 4
# Bytes of columns kept for questions about their levels, and bytes that each level counts as.
_ROOM, _LEVEL = 1 << 26, 64


@attrs.frozen(eq=False)
class Words:
    """A column of text as (n_rows,) codes of its sorted levels, -1 where missing."""

    codes: NDArray[np.integer]
    levels: list[str]

    @classmethod
    def of(cls, cells: Sequence[str | None]) -> Words:
        """The cells of a column, in as few bytes as the number of levels needs."""
        levels = _texts_in(cells)
        place: dict[str | None, int] = {text: k for k, text in enumerate(levels)}
        place[None] = -1
        codes = np.fromiter(map(place.__getitem__, cells), np.int64, len(cells))
        return cls(codes.astype(np.min_scalar_type(-len(levels) - 1)), levels)

    @property
    def nbytes(self) -> int:
        """Approximate bytes in memory."""
        return self.codes.nbytes + _LEVEL * len(self.levels)


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
        Number of different values, without missing ones.
    missing : int
    low, high : float
        Range of numbers; NaN for other columns.
    examples : tuple of str
        For text: the most common values, at most three.
    counts_rows : bool
        Whether it is 0, 1, 2, … or 1, 2, 3, … down the table.
    codes : tuple of (float, int)
        Repeated extreme values that look like codes for missing ones, with how often they occur.
    wordy : bool
        Whether text is free: comments, or many values of several words.
    odd : tuple of (str, int)
        In text that is mostly numbers: the few texts that are not, with how often they occur.
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
    wordy: bool = False
    odd: tuple[tuple[str, int], ...] = ()

    @property
    def constant(self) -> bool:
        """Whether there is one value only."""
        return self.different == 1


def _number_facts(X: NDArray[np.float64], names: Sequence[str]) -> Iterator[ColumnFacts]:
    """The facts of each numeric column."""
    ordered = np.array(X.T, order="C")
    ordered.sort(axis=1)
    known = np.isfinite(ordered)
    missing = np.isnan(ordered).sum(axis=1)
    changes = ((ordered[:, 1:] != ordered[:, :-1]) & ~np.isnan(ordered[:, 1:])).sum(axis=1)
    whole = ((ordered == np.floor(ordered)) | ~known).all(axis=1)
    lowest = ordered[:, 0]
    highest = ordered[np.arange(len(ordered)), np.maximum(len(X) - missing - 1, 0)]
    counting, coded = {*counting_columns(X)}, {*maybe_coded_columns(X, lowest, highest)}
    for k, name in enumerate(names):
        gaps = int(missing[k])
        if gaps == len(X):
            yield ColumnFacts(name=name, kind="empty", different=0, missing=gaps)
            continue
        different = int(changes[k]) + 1
        kind = "whole number" if whole[k] else "number"
        yield ColumnFacts(
            name=name,
            kind="two values" if different == 2 else kind,
            different=different,
            missing=gaps,
            low=float(lowest[k]),
            high=float(highest[k]),
            counts_rows=k in counting,
            codes=tuple(likely_codes(X[:, k])) if k in coded else (),
        )


def _text_facts(cells: Sequence[str | None], name: str, decimal: str | None) -> ColumnFacts:
    """The facts of a column of text; None is a missing cell.

    >>> [_text_facts(["no", "no"], name, None).wordy for name in ("comment", "smokes")]
    [True, False]
    """
    times = Counter(text for text in cells if text is not None)
    missing = len(cells) - sum(times.values())
    common = sorted(times, key=lambda text: (-times[text], text))[:3]
    dates = bool(times) and all(
        _ISO_DATE.fullmatch(text) or OTHER_DATE.fullmatch(text) for text in times
    )
    return ColumnFacts(
        name=name,
        kind="date" if dates else "text" if times else "empty",
        different=len(times),
        missing=missing,
        examples=tuple(common),
        odd=() if dates else odd_cells(times, decimal),
        wordy=bool(_COMMENTS.search(name))
        or (len(times) > _FEW and any(len(text.split()) >= _WORDS for text in times)),
    )


@attrs.frozen(kw_only=True, eq=False)
class Contents:
    """Summary of a table.

    Parameters
    ----------
    table : Table
    columns : tuple of ColumnFacts
    repeated_rows : int
        Rows equal to an earlier one in all columns.
    repeated_columns : tuple of (int, int)
        Columns equal to an earlier one, with that one.
    """

    table: Table
    columns: tuple[ColumnFacts, ...] = attrs.field(repr=False)
    repeated_rows: int
    repeated_columns: tuple[tuple[int, int], ...]
    _kept: Mapping[int, Words | NDArray[Any]] = attrs.field(repr=False)

    @classmethod
    def of(cls, table: Table) -> Contents:
        """The facts of all columns of a table.

        Columns that may have levels are kept as far as there is room: in a text, reading one column
        takes as long as reading all.
        """
        kept: dict[int, Words | NDArray[Any]] = {}
        room = _ROOM
        facts: list[ColumnFacts] = []
        rows = np.zeros(table.n_rows, dtype=np.uint64)
        signs: dict[int, int] = {}
        repeated = []
        draw = np.random.default_rng(0)
        for start, X, texts in table.column_blocks():
            names = table.names[start : start + X.shape[1]]
            odd = draw.integers(1, 1 << 63, (X.shape[1],), dtype=np.uint64)
            factors = odd * np.uint64(2) + np.uint64(1)
            for k, column_facts in enumerate(_number_facts(X, names)):
                column = start + k
                if column in texts:
                    cells = texts[column]
                    column_facts = _text_facts(cells, names[k], table.decimal)
                    # Hashes are constant within a process.
                    bits = np.array([hash(text) for text in cells], dtype=np.int64).view(np.uint64)
                else:
                    # Zero equals minus zero; all missing values are equal.
                    bits = np.where(np.isnan(X[:, k]), np.nan, X[:, k] + 0.0).view(np.uint64)
                facts.append(column_facts)
                if column_facts.kind in ("text", "whole number", "two values"):
                    values = _compact(column_facts, texts.get(column, X[:, k]))
                    size = values.nbytes
                    if size <= room:
                        kept[column] = values
                        room -= size
                # Of whole numbers only the first bits differ: they are made to count for all.
                rows += (bits * factors[k]).byteswap() * factors[k]
                earlier = signs.setdefault(hash(bits.tobytes()), column)
                if earlier != column and not column_facts.constant and column_facts.different:
                    repeated.append((column, earlier))
        return cls(
            table=table,
            columns=tuple(facts),
            repeated_rows=table.n_rows - len(np.unique(rows)),
            repeated_columns=tuple(repeated),
            kept=kept,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    @property
    def typed(self) -> set[int]:
        """Columns that are categorical by their type."""
        return {*filter(self.table.is_typed, range(len(self.columns)))}

    def _values(self, column: int) -> Words | NDArray[Any]:
        """A column, read again unless it was kept."""
        if column in self._kept:
            return self._kept[column]
        values = self.table.values(column)
        return Words.of(values) if isinstance(values, list) else values

    def at_hand(self, column: int) -> bool:
        """Whether the values of a column are kept, so that asking for them reads nothing."""
        return column in self._kept

    def codes(self, column: int) -> NDArray[np.int64]:
        """A column as (n_rows,) codes of its different values; -1 where missing."""
        values = self._values(column)
        if isinstance(values, Words):
            return values.codes.astype(np.int64)
        known = ~np.isnan(values)
        codes = np.full(len(values), -1)
        codes[known] = np.unique(values[known], return_inverse=True)[1]
        return codes

    def classes(self, column: int) -> tuple[NDArray[np.int64], list[str]]:
        """A column as codes of its classes, -1 where missing, and the names of the classes.

        Spellings that differ only in case or blanks are one class.
        """
        values = self._values(column)
        if not isinstance(values, Words):
            return self.codes(column), self.levels(column)
        same = merged_spellings([values.levels[code] for code in values.codes if code >= 0])
        merged = [same.get(level, level) for level in values.levels]
        names = _texts_in(merged)
        # The code -1 takes the last entry, -1.
        return np.array([*map(names.index, merged), -1])[values.codes], names

    def levels(self, column: int) -> list[str]:
        """The different values of a column, as text, in the order of their codes."""
        values = self._values(column)
        if isinstance(values, Words):
            return values.levels
        return [level_text(value) for value in np.unique(values[~np.isnan(values)]).tolist()]


def _compact(facts: ColumnFacts, values: Column) -> Words | NDArray[Any]:
    """The values of a column, in one byte each if that is enough."""
    if isinstance(values, list):
        return Words.of(values)
    small = not facts.missing and facts.low >= -128 and facts.high < 128
    # Two values need not be whole: 0.2 and 0.7.
    if small and (values == np.floor(values)).all():
        return values.astype(np.int8)
    return values.copy()


def _texts_in(cells: Sequence[str | None]) -> list[str]:
    return sorted({text for text in cells if text is not None})
