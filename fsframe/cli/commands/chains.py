"""Commands that run a chain on a table: chain, evaluate, stability."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from fsframe.cli.options import COUNT, dry_run_option, fold_options, output_options, reading_options
from fsframe.cli.running import run_on, show_result
from fsframe.cli.stages import LastCommand, StageGroup
from fsframe.cli.terminal import option, say
from fsframe.errors import RequestError
from fsframe.grammar import StageText, format_list, format_stages
from fsframe.registry import default_names, stability_metrics

if TYPE_CHECKING:
    from fsframe.chains.chain import Chain

_data = click.argument("data", type=click.Path())


@click.command("on", cls=LastCommand)
@_data
@reading_options
@output_options
@option("--threads", "Number of threads; does not change results. [default: all]", type=COUNT)
def _on_of_chain(**options: Any) -> dict[str, Any]:
    """The table to run on: delimited text (also compressed), NPZ or HDF5.

    DATA is a path, or - for standard input; the format is detected from the content. The file
    extension may be left out where only one known file matches. A pattern ('parts/*.parquet') or a
    folder of Parquet, Arrow or HDF5 files is one table in parts. The label is the last column
    unless `--label` says otherwise.

    \b
    Example:
      fsframe chain immigrate npfs on examples/parkinsons.csv --label class --seed 7
    """
    return options


_CHAIN_EPILOG = """\b
A stage's parameters follow it as options, or after a colon:
  fsframe chain immigrate --sigma 0.5 npfs --alpha 0.05 on examples/parkinsons.csv
  fsframe chain immigrate:sigma=0.5 npfs:alpha=0.05 on examples/parkinsons.csv
`fsframe chain immigrate --help` explains the parameters of a stage.
"""


@click.group(cls=StageGroup, last=_on_of_chain, epilog=_CHAIN_EPILOG)
@dry_run_option
def chain(dry_run: bool) -> None:
    """Run selectors one after the other on a table.

    Each stage gets the features that the stage on its left kept, with their weights. A stage that
    resamples (npfs) wraps everything on its left.
    """


@chain.result_callback()
def _run_chain(results: list[StageText | dict[str, Any]], dry_run: bool) -> None:
    from fsframe.chains.chain import Chain

    texts, options = _request(results, "immigrate")
    parsed = Chain.from_texts(texts)
    if dry_run:
        options["dry_run"] = True
    _run("chain", parsed, [stage.text for stage in parsed.stages], options)


@click.command("on", cls=LastCommand)
@_data
@reading_options
@fold_options
@option("--curve auto|[N,…]", "Also evaluate with these numbers of features.")
@option(
    "--all-features/--no-all-features",
    "Also fit the classifier on all features in every fold, for comparison. [default: "
    "all-features]",
    default=True,
)
@option(
    "--metric NAME",
    "Performance measure, such as auc or sensitivity:positive=ill; may be repeated. [default: all "
    "bundled ones that apply]",
    multiple=True,
)
@option("--csv FILE", "Also write one line per fold.", called="csv_out")
@output_options
def _on_of_evaluate(**options: Any) -> dict[str, Any]:
    """The table to evaluate on.

    \b
    Example:
      fsframe evaluate immigrate margin on examples/parkinsons.csv --folds 5 --repeats 1
    """
    return options


_EVALUATE_EPILOG = """\b
A parameter given as a set is tuned inside the training rows of each fold; quote it for the shell:
  fsframe evaluate 'immigrate:sigma={2,1,0.5}' margin on examples/parkinsons.csv --repeats 1
A chain without a classifier is given one, weighted-knn unless told otherwise:
  fsframe evaluate mim:top=5 on examples/parkinsons.csv --classifier knn:k=5 --repeats 1
