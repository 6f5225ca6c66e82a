"""Commands that run a chain on a table: chain, evaluate, stability.

Each is a chained group of click whose sub-commands are stages; the last one, ``on``, takes the
table.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from fsframe.cli.options import (
    COUNT,
    by_family,
    dry_run_option,
    fold_options,
    output_options,
    reading_options,
    stage_help,
    summaries,
)
from fsframe.cli.running import run_on, show_result
from fsframe.cli.terminal import TRACEBACK, completing, completions, option, say
from fsframe.errors import FsframeError, RequestError
from fsframe.grammar import StageText, format_list, format_stages, parse_stage, parse_stages
from fsframe.params import Parameter, format_value, is_flag
from fsframe.registry import (
    Offer,
    classifiers,
    default_names,
    real_name,
    selectors,
    stability_metrics,
)
from fsframe.text import printable

if TYPE_CHECKING:
    from fsframe.chains.chain import Chain


def _option(parameter: Parameter) -> click.Option:
    name = parameter.name.replace("_", "-")
    if is_flag(parameter.kind):
        declaration = f"--{name}/--no-{name}"
        return click.Option([declaration, parameter.name], default=None, help=stage_help(parameter))
    # The value stays text and is parsed later, so that all errors are reported together.
    return click.Option(
        [f"--{name}", parameter.name],
        metavar="VALUE",
        help=stage_help(parameter),
        shell_complete=completing(lambda: dict.fromkeys(parameter.kind.choices(), "")),
    )


def _stage_with(preset: StageText, options: Mapping[str, Any]) -> StageText:
    """A stage with the parameters after its colon and those given as options."""
    given = {key: format_value(value) for key, value in options.items() if value is not None}
    twice = sorted(set(given) & set(preset.params))
    if twice:
        raise click.UsageError(
            f"{preset.name}: {', '.join(twice)} is given both after the colon and as an option; "
            "give it once"
        )
    return StageText(preset.name, {**preset.params, **given})


def _stage_command(token: str) -> click.Command:
    """The command for a stage such as ``immigrate`` or ``immigrate:sigma=0.5``."""
    from fsframe.chains.stage import find_method, registry_of_class

    text = parse_stage(token)
    text = StageText(real_name(text.name, selectors, classifiers), text.params)
    method = find_method(text.name)
    offer = registry_of_class(method).offer(text.name)
    entry = offer.entry
    about = [entry.summary + "."] if entry.summary else []
    if entry.reference:
        about.append(f"Source: {entry.reference}.")
    about.append(printable(f"Provided by {offer.provider} {offer.version}."))
    return click.Command(
        name=token,
        callback=lambda **options: _stage_with(text, options),
        params=[_option(parameter) for parameter in method.parameters()],
        help="\n\n".join(about),
        options_metavar="[PARAMETERS]",
        epilog=_stage_example(offer, method),
    )


def _stage_example(offer: Offer, method: type[Any]) -> str | None:
    """A runnable example, for stages without required parameters."""
    # Protocols have commands of their own, with examples.
    protocol = offer.entry.family == "protocol"
    if protocol or any(parameter.required for parameter in method.parameters()):
        return None
    alone = offer.entry.kind == "selector" and not method.wrapping
    row = offer.name if alone else f"immigrate:top=5 {offer.name}"
    return f"\b\nExample:\n  fsframe chain {row} on examples/parkinsons.csv"


class LastCommand(click.Command):
    """The command after the stages; its options may follow its argument."""

    def make_context(self, *given: Any, **extra: Any) -> click.Context:
        extra |= {"allow_interspersed_args": True, "allow_extra_args": False}
        return super().make_context(*given, **extra)


class StageGroup(click.Group):
    """A chained group whose sub-commands are all selectors and classifiers, and finally ``on``,
    which is `last`.
    """

    def __init__(self, *, last: click.Command, **options: Any) -> None:
        super().__init__(
            chain=True,
            subcommand_metavar="STAGES",
            no_args_is_help=True,
            context_settings={"help_option_names": ["-h", "--help"]},
            **options,
        )
        self.last = last

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Users often append --dry-run to the command, where a stage would parse it.
        if any(param.name == "dry_run" for param in self.params) and "--dry-run" in args:
            args = ["--dry-run", *(arg for arg in args if arg != "--dry-run")]
        # Stages are looked up before the options after the table are read.
        if "--traceback" in args and any("--traceback" in each.opts for each in self.last.params):
            TRACEBACK.set()
            args = [arg for arg in args if arg != "--traceback"]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # A quoted chain, as for `compare`, is split into its stages.
        if len(args[0].split()) > 1:
            stages = parse_stages(args[0])
            if any(stage.name == "on" for stage in stages):
                raise RequestError(
                    "`on DATA` belongs outside the quotes around a chain: 'immigrate npfs' on DATA"
                )
            args = [*(format_stages([stage]) for stage in stages), *args[1:]]
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*sorted({*selectors, *classifiers}), "on"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "on":
            return self.last
        before = ctx.meta.setdefault("stages with parameters", [])
        try:
            command = _stage_command(cmd_name)
        except FsframeError:
            # An unknown name is no error while the shell completes a half-typed line.
            if ctx.resilient_parsing:
                return None
            from fsframe.chains.chain import Chain

            # Tells of wrong parameters of the stages before, too.
            Chain.parse(" ".join([*before, cmd_name]))
            raise
        before += [cmd_name] if ":" in cmd_name else []
        return command

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS]", "STAGE [PARAMETERS] [STAGE [PARAMETERS]]...", "on DATA [OPTIONS]"]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        families = by_family(selectors.offers()).items()
        rows = [(family, ", ".join(offer.name for offer in of)) for family, of in families]
        if rows:
            with formatter.section("Stages (`fsframe methods` describes each)"):
                formatter.write_dl(rows)
        ending = [offer.name for offer in classifiers.offers()]
        if ending:
            with formatter.section("Classifiers and regressors, to end a chain"):
                formatter.write_text(", ".join(ending))
        with formatter.section("Table"):
            formatter.write_dl([("on DATA", self.last.get_short_help_str(80))])
        records = [param.get_help_record(ctx) for param in self.last.get_params(ctx)]
        with formatter.section("Options after `on DATA`"):
            # The first sentence; the rest, and the defaults, are in the command's own help.
            short = [(r[0], r[1].partition(". ")[0].rstrip(".")) for r in records if r and r[1]]
            formatter.write_dl([row for row in short if "--help" not in row[0]])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        name, colon, rest = incomplete.partition(":")
        if colon:
            return _complete_compact(name, rest)
        stages = summaries([*selectors.offers(), *classifiers.offers()])
        items = completions({**stages, "on": "the table to run on"}, incomplete)
        return items + click.Command.shell_complete(self, ctx, incomplete)


def _complete_compact(name: str, rest: str) -> list[CompletionItem]:
    """Completions after the colon of ``name:key=value,…``."""
    from fsframe.chains.stage import find_method

    try:
        parameters = {p.name: p for p in find_method(name).parameters()}
    except FsframeError:
        return []
    before, comma, last = rest.rpartition(",")
    prefix = f"{name}:{before}{comma}"
    key, equals, value = last.partition("=")
    if not equals:
        return [
            CompletionItem(f"{prefix}{known}=") for known in parameters if known.startswith(key)
        ]
    words = parameters[key].kind.choices() if key in parameters else ()
    return [CompletionItem(f"{prefix}{key}={word}") for word in words if word.startswith(value)]


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
    record, out = run_on(asked, named, **options)
    show_result(record, out, as_json=options["as_json"])


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
