"""A registry with methods that exist for these tests only."""

from __future__ import annotations

import sys
import types
from typing import ClassVar

import attrs
import numpy as np
import pytest

from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.registry import registry
from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl
from fsframe.registry.manager import PluginManager, PluginSource, installed_plugins


@attrs.frozen(kw_only=True)
class Witness(Selector):
    """Writes down the rows it is shown, recognised by their first value, and keeps all columns."""

    seen: ClassVar[list] = []

    def _select(self, data, upstream, run):
        self.seen.append((data.feature_names, data.X[:, 0].copy(), data.y.copy()))
        p = data.n_features
        return Selection(selected=np.arange(p), scores=np.zeros(p))


@attrs.frozen(kw_only=True)
class Nothing(Selector):
    """Keeps no column at all."""

    takes_counts: ClassVar[bool] = True

    def _select(self, data, upstream, run):
        return Selection(selected=[], scores=np.zeros(data.n_features), warnings=("nothing",))


class _Plugin:
    @hookimpl
    def fsframe_selectors(self):
        for name in ("witness", "nothing"):
            yield SelectorEntry(name=name, target=f"methods_of_these_tests:{name.title()}")


@pytest.fixture
def test_methods(monkeypatch):
    """The registry with `witness` and `nothing` in it; the classes by name."""
    module = types.ModuleType("methods_of_these_tests")
    Witness.seen.clear()
    for one in (Witness, Nothing):
        setattr(module, one.__name__, one)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    ours = PluginSource(
        name="for-tests", distribution="for-tests", version="0", target="-", load=_Plugin
    )
    manager = PluginManager([*installed_plugins(), ours])
    monkeypatch.setattr(registry, "_manager", manager)
    return module


@pytest.fixture
def no_work(monkeypatch):
    """Fails the test if anything is fitted or selected."""
    for module in ("cross_validation", "stability_study"):
        monkeypatch.setattr(
            f"fsframe.evaluation.{module}.select_resamples", lambda *_, **__: pytest.fail("begun")
        )
