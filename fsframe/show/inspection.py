"""Inspect a table: its contents, open questions before a chain runs, and a suggested chain."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from fsframe.chains.chain import Chain
from fsframe.chains.repeated_rows import repeated_rows
from fsframe.errors import DataError, FsframeError, RequestError, UntidyTableError
from fsframe.show.findings import (
    Finding,
    findings_in,
    findings_of,
    findings_of_covariates,
    option_for,
)
from fsframe.show.inspection_display import Inspection, PartsInspection
from fsframe.show.proposals import Proposal, proposals_for, usual_chain
from fsframe.table.column_kinds import as_ordinal
from fsframe.table.columns import check_columns, find_column, find_columns
from fsframe.table.dataset import Dataset
from fsframe.table.frames import FrameColumns, is_frame
from fsframe.table.guesses.column_facts import ColumnFacts, Contents
from fsframe.table.guesses.column_guesses import Guesses, column_keys
from fsframe.table.guesses.doubts import SETTLES, abbreviated, as_words, in_order
from fsframe.table.guesses.label_guess import (
    LabelGuess,
    guess_label,
    is_likely_label,
    looks_like_event,
    time_and_event,
)
from fsframe.table.read import contents, read
from fsframe.table.reader import Form
from fsframe.table.roles import ROLES, as_keys, only, spelled_out
from fsframe.table.side_columns import DOUBTED_EVENTS
from fsframe.table.spelling.dialect import has_decimal_comma
from fsframe.text import some_of

_BINS_OF_PARTS = 10
_NUMBER = re.compile(r"[+-]?[0-9]*,?[0-9]+")
_EXAMINED = {"label", "drop", "groups", "event", "categorical", "ordinal", "keep"}
_FORM = {field.name for field in attrs.fields(Form)} - {"in_memory"}


def inspect_table(path: Any, **options: Any) -> Inspection:
    """Inspect a file or a data frame column by column.

    Parameters
    ----------
    path : path or data frame of pandas, polars or pyarrow
    options
        Arguments of `fsframe.read`; nothing that they determine is guessed.

    Raises
    ------
    DataError
        If the file is not a table, or lacks a column that `options` name.

    Notes
    -----
    Columns that `options` drop are not examined. The label is the one in `options`, the label
    array, or the guess of `fsframe.table.guesses.label_guess.guess_label`; the other columns are
    classified by `fsframe.table.guesses.column_guesses.Guesses`.
    """
    form = {key: value for key, value in options.items() if key in _FORM}
    framed = is_frame(path)
    if framed and form:
        raise RequestError(f"{', '.join(form)}: for files, not for {type(path).__name__}")
    try:
        if framed:
            facts = Contents.of(FrameColumns(path, "data"))
        else:
            facts = contents(path, label=options.get("label"), **form)
    except UntidyTableError as error:
        if not any("transpose" in way for way in error.ways):
            raise
        what = "the second line tells the class of each column: samples are in columns"
        finding = Finding((), what, {"transpose": True})
        return _read_so(path, {**options, "transpose": True}, finding)
    commas = tuple(column.name for column in facts.columns if _decimal_commas(column))
    mixed = []
    if commas and not framed and "decimal" not in options:
        finding = Finding(commas, "numbers with decimal commas", {"decimal": ","})
        # Not every format takes it.
        with contextlib.suppress(DataError, RequestError):
            inspection = _read_so(path, {**options, "decimal": ","}, finding)
            pairs = zip(facts.columns, inspection.contents.columns, strict=True)
            pointed = [one.name for one, other in pairs if one.kind != "text" == other.kind]
            if not pointed:
                return inspection
            what = f"numbers with decimal commas, but {some_of(pointed, 3)} with points"
            mixed = [Finding(commas, f"{what}: write all of them in one way in the file")]

    names = tuple(column.name for column in facts.columns)
    n = len(names)
    options = spelled_out(options, names)
    if "drop" in options:
        options["drop"] = as_keys(options["drop"])
    declared = options.get("categorical") or ()
    if not isinstance(declared, bool) and (declared := as_keys(declared)):
        options["categorical"] = declared
    given = {role: options.get(role) for role in ROLES if role != "keep"}
    given |= {"categorical": declared, "ordinal": as_ordinal(options.get("ordinal"))}
    asked = check_columns(names, n, facts.table.path, given)
    dropped = {*asked["drop"], *([0] if facts.table.has_row_names else [])}
    # Declared columns are not questioned.
    known = {*range(n)} if declared is True else {*asked["categorical"], *asked["ordinal"]}
    group, event = only(asked, "groups"), only(asked, "event")
    # Nothing is asked about a time, weights or covariates that the user names.
    others = {
        column: "adjusted" if role == "adjust" else role
        for role in ROLES.keys() - _EXAMINED
        for column in asked[role]
    }
    skip = {*dropped, *others, *(column for column in (group, event) if column is not None)}
    said = options.get("label")
    guess = _label(facts, names, said, skip)
    label, doubts, pair = guess.place, guess.doubts, guess.pair
    if doubts and not framed and (beside := _labels_beside(facts.table.path)):
        option = option_for("--labels", str(beside))
        doubts = (*doubts, f"{beside.name}, beside it, may hold the label ({option})")
    leaks = []
    if pair is not None and "event" not in options and not skip.intersection(pair):
        (rest,) = {*pair} - {label}
        skip.add(rest)
        key = column_keys(facts)[rest]
        settled: dict[str, Any] = {"drop": [key]}
        if label == pair[0] and looks_like_event(facts.columns[rest]):
            event, options["event"] = rest, names[rest]
            settled = {"event": names[rest]}
        else:
            options["drop"] = [*options.get("drop", ()), key]
        if said is not None:
            what = (
                f"with {names[label]} it looks like times until an event, some of them censored; "
                "as a feature it would leak the label"
            )
            leaks.append(Finding((names[rest],), what, settled))
    judged = Guesses(facts, label, skip, dates=bool(options.get("dates")))
    suggested = judged.suggested(options, group, known)
    findings = [*mixed, *leaks, *findings_of(judged, known, group, suggested)]
    findings += findings_of_covariates(judged, asked["adjust"])
    if said is not None or facts.table.own_label != label:
        suggested["label"] = judged.keys[label]
    data, refused, offered = None, "", list[Proposal]()
    if guess.of_samples:
        way = (
            "transpose the frame, and add the label of each sample as a column"
            if framed
            else "say so (--transpose), with a table about the samples that holds the label "
            "(--samples FILE)"
        )
        refused = f"samples seem to be in columns and {names[0]!r} to name the features: {way}"
    else:
        try:
            data = read(path, **suggested)
        except UntidyTableError as error:
            refused = "; ".join(error.problem.removesuffix(SETTLES).splitlines())
        except DataError as error:
            refused = str(error)
    if data is not None:
        offered = proposals_for(data)
        if not offered and data.categorical.any() and not suggested.get("encode"):
            encoded = data.encoded("onehot")
            if offered := proposals_for(encoded):
                data, suggested["encode"] = encoded, "onehot"
                what = "what is proposed takes numbers only: categories become columns of 0 and 1"
                findings.append(Finding((), what, {"encode": "onehot"}))
        if not offered:
            try:
                Chain.parse(usual_chain()).check_request(data)
            except FsframeError as error:
                refused = str(error)
        about_reading = (
            text for text in data.warnings if "read as numbers" in text or DOUBTED_EVENTS in text
        )
        findings += [Finding((), text) for text in (*about_reading, *repeated_rows(data))]
        findings += findings_in(data)
    short = abbreviated(suggested, names)
    command = _call if framed else partial(_command, path)
    proposals = tuple(attrs.evolve(each, command=command(each.chain, short)) for each in offered)
    roles = dict.fromkeys(judged.beside, "beside") | dict.fromkeys(dropped, "dropped")
    for role, word in (("drop", "dropped"), ("adjust", "adjusted"), ("groups", "groups")):
        columns = find_columns(names, n, as_keys(suggested.get(role)), role)
        roles |= dict.fromkeys(columns, word)
    roles |= others | {label: "label"}
    if event is not None:
        roles[event] = "event"
    return Inspection(
        contents=facts,
        label=label,
        said=said is not None or facts.table.own_label == label,
        doubts=tuple(doubts),
        roles=roles,
        findings=tuple(findings),
        options=suggested,
        data=data,
        refused=refused,
        command=proposals[0].command if proposals else command(usual_chain(), short),
        proposals=proposals,
    )


def _read_so(path: Any, options: Mapping[str, Any], finding: Finding) -> Inspection:
    """The inspection with these options, which `finding` explains."""
    inspection = inspect_table(path, **options)
    return attrs.evolve(inspection, findings=(finding, *inspection.findings))


def _decimal_commas(column: ColumnFacts) -> bool:
    """Whether the most frequent cells of a text column are numbers, some with a decimal comma."""
    cells = column.examples
    likely = any(has_decimal_comma(cell, sure=False) for cell in cells)
    return likely and all(map(_NUMBER.fullmatch, cells))


def _command(path: str | os.PathLike[str], chain: str, given: Mapping[str, Any]) -> str:
    return shlex.join(
        ["fsframe", "chain", *chain.split(), "on", str(path), *as_words(in_order(given))]
    )


def _call(chain: str, given: Mapping[str, Any]) -> str:
    """The Python call that runs a chain on a data frame."""
    said = (f"{key}={value!r}" for key, value in in_order(given).items())
    return f"fsframe.select({', '.join([repr(chain), 'data', *said])})"


_TABLE_AND_LABELS = (("X", "y"), ("x", "y"), ("data", "labels"), ("features", "labels"))
"""Words in the names of two files: a table, and the labels of its rows."""


def _labels_beside(path: Path) -> Path | None:
    """The file next to a table that, by its name, holds the labels; None if there is none."""
    for word, other in _TABLE_AND_LABELS:
        name = re.sub(rf"(?<![A-Za-z]){word}(?![A-Za-z])", other, path.name)
        if name != path.name and path.with_name(name).is_file():
            return path.with_name(name)
    return None


def _label(
    facts: Contents, names: tuple[str, ...], said: str | int | None, skip: set[int]
) -> LabelGuess:
    """The label column: the one that the user `said`, the label array, or a guess."""
    columns, path = facts.columns, facts.table.path
    if said is not None:
        place = find_column(names, len(names), said, f"{path}, label")
        pair = time_and_event(columns)
        return LabelGuess(place=place, pair=pair if pair and place in pair else None)
    if facts.table.own_label is not None:
        return LabelGuess(place=facts.table.own_label)
    if annotations := facts.table.annotations:
        guess = guess_label(columns, facts.n_rows, {*skip, *range(annotations[0])}, path)
        # Annotations have no order that says which is the label.
        beside = (k for k in annotations if k not in skip)
        likely = [k for k in beside if is_likely_label(columns[k])]
        return LabelGuess(place=likely[0]) if likely and not guess.pair else guess
    guess = guess_label(columns, facts.n_rows, skip, path)
    if facts.table.no_label and not is_likely_label(columns[guess.place]):
        raise DataError(facts.table.no_label)
    return guess


def _parts_forecast(data: Dataset) -> dict[str, float]:
    """Cost of counting over parts, with the default binning, from rows, columns and levels.

    Processor seconds to write the codes beside the table (once), and for each feature that a greedy
    criterion selects; bytes of the codes; and the least memory of a run in bytes, without the
    interpreter and its libraries.

    Notes
    -----
    Fitted to 400,000 × 2,000 and 640,000 × 631 bytes of ten levels on one core of about 3 GHz. To
    read the table: 5e-9 s per byte, 1.2e-8 s per value of another type. For a feature: 2e-12 s per
    row and product of bit rows.
    """
    facts, n, p = data.matrix.facts, data.n_samples, data.n_features
    known = facts.n_levels_of(np.arange(p))
    levels = np.where((known < 0) | (known > 32), _BINS_OF_PARTS, known)
    rows = np.maximum(levels - 1, 0).astype(float)
    return {
        "processor_seconds_once": (5e-9 if data.matrix.dtype == np.uint8 else 1.2e-8) * n * p,
        "processor_seconds_per_feature": 2e-12 * n * float(rows.sum() * rows.mean()),
        "bytes_of_codes": int(n * rows.sum() / 8),
        # Labels, their order and c·log₂c; windows of levels; a block of rows.
        "bytes_of_memory": 32 * n + facts.nbytes + (1 << 27),
    }


def inspect_parts(path: str | os.PathLike[str], **options: Any) -> PartsInspection:
    """Inspect the table in parts at `path`, in one pass unless it was read before.

    `options` are the arguments of `fsframe.read`, which raises its errors.
    """
    data = read(path, **options)
    proposals = proposals_for(data)
    chain = proposals[0].chain if proposals else ""
    words = ["fsframe", "chain", chain, "on", str(path), "--label", data.label_name]
    return PartsInspection(
        path=str(path),
        data=data,
        forecast=_parts_forecast(data),
        command=shlex.join(words) if chain else "",
    )
