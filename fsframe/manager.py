"""Loading plugins one at a time, so that one that is broken costs only itself.

Environment, read before anything of a plugin is imported:

``FSFRAME_PLUGINS``
    Comma-separated names of the only plugins to load.
``FSFRAME_BLOCK``
    Comma-separated names of plugins not to load.
``FSFRAME_STRICT``
    ``1``: the first plugin that cannot be loaded raises PluginError.
``FSFRAME_TRACE``
    ``1``: each step of loading is written to stderr.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from types import ModuleType
from typing import Any

import attrs
import pluggy

from fsframe import hookspecs
from fsframe.entries import ClassifierEntry, Entry, SelectorEntry, StabilityMetricEntry
from fsframe.errors import PluginError
from fsframe.suggest import did_you_mean

__all__ = ["HOOKS", "LoadedPlugin", "PluginManager", "PluginSource", "installed_plugins"]

HOOKS: Mapping[str, type[Entry]] = {
    "fsframe_selectors": SelectorEntry,
    "fsframe_classifiers": ClassifierEntry,
    "fsframe_stability_metrics": StabilityMetricEntry,
}


@attrs.frozen(kw_only=True)
class PluginSource:
    """A plugin that is installed, before it is loaded.

    `name` is unique: the entry point's name, or ``distribution.name`` where two distributions
    chose the same.
    """

    name: str
    distribution: str
    version: str
    target: str
    load: Callable[[], object] = attrs.field(eq=False, repr=False)


@attrs.frozen(kw_only=True)
class LoadedPlugin:
    """What became of a plugin.

    `status` is ``loaded``, ``blocked`` (by the environment) or ``failed``; `reason` says why it
    is not loaded. A failed plugin's `entries` are those that it had offered before it failed;
    nobody can use them, but asking for one repeats the reason. `detail` is the traceback, if any.
    """

    source: PluginSource
    status: str
    reason: str = ""
    detail: str = ""
    entries: tuple[Entry, ...] = ()

    @property
    def name(self) -> str:
        """The plugin's name, which is also the provider of its entries."""
        return self.source.name


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_plugins() -> tuple[PluginSource, ...]:
    """The plugins of the entry-point group ``fsframe``, by name; none of them is imported."""
    found: dict[tuple[str, str], metadata.EntryPoint] = {}
    for point in metadata.entry_points(group=hookspecs.PROJECT):
        owner = point.dist.name if point.dist is not None else "unknown"
        # The first of two copies of one distribution is the one that Python itself would import.
        found.setdefault((point.name, _normal(owner)), point)
    names = [name for name, _ in found]
    sources = []
    for (name, owner), point in sorted(found.items()):
        sources.append(
            PluginSource(
                name=name if names.count(name) == 1 else f"{owner}.{name}",
                distribution=point.dist.name if point.dist is not None else "unknown",
                version=point.dist.version if point.dist is not None else "unknown",
                target=point.value,
                load=point.load,
            )
        )
    return tuple(sources)


def _words(variable: str, environ: Mapping[str, str]) -> frozenset[str] | None:
    value = environ.get(variable)
    if value is None:
        return None
    return frozenset(word.strip() for word in value.split(",") if word.strip())


def _set(variable: str, environ: Mapping[str, str]) -> bool:
    return environ.get(variable, "").strip().lower() not in ("", "0", "no", "false")


