"""Registries of classes by name, imported on lookup, and the context in which their code runs."""

from __future__ import annotations

import contextlib
import os
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from importlib import import_module
from typing import Any

import attrs

from fsframe.errors import (
    DataError,
    FsframeError,
    PluginError,
    PluginWarning,
    RequestError,
    one_line,
)
from fsframe.registry import entries
from fsframe.registry.entries import CommandEntry, Entry
from fsframe.registry.manager import (
    THIS_PROCESS,
    LoadedPlugin,
    PluginManager,
    guarded_import,
    interrupted,
    missing,
    needed,
)
from fsframe.system import in_worker
from fsframe.text import did_you_mean

__all__ = [
    "Offer",
    "OwnAndPlugins",
    "Registry",
    "classifiers",
    "commands",
    "default_manager",
    "default_names",
    "engines",
    "find_offer",
    "in_stage",
    "measures",
    "nulls",
    "observers",
    "plots",
    "preferring",
    "proposals",
    "readers",
    "real_name",
    "regressors",
    "report_sections",
    "selectors",
    "stability_metrics",
    "stage_words",
    "writers",
]


@attrs.frozen(kw_only=True)
class Offer:
    """An entry together with its provider.

    `name` identifies it uniquely: the entry's name, or ``provider/name`` if a bundled method or
    several plugins have that name.
    """

    name: str
    entry: Entry
    plugin: LoadedPlugin

    @property
    def provider(self) -> str:
        """Its provider: a bundled plugin, or a third-party distribution."""
        return self.plugin.provider

    @property
    def version(self) -> str:
        """The version of the distribution that the plugin came with."""
        return self.plugin.source.version


