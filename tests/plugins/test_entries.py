"""What entries say of themselves: other names, what they need, that they will go."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsframe.registry.entries import Deprecated, SelectorEntry
from fsframe.registry.importing import missing, pip_command
from fsframe.registry.manager import PluginManager, PluginSource
from tests.command_line import Done
from tests.same_process import fsframe

TABLE = "a,b,c,class\n" + "".join(f"{i},{2 * i},{3 * i % 7},{i % 2}\n" for i in range(20))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("entries")
    (path / "t.csv").write_text(TABLE)
    return path


def run(folder: Path, *words: str) -> Done:
    return fsframe(*words, cwd=folder, fakes=["fake_renamed"])


def test_an_alias_is_found_and_the_record_has_the_name(folder: Path) -> None:
    done = run(
        folder, "chain", "broadest:top=3", "npfs:base=(broadest:top=2),n=4,null=published,alpha=.9",
        "on", "t.csv", "-q", "-o", "alias.h5",
    )  # fmt: skip
    assert done.code == 0, done.err
    shown = run(folder, "show", "alias.h5", "--json").json
    assert "broadest" not in str(shown["chain"]) and shown["chain"].count("widest:top=") == 2
    assert run(folder, "methods", "broadest").out.startswith("widest")
    asked = run(folder, "chain", "fake-renamed/broadest", "on", "t.csv", "--dry-run")
    assert asked.code == 0 and "widest" in asked.out and "broadest" not in asked.out


def test_an_alias_takes_no_bundled_name(folder: Path) -> None:
    done = run(folder, "chain", "mim:top=2", "on", "t.csv", "--dry-run")
    assert done.code == 0 and "mim:top=2" in done.out and "widest" not in done.out


def test_what_will_go_says_so_once(folder: Path) -> None:
    done = run(folder, "chain", "narrowest:top=2", "on", "t.csv", "-q")
    assert done.code == 0
    told = "`narrowest` is deprecated since 0.9 and will be removed; use `widest`"
    assert " ".join(done.err.split()).count(told) == 1
    assert told in run(folder, "methods", "narrowest").out


def test_what_is_missing_is_named_with_the_command_that_installs_it(folder: Path) -> None:
    done = run(folder, "chain", "lacking", "on", "t.csv")
    assert done.code == 3
    told = " ".join(done.err.split())
    assert "needs no-such-distribution, which is not installed" in told
    assert "pip install no-such-distribution 'fsframe[no-such-extra]'" in told


def test_extras_are_looked_up_by_what_they_bring() -> None:
    assert missing(["fsframe[no-such-extra]", "NumPy"]) == ()
    assert pip_command(["fsframe[dask]"]).endswith(" -m pip install 'fsframe[dask]'")


def test_extras_of_another_package_that_are_absent_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fsframe.registry import importing

    lines = ['thing>=1 ; extra == "fast"', "numpy", 'other; extra == "slow"']
    monkeypatch.setattr(importing.metadata, "requires", lambda name: lines)
    assert missing(["numpy[fast]"]) == ("thing",)


def test_a_failure_is_reported_once(folder: Path) -> None:
    done = run(folder, "chain", "widest:top=3", "npfs:null=published", "on", "t.csv", "-q")
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
def test_what_an_entry_cannot_say_is_refused(said: dict[str, str], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        SelectorEntry(name="x", target="m:C", **said)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="release"):
        Deprecated(since="soon")


@pytest.mark.parametrize("alias", ["first", "second", "mine"])
def test_an_alias_that_is_somebodys_name_in_the_plugin_is_a_mistake(alias: str) -> None:
    from types import ModuleType

    from fsframe.registry.hookspecs import hookimpl

    @hookimpl
    def fsframe_selectors():
        yield SelectorEntry(name="first", target="m:A", aliases=["mine"])
        yield SelectorEntry(name="second", target="m:B", aliases=[alias])

    module = ModuleType("p")
    module.fsframe_selectors = fsframe_selectors  # type: ignore[attr-defined]
    source = PluginSource(
        name="p", distribution="p", version="1", target="p",
        load=lambda: module,
    )  # fmt: skip
    (plugin,) = PluginManager([source], environ={}).plugins()
    assert plugin.status == "failed" and (
        "twice" in plugin.reason or "duplicate alias" in plugin.reason
    )
