"""Display a run like the command that made it: a chain, an evaluation or a stability study."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fsframe.analysis.record_display import (
    closing_lines,
    cluster_lines,
    feature_lines,
    pair_lines,
    result_object,
    stage_lines,
    table_facts,
)
from fsframe.contracts.params import format_value
from fsframe.errors import RequestError
from fsframe.storage import RunRecord, StageRecord, printable

__all__ = [
    "file_lines",
    "protocol_csv",
    "protocol_lines",
    "protocol_object",
    "result_lines",
    "result_object",
]

_LONGEST_VALUE = 300


def result_lines(record: RunRecord, path: Path | None) -> Iterator[str]:
    """The record as lines for a terminal; the last says where the run file is."""
    protocol = protocol_lines(record, path)
    if protocol is not None:
        yield from protocol
        return
    yield f"{record.chain} on {printable(record.data.name)}: {table_facts(record)}"
    yield ""
    yield from stage_lines(record)
    yield from _protocol_lines(record)
    yield ""
    yield from feature_lines(record)
    if record.n_pairs:
        yield ""
        yield from pair_lines(record)
    yield from cluster_lines(record)
    yield from closing_lines(record, path)


def _protocol_lines(record: RunRecord) -> Iterator[str]:
    """The measures of an evaluation or stability study at the end of the chain."""
    from fsframe.evaluation.recorded import (
        protocol_name,
        recorded_evaluation,
        recorded_stability,
    )

    name = protocol_name(record)
    if name == "cross-validation":
        from fsframe.analysis.evaluation_display import measure_lines

        yield ""
        yield from measure_lines(recorded_evaluation(record).found, record.stages[-1].seconds)
    elif name == "stability-study":
        from fsframe.analysis.stability_display import metric_lines

        yield ""
        yield from metric_lines(recorded_stability(record).tables.metrics)


def file_lines(record: RunRecord, path: Path) -> Iterator[str]:
    """A run file as lines for a terminal: its origin, then the result."""
    yield f"created   {record.created} by fsframe {record.fsframe_version}, seed {record.seed}"
    if record.command:
        yield f"command   {printable(record.command)}"
    if record.data.source:
        yield f"data      {printable(record.data.source)}, SHA-256 {record.data.sha256[:16]}…"
    for stage in record.stages:
        provider = f"{stage.provider} {stage.provider_version}{_absence(stage)}"
        yield f"stage     {printable(stage.name)}, from {printable(provider)}"
        given = ", ".join(
            f"{key}={printable(format_value(value), longest=_LONGEST_VALUE)}"
            for key, value in stage.params.items()
            if value is not None
        )
        yield from textwrap.wrap(
            printable(given), 96, initial_indent=" " * 10, subsequent_indent=" " * 10
        )
    yield ""
    yield from result_lines(record, path)


def _absence(stage: StageRecord) -> str:
    """A remark if the method of a stage is not installed."""
    from fsframe.registry import classifiers, selectors

    registry = classifiers if stage.kind == "classifier" else selectors
    plain = stage.name.rpartition("/")[2]
    return "" if f"{stage.provider}/{plain}" in registry else ", not available here"


def protocol_lines(record: RunRecord, path: Path | None) -> Iterator[str] | None:
    """The lines of `evaluate` or `stability`; None for any other run."""
    name = _protocol(record)
    if name == "cross-validation":
        from fsframe.analysis.evaluation_display import evaluation_lines
        from fsframe.evaluation.recorded import recorded_evaluation

        return evaluation_lines(record, recorded_evaluation(record), path)
    if name == "stability-study":
        from fsframe.analysis.stability_display import stability_lines

        return stability_lines(record, path)
    return None


def protocol_object(record: RunRecord, path: Path | None) -> dict[str, Any]:
    """The object of `evaluate --json` or `stability --json`; of `chain` for any other run."""
    name = _protocol(record)
    if name == "cross-validation":
        from fsframe.analysis.evaluation_display import evaluation_object
        from fsframe.evaluation.recorded import recorded_evaluation

        return evaluation_object(record, recorded_evaluation(record), path)
    if name == "stability-study":
        from fsframe.analysis.stability_display import stability_object

        return stability_object(record, path)
    return result_object(record, path)


def protocol_csv(record: RunRecord, path: Path, *, overwrite: bool) -> None:
    """Write what ``evaluate --csv`` writes.

    Raises
    ------
    RequestError
        If the run is not an evaluation.
    StoreError
        If the file exists already, or cannot be written.
    """
    if _protocol(record) != "cross-validation":
        raise RequestError("--csv writes the folds of an evaluation; this run is not an evaluation")
    from fsframe.analysis.evaluation_display import write_folds
    from fsframe.evaluation.recorded import recorded_evaluation

    write_folds(path, recorded_evaluation(record).found, overwrite=overwrite)


def _protocol(record: RunRecord) -> str:
    """The protocol that is the whole run; empty if it is another run."""
    from fsframe.evaluation.recorded import protocol_name

    return protocol_name(record) if len(record.stages) == 1 else ""
