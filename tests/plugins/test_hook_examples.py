"""The examples of docs/hooks.md do what the page says; what entries say of themselves."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fsframe.cli.commands.offers import plugin_files
from fsframe.registry import manager
from fsframe.registry.entries import Deprecated, SelectorEntry
from fsframe.registry.hookspecs import hookimpl
from fsframe.registry.manager import PluginManager, PluginSource, missing, pip_command
from tests.command_line import FAKES, Done
from tests.same_process import fsframe

ROOT = Path(__file__).parents[2]
EXAMPLES = ("fake_tracker", "fake_jsonl", "fake_ranges", "fake_seconds", "fake_shifted")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and a run of it tested with shifted labels."""
    path = tmp_path_factory.mktemp("hooks")
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 0, 1], 15)
    table = np.column_stack([label + rng.normal(size=60) * 0.3, rng.normal(size=(60, 4)), label])
    header = "signal,n1,n2,n3,n4,class"
    np.savetxt(path / "t.csv", table, delimiter=",", header=header, comments="")
    fsframe(
        "chain", "mim:top=2", "npfs:null=shifted,n=4,permutations=20,alpha=0.1", "on", "t.csv",
        "-q", "-o", "run.h5", cwd=path, fakes=["fake_shifted"], code=0,
    )  # fmt: skip
    return path


def with_a_mistake(name: str, folder: Path, right: str, wrong: str) -> Path:
    """An example as another distribution, with another word in place of one."""
    code = (FAKES / name / f"{name}.py").read_text(encoding="utf-8")
    kind = name.removeprefix("fake_")
    code = code.replace(name, "fake_broken").replace(f'name="{kind}"', 'name="broken"')
    info = folder / "broken" / "fake_broken-2.0.dist-info"
    info.mkdir(parents=True)
    about = "Metadata-Version: 2.1\nName: fake-broken\nVersion: 2.0\n"
    (info / "METADATA").write_text(about, encoding="utf-8")
    (info / "entry_points.txt").write_text("[fsframe]\nbroken = fake_broken\n", encoding="utf-8")
    assert right in code
    (info.parent / "fake_broken.py").write_text(code.replace(right, wrong), encoding="utf-8")
    return info.parent


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_stands_on_the_page_and_is_short(name):
    code = (FAKES / name / f"{name}.py").read_text(encoding="utf-8")
    assert code in (ROOT / "docs/hooks.md").read_text(encoding="utf-8")
    assert len(code.splitlines()) <= 40


@pytest.mark.parametrize(
    ("name", "kind"),
    [("agreement", "stability-metric"), ("cost", "measure"), ("halves", "wrapping")],
)
def test_the_page_shows_what_new_plugin_writes(name, kind):
    files = plugin_files(name, kind)
    page = (ROOT / "docs/hooks.md").read_text(encoding="utf-8")
    assert files[f"fsframe_{name}/{name}.py"] in page
    assert f"new-plugin {name} --kind {kind}" in page
    assert "docs/hooks.md" in files["README.md"]


def test_the_page_names_every_hook_and_what_it_yields():
    page = (ROOT / "docs/hooks.md").read_text(encoding="utf-8")
    hooks = manager.HOOKS.items()
    assert [hook for hook, what in hooks if f"| `{hook}` | `{what.__name__}` |" not in page] == []


def test_a_table_is_written_by_the_ending_and_by_the_name_of_a_plugin(folder):
    fsframe("table", "run.h5", "-o", "a.jsonl", cwd=folder, fakes=["fake_jsonl"], code=0)
    rows = [json.loads(line) for line in (folder / "a.jsonl").read_text().splitlines()]
    assert len(rows) == 5 and rows[0]["feature"] == "signal" and rows[0]["rank"] == 1
    shown = fsframe("table", "run.h5", "--format", "jsonl", cwd=folder, fakes=["fake_jsonl"])
    assert shown.out == (folder / "a.jsonl").read_text()
    without = fsframe("table", "run.h5", "-o", "b.jsonl", cwd=folder)
    assert without.code == 2 and "end its name in .csv" in without.err
    unknown = fsframe("table", "run.h5", "--format", "jsonl", cwd=folder)
    assert unknown.code == 2 and "there is no writer 'jsonl'" in unknown.err


def test_a_section_stands_at_its_place_and_a_broken_one_spoils_nothing(folder, tmp_path):
    name = "fake_ranges"
    broken = with_a_mistake(name, tmp_path, "about.data is None", "about.none")
    fsframe(
        "report", "run.h5", "on", "t.csv", "-o", str(tmp_path / "p.html"), cwd=folder,
        fakes=[name, broken], code=0,
    )  # fmt: skip
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    order = [page.index(f"{text}</h2>") for text in (
        "Features", "Ranges of the kept features", "For the methods section"
    )]  # fmt: skip
    assert order == sorted(order)
    assert "report section `broken` of plugin `broken` 2.0: AttributeError" in page


