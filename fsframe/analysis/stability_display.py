"""A stability study as text, and as one JSON object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsframe.analysis.record_display import (
    closing_lines,
    frequency_lines,
    label_facts,
    result_object,
    size_facts,
)
from fsframe.analysis.text_table import table_lines
from fsframe.contracts.showing import counted, interval_text, number_text
from fsframe.storage import RunRecord, printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fsframe.evaluation.recorded import RecordedStability
    from fsframe.storage.checked_tables import MetricTables

__all__ = ["metric_rows", "stability_lines", "stability_object"]

_SIZES_SHOWN = 20


def stability_object(
    record: RunRecord, study: RecordedStability, out: Path | None
) -> dict[str, Any]:
    """A stability study as one object for ``--json``, which writes NaN as null."""
    found = {
        metric.name: {
            "value": metric.value,
            "interval": metric.interval,
            "by_size": metric.by_size,
        }
        for metric in study.tables.metrics
    }
    return {**result_object(record, out), "studied": study.base, "stability": found}


def stability_lines(record: RunRecord, study: RecordedStability, out: Path | None) -> Iterator[str]:
    """A stability study as lines for a terminal."""
    metrics = study.tables.metrics
    kept = study.tables.kept.sum(axis=1)
    yield (
        f"{study.base} on {printable(record.data.name)}: {size_facts(record)}, "
        f"{counted(len(kept), 'resample')} ({study.resample})"
    )
    yield label_facts(record)
    span = f"{kept.min()} to {kept.max()}" if kept.min() != kept.max() else f"{kept.min()}"
    yield f"features kept per resample: {span}"
    yield ""
    yield from table_lines(*metric_rows(metrics))
    sized = {m.name: m.by_size for m in metrics if m.by_size is not None}
    if sized:
        yield from _size_lines(sized)
    yield ""
    yield from frequency_lines(record)
    yield from closing_lines(record, out)


def metric_rows(metrics: Iterable[MetricTables]) -> tuple[list[str], list[list[str]], set[int]]:
    """The metrics as a table: names of columns, rows, and which columns hold numbers."""
    rows = [[m.name, number_text(m.value, 3), interval_text(m.interval)] for m in metrics]
    return ["metric", "stability", ""], rows, {1}


def _size_lines(sized: Mapping[str, NDArray[np.float64]]) -> Iterator[str]:
    yield ""
    yield "The best k features of every resample's ranking:"
    shown = _spread(min(map(len, sized.values())))
    yield from table_lines(
        ["k", *sized],
        [[str(k), *(number_text(values[k - 1], 3) for values in sized.values())] for k in shown],
        right=set(range(len(sized) + 1)),
    )


def _spread(length: int) -> list[int]:
    """At most twenty sizes: all where they are few, else ever wider apart."""
    if length <= _SIZES_SHOWN:
        return list(range(1, length + 1))
    ratio = length ** (1.0 / (_SIZES_SHOWN - 1))
    return sorted({min(length, max(1, round(ratio**step))) for step in range(_SIZES_SHOWN)})
