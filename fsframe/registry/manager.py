"""Load plugins one at a time, so that a broken one does not affect the others; what they require,
their import within a time limit, and what they declare for tests.

Environment variables, read before plugins are imported:

``FSFRAME_PLUGINS``
    Comma-separated names (of plugins or distributions) of the only plugins to load; none if empty.
``FSFRAME_BLOCK``
    Comma-separated names of plugins not to load.
``FSFRAME_STRICT``
    ``1``: raise PluginError for the first plugin that cannot be loaded.
``FSFRAME_IMPORT_TIMEOUT``
    Seconds that importing a plugin may take, 30 by default (see
    `fsframe.registry.manager.guarded_import`).
``FSFRAME_TRACE``
    ``1``: write each step of loading to stderr.
``FSFRAME_PREFER``
    Comma-separated ``provider/name``: the provider to use for a name that several plugins offer.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import pluggy

from fsframe.errors import PluginError, one_line
from fsframe.registry import hookspecs
from fsframe.registry.entries import (
    API_VERSION,
    KINDS,
    ClassifierEntry,
    Entry,
    SelectorEntry,
    entries_in,
    hooks_in,
)
from fsframe.system import raises_after
from fsframe.text import did_you_mean

TIMEOUT_VARIABLE = "FSFRAME_IMPORT_TIMEOUT"
"""Seconds that importing a plugin may take; 0 means no limit."""

_DEFAULT_SECONDS = 30.0


class _TooLong(BaseException):
    """The time limit is reached; not an Exception, so that plugins do not catch it."""

    # Not counted as the plugin's own error (`fsframe.registry.registry.in_stage`).
    from_outside = True


def interrupted(error: BaseException) -> bool:
    """Whether `error` is an interrupt (Ctrl-C), or was raised because of one.

    >>> try:
    ...     try:
    ...         raise KeyboardInterrupt
    ...     except BaseException:
    ...         raise ImportError("kernels are missing")
    ... except ImportError as error:
    ...     interrupted(error)
    True
    """
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, KeyboardInterrupt):
            return True
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return False


@contextlib.contextmanager
def guarded_import(share: float = 1.0, environ: Mapping[str, str] | None = None) -> Iterator[None]:
    """Context for importing a third-party module.

    Its output goes to stderr, the working directory is restored, and its time is limited.

    Parameters
    ----------
    share : float
        Factor for the seconds of ``FSFRAME_IMPORT_TIMEOUT`` (30).
    environ : mapping, optional
        The environment variables; `os.environ` by default.

    Raises
    ------
    PluginError
        If the import takes longer.
    KeyboardInterrupt
        If the import was interrupted, even if the module converts the interrupt.

    Notes
    -----
    The limit is a signal to the main thread (SIGALRM). It ends loops and waits of Python code, but
    not compiled code that does not return to the interpreter, a module that catches everything in a
    loop, or an import in another thread or on a system without the signal (Windows).
    """
    try:
        folder = os.getcwd()
    except OSError:
        folder = ""
    seconds = share * _seconds(os.environ if environ is None else environ)
    try:
        # Results go to stdout; what a module prints at import must not mix with them.
        with contextlib.redirect_stdout(sys.stderr), raises_after(seconds, _TooLong):
            yield
    except _TooLong:
        raise PluginError(
            f"importing it took longer than {seconds:g} s and was stopped ({TIMEOUT_VARIABLE} "
            "sets the limit)"
        ) from None
    except BaseException as error:
        if interrupted(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        if folder:
            with contextlib.suppress(OSError):
                if os.getcwd() != folder:
                    os.chdir(folder)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Context for third-party code that may not end, as far as a signal can end it.

    Raises
    ------
    AssertionError
        If the code takes longer than `seconds`.
    """
    try:
        with raises_after(seconds, _TooLong):
            yield
    except _TooLong:
        raise AssertionError(f"it did not finish within {seconds:g} s") from None


def _seconds(environ: Mapping[str, str]) -> float:
    text = environ.get(TIMEOUT_VARIABLE, "").strip()
    return _DEFAULT_SECONDS if not text or odd_timeout(environ) else float(text)


