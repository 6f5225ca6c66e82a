"""Facts about the columns of a table: kinds, ranges, levels, missing values and their codes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.table.column_kinds import OTHER_DATE, level_text, merged_spellings
from fsframe.table.number_spellings import odd_cells

_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?")
_COMMENTS = re.compile(r"\b(comments?|remarks?|notes?|free.?text)\b", re.IGNORECASE)
_FEW, _WORDS = 10, 4
# Bytes of columns kept for questions about their levels, and bytes that each level counts as.
_ROOM, _LEVEL = 1 << 26, 64
# Common codes for missing values: nines, minima of integer types, powers of ten.
_USUAL_CODES = frozenset(
    [sign * value for value in (99.0, 999.0, 9999.0, 99999.0, 999999.0, 1e30) for sign in (1, -1)]
    + [-9.0, -32768.0, -2147483648.0]
)
# Numbers above a short scale by which surveys mark answers as not known, refused or not asked.
_ANSWERS = tuple(
    frozenset(
        float(digit * nines + last) for digit, last in ((7, 0), (8, 0), (9, 0), (9, -1), (9, -2))
    )
    for nines in (11, 111, 1111)
)


Column = NDArray[Any] | list[str | None]
"""Numbers, NaN where missing, or texts, None where missing."""

Block = tuple[int, NDArray[np.float64], dict[int, list[str | None]]]
"""The first column, numbers (NaN in columns of text), and texts by column."""


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
    counting = {*counting_columns(X)}
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
            low=float(ordered[k, 0]),
            high=float(ordered[k, len(X) - gaps - 1]),
            counts_rows=k in counting,
            codes=tuple(likely_codes(X[:, k])),
        )


def _text_facts(cells: Sequence[str | None], name: str, decimal: str | None = None) -> ColumnFacts:
    """The facts of a column of text; None is a missing cell."""
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


def counting_columns(X: NDArray[Any]) -> list[int]:
    """The columns that are 0, 1, 2, … or 1, 2, 3, … down the table.

    >>> counting_columns(np.array([[1, 7, 0], [2, 8, 2], [3, 9, 1]]))
    [0]
    """
    rows = np.arange(len(X), dtype=np.float64)
    first, last = X[0].astype(np.float64), X[-1].astype(np.float64)
    starts = np.isin(first, (0.0, 1.0)) & (last == first + rows[-1]) & (len(X) > 2)
    return [c for c in np.flatnonzero(starts).tolist() if np.all(X[:, c] == first[c] + rows)]


def maybe_coded_columns(
    X: NDArray[Any], lowest: NDArray[np.float64], highest: NDArray[np.float64]
) -> list[int]:
    """The columns of X (n, p) for which `likely_codes` is worth a call, given their (p,) extremes.

    An extreme is infinite or a usual code, or the lowest is a whole number of at most -9 and the
    only negative one.

    >>> X = np.array([[-999.0, -200, -20], [3, 4, -7], [5, -200, 6]])
    >>> maybe_coded_columns(X, X.min(axis=0), X.max(axis=0))
    [0, 1]
    """
    usual = [*_USUAL_CODES.union(*_ANSWERS), np.inf, -np.inf]
    maybe = np.isin(lowest, usual) | np.isin(highest, usual)
    negative = np.flatnonzero((lowest <= -9) & (lowest == np.floor(lowest)) & ~maybe)
    few = X[:, negative]
    maybe[negative] = (few < 0).sum(axis=0) == (few == lowest[negative]).sum(axis=0)
    return np.flatnonzero(maybe).tolist()


def _answers_missing(values: NDArray[np.float64]) -> list[tuple[float, int]]:
    """Codes of missing answers above the (n,) values of a scale, with how often they occur.

    Empty if there is only one.
    """
    different, times = np.unique(values[~np.isnan(values)], return_counts=True)
    family = next((set_of for set_of in _ANSWERS if different[-1] in set_of), frozenset())
    coded = np.isin(different, [*family])
    scale = different[~coded]
    if coded.sum() < 2 or len(scale) < 3 or (scale != np.floor(scale)).any():
        return []
    if different[coded][0] - scale[-1] <= scale[-1] - scale[0]:
        return []
    return [(float(v), int(n)) for v, n in zip(different[coded], times[coded], strict=True)]


def likely_codes(values: NDArray[np.float64]) -> list[tuple[float, int]]:
    """The lowest and the highest of (n,) values that look like codes for a missing one.

    Each comes with how often it occurs. An infinite value is a code. Others are repeated outliers:
    further from the other values than these are from each other, or the only negative one. There
    must be at least three other values, and ten if the code is negative and not a usual one.
    Several numbers such as 77, 88 and 99 are codes if the other values are whole and further from
    them than from each other.

    >>> likely_codes(np.array([1.0, 2, 3, 4, 88, 2, 99, 99]))
    [(88.0, 1), (99.0, 2)]
    """
    answers = _answers_missing(values)
    if answers:
        return answers
    codes = []
    for code in (float(np.nanmin(values)), float(np.nanmax(values))):
        usual, times = code in _USUAL_CODES, int(np.count_nonzero(values == code))
        if np.isinf(code):
            codes.append((code, times))
            continue
        if not usual and not (code <= -9 and code.is_integer()):
            continue
        rest = values[(values != code) & ~np.isnan(values)]
        if times < 2 or not len(rest):
            continue
        low, high, different = float(rest.min()), float(rest.max()), len(np.unique(rest))
        gap = low - code if code < low else code - high
        if usual:
            apart = different >= 3 and (gap > high - low or (code <= -9 and low >= 0))
        else:
            apart = different >= _FEW and times > 2 and low >= 0 and 10 * gap > high - low
        if apart:
            codes.append((code, times))
    return codes


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
    without_label : str
        Advice for a file that lacks the label, if its features are a separate array.
    row_names : bool
        Whether the first column holds row names, which are not read.
    takes_codes : bool
        Whether codes of missing values can be given when the table is read.
    leaves_rows_out : bool
        Whether rows without a label can be left out when the table is read.
    repeated_rows : int
        Rows equal to an earlier one in all columns.
    repeated_columns : tuple of (int, int)
        Columns equal to an earlier one, with that one.
    typed : tuple of int
        Columns that are categorical by their type.
    notes : tuple of str
        What was left out in reading, and how numbers are spelled.
    """

    path: Path
    form: str
    n_rows: int
    columns: tuple[ColumnFacts, ...] = attrs.field(repr=False)
    named: bool = True
    label_array: int | None = None
    beside: int = 0
    without_label: str = ""
    row_names: bool = False
    takes_codes: bool = True
    leaves_rows_out: bool = True
    repeated_rows: int = 0
    repeated_columns: tuple[tuple[int, int], ...] = ()
    typed: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    _column: Callable[[int], Column] = attrs.field(repr=False)
    _kept: Mapping[int, Words | NDArray[Any]] = attrs.field(repr=False, factory=dict)

    def _values(self, column: int) -> Words | NDArray[Any]:
        """A column, read again unless it was kept."""
        if column in self._kept:
            return self._kept[column]
        values = self._column(column)
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


