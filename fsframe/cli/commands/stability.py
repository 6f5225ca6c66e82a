"""Measure the stability of the features that a chain selects."""

from __future__ import annotations

from typing import Any

import click

from fsframe.cli.options import output_options
from fsframe.cli.reading_options import reading_options
from fsframe.cli.running import protocol_request, run_protocol
from fsframe.cli.stages import StageGroup, last_command
from fsframe.grammar import StageText, format_list, format_stages
from fsframe.registry import default_names, stability_metrics


@click.argument("data", type=click.Path())
@reading_options
@click.option(
    "--metric",
    multiple=True,
    metavar="NAME",
    help="Stability metric; may be given more than once. "
    f"[default: {', '.join(default_names(stability_metrics))}]",
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
    last=last_command(_on),
    epilog="`fsframe stability mim on --help` explains metrics, resamples and files.",
)
def stability() -> None:
    """Measure the stability of the features that a chain selects.

    Runs a chain on resamples of the rows and measures how similar the selected sets are: as the
    chain selects them, and for the top 1, 2, … K of its rankings.

    \b
    Example:
      fsframe stability immigrate:top=5 on examples/parkinsons.csv --metric kuncheva --n 10
    """


@stability.result_callback()
def _run(results: list[StageText | dict[str, Any]]) -> None:
    from fsframe.ask.options import stability_chain

    texts, options = protocol_request(results, "immigrate")
    metrics = options.pop("metric")
    given = {name: options.pop(name) for name in ("resample", "n", "fraction", "sizes")}
    if metrics:
        given["metric"] = format_list(metrics)
    chain = stability_chain(format_stages(texts), given)
    run_protocol("stability", chain, texts, options)
