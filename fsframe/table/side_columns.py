"""Columns other than features: times, covariates, survival times; and sets of features."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import DataError
from fsframe.table.arrays import freeze
from fsframe.table.column_kinds import days_of
from fsframe.table.spelling.column_names import CENSORING, TECHNICAL, name_words
from fsframe.text import counted, did_you_mean

_LEVELS, _PARTS, _MOST_CODES = 10, 5, 24


@attrs.frozen(kw_only=True, eq=False)
class SideColumns:
    """Columns other than features: times or covariates.

    Parameters
    ----------
    names : tuple of str
    values : (n_samples, n_columns) float64, finite
    nominal : (n_columns,) bool
        Columns whose numbers are codes of categories.
    handled : bool
        For covariates: whether the resampling stage adjusts for them, so that the stages it
        resamples need not.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64] = attrs.field(repr=False)
    nominal: NDArray[np.bool_] = attrs.field(repr=False)
    handled: bool = False

    @classmethod
    def of(
        cls,
        columns: Mapping[str, NDArray[Any]],
        nominal: Sequence[bool],
        what: str,
    ) -> SideColumns:
        """The columns, checked; text is treated as categories.

        Raises
        ------
        DataError
            If a value is missing or infinite.
        """
        kept, is_nominal = [], list(nominal)
        for place, (name, given) in enumerate(columns.items()):
            try:
                values = np.asarray(given, dtype=np.float64)
            except (TypeError, ValueError):
                texts = np.array([str(value) for value in np.asarray(given).tolist()])
                values = np.unique(texts, return_inverse=True)[1].astype(np.float64)
                values[(texts == "") | (texts == "nan") | (texts == "None")] = np.nan
                is_nominal[place] = True
            wrong = np.flatnonzero(~np.isfinite(values))
            if wrong.size:
                raise DataError(
                    f"{what} {name!r}: missing or infinite in {counted(wrong.size, 'row')}, the "
                    f"first in row {wrong[0] + 1}; every row needs a value: fill in "
                    "these cells, or leave out their rows or the column"
                )
            kept.append(values)
        table = freeze(np.stack(kept, axis=1))
        return cls(names=tuple(columns), values=table, nominal=np.array(is_nominal, dtype=bool))

    def take_rows(self, rows: NDArray[np.intp]) -> SideColumns:
        """Only these rows, in this order."""
        return attrs.evolve(self, values=freeze(self.values[rows]))

    def tobytes(self) -> bytes:
        """Bytes that identify the content of these columns, without their names."""
        return self.values.astype("<f8").tobytes() + self.nominal.tobytes()

    def take_columns(self, wanted: NDArray[np.bool_]) -> SideColumns:
        """Only the columns of this mask."""
        names = tuple(name for name, taken in zip(self.names, wanted, strict=True) if taken)
        values = freeze(self.values[:, wanted])
        return attrs.evolve(self, names=names, values=values, nominal=self.nominal[wanted])

    def many_valued(self) -> NDArray[np.bool_]:
        """Mask of the numeric columns that have more than 10 distinct values, (n_columns,)."""
        levels = np.array([np.unique(values).size for values in self.values.T], dtype=np.int64)
        return ~self.nominal & (levels > _LEVELS)

    def names_that_determine(self, y: NDArray[Any]) -> list[str]:
        """Columns of few numbers, or of categories, with one label in all rows of each level.

        `y` is the label (n_samples,). O(n log n) for each column.
        """
        labels = np.unique(y, return_inverse=True)[1]
        found = []
        for column in np.flatnonzero(~self.many_valued()):
            values = self.values[:, column]
            pairs = np.unique(np.column_stack([values, labels]), axis=0)
            if len(pairs) == np.unique(values).size:
                found.append(self.names[column])
        return found

    def strata(self) -> NDArray[np.int64]:
        """Strata of rows that are equal in all columns, as codes (n_samples,).

        A numeric column with more than 10 distinct values is first cut at its quintiles.

        Examples
        --------
        >>> SideColumns.of({"sex": np.array(["m", "f", "m"])}, [True], "column").strata().tolist()
        [1, 0, 1]
        """
        codes = np.zeros(len(self.values), dtype=np.int64)
        for values, to_cut in zip(self.values.T, self.many_valued(), strict=True):
            level_codes = np.unique(values, return_inverse=True)[1]
            if to_cut:
                cuts = np.quantile(values, np.arange(1, _PARTS) / _PARTS)
                level_codes = np.searchsorted(cuts, values, side="left")
            codes = np.unique(codes * (level_codes.max() + 1) + level_codes, return_inverse=True)[1]
        return codes

    def design(self) -> NDArray[np.float64]:
        """Design matrix of a linear model, with an intercept first, as (n_samples, q).

        Numeric columns are centred and divided by their largest magnitude; a nominal column becomes
        an indicator for each of its levels but the first.
        """
        columns = [np.ones(len(self.values))]
        for values, nominal in zip(self.values.T, self.nominal, strict=True):
            if nominal:
                columns += [(values == level) * 1.0 for level in np.unique(values)[1:]]
                continue
            centred = values - values.mean()
            columns.append(centred / max(float(np.abs(centred).max()), 1e-300))
        return np.stack(columns, axis=1)


