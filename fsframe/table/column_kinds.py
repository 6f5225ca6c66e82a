"""Kinds of columns, and numbers as people spell them."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.table.dialect import has_decimal_comma
from fsframe.table.text_file import is_number
from fsframe.text import some_of

_PLAIN = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_MONEY = "$€£¥"
_GROUPED = (
    r"[+-]?(?:[0-9]{1,3}(?:[,' \u00a0\u202f][0-9]{3})+|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3})"
    r"(?:\.[0-9]*)?"
)
"""Numbers with separators of thousands, those of India among them: 1,234,567 and 12,34,567."""
_WITH_UNIT = re.compile(
    rf"({_PLAIN}|{_GROUPED})(\s*)([%‰°µμ{_MONEY}A-Za-z][A-Za-z0-9µμ°²³/^.*%·-]{{0,11}})?"
)
_MONEY_FIRST = re.compile(rf"^([+-]?)([{_MONEY}])\s*([^+\-].*)")
# Not of `5 mM` and `300 K`, which are units.
_SCALED = re.compile(r"([^A-Za-zµμ]*[0-9.])([kKM])")
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6}
_MINUS = re.compile("[\u2212\u2013]")
_EDGES = re.compile(r"^[^0-9+-]+|[^0-9]+$")
_ABOUT, _NOTES = "~≈", "*†‡"
_MARKS, _NONE = frozenset(_ABOUT + _NOTES), frozenset[str]()
_FLAGS = frozenset({"H", "L", "HH", "LL"})
"""What laboratories write behind a number that is too high or too low."""
# Negative amounts, as accounts write them: (1,234).
_OWED = re.compile(r"\(([^\s()+-][^()]*)\)")
_ONE_COMMA = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_LIMIT = re.compile(r"([<>≤≥])=?\s*(.+)")
_AND_MORE = re.compile(r"([0-9]+)\+(\s.*)?")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
OTHER_DATE = re.compile(
    r"[0-9]{1,2}([./-])[0-9]{1,2}\1(?:[0-9]{2}|[0-9]{4})|[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}"
    rf"|[0-9]{{1,2}}[ -]{_MONTH}[ -][0-9]{{2,4}}|{_MONTH} [0-9]{{1,2}}, [0-9]{{4}}",
    re.IGNORECASE,
)
"""Dates that are not of ISO 8601, which are no numbers of days."""

_SWAPPED = str.maketrans(".,", ",.")
_SEPARATED = re.compile(r"[,' \u00a0\u202f]")
_DIGIT = re.compile("[0-9]")
_MOST_ODD, _NUMBERS, _LEAST_MEASURED, _MOST_DOSES = 5, 0.5, 6, 10
_LONGEST = 40
"""Characters of a number with its unit."""


def spelled_numbers(
    cells: Sequence[str | None], decimal: str | None = None, *, measured: bool = False
) -> tuple[NDArray[np.float64], str] | None:
    """The numbers of a column in which all cells are numbers with the same unit or none.

    Beside 6 or more different numbers, a cell below a limit of detection is half the limit (the
    limit, if it is not positive), one above a limit, such as ``>300`` or ``300+``, is that limit.

    Parameters
    ----------
    cells : sequence of str
        None where missing.
    decimal : {".", ","}, optional
        With a decimal comma, points separate thousands. If it is not said, as in a data frame, it
        is a comma where all cells are numbers with one, and some are no others.
    measured : bool
        Whether the column is known to hold numbers, so that few of them need not be levels.

    Returns
    -------
    values : (n_rows,) float64
        NaN where missing.
    what : str
        How they differ from plain numbers, for a note. None in place of both if the column is of
        another kind, or if a comma may be a decimal mark as well as a separator of thousands, and
        this makes a difference: where each cell has one, it is but another unit.

    Examples
    --------
    >>> spelled_numbers(["5 mg", None, "7.5 mg"])
    (array([5. , nan, 7.5]), "without the unit 'mg'")
    >>> spelled_numbers(["1,234,567", "950"])[0], spelled_numbers(["1,234", "2345"])
    (array([1.234567e+06, 9.500000e+02]), None)
    >>> spelled_numbers(["$1,234", "$2", "($3,000)"])[0]
    array([ 1.234e+03,  2.000e+00, -3.000e+03])
    >>> spelled_numbers(["1.234,5 %", "950 %"], ",")
    (array([1234.5,  950. ]), "without the unit '%' and separators of thousands")
    >>> spelled_numbers(["$1,024.50", "-$3"])
    (array([1024.5,   -3. ]), "without the unit '$' and separators of thousands")
    >>> spelled_numbers(["\u22120.5", "3"])
    (array([-0.5,  3. ]), 'with typographic minus signs')
    >>> spelled_numbers(["€1.2M", "€950K", "€0"])
    (array([1200000.,  950000.,       0.]), "without the unit '€', with K and M as 1e3 and 1e6")
    >>> spelled_numbers(["<0.5", *"123456"])
    (array([0.25, 1.  , 2.  , 3.  , 4.  , 5.  , 6.  ]), "with '<0.5' as 0.25 (1 cell)")
    >>> spelled_numbers(["7.1 H", "~5*", *"123456"])[1]
    "without the flag 'H' and the sign '*' and the sign '~'"
    >>> spelled_numbers(["0,5", "12", "-1,25"]), spelled_numbers(["0,5", "12", "2.5"])
    ((array([ 0.5 , 12.  , -1.25]), 'with decimal commas'), None)
    """
    texts = Counter(cell for cell in cells if cell is not None)
    found = _decimal_of(texts) if decimal is None else decimal
    commas = found == "," and decimal is None
    scales = _scales_in(texts)
    owed = {text: match[1] for text in texts if (match := _OWED.fullmatch(text))}
    # In parentheses all, numbers may be of references, or levels.
    owed = owed if len(owed) < len(texts) else {}
    meant: dict[str, _Meant] = {}
    for text in texts:
        scaled = _SCALED.fullmatch(text) if scales else None
        factor = _SCALES[scaled[2]] if scaled else -1.0 if text in owed else 1.0
        one = _meant(scaled[1] if scaled else owed.get(text, text), factor, found)
        if one is None:
            return None
        meant[text] = one
    each = meant.values()
    units = list(dict.fromkeys(_singular(one.unit) for one in each if one.unit))
    flags = [] if all(one.unit for one in each) or not _FLAGS.issuperset(units) else units
    grouped = [one for one in each if _SEPARATED.search(one.number)]
    marks = sorted({mark for one in each for mark in one.marks})
    limited = {text: one for text, one in meant.items() if one.limit}
    # With a comma and three digits in all cells, either meaning is the same but for the unit.
    sure = found == "," or any(one.is_sure for one in each)
    clear = not grouped or sure or all(_ONE_COMMA.fullmatch(one.number) for one in each)
    typeset = any(map(_MINUS.match, texts))
    changed = units or grouped or typeset or limited or scales or owed or marks or commas
    if not changed or not clear:
        return None
    if len(units) > 1 and not flags:
        return None
    few = len(meant) - len(limited) < _LEAST_MEASURED
    if (few and not measured and limited) or (few and (marks or flags)):
        return None
    values = np.array([np.nan if cell is None else meant[cell].value for cell in cells])
    left = [f"the flag {flag!r}" for flag in flags] or [f"the unit {unit!r}" for unit in units]
    left += [f"the sign {mark!r}" for mark in marks] + ["separators of thousands"] * bool(grouped)
    shown = [
        f"{text!r} as {one.value:g} ({texts[text]} cell{'s' * (texts[text] > 1)})"
        for text, one in sorted(limited.items())
    ]
    sizes = [{1e3: "1e3", 1e6: "1e6"}[_SCALES[letter]] for letter in scales]
    told = [
        f"without {' and '.join(left)}" * bool(left),
        "with decimal commas" * commas,
        "with typographic minus signs" * typeset,
        "with numbers in parentheses negative" * bool(owed),
        f"with {' and '.join(scales)} as {' and '.join(sizes)}" * bool(scales),
        f"with {some_of(shown, 5)}" * bool(shown),
    ]
    return values, ", ".join(filter(None, told))


@attrs.define(kw_only=True)
class _Meant:
    """What a spelling means: a value, the number as it is spelled, its unit, the sign of a limit,
    and signs that are left out."""

    value: float
    number: str
    unit: str
    limit: str
    marks: frozenset[str]

    @property
    def is_sure(self) -> bool:
        """Whether it shows that a comma separates thousands."""
        if not _SEPARATED.search(self.number):
            return "." in self.number or len(self.number) < 4
        # A price has no three decimals.
        priced = self.unit != "" and self.unit in _MONEY
        return self.number.count(",") != 1 or "." in self.number or priced


def _meant(text: str, factor: float, decimal: str) -> _Meant | None:
    """What a cell means times `factor`, half of it below a limit; None if it is no number."""
    plain = text.lstrip(_ABOUT).rstrip(_NOTES).strip()
    limit = _limit(plain)
    match = _with_unit(limit[2] if limit else plain, decimal)
    if match is None:
        return None
    number, blank, unit = match[1], match[2], match[3] or ""
    # `3b` may be a stage, `2e` half a number, and `0x10` one of another base.
    odd = len(unit) == 1 or _DIGIT.search(unit)
    if unit and not blank and unit not in f"%‰°{_MONEY}" and odd:
        return None
    value = factor * float(_SEPARATED.sub("", number))
    sign = limit[1] if limit else ""
    return _Meant(
        value=value / 2 if sign in ("<", "≤") and value > 0 else value,
        number=number,
        unit=unit,
        limit=sign,
        marks=_MARKS.intersection(text) if len(plain) < len(text) else _NONE,
    )


def plain_numbers(cells: Sequence[str | None]) -> NDArray[np.float64] | None:
    """The numbers of (n,) cells of text, NaN where empty; None if all are, or one is no number."""
    known = {cell for cell in cells if cell}
    if not known or not all(map(is_number, known)):
        return None
    return np.array([float(cell) if cell else np.nan for cell in cells])


def numbers_in(cells: Sequence[str | None]) -> NDArray[np.float64] | None:
    """The numbers of (n,) cells of text, plain or as `spelled_numbers` reads them; None if one is
    none.

    >>> numbers_in(["1.5", None, "2"]), numbers_in(["1 mg", "2 mg"]), numbers_in(["1", "b"])
    (array([1.5, nan, 2. ]), array([1., 2.]), None)
    """
    plain = plain_numbers(cells)
    if plain is not None:
        return plain
    spelled = spelled_numbers([cell or None for cell in cells])
    return None if spelled is None else spelled[0]


def label_numbers(
    cells: Sequence[str | None], decimal: str | None = None
) -> tuple[NDArray[np.float64], str] | None:
    """`spelled_numbers` of a label, if they are so many that they are no classes.

    >>> label_numbers([f"{k} €/month" for k in range(500, 512)])[1]
    "without the unit '€/month'"
    >>> label_numbers(["5 mg", "10 mg"] * 6)
    """
    many = len({*cells} - {None}) > _MOST_DOSES
    return spelled_numbers(cells, decimal, measured=True) if many else None


def _scales_in(texts: Counter[str]) -> list[str]:
    """The letters behind numbers that stand for thousands and millions: both of them, or beside
    prices or plain numbers, or k; a K or M alone may be a unit."""
    found = {text: match[2] for text in texts if (match := _SCALED.fullmatch(text))}
    letters = sorted(set(found.values()), key=lambda letter: (_SCALES[letter], letter))
    prices = any(sign in text for text in texts for sign in _MONEY)
    mixed = len(letters) > 1 or len(found) < len(texts) or letters == ["k"]
    return letters if prices or (mixed and len(texts) >= _LEAST_MEASURED) else []


def _decimal_of(texts: Iterable[str]) -> str:
    """The decimal mark: a comma if some cells have one for sure."""
    # In a long text, what stands at its ends would be looked for from everywhere.
    short = (text for text in texts if "," in text and len(text) < _LONGEST)
    commas = (_EDGES.sub("", text) for text in short)
    return "," if any(map(has_decimal_comma, commas)) else "."


def _with_unit(text: str, decimal: str) -> re.Match[str] | None:
    """A number with a unit or none, its decimal mark made a point; `$5` is read as `5$`."""
    text = _MONEY_FIRST.sub(
        r"\1\3\2", _MINUS.sub("-", text, count=1) if _MINUS.match(text) else text
    )
    return _WITH_UNIT.fullmatch(text.translate(_SWAPPED) if decimal == "," else text)


def _limit(text: str) -> re.Match[str] | None:
    """The sign and the number of a limit: `<0.5`, or `10+ years` for `>10 years`."""
    return _LIMIT.fullmatch(_AND_MORE.sub(r">\1\2", text) if "+" in text else text)


def _singular(unit: str) -> str:
    """`year` for `years`, which are one unit."""
    return unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit


def odd_cells(times: Counter[str], decimal: str | None = None) -> tuple[tuple[str, int], ...]:
    """The few spellings that are no numbers in a column of numbers, with how often they occur.

    >>> odd_cells(Counter({"1.5": 3, "2": 2, "n.d.": 2, "<LOD": 1}))
    (('n.d.', 2), ('<LOD', 1))
    >>> odd_cells(Counter({**dict.fromkeys("123456", 1), "n.d.": 2, "<0.01": 1}))
    (('n.d.', 2),)
    >>> odd_cells(Counter({"a": 3, "b": 2, "1": 1}))
    ()
    """
    decimal = _decimal_of(times) if decimal is None else decimal
    numeric = {text: match for text in times if (match := _with_unit(text, decimal))}
    limits = {text: limit for text in times if (limit := _limit(text))}
    of_limits = {text: match for text in limits if (match := _with_unit(limits[text][2], decimal))}
    measured = len(numeric) >= _LEAST_MEASURED
    numeric |= of_limits if measured else {}
    odd = {text: n for text, n in times.items() if text not in numeric}
    numbers = sum(times.values()) - sum(odd.values())
    few = len(odd) <= _MOST_ODD and numbers >= _NUMBERS * sum(times.values())
    # Numbers of several units are none, whatever stands beside them; and with `10+ years` and
    # `< 1 year`, a few numbers are levels.
    units = {_singular(match[3]) for match in numeric.values() if match[3]}
    levels = of_limits and not measured
    if not odd or not few or len(numeric) < 2 or len(units) > 1 or levels:
        return ()
    return tuple(sorted(odd.items(), key=lambda pair: (-pair[1], pair[0])))


KINDS = ("nominal", "ordinal", "boolean", "date", "indicator")
_TRUE, _FALSE = ("true", "yes"), ("false", "no")
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
    """Check what is to be done with dates, nominal columns and rows without a label.

    Raises
    ------
    RequestError
    """
    if dates not in (None, "days"):
        raise RequestError(f"dates must be days, not {dates!r}")
    if encode not in (None, "onehot"):
        raise RequestError(f"encode must be onehot, not {encode!r}")
    if missing_label not in (None, "drop"):
        raise RequestError(f"missing_label must be drop, not {missing_label!r}")


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
    """The words for false and true if there are no others, else None.

    >>> looks_boolean({"yes", "no"}), looks_boolean({"yes", "maybe"})
    (('no', 'yes'), None)
    """
    words = {text.strip().lower() for text in texts}
    for no, yes in zip(_FALSE, _TRUE, strict=True):
        if words and words <= {no, yes}:
            return no, yes
    return None


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


def ranks(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Numbers as ranks 0, 1, … of their levels, NaN where missing, and the levels as text.

    >>> ranks(np.array([10.0, 2.0, np.nan, 10.0]))
    (array([ 1.,  0., nan,  1.]), ('2', '10'))
    """
    levels, place = np.unique(values, return_inverse=True)
    levels = levels[~np.isnan(levels)]
    ranked = np.where(np.isnan(values), np.nan, place.ravel().astype(np.float64))
    return ranked, tuple(level_text(level) for level in levels.tolist())


