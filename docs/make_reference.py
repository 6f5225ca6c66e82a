"""Writes docs/reference.md from the program itself: commands, methods, plugins, checks.

``python docs/make_reference.py`` writes the page; with ``--check`` it says whether it is current.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from fsframe import classifiers, errors, measures, regressors, selectors, stability_metrics
from fsframe.cli import cli, main
from fsframe.params import Parameter, format_value
from fsframe.registry import Offer, Registry, hookspecs, manager
from fsframe.resampling.wrapping import WrappingSelector
from fsframe.tables.text_file import VARIABLE
from fsframe.testing import (
    ClassifierConformance,
    Conformance,
    SelectorConformance,
    StabilityMetricConformance,
)

PAGE = Path(__file__).parent / "reference.md"

_HEAD = """\
# Reference

Written by `python docs/make_reference.py` from the program itself; do not edit it. What the words
mean is said in [chains](chains.md) and [data](data.md), the run file in
[file-format](file-format.md), each method on [its page](methods/).
"""


# A row that so many commands or methods have in common is printed once, and named by each.
_SHARED_BY = 3


def reference() -> str:
    """The whole page."""
    parts = [_HEAD, *_commands(), *_methods(), *_plugins(), *_laws()]
    return "\n".join(parts).rstrip() + "\n"


def _rows_apart(
    sections: Sequence[dict[str, str]],
) -> tuple[dict[str, str], list[tuple[dict[str, str], list[str]]]]:
    """Rows that at least three sections share; and for each section its other rows and the names.

    A section maps names to rows of a table. One name with two rows in common is never shared.
    """
    users = Counter((name, row) for section in sections for name, row in section.items())
    often = [pair for pair, count in users.items() if count >= _SHARED_BY]
    rivals = Counter(name for name, _ in often)
    shared = {name: row for name, row in often if rivals[name] == 1}
    apart = []
    for section in sections:
        common = [name for name, row in section.items() if shared.get(name) == row]
        rest = {name: row for name, row in section.items() if name not in common}
        apart.append((rest, common))
    return shared, apart


def _named(names: Sequence[str], title: str, anchor: str) -> str:
    return f"[{title}](#{anchor}): " + ", ".join(f"`{name}`" for name in names) + ".\n"


def _commands() -> Iterator[str]:
    yield "## Commands\n"
    context = click.Context(cli, info_name="fsframe")
    found: list[tuple[str, click.Command]] = [("fsframe", cli)]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        found.append((f"fsframe {name}", command))
        last = getattr(command, "_last", None)
        if last is not None:
            found.append((f"fsframe {name} STAGES {last.name} DATA", last))
    shared, apart = _rows_apart([_option_rows(command) for _, command in found])
    for (title, command), (rows, common) in zip(found, apart, strict=True):
        yield f"### `{title}`\n"
        # \b and \f are click's own marks: keep these lines, stop here.
        text = inspect.cleandoc(command.help or "").partition("\f")[0].replace("\b\n", "")
        yield _as_markdown(text) + "\n"
        yield from _option_table(rows)
        if common:
            yield _named(common, "Shared options", "shared-options")
    yield "### Shared options\n"
    yield "With the same meaning in every command above that names them:\n"
    yield from _option_table(dict(sorted(shared.items())))
    codes = inspect.getdoc(main) or ""
    yield "### Exit codes\n"
    yield " ".join(codes.partition("\n\n")[2].split()) + "\n"
    yield "| error | exit code | when |"
    yield "|---|---|---|"
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, errors.FsframeError):
            when = (inspect.getdoc(error) or "").partition("\n")[0]
            yield f"| `{error.__name__}` | {error.exit_code} | {when} |"
    yield ""


def _option_rows(command: click.Command) -> dict[str, str]:
    rows = {}
    for option in command.params:
        if isinstance(option, click.Option):
            names = " ".join([*option.opts, *option.secondary_opts])
            metavar = "" if option.is_flag else f" {_metavar(option)}"
            shown = f" [default: {option.default}]" if option.show_default else ""
            help_text = f"{_cell(option.help or '')}{shown}"
            rows[names] = f"| `{_cell(names + metavar)}` | {help_text} |"
    return rows


def _option_table(rows: dict[str, str]) -> Iterator[str]:
    if rows:
        yield "| option | what it does |"
        yield "|---|---|"
        yield from rows.values()
        yield ""


def _metavar(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    if isinstance(option.type, click.IntRange):
        return "N"
    return option.type.name.upper()


def _as_markdown(text: str) -> str:
    """Indented examples as code blocks, everything else as it is."""
    return re.sub(r"(Examples?:)\n((?:  .*(?:\n|\Z))+)", _code, text).rstrip()


def _code(found: re.Match[str]) -> str:
    lines = [line[2:] for line in found.group(2).rstrip().splitlines()]
    return f"{found.group(1)}\n\n```sh\n" + "\n".join(lines) + "\n```\n"


def _methods() -> Iterator[str]:
    common = {parameter.name for parameter in WrappingSelector.parameters()}
    titles: dict[int, str] = {}
    offers: list[tuple[Offer, Registry]] = []
    for title, registry in (
        ("Selectors", selectors),
        ("Classifiers", classifiers),
        ("Regressors", regressors),
        ("Stability metrics", stability_metrics),
        ("Measures", measures),
    ):
        titles[len(offers)] = title
        offers += [
            (offer, registry)
            for offer in registry.offers()
            # The registry of classifiers has regressors too.
            if offer.entry.kind == registry.kind and offer.plugin.source.distribution == "fsframe"
        ]
    tables = [
        {p.name: _parameter(p) for p in registry[o.name].parameters() if p.name not in common}
        for o, registry in offers
    ]
    shared, apart = _rows_apart(tables)
    for position, ((offer, _), (rows, names)) in enumerate(zip(offers, apart, strict=True)):
        if position in titles:
            yield f"## {titles[position]}\n"
            if position == 0:
                yield "Every selector has `top` beside its own, every wrapping stage `base`:\n"
                yield from _parameters([_parameter(p) for p in WrappingSelector.parameters()])
        yield from _method(offer)
        yield from _parameters(list(rows.values()))
        if names:
            yield _named(names, "Shared parameters", "shared-parameters")
    yield "## Shared parameters\n"
    yield "With the same meaning, values and default in every method above that names them:\n"
    yield from _parameters([row for _, row in sorted(shared.items())])


def _method(offer: Offer) -> Iterator[str]:
    entry = offer.entry
    yield f"### `{offer.name}`\n"
    facts = [f"{entry.summary}.", f"Plugin {offer.provider}."]
    if entry.reference:
        facts.append(f"Source: {entry.reference}.")
    given = sorted(getattr(entry, "gives", ()))
    if given:
        facts.append(f"Gives {', '.join(given)}.")
    yield " ".join(facts) + "\n"


def _parameters(rows: Sequence[str]) -> Iterator[str]:
    if rows:
        yield "| parameter | values | default | meaning | source |"
        yield "|---|---|---|---|---|"
        yield from rows
        yield ""


def _parameter(parameter: Parameter) -> str:
    default = "required" if parameter.required else f"`{format_value(parameter.default)}`"
    source = ", ".join(part for part in (parameter.symbol, parameter.source) if part)
    cells = (
        f"`{parameter.name}`",
        parameter.kind.describe(),
        default,
        parameter.help,
        source,
    )
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("\\|", "|").replace("|", "\\|")


def _plugins() -> Iterator[str]:
    yield "## Plugins\n"
    yield (
        "A plugin is a module named by an entry point of the group `fsframe`; "
        "[write a selector](write-a-selector.md) shows one. This fsframe has plugin API "
        f"{hookspecs.API_VERSION}.\n"
    )
    for hook in manager.HOOKS:
        yield f"### `{hook}`\n"
        yield _as_code_blocks(inspect.getdoc(getattr(hookspecs, hook)) or "") + "\n"
    yield "### Environment\n"
    text = (manager.__doc__ or "").partition("Environment variables, ")[2]
    yield "Read before anything of a plugin is imported.\n"
    for name, meaning in re.findall(r"``(\w+)``\n((?:    .*\n?)+)", text):
        yield f"* `{name}`: {' '.join(meaning.split()).replace('``', '`')}"
    yield (
        "* `FSFRAME_KERNELS`: Set by fsframe itself for its workers: a temporary folder of "
        "compiled kernels, where no other could be written to."
    )
    yield (
        "* `FSFRAME_REMARKS`: `json`: remarks on stderr are events; set by `--progress json`, for "
        "workers too."
    )
    yield f"* `{VARIABLE}`: Bytes that reading a table may take, such as `12GB`."
    yield ""


def _as_code_blocks(text: str) -> str:
    """What stands behind ``::`` as a Python block."""
    before, mark, after = text.partition("::\n")
    if not mark:
        return text
    lines = after.strip("\n").splitlines()
    code = [line for line in lines if line.startswith("    ") or not line.strip()]
    rest = lines[len(code) :]
    body = inspect.cleandoc("\n".join(code)).rstrip()
    return (f"{before}:\n\n```python\n{body}\n```\n\n" + "\n".join(rest).strip()).strip()


def _laws() -> Iterator[str]:
    yield "## Conformance checks\n"
    yield (
        "The properties that `fsframe check` and the classes of `fsframe.testing` test. An "
        "exception is declared by the name of the check, with a reason.\n"
    )
    suites: tuple[tuple[str, type[Conformance]], ...] = (
        ("Selectors", SelectorConformance),
        ("Classifiers", ClassifierConformance),
        ("Stability metrics", StabilityMetricConformance),
    )
    for title, suite in suites:
        yield f"{title}: " + ", ".join(f"`{check}`" for check in suite.checks()) + ".\n"


if __name__ == "__main__":
    text = reference()
    if sys.argv[1:] == ["--check"]:
        current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        sys.exit(0 if current == text else "docs/reference.md is out of date")
    PAGE.write_text(text, encoding="utf-8")
