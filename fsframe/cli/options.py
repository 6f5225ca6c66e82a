"""Options and arguments shared by commands: methods, tables, engines, output files, folds."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import click

from fsframe.cli.terminal import (
    RUNNING,
    Option,
    all_options,
    completing,
    json_option,
    option,
    quiet_option,
    traceback_option,
)
from fsframe.errors import RequestError, UntidyTableError
from fsframe.params import Parameter, format_value
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
from fsframe.table.reading_options import OF_FORM, OPTIONS
from fsframe.table.roles import ROLES, side_roles
from fsframe.text import level_orders, list_parts, printable, unquoted

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


def stage_help(parameter: Parameter) -> str:
    """One parameter's help: meaning, values, default, the paper's symbol and source."""
    facts = [parameter.kind.describe()]
    if parameter.required:
        facts.append("required")
    else:
        facts.append(f"default {format_value(parameter.default)}")
    if named := [fact for fact in (parameter.symbol, parameter.source) if fact]:
        facts.append(f"in the paper: {', '.join(named)}")
    # Escaped, since click prints the text as it is.
    return printable(f"{parameter.help.rstrip('.')}. [{'; '.join(facts)}]")


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


def _joined(context: click.Context, parameter: click.Parameter, given: Sequence[str]) -> str | None:
    return ",".join(given) or None


def _reading_option(name: str) -> Option:
    """The option for an argument of `fsframe.read`, as it is declared there.

    One that takes several columns may be given repeatedly.
    """
    settings: dict[str, Any] = {}
    if name in ROLES:
        role = ROLES[name]
        if role.given == "columns":
            settings = {"multiple": True, "callback": _joined}
        return option(f"{role.option} {role.metavar}", role.help, **settings)
    declared = OPTIONS[name]
    if declared.choices:
        settings["type"] = click.Choice(declared.choices)
    elif declared.further_file:
        settings["type"] = click.Path()
    elif declared.values == (list,):
        settings["multiple"] = True
    elif "/" in declared.flag:
        settings["default"] = None
    return option(declared.flag, declared.help, **settings)


READING = (
    *("label", "task", "missing_label", "drop", "categorical", "ordinal", "dates", "encode"),
    *("keep", "weight", "event", "groups", *(role.name for role in side_roles())),
    *("feature_groups", "samples", "labels", *OF_FORM),
)
"""The arguments of `fsframe.read` that commands take, in the order of their help."""

form_options = all_options(*map(_reading_option, OF_FORM))
"""The options for the format of a table, without those for the roles of its columns."""

reading_options = all_options(*map(_reading_option, READING))
"""The options that `reading_arguments` takes."""


def reading_arguments(**options: Any) -> dict[str, Any]:
    """The options of the command line that were given, as arguments of `fsframe.read`."""
    from fsframe.table.columns import feature_groups_of

    arguments = {name: options.get(name) for name in READING}
    arguments["feature_groups"] = feature_groups_of(options.get("feature_groups"))
    arguments["na"] = tuple(options.get("na") or ())
    arguments["delimiter"] = (options.get("delimiter") or "").replace("\\t", "\t")
    arguments["transpose"] = options.get("transpose") or None
    for key, role in ROLES.items():
        given = options.get(key)
        if role.given == "column":
            arguments[key] = _column(given, role.option)
        elif role.given == "columns":
            arguments[key] = _orders(given) if key == "ordinal" else _list(given)
    return {key: value for key, value in arguments.items() if value not in (None, (), "", {})}


def ways_as_lines(error: UntidyTableError, given: Sequence[str], command: Any) -> list[str]:
    """The ways to use an untidy table, each as a whole command or as a line of a study file.

    Commands are the words `given` with further options, if the click command `command`, which was
    called, takes `--label`.
    """
    from fsframe.table.guesses.doubts import as_settings, as_words, in_order

    command = getattr(command, "last", command)
    if any(parameter.name == "label" for parameter in getattr(command, "params", ())):
        return [shlex.join(["fsframe", *given, *as_words(in_order(way))]) for way in error.ways]
    return list(map(as_settings, error.ways))


def _list(text: str | None) -> tuple[str, ...]:
    return tuple(unquoted(part) for part in list_parts(text) if part) if text else ()


def _orders(text: str | None) -> dict[str, tuple[str, ...]]:
    """The levels of each ordinal column, in order, from a text such as ``size=S<M<L,grade``."""
    orders = level_orders(text or "")
    for name, levels in orders.items():
        if levels and (len(levels) < 2 or not all(levels)):
            raise RequestError(
                f"--ordinal {name}={'<'.join(levels)}: write the levels from the lowest to the "
                "highest, with < between them, such as size=S<M<L; a level that contains < goes in "
                'double quotes: age="<18"<18-65'
            )
    return orders


def _column(text: str | None, option: str) -> str | int | None:
    """A column as an argument of `read`: its name, or its index from 0 if `text` is a number."""
    if text is None:
        return None
    body = text.strip()
    if body.lstrip("-").isdigit():
        number = int(body)
        if number == 0:
            raise RequestError(f"{option} 0: columns are numbered from 1 (from the end: -1)")
        return number - 1 if number > 0 else number
    return text
