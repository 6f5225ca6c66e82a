"""Writes docs/reference.md from the program itself: commands, methods, plugins.

``python docs/make_reference.py`` writes the page; with ``--check`` it says whether it is current.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from fsframe import classifiers, errors, measures, regressors, selectors, stability_metrics
from fsframe.cli import cli, main
from fsframe.params import Parameter, format_value
from fsframe.registry import Offer, Registry, hookspecs, manager
from fsframe.resampling.wrapping import WrappingSelector
from fsframe.table.text_file import VARIABLE

PAGE = Path(__file__).parent / "reference.md"

_HEAD = """\
# Reference

Written by `python docs/make_reference.py` from the program itself; do not edit it. What the words
mean is said in [chains](chains.md) and [data](data.md), the run file in
[file-format](file-format.md), each method, with its equations and sources, on
[its page](methods/). `fsframe methods NAME` prints where in its paper a parameter stands.
"""


# A row that so many commands, or methods, have in common is printed once, and named by each.
_SHARED_BY = 2
# Options, or parameters, with the same users stand together under the title of one of them.
_GROUPS = {
    "--folds": "Folds",
    "--label": "Roles",
    "--na": "Reading",
    "--memory": "Execution",
    "-o --out": "Output",
    "discretise": "Levels",
    "stop": "Stopping",
    "level": "Relief",
}


def reference() -> str:
    """The whole page."""
    parts = [_HEAD, *_commands(), *_methods(), *_plugins()]
    return "\n".join(parts).rstrip() + "\n"


def _rows_apart(
    sections: Sequence[dict[str, str]],
) -> tuple[dict[str, str], list[tuple[dict[str, str], list[str]]]]:
    """Rows that at least two sections share; and for each section its other rows and the names.

    A section maps names to rows. Of several rows with one name only the most frequent is shared.
    """
    users = Counter((name, row) for section in sections for name, row in section.items())
    shared: dict[str, str] = {}
    for (name, row), count in users.most_common():
        if count >= _SHARED_BY:
            shared.setdefault(name, row)
    apart = []
    for section in sections:
        common = [name for name, row in section.items() if shared.get(name) == row]
        rest = {name: row for name, row in section.items() if name not in common}
        apart.append((rest, common))
    return shared, apart


def _grouped(sections: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Shared options by the title of their group: those that the same commands have."""
    users: dict[str, tuple[int, ...]] = {}
    for number, names in enumerate(sections):
        for name in names:
            users[name] = (*users.get(name, ()), number)
    together: dict[tuple[int, ...], list[str]] = {}
    for name, found in users.items():
        together.setdefault(found, []).append(name)
    groups: dict[str, list[str]] = {}
    for names in together.values():
        title = next((_GROUPS[name] for name in names if name in _GROUPS), "Single ones")
        groups.setdefault(title, []).extend(names)
    return groups


def _commands() -> Iterator[str]:
    yield "## Commands\n"
    yield "`fsframe COMMAND --help` shows the same, with examples.\n"
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
    groups = _grouped([common for _, common in apart])
    for (title, command), (rows, common) in zip(found, apart, strict=True):
        yield f"### `{title}`\n"
        # \b and \f are click's own marks: keep these lines, stop here.
        text = inspect.cleandoc(command.help or "").partition("\f")[0].replace("\b\n", "")
        yield _without_examples(text) + "\n"
        yield from _table(rows.values(), *_OPTION)
        yield from _also(common, groups)
    yield "## Shared options\n"
    yield "With one meaning in every command that names them.\n"
    for group, names in groups.items():
        yield f"### {group}\n"
        yield from _table((shared[name] for name in names), *_OPTION)
    codes = inspect.getdoc(main) or ""
    yield "### Exit codes\n"
    yield " ".join(codes.partition("\n\n")[2].split()) + "\n"
    rows = []
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, errors.FsframeError):
            when = (inspect.getdoc(error) or "").partition("\n")[0]
            rows.append(_row(f"`{error.__name__}`", str(error.exit_code), when))
    yield from _table(rows, "error", "code", "when")