class PluginManager:
    """Loads plugins one by one and keeps what became of each.

    Parameters
    ----------
    sources : iterable of PluginSource, optional
        What to load; the installed plugins by default.
    environ : mapping, optional
        Where the ``FSFRAME_…`` variables are read; `os.environ` by default.

    Raises
    ------
    PluginError
        Under ``FSFRAME_STRICT`` only, from `load`.
    """

    def __init__(
        self,
        sources: Iterable[PluginSource] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._sources = None if sources is None else tuple(sources)
        self._environ = os.environ if environ is None else environ
        self._pluggy = pluggy.PluginManager(hookspecs.PROJECT)
        self._pluggy.add_hookspecs(hookspecs)
        self._plugins: tuple[LoadedPlugin, ...] | None = None

    def plugins(self) -> tuple[LoadedPlugin, ...]:
        """Every plugin with its status, sorted by name; loads them on the first call."""
        if self._plugins is None:
            sources = installed_plugins() if self._sources is None else self._sources
            ordered = sorted(sources, key=lambda source: source.name)
            self._plugins = tuple(self._load(source) for source in ordered)
        return self._plugins

    def _load(self, source: PluginSource) -> LoadedPlugin:
        blocked = self._blocked(source)
        if blocked:
            self._trace(f"{source.name}: {blocked}")
            return LoadedPlugin(source=source, status="blocked", reason=blocked)
        offered: list[Entry] = []
        try:
            self._trace(f"{source.name}: importing {source.target}")
            plugin = source.load()
            self._check_hooks(plugin)
            self._pluggy.register(plugin, name=source.name)
            self._collect(plugin, offered)
        except KeyboardInterrupt:
            raise
        # The plugin boundary: whatever a stranger's module raises, even SystemExit, is kept as its
        # reason and stops nobody else.
        except BaseException as error:
            return self._failed(source, error, offered)
        self._trace(f"{source.name}: offers {', '.join(entry.name for entry in offered)}")
        return LoadedPlugin(source=source, status="loaded", entries=tuple(offered))

    def _failed(
        self, source: PluginSource, error: BaseException, offered: list[Entry]
    ) -> LoadedPlugin:
        if self._pluggy.has_plugin(source.name):
            self._pluggy.unregister(name=source.name)
        reason = str(error) if isinstance(error, PluginError) else _one_line(error)
        self._trace(f"{source.name}: failed: {reason}")
        if _set("FSFRAME_STRICT", self._environ):
            raise PluginError(
                f"plugin {source.name!r} ({source.distribution} {source.version}): {reason}. "
                "FSFRAME_STRICT is set; unset it to carry on without this plugin."
            ) from error
        detail = (
            "" if isinstance(error, PluginError) else "".join(traceback.format_exception(error))
        )
        return LoadedPlugin(
            source=source, status="failed", reason=reason, detail=detail, entries=tuple(offered)
        )

    def _blocked(self, source: PluginSource) -> str:
        names = {source.name, source.distribution}
        chosen = _words("FSFRAME_PLUGINS", self._environ)
        if chosen is not None and not names & chosen:
            return "not among FSFRAME_PLUGINS"
        if names & (_words("FSFRAME_BLOCK", self._environ) or frozenset()):
            return "blocked by FSFRAME_BLOCK"
        return ""

    def _check_hooks(self, plugin: object) -> None:
        """Raise PluginError on quiet mistakes: a hook's name misspelled, its marker forgotten."""
        for name, member in inspect.getmembers(plugin, callable):
            marked = hasattr(member, f"{hookspecs.PROJECT}_impl")
            if marked and name not in HOOKS:
                raise PluginError(f"{name!r} is not a hook{did_you_mean(name, HOOKS)}")
            own = getattr(member, "__module__", "") != hookspecs.__name__
            if (
                name.startswith("fsframe_")
                and own
                and not marked
                and not isinstance(member, ModuleType)
            ):
                raise PluginError(
                    f"{name!r} looks like a hook but lacks its marker; put @hookimpl "
                    "(from fsframe.hookspecs import hookimpl) above it"
                )

    def _collect(self, plugin: object, offered: list[Entry]) -> None:
        for hook, kind in HOOKS.items():
            implementation = getattr(plugin, hook, None)
            if implementation is None or not hasattr(implementation, f"{hookspecs.PROJECT}_impl"):
                continue
            for entry in implementation() or ():
                self._check_entry(hook, kind, entry, offered)
                offered.append(entry)
        if not offered:
            raise PluginError("it offers nothing; implement " + " or ".join(HOOKS))

    def _check_entry(self, hook: str, kind: type[Entry], entry: Any, offered: list[Entry]) -> None:
        if not isinstance(entry, kind):
            raise PluginError(f"{hook} yielded {entry!r}; it must yield {kind.__name__} objects")
        if entry.api > hookspecs.API_VERSION:
            raise PluginError(
                f"{entry.name!r} needs plugin API {entry.api}, this fsframe has "
                f"{hookspecs.API_VERSION}; upgrade fsframe or install an older plugin"
            )
        if any(type(other) is kind and other.name == entry.name for other in offered):
            raise PluginError(f"it offers the {kind.kind} {entry.name!r} twice")

    def _trace(self, message: str) -> None:
        if _set("FSFRAME_TRACE", self._environ):
            print(f"fsframe plugins: {message}", file=sys.stderr, flush=True)


def _one_line(error: BaseException) -> str:
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
