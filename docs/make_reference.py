"""Writes docs/reference.md from the program itself: commands, methods, plugins.

``python docs/make_reference.py`` writes the page; with ``--check`` it says whether it is current.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from fsframe import classifiers, errors, measures, regressors, selectors, stability_metrics
from fsframe.cli import cli, main
from fsframe.params import Parameter, format_value
from fsframe.registry import Offer, Registry, entries, manager
from fsframe.resampling.resamples import WrappingSelector
from fsframe.table.spelling.text_file import VARIABLE

PAGE = Path(__file__).parent / "reference.md"

sys.path.insert(0, str(PAGE.parent))
from make_site import place_of  # noqa: E402

_HEAD = """\
# Reference

Written by `python docs/make_reference.py` from the program itself; do not edit it.
[Chains](chains.md) says what a stage is, [tables](data.md) how tables are read.
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
    "neighbours": "Estimation",
    "stop": "Stopping",
    "level": "Relief",
    "sigma_max": "Boosting",
    "penalties": "Path",
    "rank_by": "Testing",
    "alpha": "Testing",
}
# The pages that say what a command does. Of a command without one the whole help is printed.
_PAGES = {
    "fsframe": "index.md",
    "apply": "data.md#the-reduced-table",
    "audit": "resume.md#audit-repeat-a-stored-run",
    "chain": "chains.md",
    "chain STAGES on DATA": "data.md",
    "check": "write-a-selector.md#4-run-the-conformance-checks",
    "compare": "evaluation.md#compare",
    "evaluate": "evaluation.md",
    "inspect": "data.md",
    "new-plugin": "hooks.md",
    "plot": "results.md#a-figure",
    "plugins": "#environment",
    "report": "results.md#a-report",
    "resume": "resume.md",
    "show": "file-format.md",
    "stability": "methods/stability.md",
    "study": "study.md",
    "table": "results.md#a-table",
    "verify": "file-format.md",
    "warm": "executors.md#compiled-kernels",
}

Row = tuple[str, str]


def reference() -> str:
    """The whole page."""
    parts = [_HEAD, *_commands(), *_methods(), *_plugins()]
    return "\n".join(parts).rstrip() + "\n"


def _groups(sections: Sequence[dict[str, str]]) -> dict[str, list[Row]]:
    """The rows that at least two sections share, by the title of their group.

    A section maps names to rows. Rows with the same users are one group. Rows of no group stand
    together, where of several with one name only the most frequent is shared.
    """
    users: dict[Row, tuple[int, ...]] = {}
    for number, section in enumerate(sections):
        for row in section.items():
            users[row] = (*users.get(row, ()), number)
    together: dict[tuple[int, ...], list[Row]] = {}
    for row, numbers in users.items():
        if len(numbers) >= _SHARED_BY:
            together.setdefault(numbers, []).append(row)
    groups: dict[str, list[Row]] = {}
    single: dict[str, str] = {}
    for rows in sorted(together.values(), key=lambda rows: -len(users[rows[0]])):
        title = next((_GROUPS[name] for name, _ in rows if name in _GROUPS), None)
        if title and title not in groups and len(rows) > 1:
            groups[title] = rows
        else:
            for name, row in rows:
                single.setdefault(name, row)
    return {**groups, "": list(single.items())}


def _commands() -> Iterator[str]:
    yield "## Commands\n"
    yield "`fsframe COMMAND --help` says more, with examples.\n"
    context = click.Context(cli, info_name="fsframe")
    commands: list[tuple[str, click.Command]] = [("fsframe", cli)]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        commands.append((f"fsframe {name}", command))
        last = getattr(command, "last", None)
        if last is not None:
            commands.append((f"fsframe {name} STAGES {last.name} DATA", last))
    tables = [_option_rows(command) for _, command in commands]
    groups = _groups(tables)
    for (title, command), rows in zip(commands, tables, strict=True):
        yield f"### `{title}`\n"
        page = _PAGES.get(title.removeprefix("fsframe "))
        # \b and \f are click's own marks: keep these lines, stop here.
        text = inspect.cleandoc(command.help or "").partition("\f")[0].replace("\b\n", "")
        first = " ".join(text.partition("\n\n")[0].split())
        yield (f"{first} [More]({page})." if page else _without_examples(text)) + "\n"
        yield from _own(rows, groups, *_OPTION)
    yield "## Shared options\n"
    for group, shared in groups.items():
        yield f"### {group or 'Single ones'}\n"
        yield from _table((row for _, row in shared), *_OPTION)
    codes = inspect.getdoc(main) or ""
    yield "### Exit codes\n"
    yield " ".join(codes.partition("\n\n")[2].split()) + "\n"
    of_code: dict[int, list[str]] = {}
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, errors.FsframeError):
            of_code.setdefault(error.exit_code, []).append(f"`{error.__name__}`")
    exceptions = "; ".join(f"{code} {', '.join(names)}" for code, names in of_code.items())
    yield f"The exceptions of `fsframe.errors` behind them: {exceptions}.\n"


def _apart(rows: dict[str, str], groups: dict[str, list[Row]]) -> tuple[list[str], list[str]]:
    """The rows that a section has alone, and links to groups and names of the other rows."""
    also: list[str] = []
    elsewhere: set[str] = set()
    for group, shared in groups.items():
        has = [name for name, row in shared if rows.get(name) == row]
        if group and len(has) == len(shared):
            also.append(f"[{group}](#{group.lower()})")
            elsewhere |= set(has)
        elif not group:
            also += [f"`{name}`" for name in has]
            elsewhere |= set(has)
    return [row for name, row in rows.items() if name not in elsewhere], also


