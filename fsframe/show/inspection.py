"""Inspect a table: its contents, open questions before a chain runs, and a suggested chain."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from fsframe.chains.repeated_rows import repeated_rows
from fsframe.errors import DataError
from fsframe.method.run import Cost
from fsframe.show.proposals import Proposal, proposals_for, usual_chain
from fsframe.table.column_facts import ColumnFacts, Contents
from fsframe.table.column_guesses import Guesses, as_words, column_keys, spelled_key
from fsframe.table.column_kinds import alike_spellings, as_ordinal
from fsframe.table.columns import check_columns, find_column, find_columns
from fsframe.table.dataset import Dataset
from fsframe.table.label_guess import (
    Covariate,
    guess_label,
    is_likely_label,
    tells_events,
    time_and_event,
)
from fsframe.table.read import read
from fsframe.table.reader import Form
from fsframe.table.roles import as_keys, only
from fsframe.table.source import contents
from fsframe.text import counted, some_of

_LEVEL, _RARE, _CLASSES = 0.05, 10, 10
# A class of so many rows is told apart by chance in one of 90,000 columns of noise.
_FEWEST, _MOST_TELLING, _TOLD, _MOST_VALUES, _TRIED = 10, 3, 0.5, 50_000_000, 30


@attrs.frozen(kw_only=True)
class Finding:
    """An open question: columns, what was found about them, and the option that settles it."""

    columns: tuple[str, ...]
    what: str
    option: str = ""


_MANY_COUNTS = 30
"""Fewer columns of counts are not compared by their sum."""

_LIMIT_WORDS = frozenset(
    {"lod", "loq", "lloq", "bdl", "bld", "blq", "bloq", "below", "low", "high"}
)
"""Words for values below or above what can be measured."""


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
    file_contents, facts = guesses.found, guesses.found.columns
    covariates = [c for c in guesses.covariates if c.column not in known]
    yield from (_covariate(c, guesses, suggested) for c in covariates if c.same)
    for k in guesses.twice:
        name, other = guesses.names[k], guesses.names.index(guesses.names[k]) + 1
        yield Finding(
            columns=(name,),
            what=f"column {k + 1} has the name of column {other}: rename it in "
            "the file to use both, or leave it out",
            option=_option("--drop", [guesses.keys[k]]),
        )
    yield from _grouped(
        guesses,
        "identifies the source of repeated rows, {different} of them",
        guesses.people if group is None else [],
        "--groups",
    )
    yield from _few_rows(guesses)
    yield from (_covariate(c, guesses, suggested) for c in covariates if c.pure and not c.same)
    yield from _grouped(
        guesses,
        "identifies the rows; as a feature it would leak the label",
        guesses.identifiers,
        "--drop",
    )
    yield from (_covariate(c, guesses, suggested) for c in covariates if not c.pure and not c.same)
    label = guesses.names[guesses.label]
    for what, columns in (
        (f"one value for each class: another form of {label}, no feature", guesses.recoded),
        (
            f"with {label} 1 in one column of each row: classes of one label, no features; to "
            "tell them all apart, write them into one column",
            guesses.indicators,
        ),
        ("which rows train and which test, or in which fold: no feature", guesses.divides),
        (f"tells an outcome: leave it out unless it is known before {label}", guesses.later),
    ):
        yield from _grouped(guesses, what, columns, "--drop")
    for code, times in guesses.label_codes:
        yield Finding(
            columns=(label,),
            what=f"{code:g} occurs {times} times, far from the other values, and looks like a code "
            "for a missing label",
            option=f"--na {code:g} --missing-label drop",
        )
    for name in guesses.no_classes:
        yield Finding(
            columns=(label,),
            what=f"{name!r} is a class here; if it says that none is known, or marks samples of "
            "quality control, leave such rows out",
            option=shlex.join(["--na", name, "--missing-label", "drop"]),
        )
    if long := guesses.long_form():
        whom, what = (guesses.names[k] for k in long)
        yield Finding(
            columns=(whom, what),
            what=f"each {whom} has one row for each {what}: rows are measurements. Give each "
            f"{what} a column first (pandas: pivot(index={whom!r}, columns={what!r}))",
        )
    for k in guesses.coded:
        for code, times in facts[k].codes:
            yield Finding(
                columns=(guesses.names[k],),
                what=f"{code:g} occurs {times} times, far from the other values, and looks "
                "like a code for a missing value",
                option=f"--na {code:g}",
            )
    yield from _odd(guesses, known)
    covered = {*known, *(c.column for c in covariates)}
    for k, order in guesses.scales.items():
        if k not in covered:
            spelled = f"{guesses.names[k]}={'<'.join(order)}"
            what = f"text with an order: {' < '.join(order)}"
            option = shlex.join(["--ordinal", spelled])
            yield Finding(columns=(guesses.names[k],), what=what, option=option)
    for no_genotype, columns in guesses.no_genotypes.items():
        what = f"genotypes but for {no_genotype!r}: missing values?"
        names = tuple(guesses.names[k] for k in columns)
        yield Finding(columns=names, what=what, option=shlex.join(["--na", no_genotype]))
    for k in guesses.counts:
        what = "if each row stands for so many, say so; it is a feature otherwise"
        option = shlex.join(["--weight", spelled_key(guesses.keys[k])])
        yield Finding(columns=(guesses.names[k],), what=what, option=option)
    for answers, columns in guesses.several.items():
        left_out = [k for k in columns if k in guesses.prose]
        what = (
            f"several answers in a cell ({some_of(answers, 3)}): to use them, give each a column "
            "of 1 and 0 in the file"
        )
        yield from _grouped(guesses, what, left_out or columns, "--drop" if left_out else "")
    asked = [k for k in guesses.texts if k not in covered]
    for what, columns, option in (
        ("dates: use them as numbers of days (--dates days) or as the order of rows in folds "
         "and bootstraps (--time, with --dates days), or leave them out",
         guesses.iso_dates, "--drop"),
        *(
            (what, [k for k in columns if k not in known], "--drop")
            for what, columns in guesses.prose_by_form().items()
        ),
        ("text: categories" + _examples(guesses, asked), asked, "--categorical"),
        ("no value at all", guesses.empty, "--drop"),
        ("one value only, no information", guesses.constant, ""),
    ):  # fmt: skip
        yield from _grouped(guesses, what, columns, option)
    yield from _spelled_alike(guesses, {*asked, *covered})
    equal = [(guesses.names[a], guesses.names[b]) for a, b in file_contents.repeated_columns]
    if equal:
        shown = ", ".join(f"{a} = {b}" for a, b in equal[:5])
        more = f" and {len(equal) - 5} more" if len(equal) > 5 else ""
        yield Finding(columns=(), what=f"columns that are equal: {shown}{more}")
    for note in file_contents.notes:
        yield Finding(columns=(), what=note)
    if file_contents.repeated_rows:
        many = file_contents.repeated_rows
        yield Finding(
            columns=(),
            what=f"{many} of {file_contents.n_rows} rows repeat{'s' * (many == 1)} an earlier one "
            "in all columns; if these are the same samples, take them out, as each counts twice",
        )


def _odd(guesses: Guesses, known: Collection[int]) -> Iterator[Finding]:
    """Texts in columns of numbers, one finding for all columns with the same ones."""
    together: dict[tuple[str, ...], list[int]] = {}
    for k in guesses.odd:
        if k not in known:
            texts = tuple(sorted(text for text, _ in guesses.found.columns[k].odd))
            together.setdefault(texts, []).append(k)
    signs = "<>≤≥"
    for texts, columns in together.items():
        times = Counter[str]()
        for k in columns:
            times.update(dict(guesses.found.columns[k].odd))
        shown = [f"{text!r} ({times[text]} time{'s' * (times[text] > 1)})" for text in texts]
        what = f"numbers but for {', '.join(shown)}: missing values?"
        if any(
            text[0] in signs or text.strip(f"{signs} ").lower() in _LIMIT_WORDS for text in texts
        ):
            what += " A limit of detection may be replaced in the file instead, such as by its half"
        words = [word for text in texts for word in ("--na", text)]
        names = tuple(guesses.names[k] for k in columns)
        yield Finding(columns=names, what=what, option=shlex.join(words))


def _telling(data: Dataset) -> Iterator[Finding]:
    """Columns that tell the class too well: without an error, or by whether they are missing."""
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
        told = np.flatnonzero(np.ptp(absent, axis=0) >= _TOLD)
        gaps += [(start + int(k), absent[:, k]) for k in told]
        whole = ~np.isnan(X).any(axis=0) & ~data.categorical[start:stop]
        low, high = (np.array([f(r[:, whole], axis=0) for r in by_class]) for f in (np.min, np.max))
        order = np.argsort(low, axis=0)
        low, high = (np.take_along_axis(ends, order, axis=0) for ends in (low, high))
        apart = (high[:-1] < low[1:]).all(axis=0)
        separate += [start + int(k) for k in np.flatnonzero(whole)[apart]]
    name = data.feature_names
    if len(separate) <= _MOST_TELLING:
        for k in separate:
            yield Finding(
                columns=(name[k],),
                what="separates the classes without an error: was it made from "
                f"{data.label_name}, or measured after it?",
                option=_option("--drop", [name[k]]),
            )
    for k, shares in gaps[:_MOST_TELLING]:
        most, least = (str(data.classes[int(c)]) for c in (shares.argmax(), shares.argmin()))
        yield Finding(
            columns=(name[k],),
            what=f"missing in {shares.max():.0%} of {most} and {shares.min():.0%} of {least}: "
            f"whether it was measured tells {data.label_name}; a method with missing=level would "
            "use that",
        )


def _following(data: Dataset) -> Iterator[Finding]:
    """Columns that rise or fall with a numeric target without an exception, as recoded ones do."""
    n = data.n_samples
    small = n * data.n_features <= _MOST_VALUES
    if data.task != "regression" or not data.in_memory or n < 2 * _FEWEST or not small:
        return
    y, names = data.y, data.feature_names
    _, rows = np.unique(y, return_index=True)
    rows = rows[:: max(1, len(rows) // _TRIED)]
    found: list[tuple[int, str]] = []
    for start, stop in data.column_blocks():
        X = data.columns(start, stop)
        # Nearly all columns are out of order on a few rows already.
        steps = np.diff(np.asarray(X[rows], dtype=np.float64), axis=0)
        in_order = (steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)
        for k in np.flatnonzero(in_order & ~data.categorical[start:stop]).tolist():
            x = np.asarray(X[:, k], dtype=np.float64)
            _, times = np.unique(x, return_counts=True)
            # Where all rows but a few are equal, they are in order by chance.
            if n - times.max() < _FEWEST or np.isnan(x).any():
                continue
            # Equal values of either are in the order of the other.
            if (np.diff(x[np.lexsort((x, y))]) >= 0).all():
                found.append((start + k, "rises"))
            elif (np.diff(x[np.lexsort((-x, y))]) <= 0).all():
                found.append((start + k, "falls"))
    if len(found) <= _MOST_TELLING:
        for k, moves in found:
            yield Finding(
                columns=(names[k],),
                what=f"{moves} with {data.label_name} without an exception: was it made from "
                f"{data.label_name}, or measured after it?",
                option=_option("--drop", [names[k]]),
            )


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
    # Intensities and grades have means of one size, and hardly a sum that is twice another.
    if most > 2 * least and means.max() > 10 * max(1.0, float(np.median(means))):
        yield Finding(
            columns=(),
            what=f"the features are counts whose sum over a row goes from {least:,.0f} to "
            f"{most:,.0f}: unless that is of interest, divide the counts by it, or take logarithms "
            "of shares, before features are compared",
        )


def _covariate(one: Covariate, guesses: Guesses, suggested: Mapping[str, Any]) -> Finding:
    """How a covariate and the label are associated, in words."""
    name, label = guesses.names[one.column], guesses.names[guesses.label]
    key = guesses.keys[one.column]
    adjusted = name in suggested.get("adjust", ())
    dropped = key in suggested.get("drop", ())
    if one.same:
        what = (
            f"cannot be told apart from {label}: {one.shown}. Whatever is associated with {label} "
            f"may be an effect of {name}, and no analysis of this table can tell"
        )
        return Finding(columns=(name,), what=what, option=_option("--drop", [key]))
    if one.pure:
        what = (
            f"confounded with {label}: {one.shown}. A feature that follows {name} looks important"
        )
    elif one.p < _LEVEL:
        what = f"associated with {label} (p = {one.p:.2g}): {one.shown}"
    elif one.shown:
        what = f"no association with {label} is seen (p = {one.p:.2g}): {one.shown}"
    else:
        what = "may explain why a feature is associated with the label"
    if one.technical:
        what += "; it tells how samples were taken, so it is no feature"
    if dropped and not adjusted:
        what += "; left out here, since with groups, gaps or small strata it cannot be adjusted for"
        return Finding(columns=(name,), what=what, option=_option("--drop", [key]))
    if not adjusted and one.column in guesses.beside:
        what += "; not adjusted for here"
    elif not adjusted and not one.technical:
        what += f"; a feature here ({_option('--adjust', [name])} adjusts for it instead)"
        text = one.column in guesses.texts
        return Finding(
            columns=(name,), what=what, option=_option("--categorical", [key]) if text else ""
        )
    option = _option("--adjust", [name])
    if one.technical and guesses.found.columns[one.column].kind == "whole number":
        option += f" {_option('--categorical', [key])}"
    return Finding(columns=(name,), what=what, option=option)


def _few_rows(guesses: Guesses) -> Iterator[Finding]:
    """Classes of few rows, and missing labels."""
    column, label = guesses.found.columns[guesses.label], guesses.names[guesses.label]
    if column.missing:
        yield Finding(
            columns=(label,),
            what=f"the label is missing in {counted(column.missing, 'row')}; fill it in, or "
            + (
                "leave such rows out"
                if guesses.found.leaves_rows_out
                else "take them out of the file"
            ),
            option="--missing-label drop" if guesses.found.leaves_rows_out else "",
        )
    if column.different > _CLASSES:
        return
    codes, levels = guesses.found.classes(guesses.label)
    sizes = {name: int((codes == k).sum()) for k, name in enumerate(levels)}
    rare = {
        name: size for name, size in sizes.items() if size < min(_RARE, guesses.found.n_rows / 5)
    }
    if rare:
        shown = ", ".join(f"{name} {size}" for name, size in list(rare.items())[:5])
        yield Finding(
            columns=(label,),
            what=f"few rows of a class ({shown} of {guesses.found.n_rows}): only strong effects "
            "can be found, and accuracy says little",
        )


def _spelled_alike(guesses: Guesses, columns: Collection[int]) -> Iterator[Finding]:
    """Classes and categories that are probably one, spelled in several ways."""
    label, file_contents = guesses.label, guesses.found
    if file_contents.columns[label].kind == "text":
        merged = alike_spellings(file_contents.levels(label))
        if merged:
            shown = some_of([" = ".join(spellings) for spellings in merged])
            yield Finding(columns=(guesses.names[label],), what=f"spellings are merged: {shown}")
    named = {one.column for one in guesses.covariates}
    together: dict[str, list[int]] = {}
    for k in sorted(columns):
        column = file_contents.columns[k]
        if column.kind == "text" and column.different <= _CLASSES:
            # Of genotypes in single letters, a and A are two.
            alike = alike_spellings(file_contents.levels(k), 1 if k in named else 2)
            shown = some_of([" and ".join(spellings) for spellings in alike], 3)
            together.setdefault(shown, []).append(k)
    together.pop("", None)
    for shown, members in together.items():
        yield Finding(
            columns=tuple(guesses.names[k] for k in members),
            what=f"{shown} differ in capitals or blanks only, and count as different categories; "
            "if they mean the same, spell them alike in the file",
        )


def _examples(guesses: Guesses, columns: list[int]) -> str:
    """The values of text columns, such as `` (sex: f, m; site: A, B, C)``."""
    shown = []
    for k in columns[:3]:
        column = guesses.found.columns[k]
        more = ", …" if column.different > len(column.examples) else ""
        shown.append(f"{column.name}: {', '.join(column.examples)}{more}")
    return f" ({'; '.join(shown)})" if shown else ""


def _grouped(guesses: Guesses, what: str, columns: list[int], option: str) -> Iterator[Finding]:
    """One finding per message, for all columns that it applies to."""
    together: dict[str, list[int]] = {}
    for k in columns:
        text = what.replace("{different}", str(guesses.found.columns[k].different))
        together.setdefault(text, []).append(k)
    for text, members in together.items():
        yield Finding(
            columns=tuple(guesses.names[k] for k in members),
            what=text,
            option=_option(option, [guesses.keys[k] for k in members]) if option else "",
        )


def _option(option: str, keys: list[str | int]) -> str:
    return shlex.join([option, ",".join(map(spelled_key, keys))])


_START = 1.5
"""Seconds of processor time that a command takes before it computes."""
_BINS_OF_PARTS = 10
_NUMBER = re.compile(r"[+-]?[0-9]*,?[0-9]+")
_FORM = {field.name for field in attrs.fields(Form)} - {"in_memory"}


@attrs.frozen(kw_only=True, eq=False)
class Inspection:
    """Result of inspecting a table.

    Parameters
    ----------
    contents : Contents
    label : int
        The column that is the label, or would be taken as the label.
    said : bool
        Whether the user specified it.
    doubts : tuple of str
        Reasons why another column may be meant.
    roles : mapping of int to str
        Columns that are not features: ``"label"``, ``"event"``, ``"groups"``, ``"dropped"``,
        ``"adjusted"``.
    findings : tuple of Finding
    options : mapping of str to JSON values
        Suggested arguments of `fsframe.read`.
    data : Dataset, optional
        The table read with them; None if that fails.
    refused : str
        Error message of reading.
    chain : str
        Suggested chain.
    command : str
        The command that runs it.
    forecast : Cost, optional
        None if the table cannot be read.
    proposals : tuple of Proposal
        The suggested chain, and those for other questions.
    commands : tuple of str
        Theirs.
    """

    contents: Contents
    label: int
    said: bool
    doubts: tuple[str, ...]
    roles: Mapping[int, str]
    findings: tuple[Finding, ...]
    options: Mapping[str, Any]
    data: Dataset | None
    refused: str
    chain: str
    command: str
    forecast: Cost | None
    proposals: tuple[Proposal, ...]
    commands: tuple[str, ...]


def inspect_table(path: str | os.PathLike[str], **options: Any) -> Inspection:
    """Inspect a file column by column.

    Parameters
    ----------
    path : path
    options
        Arguments of `fsframe.read`; what they determine is not guessed.

    Raises
    ------
    DataError
        If the file is not a table, or lacks a column that `options` name.

    Notes
    -----
    Columns that `options` drop are not examined. The label is the one in `options`, the label
    array, or the guess of `fsframe.table.column_facts.guess_label`; the other columns are
    classified by `fsframe.table.column_guesses.Guesses`.
    """
    options |= {key: as_keys(options[key]) for key in ("drop",) if key in options}
    declared = options.get("categorical") or ()
    if not isinstance(declared, bool):
        declared = as_keys(declared)
        options |= {"categorical": declared} if declared else {}
    form = {key: value for key, value in options.items() if key in _FORM}
    file_contents = contents(path, label=options.get("label"), **form)
    names = tuple(column.name for column in file_contents.columns)
    commas = tuple(column.name for column in file_contents.columns if _decimal_commas(column))
    if commas and "decimal" not in options:
        with contextlib.suppress(DataError):
            read_so = inspect_table(path, **options, decimal=",")
            finding = Finding(
                columns=commas, what="numbers with decimal commas", option="--decimal ,"
            )
            return attrs.evolve(read_so, findings=(finding, *read_so.findings))
    n = len(names)

    given = {role: options.get(role) for role in ("label", "drop", "groups", "event")}
    given |= {"categorical": declared, "ordinal": as_ordinal(options.get("ordinal"))}
    asked = check_columns(names, n, path, given)
    dropped = set(asked["drop"])
    # Declared columns are not questioned.
    categorical = {*asked["categorical"], *asked["ordinal"]}
    if declared is True:
        categorical |= {*range(n)}
    if file_contents.row_names:
        dropped.add(0)
    group, event = only(asked, "groups"), only(asked, "event")
    skip = {column for column in range(n) if column in dropped or column in (group, event)}
    label, doubts, pair = _label(file_contents, names, options.get("label"), skip)
    leaks = []
    if pair is not None and "event" not in options and not skip.intersection(pair):
        (rest,) = {*pair} - {label}
        skip.add(rest)
        key = column_keys(file_contents)[rest]
        if label == pair[0] and tells_events(file_contents.columns[rest]):
            event, options["event"] = rest, names[rest]
            option = _option("--event", [names[rest]])
        else:
            options["drop"] = [*options.get("drop", ()), key]
            option = _option("--drop", [key])
        if options.get("label") is not None:
            what = (
                f"with {names[label]} it looks like times until an event, some of them censored; "
                "as a feature it would leak the label"
            )
            leaks.append(Finding(columns=(names[rest],), what=what, option=option))
    judged = Guesses(file_contents, label, skip)
    if options.get("dates"):
        judged.dates = []
    suggested = judged.suggested(options, group, categorical)
    findings = [*leaks, *findings_of(judged, categorical, group, suggested)]
    suggested["label"] = judged.keys[label]
    if file_contents.label_array == label and options.get("label") is None:
        del suggested["label"]
    data, refused = None, ""
    try:
        data = read(path, **suggested)
    except DataError as error:
        refused = str(error)
    if data is not None:
        spelled = (text for text in data.warnings if "was read as numbers" in text)
        told = (*spelled, *repeated_rows(data))
        findings += [Finding(columns=(), what=text) for text in told]
        findings += [*_telling(data), *_following(data), *_counted_unevenly(data)]
    proposals = proposals_for(data) if data is not None else []
    chain = proposals[0].chain if proposals else ""
    forecast = proposals[0].cost if proposals else None
    if forecast is not None and data is not None:
        forecast = _of_command(forecast, data)
    roles = (
        dict.fromkeys(judged.beside, "beside")
        | dict.fromkeys(dropped, "dropped")
        | dict.fromkeys(find_columns(names, n, suggested.get("drop", ()), "drop"), "dropped")
        | dict.fromkeys(find_columns(names, n, suggested.get("adjust", ()), "adjust"), "adjusted")
    )
    if "groups" in suggested:
        roles[find_column(names, n, suggested["groups"], "groups")] = "groups"
    roles[label] = "label"
    if event is not None:
        roles[event] = "event"
    return Inspection(
        contents=file_contents,
        label=label,
        said=options.get("label") is not None or file_contents.label_array == label,
        doubts=tuple(doubts),
        roles=roles,
        findings=tuple(findings),
        options=suggested,
        data=data,
        refused=refused,
        chain=chain,
        command=_command(path, chain or usual_chain(), suggested),
        forecast=forecast,
        proposals=tuple(proposals),
        commands=tuple(_command(path, each.chain, suggested) for each in proposals),
    )


def _of_command(cost: Cost, data: Dataset) -> Cost | None:
    """The cost with that of starting the program; None with covariates, of which it knows nothing:
    tests by permutations within strata take several times as long."""
    if data.covariates is not None:
        return None
    return attrs.evolve(cost, seconds=cost.seconds + _START, formula=f"{_START:g} + {cost.formula}")


def _decimal_commas(column: ColumnFacts) -> bool:
    """Whether the commonest cells of a column of text are numbers, one at least with a comma."""
    cells = column.examples
    return any("," in cell for cell in cells) and all(_NUMBER.fullmatch(cell) for cell in cells)


def _command(path: str | os.PathLike[str], chain: str, options: Mapping[str, Any]) -> str:
    return shlex.join(["fsframe", "chain", *chain.split(), "on", str(path), *as_words(options)])


def _label(
    file_contents: Contents, names: tuple[str, ...], said: str | int | None, skip: set[int]
) -> tuple[int, Sequence[str], tuple[int, int] | None]:
    """The label column, doubts about it, and `LabelGuess.pair`."""
    if said is not None:
        place = find_column(names, len(names), said, f"{file_contents.path}, label")
        pair = time_and_event(file_contents.columns)
        return place, [], pair if pair and place in pair else None
    if file_contents.label_array is not None:
        return file_contents.label_array, [], None
    if file_contents.beside:
        first = len(file_contents.columns) - file_contents.beside
        guess = guess_label(
            file_contents.columns, file_contents.n_rows, {*skip, *range(first)}, file_contents.path
        )
        if guess.pair:
            return guess.place, guess.doubts, guess.pair
        beside = (k for k in range(first, len(file_contents.columns)) if k not in skip)
        likely = [k for k in beside if is_likely_label(file_contents.columns[k])]
        # Annotations have no order that says which is the label.
        return (likely[0], (), None) if likely else (guess.place, guess.doubts, None)
    guess = guess_label(file_contents.columns, file_contents.n_rows, skip, file_contents.path)
    if file_contents.without_label and not is_likely_label(file_contents.columns[guess.place]):
        raise DataError(file_contents.without_label)
    return guess.place, guess.doubts, guess.pair


@attrs.frozen(kw_only=True)
class PartsForecast:
    """Cost of counting over parts, calculated from rows, columns and levels.

    Parameters
    ----------
    taking_in : float
        Processor seconds to write the codes beside the table, once.
    feature : float
        Processor seconds for each feature that a greedy criterion selects.
    disk : int
        Bytes of the codes.
    memory : int
        Smallest number of bytes that a run holds, without the interpreter and its libraries.

    Notes
    -----
    Fitted to 400,000 × 2,000 and 640,000 × 631 bytes of ten levels on one core of about 3 GHz:
    5e-9 s per byte for taking in, 1.2e-8 s per other value, 2e-12 s per row and product of bit rows
    for a feature.
    """

    taking_in: float
    feature: float
    disk: int
    memory: int

    @classmethod
    def of(cls, data: Dataset) -> PartsForecast:
        """The forecast for a table in parts, binned by default."""
        facts, n, p = data.matrix.facts, data.n_samples, data.n_features
        known = [facts.levels(column) for column in range(p)]
        levels = np.array(
            [
                _BINS_OF_PARTS if values is None or values.size > 32 else values.size
                for values in known
            ]
        )
        rows = np.maximum(levels - 1, 0).astype(float)
        return cls(
            taking_in=(5e-9 if data.matrix.dtype == np.uint8 else 1.2e-8) * n * p,
            feature=2e-12 * n * float(rows.sum() * rows.mean()),
            disk=int(n * rows.sum() / 8),
            # Labels, their order and c·log₂c; windows of levels; a block of rows.
            memory=32 * n + facts.nbytes + (1 << 27),
        )


@attrs.frozen(kw_only=True, eq=False)
class PartsInspection:
    """Result of inspecting a table in parts.

    `command` is the suggested one; empty if no proposed method works on such a table.
    """

    path: str
    data: Dataset
    forecast: PartsForecast
    command: str


def inspect_parts(path: str | os.PathLike[str], **options: Any) -> PartsInspection:
    """Inspect the table in parts that `path` names, in one pass unless it was read before.

    `options` are the arguments of `fsframe.read`, which raises its errors.
    """
    data = read(path, **options)
    proposals = proposals_for(data)
    chain = proposals[0].chain if proposals else ""
    words = ["fsframe", "chain", chain, "on", str(path), "--label", data.label_name]
    return PartsInspection(
        path=str(path),
        data=data,
        forecast=PartsForecast.of(data),
        command=shlex.join(words) if chain else "",
    )
