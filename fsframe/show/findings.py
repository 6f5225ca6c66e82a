"""Questions and remarks of `fsframe inspect` about the columns of a table."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from fsframe.table.column_kinds import alike_spellings, level_text
from fsframe.table.dataset import Dataset
from fsframe.table.guesses.column_facts import Contents
from fsframe.table.guesses.column_guesses import Guesses
from fsframe.table.guesses.doubts import abbreviated, as_words, spelled_key
from fsframe.table.guesses.label_guess import Covariate
from fsframe.table.roles import ROLES, shortened
from fsframe.table.side_columns import event_levels
from fsframe.table.spelling.column_names import names_duration
from fsframe.text import counted, some_of

_LEVEL, _RARE, _CLASSES = 0.05, 10, 10
# One column of noise in 90,000 separates two classes of `_FEWEST` rows.
_FEWEST, _MOST_TELLING, _LEAST_DIFFERENCE, _MOST_VALUES, _TRIED = 10, 3, 0.5, 50_000_000, 30

_SCORES = 6, 20
"""Least and most different whole numbers that may be either classes or a score."""

_MANY_COUNTS = 30
"""Smallest number of columns of counts whose sums are compared between rows."""

_LIMIT_WORDS = frozenset(
    {"lod", "loq", "lloq", "bdl", "bld", "blq", "bloq", "below", "low", "high"}
)
"""Words for values below or above what can be measured."""


@attrs.frozen
class Finding:
    """An open question: columns, what was found, and arguments of `fsframe.read` that settle it."""

    columns: tuple[str, ...]
    what: str
    settled: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def option(self) -> str:
        """The arguments as words of a command."""
        return shlex.join(as_words(self.settled))


def _finding(
    guesses: Guesses, columns: Sequence[int], what: str, role: str = "", **settled: Any
) -> Finding:
    """A finding about columns, which is settled by arguments, or by a role for these columns.

    Codes of missing values (`na`) become advice if the table takes none, such as a data frame.
    """
    if "na" in settled and not guesses.contents.table.takes_codes:
        del settled["na"]
        what += f"{'' if what[-1] in '.?' else '.'} If so, make such cells missing in the table"
    if role:
        keys = shortened([guesses.keys[k] for k in columns], guesses.free_names)
        settled[role] = keys if ROLES[role].given == "columns" or len(keys) > 1 else keys[0]
    return Finding(tuple(guesses.names[k] for k in columns), what, settled)


def findings_of(
    guesses: Guesses, known: Collection[int], group: int | None, suggested: Mapping[str, Any]
) -> Iterator[Finding]:
    """The findings about a table, the most serious first.

    Parameters
    ----------
    guesses : Guesses
    known : collection of int
        Columns whose kind the user has declared.
    group : int, optional
        The column of groups that the user has named.
    suggested : mapping of str to JSON values
        Suggested arguments of `fsframe.read`.
    """
    covariates = [c for c in guesses.covariates if c.column not in known]
    yield from (_covariate(c, guesses, suggested) for c in covariates if c.same)
    for k in guesses.twice:
        what = (
            f"column {k + 1} has the name of column {guesses.names.index(guesses.names[k]) + 1}: "
            "rename it in the file to use both, or leave it out"
        )
        yield _finding(guesses, [k], what, "drop")
    yield from _grouped(
        guesses,
        "says which rows come from the same source, such as a person ({different} sources)",
        guesses.people if group is None else [],
        "groups",
    )
    yield from _few_rows(guesses)
    yield from (_covariate(c, guesses, suggested) for c in covariates if c.pure and not c.same)
    yield from _grouped(
        guesses,
        "identifies the rows; as a feature it would leak the label",
        guesses.identifiers,
        "drop",
    )
    yield from (_covariate(c, guesses, suggested) for c in covariates if not c.pure and not c.same)
    yield from _of_label(guesses, suggested)
    yield from _missing(guesses, known)
    yield from _kinds(guesses, known, {*known, *(c.column for c in covariates)})
    yield from _repeated(guesses.contents, guesses.names)


def _of_label(guesses: Guesses, suggested: Mapping[str, Any]) -> Iterator[Finding]:
    """Other forms of the label, other outcomes, values that are no classes, rows that are single
    measurements."""
    label = guesses.names[guesses.label]
    for what, columns in (
        (f"one value for each class: {label} in another form, not a feature", guesses.recoded),
        (
            f"like {label} 0 or 1, with 1 in only one of them in each row: classes of one label, "
            "not features; to predict all classes, combine them into one column",
            guesses.indicators,
        ),
        (
            "says which rows are for training or testing, or their fold: not a feature",
            guesses.divides,
        ),
        (
            "the stretch of time, until an event, that a row stands for: not features. For "
            "survival keep only the last row of each person, with the time at which it ends as "
            "the label",
            guesses.stretches,
        ),
        (f"looks like an outcome: leave it out unless it is known before {label}", guesses.later),
    ):
        yield from _grouped(guesses, what, columns, "drop")
    for code, times in guesses.label_codes:
        what = _looks_like_a_code(code, times, "label")
        yield _finding(guesses, [guesses.label], what, na=[f"{code:g}"], missing_label="drop")
    different = guesses.contents.columns[guesses.label].different
    scored = guesses.is_whole and _SCORES[0] <= different <= _SCORES[1]
    if scored and "task" not in suggested and not guesses.label_codes:
        what = (
            f"{different} whole numbers are taken as classes; predict counts or scores as numbers"
        )
        yield _finding(guesses, [guesses.label], what, task="regression")
    for name in guesses.no_classes:
        what = (
            f"{name!r} is taken as a class; if it means that the class is unknown, or marks "
            "samples of quality control, leave such rows out"
        )
        yield _finding(guesses, [guesses.label], what, na=[name], missing_label="drop")
    if long := guesses.long_form():
        whom, which, *when = (guesses.names[k] for k in long)
        index = repr([whom, *when] if when else whom)
        what = (
            f"each {whom} has one row for each {' and '.join([which, *when])}: rows are "
            f"measurements. Give each {which} a column first (pandas: pivot(index={index}, "
            f"columns={which!r}))"
        )
        yield _finding(guesses, long, what)


def _looks_like_a_code(code: float, times: int, missing: str) -> str:
    if math.isinf(code):
        return f"{code:g} in {counted(times, 'row')}: a division by zero? Take it as missing"
    return (
        f"{code:g} occurs {times} times, far from the other values, and looks like a code for a "
        f"missing {missing}"
    )


def _missing(guesses: Guesses, known: Collection[int]) -> Iterator[Finding]:
    """Numbers, texts and genotypes that look like codes for missing values."""
    if answers := [f"{code:g}" for code in guesses.answer_codes]:
        what = (
            f"{some_of(answers, 9)} lie far from the other answers and look like codes for a "
            "missing answer"
        )
        settled: dict[str, Any] = {"na": answers}
        if held := guesses.answer_conflicts:
            settled = {}
            what += (
                f"; as {some_of(held, 3)} may well hold such numbers as values, empty the cells "
                "with these codes in the file"
            )
        yield _finding(guesses, guesses.answer_columns, what, **settled)
    for k in (k for k in guesses.coded if k not in guesses.answer_columns):
        for code, times in guesses.contents.columns[k].codes:
            what = _looks_like_a_code(code, times, "value")
            yield _finding(guesses, [k], what, na=[f"{code:g}"])
    if zeros := guesses.zeros:
        rows = some_of([str(times) for times in zeros.values()])
        what = (
            f"0 in {rows} rows, which is impossible in a living person: are these missing values? "
            "Then leave these cells empty in the file"
        )
        yield _finding(guesses, [*zeros], what)
    yield from _odd(guesses, known)
    for text, columns in guesses.no_genotypes.items():
        what = f"genotypes except for {text!r}: missing values?"
        yield _finding(guesses, columns, what, na=[text])


def findings_of_covariates(guesses: Guesses, columns: Sequence[int]) -> Iterator[Finding]:
    """Numbers that look like codes for missing values in columns that the user adjusts for, and
    columns of one value."""
    constant = [k for k in columns if guesses.contents.columns[k].constant]
    yield from _grouped(guesses, "one value only, nothing to adjust for", constant, "")
    for k in columns:
        for code, times in guesses.contents.columns[k].codes:
            what = _looks_like_a_code(code, times, "value")
            what += "; to adjust for it every row needs a value: correct or leave out these rows"
            yield _finding(guesses, [k], what)


def _odd(guesses: Guesses, known: Collection[int]) -> Iterator[Finding]:
    """Texts in columns of numbers, one finding for all columns with the same texts."""
    together: dict[tuple[str, ...], list[int]] = {}
    for k in guesses.odd:
        if k not in known:
            texts = tuple(sorted(text for text, _ in guesses.contents.columns[k].odd))
            together.setdefault(texts, []).append(k)
    signs = "<>≤≥"
    for texts, columns in together.items():
        times = Counter[str]()
        for k in columns:
            times.update(dict(guesses.contents.columns[k].odd))
        shown = [f"{text!r} ({times[text]} time{'s' * (times[text] > 1)})" for text in texts]
        what = f"numbers except for {', '.join(shown)}: missing values?"
        if any(
            text[0] in signs or text.strip(f"{signs} ").lower() in _LIMIT_WORDS for text in texts
        ):
            what += " A limit of detection may be replaced in the file, such as by half of it."
        yield _finding(guesses, columns, what, na=texts)


def _kinds(guesses: Guesses, known: Collection[int], covered: Collection[int]) -> Iterator[Finding]:
    """Columns that are not plain numbers, except those `covered` by earlier findings."""
    scales = {k: order for k, order in guesses.scales.items() if k not in covered}
    for order in dict.fromkeys(scales.values()):
        columns = [k for k in scales if scales[k] == order]
        keys = [guesses.keys[k] for k in columns]
        short = abbreviated({"ordinal": dict.fromkeys(keys, order)}, guesses.free_names)
        yield _finding(guesses, columns, f"text with an order: {' < '.join(order)}", **short)
    for k in guesses.counts:
        what = (
            "if each row stands for that many cases, declare it as the weight; otherwise it is a "
            "feature"
        )
        yield _finding(guesses, [k], what, "weight")
    for answers, columns in guesses.several.items():
        left_out = [k for k in columns if k in guesses.prose]
        what = (
            f"several answers in a cell ({some_of(answers, 3)}): to use them, give each answer a "
            "column of 1 and 0 in the file"
        )
        yield from _grouped(guesses, what, left_out or columns, "drop" if left_out else "")
    asked = [k for k in guesses.texts if k not in covered]
    for what, columns, role in (
        ("dates: use them as numbers of days (--dates days) or as the order of rows in folds "
         "and bootstraps (--time, with --dates days), or leave them out",
         guesses.iso_dates, "drop"),
        ("numbers that look like dates, such as 20241231: write them as 2024-12-31 in the file, or "
         "leave them out",
         [k for k in guesses.numbered_dates if k not in known], "drop"),
        *(
            (what, [k for k in columns if k not in known], "drop")
            for what, columns in guesses.prose_by_form().items()
        ),
        ("text: categories" + _examples(guesses, asked), asked, "categorical"),
        (
            "numbers that name something: categories",
            [k for k in guesses.named if k not in covered],
            "categorical",
        ),
        ("numeric codes with too many different values to be categories",
         [k for k in guesses.many_codes if k not in known], "drop"),
        ("no value at all", guesses.empty, "drop"),
        ("one value only, no information", guesses.constant, ""),
    ):  # fmt: skip
        yield from _grouped(guesses, what, columns, role)
    yield from _spelled_alike(guesses, {*asked, *covered})


def _repeated(contents: Contents, names: Sequence[str]) -> Iterator[Finding]:
    """Equal columns, repeated rows, and notes from reading the table."""
    # Row names, in column 0, are not a feature, and may be given again in a column.
    pairs = [
        pair for pair in contents.repeated_columns if pair[1] or not contents.table.has_row_names
    ]
    equal = [(names[a], names[b]) for a, b in pairs]
    if equal:
        shown = some_of([f"{a} = {b}" for a, b in equal])
        yield Finding((), f"columns that are equal: {shown}")
    yield from (Finding((), note) for note in contents.table.notes)
    if many := contents.repeated_rows:
        what = (
            f"{many} of {contents.n_rows} rows repeat{'s' * (many == 1)} an earlier one in all "
            "columns; if they are the same samples, take them out, since each counts twice"
        )
        yield Finding((), what)


def findings_in(data: Dataset) -> Iterator[Finding]:
    """The findings about values: columns that predict the label too well, counts of uneven sums."""
    yield from _telling(data)
    yield from _following(data)
    yield from _counted_unevenly(data)


def _telling(data: Dataset) -> Iterator[Finding]:
    """Columns that predict the class too well: without an error, or by their gaps."""
    if data.task != "classification" or not data.in_memory:
        return
    sizes = np.bincount(data.y)
    if sizes.min() < _FEWEST or data.n_samples * data.n_features > _MOST_VALUES:
        return
    separate, gaps = [], []
    for start, stop in data.column_blocks():
        X = np.asarray(data.columns(start, stop), dtype=np.float64)
        by_class = [X[data.y == c] for c in range(len(sizes))]
        absent = np.array([np.isnan(rows).mean(axis=0) for rows in by_class])
        differing = np.flatnonzero(np.ptp(absent, axis=0) >= _LEAST_DIFFERENCE)
        gaps += [(start + int(k), absent[:, k]) for k in differing]
        full = ~np.isnan(X).any(axis=0) & ~data.categorical[start:stop]
        low, high = (np.array([f(r[:, full], axis=0) for r in by_class]) for f in (np.min, np.max))
        order = np.argsort(low, axis=0)
        low, high = (np.take_along_axis(ends, order, axis=0) for ends in (low, high))
        apart = (high[:-1] < low[1:]).all(axis=0)
        separate += [start + int(k) for k in np.flatnonzero(full)[apart]]
    yield from _tells_too_much(
        data, [(k, "separates the classes without an error") for k in separate]
    )
    yield from _times_in_two(data, gaps)
    for k, shares in gaps[:_MOST_TELLING]:
        most, least = (str(data.classes[int(c)]) for c in (shares.argmax(), shares.argmin()))
        what = (
            f"missing in {shares.max():.0%} of {most} and {shares.min():.0%} of {least}: whether "
            f"it was measured reveals {data.label_name}; a method with missing=level uses that"
        )
        yield Finding((data.feature_names[k],), what)


def _times_in_two(data: Dataset, gaps: Sequence[tuple[int, Any]]) -> Iterator[Finding]:
    """Two columns of times: one is given in the rows with an event, the other in all others."""
    if event_levels(map(str, data.classes)) is None:
        return
    # For each class the first time that is given in its rows only.
    halves: dict[int, str] = {}
    for k, absent in gaps:
        if sorted(absent) == [0, 1] and names_duration(data.feature_names[k]):
            halves.setdefault(int(absent.argmin()), data.feature_names[k])
    if len(halves) == 2:
        label = data.label_name
        what = (
            f"times until {label}, and for the others until they were last seen? Write both into "
            f"one column and make it the label (--label), with {option_for('--event', label)}"
        )
        yield Finding((halves[0], halves[1]), what)


def _tells_too_much(data: Dataset, columns: list[tuple[int, str]]) -> Iterator[Finding]:
    """Columns that follow the label without an exception, unless they are many.

    If many do, the label is easy to predict rather than leaked by a column.
    """
    for k, does in columns if len(columns) <= _MOST_TELLING else ():
        name, label = data.feature_names[k], data.label_name
        what = f"{does}: was it made from {label}, or measured after it?"
        yield Finding((name,), what, {"drop": [name]})


def _following(data: Dataset) -> Iterator[Finding]:
    """Columns that rise or fall with a numeric target without an exception, as recoded ones do."""
    n = data.n_samples
    small = n * data.n_features <= _MOST_VALUES
    if data.task != "regression" or not data.in_memory or n < 2 * _FEWEST or not small:
        return
    y = data.y
    _, rows = np.unique(y, return_index=True)
    rows = rows[:: max(1, len(rows) // _TRIED)]
    found: list[tuple[int, str]] = []
    for start, stop in data.column_blocks():
        X = data.columns(start, stop)
        # A few rows rule out nearly all columns.
        steps = np.diff(np.asarray(X[rows], dtype=np.float64), axis=0)
        in_order = (steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)
        for k in np.flatnonzero(in_order & ~data.categorical[start:stop]).tolist():
            x = np.asarray(X[:, k], dtype=np.float64)
            _, times = np.unique(x, return_counts=True)
            # If all values but a few are equal, the column is in order by chance.
            if n - times.max() < _FEWEST or np.isnan(x).any():
                continue
            # Rows with equal y may have any order, so they are sorted by x.
            if (np.diff(x[np.lexsort((x, y))]) >= 0).all():
                found.append((start + k, f"rises with {data.label_name} without an exception"))
            elif (np.diff(x[np.lexsort((-x, y))]) <= 0).all():
                found.append((start + k, f"falls with {data.label_name} without an exception"))
    yield from _tells_too_much(data, found)


def _counted_unevenly(data: Dataset) -> Iterator[Finding]:
    """Counts, such as reads of genes or words of texts, whose sum differs from row to row."""
    p = data.n_features
    if p < _MANY_COUNTS or not data.in_memory or data.categorical.any():
        return
    sums, means = np.zeros(data.n_samples), np.empty(p)
    for start, stop in data.column_blocks():
        X = np.asarray(data.columns(start, stop), dtype=np.float64)
        # NaN is not whole.
        if not ((X >= 0) & (np.floor(X) == X)).all():
            return
        sums += X.sum(axis=1)
        means[start:stop] = X.mean(axis=0)
    least, most = float(sums.min()), float(sums.max())
    # Intensities and grades have similar means, and hardly a sum that is twice another.
    if most > 2 * least and means.max() > 10 * max(1.0, float(np.median(means))):
        what = (
            f"the features are counts whose sum over a row ranges from {least:,.0f} to "
            f"{most:,.0f}: unless that sum is of interest, divide the counts by it, or take "
            "logarithms of shares, before features are compared"
        )
        yield Finding((), what)


def _covariate(one: Covariate, guesses: Guesses, suggested: Mapping[str, Any]) -> Finding:
    """The finding about a covariate: how it is associated with the label."""
    k, name, label = one.column, guesses.names[one.column], guesses.names[guesses.label]
    key = guesses.keys[k]
    adjusted = name in suggested.get("adjust", ())
    dropped = key in suggested.get("drop", ())
    if one.same:
        what = (
            f"cannot be told apart from {label}: {one.shown}. Whatever is associated with {label} "
            f"may be an effect of {name}, and no analysis of this table can tell which"
        )
        return _finding(guesses, [k], what, "drop")
    if one.pure:
        what = (
            f"confounded with {label}: {one.shown}. A feature that only follows {name} will look "
            "important"
        )
    elif one.p < _LEVEL:
        what = f"associated with {label} (p = {one.p:.2g}): {one.shown}"
    elif one.shown:
        what = f"no association with {label} is seen (p = {one.p:.2g}): {one.shown}"
    else:
        what = "may explain why a feature is associated with the label"
    if one.technical:
        what += f"; {name} tells how samples were taken, so it is not a feature"
    if dropped and not adjusted:
        what += (
            "; left out here, since with groups, a time, gaps or small strata it cannot be "
            "adjusted for"
        )
        return _finding(guesses, [k], what, "drop")
    if not adjusted and k in guesses.beside:
        what += "; not adjusted for here"
    elif not adjusted and not one.technical:
        what += f"; used as a feature here ({option_for('--adjust', name)} adjusts for it instead)"
        return _finding(guesses, [k], what, "categorical" if k in guesses.texts else "")
    settled: dict[str, Any] = {"adjust": [name]}
    if one.technical and guesses.contents.columns[k].kind == "whole number":
        settled["categorical"] = [key]
    return Finding((name,), what, settled)


def _few_rows(guesses: Guesses) -> Iterator[Finding]:
    """Classes of few rows, and missing labels."""
    column, can_leave_out = (
        guesses.contents.columns[guesses.label],
        guesses.contents.table.leaves_rows_out,
    )
    if column.missing:
        way = "leave such rows out" if can_leave_out else "take them out of the file"
        what = f"the label is missing in {counted(column.missing, 'row')}; fill it in, or {way}"
        settled = {"missing_label": "drop"} if can_leave_out else {}
        yield _finding(guesses, [guesses.label], what, **settled)
    if column.different > _CLASSES:
        return
    codes, levels = guesses.contents.classes(guesses.label)
    unknown = {*guesses.no_classes, *(level_text(code) for code, _ in guesses.label_codes)}
    few = min(_RARE, guesses.contents.n_rows / 5)
    sizes = [(name, int((codes == k).sum())) for k, name in enumerate(levels)]
    rare = [f"{name} {n}" for name, n in sizes if name not in unknown and n < few]
    if rare:
        shown = ", ".join(rare[:5])
        what = (
            f"few rows of a class ({shown} of {guesses.contents.n_rows}): only strong effects can "
            "be found, and accuracy says little"
        )
        yield _finding(guesses, [guesses.label], what)


def _spelled_alike(guesses: Guesses, columns: Collection[int]) -> Iterator[Finding]:
    """Classes and categories that are probably the same, spelled in several ways."""
    label, file_contents = guesses.label, guesses.contents
    if file_contents.columns[label].kind == "text":
        merged = alike_spellings(file_contents.levels(label))
        if merged:
            shown = some_of([" = ".join(spellings) for spellings in merged])
            yield _finding(guesses, [label], f"spellings are merged: {shown}")
    named = {one.column for one in guesses.covariates}
    together: dict[str, list[int]] = {}
    for k in sorted(columns):
        column = file_contents.columns[k]
        if column.kind == "text" and column.different <= _CLASSES:
            # Single letters may be genotypes, in which a and A differ.
            alike = alike_spellings(file_contents.levels(k), 1 if k in named else 2)
            shown = some_of([" and ".join(spellings) for spellings in alike], 3)
            together.setdefault(shown, []).append(k)
    together.pop("", None)
    for shown, members in together.items():
        what = (
            f"{shown} differ in capitals or blanks only, and count as different categories; if "
            "they mean the same, spell them alike in the file"
        )
        yield _finding(guesses, members, what)


def _examples(guesses: Guesses, columns: list[int]) -> str:
    """Examples of the values of text columns, such as `` (sex: f, m; site: A, B, C)``."""
    shown = []
    for k in columns[:3]:
        column = guesses.contents.columns[k]
        more = ", …" if column.different > len(column.examples) else ""
        shown.append(f"{column.name}: {', '.join(column.examples)}{more}")
    return f" ({'; '.join(shown)})" if shown else ""


def _grouped(guesses: Guesses, what: str, columns: list[int], role: str) -> Iterator[Finding]:
    """One finding per message, for all columns that it applies to."""
    together: dict[str, list[int]] = {}
    for k in columns:
        text = what.replace("{different}", str(guesses.contents.columns[k].different))
        together.setdefault(text, []).append(k)
    for text, members in together.items():
        yield _finding(guesses, members, text, role)


def option_for(option: str, *keys: str | int) -> str:
    """An option and its columns, as words of a command."""
    return shlex.join([option, ",".join(map(spelled_key, keys))])
