"""Estimate how well a chain predicts, and its stability."""

from __future__ import annotations

from typing import Any

import click

from fsframe.cli.options import fold_options, output_options
from fsframe.cli.reading_options import reading_options
from fsframe.cli.running import protocol_request, run_protocol
from fsframe.cli.stages import StageGroup, last_command
from fsframe.grammar import StageText, format_list, format_stages


@click.argument("data", type=click.Path())
@reading_options
@fold_options
@click.option("--curve", metavar="auto|[N,…]", help="Also evaluate with these numbers of features.")
@click.option(
    "--all-features/--no-all-features",
    default=True,
    help="Also fit the classifier on all features in every fold, for comparison. [default: "
    "all-features]",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Performance measure, such as auc or sensitivity:positive=ill; may be repeated. "
    "[default: all bundled ones that apply]",
)
@click.option("--csv", "csv_out", metavar="FILE", help="Also write one line per fold.")
@output_options
def _on(data: str, **options: Any) -> dict[str, Any]:
    """The table to evaluate on.

    \b
    Example:
      fsframe evaluate immigrate margin on examples/parkinsons.csv --folds 5 --repeats 1
    """
    return {"data": data, **options}


_EPILOG = """\b
A parameter given as a set is tuned inside the training rows of each fold; quote it for the shell:
  fsframe evaluate 'immigrate:sigma={2,1,0.5}' margin on examples/parkinsons.csv --repeats 1
A chain without a classifier is given one, weighted-knn unless told otherwise:
  fsframe evaluate mim:top=5 on examples/parkinsons.csv --classifier knn:k=5 --repeats 1
`fsframe evaluate mim on --help` explains folds, repeats, groups, curves and files.
"""


@click.group(
    cls=StageGroup,
    last=last_command(_on),
    epilog=_EPILOG,
)
def evaluate() -> None:
    """Estimate how well a chain predicts unseen rows, and how stable its selection is.

    Repeated stratified cross-validation, 10 × 10 by default. Everything that is learned, tuning
    included, is learned from the training rows of each fold only.
    """


@evaluate.result_callback()
def _run(results: list[StageText | dict[str, Any]]) -> None:
    from fsframe.ask.options import evaluation_chain

    texts, options = protocol_request(results, "immigrate margin")
    names = ("folds", "repeats", "scheme", "classifier", "inner_folds", "curve", "stratify")
    given = {name: options.pop(name) for name in names}
    if options.pop("all_features"):
        given["all_features"] = "yes"
    metrics = options.pop("metrics")
    if metrics:
        given["metric"] = format_list(metrics)
    chain = evaluation_chain(format_stages(texts), given)
    run_protocol("evaluate", chain, texts, options)