def odd_timeout(environ: Mapping[str, str]) -> str:
    """A remark on a ``FSFRAME_IMPORT_TIMEOUT`` that is not a number of seconds; else empty.

    >>> odd_timeout({"FSFRAME_IMPORT_TIMEOUT": "1 min"})
    "FSFRAME_IMPORT_TIMEOUT='1 min' is not a number of seconds, such as 60: 30 are allowed"
    """
    text = environ.get(TIMEOUT_VARIABLE, "").strip()
    with contextlib.suppress(ValueError):
        if not text or 0 <= float(text) < 1e9:
            return ""
    return (
        f"{TIMEOUT_VARIABLE}={text!r} is not a number of seconds, such as 60: "
        f"{_DEFAULT_SECONDS:g} are allowed"
    )


def missing(requires: Iterable[str]) -> tuple[str, ...]:
    """The distributions in `requires`, or in its extras, that are not installed.

    Parameters
    ----------
    requires : iterable of str
        Distributions, or extras such as ``"fsframe[dask]"``.

    Examples
    --------
    >>> missing(["numpy", "no-such-distribution", "no-such-one[extra]"])
    ('no-such-distribution', 'no-such-one')
    """
    absent: dict[str, None] = {}
    for each in requires:
        name, _, extra = each.rstrip("]").partition("[")
        for needed in (name, *_brought_by(name, extra)):
            if not _installed(needed):
                absent.setdefault(needed)
    return tuple(absent)


def pip_command(requires: Iterable[str]) -> str:
    """The command that installs distributions for this Python, in whatever environment it is.

    >>> pip_command(["fsframe[dask]", "boruta"])
    "... -m pip install 'fsframe[dask]' boruta"
    """
    words = (f"'{each}'" if "[" in each else each for each in requires)
    return f"{shlex.quote(sys.executable)} -m pip install {' '.join(words)}"


def needed(what: str, *requires: str) -> str:
    """The message that `what` needs distributions that are missing.

    >>> needed("this engine", "no-such-one")
    'this engine needs no-such-one, which is not installed: ... -m pip install no-such-one'
    """
    absent = missing(requires) or requires
    verb = "is" if len(absent) == 1 else "are"
    message = f"{what} needs {' and '.join(absent)}, which {verb} not installed"
    return f"{message}: {pip_command(requires)}"


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _brought_by(name: str, extra: str) -> Iterator[str]:
    """The distributions that an extra of the distribution `name` requires."""
    if not extra or not _installed(name):
        return
    for line in metadata.requires(name) or ():
        requirement, _, marker = line.partition(";")
        if re.search(rf"""extra\s*==\s*["']{re.escape(extra)}["']""", marker):
            yield re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]


def declared_exceptions(entry: Entry) -> dict[str, str]:
    """Check → reason, for the exceptions that are declared for a method."""
    exceptions = declared(entry, "EXCEPTIONS")
    return {**exceptions.get("*", {}), **exceptions.get(entry.name, {})}


def declared(entry: Entry, name: str) -> Mapping[str, Any]:
    """The mapping `name` in the ``conformance`` module nearest to the method's module; or empty.

    Raises
    ------
    PluginError
        If it is not a mapping.
    """
    package = entry.target.partition(":")[0]
    while package:
        path = f"{package}.conformance"
        try:
            present = find_spec(path) is not None
        except ModuleNotFoundError:
            # The method's own module is not a package.
            present = False
        if present:
            break
        package = package.rpartition(".")[0]
    else:
        return {}
    mapping = getattr(import_module(path), name, {})
    if not isinstance(mapping, Mapping):
        raise PluginError(f"{path}.{name} must be a mapping from method names")
    return mapping


THIS_PROCESS = "this-process"
"""The provider of classes registered in this process (`fsframe.register`)."""

HOOKS: Mapping[str, type[Entry]] = {kind.hook: kind for kind in KINDS}


