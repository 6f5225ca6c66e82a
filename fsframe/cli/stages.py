"""Stages on the command line: a chained click group whose sub-commands are selectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from fsframe.cli.options import by_family, summaries
from fsframe.cli.terminal import TRACEBACK, completing, completions
from fsframe.errors import FsframeError, RequestError
from fsframe.grammar import StageText, format_stages, parse_stage, parse_stages
from fsframe.params import Parameter, format_value, is_flag
from fsframe.registry import Offer, classifiers, real_name, selectors
from fsframe.text import printable


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
    """A chained group whose sub-commands are all selectors and classifiers, and finally `last`,
    such as ``on``.
    """

    def __init__(self, *args: Any, last: click.Command, **options: Any) -> None:
        defaults = {
            "subcommand_metavar": "STAGES",
            "no_args_is_help": True,
            "context_settings": {"help_option_names": ["-h", "--help"]},
        }
        super().__init__(*args, **{**defaults, **options, "chain": True})
        assert last.name is not None
        self._last_name, self.last = last.name, last

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
            if any(stage.name == self._last_name for stage in stages):
                raise RequestError(
                    f"`{self._last_name} DATA` belongs outside the quotes around a chain: "
                    f"'immigrate npfs' {self._last_name} DATA"
                )
            args = [*(format_stages([stage]) for stage in stages), *args[1:]]
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*sorted({*selectors, *classifiers}), self._last_name]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == self._last_name:
            return self.last
        try:
            return _stage_command(cmd_name)
        except FsframeError:
            # An unknown name is no error while the shell completes a half-typed line.
            if ctx.resilient_parsing:
                return None
            raise

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
            formatter.write_dl([(f"{self._last_name} DATA", self.last.get_short_help_str(80))])
        records = [param.get_help_record(ctx) for param in self.last.get_params(ctx)]
        with formatter.section(f"Options after `{self._last_name} DATA`"):
            # The first sentence; the rest, and the defaults, are in the command's own help.
            short = [(r[0], r[1].partition(". ")[0].rstrip(".")) for r in records if r and r[1]]
            formatter.write_dl([row for row in short if "--help" not in row[0]])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        name, colon, rest = incomplete.partition(":")
        if colon:
            return _complete_compact(name, rest)
        stages = summaries([*selectors.offers(), *classifiers.offers()])
        items = completions({**stages, self._last_name: "the table to run on"}, incomplete)
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