def _also(common: Sequence[str], groups: dict[str, list[str]]) -> Iterator[str]:
    """What is explained elsewhere, by group where that is used as a whole."""
    also = []
    for group, names in groups.items():
        if group in _GROUPS.values() and set(names) <= set(common):
            also.append(f"[{group}](#{group.lower().replace(' ', '-')})")
        else:
            also += [f"`{name}`" for name in names if name in common]
    if also:
        yield "Also: " + ", ".join(also) + ".\n"


def _option_rows(command: click.Command) -> dict[str, str]:
    rows = {}
    for option in command.params:
        if isinstance(option, click.Option):
            names = " ".join([*option.opts, *option.secondary_opts])
            metavar = "" if option.is_flag else f" {_metavar(option)}"
            shown = f" [default: {option.default}]" if option.show_default else ""
            rows[names] = _row(f"`{names + metavar}`", (option.help or "") + shown)
    return rows


def _table(rows: Iterable[str], *head: str) -> Iterator[str]:
    lines = list(rows)
    if lines:
        yield f"|{'|'.join(head)}|"
        yield "|-" * len(head) + "|"
        yield from (*lines, "")


def _row(*cells: str) -> str:
    shown = (" ".join(cell.split()).replace("\\|", "|").replace("|", "\\|") for cell in cells)
    return f"|{'|'.join(shown)}|"


_OPTION = ("option", "meaning")
_PARAMETER = ("parameter", "default", "values", "meaning")


# How the values of parameters are said here.
_SHORT = (
    (r" and ≤ 100000000", ""),
    (r"\ba whole number\b", "integer"),
    (r"\ba number (?=[≥>≤<])", ""),
    (r"\ba number\b", "number"),
    (r"a list \[a,b,…\] of", "list of"),
    (r" and (?=[≤<] )", ", "),
    (r"(≥|>|≤|<) (?=[\d-])", r"\1"),
    (r",? or (?!a |regressor)(?=[a-z])", "|"),
)


def _metavar(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    if isinstance(option.type, click.IntRange):
        return "N"
    return option.type.name.upper()


def _without_examples(text: str) -> str:
    return re.sub(r"Examples?:\n(?:  .*(?:\n|\Z))+", "", text).rstrip()


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
    groups = _grouped([names for _, names in apart])
    for position, ((offer, _), (rows, names)) in enumerate(zip(offers, apart, strict=True)):
        if position in titles:
            yield f"## {titles[position]}\n"
            if position == 0:
                yield "Beside its own, every selector has `top`, every wrapping stage `base`:\n"
                own = (_parameter(p) for p in WrappingSelector.parameters())
                yield from _table(own, *_PARAMETER)
                yield (
                    "`|` separates alternatives; no values: true or false; bounds are those of a "
                    "number. What several methods share stands [below](#shared-parameters).\n"
                )
        yield f"### `{offer.name}`\n"
        yield f"{offer.entry.summary}.\n"
        yield from _table(rows.values(), *_PARAMETER)
        yield from _also(names, groups)
    yield "## Shared parameters\n"
    for group, members in groups.items():
        yield f"### {group if group in _GROUPS.values() else 'Others, by name'}\n"
        yield from _table((shared[name] for name in members), *_PARAMETER)


def _parameter(parameter: Parameter) -> str:
    default = "required" if parameter.required else f"`{format_value(parameter.default)}`"
    values = parameter.kind.describe()
    for long, short in _SHORT:
        values = re.sub(long, short, values)
    if default in ("`true`", "`false`"):
        values = ""
    return _row(f"`{parameter.name}`", default.replace("``", ""), values, parameter.help)


def _plugins() -> Iterator[str]:
    yield "## Plugins\n"
    yield (
        f"This fsframe has plugin API {hookspecs.API_VERSION}. What a plugin can add: "
        "[hooks](hooks.md). `fsframe check NAME` prints the properties that it tests.\n"
    )
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


if __name__ == "__main__":
    text = reference()
    if sys.argv[1:] == ["--check"]:
        current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        sys.exit(0 if current == text else "docs/reference.md is out of date")
    PAGE.write_text(text, encoding="utf-8")
