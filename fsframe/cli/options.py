"""Options and arguments shared by commands: methods, engines, output files, folds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from fsframe.cli.terminal import (
    RUNNING,
    all_options,
    completing,
    json_option,
    option,
    quiet_option,
    traceback_option,
)
from fsframe.errors import RequestError
from fsframe.registry import (
    Offer,
    Registry,
    classifiers,
    default_names,
    measures,
    regressors,
    selectors,
    stability_metrics,
)

METHODS: dict[str, Registry] = {
    "Selectors": selectors,
    "Classifiers": classifiers,
    "Regressors": regressors,
    "Stability metrics": stability_metrics,
    "Measures": measures,
}


def listed() -> list[Offer]:
    """All methods, each once, although the registry of classifiers also has the regressors."""
    return [
        offer
        for registry in METHODS.values()
        for offer in registry.offers()
        if offer.entry.kind == registry.kind
    ]


def summaries(offers: Iterable[Offer]) -> dict[str, str]:
    """Name → summary of each offer."""
    return {offer.name: offer.entry.summary for offer in offers}


def by_family(offers: Iterable[Offer], otherwise: str = "other") -> dict[str, list[Offer]]:
    """Offers by family, in alphabetical order; those without a family are under `otherwise`."""
    families: dict[str, list[Offer]] = {}
    for offer in offers:
        families.setdefault(offer.entry.family or otherwise, []).append(offer)
    return dict(sorted(families.items()))


complete_method = completing(lambda: summaries(listed()))
"""The shell completion for the name of a method, stability metric or measure."""


def offered(registry: Registry) -> dict[str, Any]:
    """Settings of an option that takes the name of an offer in `registry`, and refuses others."""

    def check(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
        if name is not None:
            registry.offer(name)
        return name

    return {"callback": check, "shell_complete": completing(lambda: summaries(registry.offers()))}


class MemorySize(click.ParamType):
    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        from fsframe.method.run import as_size

        try:
            return as_size(value)
        except RequestError as error:
            self.fail(str(error), param, ctx)


def _engines() -> dict[str, str]:
    from fsframe.execution.engine import ENGINES, SERIAL

    return {SERIAL: "This process computes everything.", **ENGINES.listed()}


def _check_engine(
    context: click.Context, parameter: click.Parameter, name: str | None
) -> str | None:
    from fsframe.execution.engine import ENGINES, SERIAL

    if name not in (None, SERIAL) and ENGINES.get(name) is None:
        raise click.BadParameter(str(ENGINES.unknown(name)))
    return name


def _remember(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    # For errors of this command, whose context has ended when they are reported.
    context.meta[RUNNING] = context
    return name


COUNT = click.IntRange(min=1)

overwrite_option = option("--overwrite", "Replace the file if it exists.")
dry_run_option = option("--dry-run", "Print the checked chain; run nothing.")
folds_csv_option = option(
    "--csv FILE",
    "Also write one line per fold of an evaluation, or per metric and set size of a stability "
    "study.",
    called="csv_out",
)

engine_options = all_options(
    option(
        "--memory",
        "Bound on the memory of the run, such as 2GB: table, copies, workers and fits. [default: 2 "
        "GiB for each fit, besides the table]",
        type=MemorySize(),
    ),
    option(
        "--engine NAME",
        "Where resamples are computed: serial, processes, dask, or a plugin's engine. [default: "
        "serial, or as --workers or --scheduler imply]",
        callback=_check_engine,
        shell_complete=completing(_engines),
    ),
    option(
        "--workers",
        "Number of worker processes on this machine. [default with --engine processes: one per "
        "processor]",
        type=COUNT,
    ),
    option("--scheduler ADDRESS", "Address of a dask scheduler, such as tcp://10.0.0.1:8786."),
    option(
        "--patience SECONDS",
        "Seconds without a response before a worker is replaced. [default: 60]",
        type=click.FloatRange(min=0, min_open=True, max=1e9),
    ),
    option("--progress", "Report events on stderr as JSON lines.", type=click.Choice(["json"])),
    option(
        "--log FILE",
        "Append a line to FILE for each stage, each warning and the end of the run.",
        callback=_remember,
    ),
    traceback_option,
    option("--restart", "Discard an interrupted run and start again."),
    option(
        "--mixed",
        "Accept workers and results from other processors or libraries; this is recorded.",
    ),
)
"""The options that `with_options` and `run_request` take."""

output_options = all_options(
    option(
        "-o --out FILE",
        "Where to write the run file. [default: DATA.STAGES.h5 beside the data, with the "
        "parameters of the stages]",
    ),
    option("--no-out", "Write no run file."),
    option(
        "--seed",
        "Random seed: the same seed gives the same bits on the same kind of processor.",
        type=click.IntRange(min=0),
        default=0,
    ),
    option("--overwrite", "Replace existing files."),
    json_option,
    quiet_option,
    dry_run_option,
    engine_options,
)
"""The options that `run_on` takes."""

fold_options = all_options(
    option("--folds N", "Number of folds. [default: 10]"),
    option("--repeats N", "Number of repetitions. [default: 10]"),
    option(
        "--scheme folds|five-by-two|leave-one-out",
        "How rows are split into training and test rows. [default: folds]",
    ),
    option(
        "--classifier STAGE|PATH",
        "Classifier for a chain that does not end with one: a stage, or the name of a "
        f"scikit-learn classifier. [default: {', '.join(default_names(classifiers))}]",
    ),
    option(
        "--unstratified",
        "Do not stratify folds by class. [default: stratified]",
        called="stratify",
        flag_value="no",
        default=None,
    ),
    option("--inner-folds N", "Number of inner folds, for tuning. [default: 5]"),
)
"""The options of cross-validation."""