def _own(rows: dict[str, str], groups: dict[str, list[Row]], *head: str) -> Iterator[str]:
    """The table of what a section has alone, and where the rest stands."""
    own, also = _apart(rows, groups)
    yield from _table(own, *head)
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
    (r"a count ≥ 1 or a fraction .*10%", "a count ≥ 1 or fraction ≤ 1"),
    (r"a classifier or regressor of scikit-learn, such as \w+", "a class of scikit-learn"),
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
    if isinstance(option.type, click.FloatRange):
        return "X"
    return option.type.name.upper()


def _without_examples(text: str) -> str:
    return re.sub(r"Examples?:\n(?:  .*(?:\n|\Z))+", "", text).rstrip()


def _bundled(registry: Registry) -> Iterator[Offer]:
    for offer in registry.offers():
        # The registry of classifiers has regressors too.
        if offer.entry.kind == registry.kind and offer.plugin.source.distribution == "fsframe":
            yield offer


def _methods() -> Iterator[str]:
    common = {parameter.name for parameter in WrappingSelector.parameters()}
    offers = [(o, registry) for registry in _REGISTRIES.values() for o in _bundled(registry)]
    tables = [
        {p.name: _parameter(p) for p in registry[o.name].parameters() if p.name not in common}
        for o, registry in offers
    ]
    groups = _groups(tables)
    sections = list(zip(offers, tables, strict=True))
    for title, registry in _REGISTRIES.items():
        yield f"## {title}\n"
        if registry is selectors:
            yield ("`fsframe methods NAME` also says where in its paper a parameter stands.\n")
            yield "Every selector also has `top`, every wrapping stage `base`:\n"
            common_rows = (_parameter(p) for p in WrappingSelector.parameters())
            yield from _table(common_rows, *_PARAMETER)
            yield (
                "`|` separates alternatives; no values: true or false. What several methods "
                "share stands [below](#shared-parameters).\n"
            )
        of_kind = [(offer, rows) for (offer, owner), rows in sections if owner is registry]
        yield from _table(
            (
                _row(f"[`{offer.name}`](methods/{place_of(offer.name)})", ", ".join(also))
                for offer, rows in of_kind
                for own, also in [_apart(rows, groups)]
                if not own
            ),
            "no parameters of its own",
            "shared ones",
        )
        for offer, rows in of_kind:
            if _apart(rows, groups)[0]:
                yield f"### `{offer.name}`\n"
                yield f"[Definition](methods/{place_of(offer.name)}).\n"
                yield from _own(rows, groups, *_PARAMETER)
    yield "## Shared parameters\n"
    for group, shared in groups.items():
        yield f"### {group or 'Others, by name'}\n"
        yield from _table((row for _, row in shared), *_PARAMETER)
    for title, registry, page in (
        ("Stability metrics", stability_metrics, "methods/stability.md#the-formulas"),
        ("Measures", measures, "evaluation.md#what-is-reported"),
    ):
        yield f"## {title}\n"
        yield from _in_one_table(registry, page)


_REGISTRIES: dict[str, Registry] = {
    "Selectors": selectors,
    "Classifiers": classifiers,
    "Regressors": regressors,
}


def _in_one_table(registry: Registry, page: str) -> Iterator[str]:
    """Offers with few parameters: each parameter once, with those that have it."""
    users: dict[str, list[str]] = {}
    without = []
    for offer in _bundled(registry):
        parameters = registry[offer.name].parameters()
        if not parameters:
            without.append(f"`{offer.name}`")
        for parameter in parameters:
            users.setdefault(_parameter(parameter), []).append(f"`{offer.name}`")
    yield f"[Definitions]({page}). Without parameters: {', '.join(without)}.\n"
    rows = [
        re.sub(r"^(\|`\w+`\|)", rf"\1{', '.join(owners)}|", row) for row, owners in users.items()
    ]
    yield from _table(rows, "parameter", "of", *_PARAMETER[1:])


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
        f"This fsframe has plugin API {entries.API_VERSION}. What a plugin can add: "
        "[hooks](hooks.md). `fsframe check NAME` prints the properties that it tests.\n"
    )
    yield "### Environment\n"
    text = (manager.__doc__ or "").partition("Environment variables, ")[2]
    yield "Read before anything of a plugin is imported.\n"
    for name, meaning in re.findall(r"``(\w+)``\n((?:    .*\n?)+)", text):
        yield f"* `{name}`: {' '.join(meaning.split()).replace('``', '`')}"
    yield ("* `FSFRAME_KERNELS`: Set by fsframe for its workers: a temporary folder of kernels.")
    yield (
        "* `FSFRAME_REMARKS`: Set by fsframe for workers of `--progress json`: remarks are events."
    )
    yield f"* `{VARIABLE}`: Bytes that reading a table may take, such as `12GB`."
    yield ""


if __name__ == "__main__":
    text = reference()
    if sys.argv[1:] == ["--check"]:
        current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        sys.exit(0 if current == text else "docs/reference.md is out of date")
    PAGE.write_text(text, encoding="utf-8")
