"""The result of `inspect` as text for the terminal and as one JSON object."""

from __future__ import annotations

import math
import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import numpy as np

from fsframe.method.run import Cost, size_text
from fsframe.show.findings import Finding
from fsframe.show.proposals import Proposal
from fsframe.table.dataset import Dataset
from fsframe.table.frames import DATA_FRAME
from fsframe.table.guesses.column_facts import ColumnFacts, Contents
from fsframe.table.guesses.doubts import as_arguments
from fsframe.table.side_columns import times_and_events
from fsframe.text import (
    counted,
    duration,
    facts,
    feature_labels,
    printable,
    shown_width,
    some_of,
    table_lines,
)

_WIDTH = 80
_SHOWN = 30
_NAME = 24
_FEW = 8
_VALUES = 26
_START = 1.5
"""Seconds of processor time that a command takes to start."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Inspection:
    """Result of inspecting a table; as text, what ``fsframe inspect`` prints.

    Parameters
    ----------
    contents : Contents
    label : int
        The column that is the label, or would be taken as the label.
    said : bool
        Whether the user named the label.
    doubts : tuple of str
        Reasons why another column may be meant.
    roles : mapping of int to str
        Columns that are not plain features: ``"label"``, ``"event"``, ``"groups"``, ``"dropped"``,
        ``"adjusted"``, ``"beside"``, or another role by its name.
    findings : tuple of Finding
    options : mapping of str to JSON values
        Suggested arguments of `fsframe.read`.
    data : Dataset, optional
        The table read with these options; None if that fails.
    refused : str
        Why the table cannot be read or used as it is; empty if it can.
    command : str
        The command to start with; for a data frame, the call.
    proposals : tuple of Proposal
        The suggested chain, and those for other questions, each with its command.
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
    command: str
    proposals: tuple[Proposal, ...]

    @property
    def chain(self) -> str:
        """The suggested chain; empty if no chain is proposed."""
        return self.proposals[0].chain if self.proposals else ""

    @property
    def forecast(self) -> Cost | None:
        """The cost of the command, with that of starting the program; None if it is unknown.

        It is unknown with covariates, which the cost of a chain ignores: tests by permutations
        within strata take several times as long.
        """
        cost = self.proposals[0].cost if self.proposals else None
        if cost is None or self.data is None or self.data.covariates is not None:
            return None
        seconds, formula = cost.seconds + _START, f"{_START:g} + {cost.formula}"
        return attrs.evolve(cost, seconds=seconds, formula=formula)

    @property
    def of_frame(self) -> bool:
        """Whether a data frame was inspected."""
        return self.contents.table.form == DATA_FRAME

    def __str__(self) -> str:
        return "\n".join(inspection_lines(self))

    __repr__ = __str__


@attrs.frozen(kw_only=True, eq=False)
class PartsInspection:
    """Result of inspecting a table in parts.

    `command` is the suggested command; empty if no proposed method works on such a table.
    """

    path: str
    data: Dataset
    forecast: Mapping[str, float]
    command: str


def inspection_lines(inspection: Inspection | PartsInspection) -> Iterator[str]:
    """The table as lines of at most 80 characters; the last are the command to start with."""
    if isinstance(inspection, PartsInspection):
        yield from _parts_lines(inspection)
        return
    contents = inspection.contents
    size = f"{counted(contents.n_rows, 'row')} × {counted(len(contents.columns), 'column')}"
    yield from _wrapped(f"{contents.table.path}: {contents.table.description}")
    yield f"{size}, {_gaps(inspection)}"
    yield ""
    yield from _wrapped(f"label: {_label(inspection)}", indent="  ")
    for doubt in inspection.doubts:
        option = "label=" if inspection.of_frame else "--label"
        said = _for_programs(doubt) if inspection.of_frame else doubt
        way = "" if "--labels" in said else f" ({option})"
        yield from _wrapped(f"doubt: {said}{way}", indent="  ")
    names = [column.name for column in contents.columns]
    labels = dict(zip(names, feature_labels(names, _NAME), strict=True))
    features = [c for k, c in enumerate(contents.columns) if k not in inspection.roles]
    yield from _wrapped(f"features: {len(features)}{_kinds(features)}", indent="  ")
    yield ""
    yield from _column_lines(inspection, labels)
    if inspection.findings:
        yield ""
        yield "Questions and remarks:"
        for finding in inspection.findings:
            shown = some_of([labels[name] for name in finding.columns])
            head = f"{shown}: " if shown else ""
            what = _for_programs(finding.what) if inspection.of_frame else finding.what
            yield from _wrapped(f"* {head}{what}", indent="  ")
            option = as_arguments(finding.settled) if inspection.of_frame else finding.option
            if option:
                yield f"    {_cut(option, _WIDTH - 4)}"
    yield ""
    if inspection.refused:
        refused = f"A chain would refuse this table as it is: {inspection.refused}"
        for number, problem in enumerate(refused.split("\n")):
            yield from _wrapped(problem, indent="  ", first="  " * (number > 0))
        return
    yield f"Suggested {'call' if inspection.of_frame else 'command'}:"
    mark = "" if inspection.of_frame else " \\"
    yield from _continued(printable(inspection.command), mark)
    if inspection.forecast is not None:
        seconds = duration(inspection.forecast.seconds)
        yield f"  forecast: about {seconds} of processor time, accurate to a factor of three"
    for place, proposal in enumerate(inspection.proposals):
        if place:
            yield "For another question:"
            yield from _continued(printable(proposal.command), mark)
        if proposal.question:
            answer = f"answers: {proposal.question}; {proposal.promise}"
            yield from _wrapped(answer, indent="  ", first="  ")
        if place and proposal.cost is not None:
            seconds = duration(proposal.cost.seconds)
            yield f"  costs: about {seconds} of processor time"


