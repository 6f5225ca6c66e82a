"""Everything the program offers is documented, and what documentation says is there."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

import fsframe
from fsframe import params
from fsframe.cli import cli
from fsframe.cli.commands.offers import plugin_files
from fsframe.registry import Registry, hookspecs, manager
from fsframe.testing import SelectorConformance, conformance, run_checks
from tests.method_pages import SITE
from tests.scripts import ROOT, script

DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])


def reference() -> str:
    return (DOCS / "reference.md").read_text(encoding="utf-8")


def test_the_reference_is_up_to_date() -> None:
    written = script("docs/make_reference.py").reference()
    assert reference() == written, "run: python docs/make_reference.py"


_OF_THE_READER = {"fsframe/parts.key", "tests/test_gap.py"}
"""A file in the user's cache folder, and one of a plugin that a page describes."""


def test_files_that_pages_name_exist() -> None:
    path = re.compile(r"`((?:fsframe|plugins|tests|benchmarks|examples|docs)/[\w./-]+)`")
    pages = [*PAGES, ROOT / "SECURITY.md"]
    named = {name for page in pages for name in path.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 40
    assert {name for name in named if not (ROOT / name).exists()} == _OF_THE_READER


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
    result = re.findall(line, fenced + "\n" + indented, re.M)
    return [line for line in result if "…" not in line and "..." not in line]


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


# Every stored figure names the code that made it


BENCHMARKS = ROOT / "benchmarks"
SOURCE = '''
"""A module."""
import math

LIMIT = 3


class Half:
    """Half of a number."""

    def of(self, x):
        """x / 2."""
        return x / 2  # not rounded
'''


@pytest.fixture(scope="module")
def provenance() -> ModuleType:
    return script("benchmarks/provenance.py")


def test_each_result_file_has_a_note_of_its_content(provenance: ModuleType) -> None:
    noted = {name: note["sha256"] for name, note in provenance.index().items()}
    held = {name: provenance.sha256(name) for name in provenance.results()}
    assert noted == held, "python benchmarks/provenance.py record FILES"


def test_each_folder_with_results_says_what_computes_them(provenance: ModuleType) -> None:
    assert {name.split("/")[0] for name in provenance.results()} <= set(provenance.PACKAGES)
    for folder, places in provenance.PACKAGES.items():
        assert any((ROOT / place).is_dir() for place in places), folder


def test_moves_words_and_layout_change_no_digest(provenance: ModuleType) -> None:
    moved = SOURCE.replace("A module.", "Another.").replace("import math", "import cmath as c")
    moved = moved.replace("x / 2.", "A half.").replace("  # not rounded", "")
    assert provenance.definitions(SOURCE) == provenance.definitions(moved)


@pytest.mark.parametrize(
    ("before", "after"),
    [("x / 2 ", "x / 2.5 "), ("LIMIT = 3", "LIMIT = 4"), ("(self, x", "(self, x=0")],
)
def test_a_changed_line_changes_the_digest(provenance: ModuleType, before: str, after: str) -> None:
    assert SOURCE.count(before) == 1
    changed = provenance.definitions(SOURCE.replace(before, after))
    assert len(changed - provenance.definitions(SOURCE)) == 1


def test_a_file_that_is_no_result_is_refused(provenance: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"is no result file below benchmarks"):
        provenance.record([str(BENCHMARKS / "provenance.py")])


# The article: its citations resolve, its figures are those measured, its form is the journals'


PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
BIBLIOGRAPHY = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
SECTIONS = (
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
    "Acknowledgements",
    "References",
)


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    return script("paper/figures.py")


def entries() -> dict[str, str]:
    """The entries of the bibliography by key."""
    parts = re.split(r"^@\w+\{", BIBLIOGRAPHY, flags=re.MULTILINE)[1:]
    return {part.partition(",")[0]: part for part in parts}


def test_every_citation_is_in_the_bibliography_and_every_entry_is_cited() -> None:
    cited = set(re.findall(r"@([a-z]+\d{4})", PAPER.partition("\n---\n")[2]))
    assert cited == set(entries()) and len(cited) > 10


def test_every_entry_is_complete_and_leads_to_the_work() -> None:
    for key, entry in entries().items():
        for field in ("author", "title", "journal", "year"):
            assert re.search(rf"\b{field} = \{{.+?\}}", entry), (key, field)
        assert re.search(r"\bdoi = \{10\.\d{4,9}/\S+?\}|\burl = \{https://\S+?\}", entry), key
        # Venues are written in full.
        assert "Proc. " not in entry and "J. " not in re.findall(r"journal = \{(.+?)\}", entry)[0]


def test_the_figures_are_those_of_the_files(figures: ModuleType) -> None:
    assert figures.paper() == PAPER, "run python paper/figures.py"
    for name in re.findall(r"`(benchmarks/[\w/]+(?:\.\w+)?)`", PAPER):
        assert (ROOT / name).exists(), name


def test_another_figure_changes_the_article(
    figures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = figures.boruta()
    path = tmp_path / "boruta" / "results" / "overlap.txt"
    path.parent.mkdir(parents=True)
    path.write_text("  BorutaPy, default  1+1  processor time × 3.21\n", encoding="utf-8")
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    assert "3.21" in figures.boruta() and "3.21" not in before


def test_it_has_the_sections_and_the_length_that_are_asked_for() -> None:
    body = PAPER.partition("\n---\n")[2]
    result = re.findall(r"^# (.+)$", body, flags=re.MULTILINE)
    assert [section for section in result if section in SECTIONS] == list(SECTIONS)
    assert 750 <= len(body.split()) <= 1750
    for field in ("title", "tags", "authors", "affiliations", "date", "bibliography"):
        assert re.search(rf"^{field}:", PAPER, flags=re.MULTILINE), field


# The page for newcomers: its code is the template's, or runs as it stands


PAGE = Path(__file__).parents[2] / "docs" / "write-a-selector.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
FILES = plugin_files("gap")


def in_template(code: str) -> bool:
    return any(code.strip("\n") in text for text in FILES.values())


def test_code_of_the_template_is_quoted_as_it_is() -> None:
    quoted = [code for language, code in BLOCKS if language in ("python", "toml")]
    assert sum(in_template(code) for code in quoted) >= 7


def test_all_other_code_runs_and_its_classes_pass_the_checks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = ModuleType("page")
    # Classes are pickled by the name of their module.
    monkeypatch.setitem(sys.modules, "page", page)
    space = vars(page)
    ran = 0
    for language, code in BLOCKS:
        if language == "python" and not in_template(code):
            exec(compile(code, str(PAGE), "exec"), space)
            ran += 1
    assert ran >= 3
    methods = [m for m in list(space.values()) if isinstance(m, type) and m.__module__ == "page"]
    assert len(methods) >= 7
    monkeypatch.setattr(conformance, "TALLY", {})
    for method in methods:
        assert issubclass(method, fsframe.Selector)
        given: dict[str, Any] = {"base": "mim:top=2", "n": 10} if method.wrapping else {}
        name = method(**given).method_name()
        body = {
            "make": staticmethod(lambda made=method, values=given: made(**values)),
            "exceptions": space["EXCEPTIONS"].get(name, {}),
        }
        suite = type(f"Test{name}", (SelectorConformance,), body)
        broken = [o for o in run_checks(suite) if o.status == "failed"]
        assert not broken, (name, broken)


def test_commands_on_the_page_exist() -> None:
    lines = [line for language, code in BLOCKS if language == "sh" for line in code.splitlines()]
    commands = [line.split()[1] for line in lines if line.startswith("fsframe ")]
    commands += re.findall(r"`fsframe ([a-z-]+)", TEXT)
    assert {"new-plugin", "chain", "check", "plugins", "methods"} <= set(commands)
    for command in commands:
        assert cli.get_command(None, command) is not None  # type: ignore[arg-type]


def test_every_kind_named_exists() -> None:
    named = TEXT.partition("Kinds:")[2].partition("Rules that need")[0]
    kinds = re.findall(r"`(\w+)[(`]", named)
    assert {"real", "integer", "choice", "either", "listing", "stages"} <= set(kinds)
    assert not [kind for kind in kinds if not hasattr(params, kind)]


def test_tables_name_what_there_is() -> None:
    cells = re.findall(r"^\| (`.+?`) \|", TEXT, flags=re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`([\w.]+)", cell)]
    assert len(names) >= 12
    owners = {
        "data": fsframe.Dataset.from_arrays([[1.0], [2.0]], [0, 1]),
        "run": fsframe.Run(),
    }
    for name in names:
        owner, dot, attribute = name.partition(".")
        if dot:
            assert hasattr(owners[owner], attribute), name
        elif name != "upstream":
            assert hasattr(fsframe.Selector, name), name