`fsframe evaluate mim on --help` explains folds, repeats, groups, curves and files.
"""


@click.group(cls=StageGroup, last=_on_of_evaluate, epilog=_EVALUATE_EPILOG)
def evaluate() -> None:
    """Estimate how well a chain predicts unseen rows, and how stable its selection is.

    Repeated stratified cross-validation, 10 × 10 by default. Everything that is learned, tuning
    included, is learned from the training rows of each fold only.
    """


@evaluate.result_callback()
def _run_evaluate(results: list[StageText | dict[str, Any]]) -> None:
    texts, options = _request(results, "immigrate margin")
    _run_protocol("evaluate", "cross-validation", texts, {"all_features": True, **options})


@click.command("on", cls=LastCommand)
@_data
@reading_options
@option(
    "--metric NAME",
    "Stability metric, with parameters as in canberra:depth=20; may be given more than once. "
    f"[default: {', '.join(default_names(stability_metrics))}]",
    multiple=True,
)
@option("--resample subsample|bootstrap|folds", "[default: subsample]")
@option("--n N", "Number of resamples. [default: 30]")
@option("--fraction F", "Share of the rows in a subsample. [default: 0.8]")
@option("--sizes K|all", "Largest set size to compare. [default: all]")
@output_options
def _on_of_stability(**options: Any) -> dict[str, Any]:
    """The table to resample.

    \b
    Example:
      fsframe stability mim on examples/parkinsons.csv --metric kuncheva --n 10
    """
    return options


@click.group(
    cls=StageGroup,
    last=_on_of_stability,
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
def _run_stability(results: list[StageText | dict[str, Any]]) -> None:
    texts, options = _request(results, "immigrate")
    _run_protocol("stability", "stability-study", texts, options)


def _request(
    results: Sequence[StageText | dict[str, Any]], example: str
) -> tuple[tuple[StageText, ...], dict[str, Any]]:
    """The stages and the options of ``COMMAND STAGES on DATA``; no options without `on`.

    Raises
    ------
    RequestError
        If there are no stages, or `on DATA` does not come once at the end.
    """
    texts = tuple(result for result in results if isinstance(result, StageText))
    requests = [result for result in results if isinstance(result, dict)]
    if not texts:
        raise RequestError(f"name at least one stage before `on`, such as `{example}`")
    if len(requests) > 1 or (requests and isinstance(results[-1], StageText)):
        raise RequestError("`on DATA` comes once, after the last stage")
    return texts, dict(requests[0]) if requests else {}


def _run(
    command: str,
    asked: Chain,
    named: Sequence[StageText],
    options: Mapping[str, Any],
    texts: Sequence[StageText] = (),
) -> None:
    """Run a chain on the table of a request and show the result.

    `named` holds the parts of the default name of the run file, `texts` the stages that were typed
    if they are not those of the chain.
    """
    if options.get("dry_run"):
        say(str(asked))
        return
    if "data" not in options:
        typed = format_stages(texts) if texts else str(asked)
        raise RequestError(
            f"name the table to run on: fsframe {command} {shlex.join(typed.split())} on DATA"
        )
    # Absolute: a plugin may change the current folder.
    csv_out = os.path.abspath(options["csv_out"]) if options.get("csv_out") else None
    record, out = run_on(asked, named, **options)
    show_result(record, out, {**options, "csv_out": csv_out})


def _run_protocol(
    command: str, name: str, texts: Sequence[StageText], options: Mapping[str, Any]
) -> None:
    """Run a protocol on stages; options that are parameters of the protocol are given to it.

    The default name of the run file consists of the command, its changed options and the stages.
    """
    from fsframe.ask.options import protocol_chain
    from fsframe.chains.stage import find_method

    names = {parameter.name for parameter in find_method(name).parameters()}
    given = {key: value for key, value in options.items() if key in names}
    if "metric" in given:
        given["metric"] = format_list(given["metric"]) if given["metric"] else None
    if "all_features" in given:
        given["all_features"] = "yes" if given["all_features"] else None
    protocol = protocol_chain(name, format_stages(texts), given)
    changed = {k: v for k, v in protocol.stages[0].text.params.items() if k != "base"}
    # The default of the command differs from that of the stage.
    if "all_features" in names and changed.pop("all_features", None) is None:
        changed["all-features"] = "no"
    _run(command, protocol, [StageText(command, changed), *texts], options, texts)