def _gaps(inspection: Inspection) -> str:
    cells = sum(column.missing for column in inspection.contents.columns)
    if not cells:
        return "no cell is empty"
    columns = sum(column.missing > 0 for column in inspection.contents.columns)
    return f"{counted(cells, 'cell')} empty, in {counted(columns, 'column')}"


def _label(inspection: Inspection) -> str:
    column, data = inspection.contents.columns[inspection.label], inspection.data
    if data is None:
        values = counted(column.different, "different value")
        if column.different <= _FEW:
            codes, levels = inspection.contents.classes(inspection.label)
            values += f": {_with_sizes(levels, np.bincount(codes[codes >= 0]))}"
    elif data.task == "regression":
        values = f"regression: {column.low:.6g} to {column.high:.6g}"
    elif data.task == "survival":
        events = int(times_and_events(data.y)[1].sum())
        values = f"time to {column.high:.6g}, {counted(events, 'event')} seen"
    else:
        sizes = _class_sizes(data)
        more = ", …" if len(sizes) > _FEW else ""
        values = f"{counted(len(sizes), 'class')}: {_with_sizes(sizes, sizes.values())}{more}"
    how = "" if inspection.said else ", a guess"
    return f"{printable(column.name)}{how} ({values})"


def _with_sizes(names: Iterable[str], sizes: Iterable[int]) -> str:
    pairs = list(zip(names, sizes, strict=True))[:_FEW]
    return ", ".join(f"{printable(name, 30)} {size}" for name, size in pairs)


def _kinds(features: list[ColumnFacts]) -> str:
    kinds = Counter(column.kind for column in features)
    return f" ({', '.join(f'{kind} {n}' for kind, n in kinds.items())})" if kinds else ""


def _column_lines(inspection: Inspection, labels: Mapping[str, str]) -> Iterator[str]:
    """At most thirty columns: those with a role or missing values first, then from the left."""
    columns = inspection.contents.columns
    order = list(range(len(columns)))
    if len(order) > _SHOWN:
        order.sort(key=lambda k: (k not in inspection.roles, not columns[k].missing, k))
        order = sorted(order[:_SHOWN])
    rows = []
    for k in order:
        column, role = columns[k], inspection.roles.get(k, "")
        numbers = [str(column.different), str(column.missing or "")]
        name = _cut(labels[column.name], _NAME)
        rows.append([str(k + 1), name, column.kind, *numbers, role, printable(_values(column))])
    header = ["", "column", "kind", "values", "empty", "role", "range, or examples"]
    lines = list(table_lines(header, rows, right={0, 3, 4}))
    yield from (_cut(line, _WIDTH) for line in lines)
    if len(columns) > _SHOWN:
        where = "contents.columns has all" if inspection.of_frame else "--json has all"
        yield f"… and {len(columns) - _SHOWN} more ({where})"


def _values(column: ColumnFacts) -> str:
    """The first examples, as many as fit, but at least one; without examples the range."""
    examples = column.examples
    if not examples:
        return "" if math.isnan(column.low) else f"{column.low:.6g} … {column.high:.6g}"
    shown = len(examples)
    while shown > 1 and shown_width(", ".join(examples[:shown])) > _VALUES:
        shown -= 1
    return ", ".join([*examples[:shown], *["…"] * (shown < len(examples))])


def _cut(text: str, width: int) -> str:
    if shown_width(text) <= width:
        return text
    while shown_width(text) >= width:
        text = text[:-1]
    return f"{text}…"