def gathered(
    blocks: Iterable[Block],
    column_of: Callable[[int], Column],
    *,
    names: Sequence[str],
    n_rows: int,
    decimal: str | None = None,
    **about: Any,
) -> Contents:
    """The contents of a table, from blocks of its columns; `column_of` reads a single one.

    `about` are further fields of `Contents`.

    Columns that may have levels are kept as far as there is room: in a text, reading one column
    takes as long as reading all.
    """
    kept: dict[int, Words | NDArray[Any]] = {}
    room = _ROOM
    facts: list[ColumnFacts] = []
    rows = np.zeros(n_rows, dtype=np.uint64)
    signs: dict[int, int] = {}
    repeated = []
    draw = np.random.default_rng(0)
    for start, X, texts in blocks:
        odd = draw.integers(1, 1 << 63, (X.shape[1],), dtype=np.uint64)
        factors = odd * np.uint64(2) + np.uint64(1)
        for k, column_facts in enumerate(_number_facts(X, names[start : start + X.shape[1]])):
            column = start + k
            if column in texts:
                cells = texts[column]
                column_facts = _text_facts(cells, names[column], decimal)
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
            rows += bits * factors[k]
            earlier = signs.setdefault(hash(bits.tobytes()), column)
            if earlier != column and not column_facts.constant and column_facts.different:
                repeated.append((column, earlier))
    return Contents(
        n_rows=n_rows,
        columns=tuple(facts),
        repeated_rows=n_rows - len(np.unique(rows)),
        repeated_columns=tuple(repeated),
        column=column_of,
        kept=kept,
        **about,
    )


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
