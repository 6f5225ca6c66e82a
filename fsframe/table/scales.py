"""Levels of text that have an order, and cells that hold several answers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection
from itertools import pairwise

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
