"""Manager and registry without installed distributions: sources are handed in."""

from __future__ import annotations

import importlib
import sys
import tempfile
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pluggy import HookimplMarker

from fsframe.errors import PluginError, PluginWarning, RequestError
from fsframe.registry import Registry, find_offer, preferring, registry
from fsframe.registry.entries import (
    ClassifierEntry,
    Entry,
    ReaderEntry,
    SelectorEntry,
    StabilityMetricEntry,
    entries_in,
)
from fsframe.registry.hookspecs import hookimpl
from fsframe.registry.manager import PluginManager, PluginSource

TARGET = "fsframe.testing.selectors:SelectorConformance"


def plugin(
    selectors: list[Any] | None = None,
    classifiers: list[Any] | None = None,
    metrics: list[Any] | None = None,
    **hooks: Any,
) -> types.ModuleType:
    """A plugin module that offers these entries, and has these hooks."""
    kinds = {"selectors": selectors, "classifiers": classifiers, "stability_metrics": metrics}
    for name, entries in kinds.items():
        if entries is not None:
            hooks[f"fsframe_{name}"] = hookimpl(lambda entries=entries: iter(entries))
    module = types.ModuleType("a_plugin")
    vars(module).update(hooks)
    return module


def source(
    name: str, load: Callable[[], object] | object, version: str = "1.0", **more: Any
) -> PluginSource:
    loads = callable(load) and not isinstance(load, types.ModuleType)
    given = {"distribution": f"dist-{name}", "version": version, "target": name, **more}
    return PluginSource(name=name, load=load if loads else lambda: load, **given)


def no_gpu() -> object:
    raise ImportError("no gpu")


def manager(*sources: PluginSource, environ: Mapping[str, str] | None = None) -> PluginManager:
    return PluginManager(sources, environ or {})


def registries(found: PluginManager) -> tuple[Registry, Registry, Registry]:
    kinds = (SelectorEntry, ClassifierEntry, StabilityMetricEntry)
    selectors, classifiers, metrics = (Registry(kind, lambda: found) for kind in kinds)
    return selectors, classifiers, metrics


def selector(name: str, **options: Any) -> SelectorEntry:
    return SelectorEntry(name=name, target=TARGET, **options)


def classifier(name: str) -> ClassifierEntry:
    return ClassifierEntry(name=name, target=TARGET)


def test_plugins_are_loaded_and_asked_once_in_the_order_of_their_names() -> None:
    done: list[str] = []

    def loader(name: str) -> Callable[[], object]:
        def entries() -> Any:
            done.append(f"asked {name}")
            return [selector(f"s-{name}")]

        return lambda: done.append(f"loaded {name}") or plugin(fsframe_selectors=hookimpl(entries))

    plugins = manager(*(source(name, loader(name)) for name in ("c", "a", "b")))
    assert done == []
    for _ in range(2):
        assert [p.name for p in plugins.plugins()] == ["a", "b", "c"]
    assert [word for word in done if "loaded" in word] == ["loaded a", "loaded b", "loaded c"]
    assert [word for word in done if "asked" in word] == ["asked a", "asked b", "asked c"]


def test_keyboard_interrupt_is_not_kept_as_a_reason() -> None:
    def load() -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        manager(source("slow", load)).plugins()


def test_a_failed_plugin_is_unregistered_and_keeps_its_traceback() -> None:
    def entries() -> Any:
        yield selector("early")
        raise ValueError("late")

    plugins = manager(source("x", plugin(fsframe_selectors=hookimpl(entries))))
    (row,) = plugins.plugins()
    assert (row.status, row.reason) == ("failed", "ValueError: late")
    assert [entry.name for entry in row.entries] == ["early"]
    assert "raise ValueError" in row.detail
    assert not plugins._pluggy.has_plugin("x")
    selectors, _, _ = registries(plugins)
    assert list(selectors) == []
    with pytest.raises(PluginError, match="'early' belongs to the plugin 'x', which is failed"):
        selectors.offer("early")


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({"name": "Upper"}, "not lower-case words joined by hyphens"),
        ({"name": "a_b"}, "not lower-case words"),
        ({"name": ""}, "not lower-case words"),
        ({"name": "on"}, "reserved"),
        ({"target": "module"}, "not of the form 'package.module:Class'"),
        ({"target": "a b:C"}, "not of the form"),
        ({"summary": "two\nlines"}, "summary must be one line"),
        ({"summary": None}, "summary must be one line"),
        ({"reference": "\x1b[31m"}, "reference must be one line"),
        ({"family": 3}, "family must be one line"),
        ({"gives": [1]}, "gives must be words"),
        ({"api": "1"}, "api must be a whole number"),
        ({"api": 0}, "api must be a whole number"),
    ],
)
def test_entries_refuse_what_lists_could_not_show(entry: dict[str, Any], complaint: str) -> None:
    sound = {"name": "a", "target": "m:C"}
    with pytest.raises(ValueError, match=complaint):
        SelectorEntry(**{**sound, **entry})