def coded(values: Sequence[str | None], name: str) -> tuple[NDArray[np.float64], ColumnKind, str]:
    """The text of column `name` as codes 0, 1, … of its sorted levels, NaN for None; and a note.

    >>> coded(["b", "a", None, "b"], "size")[::2]
    (array([ 1.,  0., nan,  1.]), "text in column 'size' was coded: a=0, b=1")
    """
    levels = tuple(sorted({value for value in values if value is not None}))
    code: dict[str | None, float] = {text: float(place) for place, text in enumerate(levels)}
    numbers = np.array([code.get(value, math.nan) for value in values])
    return numbers, ColumnKind("nominal", levels), coded_note(levels, name)


def number_note(name: str, spelling: str) -> str:
    """The note that the text of column `name` was read as numbers."""
    return f"column {name!r} was read as numbers {spelling}"


def coded_note(levels: Sequence[str], name: str) -> str:
    """The note that the text of column `name` was coded as the places of these levels."""
    spelled = some_of([f"{text}={place}" for place, text in enumerate(levels)], 10)
    note = f"text in column {name!r} was coded: {spelled}"
    alike = alike_spellings(levels)
    if alike:
        shown = some_of([" and ".join(map(repr, spellings)) for spellings in alike], 3)
        note += f"; {shown} differ in capitals or blanks only"
    return note