def _wrapped(text: str, indent: str = "", first: str = "") -> Iterator[str]:
    yield from textwrap.wrap(
        printable(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def _for_programs(text: str) -> str:
    """A sentence with options of commands replaced by arguments of functions.

    >>> _for_programs("a feature here (--adjust age adjusts for it instead)")
    "a feature here (adjust=['age'] adjusts for it instead)"
    >>> _for_programs("as days (--dates days) or as the order of rows (--time)")
    "as days (dates='days') or as the order of rows (time=)"
    """
    text = re.sub(r"--adjust ('[^']*'|\S+)", lambda m: f"adjust={shlex.split(m[1])}", text)
    text = text.replace("--dates days", "dates='days'")
    text = text.replace("say so (--transpose)", "transpose the frame")
    return re.sub(r"--([a-z][a-z-]*)", lambda m: f"{m[1].replace('-', '_')}=", text)


def _continued(command: str, mark: str) -> Iterator[str]:
    """A command to copy, wrapped between words; all lines but the last end with `mark`."""
    lines = [""]
    for word in re.findall(r"(?:--\S+ )?(?:[^\s']|'[^']*')+", command):
        if lines[-1] and len(lines[-1]) + len(word) + 5 > _WIDTH:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    for k, line in enumerate(lines):
        yield ("    " if k else "  ") + line + (mark if k < len(lines) - 1 else "")


def inspection_object(inspection: Inspection | PartsInspection) -> dict[str, Any]:
    """The object of `inspect --json`: every column and finding."""
    if isinstance(inspection, PartsInspection):
        return _parts_object(inspection)
    contents = inspection.contents
    data, forecast = inspection.data, inspection.forecast
    return {
        "path": str(contents.table.path),
        "form": contents.table.description,
        "rows": contents.n_rows,
        "columns": [
            {
                **facts(column, "name", "kind"),
                "part": inspection.roles.get(k, "feature"),
                "different": column.different,
                "empty": column.missing,
                **facts(column, "low", "high", "examples", "constant", "codes"),
            }
            for k, column in enumerate(contents.columns)
        ],
        "label": {
            "name": contents.columns[inspection.label].name,
            **facts(inspection, "said", "doubts"),
            "task": data and data.task,
            "classes": data and _class_sizes(data),
        },
        "findings": [facts(one, "columns", "what", "option") for one in inspection.findings],
        "repeated_rows": contents.repeated_rows,
        **facts(inspection, "refused", "chain", "command"),
        "proposals": [
            {
                **facts(proposal, "chain", "command", "question", "promise"),
                "processor_seconds": proposal.cost and proposal.cost.seconds,
            }
            for proposal in inspection.proposals
        ],
        "forecast": forecast
        and {"processor_seconds": forecast.seconds, "formula": forecast.formula},
    }


def _class_sizes(data: Dataset) -> dict[str, int]:
    """The number of rows of each class; empty for a numeric label."""
    if data.task != "classification":
        return {}
    sizes = data.class_sizes().tolist()
    return {str(label): size for label, size in zip(data.classes, sizes, strict=True)}


def _parts_lines(inspection: PartsInspection) -> Iterator[str]:
    """The table as lines; the last are the command to start with and its cost."""
    data = inspection.data
    holes = int(data.matrix.facts.missing.sum())
    share = 100 * holes / (data.n_samples * data.n_features)
    yield f"{printable(inspection.path)}: a table in parts"
    yield (
        f"{counted(data.n_samples, 'row')} × {counted(data.n_features, 'feature')}, "
        f"{'no gaps' if not holes else f'{share:.2g}% of the values missing'}"
    )
    yield from (f"  {fact}" for fact in data._facts()[1:])
    kinds = data.kinds_in_words()
    if kinds:
        yield f"  {kinds}"
    if data.warnings:
        yield ""
        yield "Questions and remarks:"
        yield from (f"* {printable(warning)}" for warning in data.warnings)
    yield ""
    if inspection.command:
        yield "Suggested command:"
        yield f"  {inspection.command}"
    once, each, disk, memory = inspection.forecast.values()
    yield f"  forecast, not measured: {duration(once)} of processor time to read it once,"
    yield (
        f"  and {each:.2g} s per feature, {duration(once + 100 * each)} for 100; codes of "
        f"{size_text(disk)} beside it;"
    )
    yield f"  {size_text(memory)} of memory at least; accurate to a factor of three"


def _parts_object(inspection: PartsInspection) -> dict[str, Any]:
    """The object of `inspect --json` for a table in parts."""
    data = inspection.data
    return {
        "path": inspection.path,
        "form": "parts",
        "rows": data.n_samples,
        "features": data.n_features,
        "missing": int(data.matrix.facts.missing.sum()),
        "label": {"name": data.label_name, "task": data.task, "classes": _class_sizes(data)},
        "warnings": list(data.warnings),
        **facts(inspection, "command", "forecast"),
    }