class Registry(Mapping[str, Any]):
    """A mapping from names to classes of one kind, such as `fsframe.selectors`.

    ``registry[name]`` is the class, ``registry.offer(name)`` gives its provider. Iteration gives
    the names in alphabetical order, ``provider/name`` where contested, and imports nothing.

    Parameters
    ----------
    kind : type[Entry]
        The entry class of this registry.
    manager : callable, optional
        Returns the PluginManager; called on first use. By default that of the program.

    Raises
    ------
    RequestError
        On lookup of an unknown name.
    PluginError
        On lookup of a contested name, of one whose plugin is blocked or has failed, or whose class
        cannot be imported.

    Examples
    --------
    >>> import fsframe
    >>> "immigrate" in fsframe.selectors
    True
    >>> fsframe.selectors.offer("immigrate").provider
    'margin'
    """

    def __init__(
        self, kind: type[Entry], manager: Callable[[], PluginManager] | None = None
    ) -> None:
        self.entries = kind
        self._manager = manager or default_manager
        self._classes: dict[str, Any] = {}
        self._offered: tuple[tuple[LoadedPlugin, ...], tuple[Offer, ...]] = ((), ())

    # Equal only to itself: the comparison of mappings would import every class of both.
    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    @property
    def kind(self) -> str:
        """The kind of its objects in words, such as ``"selector"``."""
        return self.entries.kind

    def offers(self) -> tuple[Offer, ...]:
        """The offers of usable plugins, sorted by name, without importing them."""
        plugins = self.usable()
        # Every look-up of a name comes here; a class may be registered in between.
        if plugins != self._offered[0]:
            self._offered = plugins, self._offers_of(plugins)
        return self._offered[1]

    def _offers_of(self, plugins: tuple[LoadedPlugin, ...]) -> tuple[Offer, ...]:
        usable: list[tuple[Entry, LoadedPlugin]] = [
            (entry, plugin)
            for plugin in plugins
            for entry in plugin.entries
            if isinstance(entry, self.entries)
        ]
        names = [entry.name for entry, _ in usable]
        offers = []
        for entry, plugin in usable:
            plain = plugin.source.bundled or names.count(entry.name) == 1
            name = entry.name if plain else f"{plugin.provider}/{entry.name}"
            offers.append(Offer(name=name, entry=entry, plugin=plugin))
        return tuple(sorted(offers, key=lambda offer: offer.name))

    def matching(self, name: str) -> tuple[Offer, ...]:
        """The offers of a name or alias: one, several if contested, or none."""
        provider, slash, plain = name.rpartition("/")
        return tuple(
            offer
            for offer in self.offers()
            if plain in (offer.entry.name, *offer.entry.aliases)
            and (not slash or provider in (offer.provider, offer.entry.former_provider))
        )

    def offer(self, name: str) -> Offer:
        """The offer of `name`; ``provider/name`` chooses between several.

        Raises
        ------
        RequestError, PluginError
            As for the class.
        """
        return find_offer(name, self)[1]

    def unusable_offer(self, name: str) -> PluginError | None:
        """The error if a plugin that is not loaded offers, or may offer, `name`; else None."""
        provider, slash, plain = name.rpartition("/")
        for plugin in self._manager().plugins():
            if plugin.status == "loaded" or (slash and plugin.provider != provider):
                continue
            declared = plugin.entries
            if plugin.status == "blocked" and plugin.source.bundled:
                # Its list of entries is part of fsframe: read only to name the owner.
                (loaded,) = PluginManager([plugin.source], {}).plugins()
                declared = loaded.entries
            offers_it = any(
                isinstance(e, self.entries) and plain in (e.name, *e.aliases) for e in declared
            )
            if offers_it or plugin.provider == provider:
                return PluginError(
                    f"the {self.kind} {plain!r} belongs to the plugin {plugin.name!r}, "
                    f"which is {plugin.status}: {plugin.reason}. `fsframe plugins` shows all"
                )
        return None

    def usable(self) -> tuple[LoadedPlugin, ...]:
        """The plugins that are loaded."""
        return tuple(p for p in self._manager().plugins() if p.status == "loaded")

    def unusable(self) -> tuple[LoadedPlugin, ...]:
        """The plugins that are blocked or have failed."""
        return tuple(p for p in self._manager().plugins() if p.status != "loaded")

    def __getitem__(self, name: str) -> Any:
        offer = self.offer(name)
        if offer.entry.deprecated is not None:
            _warn_once(offer.entry.deprecated.words(offer.name))
        if offer.plugin.registered is not None:
            return offer.plugin.registered
        key = f"{offer.plugin.name}/{offer.entry.name}"
        if key not in self._classes:
            self._classes[key] = self._import(offer)
        return self._classes[key]

    def _import(self, offer: Offer) -> Any:
        where = f"{self.kind} {offer.name!r} of plugin {offer.provider!r}"
        module_name, _, class_name = offer.entry.target.partition(":")
        base_module, _, base_name = self.entries.base.partition(":")
        if missing(offer.entry.requires):
            raise PluginError(needed(f"the {where}", *offer.entry.requires))
        base = getattr(import_module(base_module), base_name)
        try:
            # With a longer limit, since the module may import large libraries.
            with guarded_import(share=4.0):
                loaded = getattr(import_module(module_name), class_name)
        except (KeyboardInterrupt, MemoryError):
            # Neither is the plugin's fault.
            raise
        # The plugin boundary.
        except BaseException as error:
            reason = str(error) if isinstance(error, PluginError) else one_line(error)
            failure = PluginError(
                f"the {where} {offer.version} cannot be imported from {offer.entry.target}: "
                f"{reason}"
            )
            failure.detail = "".join(traceback.format_exception(error))
            raise failure from error
        if self.entries is CommandEntry:
            fits = isinstance(loaded, base)
        else:
            fits = isinstance(loaded, type) and issubclass(loaded, base)
        if not fits:
            raise PluginError(f"the {where}: {offer.entry.target} is not a {base_name}")
        return loaded

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self.offer(name)
        except (PluginError, RequestError):
            return False
        return True

    def get(self, name: str, default: Any = None) -> Any:
        """The class of that name, or `default` if no usable plugin offers it."""
        return self[name] if name in self else default  # noqa: SIM401 - this is `get`

    def __iter__(self) -> Iterator[str]:
        return (offer.name for offer in self.offers())

    def __len__(self) -> int:
        return len(self.offers())

    def __repr__(self) -> str:
        return f"<{self.kind}s: {', '.join(self)}>"


