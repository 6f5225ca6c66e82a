"""Numbers as people and laboratories spell them: with units, separators, limits and signs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.table.spelling.dialect import has_decimal_comma
from fsframe.table.spelling.text_file import is_number
from fsframe.text import some_of

_PLAIN = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_MONEY = "$€£¥"
_GROUPED = (
    r"[+-]?(?:[1-9][0-9]{0,2}(?:[,' \u00a0\u202f][0-9]{3})+|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3})"
    r"(?:\.[0-9]*)?"
)
"""Numbers with separators of thousands, those of India among them: 1,234,567 and 12,34,567.

`0,964` is none: nobody writes 964 so.
"""
_WITH_UNIT = re.compile(
    rf"({_PLAIN}|{_GROUPED})(\s*)([%‰°µμ{_MONEY}A-Za-z][A-Za-z0-9µμ°²³/^.*%·-]{{0,11}})?"
)
_MONEY_FIRST = re.compile(rf"^([+-]?)([{_MONEY}])\s*([^+\-].*)")
# Not for `5 mM` and `300 K`, where these letters are units.
_SCALED = re.compile(r"([^A-Za-zµμ]*[0-9.])([kKM])")
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6}
_MINUS = re.compile("[\u2212\u2013]")
_EDGES = re.compile(r"^[^0-9+-]+|[^0-9]+$")
_ABOUT, _NOTES = "~≈", "*†‡"
_MARKS, _NONE = frozenset(_ABOUT + _NOTES), frozenset[str]()
_FLAGS = frozenset({"H", "L", "HH", "LL"})
"""Flags that laboratories write after a number that is too high or too low."""
# Negative amounts, as accounts write them: (1,234).
_OWED = re.compile(r"\(([^\s()+-][^()]*)\)")
_ONE_COMMA = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_LIMIT = re.compile(r"([<>≤≥])=?\s*(.+)")
_AND_MORE = re.compile(r"([0-9]+)\+(\s.*)?")
_SWAPPED = str.maketrans(".,", ",.")
_SEPARATED = re.compile(r"[,' \u00a0\u202f]")
_DIGIT = re.compile("[0-9]")
_FEW_HOURS = 2
_MOST_ODD, _NUMBERS, _LEAST_MEASURED, _MOST_DOSES = 5, 0.5, 6, 10
_DURATIONS = (
    # 0 days 00:37:00 of pandas, 1 day, 2:03:04 of Python, 14:30 of clocks.
    re.compile(
        r"(?P<sign>[+-]?)(?:(?P<days>[0-9]+) days?,? *\+?)?"
        r"(?P<hours>[0-9]{1,4}):(?P<minutes>[0-5][0-9])(?::(?P<seconds>[0-5][0-9](?:\.[0-9]+)?))?"
    ),
    # PT2H30M of ISO 8601.
    re.compile(
        r"(?P<sign>[+-]?)P(?=.)(?:(?P<days>[0-9]+)D)?(?:T(?=.)(?:(?P<hours>[0-9]+)H)?"
        r"(?:(?P<minutes>[0-9]+)M)?(?:(?P<seconds>[0-9]+(?:\.[0-9]+)?)S)?)?"
    ),
    re.compile(
        r"(?P<sign>)(?=.)(?:(?P<days>[0-9]+) ?d(?:ays?)?)? ?(?:(?P<hours>[0-9]+) ?h(?:ours?|rs?)?)?"
        r" ?(?:(?P<minutes>[0-9]+) ?m(?:in(?:utes?|s)?)?)?"
        r" ?(?:(?P<seconds>[0-9]+(?:\.[0-9]+)?) ?s(?:ec(?:onds?|s)?)?)?"
    ),
)
_SECONDS = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
_LONGEST = 40
"""Most characters of a number with its unit."""


def spelled_numbers(
    cells: Sequence[str | None], decimal: str | None = None, *, measured: bool = False
) -> tuple[NDArray[np.float64], str] | None:
    """The numbers of a column in which all cells are numbers with the same unit or none.

    If there are 6 or more different numbers, a cell below a limit of detection becomes half the
    limit (the limit itself, if it is not positive), and one above a limit, such as ``>300`` or
    ``300+``, becomes that limit.

    Parameters
    ----------
    cells : sequence of str
        None where missing.
    decimal : {".", ","}, optional
        With a decimal comma, points separate thousands. By default, as for a data frame, it is a
        comma if some cells are numbers only with a decimal comma.
    measured : bool
        Whether the column is known to hold numbers, so that a few different ones are not levels.

    Returns
    -------
    values : (n_rows,) float64
        NaN where missing.
    what : str
        How the cells differ from plain numbers, for a note. None is returned in place of both if
        the column is of another kind, or if a comma may be a decimal mark or separate thousands,
        and this matters: it does not if each cell has one, which only changes the unit.

    Examples
    --------
    >>> spelled_numbers(["5 mg", None, "7.5 mg"])
    (array([5. , nan, 7.5]), "without the unit 'mg'")
    >>> spelled_numbers(["25%", "0.25", "0"])
    (array([25.  ,  0.25,  0.  ]), "without the unit '%' (other cells have none)")
    >>> spelled_numbers(["1,234,567", "950"])[0], spelled_numbers(["1,234", "2345"])
    (array([1.234567e+06, 9.500000e+02]), None)
    >>> spelled_numbers(["0.964", "12.5"], ","), spelled_numbers(["0,964,000", "2"])
    (None, None)
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
    >>> spelled_numbers(["2h 30m", None, "45min"]), spelled_numbers(["0 days 00:00:07.5"])
    ((array([9000.,   nan, 2700.]), 'of seconds'), (array([7.5]), 'of seconds'))
    >>> spelled_numbers(["0,5", "12", "-1,25"]), spelled_numbers(["0,5", "12", "2.5"])
    ((array([ 0.5 , 12.  , -1.25]), 'with decimal commas'), None)
    """
    texts = Counter(cell for cell in cells if cell is not None)
    seconds = _durations(texts)
    if seconds:
        return np.array([seconds.get(cell or "", np.nan) for cell in cells]), "of seconds"
    found = _decimal_of(texts) if decimal is None else decimal
    commas = found == "," and decimal is None
    scales = _scales_in(texts)
    owed = {text: match[1] for text in texts if (match := _OWED.fullmatch(text))}
    # If all numbers are in parentheses, they may be references or levels.
    owed = owed if len(owed) < len(texts) else {}
    meant: dict[str, _SpelledNumber] = {}
    for text in texts:
        scaled = _SCALED.fullmatch(text) if scales else None
        factor = _SCALES[scaled[2]] if scaled else -1.0 if text in owed else 1.0
        one = _spelled_number(scaled[1] if scaled else owed.get(text, text), factor, found)
        if one is None:
            return None
        meant[text] = one
    each = meant.values()
    units = list(dict.fromkeys(_singular(one.unit) for one in each if one.unit))
    flags = [] if all(one.unit for one in each) or not _FLAGS.issuperset(units) else units
    grouped = [one for one in each if _SEPARATED.search(one.number)]
    marks = sorted({mark for one in each for mark in one.marks})
    limited = {text: one for text, one in meant.items() if one.limit}
    # If all cells have one comma and three digits after it, both meanings differ in the unit only.
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
    # 0.25 beside 25% is a quarter, or a hundredth of it.
    bare = " (other cells have none)" * any(one.value and not one.unit for one in each)
    left = [f"the flag {flag!r}" for flag in flags]
    left = left or [f"the unit {unit!r}{bare}" for unit in units]
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


def _durations(texts: Iterable[str]) -> dict[str, float]:
    """The durations of some texts, in seconds; empty if they may be something else.

    They may be if one is not a duration, if all have a single unit (`P1D` alone may be a name), or
    if they look like ratios.

    >>> _durations(["PT37M", "PT2H"]), _durations(["1:10", "1:20"]), _durations(["5 m", "7 m"])
    ({'PT37M': 2220.0, 'PT2H': 7200.0}, {}, {})
    """
    found: dict[str, float] = {}
    units: set[tuple[str, ...]] = set()
    for text in texts:
        short = text if len(text) < _LONGEST else ""
        match = next((m for form in _DURATIONS if (m := form.fullmatch(short))), None)
        if match is None:
            return {}
        parts = {name: float(part) for name, part in match.groupdict().items()
                 if name != "sign" and part}  # fmt: skip
        units.add(tuple(parts))
        total = sum(_SECONDS[name] * value for name, value in parts.items())
        found[text] = -total if match["sign"] == "-" else total
    if units == {("hours", "minutes")} and all(":" in text for text in found):
        # A ratio or a titre has the same first number in most cells.
        return found if len({text.partition(":")[0] for text in found}) > _FEW_HOURS else {}
    several = any(len(names) > 1 for names in units) or (len(units) > 1 and ("hours",) in units)
    return found if several or any("PT" in text for text in found) else {}


@attrs.define(kw_only=True)
class _SpelledNumber:
    """The meaning of a cell: its value, and the number, unit, sign of a limit and marks in it."""

    value: float
    number: str
    unit: str
    limit: str
    marks: frozenset[str]

    @property
    def is_sure(self) -> bool:
        """Whether this cell shows that a comma separates thousands."""
        if not _SEPARATED.search(self.number):
            return "." in self.number or len(self.number) < 4
        # A price does not have three decimals.
        priced = self.unit != "" and self.unit in _MONEY
        return self.number.count(",") != 1 or "." in self.number or priced


def _spelled_number(text: str, factor: float, decimal: str) -> _SpelledNumber | None:
    """The meaning of a cell, its value times `factor`, or half below a limit; None if no number."""
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
    return _SpelledNumber(
        value=value / 2 if sign in ("<", "≤") and value > 0 else value,
        number=number,
        unit=unit,
        limit=sign,
        marks=_MARKS.intersection(text) if len(plain) < len(text) else _NONE,
    )


def plain_numbers(cells: Sequence[str | None]) -> NDArray[np.float64] | None:
    """The numbers of (n,) cells of text, NaN where empty.

    None if all cells are empty, or one is not a number.
    """
    known = {cell for cell in cells if cell}
    if not known or not all(map(is_number, known)):
        return None
    return np.array([float(cell) if cell else np.nan for cell in cells])


def label_numbers(
    cells: Sequence[str | None], decimal: str | None = None
) -> tuple[NDArray[np.float64], str] | None:
    """`spelled_numbers` of a label with too many different values to be classes; None for others.

    >>> label_numbers([f"{k} €/month" for k in range(500, 512)])[1]
    "without the unit '€/month'"
    >>> label_numbers(["5 mg", "10 mg"] * 6)
    """
    many = len({*cells} - {None}) > _MOST_DOSES
    return spelled_numbers(cells, decimal, measured=True) if many else None


def _scales_in(texts: Counter[str]) -> list[str]:
    """The letters after numbers that stand for thousands and millions.

    They do if there are prices; or if there are six or more different cells and, besides a letter,
    another one or plain numbers, or only k. Otherwise a K or M may be a unit.
    """
    found = {text: match[2] for text in texts if (match := _SCALED.fullmatch(text))}
    letters = sorted(set(found.values()), key=lambda letter: (_SCALES[letter], letter))
    prices = any(sign in text for text in texts for sign in _MONEY)
    mixed = len(letters) > 1 or len(found) < len(texts) or letters == ["k"]
    return letters if prices or (mixed and len(texts) >= _LEAST_MEASURED) else []


def _decimal_of(texts: Iterable[str]) -> str:
    """The decimal mark: a comma if some cell certainly has a decimal comma, else a point."""
    # Not in long texts, whose ends take quadratic time to find.
    short = (text for text in texts if "," in text and len(text) < _LONGEST)
    commas = (_EDGES.sub("", text) for text in short)
    return "," if any(map(has_decimal_comma, commas)) else "."


def _with_unit(text: str, decimal: str) -> re.Match[str] | None:
    """Match a number with or without a unit, with a decimal point; `$5` is read as `5$`."""
    text = _MONEY_FIRST.sub(
        r"\1\3\2", _MINUS.sub("-", text, count=1) if _MINUS.match(text) else text
    )
    return _WITH_UNIT.fullmatch(text.translate(_SWAPPED) if decimal == "," else text)


def _limit(text: str) -> re.Match[str] | None:
    """Match the sign and the number of a limit: `<0.5`, or `10+ years` for `>10 years`."""
    return _LIMIT.fullmatch(_AND_MORE.sub(r">\1\2", text) if "+" in text else text)


def _singular(unit: str) -> str:
    """The singular of a unit: `year` for `years`, which is the same unit."""
    return unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit


def odd_cells(times: Counter[str], decimal: str | None = None) -> tuple[tuple[str, int], ...]:
    """The few texts in a column of numbers that are not numbers, with how often they occur.

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
    # A column with several units does not hold numbers, whatever its other cells are. Beside
    # `10+ years` and `< 1 year`, a few numbers are levels.
    units = {_singular(match[3]) for match in numeric.values() if match[3]}
    levels = of_limits and not measured
    if not odd or not few or len(numeric) < 2 or len(units) > 1 or levels:
        return ()
    return tuple(sorted(odd.items(), key=lambda pair: (-pair[1], pair[0])))