@attrs.frozen(kw_only=True)
class PluginSource:
    """An installed plugin, before it is loaded.

    Parameters
    ----------
    name : str
        Unique: the entry point's name, or ``distribution.name`` if several distributions or a
        bundled plugin have that name.
    distribution, version, target : str
        Its distribution, and the module that its entry point names.
    load : callable
        Imports the plugin.
    bundled : bool
        Whether it is part of fsframe. Bundled methods own their plain names.
    provider : str
        The prefix of its methods, ``provider/name``: the name of a bundled plugin, else the name of
        the distribution, which is unique.
    """

    name: str
    distribution: str
    version: str
    target: str
    load: Callable[[], object] = attrs.field(eq=False, repr=False)
    bundled: bool = False
    provider: str = attrs.field()

    @provider.default
    def _own_provider(self) -> str:
        return self.name if self.bundled else _normal(self.distribution)


@attrs.frozen(kw_only=True)
class LoadedPlugin:
    """The result of loading a plugin.

    `status` is ``loaded``, ``blocked`` (by the environment) or ``failed``; `reason` explains the
    latter two. `entries` of a failed plugin are those that it yielded before it failed; they cannot
    be used, and looking one up gives the reason. `detail` is the traceback, if any; `notes` name
    unused parts. `registered` is the class if it was registered in this process.
    """

    source: PluginSource
    status: str
    reason: str = ""
    detail: str = ""
    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()
    registered: type | None = None

    @property
    def name(self) -> str:
        """The plugin's name, unique among the installed ones."""
        return self.source.name

    @property
    def reference(self) -> str:
        """The location of a registered class for other processes, ``module:Class as name``; empty
        for an installed plugin."""
        return "" if self.registered is None else f"{self.source.target} as {self.entries[0].name}"

    @property
    def software(self) -> str:
        """The key under which its version is recorded and compared."""
        return f"class {self.reference}" if self.registered else f"plugin {self.provider}"

    @property
    def provider(self) -> str:
        """The provider of its entries."""
        return self.source.provider


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_plugins() -> tuple[PluginSource, ...]:
    """The plugins of the entry-point group ``fsframe``, by name, without importing them.

    A distribution with unreadable metadata becomes a plugin that fails to load.
    """
    sources: dict[tuple[str, str], PluginSource] = {}
    seen: set[str] = set()
    for distribution in metadata.distributions():
        # Of two copies of a distribution, Python imports the first.
        key = _normal(_folder_name(distribution) or _distribution_name(distribution))
        if key in seen:
            continue
        seen.add(key)
        for source in _sources_of(distribution):
            sources.setdefault((source.name, key), source)
    bundled = {name for name, owner in sources if owner == hookspecs.PROJECT}
    names = [name for name, _ in sources]

    def named(name: str, owner: str, source: PluginSource) -> PluginSource:
        if owner == hookspecs.PROJECT:
            return attrs.evolve(source, bundled=True, provider=name)
        # A distribution with the name of a bundled plugin does not replace it.
        taken = source.provider in bundled or source.provider == THIS_PROCESS
        provider = f"{source.provider}.{name}" if taken else source.provider
        unique = names.count(name) == 1 and name not in bundled
        name = name if unique else f"{owner}.{name}"
        return attrs.evolve(source, name=name, provider=provider)

    return tuple(named(*key, source) for key, source in sorted(sources.items()))


def _folder_name(distribution: metadata.Distribution) -> str:
    """The name in ``name-1.0.dist-info``, known without reading a file; empty if there is none."""
    folder = getattr(distribution, "_path", None)
    return str(getattr(folder, "stem", "")).partition("-")[0]


def _distribution_name(distribution: metadata.Distribution) -> str:
    """The distribution's name, from its folder if its metadata lack it."""
    return _metadata(distribution, "Name") or _folder_name(distribution) or "unknown"


def _metadata(distribution: metadata.Distribution, key: str) -> str:
    try:
        return str(distribution.metadata[key] or "")
    except Exception:  # Unreadable third-party metadata.
        return ""