class OwnAndPlugins:
    """Objects of fsframe itself, such as its commands, together with those that plugins offer.

    A plugin's object is ``provider/name`` if fsframe or another plugin has one of the same name.

    Parameters
    ----------
    own : mapping of str to (str, str)
        Name → the object as ``module:attribute``, imported on lookup, and a line for lists.
    registry : Registry
        Offers of plugins.
    """

    def __init__(self, own: Mapping[str, tuple[str, str]], registry: Registry) -> None:
        self.own, self._registry = own, registry

    def listed(self) -> dict[str, str]:
        """Name of each object → its line for lists; the lines of plugins name the provider."""
        offers: tuple[Offer, ...] = ()
        # Help must work even if FSFRAME_STRICT raises on a broken plugin.
        with contextlib.suppress(PluginError):
            offers = self._registry.offers()
        lines = {name: line for name, (_, line) in self.own.items()}
        for offer in offers:
            name = f"{offer.provider}/{offer.name}" if offer.name in self.own else offer.name
            lines[name] = f"{offer.entry.summary}. [{offer.provider}]"
        return dict(sorted(lines.items()))

    def get(self, name: str) -> Any:
        """Import and return the object called `name`; None if there is none.

        Raises
        ------
        PluginError
            If several plugins offer it, or a blocked or broken one does.
        """
        if name in self.own:
            module, _, attribute = self.own[name][0].partition(":")
            return getattr(import_module(module), attribute)
        if self._registry.matching(name):
            return self._registry[name]
        error = self._registry.unusable_offer(name)
        if error is not None:
            raise error
        return None

    def unknown(self, name: str) -> RequestError:
        """The error for an unknown name, listing the known ones."""
        known = self.listed()
        hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        return RequestError(f"there is no {self._registry.kind} {name!r}{hint}")


def find_offer(name: str, *registries: Registry) -> tuple[Registry, Offer]:
    """The offer of `name`, and its registry.

    Raises
    ------
    RequestError
        If no plugin offers it.
    PluginError
        If several plugins offer it, or a blocked or failed one does or may.
    """
    if not isinstance(name, str):
        kind = registries[0].kind
        raise RequestError(f"the name of a {kind} is text, not {type(name).__name__}")
    matches = [(registry, offer) for registry in registries for offer in registry.matching(name)]
    if len(matches) > 1 and "/" not in name:
        matches = _preferred_offers(name, matches)
    if len(matches) == 1:
        return matches[0]
    plain = name.rpartition("/")[2]
    # Names take precedence over aliases.
    named = [each for each in matches if each[1].entry.name == plain]
    if len(named) == 1:
        return named[0]
    if matches:
        raise _contested(plain, [offer for _, offer in matches])
    for registry in registries:
        error = registry.unusable_offer(name)
        if error is not None:
            raise error
    if _recorded.get().get(name) == THIS_PROCESS or f"{THIS_PROCESS}/{name}" in _preferred():
        raise PluginError(
            f"{name!r} was a class of the program that made this run (@fsframe.register), not of "
            "an installed plugin: continue from a program that registers it, or publish it as a "
            "plugin (docs/own-method.md)"
        )
    kinds = " or ".join(registry.kind for registry in registries[-2:])
    kinds = ", ".join([*(registry.kind for registry in registries[:-2]), kinds])
    known = [known for registry in registries for known in registry]
    hint = (
        _stage_meant(plain, registries)
        or _of_another_kind(plain, registries)
        or did_you_mean(name, known)
        or (did_you_mean(plain, known) if plain != name else "")
    )
    unusable = {plugin.name: plugin for registry in registries for plugin in registry.unusable()}
    if unusable and not hint:
        reasons = "; ".join(f"{p.name}, {p.status}: {p.reason}" for p in unusable.values())
        raise PluginError(
            f"no usable plugin offers the {kinds} {name!r}, but some plugins are not loaded and "
            f"may offer it ({reasons})"
        )
    if not hint and any(issubclass(r.entries, _IN_LISTS) for r in registries):
        hint = ". `fsframe methods` lists all"
    hint = hint or (f"; there are {', '.join(known)}" if known else "; none is installed")
    raise RequestError(f"there is no {kinds} {name!r}{hint}")