def numbers_as_codes(name: str, values: NDArray[Any]) -> str:
    """A warning about a covariate whose numbers are likely codes of batches; empty for others."""
    levels = np.unique(values)
    if not TECHNICAL & set(name_words(name)) or not 2 < len(levels) <= _MOST_CODES:
        return ""
    if (levels != np.round(levels)).any():
        return ""
    return (
        f"{name!r} is adjusted for as a number; if its numbers are codes, say so (--categorical "
        f"{name}, categorical={name!r})"
    )


def time_blocks(times: NDArray[np.float64]) -> NDArray[np.int64]:
    """The block of time of each row, as codes (n,); a block has about n^(1/3) rows.

    Rows of equal time are in one block.

    References
    ----------
    P. Bühlmann, H. Künsch 1999, Block length selection in the bootstrap for time series, Comput.
    Stat. Data Anal. 31:295–310: the order n^(1/3) for the variance of a mean.

    Examples
    --------
    >>> time_blocks(np.array([5.0, 1, 2, 3, 4, 6, 7, 8])).tolist()
    [2, 0, 0, 1, 1, 2, 3, 3]
    """
    n = len(times)
    length = max(1, round(n ** (1 / 3)))
    # Ties have the position of their first row.
    place = np.searchsorted(np.sort(times), times, side="left")
    blocks: NDArray[np.int64] = np.unique(place // length, return_inverse=True)[1].astype(np.int64)
    return blocks


def times_of_groups(times: NDArray[np.float64], groups: NDArray[Any]) -> NDArray[np.float64]:
    """Times of rows such that no cut between two times splits a group, as (n_samples,).

    Groups that overlap in time are merged, and so are groups that overlap with these; each row has
    the time at which its merged group begins. Groups one after another stay separate.

    Examples
    --------
    >>> times, batch = np.array([1.0, 2, 3, 4, 5, 6]), np.array([7, 7, 8, 9, 8, 9])
    >>> times_of_groups(times, batch).tolist()
    [1.0, 1.0, 3.0, 3.0, 3.0, 3.0]
    """
    names, code = np.unique(groups, return_inverse=True)
    first, last = np.full(names.size, np.inf), np.full(names.size, -np.inf)
    np.minimum.at(first, code, times)
    np.maximum.at(last, code, times)
    order = np.argsort(first, kind="stable")
    # A merged group can begin after the last row of all groups that began before.
    ended = np.maximum.accumulate(last[order])
    begins = np.append(True, first[order][1:] > ended[:-1])
    begun = np.empty(names.size)
    begun[order] = first[order][np.maximum.accumulate(np.where(begins, np.arange(names.size), 0))]
    whole: NDArray[np.float64] = begun[code]
    return whole


def feature_sets(groups: Mapping[str, Sequence[str]], names: Sequence[str]) -> NDArray[np.int64]:
    """Features that are kept or dropped together: a code for each set, −1 for the others.

    `groups` has the features of each set by its name. DataError lists unknown features, and those
    in two sets.
    """
    place = {name: column for column, name in enumerate(names)}
    codes = np.full(len(names), -1, dtype=np.int64)
    unknown, twice = [], []
    for code, members in enumerate(groups.values()):
        for name in dict.fromkeys(members):
            if name not in place:
                unknown.append(name)
            elif codes[place[name]] >= 0:
                twice.append(name)
            else:
                codes[place[name]] = code
    if unknown:
        raise DataError(
            f"feature groups name {len(unknown)} columns that are not features: "
            f"{', '.join(map(repr, unknown[:5]))}{did_you_mean(unknown[0], names)}; a line of a "
            "file of groups is `feature,group`"
        )
    if twice:
        raise DataError(
            f"features in two groups: {', '.join(map(repr, twice[:5]))}; a feature is kept or "
            "dropped with one group only"
        )
    return freeze(codes)


LABELS = {
    "classification": "classes",
    "regression": "a numeric target",
    "survival": "times until an event",
}
"""Words for the label of a table, by its task."""


def days_of_texts(values: Any, name: str) -> NDArray[Any]:
    """A column of times, in which dates as text become days since 1970-01-01, NaN where missing.

    Numbers stay as they are. DataError if a text is not a date.
    """
    given = np.asarray(values)
    if given.dtype.kind not in "OU":
        return given
    texts = ["" if value is None else str(value).strip() for value in given.tolist()]
    days = [days_of(text) if text else np.nan for text in texts]
    if None in days:
        raise DataError(
            f"time {name!r}: {texts[days.index(None)]!r} is neither a number nor a date, which is "
            "written as 2024-12-31"
        )
    return np.array(days, dtype=np.float64)


_SEEN = frozenset({
    "1", "event", "dead", "deceased", "died", "death", "relapse", "relapsed", "recurrence",
    "recurred", "recur", "progression", "progressed", "failure", "failed", "observed",
    "uncensored", "yes", "true",
})  # fmt: skip
_CENSORED = frozenset({
    "0", "censored", "alive", "living", "survived", "no event", "no relapse", "no recurrence",
    "nonrecur", "no progression", "disease free", "event free", "none", "no", "false",
})  # fmt: skip
DOUBTED_EVENTS = "is it the other way round, as its name says?"
"""Part of the note on a column of events whose name denies what 1 means."""
_NUMBERED = re.compile(r"([01])\s*[:=-]\s*\S.*")


def event_levels(levels: Iterable[str]) -> dict[str, float] | None:
    """The meaning of each level of a column of events: 1 is the event, 0 is censored.

    1 and 2 are censored and event, as in R's ``Surv``. None if the levels are not understood.

    >>> event_levels(["alive", "Dead"]), event_levels(["0:LIVING", "1:DECEASED"])
    ({'alive': 0.0, 'Dead': 1.0}, {'0:LIVING': 0.0, '1:DECEASED': 1.0})
    >>> event_levels(["1", "2"]), event_levels(["a", "b"])
    ({'1': 0.0, '2': 1.0}, None)
    """
    found: dict[str, float] = {}
    texts = list(levels)
    if sorted(texts) == ["1", "2"]:
        return {"1": 0.0, "2": 1.0}
    for text in texts:
        word = re.sub(r"[\s_-]+", " ", text.strip().lower())
        numbered = _NUMBERED.fullmatch(text.strip())
        if numbered:
            found[text] = float(numbered[1])
        elif word in _SEEN or word in _CENSORED:
            found[text] = float(word in _SEEN)
        else:
            return None
    return found if len(set(found.values())) == len(texts) else None


def events_of(
    values: NDArray[Any], levels: Sequence[str] | None, name: str
) -> tuple[NDArray[Any], str]:
    """A column of events as 1 and 0, and a note if it holds something else.

    Parameters
    ----------
    values : (n_samples,) array
        Numbers, codes of `levels`, or texts; NaN, None or empty where missing.
    levels : sequence of str, optional
    name : str
        Of the column, for messages.

    Returns
    -------
    seen : (n_samples,) array
        NaN where missing; numbers other than 1 and 2 as they are.
    note : str
        Also where the name says the opposite of what 1 means.

    Raises
    ------
    DataError
        If the texts or levels are not understood.
    """
    opposite = bool(CENSORING.intersection(name_words(name)))
    doubt = f"; {DOUBTED_EVENTS} Then swap them in the file" * opposite
    if levels is not None:
        texts = ["" if value != value else levels[int(value)] for value in values.tolist()]
    elif values.dtype.kind in "OU":
        texts = [str(value or "").strip() for value in values.tolist()]
    elif set(values[values == values].tolist()) == {1, 2}:
        return values - 1.0, f"events {name!r}: 2 is an event, 1 is censored{doubt}"
    else:
        return values, f"events {name!r}: 1 is an event, 0 is censored{doubt}" * opposite
    found = sorted({*texts} - {""})
    meaning = event_levels(found)
    if meaning is None:
        raise DataError(
            f"events {name!r} must be 1 (observed) or 0 (censored), or words such as dead and "
            f"alive, not {', '.join(map(repr, found[:3]))}"
        )
    said = [f"{text!r} is {'an event' if meaning[text] else 'censored'}" for text in found]
    plain = {"0", "1"}.issuperset(found)
    doubt *= plain or {"yes", "no", "true", "false"}.issuperset(map(str.lower, found))
    note = "" if plain and not doubt else f"events {name!r}: {', '.join(said)}{doubt}"
    return np.array([meaning.get(text, np.nan) for text in texts]), note


def signed_times(
    time: ArrayLike, event: ArrayLike, label: str = "time", flag: str = "event"
) -> NDArray[np.float64]:
    """Times and events as one signed number per row, as a table stores them.

    Parameters
    ----------
    time : (n,) numbers ≥ 0, finite
    event : (n,) 0 or 1, or truth values
        Whether the event was observed at that time; otherwise the time is censored.
    label, flag : str
        Their names in messages.

    Returns
    -------
    (n,) float64
        Negative if censored.

    Raises
    ------
    DataError
        If a time is negative or not finite, an event is neither 0 nor 1, or no event is observed.

    >>> signed_times([2, 5, 0], [1, 0, 0]).tolist()
    [2.0, -5.0, -0.0]
    """
    try:
        times = np.asarray(time, dtype=np.float64)
        seen = np.asarray(event, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"the label {label!r} and the events {flag!r} must be numbers: times, and 1 if the "
            "event was observed, 0 if the time is censored"
        ) from None
    if times.shape != seen.shape:
        raise DataError(f"{len(seen)} events {flag!r} for {len(times)} times {label!r}")
    wrong = np.flatnonzero(~(np.isfinite(times) & (times >= 0)))
    if wrong.size:
        row = int(wrong[0])
        raise DataError(f"times {label!r} must be numbers ≥ 0; row {row + 1} has {times[row]:g}")
    odd = np.flatnonzero((seen != 0) & (seen != 1))
    if odd.size:
        row = int(odd[0])
        what = "is empty" if np.isnan(seen[row]) else f"has {seen[row]:g}"
        raise DataError(
            f"events {flag!r} must be 1 (observed) or 0 (censored); row {row + 1} {what}"
        )
    if not seen.any():
        raise DataError(f"no event is observed in {flag!r}: every time is censored")
    return np.copysign(times, np.where(seen == 1, 1.0, -1.0))


def times_and_events(y: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Times and events from signed numbers.

    >>> [part.tolist() for part in times_and_events(np.array([2.0, -5.0, -0.0]))]
    [[2.0, 5.0, 0.0], [True, False, False]]
    """
    return np.abs(y), ~np.signbit(y)
