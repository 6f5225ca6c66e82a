"""Evaluations and stability studies in every form: lines, JSON, CSV, tables, data frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from fsframe.evaluation.recorded import RecordedEvaluation, RecordedStability, recorded_protocol
from fsframe.registry import default_names, stability_metrics
from fsframe.storage import RunRecord
from fsframe.text import Rows, counted, facts, interval_text, number_text, table_lines

if TYPE_CHECKING:
    from fsframe.evaluation.summary import Evaluation

_MOST_CLASSES = 6
_SIZES_SHOWN = 20
_OF_PROBABILITIES = ("log-loss", "brier", "calibration")
_OF_ONE_CLASS = ("sensitivity", "specificity", "f1")
_ESTIMATE = ("mean", "standard_error", "interval")
_MARK = "← smallest within ± of the best"


class ShownEvaluation:
    """An evaluation in every form.

    Attributes
    ----------
    recorded : RecordedEvaluation
    base : str
        The chain under study.
    repeated : str
        How often it was run, in words.
    title : str
        The heading of its tables on a page.
    tables : mapping of str to Rows
        Its tables by name, the most important first.
    plot : str
        The kind of plot that suits it.
    """

    def __init__(self, record: RunRecord, recorded: RecordedEvaluation) -> None:
        evaluation = recorded.evaluation
        self._record, self.recorded, self._evaluation = record, recorded, evaluation
        self.base, self.repeated = recorded.base, counted(evaluation.n_splits, "split")
        self.title = f"Performance on held-out rows ({evaluation.n_splits} splits)"
        self.tables = {"measures": _measure_rows(evaluation), "kept features": _kept(evaluation)}
        self.plot = "sizes" if evaluation.curve else "roc" if record.class_names else "scores"

    def lines(self) -> Iterator[str]:
        """All results, as lines for a terminal."""
        stage, evaluation = self._record.stages[-1], self._evaluation
        yield ""
        yield from self.short_lines()
        of_one = [name for name in _OF_ONE_CLASS if name in evaluation.measures]
        classes = self._record.class_names
        if of_one and len(classes) == 2:
            yield f"{', '.join(of_one)}: of the class {classes[1]}"
            yield "(--metric NAME:positive=LABEL for another)."
        lacking = [name for name in _OF_PROBABILITIES if name not in evaluation.measures]
        if evaluation.task == "classification" and lacking and not stage.params.get("metric"):
            names = ", ".join(lacking)
            yield f"Not measured: {names}, since the classifier gives no probabilities."
        yield from self._group_lines()
        yield from self._confusion_lines()
        yield from self._choice_lines()
        yield from self._curve_lines()

    def short_lines(self) -> Iterator[str]:
        """The main results, as lines below those of the stages before it."""
        evaluation, seconds = self._evaluation, self._record.stages[-1].seconds
        yield from table_lines(*self.tables["measures"])
        yield ""
        yield from list(table_lines(*self.tables["kept features"]))[1:]
        yield f"seconds per split  {seconds / evaluation.n_splits:.3g}"
        if evaluation.agreement is not None:
            alike = evaluation.agreement
            yield (
                f"same prediction    in {alike.share:.4f} of pairs of repetitions, "
                f"in all for {alike.n_always} of {alike.n_rows} rows"
            )
        yield "± is corrected for training sets that overlap (Nadeau, Bengio 2003); 95 % is"
        yield "Student's t on the logit scale (log for losses), so within the measure's range."
        if any(measure.pooled for measure in evaluation.measures.values()):
            by_class = evaluation.task == "classification"
            lacking = "lacks a class" if by_class else "has equal targets only"
            yield f"° over all predictions of a repetition, since some fold {lacking}."

    def _group_lines(self) -> Iterator[str]:
        of_groups = self._evaluation.by_group
        if of_groups is None:
            return
        each = sorted(of_groups.accuracies.tolist())
        mean = sum(each) / len(each)
        yield ""
        yield (
            f"Each of {len(each)} groups counted once: accuracy {mean:.4f} (from {each[0]:.2f} to "
            f"{each[-1]:.2f}, median {median(each):.2f})"
        )
        if of_groups.n_voting:
            yield (
                f"One vote per group (its rows' most frequent prediction): accuracy "
                f"{of_groups.vote:.4f} over {of_groups.n_voting} groups"
            )

    def _confusion_lines(self) -> Iterator[str]:
        """The confusion matrix; none if there are more classes than fit on a screen."""
        classes = self._record.class_names
        if not 2 <= len(classes) <= _MOST_CLASSES:
            return
        yield ""
        yield "Rows by class (down) and predicted class (across), mean over repetitions:"
        counts = zip(classes, self._evaluation.confusion, strict=True)
        rows = [
            [label, *(f"{cell:.1f}" for cell in row), f"{row[place] / row.sum():.0%}"]
            for place, (label, row) in enumerate(counts)
            if row.sum()
        ]
        shown = [label if len(label) <= 12 else f"{label[:11]}…" for label in classes]
        right = set(range(1, len(classes) + 2))
        yield from table_lines(["", *shown, "correct"], rows, right)

    def _choice_lines(self) -> Iterator[str]:
        chains, times = self.recorded.chains, Counter(self.recorded.chosen)
        if len(chains) == 1:
            return
        yield ""
        yield "Chosen inside the folds:"
        # Chains chosen equally often are in the order of the grid.
        most_often = sorted(times, key=lambda chain: (-times[chain], chains.index(chain)))
        rows = [[str(times[chain]), chain] for chain in most_often]
        yield from table_lines(["times", "chain"], rows, right={0})

    def _curve_lines(self) -> Iterator[str]:
        evaluation = self._evaluation
        if not evaluation.curve:
            return
        yield ""
        yield "By number of features (the best of every fold's own ranking):"
        rows = []
        for point in evaluation.curve:
            mark = _MARK * (point.size == evaluation.one_standard_error)
            numbers = [number_text(point.accuracy), number_text(point.standard_error)]
            rows.append([str(point.size), *numbers, number_text(point.stability, 3), mark])
        header = ["features", evaluation.leading.name, "±", "stability φ", ""]
        yield from table_lines(header, rows, right={0, 1, 2, 3})

    def fields(self) -> dict[str, Any]:
        """What it adds to the object of a run for ``--json``."""
        evaluation = self._evaluation
        return {
            "evaluated": self.base,
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
            "confusion": {"classes": self._record.class_names, "rows": evaluation.confusion},
            "by_group": evaluation.by_group and attrs.asdict(evaluation.by_group),
            "agreement": evaluation.agreement and attrs.asdict(evaluation.agreement),
            "kept": evaluation.kept,
            "stability": {
                "metric": next(iter(default_names(stability_metrics)), ""),
                **facts(evaluation.stability, "value", "interval", "undefined"),
            },
            "chosen": self.recorded.chosen,
            "curve": [attrs.astuple(point) for point in evaluation.curve],
            "one_standard_error": evaluation.one_standard_error,
        }

    def csv_rows(self) -> Iterable[Sequence[object]]:
        """The rows of ``--csv``, a header first."""
        columns = self._fold_columns()
        return [list(columns), *zip(*columns.values(), strict=True)]

    def frames(self) -> dict[str, dict[str, Any]]:
        """The columns of each table for programs, the default table first."""
        from fsframe.evaluation.summary import LEADING

        evaluation = self._evaluation
        rows = {**evaluation.measures, evaluation.baseline.name: evaluation.baseline}
        if evaluation.all_features is not None:
            rows["all features"] = evaluation.all_features
        curve = _columns(evaluation.curve, "size", "accuracy", "standard_error", "stability")
        return {
            "measures": {
                "measure": list(rows),
                **_columns(rows.values(), "mean", "standard_error"),
                **_bound_columns(rows.values()),
            },
            "folds": self._fold_columns(),
            "predictions": self._predictions(),
            "curve": {
                LEADING[evaluation.task] if name == "accuracy" else name: values
                for name, values in curve.items()
            },
        }

    def _fold_columns(self) -> dict[str, list[Any]]:
        """A value per split: the number of kept features, and the measures of splits."""
        evaluation = self._evaluation
        of_splits = {
            name: [float(value) for value in measure.values]
            for name, measure in evaluation.measures.items()
            if measure.mean == measure.mean and len(measure.values) == evaluation.n_splits
        }
        return {
            "split": list(range(evaluation.n_splits)),
            "features_kept": [int(kept) for kept in evaluation.kept],
            **of_splits,
        }

    def _predictions(self) -> dict[str, Any]:
        """The held-out predictions as columns, a row for each repetition and tested row."""
        record, tables = self._record, self.recorded.tables
        repeat, row = np.nonzero(tables.fold >= 0)
        truth, predicted = tables.truth[row], tables.predicted[repeat, row]
        scores = tables.class_scores[repeat, row]
        columns: dict[str, Any] = {"repeat": repeat, "row": row, "fold": tables.fold[repeat, row]}
        if record.class_names:
            # Code -1, no prediction, is the last.
            names = np.array([*record.class_names, ""])
            truth, predicted = names[truth], names[predicted]
        columns |= {"truth": truth, "predicted": predicted}
        if tables.event is not None:
            columns |= {"truth": np.abs(truth), "event": tables.event[row]}
        if not np.isnan(scores).all():
            for code, name in enumerate(record.class_names):
                columns[f"score {name}"] = scores[:, code]
        return columns


def _measure_rows(evaluation: Evaluation) -> Rows:
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


def _kept(evaluation: Evaluation) -> Rows:
    """How many features the splits keep, and how stable they are."""
    phi, kept = evaluation.stability, evaluation.kept
    span = f"from {kept.min()} to {kept.max()}" if np.ptp(kept) else "in every split"
    rows = [
        ["features kept", f"{kept.mean():.1f}", span],
        ["stability φ", number_text(phi.value, 3), phi.undefined or interval_text(phi.interval)],
    ]
    return ["", "", ""], rows, {1}


def distance_note(name: str) -> str:
    """What to know of a stability metric that is a distance; empty for others.

    >>> distance_note("canberra:depth=5"), distance_note("kuncheva"), distance_note("unknown")
    ('a distance, 0 if all agree', '', '')
    """
    kind = name.partition(":")[0]
    if kind not in stability_metrics or stability_metrics[kind].larger_is_stabler:
        return ""
    return "a distance, 0 if all agree"


class ShownStability:
    """A stability study in every form, with the attributes and methods of an evaluation's."""

    def __init__(self, study: RecordedStability) -> None:
        metrics = self._metrics = study.tables.metrics
        self._sized = {m.name: m.by_size for m in metrics if m.by_size is not None}
        self.recorded, self.base, self._kept = study, study.base, study.tables.kept
        self.repeated = f"{counted(len(self._kept), 'resample')} ({study.resample})"
        self.title = "How stable the choice is"
        rows = [
            [m.name, number_text(m.value, 3), interval_text(m.interval) or distance_note(m.name)]
            for m in metrics
        ]
        self.tables = {"measures": (["metric", "stability", ""], rows, {1})}
        self.plot = "stability" if self._sized else "bootstraps"

    def lines(self) -> Iterator[str]:
        kept = self._kept.sum(axis=1)
        span = f"{kept.min()} to {kept.max()}" if np.ptp(kept) else f"{kept.min()}"
        yield f"features kept per resample: {span}"
        yield ""
        yield from self.short_lines()
        if self._sized:
            yield ""
            yield "The best k features of every resample's ranking:"
            shown = _spread(min(map(len, self._sized.values())))
            values = self._sized.values()
            rows = [[str(k), *(number_text(of[k - 1], 3) for of in values)] for k in shown]
            yield from table_lines(["k", *self._sized], rows, set(range(len(values) + 1)))

    def short_lines(self) -> Iterator[str]:
        yield from table_lines(*self.tables["measures"])

    def fields(self) -> dict[str, Any]:
        metrics = {m.name: facts(m, "value", "interval", "by_size") for m in self._metrics}
        return {"studied": self.base, "stability": metrics}

    def csv_rows(self) -> Iterator[Sequence[object]]:
        """Each metric for the sets as kept, without k, then for the best k."""
        yield "metric", "k", "value", "low", "high"
        for metric in self._metrics:
            values = [metric.value, *(metric.interval or (None, None))]
            yield metric.name, "", *map(_csv_cell, values)
            for k, value in enumerate(self._sized.get(metric.name, ()), 1):
                yield metric.name, k, _csv_cell(value), "", ""

    def frames(self) -> dict[str, dict[str, Any]]:
        length = min(map(len, self._sized.values()), default=0)
        best = {name: values[:length].tolist() for name, values in self._sized.items()}
        return {
            "metrics": {
                "metric": [metric.name for metric in self._metrics],
                "stability": [metric.value for metric in self._metrics],
                **_bound_columns(self._metrics),
            },
            "sizes": {"size": list(range(1, length + 1)), **best},
        }


