"""Display a run like the command that made it: a chain, an evaluation or a stability study."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fsframe.analysis.protocol_display import (
    evaluation_lines,
    evaluation_object,
    measure_lines,
    metric_rows,
    stability_lines,
    stability_object,
    write_folds,
)
from fsframe.analysis.record_display import (
    closing_lines,
    cluster_lines,
    feature_lines,
    pair_lines,
    result_object,
    stage_lines,
    table_facts,
    verdict_lines,
)
from fsframe.analysis.text_table import table_lines
from fsframe.errors import RequestError
from fsframe.params import format_value
from fsframe.registry import classifiers, selectors
from fsframe.storage import RunRecord, StageRecord, printable
from fsframe.storage.records import protocol_name

if TYPE_CHECKING:
    from fsframe.evaluation.recorded import RecordedEvaluation, RecordedStability

__all__ = ["file_lines", "protocol_csv", "protocol_object", "result_lines", "result_object"]

_LONGEST_VALUE = 300
_Protocol: TypeAlias = "tuple[RecordedEvaluation | None, RecordedStability | None]"


def result_lines(record: RunRecord, path: Path | None) -> Iterator[str]:
    """The record as lines for a terminal; the last says where the run file is."""
    evaluation, study = _whole_protocol(record)
    if evaluation is not None:
        yield from evaluation_lines(record, evaluation, path)
    elif study is not None:
        yield from stability_lines(record, study, path)
    else:
        yield from _chain_lines(record, path)


def _chain_lines(record: RunRecord, path: Path | None) -> Iterator[str]:
    yield f"{record.chain} on {printable(record.data.name)}: {table_facts(record)}"
    yield ""
    yield from stage_lines(record)
    evaluation, study = _protocol(record)
    if evaluation is not None:
        yield ""
        yield from measure_lines(evaluation.found, record.stages[-1].seconds)
    elif study is not None:
        yield ""
        yield from table_lines(*metric_rows(study.tables.metrics))
    yield ""
    yield from feature_lines(record)
    yield from verdict_lines(record)
    if record.n_pairs:
        yield ""
        yield from pair_lines(record)
    yield from cluster_lines(record)
    yield from closing_lines(record, path)


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
    registry = classifiers if stage.kind == "classifier" else selectors
    plain = stage.name.rpartition("/")[2]
    return "" if f"{stage.provider}/{plain}" in registry else ", not available here"


def protocol_object(record: RunRecord, path: Path | None) -> dict[str, Any]:
    """The object of `evaluate --json` or `stability --json`; of `chain` for any other run."""
    evaluation, study = _whole_protocol(record)
    if evaluation is not None:
        return evaluation_object(record, evaluation, path)
    if study is not None:
        return stability_object(record, study, path)
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
    evaluation, _ = _whole_protocol(record)
    if evaluation is None:
        raise RequestError("--csv writes the folds of an evaluation; this run is not an evaluation")
    write_folds(path, evaluation.found, overwrite=overwrite)


def _whole_protocol(record: RunRecord) -> _Protocol:
    """The protocol that is the whole run; none if the run has other stages."""
    return _protocol(record) if len(record.stages) == 1 else (None, None)


def _protocol(record: RunRecord) -> _Protocol:
    """The evaluation or the stability study at the end of a run."""
    name = protocol_name(record)
    if not name:
        return None, None
    # Here, so that showing any other run does not load evaluations.
    from fsframe.evaluation import recorded

    if name == "cross-validation":
        return recorded.recorded_evaluation(record), None
    return None, recorded.recorded_stability(record)
