"""Guess which column is the label, and which are identifiers or covariates."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.guesses.column_facts import ColumnFacts, Contents
from fsframe.table.side_columns import event_levels
from fsframe.table.spelling.column_names import (
    ABOUT_FEATURES,
    CONSECUTIVE,
    EVENTS,
    FACTORS,
    LABEL_WORDS,
    OF_FEATURES,
    PERSONAL,
    QUANTITIES,
    STARTS,
    STOPS,
    TECHNICAL,
    USUAL_LABELS,
    is_outcome,
    is_target,
    is_usual_label,
    name_words,
    names_people,
    names_sources,
    times_and_events,
)
from fsframe.table.spelling.text_file import is_number

_IDENTIFIER = re.compile(
    r"(^|.*[\W_])(id|ids|index|idx|nr|no|uuid|guid|barcode|seqn|seqno)$|.*[a-z]I[Dd]$"
)
_MEASURED_TEXT = re.compile(r"[0-9]+(?:\.[0-9]+)?\s*[/:]\s*[0-9]+(?:[.:][0-9]+)?")
_FEW, _MANY, _FEWEST_ROWS, _NEIGHBOURS = 10, 20, 8, 10
_NO_COUNT = 100_000


@attrs.frozen(kw_only=True)
class LabelGuess:
    """The column that is probably the label.

    Parameters
    ----------
    place : int
    doubts : tuple of str
        Why another column may be meant.
    sure : bool
        Whether a command may take it without being told.
    pair : (int, int), optional
        Columns of times and of whether they ended with an event. The label is the time, or the
        event if it is not coded as 1 and 0; the other one is not a feature.
    of_samples : bool
        Whether the first column names genes or the like, so that the guess is a sample, not a
        label.
    """

    place: int
    doubts: tuple[str, ...] = ()
    sure: bool = True
    pair: tuple[int, int] | None = None
    of_samples: bool = False


def is_likely_label(column: ColumnFacts) -> bool:
    """Whether a column has the name and the few values of a label."""
    if is_usual_label(column.name):
        return column.different > 1
    return 2 <= column.different <= _FEW and bool(LABEL_WORDS & set(name_words(column.name)))


def time_and_event(columns: Sequence[ColumnFacts]) -> tuple[int, int] | None:
    """Neighbouring columns of times and of whether these ended with an event; None without any.

    Their names say so. The times have many values; the events have two, or three if there are
    events of two kinds, or one if all were seen.
    """
    for time, event in times_and_events([column.name for column in columns]):
        lasts = columns[time]
        timed = lasts.kind in ("number", "whole number") and lasts.different > _FEW
        kinds = columns[event].different
        if timed and (kinds in (2, 3) or (kinds == 1 and looks_like_event(columns[event]))):
            return time, event
    return None


def stretches_of_time(columns: Sequence[ColumnFacts]) -> list[int]:
    """Neighbouring columns in which the time that a row covers starts and stops; empty if none.

    Another column has to tell events: a person has several rows, up to the event.
    """
    words = [set(name_words(column.name)) for column in columns]
    if not any(words[k] & EVENTS and c.different in (2, 3) for k, c in enumerate(columns)):
        return []
    for k, (first, last) in enumerate(pairwise(columns)):
        named = words[k] & STARTS and words[k + 1] & STOPS
        numbers = {first.kind, last.kind} <= {"number", "whole number"}
        if named and numbers and first.low < last.low and first.high < last.high:
            return [k, k + 1]
    return []


def looks_like_event(column: ColumnFacts) -> bool:
    """Whether `--event` takes a column: 1 and 0, 2 and 1, or words such as dead and alive."""
    if column.kind == "two values":
        return (column.low, column.high) in ((0, 1), (1, 2))
    if column.kind == "whole number" and column.constant:
        return column.low == 1
    return column.different == 2 and event_levels(column.examples) is not None


def looks_like_identifier(column: ColumnFacts, n_rows: int) -> bool:
    """Whether a column counts the rows, or names every row differently."""
    if column.counts_rows:
        return True
    if n_rows < _FEWEST_ROWS or column.missing or column.different < n_rows:
        return False
    named = bool(_IDENTIFIER.match(column.name.strip().lower())) or column.name.endswith("ID")
    numbered = set(name_words(column.name)[-1:]) & {"number", "num", "nr", "no"}
    if numbered and column.kind == "whole number" and column.low >= 0:
        # So many numbers drawn at random from their range would hardly all differ; nor does a count
        # of anything have six digits in every row, and differ.
        dense = n_rows**2 > 30 * (column.high - column.low + 1)
        named = named or dense or column.low >= _NO_COUNT
    if set(name_words(column.name)) & CONSECUTIVE:
        named = named or column.high - column.low == n_rows - 1
    if column.kind == "text" and not named:
        # Numbers with a few odd cells, blood pressures and times of day may differ in every row.
        return not column.odd and not all(map(_MEASURED_TEXT.fullmatch, column.examples))
    return column.kind == "text" or (column.kind == "whole number" and named)


_PARTS_OF_A_TEST = frozenset({
    "train", "training", "test", "testing", "val", "valid", "validation", "dev", "holdout",
})  # fmt: skip


def looks_like_split(column: ColumnFacts) -> bool:
    """Whether a column says which rows train and which test, or in which fold a row is."""
    if column.kind == "text":
        few = 2 <= column.different <= len(column.examples)
        return few and {text.strip().lower() for text in column.examples} <= _PARTS_OF_A_TEST
    return column.kind == "whole number" and name_words(column.name)[-1:] in (["fold"], ["folds"])


def why_no_label(column: ColumnFacts, n_rows: int) -> str:
    """Why a column cannot be the label, in words; empty if it can."""
    if looks_like_identifier(column, n_rows):
        return "identifies the rows"
    if column.kind == "date":
        return "holds dates"
    if column.different <= 1:
        return "has one value only" if column.different else "is empty"
    if column.wordy and not is_likely_label(column):
        return "holds free text"
    if names_people(column.name, column.different):
        return "tells whose rows they are"
    if column.kind == "text" and names_sources(column.name):
        return "names what the rows were taken from"
    return ""


def looks_measured(kind: str, different: int, n_rows: int) -> bool:
    """Whether a column of numbers has so many different ones that it looks like a measurement.

    >>> looks_measured("number", 120, 120), looks_measured("whole number", 3, 120)
    (True, False)
    """
    if different > _MANY:
        return kind in ("number", "whole number")
    return kind == "number" and different > max(2, n_rows // 2)


def guess_label(
    columns: Sequence[ColumnFacts], n_rows: int, skip: Collection[int], what: object
) -> LabelGuess:
    """The column that is probably the label, and whether that is sure.

    Parameters
    ----------
    columns : sequence of ColumnFacts
    n_rows : int
    skip : collection of int
        Columns that are left out, or have another role.
    what : object
        Names the table in messages.

    Raises
    ------
    DataError
        If no column can be the label.

    Notes
    -----
    Identifiers, dates, free text, names of people and columns of a single value are not labels. The
    guess is sure if the last column is called class, label, target, y or outcome; or if it does not
    look like a measurement and no column has such a name. Otherwise the guess is the column with
    such a name; or the one with few values whose name comes nearest (diagnosis, response, …), text
    before numbers and the first column before others; or the last column, which is sure if it is
    the only measurement, as in a regression on few values.

    A last column with another name is not sure if some column is hardly ever a feature (survived,
    churned, …), or if it describes the person or how samples were taken (sex, batch, …) and some
    column has few values. If two columns look like times until an event, some of them censored, the
    guess is the time, and not sure.
    """
    free = [k for k in range(len(columns)) if k not in skip]
    usable = [k for k in free if not why_no_label(columns[k], n_rows)]
    if not usable:
        raise DataError(
            f"{what} has no column that could be a label: all are left out, hold row "
            "names, or have a single value"
        )
    guess = _guess_among(columns, usable, n_rows)
    pair = time_and_event(columns)
    # Where all events were seen, their column has one value and cannot be guessed.
    unseen = pair and columns[pair[1]].constant and not guess.sure
    if pair and (guess.place in pair or unseen) and not set(pair) & set(skip):
        time, event = (columns[place] for place in pair)
        coded = looks_like_event(event)
        doubt = (
            f"{time.name!r} and {event.name!r} look like times until an event, some of them "
            "censored"
        )
        if not coded:
            doubt += f": to use both, write {event.name!r} as 1 (event) and 0 (censored)"
        return LabelGuess(place=pair[not coded], doubts=(doubt,), sure=False, pair=pair)
    if in_rows := _features_in_rows(columns, guess, n_rows):
        sample = columns[guess.place].name
        tells = (
            "tells of features" if _about_features(sample) else "looks like the columns before it"
        )
        doubts = guess.doubts or (f"{sample!r} {tells}",)
        doubt = f"{doubts[0]}; if features are in rows, say so (--transpose)"
        genes = bool(set(name_words(columns[0].name)) & OF_FEATURES)
        guess = LabelGuess(place=guess.place, doubts=(doubt,), sure=False, of_samples=genes)
    if usable[-1] == free[-1] or in_rows:
        return guess
    last = columns[free[-1]]
    doubt = f"the last column, {last.name!r}, {why_no_label(last, n_rows)}"
    return LabelGuess(place=guess.place, doubts=(doubt,), sure=False)


def _features_in_rows(columns: Sequence[ColumnFacts], guess: LabelGuess, n_rows: int) -> bool:
    """Whether features look to be in rows, named by the first column, and samples in columns.

    All other columns are measurements; or the first has a name such as gene, and at least three
    quarters of the others, without those about features, are numbers.
    """
    first, *others = columns
    named = set(name_words(first.name)) & OF_FEATURES
    # Symbols of genes may be missing, or stand for several features.
    names_rows = looks_like_identifier(first, n_rows) or (
        named and 10 * first.different >= 9 * n_rows
    )
    if len(others) <= _FEW or first.kind != "text" or not names_rows:
        return False
    if all(looks_measured(c.kind, c.different, n_rows) for c in others):
        return not guess.sure
    others = [c for c in others if not _about_features(c.name)]
    numbers = sum(c.kind in ("number", "whole number") for c in others)
    taken = columns[guess.place]
    number = taken.kind in ("number", "whole number") and not is_likely_label(taken)
    no_label = number or _about_features(taken.name)
    return bool(named) and no_label and 4 * numbers >= 3 * len(others)


def _about_features(name: str) -> bool:
    return name.strip().lower() in ABOUT_FEATURES


def _guess_among(columns: Sequence[ColumnFacts], usable: Sequence[int], n_rows: int) -> LabelGuess:
    last = usable[-1]
    lowered = {columns[k].name.strip().lower(): k for k in reversed(usable)}
    usual = [lowered[word] for word in USUAL_LABELS if word in lowered]
    if last in usual:
        return LabelGuess(place=last)
    name = columns[last].name
    if usual:
        doubt = f"it is not the last column, which is {name!r}"
        return LabelGuess(place=usual[0], doubts=(doubt,), sure=False)
    words = set(name_words(name))
    if not is_likely_label(columns[last]) or words & LABEL_WORDS <= FACTORS:
        strong = [
            k for k in usable[:-1] if is_likely_label(columns[k]) and is_outcome(columns[k].name)
        ] or _only_price(columns, usable, n_rows)
        aside = (TECHNICAL | PERSONAL) & words and _candidates(columns, usable, alike=False)
        if better := strong or aside:
            why = (
                f"it is not the last column, which is {name!r}"
                if strong
                else f"the last column, {name!r}, describes "
                + ("the person" if PERSONAL & words else "how samples were taken")
            )
            return LabelGuess(place=better[0], doubts=(why,), sure=False)
    stem = _shared_stem(columns, usable)
    alike = _one_of_many(columns, usable) or bool(stem)
    measured = looks_measured(columns[last].kind, columns[last].different, n_rows) or (
        columns[last].kind == "text" and 2 * columns[last].different > n_rows > _MANY
    )
    if not measured and not alike:
        return LabelGuess(place=last)
    what_is = (
        f"{columns[last].different} different "
        + ("texts" if columns[last].kind == "text" else "numbers, like a measurement")
        if measured
        else "the values of the columns before it"
    )
    few = _candidates(columns, usable, alike and not stem)
    few = [k for k in few if not stem or not columns[k].name.startswith(stem)]
    if measured and words & QUANTITIES:
        few = [k for k in few if is_likely_label(columns[k])]
    if measured and is_target(name):
        few = [k for k in few if is_outcome(columns[k].name)]
    if few:
        doubt = f"chosen because it has few values; the last column, {name!r}, has {what_is}"
        return LabelGuess(place=few[0], doubts=(doubt,), sure=False)
    before = [columns[k] for k in usable[-1 - _NEIGHBOURS : -1]]
    like_it = sum(looks_measured(c.kind, c.different, n_rows) for c in before)
    sure = columns[last].kind != "text" and not alike and 2 * like_it < len(before) + (not before)
    doubt = f"{what_is}: if it is not what is to be predicted, name the label"
    return LabelGuess(place=last, doubts=(doubt,), sure=sure)


def _only_price(columns: Sequence[ColumnFacts], usable: Sequence[int], n_rows: int) -> list[int]:
    """The only column that is named like a price, if the last one does not hold classes."""
    priced = [
        k
        for k in usable
        if is_target(columns[k].name)
        and looks_measured(columns[k].kind, columns[k].different, n_rows)
    ]
    last = columns[usable[-1]]
    classes = last.kind in ("text", "two values") and last.different <= _FEW
    return [] if classes or len(priced) != 1 or usable[-1] in priced else priced


def _one_of_many(columns: Sequence[ColumnFacts], usable: Sequence[int]) -> bool:
    """Whether the last column looks like one of many genotypes, answers or genes.

    It holds the same range of whole numbers as the columns before it, or counts as they do, and
    another column is named like a label.
    """
    if len(usable) < 2 * _NEIGHBOURS:
        return False
    last, before = columns[usable[-1]], [columns[k] for k in usable[-1 - _NEIGHBOURS : -1]]
    if last.kind not in ("two values", "whole number"):
        return False
    shape = (last.kind, last.different, last.low, last.high)
    same = all((c.kind, c.different, c.low, c.high) == shape for c in before)
    counts = last.different > 2 and all(
        c.kind in ("two values", "whole number") and c.low == 0 for c in (last, *before)
    )
    return (same or counts) and any(is_likely_label(columns[k]) for k in usable[:-1])


def _shared_stem(columns: Sequence[ColumnFacts], usable: Sequence[int]) -> str:
    """The letters before the digits in the names of the last columns, if these look like genes.

    Empty unless all are of one kind, and a text of few values is named otherwise.
    """
    last, before = columns[usable[-1]], [columns[k] for k in usable[-1 - _NEIGHBOURS : -1]]
    stem, *digits = re.split("[0-9]", last.name, maxsplit=1)
    if not stem or not digits or len(before) < _NEIGHBOURS or last.kind == "text":
        return ""
    if not all(c.name.startswith(stem) and c.kind == last.kind for c in before):
        return ""
    others = (columns[k] for k in usable if not columns[k].name.startswith(stem))
    return stem if any(c.kind == "text" and 2 <= c.different <= _FEW for c in others) else ""


def _candidates(columns: Sequence[ColumnFacts], usable: Sequence[int], alike: bool) -> list[int]:
    """Columns of few values that may be the label, the likeliest first."""
    few = []
    for k in usable[:-1]:
        column = columns[k]
        likely = is_likely_label(column)
        if not 2 <= column.different <= _FEW or (TECHNICAL | PERSONAL) & set(
            name_words(column.name)
        ):
            continue
        if likely or (not alike and column.kind in ("text", "two values")):
            few.append((not likely, column.kind != "text", k != usable[0], k))
    return [k for *_, k in sorted(few)]


_CODE = re.compile(r"(b|batch|c|centre|center|site|p|plate|run|lot)[ _-]?[0-9]{1,2}", re.IGNORECASE)
_MOST_LEVELS, _CLASSES = 24, 10
_PURE, _LEVEL, _FEWEST, _PARTS = 5, 0.05, 5, 5


@attrs.frozen(kw_only=True, eq=False)
class Covariate:
    """A column that may explain associations of features with the label that are not causal.

    Parameters
    ----------
    column : int
    technical : bool
        Whether its name is about how samples were taken or measured (batch, centre, …).
    p : float
        p-value of independence of the label; NaN where the label is a number.
    pure : int
        Number of rows in levels of five rows or more that have one class only.
    same : bool
        Whether every level has one class only, so that its effect cannot be separated from that of
        the label.
    shown : str
        The classes in each level, in words.
    """

    column: int
    technical: bool
    p: float
    pure: int
    same: bool
    shown: str


def covariates_of(contents: Contents, columns: Iterable[int], label: int) -> list[Covariate]:
    """Those of the columns that look like covariates, the most confounded first.

    Their names say so (batch, centre, plate, sex, age, …), or they hold few codes (B1, B2, B3).
    """
    described = []
    for k in columns:
        column = contents.columns[k]
        technical = _is_technical(column)
        levels = contents.levels(k) if column.kind == "text" else []
        if technical or _is_personal(column) or _looks_coded(column, levels):
            described.append(_as_covariate(contents, k, label, technical))
    described.sort(key=lambda c: (not c.same, not c.pure, not c.technical, not c.p < 1, c.p))
    return described


def adjusted_for(
    contents: Contents,
    covariates: Sequence[Covariate],
    known: Collection[int],
    depend: bool,
) -> tuple[list[int], list[int]]:
    """Covariates to adjust for, and those to leave out because that is impossible.

    Nothing can be adjusted for if rows `depend` on each other, in groups or in time. Technical
    columns are never features. Columns about people are adjusted for if they are associated with
    the label. Strata keep at least five rows on average.
    """
    n_rows = contents.n_rows
    adjust: list[int] = []
    aside: list[int] = []
    strata = np.zeros(n_rows, dtype=np.int64)
    for one in covariates:
        if one.column in known or not (one.technical or one.p < _LEVEL):
            continue
        joint = strata
        if not (depend or one.same or contents.columns[one.column].missing):
            codes, _ = _levels(contents, one.column)
            joint = np.unique(strata * (codes.max() + 1) + codes, return_inverse=True)[1]
        if joint is not strata and (joint.max() + 1) * _FEWEST <= n_rows:
            strata = joint
            adjust.append(one.column)
        elif one.technical:
            aside.append(one.column)
    return adjust, aside


def _is_technical(column: ColumnFacts) -> bool:
    few = 2 <= column.different <= _MOST_LEVELS and not is_likely_label(column)
    kinds = ("text", "two values", "whole number")
    return few and column.kind in kinds and bool(TECHNICAL & set(name_words(column.name)))


def _looks_coded(column: ColumnFacts, levels: Sequence[str]) -> bool:
    """Whether the levels are codes of batches, plates or centres: B1, B2, B3."""
    if column.kind != "text" or not 2 <= column.different <= _FEW or is_likely_label(column):
        return False
    return bool(levels) and all(map(_CODE.fullmatch, levels))


def _is_personal(column: ColumnFacts) -> bool:
    words = set(name_words(column.name))
    if "age" in words and column.kind in ("number", "whole number", "two values"):
        return True
    few = 2 <= column.different <= _FEW and column.kind != "date"
    return few and bool(PERSONAL & words)


def _levels(contents: Contents, column: int) -> tuple[NDArray[np.int64], list[str]]:
    """Codes of the levels of a column and their names; many numbers are cut at their quintiles."""
    codes, names = contents.codes(column), contents.levels(column)
    if len(names) <= _MOST_LEVELS and contents.columns[column].different <= _FEW:
        return codes, names
    if contents.columns[column].kind == "text":
        return codes, names
    values = np.array([float(name) for name in names])
    known = np.where(codes < 0, np.nan, values[codes])
    cuts = np.unique(np.nanquantile(known, np.arange(1, _PARTS) / _PARTS))
    edges = [f"{cut:g}" for cut in cuts]
    named = [f"up to {edge}" for edge in edges] + [f"above {edges[-1]}"]
    return np.where(codes < 0, -1, np.searchsorted(cuts, known, side="left")), named


def _as_covariate(contents: Contents, k: int, label: int, technical: bool) -> Covariate:
    if contents.columns[label].different > _CLASSES:
        return Covariate(
            column=k, technical=technical, p=float("nan"), pure=0, same=False, shown=""
        )
    codes, levels = _levels(contents, k)
    of_label, classes = contents.classes(label)
    counts = np.zeros((len(levels), len(classes)), dtype=np.int64)
    known = (codes >= 0) & (of_label >= 0)
    np.add.at(counts, (codes[known], of_label[known]), 1)
    there = counts.sum(axis=1) > 0
    alone = (counts > 0).sum(axis=1) == 1
    large = alone & (counts.sum(axis=1) >= _PURE)
    order = sorted(np.flatnonzero(there).tolist(), key=lambda level: not large[level])
    shown = "; ".join(
        f"{levels[level]} has "
        + ", ".join(
            f"{count} of class {name}" if is_number(str(name)) else f"{count} {name}"
            for count, name in zip(counts[level].tolist(), classes, strict=True)
        )
        for level in order[:4]
    )
    more = len(order) - 4
    return Covariate(
        column=k,
        technical=technical,
        p=_independence(counts[there]),
        pure=int(counts[large].sum()),
        same=bool(alone[there].all() and large.sum() > 1),
        shown=shown + (f"; and {more} more" if more > 0 else ""),
    )


def _independence(counts: NDArray[Any]) -> float:
    """p-value of the χ² test of a table of counts without empty rows."""
    counts = counts[:, counts.sum(axis=0) > 0]
    if min(counts.shape) < 2:
        return 1.0
    # Not scipy.stats, which takes a second to import.
    from scipy.special import chdtrc

    expected = counts.sum(axis=1)[:, None] * (counts.sum(axis=0) / counts.sum())
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return float(chdtrc(freedom, ((counts - expected) ** 2 / expected).sum()))
