"""Everything the program offers is documented, and what documentation says is there."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import fsframe
from fsframe.cli import cli
from fsframe.registry import Registry, hookspecs, manager
from tests.method_pages import SITE
from tests.scripts import ROOT, script

DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])


def reference() -> str:
    return (DOCS / "reference.md").read_text(encoding="utf-8")


def test_the_reference_is_up_to_date() -> None:
    written = script("docs/make_reference.py").reference()
    assert reference() == written, "run: python docs/make_reference.py"


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        yield name, command
        last = getattr(command, "last", None)
        if last is not None:
            yield f"{name} STAGES on DATA", last


@pytest.mark.parametrize(("name", "command"), [pytest.param(*c, id=c[0]) for c in commands()])
def test_every_command_and_option_is_documented(name: str, command: click.Command) -> None:
    start = reference().index(f"### `fsframe {name}`")
    section = reference()[start:].split("\n### ")[0]
    for group in re.findall(r"\]\(#(\w+)\)", section):
        section += reference().split(f"\n### {group.capitalize()}\n")[1].split("\n### ")[0]
    for param in command.params:
        if isinstance(param, click.Option):
            for spelling in (*param.opts, *param.secondary_opts):
                assert re.search(rf"(?<![\w-]){re.escape(spelling)}(?![\w-])", section), spelling


def bundled(registry: Registry) -> list[str]:
    return [o.name for o in registry.offers() if o.plugin.source.distribution == "fsframe"]


def section_of(name: str) -> str:
    """What the reference says of a method: its section, or its row among those without one."""
    sections = reference().split(f"\n### `{name}`\n")[1:]
    rows = re.findall(rf"^\|\[`{name}`\].*$", reference(), re.M)
    assert len(sections) + len(rows) == 1, name
    return str(rows[0] if rows else sections[0].split("\n### ")[0])


@pytest.mark.parametrize(
    "registry", [fsframe.selectors, fsframe.classifiers], ids=["selectors", "predictors"]
)
def test_every_method_and_parameter_is_documented(registry: Registry) -> None:
    text = reference()
    for name in bundled(registry):
        section = section_of(name)
        for group in re.findall(r"\]\(#(\w+)\)", section):
            section += text.split(f"\n### {group.capitalize()}\n")[1].split("\n### ")[0]
        for parameter in registry[name].parameters():
            if parameter.name not in ("top", "base"):
                assert f"`{parameter.name}`" in section, f"{name}: {parameter.name}"
                assert f"\n|`{parameter.name}`|" in text, f"{name}: {parameter.name}"
                assert parameter.help.strip(), f"{name}: {parameter.name} has no help"


@pytest.mark.parametrize(
    ("title", "registry"),
    [("Stability metrics", fsframe.stability_metrics), ("Measures", fsframe.measures)],
    ids=["stability metrics", "measures"],
)
def test_every_metric_and_its_parameters_are_documented(title: str, registry: Registry) -> None:
    section = reference().split(f"\n## {title}\n")[1].split("\n## ")[0]
    [without] = re.findall(r"Without parameters: (.*)\.", section)
    rows = re.findall(r"^\|`(\w+)`\|([^|]+)\|(.*)$", section, re.M)
    for name in bundled(registry):
        parameters = registry[name].parameters()
        assert (f"`{name}`" in without) == (not parameters), name
        told = sorted(p for p, of, _ in rows if f"`{name}`" in of)
        assert told == sorted(p.name for p in parameters), name
        for parameter in parameters:
            [row] = [text for p, of, text in rows if p == parameter.name and f"`{name}`" in of]
            assert " ".join(parameter.help.split()) in row, name


@pytest.mark.parametrize("registry", [fsframe.selectors, fsframe.classifiers])
def test_the_reference_leads_to_the_definition_of_every_method(registry: Registry) -> None:
    for name in bundled(registry):
        assert f"](methods/{SITE.place_of(name)})" in section_of(name), name


@pytest.mark.parametrize("registry", [fsframe.selectors, fsframe.classifiers])
def test_every_method_has_a_page_or_a_section_of_one(registry: Registry) -> None:
    assert not [name for name in bundled(registry) if SITE.place_of(name) is None]


@pytest.mark.parametrize("registry", [fsframe.stability_metrics, fsframe.measures])
def test_every_metric_and_measure_is_explained_on_a_page(registry: Registry) -> None:
    pages = [page for page in PAGES if page.name != "reference.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert not [name for name in bundled(registry) if f"`{name}`" not in text]


def test_the_changelog_names_every_command() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert not [c for c in cli.list_commands(click.Context(cli)) if f"`{c}`" not in text]


def test_the_index_leads_to_every_page() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    pages = {page.name for page in DOCS.glob("*.md")} - {"index.md"}
    assert not [page for page in pages if f"]({page})" not in text]


def test_every_hook_is_documented_with_an_example() -> None:
    for hook in manager.HOOKS:
        # The page of hooks names each; the site shows these examples under "Python".
        assert f"| `{hook}` |" in (DOCS / "hooks.md").read_text(encoding="utf-8")
        assert "@hookimpl" in (getattr(hookspecs, hook).__doc__ or "")


def test_every_variable_of_the_environment_is_documented() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "fsframe").rglob("*.py"))
    used = set(re.findall(r"FSFRAME_[A-Z_]+[A-Z]", sources)) - {"FSFRAME_COMPLETE"}
    assert used
    assert not {name for name in used if f"`{name}`" not in reference()}


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if not target.startswith(("http:", "https:", "mailto:")):
                yield page, target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = [
        target
        for source, target in links()
        if source == page and not (page.parent / (target.partition("#")[0] or page.name)).exists()
    ]
    assert not broken


def shell_lines(page: Path) -> list[str]:
    """Lines of code on a page that begin with ``fsframe``, continued lines joined."""
    text = re.sub(r"\\\n\s+", "", page.read_text(encoding="utf-8"))
    fenced = "\n".join(re.findall(r"^```(?:sh|bash|console)\n(.*?)^```$", text, re.M | re.S))
    indented = "\n".join(re.findall(r"^    (fsframe .*)$", text, re.M))
    line = r"^(?:\$ )?(?:\S*/)?(fsframe .*?)(?:\s+#.*)?$"
    found = re.findall(line, fenced + "\n" + indented, re.M)
    return [line for line in found if "…" not in line and "..." not in line]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_line_on_a_page_is_understood(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in shell_lines(page):
        words = shlex.split(line.partition(" && ")[0].partition(" | ")[0].partition(" > ")[0])[1:]
        if page.name == "write-a-selector.md":
            # The plugin of that page is built and run by tests/plugins/test_template.py.
            words = ["mim" if word == "gap" else word for word in words]
        _understood(words, line)


def _understood(words: list[str], line: str) -> None:
    from fsframe.cli import _run

    if not words or words[0].startswith("-"):
        return
    command = cli.get_command(click.Context(cli), words[0])
    assert command is not None, line
    last = getattr(command, "last", None)
    if last is not None and last.name in words:
        # A dry run understands stages, parameters and options, and touches no file.
        assert _run([*words, "--dry-run"]) == 0, line
    elif last is not None:
        assert _run([*words] if words[-1] in ("--help", "--dry-run") else [words[0], "--help"]) == 0
    else:
        try:
            command.make_context(words[0], words[1:], parent=click.Context(cli))
        except click.exceptions.Exit:
            pass
        except click.UsageError as error:
            raise AssertionError(f"{line}: {error.format_message()}") from None


def test_the_readme_counts_what_there_is() -> None:
    offers = [o for o in fsframe.selectors.offers() if o.plugin.source.bundled]
    greedy = "fsframe_infotheory.methods.greedy_filter:GreedyFilter"
    module, _, name = greedy.partition(":")
    base = getattr(importlib.import_module(module), name)
    counts = {
        "variants of Relief": sum(o.provider == "relief" for o in offers),
        "greedy information-theoretic criteria": sum(
            issubclass(fsframe.selectors[o.name], base) for o in offers
        ),
        "margin methods that weight pairs of features": sum(
            o.provider == "margin" and "pair-weights" in o.entry.gives  # type: ignore[attr-defined]
            for o in offers
        ),
        "stability of what is kept": len(bundled(fsframe.stability_metrics)),
    }
    text = (DOCS / "other-packages.md").read_text(encoding="utf-8")
    said = {
        row: int(n) for row, n in re.findall(r"^\| ([a-zA-Z -]+?) \| (\d+)", text, re.MULTILINE)
    }
    assert said == counts


def test_the_readme_sums_up_the_ledger() -> None:
    readme, ledger = (
        " ".join((ROOT / page).read_text(encoding="utf-8").split())
        for page in ("README.md", "docs/ledger.md")
    )
    first, designs = re.findall(r"is first in (\d+) of (\d+) designs", ledger)[0]
    judged, missed = re.findall(r"Of (\d+) promises of fsframe .*? (\d+) are missed", ledger)[0]
    assert f"is first in {first} of {designs} designs" in readme
    assert f"of its {judged} promises about errors {missed} are missed" in readme
