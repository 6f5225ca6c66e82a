"""Inspect a table: its contents, open questions before a chain runs, and a suggested chain."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from fsframe.chains.repeated_rows import repeated_rows
from fsframe.errors import DataError
from fsframe.method.run import Cost
from fsframe.show.inspection_findings import Finding, findings_of
from fsframe.show.proposals import Proposal, first_in_parts, proposals_for
from fsframe.table.column_facts import ColumnFacts, Contents, guess_label
from fsframe.table.column_guesses import Guesses, as_words
from fsframe.table.column_kinds import as_ordinal
from fsframe.table.columns import as_keys, column_word, find_column, find_columns
from fsframe.table.dataset import Dataset
from fsframe.table.read import read
from fsframe.table.roles import ROLES, check_asked
from fsframe.table.source import contents

__all__ = ["Finding", "Inspection", "inspect_table"]

_START = 1.5
"""Seconds of processor time that a command takes before it computes."""
_BINS_OF_PARTS = 10
_NUMBER = re.compile(r"[+-]?[0-9]*,?[0-9]+")
_FORM = ("delimiter", "header", "decimal", "encoding", "na", "x", "y", "names")


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
        Columns that are not features: ``"label"``, ``"groups"``, ``"dropped"``, ``"adjusted"``.
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
    form = {key: options[key] for key in _FORM if key in options}
    found = contents(path, label=options.get("label"), **form)
    names = tuple(column.name for column in found.columns)
    commas = tuple(column.name for column in found.columns if _decimal_commas(column))
    if commas and "decimal" not in options:
        with contextlib.suppress(DataError):
            read_so = inspect_table(path, **options, decimal=",")
            told = Finding(columns=commas, what="numbers with decimal commas", option="--decimal ,")
            return attrs.evolve(read_so, findings=(told, *read_so.findings))
    n = len(names)

    def find(role: str, keys: Sequence[str | int]) -> list[int]:
        return find_columns(names, n, keys, f"{path}, {ROLES[role].word}")

    ordinal = list(as_ordinal(options.get("ordinal")))
    drop, groups = options.get("drop", ()), options.get("groups")
    check_asked(
        find, lambda place: f"{path}: {column_word(place, names[place])}",
        label=options.get("label"), drop=drop, groups=groups, categorical=declared, ordinal=ordinal,
    )  # fmt: skip
    dropped = set(find("drop", drop))
    categorical = set(range(n)) if declared is True else set()
    if not isinstance(declared, bool):
        categorical |= set(find("categorical", declared))
    # Declared columns are not questioned.
    categorical |= set(find("ordinal", ordinal))
    if found.row_names:
        dropped.add(0)
    group = None if groups is None else find_column(names, n, groups, f"{path}, groups")
    skip = {column for column in range(n) if column in dropped or column == group}
    label, doubts = _label(found, names, options.get("label"), skip)
    judged = Guesses(found, label, skip)
    if options.get("dates"):
        judged.dates = []
    suggested = judged.suggested(options, group, categorical)
    findings = [*findings_of(judged, categorical, group, suggested)]
    suggested["label"] = judged.keys[label]
    if found.label_array == label and options.get("label") is None:
        del suggested["label"]
    data, refused = None, ""
    try:
        data = read(path, **suggested)
    except DataError as error:
        refused = str(error)
    if data is not None:
        findings += [Finding(columns=(), what=text) for text in repeated_rows(data)]
    proposals = proposals_for(data) if data is not None else []
    chain = proposals[0].chain if proposals else ""
    forecast = proposals[0].cost if proposals else None
    if forecast is not None and data is not None:
        forecast = _of_command(forecast, data)
    roles = (
        dict.fromkeys(judged.beside, "beside")
        | dict.fromkeys(dropped, "dropped")
        | dict.fromkeys(find("drop", suggested.get("drop", ())), "dropped")
        | dict.fromkeys(find("adjust", suggested.get("adjust", ())), "adjusted")
    )
    if "groups" in suggested:
        roles[find_column(names, n, suggested["groups"], "groups")] = "groups"
    roles[label] = "label"
    return Inspection(
        contents=found,
        label=label,
        said=options.get("label") is not None or found.label_array == label,
        doubts=tuple(doubts),
        roles=roles,
        findings=tuple(findings),
        options=suggested,
        data=data,
        refused=refused,
        chain=chain,
        command=_command(path, chain or "immigrate npfs", suggested),
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
    found: Contents, names: tuple[str, ...], said: str | int | None, skip: set[int]
) -> tuple[int, Sequence[str]]:
    """The label column, and doubts about it."""
    if said is not None:
        return find_column(names, len(names), said, f"{found.path}, label"), []
    if found.label_array is not None:
        return found.label_array, []
    if found.beside:
        first = len(found.columns) - found.beside
        beside = guess_label(found.columns, found.n_rows, {*skip, *range(first)}, found.path)
        return beside.place, beside.doubts
    guess = guess_label(found.columns, found.n_rows, skip, found.path)
    return guess.place, guess.doubts


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
            [_BINS_OF_PARTS if found is None or found.size > 32 else found.size for found in known]
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
    words = ["fsframe", "chain", first_in_parts(data), "on", str(path), "--label", data.label_name]
    return PartsInspection(
        path=str(path),
        data=data,
        forecast=PartsForecast.of(data),
        command=shlex.join(words) if words[2] else "",
    )
