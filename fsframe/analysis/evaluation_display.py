"""An evaluation as people read it, as one JSON object, and as a table of folds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsframe.analysis.record_display import closing_lines, frequency_lines, in_groups, result_object
from fsframe.analysis.text_table import table_lines
from fsframe.storage import RunRecord, place_file, printable

if TYPE_CHECKING:
    from fsframe.evaluation.recorded import RecordedEvaluation
    from fsframe.evaluation.summary import Evaluation, Measure

__all__ = ["evaluation_lines", "evaluation_object", "measure_lines", "write_folds"]


def evaluation_object(
    record: RunRecord, recorded: RecordedEvaluation, out: Path | None
) -> dict[str, Any]:
    """An evaluation as one object for ``--json``; what is undefined is null."""
    found = recorded.found
    return {
        **result_object(record, out),
        "evaluated": recorded.base,
        "n_splits": found.n_splits,
        "measures": {
            name: {
                "mean": _number(measure.mean),
                "standard_error": _number(measure.standard_error),
                "interval": None if measure.interval is None else list(measure.interval),
                "values": [_number(value) for value in measure.values],
            }
            for name, measure in found.measures.items()
        },
        "baseline": _plain(found.baseline),
        "all_features": None if found.all_features is None else _plain(found.all_features),
        "kept": [int(k) for k in found.kept],
        "stability": {
            "metric": "nogueira",
            "value": _number(found.stability.value),
            "interval": None
            if found.stability.interval is None
            else [_number(bound) for bound in found.stability.interval],
            "undefined": found.stability.undefined,
        },
        "chosen": list(recorded.chosen),
        "curve": [
            [p.size, _number(p.accuracy), _number(p.standard_error), _number(p.stability)]
            for p in found.curve
        ],
        "one_standard_error": found.one_standard_error,
    }


def _plain(measure: Measure) -> dict[str, Any]:
    return {
        "mean": _number(measure.mean),
        "standard_error": _number(measure.standard_error),
        "interval": None if measure.interval is None else list(measure.interval),
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def evaluation_lines(
    record: RunRecord, recorded: RecordedEvaluation, out: Path | None
) -> Iterator[str]:
    """An evaluation as lines for a terminal."""
    found = recorded.found
    yield (
        f"{recorded.base} on {printable(record.data.name)}: {record.n_samples} samples"
        f"{in_groups(record)} × "
        f"{record.n_features} features, {found.n_splits} splits"
    )
    yield ""
    yield from measure_lines(found, record.stages[-1].seconds)
    yield from _choice_lines(recorded)
    yield from _curve_lines(found)
    yield ""
    yield from frequency_lines(record)
    yield from closing_lines(record, out)


def measure_lines(found: Evaluation, seconds: float) -> Iterator[str]:
    """The measures of an evaluation, what it kept and how stably, as lines for a terminal."""
    rows = []
    for name, measure in found.measures.items():
        if measure.undefined:
            rows.append([name, "—", f"undefined: {measure.undefined}"])
        elif measure.standard_error == measure.standard_error:
            rows.append([name, f"{measure.mean:.4f}", _reach(measure)])
        else:
            rows.append([name, f"{measure.mean:.4f}", "over all predictions of a repetition"])
        if name == "accuracy":
            rows += _beside(found)
    rows.append(["features kept", f"{found.kept.mean():.1f}", _span(found.kept)])
    rows.append(_stability_row(found))
    rows.append(["seconds per split", f"{seconds / found.n_splits:.3g}", ""])
    yield from list(table_lines(["", "", ""], rows, right={1}))[1:]
    yield "± is corrected for training sets that overlap (Nadeau, Bengio 2003)."


def _reach(measure: Measure) -> str:
    spread = f"± {measure.standard_error:.4f}"
    if measure.interval is None:
        return spread
    return spread + ", 95 % from {:.3f} to {:.3f}".format(*measure.interval)


def _beside(found: Evaluation) -> Iterator[list[str]]:
    """What the accuracy has to be seen beside."""
    yield ["  larger class", f"{found.baseline.mean:.4f}", "if always predicted"]
    if found.all_features is not None:
        yield ["  all features", f"{found.all_features.mean:.4f}", _reach(found.all_features)]


def _span(kept: Any) -> str:
    return f"from {kept.min()} to {kept.max()}" if kept.min() != kept.max() else "always"


def _stability_row(found: Evaluation) -> list[str]:
    value = found.stability
    if value.undefined:
        return ["stability φ", "—", value.undefined]
    interval = (
        "" if value.interval is None else "95 % from {:.3f} to {:.3f}".format(*value.interval)
    )
    return ["stability φ", f"{value.value:.3f}", interval]


def _choice_lines(recorded: RecordedEvaluation) -> Iterator[str]:
    if recorded.n_chains == 1:
        return
    yield ""
    yield "Chosen inside the folds:"
    # Equally often chosen ones in the order of the grid.
    grid = dict(sorted(zip(recorded.found.chosen.tolist(), recorded.chosen, strict=True)))
    times = Counter(recorded.chosen)
    rows = [[str(times[chain]), chain] for chain in dict.fromkeys(grid.values())]
    rows.sort(key=lambda row: -int(row[0]))
    yield from table_lines(["times", "chain"], rows, right={0})


def _curve_lines(found: Evaluation) -> Iterator[str]:
    if not found.curve:
        return
    yield ""
    yield "By number of features (the best of every fold's own ranking):"
    rows = []
    for point in found.curve:
        mark = "← smallest within ± of the best" if (point.size == found.one_standard_error) else ""
        stable = "—" if point.stability != point.stability else f"{point.stability:.3f}"
        rows.append(
            [str(point.size), f"{point.accuracy:.4f}", f"{point.standard_error:.4f}", stable, mark]
        )
    yield from table_lines(
        ["features", "accuracy", "±", "stability φ", ""], rows, right={0, 1, 2, 3}
    )


def write_folds(path: Path, found: Evaluation, *, overwrite: bool) -> None:
    """A table of one line per fold at `path`: what it kept, and every measure of it."""
    names = [name for name, measure in found.measures.items() if measure.mean == measure.mean]
    names = [name for name in names if len(found.measures[name].values) == found.n_splits]
    lines = [",".join(["split", "features_kept", *names])]
    for split in range(found.n_splits):
        values = [repr(float(found.measures[name].values[split])) for name in names]
        lines.append(",".join([str(split), str(int(found.kept[split])), *values]))
    place_file(path, ("\n".join(lines) + "\n").encode(), overwrite=overwrite)
