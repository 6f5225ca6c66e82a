"""What the columns of a table are likely to be: the label, identifiers, covariates, free text.

Commands, `fsframe.read` and data frames guess here, so that they guess alike.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.table.column_kinds import (
    OTHER_DATE,
    answers_in,
    as_ordinal,
    days_of,
    ordered_levels,
)
from fsframe.table.guesses.column_facts import ColumnFacts, Contents
from fsframe.table.guesses.label_guess import (
    Covariate,
    adjusted_for,
    covariates_of,
    is_likely_label,
    looks_like_event,
    looks_like_identifier,
    looks_like_split,
    stretches_of_time,
)
from fsframe.table.spelling.column_names import (
    CODES,
    PERSONAL,
    TECHNICAL,
    is_never_zero,
    is_outcome_name,
    name_words,
    names_people,
    names_samples,
    names_sources,
    names_time_alone,
    names_times,
    says_unknown,
    times_and_events,
)

_YES_OR_NO = frozenset({"yes", "no", "true", "false"})
_MANY, _CLASSES, _FEWEST_ROWS, _MOST_LEVELS = 20, 10, 20, 12


def column_keys(contents: Contents) -> tuple[str | int, ...]:
    """Keys of the columns: names, or positions where a name is ambiguous or looks like one."""
    names = [column.name for column in contents.columns]
    times = Counter(names)
    return tuple(
        name
        if contents.table.named
        and name
        and times[name] == 1
        and "," not in name
        and not name.strip().lstrip("-").isdigit()
        else column
        for column, name in enumerate(names)
    )


# Columns with fewer different values hold classes or levels, unless they are named after people.
_FEWEST_NAMES = 8
_NO_CLASS = (-9, -99, -999, -9999)
_LAST_WORD = re.compile(r"[^_.:=\s-]+$")

_DATE = re.compile("(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")
_GENOTYPE = re.compile(r"[ACGTDI][ /|]?[ACGTDI]")
_NO_GENOTYPE = frozenset({"0 0", "0/0", "00", "./.", "--", "-/-", "NN", "N/N", "N N"})
_COUNTS = frozenset({"count", "counts", "freq", "frequency"})

_FORMS = {
    "two numbers in a cell: give each a column in the file, or leave them out": re.compile(
        r"[0-9]+(?:[.,][0-9]+)?\s*(?:/|-|–|to)\s*[0-9]+(?:[.,][0-9]+)?"
    ),
    "a number with its error or range: keep the number in the file, or leave them out": re.compile(
        r"-?[0-9.,]+\s*(?:±|\+/-)\s*[0-9.,]+|-?[0-9.,]+\s*[(\[][^()\[\]]+[)\]]"
    ),
    "dates in another form: write them as 2024-12-31 in the file, or leave them out": OTHER_DATE,
    "times of day: write them as 14:30 in the file, or leave them out": re.compile(
        r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:\s*[AaPp]\.?[Mm]\.?)?"
    ),
}
"""Forms of cells that are not free text, each with advice as its key."""


class Guesses:
    """The columns of a table besides the label, classified by the question that each raises.

    Parameters
    ----------
    contents : Contents
    label : int
        The column of the label.
    skip : set of int
        Columns that are left out, or have another role.
    dates : bool
        Whether dates become days, so that no question about them is left.

    Notes
    -----
    An identifier counts the rows, or differs in every row and is text or has an identifier's name
    (``id``, ``nr``, …). A column identifies groups of rows if it has at least two rows per value on
    average, and four different values and the name of people (patient, subject, …); or if it has
    eight different values and is called an ``id`` and has √n values, or has one label per value, or
    is text that occurs once at each of several times (year, visit, …). Other whole numbers called
    an ``id`` are categories. Free text is wordy, or has more than half as many values as rows.
    """

    def __init__(
        self, contents: Contents, label: int, skip: set[int], *, dates: bool = False
    ) -> None:
        self.contents = contents
        self.label = label
        self.names = tuple(column.name for column in contents.columns)
        self.keys = column_keys(contents)
        taken = self._taken = skip | {label}
        self.free_names = [name for k, name in enumerate(self.names) if k not in taken]
        beside = {k: contents.columns[k] for k in contents.table.annotations}
        aside = taken | beside.keys()
        rest = {k: c for k, c in enumerate(contents.columns) if k not in aside}

        def taken_out(columns: Iterable[int]) -> list[int]:
            """The columns, about which nothing else is asked."""
            found = [*columns]
            for k in found:
                rest.pop(k, None)
            return found

        n = contents.n_rows
        self.identifiers = taken_out(k for k, c in rest.items() if looks_like_identifier(c, n))
        whose = rest | {k: c for k, c in beside.items() if k not in taken}
        self.people = taken_out(k for k, c in whose.items() if self._identifies_groups(k, c))
        self.beside = sorted(beside)
        self.dates = [k for k, c in rest.items() if c.kind == "date" and not dates]
        first = {name: k for k, name in reversed([*enumerate(self.names)])}
        self.twice = taken_out(k for k, c in rest.items() if first[c.name] != k)
        self.stretches = taken_out(k for k in stretches_of_time(contents.columns) if k in rest)
        self.divides = [k for k, c in rest.items() if looks_like_split(c)]
        self.recoded = [k for k, c in rest.items() if self._is_recoded(k, c)]
        taken_out((*self.divides, *self.recoded))
        self.indicators = taken_out(self._indicators(rest))
        self.scales = self._scales(rest)
        self.odd = [k for k, c in rest.items() if c.odd and k not in self.scales]
        texts = sorted({k for k, c in rest.items() if c.kind == "text"} - {*self.odd, *self.scales})
        self.prose = [
            k
            for k in texts
            if (2 * rest[k].different > contents.n_rows > _MANY or rest[k].wordy)
            and not is_likely_label(rest[k])
        ]
        # The types of other columns say what they are.
        untyped = rest.keys() - contents.typed
        self.texts = [k for k in texts if k not in self.prose and k in untyped]
        self.scales = {k: order for k, order in self.scales.items() if k in untyped}
        self.empty = [k for k, c in rest.items() if c.kind == "empty"]
        self.counts = [
            k
            for k, c in rest.items()
            if c.kind == "whole number" and c.name.strip().lower() in _COUNTS and c.low >= 0
        ]
        whole = {k: c for k, c in rest.items() if c.kind == "whole number"}
        codes = {k: c for k, c in whole.items() if CODES & set(name_words(c.name))}
        self.numbered_dates = [
            k for k, c in whole.items()
            if c.different > 2 and all(_DATE.fullmatch(f"{end:.0f}") for end in (c.low, c.high))
        ]  # fmt: skip
        self.many_codes = [k for k, c in codes.items() if c.different > _MANY]
        self.named = [
            k
            for k, c in whole.items()
            if (k in codes or names_sources(c.name)) and k not in self.many_codes
        ]
        self.constant = [k for k, c in rest.items() if c.constant]
        self.coded = [k for k, c in rest.items() if c.codes]
        self.gaps = [k for k, c in rest.items() if c.missing and c.kind != "empty"]
        self._rest = rest

    def _scales(self, rest: Mapping[int, ColumnFacts]) -> dict[int, tuple[str, ...]]:
        """The columns of text whose levels have an order, and that order."""
        orders = {
            k: ordered_levels(self.contents.levels(k))
            for k, c in rest.items()
            if c.kind == "text" and c.different <= _MOST_LEVELS and self.contents.at_hand(k)
        }
        return {k: order for k, order in orders.items() if order}

    @cached_property
    def several(self) -> dict[tuple[str, ...], list[int]]:
        """The columns of text whose cells list one or several answers, by the possible answers."""
        columns: dict[tuple[str, ...], list[int]] = {}
        for k in sorted((*self.texts, *self.prose)):
            if self.contents.at_hand(k) and (answers := answers_in(self.contents.levels(k))):
                columns.setdefault(answers, []).append(k)
        return columns

    @property
    def iso_dates(self) -> list[int]:
        """The columns of dates that can be converted to days."""
        cells = {k: self.contents.columns[k].examples for k in self.dates}
        return [k for k in self.dates if all(days_of(text) is not None for text in cells[k])]

    def prose_by_form(self) -> dict[str, list[int]]:
        """The columns of `prose`, and of dates that cannot be converted, by the form of cells."""
        forms: dict[str, list[int]] = {}
        told = {k for columns in self.several.values() for k in columns}
        for k in sorted({*self.prose, *self.dates} - {*self.iso_dates, *told}):
            cells = self.contents.columns[k].examples
            what = next(
                (
                    what
                    for what, form in _FORMS.items()
                    if cells and all(map(form.fullmatch, cells))
                ),
                "free text",
            )
            forms.setdefault(what, []).append(k)
        return forms

    @cached_property
    def covariates(self) -> list[Covariate]:
        """Columns that describe people, or how samples were taken, the most confounded first."""
        able = [k for k in self._rest if k not in (*self.dates, *self.prose, *self.constant)]
        able += [k for k in self.beside if k not in (*self._taken, *self.people)]
        return covariates_of(self.contents, able, self.label)

    def _identifies_groups(self, k: int, column: ColumnFacts) -> bool:
        """Whether a column identifies groups of rows (see the notes of the class)."""
        n = self.contents.n_rows
        if column.kind not in ("text", "whole number") or column.missing:
            return False
        if column.different <= n // 2 and names_people(column.name, column.different):
            return True
        if not _FEWEST_NAMES <= column.different <= n // 2:
            return False
        if names_sources(column.name) and column.different**2 >= n:
            return True
        few_labels = self.contents.columns[self.label].different <= _MANY
        if column.kind != "text" and not few_labels:
            return False
        codes = self.contents.codes(k)
        if column.kind == "text" and self._recurs_over_time(codes):
            return True
        if not few_labels:
            return False
        of_label = self._classes[0]
        mark = np.zeros(column.different, dtype=of_label.dtype)
        mark[codes] = of_label
        if not (mark[codes] == of_label).all():
            return False
        # Numeric identifiers of groups come in runs, and rows are not sorted by the label.
        runs = int(np.count_nonzero(np.diff(codes))) + 1 == column.different
        turns = (
            int(np.count_nonzero(np.diff(mark))) > self.contents.columns[self.label].different - 1
        )
        return column.kind == "text" or (runs and turns)

    @cached_property
    def _times(self) -> list[int]:
        """The columns whose names say when a row was measured."""
        return [
            k
            for k, column in enumerate(self.contents.columns)
            if names_times(column.name) and not column.missing and self.contents.at_hand(k)
        ]

    def _recurs_over_time(self, codes: NDArray[np.int64]) -> bool:
        """Whether each code occurs at most once at each of several times, like countries by year.

        At least half of all pairs of a code and a time must occur.
        """
        n, seen = self.contents.n_rows, int(codes.max()) + 1
        for k in self._times:
            times = self.contents.columns[k].different
            if times > 1 and 2 * n >= seen * times:
                pairs = codes * times + self.contents.codes(k)
                if len(np.unique(pairs)) == n:
                    return True
        return False

    def _is_recoded(self, k: int, column: ColumnFacts) -> bool:
        """Whether a column has one value for each class: another form of the label."""
        described = (TECHNICAL | PERSONAL) & set(name_words(column.name))
        if column.missing or described or not 2 <= column.different <= _CLASSES:
            return False
        few = self.contents.columns[self.label].different <= 2 * _CLASSES
        if self.contents.n_rows < _FEWEST_ROWS or not few or not self.contents.at_hand(k):
            return False
        of_label, classes = self._classes
        if column.different != len(classes):
            return False
        known = of_label >= 0
        pairs = self.contents.codes(k)[known] * len(classes) + of_label[known]
        return len(np.unique(pairs)) == len(classes)

    def _indicators(self, rest: Mapping[int, ColumnFacts]) -> list[int]:
        """Columns that hold the other classes, if each class is a column of 0 and 1.

        Their names begin like the label's, and in each row either one of them or the label is 1.
        """
        label = self.contents.columns[self.label]
        begin = _LAST_WORD.sub("", label.name)
        if (label.low, label.high, label.different, label.missing) != (0, 1, 2, 0) or not begin:
            return []
        alike = [
            k
            for k, c in rest.items()
            if (c.low, c.high, c.different, c.missing) == (0, 1, 2, 0) and c.name.startswith(begin)
        ]
        if len(alike) < 2 or not all(map(self.contents.at_hand, alike)):
            return []
        total = self.contents.codes(self.label) + sum(map(self.contents.codes, alike))
        return alike if (total == 1).all() else []

    @cached_property
    def later(self) -> list[int]:
        """Columns whose names tell an outcome, and which are not covariates."""
        beside = {c.column for c in self.covariates}
        timed = {time for time, _ in times_and_events(self.names)}
        label = self.contents.columns[self.label]
        # With a label such as recur and nonrecur, a time is that until it happened.
        ends = label.kind == "text" and looks_like_event(label)
        ends = ends and not _YES_OR_NO & {text.lower() for text in label.examples}
        return [
            k
            for k, c in self._rest.items()
            if k not in beside and k not in self.prose
            if is_outcome_name(c.name, endpoint=c.different <= 2 or k in timed)
            or (ends and names_time_alone(c.name))
        ]

    @cached_property
    def no_classes(self) -> list[str]:
        """Classes of the label whose names mean that the value is missing."""
        column = self.contents.columns[self.label]
        if column.kind != "text" or not 2 < column.different <= 2 * _CLASSES:
            return []
        return [name for name in self._classes[1] if says_unknown(name)]

    @cached_property
    def label_codes(self) -> list[tuple[float, int]]:
        """Codes for missing values in a label of numbers, with how often they occur.

        These are extreme values, and -9, -99, … if no other class is negative.
        """
        column = self.contents.columns[self.label]
        if not self.contents.table.takes_codes:
            return []
        few = 2 < column.different <= 2 * _CLASSES
        if column.codes or not (few and column.low in _NO_CLASS):
            return [*column.codes]
        lowest, *others = map(float, self.contents.levels(self.label))
        times = int((self.contents.codes(self.label) == 0).sum())
        return [(lowest, times)] if min(others) >= 0 else []

    @cached_property
    def _classes(self) -> tuple[NDArray[np.int64], list[str]]:
        return self.contents.classes(self.label)

    def long_form(self) -> tuple[int, ...]:
        """The columns of subjects, of measurements and perhaps of times, if a row is a measurement.

        Each combination of their values then occurs exactly once. Empty if a row is a subject.
        """
        if not self.people:
            return ()
        columns, n = self.contents.columns, self.contents.n_rows
        whose = self.people[0]
        what = [k for k in self.texts if columns[k].different >= 3 and not columns[k].missing]
        for found in ((whose, k, *t) for k in what for t in ((), *((t,) for t in self._times))):
            if math.prod(columns[k].different for k in found) == n:
                codes = np.stack([self.contents.codes(k) for k in found])
                if len(np.unique(codes, axis=1).T) == n:
                    first, second, *times = found
                    turned = names_samples(self.names[second])
                    turned = turned and not names_samples(self.names[first])
                    return (second, first, *times) if turned else found
        return ()

    @property
    def left_out(self) -> list[int]:
        """Columns that cannot be features.

        One that is likely to be a label is not among them, unless it is another form of the label.
        """
        out = set[int]().union(
            self.identifiers, self.dates, self.numbered_dates, self.prose, self.many_codes,
            self.empty, self.people[1:], self.twice, self.divides, self.stretches,
        )  # fmt: skip
        columns = self.contents.columns
        out = {k for k in out - set(self.beside) if not is_likely_label(columns[k])}
        return sorted(out | {*self.recoded, *self.indicators})

    @cached_property
    def no_genotypes(self) -> dict[str, list[int]]:
        """The columns of genotypes in letters, by their code for an unknown genotype."""
        columns: dict[str, list[int]] = {}
        for k in self.texts:
            if 2 < self.contents.columns[k].different <= _CLASSES and self.contents.at_hand(k):
                others = [text for text in self.contents.levels(k) if not _GENOTYPE.fullmatch(text)]
                if len(others) == 1 and others[0] in _NO_GENOTYPE:
                    columns.setdefault(others[0], []).append(k)
        return columns

    @cached_property
    def zeros(self) -> dict[int, int]:
        """The number of zeros in each column of a quantity that is above zero in living people."""
        return {
            k: int((self.contents.codes(k) == 0).sum())
            for k, column in self._rest.items()
            if column.low == 0 and column.different > _CLASSES and is_never_zero(column.name)
        }

    def missing_codes(self, known: Collection[int]) -> list[str]:
        """Likely codes of missing values: texts in columns of numbers, and extreme values.

        A feature's extreme value that is within the range of another column is not one.
        """
        columns = self.contents.columns
        codes = [text for k in self.odd if k not in known for text, _ in columns[k].odd]
        codes += [*self.no_genotypes, *(f"{code:g}" for code, _ in self.label_codes)]
        extremes = [code for k in self.coded for code, _ in columns[k].codes]
        alone = (code for code in extremes if code not in self.answer_codes)
        codes += [f"{code:g}" for code in alone if not self._within(code)]
        if not self.answer_conflicts:
            codes += [f"{code:g}" for code in self.answer_codes]
        return list(dict.fromkeys(codes))

    def _within(self, code: float) -> list[str]:
        """The columns that may well hold a number, since it is within their range."""
        others = (c for k, c in self._rest.items() if k not in self.answer_columns)
        return [c.name for c in others if c.low < code < c.high]

    @cached_property
    def answer_columns(self) -> list[int]:
        """The columns of scales with several codes of missing answers, such as 77, 88 and 99."""
        columns = self.contents.columns
        return [
            k for k in self.coded
            if len(columns[k].codes) > 1 and all(code > 0 for code, _ in columns[k].codes)
        ]  # fmt: skip

    @cached_property
    def answer_codes(self) -> list[float]:
        """The codes of missing answers in all columns."""
        return sorted(
            {code for k in self.answer_columns for code, _ in self.contents.columns[k].codes}
        )

    @cached_property
    def answer_conflicts(self) -> list[str]:
        """The other columns that may well hold the codes of missing answers as values."""
        return list(
            dict.fromkeys(name for code in self.answer_codes for name in self._within(code))
        )

    def suggested(
        self,
        options: Mapping[str, Any],
        group: int | None = None,
        known: Iterable[int] = (),
        adjusting: bool = True,
    ) -> dict[str, Any]:
        """The given arguments of `read`, with suggested ones added.

        `group` is the column of groups that `options` names; `known` are columns whose kind they
        declare. Without `adjusting`, which few methods can do, technical columns of text are
        dropped.
        """
        arguments, known = dict(options), set(known)
        grouped = group is not None or bool(self.people)
        if group is None and self.people:
            arguments["groups"] = self.keys[self.people[0]]
        out = [k for k in self.left_out if k not in known]
        if group is not None:
            out += [k for k in self.people[:1] if k not in self.beside]
        nominal = [k for k in (*self.texts, *self.named) if k not in known]
        adjust, aside = list[int](), list[int]()
        if "adjust" not in options:
            depend = grouped or "time" in options
            adjust, aside = adjusted_for(self.contents, self.covariates, known, depend)
            if not adjusting:
                technical = {c.column for c in self.covariates if c.technical} - known
                adjust, aside = [], sorted(technical & {*self.texts})
            if adjust:
                arguments["adjust"] = [self.names[k] for k in adjust]
            out += [k for k in aside if k not in out and k not in self.beside]
            nominal = [k for k in nominal if k not in (*adjust, *aside)]
            # Numbers of batches and centres have no order.
            kinds = {c.column: self.contents.columns[c.column].kind for c in self.covariates
                     if c.technical}  # fmt: skip
            nominal += [k for k in adjust if kinds.get(k) == "whole number"]
        codes = [code for code in self.missing_codes(known) if code not in arguments.get("na", ())]
        if codes and self.contents.table.takes_codes:
            arguments["na"] = [*arguments.get("na", ()), *codes]
        if out:
            arguments["drop"] = [*arguments.get("drop", ()), *(self.keys[k] for k in out)]
        gaps = self.contents.columns[self.label].missing or self.label_codes
        if gaps and self.contents.table.leaves_rows_out:
            arguments.setdefault("missing_label", "drop")
        taken = {*known, *adjust, *aside}
        if scales := {self.keys[k]: order for k, order in self.scales.items() if k not in taken}:
            arguments["ordinal"] = as_ordinal(arguments.get("ordinal")) | scales
        texts = [self.keys[k] for k in nominal]
        if texts and not isinstance(arguments.get("categorical"), bool):
            arguments["categorical"] = [*arguments.get("categorical", ()), *texts]
        if "event" not in arguments and "task" not in arguments and self._is_quantity:
            arguments["task"] = "regression"
        return arguments

    @property
    def is_whole(self) -> bool:
        """Whether the label holds whole numbers."""
        return self.contents.columns[self.label].kind == "whole number"

    @property
    def _is_quantity(self) -> bool:
        """Whether the label holds too many different whole numbers to be classes.

        That is more than ten if one of them is in a single row, or more than twenty if each is in
        fewer than ten rows on average.
        """
        column = self.contents.columns[self.label]
        if column.kind != "whole number" or column.different <= _CLASSES:
            return False
        codes = self.contents.codes(self.label)
        alone = bool((np.bincount(codes[codes >= 0]) == 1).any())
        return alone or (column.different > _MANY and self.contents.n_rows < 10 * column.different)