def _sources_of(distribution: metadata.Distribution) -> Iterator[PluginSource]:
    """The plugins of one distribution."""
    owner = ""
    try:
        # Most distributions have no plugin; no other file of these is read.
        if hookspecs.PROJECT not in (distribution.read_text("entry_points.txt") or ""):
            return
        owner = _distribution_name(distribution)
        points = [p for p in distribution.entry_points if p.group == hookspecs.PROJECT]
    except Exception as error:
        owner = owner or _distribution_name(distribution)
        yield PluginSource(
            name=owner,
            distribution=owner,
            version=_metadata(distribution, "Version") or "unknown",
            target="",
            load=_raiser(f"its entry_points.txt cannot be read: {one_line(error)}"),
        )
        return
    release = _metadata(distribution, "Version") or "unknown" if points else ""
    for point in points:
        readable = point.pattern.match(point.value) is not None
        yield PluginSource(
            name=point.name,
            distribution=owner,
            version=release,
            target=point.value,
            load=point.load
            if readable
            else _raiser(f"its entry point names {point.value!r}, which is not a module"),
        )


def _raiser(reason: str) -> Callable[[], object]:
    def load() -> object:
        raise PluginError(reason)

    return load


def _names_in(variable: str, environ: Mapping[str, str]) -> frozenset[str] | None:
    value = environ.get(variable)
    if value is None:
        return None
    return frozenset(_normal(word.strip()) for word in value.split(",") if word.strip())


def _names(source: PluginSource) -> frozenset[str]:
    """Names of a plugin in environment variables: its name, its provider, its distribution."""
    return frozenset(_normal(n) for n in (source.name, source.provider, source.distribution))


def _is_set(variable: str, environ: Mapping[str, str]) -> bool:
    return environ.get(variable, "").strip().lower() not in ("", "0", "no", "false")


