"""``fsframe stability STAGES on DATA``: would I get the same features next time?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.protocol_run import output_options, protocol_request, run_protocol
from fsframe.cli.reading_options import reading_options
from fsframe.cli.saying import say, say_json, say_lines
from fsframe.cli.stages import StageGroup, last_command
from fsframe.cli.text_table import table_lines
from fsframe.contracts.grammar import StageText, format_stages

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fsframe.storage import RunRecord
    from fsframe.storage.known_tables import MetricTables

__all__ = ["metric_lines", "stability"]

_SIZES_SHOWN = 20


@click.argument("data", type=click.Path())
@reading_options
@click.option(
    "--metric",
    multiple=True,
    metavar="NAME",
    help="Stability metric; may be given more than once. [default: nogueira, kuncheva]",
)
@click.option("--resample", metavar="subsample|bootstrap|folds", help="[default: subsample]")
@click.option("--n", metavar="N", help="Number of resamples. [default: 30]")
@click.option("--fraction", metavar="F", help="Share of the rows in a subsample. [default: 0.8]")
@click.option("--sizes", metavar="K|all", help="Largest set size to compare. [default: all]")
@output_options
def _on(data: str, **options: Any) -> dict[str, Any]:
    """The table to resample.

    \b
    Example:
      fsframe stability mim on examples/parkinsons.csv --metric kuncheva --n 10
    """
    return {"data": data, **options}


@click.group(
    cls=StageGroup,
    last=last_command("on", _on, help=_on.__doc__),
    epilog="`fsframe stability mim on --help` explains metrics, resamples and files.",
    subcommand_metavar="STAGES",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def stability() -> None:
    """Would I get the same features next time?

    Runs a chain on resamples of the rows, and measures how alike the kept features are: as the
    chain keeps them, and for the best 1, 2, … K of its rankings.

    \b
    Example:
      fsframe stability immigrate:top=5 on examples/parkinsons.csv --metric kuncheva --n 10
    """


@stability.result_callback()
def _run(results: list[StageText | dict[str, Any]]) -> None:
    from fsframe.chains.chain import Chain, Stage
    from fsframe.contracts.grammar import format_list
    from fsframe.evaluation.stability_study import StabilityStudy

    texts, options = protocol_request(results, "immigrate")
    metrics = options.pop("metric")
    given = {name: options.pop(name) for name in ("resample", "n", "fraction", "sizes")}
    given = {key: value for key, value in given.items() if value is not None}
    if metrics:
        given["metric"] = format_list(metrics)
    method = StabilityStudy.from_texts({"base": format_stages(texts), **given})
    chain = Chain((Stage("stability-study", method),))
    if options["dry_run"]:
        say(str(chain))
        return
    record, out = run_protocol(chain, "stability", texts, **options)
    if options["as_json"]:
        found = stability_object(record, out)
        say_json(found)
        return
    say_lines(stability_lines(record, out))


def stability_object(record: RunRecord, out: Path | None) -> dict[str, Any]:
    """A stability study as one object for ``--json``; what is undefined is null."""
    from fsframe.cli.display import result_object
    from fsframe.evaluation.recorded import recorded_stability

    study = recorded_stability(record)
    found = {
        metric.name: {
            "value": _number(metric.value),
            "interval": None
            if metric.interval is None
            else [_number(bound) for bound in metric.interval],
            "by_size": None
            if metric.by_size is None
            else [_number(value) for value in metric.by_size],
        }
        for metric in study.tables.metrics
    }
    return {**result_object(record, out), "studied": study.base, "stability": found}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def stability_lines(record: RunRecord, out: Path | None) -> Iterator[str]:
    """A stability study as lines for a terminal."""
    from fsframe.cli.display import closing_lines, frequency_lines
    from fsframe.evaluation.recorded import recorded_stability
    from fsframe.storage import printable

    study = recorded_stability(record)
    metrics = study.tables.metrics
    kept = study.tables.kept.sum(axis=1)
    yield (
        f"{study.base} on {printable(record.data.name)}: {record.n_samples} samples × "
        f"{record.n_features} features, {len(kept)} resamples ({study.resample})"
    )
    span = f"{kept.min()} to {kept.max()}" if kept.min() != kept.max() else f"{kept.min()}"
    yield f"features kept per resample: {span}"
    yield ""
    yield from metric_lines(metrics)
    sized = {m.name: m.by_size for m in metrics if m.by_size is not None}
    if sized:
        yield from _size_lines(sized)
    yield ""
    yield from frequency_lines(record)
    yield from closing_lines(record, out)


def metric_lines(metrics: Iterable[MetricTables]) -> Iterator[str]:
    """The values of the metrics, with their intervals, as lines for a terminal."""
    rows = []
    for metric in metrics:
        interval = metric.interval
        bounds = "" if interval is None else f"95 % from {interval[0]:.3f} to {interval[1]:.3f}"
        rows.append([metric.name, _shown(metric.value), bounds])
    yield from table_lines(["metric", "stability", ""], rows, right={1})


def _size_lines(sized: Mapping[str, NDArray[np.float64]]) -> Iterator[str]:
    yield ""
    yield "The best k features of every resample's ranking:"
    shown = _spread(min(map(len, sized.values())))
    yield from table_lines(
        ["k", *sized],
        [[str(k), *(_shown(values[k - 1]) for values in sized.values())] for k in shown],
        right=set(range(len(sized) + 1)),
    )


def _shown(value: float) -> str:
    return "—" if value != value else f"{value:.3f}"


def _spread(length: int) -> list[int]:
    """At most twenty sizes: all where they are few, else ever wider apart."""
    if length <= _SIZES_SHOWN:
        return list(range(1, length + 1))
    ratio = length ** (1.0 / (_SIZES_SHOWN - 1))
    return sorted({min(length, max(1, round(ratio**step))) for step in range(_SIZES_SHOWN)})