_IN_LISTS = (
    entries.SelectorEntry,
    entries.ClassifierEntry,
    entries.StabilityMetricEntry,
    entries.MeasureEntry,
)
"""Kinds that `fsframe methods` lists."""


def _of_another_kind(name: str, registries: Sequence[Registry]) -> str:
    """A hint at the objects of that name of kinds other than those of `registries`; else empty."""
    wanted = tuple(registry.entries for registry in registries)
    found = [
        f"the {entry.kind} of {plugin.provider} ({entry.summary})"
        for plugin in registries[0].usable()
        for entry in plugin.entries
        if name in (entry.name, *entry.aliases) and not isinstance(entry, wanted)
    ]
    return f". It is {' and '.join(found)}" if found else ""


def _stage_meant(name: str, registries: Sequence[Registry]) -> str:
    """A hint at the stages for a term of the literature (`Entry.known_as`); else empty."""
    stages = {
        f"`{stage}`": f" (a {registry.kind})"
        for registry in registries
        for offer in registry.offers()
        for word, stage in offer.entry.known_as.items()
        if _letters(word) == _letters(name)
    }
    several = len(stages) > 1
    return ". Use " * bool(stages) + " or ".join(s + k * several for s, k in stages.items())


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def real_name(name: str, *registries: Registry) -> str:
    """The name that an alias stands for, with its provider if necessary.

    Other names, also unknown and contested ones, are returned unchanged.

    >>> real_name("mim", selectors)
    'mim'
    """
    if default_manager().loading:
        return name
    provider, _, plain = name.rpartition("/")
    # Aliases are rare; names need no further lookup.
    matches = [offer for registry in registries for offer in registry.matching(name)]
    if all(offer.entry.name == plain for offer in matches):
        return name
    try:
        offer = find_offer(name, *registries)[1]
    except (PluginError, RequestError):
        return name
    if offer.entry.name == plain:
        return name
    return f"{provider}/{offer.entry.name}" if provider else offer.name


_Found = list[tuple[Registry, Offer]]


def _preferred_offers(name: str, matches: _Found) -> _Found:
    """Choose among offers of a plain name: that of a record, else the bundled, else the preferred.

    If another plugin offers the name of a bundled method too, there is a warning, once.
    """
    provider = _recorded.get().get(name)
    of_record = [each for each in matches if each[1].provider == provider]
    if of_record:
        return of_record
    bundled = [each for each in matches if each[1].plugin.source.bundled]
    if bundled:
        others = sorted(offer.provider for _, offer in matches if not offer.plugin.source.bundled)
        if others:
            _warn_once(
                f"{name!r} is the bundled {bundled[0][1].entry.kind}; that of {others[0]} is "
                f"`{others[0]}/{name}`"
            )
        return bundled
    wanted = _preferred()
    chosen = [each for each in matches if f"{each[1].provider}/{name}" in wanted]
    return chosen or matches


def _preferred() -> set[str]:
    return {word.strip() for word in os.environ.get("FSFRAME_PREFER", "").split(",")}


_recorded: ContextVar[Mapping[str, str]] = ContextVar("recorded", default={})  # noqa: B039


@contextlib.contextmanager
def preferring(providers: Mapping[str, str]) -> Iterator[None]:
    """Context in which plain names refer to these providers, as when a run was recorded.

    Parameters
    ----------
    providers : mapping of str to str
        Names of methods → providers. Other names are looked up as usual.
    """
    token = _recorded.set(dict(providers))
    try:
        yield
    finally:
        _recorded.reset(token)


_told: set[str] = set()


def _warn_once(text: str) -> None:
    # Workers look up the same names; the main process has already warned.
    if text not in _told and not in_worker():
        _told.add(text)
        warnings.warn(text, PluginWarning, stacklevel=4)