class PluginManager:
    """Loads plugins one by one and keeps the result of each.

    Parameters
    ----------
    sources : iterable of PluginSource, optional
        The plugins to load; the installed ones by default.
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
        self._here: dict[tuple[str, str], LoadedPlugin] = {}
        self.loading = False
        """Whether plugins are being imported, so that not all offers are known yet."""

    def add_registered(self, plugin: LoadedPlugin) -> None:
        """Add a class registered in this process, replacing an earlier one of the same name."""
        (entry,) = plugin.entries
        self._here[entry.kind, entry.name] = plugin

    def plugins(self) -> tuple[LoadedPlugin, ...]:
        """Every plugin with its status, sorted by name, then the registered classes.

        Installed plugins are loaded on the first call.
        """
        installed = self._installed()
        if not self._here:
            return installed
        # A class that an installed plugin offers belongs to the plugin, even if its module
        # registers it too.
        published = {(entry.name, entry.target) for p in installed for entry in p.entries}
        here = (
            plugin
            for plugin in self._here.values()
            if (plugin.entries[0].name, plugin.entries[0].target) not in published
        )
        return (*installed, *here)

    def _installed(self) -> tuple[LoadedPlugin, ...]:
        if self._plugins is None:
            self.loading = True
            sources = installed_plugins() if self._sources is None else self._sources
            loaded: list[LoadedPlugin] = []
            for source in sorted(sources, key=lambda source: source.name):
                same = [p for p in loaded if p.provider == source.provider]
                offered = [e for p in same if p.status == "loaded" for e in p.entries]
                loaded.append(self._load(source, offered))
            self._plugins = tuple(loaded)
            self.loading = False
        return self._plugins

    def _load(self, source: PluginSource, before: list[Entry]) -> LoadedPlugin:
        """Load a plugin whose provider has already offered the entries `before`."""
        blocked = self._blocked(source)
        if blocked:
            self._trace(f"{source.name}: {blocked}")
            return LoadedPlugin(source=source, status="blocked", reason=blocked)
        offered: list[Entry] = []
        notes: list[str] = []
        try:
            self._trace(f"{source.name}: importing {source.target}")
            with guarded_import(environ=self._environ):
                plugin = source.load()
                file = _file_of_entries(plugin)
                declared = hooks_in(file) if file is not None else set[str]()
                notes += [_unknown_hook(hook) for hook in sorted(declared - HOOKS.keys())]
                notes.extend(self._check_hooks(plugin))
                self._pluggy.register(plugin, name=source.name)
                self._collect(plugin, offered, before)
                if file is not None:
                    self._add_declared(file, declared, plugin, offered, before)
                if not offered:
                    hooks = " or ".join(HOOKS)
                    raise PluginError("; ".join([f"it offers nothing; implement {hooks}", *notes]))
        except KeyboardInterrupt:
            raise
        # The plugin boundary: whatever its module raises, even SystemExit, is recorded and does not
        # affect others.
        except BaseException as error:
            return self._failed(source, error, offered)
        self._trace(f"{source.name}: offers {', '.join(entry.name for entry in offered)}")
        return LoadedPlugin(
            source=source, status="loaded", entries=tuple(offered), notes=tuple(notes)
        )

    def _failed(
        self, source: PluginSource, error: BaseException, offered: list[Entry]
    ) -> LoadedPlugin:
        if self._pluggy.has_plugin(source.name):
            self._pluggy.unregister(name=source.name)
        reason = str(error) if isinstance(error, PluginError) else one_line(error)
        self._trace(f"{source.name}: failed: {reason}")
        if _is_set("FSFRAME_STRICT", self._environ):
            raise PluginError(
                f"plugin {source.name!r} ({source.distribution} {source.version}): {reason}. "
                "FSFRAME_STRICT is set; unset it to continue without this plugin."
            ) from error
        detail = (
            "" if isinstance(error, PluginError) else "".join(traceback.format_exception(error))
        )
        return LoadedPlugin(
            source=source, status="failed", reason=reason, detail=detail, entries=tuple(offered)
        )

    def _blocked(self, source: PluginSource) -> str:
        names = _names(source)
        chosen = _names_in("FSFRAME_PLUGINS", self._environ)
        if chosen is not None and not names & chosen:
            return "not among FSFRAME_PLUGINS"
        if names & (_names_in("FSFRAME_BLOCK", self._environ) or frozenset()):
            return "blocked by FSFRAME_BLOCK"
        return ""

    def remarks(self) -> tuple[str, ...]:
        """Remarks on names in the environment variables that are not plugins."""
        sources = [plugin.source for plugin in self.plugins()]
        known = frozenset().union(*(_names(source) for source in sources))
        return tuple(
            f"{variable} names {word!r}, which is not a plugin"
            + did_you_mean(word, [source.name for source in sources])
            for variable in ("FSFRAME_PLUGINS", "FSFRAME_BLOCK")
            for word in sorted(_names_in(variable, self._environ) or ())
            if word not in known
        )

    def odd_values(self) -> Iterator[str]:
        """Remarks on environment variables whose value has no effect."""
        if remark := odd_timeout(self._environ):
            yield remark
        for word in self._environ.get("FSFRAME_PREFER", "").split(","):
            if word.strip() and not all(map(str.strip, word.partition("/"))):
                yield (
                    f"FSFRAME_PREFER={word.strip()!r} has no effect: it takes PROVIDER/NAME, such "
                    "as fsframe-gap/gap, separated by commas"
                )

    def _check_hooks(self, plugin: object) -> Iterator[str]:
        """Remarks on unknown hooks.

        Raises
        ------
        PluginError
            If the name of a hook is misspelled, or its marker is missing.
        """
        for name, member in inspect.getmembers(plugin, callable):
            options = getattr(member, f"{hookspecs.PROJECT}_impl", None)
            marked = options is not None
            options = options if isinstance(options, Mapping) else {}
            hook = options.get("specname") or name
            if marked and hook not in HOOKS:
                yield _unknown_hook(hook, optional=bool(options.get("optionalhook")))
            defined_here = getattr(member, "__module__", "") != hookspecs.__name__
            if (
                name.startswith("fsframe_")
                and defined_here
                and not marked
                and not isinstance(member, ModuleType)
            ):
                hint = "" if name in HOOKS else did_you_mean(name, HOOKS)
                raise PluginError(
                    f"{name!r} looks like a hook but lacks its marker; put @hookimpl "
                    f"(from fsframe.registry.hookspecs import hookimpl) above it{hint}"
                )

    def _collect(self, plugin: object, offered: list[Entry], before: list[Entry]) -> None:
        others = [other for other in self._pluggy.get_plugins() if other is not plugin]
        calls = [
            (hook, kind, offers)
            for hook, kind in HOOKS.items()
            for offers in self._pluggy.subset_hook_caller(hook, others)()
        ]
        for hook, kind, offers in calls:
            if offers is not None and (
                isinstance(offers, Entry) or not isinstance(offers, Iterable)
            ):
                raise PluginError(
                    f"{hook} returned {type(offers).__name__}; it must yield "
                    f"{kind.__name__} objects"
                )
            for entry in offers or ():
                self._check_entry(hook, kind, entry, [*before, *offered])
                offered.append(entry)

    def _add_declared(
        self,
        file: Path,
        declared: set[str],
        plugin: object,
        offered: list[Entry],
        before: list[Entry],
    ) -> None:
        """Add the entries that a file declares, but for hooks that the plugin's module has."""
        called = {caller.name for caller in self._pluggy.get_hookcallers(plugin) or ()}
        for hook, kind in HOOKS.items():
            for entry in entries_in(file, kind) if hook in declared - called else ():
                self._check_entry(hook, kind, entry, [*before, *offered])
                offered.append(entry)

    def _check_entry(self, hook: str, kind: type[Entry], entry: Any, offered: list[Entry]) -> None:
        if not isinstance(entry, kind):
            raise PluginError(f"{hook} yielded {entry!r}; it must yield {kind.__name__} objects")
        if entry.api > API_VERSION:
            raise PluginError(
                f"{entry.name!r} needs plugin API {entry.api}, this fsframe has "
                f"{API_VERSION}; upgrade fsframe or install an older plugin"
            )
        if entry.name in entry.aliases or len(set(entry.aliases)) < len(entry.aliases):
            raise PluginError(f"{entry.name!r} has a duplicate alias, or its own name as an alias")
        for other in offered:
            # Selectors and classifiers share the names in chains.
            if other.kind != kind.kind and not _in_chains(other, entry):
                continue
            for name in {other.name, *other.aliases} & {entry.name, *entry.aliases}:
                kinds = " and ".join(sorted({other.kind, kind.kind}))
                raise PluginError(f"it offers the {kinds} {name!r} twice")

    def _trace(self, message: str) -> None:
        if _is_set("FSFRAME_TRACE", self._environ):
            print(f"fsframe plugins: {message}", file=sys.stderr, flush=True)


