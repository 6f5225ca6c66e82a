"""Kinds of columns that do not simply hold numbers, their cells as numbers, orders of levels."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.table.spelling.number_spellings import spelled_numbers
from fsframe.text import are_texts, some_of

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
OTHER_DATE = re.compile(
    r"[0-9]{1,2}([./-])[0-9]{1,2}\1(?:[0-9]{2}|[0-9]{4})|[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}"
    rf"|[0-9]{{1,2}}[ -]{_MONTH}[ -][0-9]{{2,4}}|{_MONTH} [0-9]{{1,2}}, [0-9]{{4}}",
    re.IGNORECASE,
)
"""Dates in other forms than ISO 8601, which are not converted to days."""

KINDS = ("nominal", "ordinal", "boolean", "date", "indicator")
_BOOLEANS = (("false", "true"), ("no", "yes"))
_EPOCH = datetime.date(1970, 1, 1)

Ordinal = str | int | Iterable[str | int] | Mapping[str | int, Sequence[Any] | None]


@attrs.frozen
class ColumnKind:
    """Kind of a column that does not simply hold numbers.

    Parameters
    ----------
    kind : {"nominal", "ordinal", "boolean", "date", "indicator"}
    levels : tuple of str
        For nominal and ordinal columns the levels of the codes 0, 1, …, as spelled in the table;
        for boolean ones the words for 0 and 1; for an indicator the level for which it is 1.
    column : str
        For an indicator: the column of the table that it was made from.
    """

    kind: str = attrs.field(validator=attrs.validators.in_(KINDS))
    levels: tuple[str, ...] = ()
    column: str = ""


def level_text(value: Any) -> str:
    """A level as text: whole numbers without a point, however they are spelled.

    >>> level_text(1990.0), level_text("2.0"), level_text("blue"), level_text(2.5)
    ('1990', '2', 'blue', '2.5')
    """
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    return str(int(number)) if number == int(number) and abs(number) < 2**53 else repr(number)


def check_readings(
    *, dates: str | None = None, encode: str | None = None, missing_label: str | None = None
) -> None:
    """Refuse unknown values of `dates`, `encode` and `missing_label`.

    Raises
    ------
    RequestError
    """
    for name, given, known in (
        ("dates", dates, "days"),
        ("encode", encode, "onehot"),
        ("missing_label", missing_label, "drop"),
    ):
        if given not in (None, known):
            raise RequestError(f"{name} must be {known}, not {given!r}")


def as_ordinal(given: Ordinal | None) -> dict[str | int, tuple[str, ...]]:
    """Ordinal columns as a mapping of columns to the order of their levels; empty: numeric order.

    >>> as_ordinal({"size": ["S", "M"]}), as_ordinal("grade")
    ({'size': ('S', 'M')}, {'grade': ()})
    """
    if given is None:
        return {}
    if isinstance(given, (str, int)):
        return {given: ()}
    if not isinstance(given, Mapping):
        return dict.fromkeys(given, ())
    orders = {key: tuple(map(level_text, order or ())) for key, order in given.items()}
    twice = [key for key, order in orders.items() if len(set(order)) != len(order)]
    if twice:
        raise RequestError(f"ordinal column {twice[0]!r}: a level occurs twice in its order")
    return orders


def looks_boolean(texts: Iterable[str]) -> tuple[str, str] | None:
    """The words for false and true if the texts hold no others, else None.

    >>> looks_boolean({"yes", "no"}), looks_boolean({"yes", "maybe"})
    (('no', 'yes'), None)
    """
    words = {text.strip().lower() for text in texts}
    return next((pair for pair in _BOOLEANS if words and words <= set(pair)), None)


def days_of(text: str) -> float | None:
    """Days since 1970-01-01 of an ISO 8601 date or time; None for other text.

    >>> days_of("1970-01-03"), days_of("1970-01-01 12:00"), days_of("blue"), days_of("20")
    (2.0, 0.5, None, None)
    """
    plain = text.strip()
    # "2021" and "20210304" are taken as numbers elsewhere.
    if len(plain) < 8 or "-" not in plain[1:]:
        return None
    try:
        if len(plain) <= 10:
            return float((datetime.date.fromisoformat(plain) - _EPOCH).days)
        moment = datetime.datetime.fromisoformat(plain)
    except ValueError:
        return None
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)


@attrs.frozen
class ColumnNote:
    """How a column was read, in words that follow its name.

    Parameters
    ----------
    name : str
    one, many : str
        The words after one name, and after several; `many` is empty if columns cannot share a note.
    before : str
        Words before the name.
    """

    name: str
    one: str
    many: str = ""
    before: str = ""

    def __str__(self) -> str:
        return f"{self.before}column {self.name!r} {self.one}"


def number_note(name: str, spelling: str) -> ColumnNote:
    """The note that the text of column `name` was read as numbers."""
    how = f"read as numbers {spelling}"
    return ColumnNote(name, f"was {how}", f"were {how}")


def coded_note(levels: Sequence[str], name: str) -> ColumnNote:
    """The note that the text of column `name` was coded as the places of these levels."""
    codes = some_of([f"{text}={place}" for place, text in enumerate(levels)], 10)
    how = f"was coded: {codes}"
    alike = alike_spellings(levels)
    if alike:
        shown = some_of([" and ".join(map(repr, spellings)) for spellings in alike], 3)
        alone = f"{how}; {shown} differ in capitals or blanks only"
        return ColumnNote(name, alone, before=_TEXT_IN)
    return ColumnNote(name, how, "" if ";" in codes else how, before=_TEXT_IN)


_TEXT_IN = "text in "
_ALIKE, _MANY_CODED = 4, 10


def coded_together(notes: Iterable[ColumnNote]) -> list[str]:
    """`notes` as texts, in which those about similar columns are merged.

    Four or more columns coded alike, or spelled alike as numbers, share one note. If more than ten
    columns remain, each coded in its own way, these share one, too.

    >>> coded_together(coded_note(["a", "b"], name) for name in "stuv")
    ["text in 4 columns was coded: a=0, b=1 ('s', 't', 'u', 'v')"]
    >>> coded_together(number_note(name, "with decimal commas") for name in "stuv")
    ["4 columns were read as numbers with decimal commas ('s', 't', 'u', 'v')"]
    """
    notes = list(notes)
    alike: dict[str, list[str]] = {}
    for note in notes:
        alike.setdefault(note.many, []).append(repr(note.name))
    coded = {note.many: alike[note.many] for note in notes if note.before and note.many}
    alone = [name for names in coded.values() if len(names) < _ALIKE for name in names]

    def said(note: ColumnNote) -> str:
        columns = alike[note.many]
        if note.many and len(columns) >= _ALIKE:
            return f"{note.before}{len(columns)} columns {note.many} ({some_of(columns)})"
        if note.many and note.before and len(alone) > _MANY_CODED:
            return (
                f"text in {len(alone)} columns was coded 0, 1, … in the sorted order of each "
                f"column's texts: {some_of(alone)}"
            )
        return str(note)

    return list(dict.fromkeys(map(said, notes)))


def alike_spellings(texts: Iterable[str], shortest: int = 2) -> list[list[str]]:
    """The groups of `texts` that differ in capitals or blanks only, sorted.

    Texts of fewer than `shortest` characters are left out: genotypes may differ in case.

    >>> alike_spellings(["Good", "good", "Poor", "a", "A"])
    [['Good', 'good']]
    """
    alike: dict[str, list[str]] = {}
    for text in sorted(set(texts)):
        if len(text) >= shortest:
            alike.setdefault(" ".join(text.casefold().split()), []).append(text)
    return [spellings for spellings in alike.values() if len(spellings) > 1]


def merged_spellings(texts: Sequence[str]) -> dict[str, str]:
    """Replacements for spellings that differ in case or blanks only: the commonest of them.

    >>> merged_spellings(["Good", "good", "Good", "Poor", "a", "A"])
    {'good': 'Good'}
    """
    times = Counter(texts)
    replacements = {}
    for spellings in alike_spellings(times):
        best = min(spellings, key=lambda text: (-times[text], text))
        replacements.update({text: best for text in spellings if text != best})
    return replacements


@attrs.frozen(kw_only=True, eq=False)
class WordsRead:
    """Converts columns of text to numbers, one after the other, and collects notes and problems.

    Parameters
    ----------
    dates : str, optional
        As in `fsframe.read`.
    decimal : {".", ","}, optional
        As for `spelled_numbers`.
    kinds : dict of str to ColumnKind
        By name, of columns that do not simply hold numbers.
    notes : list of ColumnNote
        How columns without a declared kind were read.
    texts, dated : list of int
        Places of columns that cannot be used: they hold other text, or dates that stay dates.
    unknown : list of (int, tuple of str)
        Places of ordinal columns with the levels that their order lacks.

    Examples
    --------
    >>> words = WordsRead()
    >>> words.numbers(0, "smoker", ["no", None, "yes"]), str(words.notes[0])
    (array([ 0., nan,  1.]), "column 'smoker' was read as no=0, yes=1")
    >>> words.numbers(1, "size", ["M", "XL"], order=("S", "M")), words.unknown
    (None, [(1, ('XL',))])
    """

    dates: str | None = None
    decimal: str | None = None
    kinds: dict[str, ColumnKind] = attrs.field(factory=dict)
    notes: list[ColumnNote] = attrs.field(factory=list)
    texts: list[int] = attrs.field(factory=list)
    dated: list[int] = attrs.field(factory=list)
    unknown: list[tuple[int, tuple[str, ...]]] = attrs.field(factory=list)

    def numbers(
        self,
        place: int,
        name: str,
        cells: Sequence[str | None],
        *,
        order: tuple[str, ...] | None = None,
        nominal: bool = False,
    ) -> NDArray[np.float64] | None:
        """The cells of column `name` as numbers, NaN where missing; None if it cannot be used.

        If nothing is declared, words for yes and no become 1 and 0, ISO dates become days, and
        numbers may have one unit or separators of thousands; other text is not read.

        Parameters
        ----------
        place : int
        name : str
        cells : sequence of str
            None where missing.
        order : tuple of str, optional
            The order of its levels, if it is ordinal.
        nominal : bool
        """
        texts = {text for text in cells if text is not None}
        if order is not None:
            unknown = sorted({level_text(text) for text in texts} - set(order))
            if unknown:
                self.unknown.append((place, tuple(unknown)))
                return None
            return self._of_kind(name, cells, ColumnKind("ordinal", order))
        if nominal:
            levels = tuple(sorted(texts))
            self.kinds[name] = ColumnKind("nominal", levels)
            self.notes.append(coded_note(levels, name))
            code = {text: float(place) for place, text in enumerate(levels)}
            return np.array([math.nan if text is None else code[text] for text in cells])
        if (words := looks_boolean(texts)) is not None:
            self.notes.append(ColumnNote(name, f"was read as {words[0]}=0, {words[1]}=1"))
            return self._of_kind(name, cells, ColumnKind("boolean", words))
        if texts and all(days_of(text) is not None for text in texts):
            if self.dates is None:
                self.dated.append(place)
                return None
            return self._of_kind(name, cells, ColumnKind("date"))
        if (spelled := spelled_numbers(cells, self.decimal)) is not None:
            values, spelling = spelled
            self.notes.append(number_note(name, spelling))
            return values
        self.texts.append(place)
        return None

    def ranked(self, name: str, values: NDArray[Any]) -> NDArray[np.float64]:
        """The ranks 0, 1, … of an ordinal column of numbers, in numeric order; NaN where missing.

        >>> WordsRead().ranked("dose", np.array([10.0, 2.0, np.nan, 10.0]))
        array([ 1.,  0., nan,  1.])
        """
        known = ~np.isnan(values)
        levels, place = np.unique(values[known], return_inverse=True)
        self.kinds[name] = ColumnKind("ordinal", tuple(map(level_text, levels.tolist())))
        numbers = np.full(len(values), np.nan)
        numbers[known] = place
        return numbers

    def _of_kind(
        self, name: str, cells: Sequence[str | None], kind: ColumnKind
    ) -> NDArray[np.float64]:
        self.kinds[name] = kind
        return numbers_of([text or "" for text in cells], kind, lambda text: not text, str)


def numbers_of(
    texts: Sequence[str],
    kind: ColumnKind,
    missing: Callable[[str], bool],
    where: Callable[[int], str],
) -> NDArray[np.float64]:
    """The cells of a column of this kind as the numbers of a Dataset, NaN where missing.

    Parameters
    ----------
    texts : sequence of str
    kind : ColumnKind
        In a nominal column, levels that it does not list share one code, after all others.
    missing : callable
        Whether a text is a missing value.
    where : callable
        Names the row of a cell, for messages.

    Raises
    ------
    DataError
        At the first cell that is not a level of an ordinal or boolean column, or not a date.

    Examples
    --------
    >>> size = ColumnKind("ordinal", ("S", "M", "L"))
    >>> numbers_of(["M", "", "S"], size, lambda text: not text, str)
    array([ 1., nan,  0.])
    """
    code = {level_text(level): float(place) for place, level in enumerate(kind.levels)}
    # Of a categorical type, 1 and 1.0 may be two levels.
    code |= {level: float(place) for place, level in enumerate(kind.levels)}
    numbers = np.empty(len(texts))
    known: dict[str, float] = {}
    for row, text in enumerate(texts):
        if text not in known:
            known[text] = math.nan if missing(text) else _number_of(text, kind, code, where, row)
        numbers[row] = known[text]
    return numbers


def _number_of(
    text: str, kind: ColumnKind, code: Mapping[str, float], where: Callable[[int], str], row: int
) -> float:
    level = text if text in code else level_text(text)
    if kind.kind == "indicator":
        return float(level in code)
    if kind.kind == "date":
        days = days_of(text)
        if days is not None:
            return days
        raise DataError(f"{where(row)}: {text!r} is not a date such as 2021-03-04; correct it")
    if kind.kind == "boolean":
        level = level.lower()
    if level in code:
        return code[level]
    if kind.kind == "nominal":
        return float(len(kind.levels))
    shown = " < ".join(kind.levels) if kind.kind == "ordinal" else " and ".join(kind.levels)
    raise DataError(f"{where(row)}: {text!r} is not one of the levels of this column: {shown}")


def kinds_as_json(kinds: Mapping[str, ColumnKind]) -> dict[str, Any]:
    """Kinds of columns by name, for the run file."""
    return {
        name: {"kind": kind.kind, "levels": list(kind.levels)}
        | ({"column": kind.column} if kind.column else {})
        for name, kind in kinds.items()
    }


def stored_kinds(stored: Any) -> dict[str, ColumnKind]:
    """Kinds of columns from a run file; anything invalid is left out."""
    out: dict[str, ColumnKind] = {}
    for name, one in stored.items() if isinstance(stored, dict) else ():
        levels = one.get("levels", []) if isinstance(one, dict) else None
        if not are_texts(levels):
            continue
        column = one.get("column", "")
        if one.get("kind") in KINDS and isinstance(column, str):
            out[name] = ColumnKind(one["kind"], tuple(levels), column)
    return out


_SCALES = (
    "strongly disagree|totally disagree|completely disagree < disagree"
    " < somewhat disagree|slightly disagree < neutral|undecided|neither agree nor disagree"
    " < somewhat agree|slightly agree < agree < strongly agree|totally agree|completely agree",
    "very dissatisfied|very unsatisfied < dissatisfied|unsatisfied < neutral < satisfied"
    " < very satisfied",
    "never < rarely|seldom < sometimes|occasionally < often|frequently|usually < always",
    "none|no|absent < mild|slight < moderate < severe < very severe|critical",
    "very low < low < medium|middle|moderate|normal|average|intermediate < high < very high",
    "very poor|very bad < poor|bad < fair|average < good < very good < excellent",
    "xs|very small < s|small < m|medium < l|large < xl|very large < xxl",
)
"""Words of usual scales, from least to most, with others of the same meaning."""

_POINT = re.compile(r"([0-9]{1,3})(?:\s*[-–=:.)]\s*|\s+)([A-Za-z].*)|([0-9]{1,3})")
_BETWEEN = re.compile(r"([0-9]+)\s*(?:[-–]|to)\s*([0-9]+)")
_BELOW = re.compile(r"(?:under |below |up to |less than |[<≤] ?)([0-9]+)")
_ABOVE = re.compile(
    r"(?:over|above|more than|[>≥]) ?([0-9]+)|([0-9]+) ?(?:\+|(?:and|or) (?:over|older|more))"
)
_GRADE = re.compile(
    r"(?:grade|stage|level) ?([0-9]{1,2}|i{1,3}|iv|v)|(i{1,3}|iv|v)|([0-9]{1,2})(?:st|nd|rd|th)"
)
_TITRE = re.compile(r"([>≥]?) ?1 ?: ?([0-9]+)|negative|neg\.?")
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5}


def ordered_levels(levels: Collection[str]) -> tuple[str, ...] | None:
    """The levels of a column of text from least to most, if their words have an order.

    They are words of a usual scale (never, sometimes, often), with or without numbers; numbers of
    which some have words; ranges of numbers that do not overlap; grades; or titres. None for
    others, for fewer than three, and for levels that `--ordinal` could not spell.

    >>> ordered_levels({"High", "low", "Medium"}), ordered_levels({"red", "low", "high"})
    (('low', 'Medium', 'High'), None)
    >>> ordered_levels({"1 - bad", "2", "3 - good"}), ordered_levels({"1: red", "2: blue", "3: x"})
    (('1 - bad', '2', '3 - good'), None)
    >>> ordered_levels({"45+", "18-24", "25-44"}), ordered_levels({">65", "<18", "18-65"})
    (('18-24', '25-44', '45+'), ('<18', '18-65', '>65'))
    >>> ordered_levels({"Stage II", "Stage I", "Stage IV"}), ordered_levels({"II", "I", "IV"})
    (('Stage I', 'Stage II', 'Stage IV'), ('I', 'II', 'IV'))
    >>> ordered_levels({"1:8", "1:128", "negative"}), ordered_levels({"2nd", "10th", "1st"})
    (('negative', '1:8', '1:128'), ('1st', '2nd', '10th'))
    """
    if len(levels) < 3 or any('"' in level for level in levels):
        return None
    plain = {" ".join(level.lower().split()): level for level in levels}
    points = {text: match for text in plain if (match := _POINT.fullmatch(text))}
    words = [match[2] for match in points.values() if match[2]]
    if len(points) == len(plain) and (len(words) < len(plain) or _on_a_scale(words)):
        places = {text: float(match[1] or match[3]) for text, match in points.items()}
    else:
        ways = (_on_a_scale, _by_grade, _by_range, _by_titre)
        places = next((found for way in ways if (found := way(plain))), {})
    if len(plain) < len(levels) or len({*places.values()}) < len(levels):
        return None
    return tuple(plain[text] for text in sorted(plain, key=places.__getitem__))


def _on_a_scale(words: Collection[str]) -> dict[str, float] | None:
    for scale in _SCALES:
        steps = enumerate(scale.split(" < "))
        of = {word: float(place) for place, step in steps for word in step.split("|")}
        if all(word in of for word in words):
            return {word: of[word] for word in words}
    return None


def _by_grade(words: Collection[str]) -> dict[str, float] | None:
    grades = {word: m[1] or m[2] or m[3] for word in words if (m := _GRADE.fullmatch(word))}
    if len(grades) < len(words):
        return None
    return {word: float(_ROMAN.get(grade) or grade) for word, grade in grades.items()}


def _by_titre(words: Collection[str]) -> dict[str, float] | None:
    found = {word: m for word in words if (m := _TITRE.fullmatch(word))}
    if len(found) < len(words):
        return None
    # `>1:128` is more than `1:128`, and negative is less than all.
    return {word: float(m[2]) + 0.5 * bool(m[1]) if m[2] else -1.0 for word, m in found.items()}


def _by_range(words: Collection[str]) -> dict[str, float] | None:
    ends: dict[str, tuple[float, float]] = {}
    for word in words:
        if match := _BETWEEN.fullmatch(word):
            ends[word] = (float(match[1]), float(match[2]))
        elif match := _BELOW.fullmatch(word):
            ends[word] = (-math.inf, float(match[1]))
        elif match := _ABOVE.fullmatch(word):
            ends[word] = (float(match[1] or match[2]), math.inf)
        else:
            return None
    ranges = sorted(ends.values())
    if any(high > low for (_, high), (low, _) in pairwise(ranges)):
        return None
    return {word: low for word, (low, _) in ends.items()}


_FEWEST_TIMES, _MOST_ANSWERS = 2, 30


def answers_in(levels: Collection[str]) -> tuple[str, ...]:
    """The answers in cells that list one or several, the commonest first; empty for other columns.

    >>> answers_in({"TV, Radio", "Radio", "TV", "Print, TV", "Print, Radio, TV"})
    ('TV', 'Radio', 'Print')
    >>> answers_in({"Vienna, Austria", "Graz, Austria"}), answers_in({"a", "b"})
    ((), ())
    """
    for sign in (";", "|", ", "):
        cells = [[part.strip() for part in level.split(sign)] for level in levels]
        times = Counter(part for cell in cells for part in cell if part)
        several = sum(len(cell) > 1 for cell in cells)
        few = len(times) < len(levels) and len(times) <= _MOST_ANSWERS
        if several and few and min(times.values()) >= _FEWEST_TIMES:
            return tuple(part for part, _ in times.most_common())
    return ()