def _contested(name: str, offers: Sequence[Offer]) -> PluginError:
    kinds = " or ".join(sorted({offer.entry.kind for offer in offers}))
    ways = " or ".join(sorted(f"{offer.provider}/{name}" for offer in offers))
    owners = " and ".join(sorted(f"{o.provider} {o.version}" for o in offers))
    return PluginError(
        f"the {kinds} {name!r} is offered by {owners}; use one of: {ways} (FSFRAME_PREFER sets a "
        "default)"
    )


_manager: PluginManager | None = None


def default_manager() -> PluginManager:
    """The program's plugin manager; the installed plugins are loaded on first use."""
    global _manager
    if _manager is None:
        _manager = PluginManager()
        for remark in _manager.odd_values():
            _warn_once(remark)
    return _manager


def default_names(registry: Registry) -> tuple[str, ...]:
    """The names of the bundled objects that their entries declare as defaults, in declared order.

    Examples
    --------
    >>> default_names(classifiers), default_names(selectors)
    (('weighted-knn',), ())
    """
    declared = [
        (int(getattr(offer.entry, "default", 0)), offer.name)
        for offer in registry.offers()
        if offer.plugin.source.bundled
    ]
    return tuple(name for place, name in sorted(declared) if place)


selectors = Registry(entries.SelectorEntry)
classifiers = Registry(entries.ClassifierEntry)
"""Methods that may end a chain: classifiers and regressors."""
regressors = Registry(entries.RegressorEntry)
stability_metrics = Registry(entries.StabilityMetricEntry)
readers = Registry(entries.ReaderEntry)
commands = Registry(CommandEntry)
measures = Registry(entries.MeasureEntry)
observers = Registry(entries.ObserverEntry)
engines = Registry(entries.EngineEntry)
nulls = Registry(entries.NullEntry)
report_sections = Registry(entries.ReportSectionEntry)
writers = Registry(entries.WriterEntry)
plots = Registry(entries.PlotEntry)
"""Kinds of plots that plugins add to those of `fsframe.show.plots.KINDS`."""
proposals = Registry(entries.ProposalEntry)


# Longest message of a data error: a package may put a whole table into it.
_LONGEST = 300


@contextlib.contextmanager
def in_stage(method: type, name: str, part: str = "stage") -> Iterator[None]:
    """Context for running the code of a plugin author.

    Parameters
    ----------
    method : type
        The class of the stage.
    name : str
        Its name for messages, if no plugin offers the class.
    part : str
        Kind of object, if it is not a stage, such as ``"writer"``.

    Raises
    ------
    PluginError
        For any exception other than fsframe's own, even SystemExit; with the traceback as its
        `detail`.
    DataError
        For exceptions that the class declares in `data_errors`.
    KeyboardInterrupt
        If it was interrupted, even if the stage raised something else.
    MemoryError
        Unchanged: the command line says what to do.
    """
    try:
        yield
    except (FsframeError, MemoryError, GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        # Exceptions of a listener only pass through here (see `Run.progress`).
        if getattr(error, "from_outside", False):
            raise
        if interrupted(error):
            raise KeyboardInterrupt from error
        what = one_line(error)
        if isinstance(error, getattr(method, "data_errors", ())):
            text = " ".join(str(error).split()) or type(error).__name__
            raise DataError(f"{name}: {text[:_LONGEST]}") from error
        if isinstance(error, SystemExit):
            what = f"it tried to end the program ({what})"
        failure = PluginError(f"{stage_words(method, name, part)}: {what}")
        failure.detail = "".join(traceback.format_exception(error))
        raise failure from error


def stage_words(method: type, name: str, part: str = "stage") -> str:
    """A stage, its plugin and that plugin's version, for a message.

    >>> stage_words(selectors["mim"], "mim").startswith("stage `mim` of plugin `infotheory` ")
    True
    """
    target = f"{method.__module__}:{method.__qualname__}"
    for plugin in default_manager().plugins():
        for entry in plugin.entries:
            if getattr(entry, "target", "") == target:
                if plugin.registered is not None:
                    return f"{part} `{entry.name}` ({target})"
                return f"{part} `{entry.name}` of plugin `{plugin.name}` {plugin.source.version}"
    return f"{part} `{name}` ({target})"
