"""Inspect a table in parts and estimate the cost of counting on it, in a single pass."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from fsframe.analysis.inspection_display import duration
from fsframe.analysis.proposals import first_in_parts
from fsframe.method.run import size_text
from fsframe.table.dataset import Dataset
from fsframe.table.read import read
from fsframe.text import counted, printable

_BINS = 10


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
            [_BINS if found is None or found.size > 32 else found.size for found in known]
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


def parts_lines(found: PartsInspection) -> Iterator[str]:
    """The table as lines; the last are the command to start with and its cost."""
    data, forecast = found.data, found.forecast
    holes = int(data.matrix.facts.missing.sum())
    share = 100 * holes / (data.n_samples * data.n_features)
    yield f"{printable(found.path)}: a table in parts"
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
    if found.command:
        yield "Suggested command:"
        yield f"  {found.command}"
    total = forecast.taking_in + 100 * forecast.feature
    yield (
        f"  forecast, not measured: {duration(forecast.taking_in)} of processor time to read it "
        "once,"
    )
    yield (
        f"  and {forecast.feature:.2g} s per feature, {duration(total)} for 100; codes of "
        f"{size_text(forecast.disk)} beside it;"
    )
    yield f"  {size_text(forecast.memory)} of memory at least; correct within a factor of three"


def parts_object(found: PartsInspection) -> dict[str, Any]:
    """The object of `inspect --json` for a table in parts."""
    data = found.data
    classes = {}
    if data.task == "classification":
        sizes = data.class_sizes().tolist()
        classes = {str(label): size for label, size in zip(data.classes, sizes, strict=True)}
    return {
        "path": found.path,
        "form": "parts",
        "rows": data.n_samples,
        "features": data.n_features,
        "missing": int(data.matrix.facts.missing.sum()),
        "label": {"name": data.label_name, "task": data.task, "classes": classes},
        "warnings": list(data.warnings),
        "command": found.command,
        "forecast": {
            "processor_seconds_once": found.forecast.taking_in,
            "processor_seconds_per_feature": found.forecast.feature,
            "bytes_of_codes": found.forecast.disk,
            "bytes_of_memory": found.forecast.memory,
        },
    }
