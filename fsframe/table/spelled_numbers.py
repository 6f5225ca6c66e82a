"""Numbers as people spell them: with a unit, a percent sign, thousands separators."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["odd_cells", "plain_number", "spelled_numbers"]

_PLAIN = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(_PLAIN)
_WITH_UNIT = re.compile(
    rf"({_PLAIN}|[+-]?[0-9]{{1,3}}(?:[,' \u00a0\u202f][0-9]{{3}})+(?:\.[0-9]*)?)"
    r"(\s*)([%‰°µμA-Za-z][A-Za-z0-9µμ°/^.*%·-]{0,11})?"
)
_SEPARATED = re.compile(r"[,' \u00a0\u202f]")
_DIGIT = re.compile("[0-9]")
_MOST_ODD, _NUMBERS = 5, 0.5


def plain_number(text: str) -> bool:
    """Whether a text is a number in the usual spelling."""
    return _NUMBER.fullmatch(text) is not None


def spelled_numbers(cells: Sequence[str | None]) -> tuple[NDArray[np.float64], str] | None:
    """The numbers of a column in which all cells are numbers with the same unit or none.

    Parameters
    ----------
    cells : sequence of str
        None where missing.

    Returns
    -------
    values : (n_rows,) float64
        NaN where missing.
    what : str
        What was left out, for a note. None in place of both if the column is of another kind, or
        if a comma may be a decimal mark as well as a separator of thousands.

    Examples
    --------
    >>> spelled_numbers(["5 mg", None, "7.5 mg"])
    (array([5. , nan, 7.5]), "the unit 'mg'")
    >>> spelled_numbers(["1,234,567", "950"])[0], spelled_numbers(["1,234", "2,345"])
    (array([1.234567e+06, 9.500000e+02]), None)
    """
    meaning: dict[str, float] = {}
    units: Counter[str] = Counter()
    grouped, sure = False, False
    for text in {cell for cell in cells if cell is not None}:
        found = _WITH_UNIT.fullmatch(text)
        if found is None:
            return None
        number, blank, unit = found[1], found[2], found[3] or ""
        # `3b` may be a stage, `2e` half a number, and `0x10` one of another base.
        if unit and not blank and unit not in "%‰°" and (len(unit) == 1 or _DIGIT.search(unit)):
            return None
        if unit:
            units[unit] += 1
        if _SEPARATED.search(number):
            grouped = True
            sure = sure or number.count(",") != 1 or "." in number
        else:
            sure = sure or "." in number or len(number) < 4
        meaning[text] = float(_SEPARATED.sub("", number))
    if not meaning or len(units) > 1 or not (units or grouped) or (grouped and not sure):
        return None
    values = np.array([np.nan if cell is None else meaning[cell] for cell in cells])
    parts = [f"the unit {unit!r}" for unit in units]
    return values, " and ".join(parts + ["separators of thousands"] * grouped)


def odd_cells(times: Counter[str]) -> tuple[tuple[str, int], ...]:
    """The few spellings that are no numbers in a column of numbers, with how often they occur.

    >>> odd_cells(Counter({"1.5": 3, "2": 2, "n.d.": 2, "<0.01": 1}))
    (('n.d.', 2), ('<0.01', 1))
    >>> odd_cells(Counter({"a": 3, "b": 2, "1": 1}))
    ()
    """
    odd = {text: n for text, n in times.items() if _WITH_UNIT.fullmatch(text) is None}
    numbers = sum(times.values()) - sum(odd.values())
    different = len(times) - len(odd)
    if not odd or len(odd) > _MOST_ODD or different < 2 or numbers < _NUMBERS * sum(times.values()):
        return ()
    return tuple(sorted(odd.items(), key=lambda pair: (-pair[1], pair[0])))
