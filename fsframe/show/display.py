"""Runs as text and as JSON objects: evaluations, stability studies, and any run by its kind."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import attrs

from fsframe.atomic import place_file
from fsframe.errors import RequestError
from fsframe.evaluation.recorded import RecordedEvaluation, RecordedStability, recorded_protocol
from fsframe.params import format_value
from fsframe.registry import classifiers, default_names, selectors, stability_metrics
from fsframe.show.run_display import (
    closing_lines,
    cluster_lines,
    feature_lines,
    frequency_lines,
    label_facts,
    pair_lines,
    result_object,
    size_facts,
    stage_lines,
    table_facts,
    verdict_lines,
)
from fsframe.storage import RunRecord, StageRecord
from fsframe.text import (
    Rows,
    counted,
    csv_text,
    facts,
    interval_text,
    number_text,
    printable,
    table_lines,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fsframe.evaluation.summary import Evaluation
    from fsframe.storage.checked_tables import MetricTables

_MOST_CLASSES = 6
_SIZES_SHOWN = 20
_OF_PROBABILITIES = ("log-loss", "brier", "calibration")
_LONGEST_VALUE = 300
_ESTIMATE = ("mean", "standard_error", "interval")
_MARK = "← smallest within ± of the best"


def _evaluation_object(record: RunRecord, recorded: RecordedEvaluation) -> dict[str, Any]:
    """Fields that an evaluation adds to the object of a run for ``--json``, with NaN as null."""
    evaluation = recorded.evaluation
    return {
        "evaluated": recorded.base,
        "n_splits": evaluation.n_splits,
        "measures": {
            name: {
                **facts(measure, *_ESTIMATE, "values"),
                "of": "repetitions" if measure.pooled else "folds",
                **facts(measure, "larger_is_better", "baseline", "all_features"),
            }
            for name, measure in evaluation.measures.items()
        },
        "baseline": facts(evaluation.baseline, *_ESTIMATE),
        "all_features": evaluation.all_features and facts(evaluation.all_features, *_ESTIMATE),
        "task": evaluation.task,
        "confusion": {"classes": record.class_names, "rows": evaluation.confusion},
        "by_group": evaluation.by_group and attrs.asdict(evaluation.by_group),
        "agreement": evaluation.agreement and attrs.asdict(evaluation.agreement),
        "kept": evaluation.kept,
        "stability": {
            "metric": next(iter(default_names(stability_metrics)), ""),
            **facts(evaluation.stability, "value", "interval", "undefined"),
        },
        "chosen": recorded.chosen,
        "curve": [attrs.astuple(point) for point in evaluation.curve],
        "one_standard_error": evaluation.one_standard_error,
    }


def _evaluation_lines(record: RunRecord, recorded: RecordedEvaluation) -> Iterator[str]:
    """The measures of an evaluation and the choices of its folds, as lines for a terminal."""
    evaluation = recorded.evaluation
    yield ""
    yield from _measure_lines(evaluation, record.stages[-1].seconds, record.class_names)
    lacking = [name for name in _OF_PROBABILITIES if name not in evaluation.measures]
    chosen = record.stages[-1].params.get("metric")
    if evaluation.task == "classification" and lacking and not chosen:
        yield f"Not measured: {', '.join(lacking)}, since the classifier gives no probabilities."
    yield from _group_lines(evaluation)
    yield from _confusion_lines(evaluation, record.class_names)
    yield from _choice_lines(recorded)
    yield from _curve_lines(evaluation)


def _measure_lines(
    evaluation: Evaluation, seconds: float, classes: Sequence[str] = ()
) -> Iterator[str]:
    """Measures, kept features and stability of an evaluation, as lines for a terminal."""
    yield from table_lines(*measure_rows(evaluation))
    yield ""
    yield from list(table_lines(*kept_rows(evaluation)))[1:]
    yield f"seconds per split  {seconds / evaluation.n_splits:.3g}"
    if evaluation.agreement is not None:
        alike = evaluation.agreement
        yield (
            f"same prediction    in {alike.share:.4f} of pairs of repetitions, "
            f"in all for {alike.n_always} of {alike.n_rows} rows"
        )
    yield from _notes(evaluation, classes)


def measure_rows(evaluation: Evaluation) -> Rows:
    """The measures as a table."""
    header = ["measure", "value", "±", "95 %", evaluation.baseline.name]
    wide = any(measure.all_features is not None for measure in evaluation.measures.values())
    header += ["all features"] * wide
    rows = []
    for name, measure in evaluation.measures.items():
        if measure.undefined:
            rows.append([name, "—", *[""] * (len(header) - 2)])
            continue
        reach = "" if measure.interval is None else "{:.3f} … {:.3f}".format(*measure.interval)
        estimate = [f"{measure.mean:.4f}", number_text(measure.standard_error), reach]
        baselines = [measure.baseline, *[measure.all_features] * wide]
        rows.append([name + "°" * measure.pooled, *estimate, *map(number_text, baselines)])
    return header, rows, set(range(1, len(header)))


def kept_rows(evaluation: Evaluation) -> Rows:
    """How many features the splits keep, and how stable they are, as a table."""
    phi = evaluation.stability
    rows = [
        ["features kept", f"{evaluation.kept.mean():.1f}", _span(evaluation.kept)],
        ["stability φ", number_text(phi.value, 3), phi.undefined or interval_text(phi.interval)],
    ]
    return ["", "", ""], rows, {1}


def _notes(evaluation: Evaluation, classes: Sequence[str]) -> Iterator[str]:
    yield "± is corrected for training sets that overlap (Nadeau, Bengio 2003); 95 % is"
    yield "Student's t on the logit scale (log for losses), so within the measure's range."
    if any(measure.pooled for measure in evaluation.measures.values()):
        lacking = (
            "lacks a class" if evaluation.task == "classification" else "has equal targets only"
        )
        yield f"° over all predictions of a repetition, since some fold {lacking}."
    of_one = [name for name in ("sensitivity", "specificity", "f1") if name in evaluation.measures]
    if of_one and len(classes) == 2:
        yield f"{', '.join(of_one)}: of the class {classes[1]}"
        yield "(--metric NAME:positive=LABEL for another)."


def _confusion_lines(evaluation: Evaluation, classes: Sequence[str]) -> Iterator[str]:
    """The confusion matrix; none if there are more classes than fit on a screen."""
    if not 2 <= len(classes) <= _MOST_CLASSES:
        return
    yield ""
    yield "Rows by class (down) and predicted class (across), mean over repetitions:"
    rows = [
        [label, *(f"{cell:.1f}" for cell in row), f"{row[place] / row.sum():.0%}"]
        for place, (label, row) in enumerate(zip(classes, evaluation.confusion, strict=True))
        if row.sum()
    ]
    shown = [label if len(label) <= 12 else f"{label[:11]}…" for label in classes]
    yield from table_lines(["", *shown, "correct"], rows, right=set(range(1, len(classes) + 2)))


def _group_lines(evaluation: Evaluation) -> Iterator[str]:
    if evaluation.by_group is None:
        return
    each = sorted(evaluation.by_group.accuracies.tolist())
    mean = sum(each) / len(each)
    yield ""
    yield (
        f"Each of {len(each)} groups counted once: accuracy {mean:.4f} (from {each[0]:.2f} to "
        f"{each[-1]:.2f}, median {median(each):.2f})"
    )
    if evaluation.by_group.n_voting:
        yield (
            f"One vote per group (its rows' most frequent prediction): accuracy "
            f"{evaluation.by_group.vote:.4f} over {evaluation.by_group.n_voting} groups"
        )


def _span(kept: Any) -> str:
    return f"from {kept.min()} to {kept.max()}" if kept.min() != kept.max() else "in every split"


def _choice_lines(recorded: RecordedEvaluation) -> Iterator[str]:
    if len(recorded.chains) == 1:
        return
    yield ""
    yield "Chosen inside the folds:"
    times = Counter(recorded.chosen)
    # Chains chosen equally often are in the order of the grid.
    most_often = sorted(times, key=lambda chain: (-times[chain], recorded.chains.index(chain)))
    rows = [[str(times[chain]), chain] for chain in most_often]
    yield from table_lines(["times", "chain"], rows, right={0})


def _curve_lines(evaluation: Evaluation) -> Iterator[str]:
    if not evaluation.curve:
        return
    yield ""
    yield "By number of features (the best of every fold's own ranking):"
    rows = []
    for point in evaluation.curve:
        chosen = point.size == evaluation.one_standard_error
        numbers = [number_text(point.accuracy), number_text(point.standard_error)]
        rows.append([str(point.size), *numbers, number_text(point.stability, 3), _MARK * chosen])
    header = ["features", evaluation.leading.name, "±", "stability φ", ""]
    yield from table_lines(header, rows, right={0, 1, 2, 3})


def fold_columns(evaluation: Evaluation) -> dict[str, list[Any]]:
    """Columns with a value per split: the number of kept features, and the measures of splits."""
    names = [name for name, measure in evaluation.measures.items() if measure.mean == measure.mean]
    names = [name for name in names if len(evaluation.measures[name].values) == evaluation.n_splits]
    return {
        "split": list(range(evaluation.n_splits)),
        "features_kept": [int(kept) for kept in evaluation.kept],
        **{name: [float(value) for value in evaluation.measures[name].values] for name in names},
    }


def _stability_object(study: RecordedStability) -> dict[str, Any]:
    """Fields that a stability study adds to the object of a run for ``--json``."""
    metrics = {
        m.name: {"value": m.value, "interval": m.interval, "by_size": m.by_size}
        for m in study.tables.metrics
    }
    return {"studied": study.base, "stability": metrics}


def _stability_lines(study: RecordedStability) -> Iterator[str]:
    """How many features the resamples kept, and how stable the sets are."""
    metrics = study.tables.metrics
    kept = study.tables.kept.sum(axis=1)
    span = f"{kept.min()} to {kept.max()}" if kept.min() != kept.max() else f"{kept.min()}"
    yield f"features kept per resample: {span}"
    yield ""
    yield from table_lines(*metric_rows(metrics))
    sized = {m.name: m.by_size for m in metrics if m.by_size is not None}
    if sized:
        yield from _size_lines(sized)


def metric_rows(metrics: Iterable[MetricTables]) -> Rows:
    """The metrics as a table."""
    rows = [[m.name, number_text(m.value, 3), interval_text(m.interval)] for m in metrics]
    return ["metric", "stability", ""], rows, {1}


def _size_lines(sized: Mapping[str, NDArray[np.float64]]) -> Iterator[str]:
    yield ""
    yield "The best k features of every resample's ranking:"
    shown = _spread(min(map(len, sized.values())))
    rows = [[str(k), *(number_text(of[k - 1], 3) for of in sized.values())] for k in shown]
    yield from table_lines(["k", *sized], rows, right=set(range(len(sized) + 1)))


def _spread(length: int) -> list[int]:
    """At most twenty sizes: all if they are few, else spaced geometrically."""
    if length <= _SIZES_SHOWN:
        return list(range(1, length + 1))
    ratio = length ** (1.0 / (_SIZES_SHOWN - 1))
    return sorted({min(length, max(1, round(ratio**step))) for step in range(_SIZES_SHOWN)})


def result_lines(record: RunRecord, path: Path | None) -> Iterator[str]:
    """The record as lines for a terminal; the last says where the run file is."""
    protocol = _whole_protocol(record)
    if protocol is None:
        yield from _chain_lines(record, path)
    else:
        if isinstance(protocol, RecordedEvaluation):
            repeated = counted(protocol.evaluation.n_splits, "split")
            body = _evaluation_lines(record, protocol)
        else:
            resamples = counted(len(protocol.tables.kept), "resample")
            repeated, body = f"{resamples} ({protocol.resample})", _stability_lines(protocol)
        yield f"{protocol.base} on {printable(record.data.name)}: {size_facts(record)}, {repeated}"
        yield label_facts(record)
        yield from body
        yield ""
        yield from frequency_lines(record)
    yield from closing_lines(record, path)


def _chain_lines(record: RunRecord, path: Path | None) -> Iterator[str]:
    yield f"{record.chain} on {printable(record.data.name)}: {table_facts(record)}"
    yield ""
    yield from stage_lines(record)
    protocol = recorded_protocol(record)
    if isinstance(protocol, RecordedEvaluation):
        yield ""
        yield from _measure_lines(protocol.evaluation, record.stages[-1].seconds)
    elif protocol is not None:
        yield ""
        yield from table_lines(*metric_rows(protocol.tables.metrics))
    yield ""
    yield from feature_lines(record, path)
    yield from verdict_lines(record)
    if record.n_pairs:
        yield ""
        yield from pair_lines(record, path)
    yield from cluster_lines(record, path)


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
        blank = " " * 10
        text = printable(given)
        yield from textwrap.wrap(text, 96, initial_indent=blank, subsequent_indent=blank)
    yield ""
    yield from result_lines(record, path)


def _absence(stage: StageRecord) -> str:
    """A remark if the method of a stage is not installed."""
    registry = classifiers if stage.kind == "classifier" else selectors
    plain = stage.name.rpartition("/")[2]
    return "" if f"{stage.provider}/{plain}" in registry else ", not available here"


def protocol_object(record: RunRecord, path: Path | None) -> dict[str, Any]:
    """The object of `evaluate --json` or `stability --json`; of `chain` for any other run."""
    protocol, told = _whole_protocol(record), result_object(record, path)
    if isinstance(protocol, RecordedEvaluation):
        return told | _evaluation_object(record, protocol)
    return told if protocol is None else told | _stability_object(protocol)


def file_object(record: RunRecord, path: Path | None) -> dict[str, Any]:
    """The object of `show --json`: that of its command, with the origin of the run."""
    origin = facts(record, "created", "command", "fsframe_version", "environment")
    return protocol_object(record, path) | origin


def protocol_csv(record: RunRecord, path: Path, *, overwrite: bool) -> None:
    """Write the measures of each fold, or of a stability study the metrics by set size.

    Raises
    ------
    RequestError
        If the run is neither an evaluation nor a stability study.
    StoreError
        If the file exists already, or cannot be written.
    """
    protocol = _whole_protocol(record)
    if protocol is None:
        raise RequestError(
            "--csv writes the folds of an evaluation or the metrics of a stability study; this run "
            "is neither (`fsframe table` writes its features)"
        )
    if isinstance(protocol, RecordedEvaluation):
        columns = fold_columns(protocol.evaluation)
        rows = [list(columns), *zip(*columns.values(), strict=True)]
    else:
        rows = [("metric", "k", "value", "low", "high"), *_stability_rows(protocol)]
    place_file(path, csv_text(rows).encode(), overwrite=overwrite)


def _stability_rows(study: RecordedStability) -> Iterator[tuple[object, ...]]:
    """Rows of a CSV file: each metric for the sets as kept, without k, then for the best k."""
    for metric in study.tables.metrics:
        values = [metric.value, *(metric.interval or (None, None))]
        yield (metric.name, "", *map(_csv_cell, values))
        by_size = () if metric.by_size is None else metric.by_size.tolist()
        for k, value in enumerate(by_size, 1):
            yield (metric.name, k, _csv_cell(value), "", "")


def _csv_cell(value: float | None) -> str:
    """A number in full; empty if it is missing."""
    return "" if value is None or value != value else repr(float(value))


def _whole_protocol(record: RunRecord) -> RecordedEvaluation | RecordedStability | None:
    """The protocol of a run without other stages; None for any other run."""
    return recorded_protocol(record) if len(record.stages) == 1 else None