_CODED = re.compile("text in column (.*?) was coded: ([^;]*)", re.DOTALL)
_SPELLED = re.compile(
    "column ('.*'|\".*\") (?:was read as numbers (.*)|holds text, and was read as numbers)",
    re.DOTALL,
)
_AS_NUMBERS = "were read as numbers"
_ALIKE, _MANY_CODED = 4, 10


def coded_together(notes: Iterable[str]) -> list[str]:
    """`notes` with those of columns that are coded, or spelled as numbers, alike, if they are four
    or more, as one; and with one for all that are coded each in its own way, if these are more than
    ten.

    >>> coded_together(f"text in column {name!r} was coded: a=0, b=1" for name in "stuv")
    ["text in 4 columns was coded: a=0, b=1 ('s', 't', 'u', 'v')"]
    >>> coded_together(number_note(name, "with decimal commas") for name in "stuv")
    ["4 columns were read as numbers with decimal commas ('s', 't', 'u', 'v')"]
    """
    notes = list(notes)
    spelled: dict[str | None, list[str]] = {}
    for note in notes:
        if match := _SPELLED.fullmatch(note):
            spelled.setdefault(match[2], []).append(match[1])
    told = {note: match for note in notes if (match := _CODED.fullmatch(note))}
    by_codes: dict[str, list[str]] = {}
    for match in told.values():
        by_codes.setdefault(match[2], []).append(match[1])
    alone = [column for group in by_codes.values() if len(group) < _ALIKE for column in group]

    def said(note: str) -> str:
        numbers = _SPELLED.fullmatch(note)
        if numbers and len(alike := spelled[numbers[2]]) >= _ALIKE:
            how = f"{_AS_NUMBERS} {numbers[2]}" if numbers[2] else f"hold text, and {_AS_NUMBERS}"
            return f"{len(alike)} columns {how} ({some_of(alike)})"
        codes = told[note][2] if note in told else ""
        columns = by_codes.get(codes, [])
        if len(columns) >= _ALIKE:
            return f"text in {len(columns)} columns was coded: {codes} ({some_of(columns)})"
        if columns and len(alone) > _MANY_CODED:
            return (
                f"text in {len(alone)} columns was coded 0, 1, … in the sorted order of each "
                f"column's texts: {some_of(alone)}"
            )
        return note

    return list(dict.fromkeys(map(said, notes)))