def _spread(length: int) -> list[int]:
    """At most twenty sizes: all if they are few, else spaced geometrically."""
    if length <= _SIZES_SHOWN:
        return list(range(1, length + 1))
    ratio = length ** (1.0 / (_SIZES_SHOWN - 1))
    return sorted({min(length, max(1, round(ratio**step))) for step in range(_SIZES_SHOWN)})


def _csv_cell(value: float | None) -> str:
    """A number in full; empty if it is missing."""
    return "" if value is None or value != value else repr(float(value))


def _columns(rows: Iterable[Any], *names: str) -> dict[str, Any]:
    """These attributes of the rows as columns."""
    rows = list(rows)
    return {name: [getattr(row, name) for row in rows] for name in names}


def _bound_columns(rows: Iterable[Any]) -> dict[str, Any]:
    """Columns ``low`` and ``high`` of the intervals of rows, NaN if there is none."""
    known = [row.interval or (float("nan"), float("nan")) for row in rows]
    return {"low": [float(low) for low, _ in known], "high": [float(high) for _, high in known]}


ShownProtocol = ShownEvaluation | ShownStability


def shown_protocol(record: RunRecord) -> ShownProtocol | None:
    """The evaluation or the stability study at the end of a run; None if it has neither."""
    recorded = recorded_protocol(record)
    if isinstance(recorded, RecordedEvaluation):
        return ShownEvaluation(record, recorded)
    return None if recorded is None else ShownStability(recorded)