def test_summaries_look_alike_in_lists() -> None:
    assert selector("a", summary="what it does.").summary == "What it does"
    assert selector("a", summary="φ of runs").summary[1:] == " of runs"
    assert selector("a", gives="scores").gives == {"scores"}


def test_contested_name_lists_both_providers() -> None:
    plugins = manager(
        source("one", plugin([selector("x")])), source("two", plugin([selector("x")]), "2.0")
    )
    selectors, _, _ = registries(plugins)
    assert list(selectors) == ["dist-one/x", "dist-two/x"]
    assert "x" not in selectors
    with pytest.raises(PluginError) as caught:
        selectors.offer("x")
    assert str(caught.value) == (
        "the selector 'x' is offered by dist-one 1.0 and dist-two 2.0; use one of: dist-one/x or "
        "dist-two/x (FSFRAME_PREFER sets a default)"
    )
    assert selectors.offer("dist-two/x").version == "2.0"


def test_a_selector_and_a_classifier_of_one_name_are_a_contest_in_a_chain() -> None:
    plugins = manager(
        source("one", plugin([selector("x")])), source("two", plugin(None, [classifier("x")]))
    )
    selectors, classifiers, _ = registries(plugins)
    assert "x" in selectors and "x" in classifiers
    with pytest.raises(PluginError, match="the classifier or selector 'x' is offered by dist-one"):
        find_offer("x", selectors, classifiers)
    assert find_offer("dist-two/x", selectors, classifiers)[0] is classifiers


def test_one_plugin_may_not_use_a_name_for_two_stages_but_for_a_metric() -> None:
    both = plugin([selector("x")], [classifier("x")])
    (row,) = manager(source("one", both)).plugins()
    assert row.reason == "it offers the classifier and selector 'x' twice"
    metric = StabilityMetricEntry(name="x", target=TARGET)
    (row,) = manager(source("one", plugin([selector("x")], None, [metric]))).plugins()
    assert row.status == "loaded"


def test_entries_of_another_kind_are_refused_and_those_of_a_class_of_its_own_taken() -> None:
    class MyEntry(SelectorEntry):
        pass

    wrong = [plugin([classifier("x")]), plugin([Entry(name="x", target=TARGET)])]
    for module in wrong:
        (row,) = manager(source("one", module)).plugins()
        assert row.status == "failed" and "must yield SelectorEntry objects" in row.reason
    plugins = manager(source("one", plugin([MyEntry(name="x", target=TARGET)])))
    assert list(registries(plugins)[0]) == ["x"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("relief", r"no selector 'relief'. Did you mean `relieff`"),
        ("two/relieff", r"Did you mean `relieff`"),
        ("zzz", r"`fsframe methods` lists all"),
    ],
)
def test_unknown_names_are_answered_with_a_suggestion_or_the_list(name: str, words: str) -> None:
    selectors, _, _ = registries(manager(source("one", plugin([selector("relieff")]))))
    with pytest.raises(RequestError, match=words):
        selectors.offer(name)


def test_unknown_names_repeat_why_plugins_are_missing() -> None:
    selectors, _, _ = registries(manager(source("bad", no_gpu)))
    with pytest.raises(PluginError, match=r"may offer it \(bad, failed: ImportError: no gpu\)"):
        selectors.offer("zzz")
    with pytest.raises(PluginError, match="belongs to the plugin 'bad', which is failed"):
        selectors.offer("dist-bad/zzz")


def test_a_class_is_imported_once_and_checked() -> None:
    entries = [
        SelectorEntry(name="real", target="fsframe.resampling.resamples:WrappingSelector"),
        SelectorEntry(name="function", target="fsframe.method.selection:rank_by_score"),
        SelectorEntry(name="other", target="fsframe.method.stability_metric:StabilityMetric"),
    ]
    selectors, _, _ = registries(manager(source("one", plugin(entries))))
    assert selectors["real"] is selectors["dist-one/real"]
    for name in ("function", "other"):
        with pytest.raises(PluginError, match="is not a Selector"):
            selectors[name]


def test_a_registry_shows_what_it_holds() -> None:
    selectors, _, _ = registries(manager(source("one", plugin([selector("b"), selector("a")]))))
    assert repr(selectors) == "<selectors: a, b>"
    assert len(selectors) == 2
    assert 5 not in selectors


