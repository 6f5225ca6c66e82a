"""Manager and registry without installed distributions: sources are handed in."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fsframe.entries import ClassifierEntry, Entry, SelectorEntry, StabilityMetricEntry
from fsframe.errors import PluginError, RequestError
from fsframe.hookspecs import hookimpl
from fsframe.manager import PluginManager, PluginSource
from fsframe.registry import Registry, find_offer

TARGET = "fsframe.testing.selectors:SelectorConformance"


def plugin(
    selectors: list[Any] | None = None,
    classifiers: list[Any] | None = None,
    metrics: list[Any] | None = None,
) -> types.ModuleType:
    """A plugin module that offers these entries."""
    module = types.ModuleType("a_plugin")
    for name, entries in (
        ("fsframe_selectors", selectors),
        ("fsframe_classifiers", classifiers),
        ("fsframe_stability_metrics", metrics),
    ):
        if entries is not None:
            hook = hookimpl(lambda entries=entries: iter(entries))
            setattr(module, name, hook)
    return module


def source(name: str, load: Callable[[], object] | object, version: str = "1.0") -> PluginSource:
    return PluginSource(
        name=name,
        distribution=f"dist-{name}",
        version=version,
        target=name,
        load=load if callable(load) and not isinstance(load, types.ModuleType) else lambda: load,
    )


def manager(*sources: PluginSource, environ: Mapping[str, str] | None = None) -> PluginManager:
    return PluginManager(sources, environ or {})


def registries(found: PluginManager) -> tuple[Registry, Registry, Registry]:
    return (
        Registry(SelectorEntry, "fsframe.selector:Selector", lambda: found),
        Registry(ClassifierEntry, "fsframe.classifier:Classifier", lambda: found),
        Registry(StabilityMetricEntry, "fsframe.stability:StabilityMetric", lambda: found),
    )


def selector(name: str, **options: Any) -> SelectorEntry:
    return SelectorEntry(name=name, target=TARGET, **options)


def classifier(name: str) -> ClassifierEntry:
    return ClassifierEntry(name=name, target=TARGET)


def test_plugins_are_loaded_once_in_the_order_of_their_names() -> None:
    loaded: list[str] = []

    def loader(name: str) -> Callable[[], object]:
        def load() -> object:
            loaded.append(name)
            return plugin([selector(f"s-{name}")])

        return load

    found = manager(*(source(name, loader(name)) for name in ("c", "a", "b")))
    assert loaded == []
    assert [p.name for p in found.plugins()] == ["a", "b", "c"]
    found.plugins()
    assert loaded == ["a", "b", "c"]


def test_keyboard_interrupt_is_not_kept_as_a_reason() -> None:
    def load() -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        manager(source("slow", load)).plugins()


def test_a_failed_plugin_is_unregistered_and_keeps_its_traceback() -> None:
    def entries() -> Any:
        yield selector("early")
        raise ValueError("late")

    module = types.ModuleType("a_plugin")
    module.fsframe_selectors = hookimpl(entries)  # type: ignore[attr-defined]
    found = manager(source("x", module))
    (row,) = found.plugins()
    assert (row.status, row.reason) == ("failed", "ValueError: late")
    assert [entry.name for entry in row.entries] == ["early"]
    assert "raise ValueError" in row.detail
    assert not found._pluggy.has_plugin("x")
    selectors, _, _ = registries(found)
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
    found = manager(
        source("one", plugin([selector("x")])), source("two", plugin([selector("x")]), "2.0")
    )
    selectors, _, _ = registries(found)
    assert list(selectors) == ["one/x", "two/x"]
    assert "x" not in selectors
    with pytest.raises(PluginError) as caught:
        selectors.offer("x")
    assert str(caught.value) == (
        "the selector 'x' is offered by one (dist-one 1.0) and two (dist-two 2.0); "
        "say which: one/x or two/x"
    )
    assert selectors.offer("two/x").version == "2.0"


def test_a_selector_and_a_classifier_of_one_name_are_a_contest_in_a_chain() -> None:
    found = manager(
        source("one", plugin([selector("x")])), source("two", plugin(None, [classifier("x")]))
    )
    selectors, classifiers, _ = registries(found)
    assert "x" in selectors and "x" in classifiers
    with pytest.raises(PluginError, match="the classifier or selector 'x' is offered by one"):
        find_offer("x", selectors, classifiers)
    assert find_offer("two/x", selectors, classifiers)[0] is classifiers


def test_one_plugin_may_not_use_a_name_for_two_stages_but_for_a_metric() -> None:
    both = plugin([selector("x")], [classifier("x")])
    (row,) = manager(source("one", both)).plugins()
    assert row.reason == "it offers the classifier and selector 'x' twice"
    metric = StabilityMetricEntry(name="x", target=TARGET)
    (row,) = manager(source("one", plugin([selector("x")], None, [metric]))).plugins()
    assert row.status == "loaded"


def test_an_entry_of_a_class_of_its_own_is_an_entry() -> None:
    class MyEntry(SelectorEntry):
        pass

    found = manager(source("one", plugin([MyEntry(name="x", target=TARGET)])))
    assert list(registries(found)[0]) == ["x"]


def test_entries_of_another_kind_are_refused() -> None:
    (row,) = manager(source("one", plugin([classifier("x")]))).plugins()
    assert "must yield SelectorEntry objects" in row.reason
    (row,) = manager(source("one", plugin([Entry(name="x", target=TARGET)]))).plugins()
    assert row.status == "failed"


def test_unknown_names_are_answered_with_a_suggestion_or_the_list() -> None:
    selectors, _, _ = registries(manager(source("one", plugin([selector("relieff")]))))
    with pytest.raises(RequestError, match=r"no selector 'relief'. Did you mean `relieff`"):
        selectors.offer("relief")
    with pytest.raises(RequestError, match=r"Did you mean `relieff`"):
        selectors.offer("two/relieff")
    with pytest.raises(RequestError, match=r"`fsframe methods` lists what there is"):
        selectors.offer("zzz")


def test_unknown_names_repeat_why_plugins_are_missing() -> None:
    def load() -> object:
        raise ImportError("no gpu")

    selectors, _, _ = registries(manager(source("bad", load)))
    with pytest.raises(PluginError, match=r"may offer it \(bad, failed: ImportError: no gpu\)"):
        selectors.offer("zzz")
    with pytest.raises(PluginError, match="belongs to the plugin 'bad', which is failed"):
        selectors.offer("bad/zzz")


def test_a_class_is_imported_once_and_checked() -> None:
    entries = [
        SelectorEntry(name="real", target="fsframe.wrapping:WrappingSelector"),
        SelectorEntry(name="function", target="fsframe.selection:rank_by_score"),
        SelectorEntry(name="other", target="fsframe.stability:StabilityMetric"),
    ]
    selectors, _, _ = registries(manager(source("one", plugin(entries))))
    assert selectors["real"] is selectors["one/real"]
    for name in ("function", "other"):
        with pytest.raises(PluginError, match="is not a Selector"):
            selectors[name]


def test_a_registry_shows_what_it_holds() -> None:
    selectors, _, _ = registries(manager(source("one", plugin([selector("b"), selector("a")]))))
    assert repr(selectors) == "<selectors: a, b>"
    assert len(selectors) == 2
    assert 5 not in selectors


def test_strict_raises_the_first_failure_with_the_way_out() -> None:
    def load() -> object:
        raise ImportError("no gpu")

    found = manager(source("bad", load), environ={"FSFRAME_STRICT": "1"})
    with pytest.raises(PluginError, match=r"'bad' \(dist-bad 1.0\): ImportError: no gpu.*unset it"):
        found.plugins()
    for off in ("", "0", "no", "false"):
        assert manager(source("bad", load), environ={"FSFRAME_STRICT": off}).plugins()


def test_environment_names_plugins_or_distributions_in_any_spelling() -> None:
    sources = [source(n, plugin([selector(n.lower())])) for n in ("a", "B")]
    for chosen in ("B", "b", "dist-B", "DIST_b"):
        rows = manager(*sources, environ={"FSFRAME_PLUGINS": chosen}).plugins()
        assert {row.name: row.status for row in rows} == {"a": "blocked", "B": "loaded"}
    remarks = manager(*sources, environ={"FSFRAME_BLOCK": "a, c"}).remarks()
    assert remarks == ("FSFRAME_BLOCK names 'c', which is no plugin",)