def alike_spellings(texts: Iterable[str], shortest: int = 2) -> list[list[str]]:
    """The different ones of `texts` that differ in capitals or blanks only, sorted.

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
    """Spellings that differ in case or blanks only, by the commonest one, which replaces them.

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
class TextsRead:
    """A column of text as numbers, or why it is none.

    Parameters
    ----------
    values : (n_rows,) float64, or None
        NaN where missing; None if the column cannot be used.
    kind : ColumnKind, optional
        None for plain numbers.
    note : str
        How it was read, if nothing declares it.
    unknown : tuple of str
        Levels that an ordinal column has and its order lacks.
    """

    values: NDArray[np.float64] | None = None
    kind: ColumnKind | None = None
    note: str = ""
    unknown: tuple[str, ...] = ()


def read_texts(
    cells: Sequence[str | None],
    name: str,
    *,
    order: tuple[str, ...] | None = None,
    nominal: bool = False,
    decimal: str | None = None,
) -> TextsRead:
    """The cells of column `name` as numbers: by its declaration, or as they look.

    Parameters
    ----------
    cells : sequence of str
        None where missing.
    order : tuple of str, optional
        The order of its levels, if it is ordinal.
    nominal : bool
    decimal : {".", ","}, optional
        As for `spelled_numbers`.

    Returns
    -------
    TextsRead
        Undeclared, two words for yes and no are boolean, ISO dates days, and numbers with one unit
        or separators of thousands numbers; other text is not read.

    Examples
    --------
    >>> read_texts(["no", None, "yes"], "smoker").note
    "column 'smoker' was read as no=0, yes=1"
    >>> read_texts(["M", "XL"], "size", order=("S", "M")).unknown
    ('XL',)
    """
    texts = {text for text in cells if text is not None}
    note = ""
    if order is not None:
        unknown = sorted({level_text(text) for text in texts} - set(order))
        if unknown:
            return TextsRead(unknown=tuple(unknown))
        kind = ColumnKind("ordinal", order)
    elif nominal:
        values, kind, note = coded(cells, name)
        return TextsRead(values=values, kind=kind, note=note)
    elif (words := looks_boolean(texts)) is not None:
        kind = ColumnKind("boolean", words)
        note = f"column {name!r} was read as {words[0]}=0, {words[1]}=1"
    elif texts and all(days_of(text) is not None for text in texts):
        kind = ColumnKind("date")
    elif (spelled := spelled_numbers(cells, decimal)) is not None:
        values, spelling = spelled
        return TextsRead(values=values, note=number_note(name, spelling))
    else:
        return TextsRead()
    values = numbers_of([text or "" for text in cells], kind, lambda text: not text, str)
    return TextsRead(values=values, kind=kind, note=note)


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
        Levels it does not list get a code beyond all others in a nominal column.
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
    level = level_text(text)
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
        return float(len(code))
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
        if not isinstance(levels, list) or not all(isinstance(text, str) for text in levels):
            continue
        column = one.get("column", "")
        if one.get("kind") in KINDS and isinstance(column, str):
            out[name] = ColumnKind(one["kind"], tuple(levels), column)
    return out