def test_strict_raises_the_first_failure_with_the_way_out() -> None:
    plugins = manager(source("bad", no_gpu), environ={"FSFRAME_STRICT": "1"})
    with pytest.raises(PluginError, match=r"'bad' \(dist-bad 1.0\): ImportError: no gpu.*unset it"):
        plugins.plugins()
    for off in ("", "0", "no", "false"):
        assert manager(source("bad", no_gpu), environ={"FSFRAME_STRICT": off}).plugins()


def test_environment_names_plugins_or_distributions_in_any_spelling() -> None:
    sources = [source(n, plugin([selector(n.lower())])) for n in ("a", "B")]
    for chosen in ("B", "b", "dist-B", "DIST_b"):
        rows = manager(*sources, environ={"FSFRAME_PLUGINS": chosen}).plugins()
        assert {row.name: row.status for row in rows} == {"a": "blocked", "B": "loaded"}
    remarks = manager(*sources, environ={"FSFRAME_BLOCK": "a, c"}).remarks()
    assert remarks == ("FSFRAME_BLOCK names 'c', which is not a plugin",)


def test_values_of_the_environment_that_have_no_effect_are_said() -> None:
    odd = manager(environ={"FSFRAME_IMPORT_TIMEOUT": "abc", "FSFRAME_PREFER": "a/b, bad,/x"})
    assert [remark.partition(" ")[0] for remark in odd.odd_values()] == [
        "FSFRAME_IMPORT_TIMEOUT='abc'",
        "FSFRAME_PREFER='bad'",
        "FSFRAME_PREFER='/x'",
    ]
    for seconds in ("", "0", "2.5"):
        fine = {"FSFRAME_IMPORT_TIMEOUT": seconds, "FSFRAME_PREFER": " a/b ,"}
        assert not list(manager(environ=fine).odd_values())


def test_every_name_of_a_blocked_bundled_plugin_has_its_owner() -> None:
    own = bundled("own", plugin([selector("mim", aliases=("info",))]))
    near = source("near", plugin([selector("bim")]))
    selectors, classifiers, _ = registries(manager(own, near, environ={"FSFRAME_BLOCK": "own"}))
    for name in ("mim", "info", "own/mim"):
        with pytest.raises(PluginError, match=r"the plugin 'own', which is blocked"):
            find_offer(name, selectors, classifiers)


def bundled(name: str, load: object) -> PluginSource:
    return source(name, load, "0.1", distribution="fsframe", bundled=True)


def test_a_bundled_selector_is_not_contested_by_a_strangers_classifier() -> None:
    plugins = manager(
        bundled("own", plugin([selector("x")])), source("thief", plugin(None, [classifier("x")]))
    )
    selectors, classifiers, _ = registries(plugins)
    registry._told.clear()
    with pytest.warns(PluginWarning):
        assert find_offer("x", selectors, classifiers)[1].provider == "own"


def test_what_a_record_says_comes_before_what_a_name_means_today() -> None:
    sources = [source(n, plugin([selector("x")])) for n in ("one", "two")]
    selectors, _, _ = registries(manager(*sources))
    with preferring({"x": "dist-two"}):
        assert selectors.offer("x").provider == "dist-two"
    with pytest.raises(PluginError, match="use one of"):
        selectors.offer("x")
    later = manager(bundled("own", plugin([selector("x")])), sources[0])
    with preferring({"x": "dist-one"}):
        assert registries(later)[0].offer("x").provider == "dist-one"
    # Of a provider that is gone nothing can be preferred.
    with preferring({"x": "dist-nine"}), pytest.raises(PluginError, match="use one of"):
        selectors.offer("x")


def test_people_can_settle_a_contest_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    selectors, _, _ = registries(manager(*(source(n, plugin([selector("x")])) for n in "ab")))
    monkeypatch.setenv("FSFRAME_PREFER", "dist-z/y, dist-b/x")
    assert selectors.offer("x").provider == "dist-b"


def test_two_plugins_of_one_distribution_share_its_name_and_repeat_no_method() -> None:
    offered = {"a": "x", "b": "y", "c": "x"}
    plugins = manager(
        *(
            source(name, plugin([selector(method)]), distribution="Two_Points")
            for name, method in offered.items()
        )
    )
    assert [row.status for row in plugins.plugins()] == ["loaded", "loaded", "failed"]
    assert plugins.plugins()[2].reason == "it offers the selector 'x' twice"
    selectors, _, _ = registries(plugins)
    assert [selectors.offer(f"two-points/{n}").provider for n in "xy"] == ["two-points"] * 2