def _file_of_entries(plugin: object) -> Path | None:
    """The file ``entries.toml`` in the package of a plugin; None if there is none.

    A module outside packages has none: a file beside it is not its own.
    """
    if not getattr(plugin, "__package__", ""):
        return None
    file = Path(str(plugin.__file__)).with_name("entries.toml")  # type: ignore[attr-defined]
    return file if file.is_file() else None


def _unknown_hook(hook: str, *, optional: bool = False) -> str:
    """The remark that a hook is unknown; PluginError if its name looks like a known one."""
    # Compared without the common prefix.
    near = did_you_mean(_without_prefix(hook), [_without_prefix(known) for known in HOOKS])
    hint = did_you_mean(hook, HOOKS) if near else ""
    # An unknown hook may be one of a later fsframe; a name similar to a known one is a mistake,
    # unless it is marked as optional.
    if hint and not optional:
        raise PluginError(f"{hook!r} is not a hook{hint}")
    return f"the hook {hook!r} is not known to this fsframe and is not called{hint}"


def _without_prefix(hook: str) -> str:
    return hook.removeprefix(f"{hookspecs.PROJECT}_")


def _in_chains(*entries: Entry) -> bool:
    return all(isinstance(entry, (SelectorEntry, ClassifierEntry)) for entry in entries)