def test_a_null_of_a_plugin_is_recorded_and_needed(folder):
    shown = fsframe("show", "run.h5", "--json", cwd=folder).json
    assert "null=shifted" in shown["chain"]
    without = fsframe("chain", "mim", "npfs:null=shifted", "on", "t.csv", "-q", cwd=folder, code=2)
    assert "must be matlab or permutation or published or shards" in without.err
    listed = fsframe("chain", "mim", "npfs", "--help", cwd=folder, fakes=["fake_shifted"])
    assert "shifted" in listed.out


def test_a_plot_of_a_plugin_is_listed_and_drawn(folder):
    listed = fsframe("plot", fakes=["fake_seconds"])
    assert "seconds      seconds of each stage; needs a run" in listed.out
    fsframe("plot", "seconds", "run.h5", cwd=folder, fakes=["fake_seconds"], code=0)
    assert ">seconds</text>" in (folder / "run.seconds.svg").read_text(encoding="utf-8")
    without = fsframe("plot", "seconds", "run.h5", cwd=folder)
    assert without.code == 2 and "there is no plot 'seconds'" in without.err


def test_a_plot_that_fails_names_its_plugin(folder, tmp_path):
    broken = with_a_mistake("fake_seconds", tmp_path, "ax.bar(", "ax.no_such_bar(")
    done = fsframe("plot", "broken", "run.h5", "-o", "x.svg", cwd=folder, fakes=[broken])
    assert done.code == 3 and "of plugin `broken`" in done.err and "no_such_bar" in done.err


# What entries say of themselves


def run(folder: Path, *words: str, code: int | None = None) -> Done:
    return fsframe(*words, cwd=folder, fakes=["fake_renamed"], code=code)


def test_an_alias_is_found_and_the_record_has_the_name(folder):
    run(
        folder, "chain", "broadest:top=3", "npfs:base=(broadest:top=2),n=4,null=published,alpha=.9",
        "on", "t.csv", "-q", "-o", "alias.h5", code=0,
    )  # fmt: skip
    shown = run(folder, "show", "alias.h5", "--json").json
    assert "broadest" not in str(shown["chain"]) and shown["chain"].count("widest:top=") == 2
    assert run(folder, "methods", "broadest").out.startswith("widest")
    asked = run(folder, "chain", "fake-renamed/broadest", "on", "t.csv", "--dry-run")
    assert asked.code == 0 and "widest" in asked.out and "broadest" not in asked.out


def test_an_alias_takes_no_bundled_name(folder):
    done = run(folder, "chain", "mim:top=2", "on", "t.csv", "--dry-run")
    assert done.code == 0 and "mim:top=2" in done.out and "widest" not in done.out


def test_what_will_go_says_so_once(folder):
    done = run(folder, "chain", "narrowest:top=2", "on", "t.csv", "-q", code=0)
    told = "`narrowest` is deprecated since 0.9 and will be removed; use `widest`"
    assert " ".join(done.err.split()).count(told) == 1
    assert told in run(folder, "methods", "narrowest").out


def test_what_is_missing_is_named_with_the_command_that_installs_it(folder):
    done = run(folder, "chain", "lacking", "on", "t.csv", code=3)
    told = " ".join(done.err.split())
    assert "needs no-such-distribution, which is not installed" in told
    assert "pip install no-such-distribution 'fsframe[no-such-extra]'" in told


def test_extras_are_looked_up_by_what_they_bring():
    assert missing(["fsframe[no-such-extra]", "NumPy"]) == ()
    assert pip_command(["fsframe[dask]"]).endswith(" -m pip install 'fsframe[dask]'")


def test_extras_of_another_package_that_are_absent_are_named(monkeypatch):
    lines = ['thing>=1 ; extra == "fast"', "numpy", 'other; extra == "slow"']
    monkeypatch.setattr(manager.metadata, "requires", lambda name: lines)
    assert missing(["numpy[fast]"]) == ("thing",)


def test_a_failure_is_reported_once(folder):
    done = run(folder, "chain", "widest:top=5", "npfs:null=published", "on", "t.csv", "-q")
    assert done.code == 2 and done.err.count("so none can be selected") == 1


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"requires": "boruta>=0.3"}, "version bounds"),
        ({"aliases": "On"}, "lower-case words"),
        ({"aliases": "on"}, "reserved"),
        ({"deprecated": "0.9"}, "Deprecated"),
    ],
)
def test_what_an_entry_cannot_say_is_refused(said, words):
    with pytest.raises((ValueError, TypeError), match=words):
        SelectorEntry(name="x", target="m:C", **said)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="release"):
        Deprecated(since="soon")


@pytest.mark.parametrize("alias", ["first", "second", "mine"])
def test_an_alias_that_is_somebodys_name_in_the_plugin_is_a_mistake(alias):
    @hookimpl
    def fsframe_selectors():
        yield SelectorEntry(name="first", target="m:A", aliases=["mine"])
        yield SelectorEntry(name="second", target="m:B", aliases=[alias])

    module = ModuleType("p")
    module.fsframe_selectors = fsframe_selectors
    source = PluginSource(name="p", distribution="p", version="1", target="p", load=lambda: module)
    (plugin,) = PluginManager([source], environ={}).plugins()
    assert plugin.status == "failed"
    assert "twice" in plugin.reason or "duplicate alias" in plugin.reason