def test_hooks_are_known_by_their_names_and_others_are_skipped_and_reported() -> None:
    def mark(of: Callable[[], Any], **options: Any) -> Any:
        return HookimplMarker("fsframe")(**options)(of)

    def never() -> Any:
        pytest.fail("called")

    module = plugin(
        fsframe_selectors=mark(lambda: [selector("x")], optionalhook=True),
        others=mark(lambda: [classifier("y")], specname="fsframe_classifiers"),
        fsframe_dialects=mark(lambda: never(), optionalhook=True),
        fsframe_oracles=mark(lambda: never()),
        fsframe_selectorz=mark(lambda: never(), optionalhook=True),
    )
    (row,) = manager(source("one", module)).plugins()
    assert row.status == "loaded" and [entry.name for entry in row.entries] == ["x", "y"]
    unknown = "is not known to this fsframe and is not called"
    assert row.notes == (
        f"the hook 'fsframe_dialects' {unknown}",
        f"the hook 'fsframe_oracles' {unknown}",
        f"the hook 'fsframe_selectorz' {unknown}. Did you mean `fsframe_selectors`?",
    )


@pytest.mark.parametrize(
    "package",
    ["fsframe", "fsframe.execution", "fsframe.show.plots", "fsframe.sklearn", "fsframe.storage",
     "fsframe.testing"],
)  # fmt: skip
def test_every_name_that_a_package_offers_is_there(package: str) -> None:
    module = importlib.import_module(package)
    offered = set(getattr(module, "__all__", ())) | set(getattr(module, "_HOMES", ()))
    assert offered
    for name in offered:
        # Names are imported when they are first used, so a home that moved shows only here.
        assert getattr(module, name) is not None


DECLARED = f"""
[[fsframe_selectors]]
name = "one"
target = "{TARGET}"
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes and loads a plugin that is a package, with a file of entries; all have one name."""

    def loaded(toml: str, code: str = "") -> PluginManager:
        monkeypatch.delitem(sys.modules, "declaring", raising=False)
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        (folder / "declaring").mkdir()
        (folder / "declaring/__init__.py").write_text(code)
        (folder / "declaring/entries.toml").write_text(toml)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder)
            module = importlib.import_module("declaring")
        return manager(source("p", module))

    return loaded


def test_a_package_needs_no_hook_for_what_its_file_declares(package):
    (found,) = package(DECLARED).plugins()
    assert [entry.name for entry in found.entries] == ["one"]
    # A hook that reads the file itself is not asked twice, and another comes besides.
    code = (
        "from fsframe.registry.entries import SelectorEntry, StabilityMetricEntry\n"
        "from fsframe.registry.hookspecs import hookimpl\n"
        "@hookimpl\ndef {}():\n    return [{}(name='two', target='" + TARGET + "')]"
    )
    for hook, kind, names in (
        ("fsframe_selectors", "SelectorEntry", ["two"]),
        ("fsframe_stability_metrics", "StabilityMetricEntry", ["two", "one"]),
    ):
        (found,) = package(DECLARED, code.format(hook, kind)).plugins()
        assert [entry.name for entry in found.entries] == names, hook


@pytest.mark.parametrize(
    ("toml", "status", "said"),
    [
        ("[[fsframe_selector]]", "failed", "'fsframe_selector' is not a hook. Did you mean"),
        ("[[fsframe_dialects]]", "loaded", "'fsframe_dialects' is not known to this fsframe"),
        ("top = 3\n[[", "failed", "TOMLDecodeError"),
        ("[[fsframe_readers]]\nwidth = 3", "failed", "TypeError"),
        ("[fsframe_readers]\nname = 'a'", "failed", "write [[fsframe_readers]], since each"),
    ],
)
def test_wrong_sections_are_reported_as_wrong_hooks_are(package, toml, status, said):
    (found,) = package(DECLARED + toml).plugins()
    assert found.status == status
    assert said in "".join((found.reason, *found.notes))


def test_a_file_beside_a_module_outside_packages_is_not_its_own(tmp_path, monkeypatch):
    (tmp_path / "entries.toml").write_text(DECLARED)
    (tmp_path / "lone_plugin.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    (found,) = manager(source("p", importlib.import_module("lone_plugin"))).plugins()
    assert "it offers nothing" in found.reason


def test_entries_in_a_file_share_defaults_and_give_first_bytes_as_text(tmp_path):
    file = tmp_path / "entries.toml"
    file.write_text(
        '[defaults.fsframe_selectors]\nfamily = "mine"\n'
        '[[fsframe_selectors]]\nname = "one"\ntarget = "a:One"\n'
        '[[fsframe_selectors]]\nname = "two"\ntarget = "a:Two"\nfamily = "other"\n'
        '[[fsframe_readers]]\nname = "npy"\ntarget = "a:Npy"\nstarts = ["\\u0093NUMPY"]\n'
    )
    assert [entry.family for entry in entries_in(file, SelectorEntry)] == ["mine", "other"]
    (reader,) = entries_in(file, ReaderEntry)
    assert reader.starts == (b"\x93NUMPY",)
