"""Register classes of this process by name, as if an installed plugin offered them."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any, TypeVar, overload

import attrs

from fsframe.errors import RequestError
from fsframe.registry.entries import ClassifierEntry, Entry, SelectorEntry
from fsframe.registry.manager import THIS_PROCESS, LoadedPlugin, PluginSource, guarded_import
from fsframe.registry.registry import (
    Registry,
    classifiers,
    default_manager,
    regressors,
    selectors,
    stability_metrics,
)

__all__ = ["local_class_version", "register", "unreachable_classes"]

C = TypeVar("C", bound=type)

# Regressor is a subclass of Classifier, so regressors come first.
_REGISTRIES = (selectors, regressors, classifiers, stability_metrics)
_INTERACTIVE = (
    "put it into a module (a file such as my_methods.py) and import it from there, or run without "
    "workers"
)


@overload
def register(method: C, /) -> C: ...


@overload
def register(*, name: str | None = None, **described: Any) -> Callable[[C], C]: ...


def register(method: C | None = None, /, *, name: str | None = None, **described: Any) -> Any:
    """Register a class under a name in this process; a decorator for your own methods.

    Chains, resampling stages, the functions of `fsframe` and its scikit-learn estimators then find
    it by name. To publish a method, make it a plugin (docs/write-a-selector.md).

    Parameters
    ----------
    method : class
        Derived from `fsframe.Selector`, `fsframe.Classifier`, `fsframe.Regressor` or
        `fsframe.StabilityMetric`. Put it above ``@attrs.frozen(kw_only=True)`` if the class has
        parameters.
    name : str, optional
        Lower-case words joined by hyphens; by default made of the class's name, ``my-method`` of
        ``MyMethod``.
    **described
        Fields of `SelectorEntry`, `ClassifierEntry` or `StabilityMetricEntry`: ``summary`` (by
        default the first line of the docstring), ``reference``, ``family``, ``gives`` and others.

    Returns
    -------
    type
        `method`; without it, a decorator.

    Raises
    ------
    RequestError
        If the class is of none of these kinds or lacks its author's part, a field is invalid, or
        the name belongs to an installed plugin or another class of this process. Running a cell of
        a notebook again replaces the class.

    Notes
    -----
    Run files record the provider ``this-process`` and, as its version, the location of the class
    and a digest of its code; an unfinished run can only be continued with the same code. The digest
    covers the methods of the class and of its bases outside fsframe, its parameters and constants,
    not the functions that they call.

    Worker processes import the class by module and name. A class that exists only in this session,
    such as one in a notebook cell, raises an error before work with workers starts.

    Examples
    --------
    >>> import numpy as np, fsframe
    >>> from fsframe.method.ranking import rank_by_score
    >>> @fsframe.register
    ... class LargestSpread(fsframe.Selector):
    ...     \"\"\"Features whose values spread widest.\"\"\"
    ...     def _select(self, data, upstream, run):
    ...         spread = np.ptp(data.X, axis=0)
    ...         best = rank_by_score(spread)[: self.keep_count(spread.size, 10)]
    ...         return fsframe.Selection(selected=best, scores=spread)
    >>> data = fsframe.Dataset.from_arrays([[1, 5], [2, 9], [9, 4], [8, 6]], ["a", "a", "b", "b"])
    >>> fsframe.Chain.parse("largest-spread:top=1").select(data).selected
    array([0])
    """
    if isinstance(method, str):
        raise RequestError(f"give the name by keyword: @fsframe.register(name={method!r})")
    if method is None:
        return lambda each: _registered(each, name, described)
    return _registered(method, name, described)


def _registered(method: Any, name: str | None, described: Mapping[str, Any]) -> Any:
    registry = _registry_of(method)
    undecorated = [key for key, value in vars(method).items() if isinstance(value, _Undecorated)]
    if undecorated:
        raise RequestError(
            f"{method.__name__} declares {', '.join(undecorated)} but is not decorated: put "
            "@attrs.frozen(kw_only=True) between @fsframe.register and the class"
        )
    entry = _entry(registry, method, name, described)
    others = () if default_manager().loading else _others(registry, entry)
    if any(offer.entry.target == entry.target for offer in others):
        # A plugin offers the same class.
        return method
    for offer in others:
        raise RequestError(
            f"the name {entry.name!r} already belongs to a {offer.entry.kind} of "
            f"{offer.provider}; give {method.__name__} another: @fsframe.register(name=…)"
        )
    if part := _unwritten(method):
        raise RequestError(
            f"{method.__name__} cannot be registered: it has no {part}, which the author writes "
            "(docs/own-method.md)"
        )
    source = PluginSource(
        name=THIS_PROCESS,
        distribution="this process",
        version=f"{entry.target} {_code_digest(method)}",
        target=entry.target,
        load=lambda: method,
        provider=THIS_PROCESS,
    )
    default_manager().add_registered(
        LoadedPlugin(source=source, status="loaded", entries=(entry,), registered=method)
    )
    return method


def _unwritten(method: Any) -> str:
    """The author's part that a class inherits from fsframe, where it only raises; else empty."""
    for public, part in (("select", "_select"), ("fit", "_fit"), ("measure", "_measure")):
        if getattr(method, "wrapping", False) and _home(method, part) == _WRAPPING:
            part = "_select_wrapped"
        if _home(method, part) in _ABSTRACT and _home(method, public) in (*_ABSTRACT, ""):
            return part
    return ""


def _home(method: Any, name: str) -> str:
    """The module of the class of which `method` has the function; empty if it has none."""
    return next((each.__module__ for each in method.__mro__ if name in vars(each)), "")


_WRAPPING = "fsframe.resampling.resamples"
_ABSTRACT = (
    "fsframe.method.selector",
    "fsframe.method.classifier",
    "fsframe.method.stability_metric",
    _WRAPPING,
)
_Undecorated = type(attrs.field())


def _registry_of(method: Any) -> Registry:
    bases = getattr(method, "__mro__", ()) if isinstance(method, type) else ()
    # Compared by name, so that no class of fsframe is imported here.
    names = {f"{base.__module__}:{base.__qualname__}" for base in bases}
    for registry in _REGISTRIES:
        if registry.entries.base in names:
            return registry
    shown = getattr(method, "__name__", repr(method))
    kinds = ", ".join(f"fsframe.{each.entries.base.partition(':')[2]}" for each in _REGISTRIES)
    raise RequestError(f"{shown} cannot be registered: it must be a class derived from {kinds}")


def _entry(
    registry: Registry, method: Any, name: str | None, described: Mapping[str, Any]
) -> Entry:
    fields: dict[str, Any] = {"summary": _first_line(method), **described}
    if issubclass(registry.entries, SelectorEntry):
        fields.setdefault("family", THIS_PROCESS)
        fields.setdefault("wraps", bool(getattr(method, "wrapping", False)))
    known = {field.name for field in attrs.fields(registry.entries)} - {"target", "api"}
    unknown = sorted(set(fields) - known)
    if unknown:
        raise RequestError(
            f"a {registry.kind} has no {', '.join(unknown)}; it has {', '.join(sorted(known))}"
        )
    fields["name"] = method.method_name() if name is None else name
    try:
        return registry.entries(target=_target(method), **fields)
    except (TypeError, ValueError) as error:
        raise RequestError(f"{method.__name__} cannot be registered: {error}") from None


def _first_line(method: Any) -> str:
    # Not inherited: the docstring of a base does not describe this class.
    text = vars(method).get("__doc__") or ""
    line = text.strip().partition("\n")[0].strip()
    return line if line.isprintable() else ""


def _target(method: Any) -> str:
    """The class as ``module:Class``, with ``__main__`` for a main program that a worker imports."""
    module = "__main__" if method.__module__ == "__mp_main__" else method.__module__
    return f"{module}:{method.__name__}"


def _others(registry: Registry, entry: Entry) -> list[Any]:
    """Other offers of the name of `entry`, except earlier versions of the class."""
    # Selectors and classifiers share the names in chains.
    in_chains = issubclass(registry.entries, (SelectorEntry, ClassifierEntry))
    registries = (selectors, classifiers) if in_chains else (registry,)
    return [
        offer
        for each in registries
        for offer in each.matching(entry.name)
        if offer.plugin.registered is None
        or offer.entry.kind != entry.kind
        or offer.entry.target != entry.target
    ]


def local_class_version(reference: str) -> str | None:
    """The version, in this process, of a class that another process registered; None if absent.

    Parameters
    ----------
    reference : str
        ``module:Class as name``. If necessary, the module is imported and the class registered
        under the name.
    """
    plugin = _plugin_of(reference)
    if plugin is not None:
        return plugin.source.version
    target, _, name = reference.partition(" as ")
    module, _, class_name = target.partition(":")
    try:
        with guarded_import(share=4.0):
            method_class = getattr(importlib.import_module(module), class_name)
        # Importing the module may already have registered it.
        register(name=name)(method_class)
    except KeyboardInterrupt:
        raise
    # Whatever the module raises, this process does not have the class.
    except BaseException:
        return None
    plugin = _plugin_of(reference)
    return None if plugin is None else plugin.source.version


def _plugin_of(reference: str) -> LoadedPlugin | None:
    """The plugin of the class registered in this process that `reference` names; None if absent."""
    plugins = (p for p in default_manager().plugins() if p.registered is not None)
    return next((plugin for plugin in plugins if plugin.reference == reference), None)


def unreachable_classes(references: Iterator[str], *, program: bool) -> Iterator[str]:
    """One sentence for each class registered here that other processes cannot import: why not.

    Parameters
    ----------
    references : iterator of str
        As in `local_class_version`.
    program : bool
        Whether the other processes also import the main program, ``__main__``.
    """
    for reference in references:
        target, _, name = reference.partition(" as ")
        module, _, class_name = target.partition(":")
        plugin = _plugin_of(reference)
        registered = None if plugin is None else plugin.registered
        if module == "__main__" and not (program and _program_file()):
            where = "this program" if _program_file() else "this session"
            yield (
                f"`{name}` is a class of {where} ({class_name}), which other processes cannot "
                f"import: {_INTERACTIVE}"
            )
        elif registered is not None and (
            getattr(sys.modules.get(registered.__module__), class_name, None) is not registered
        ):
            yield (
                f"`{name}` is a class that other processes cannot import, since {module} has no "
                f"{class_name} at its top level, or has replaced it: {_INTERACTIVE}"
            )


def _program_file() -> bool:
    """Whether ``__main__`` is a file, which worker processes import again."""
    return os.path.isfile(getattr(sys.modules.get("__main__"), "__file__", None) or "")


def _code_digest(method: type) -> str:
    """Twelve hexadecimal digits of a SHA-256 over the code of a class, without comments and line
    numbers; the same in every process of one release of Python.
    """
    digest = hashlib.sha256()
    for part in _code_parts(method):
        digest.update(part.encode("utf-8", "backslashreplace") + b"\0")
    return digest.hexdigest()[:12]


def _code_parts(method: type) -> Iterator[str]:
    classes = [each for each in method.__mro__ if each.__module__.partition(".")[0] != "fsframe"]
    for each in classes:
        if each in (object, type):
            continue
        for name, value in sorted(vars(each).items()):
            function = getattr(value, "__func__", getattr(value, "fget", value))
            code = getattr(function, "__code__", None)
            if isinstance(code, CodeType):
                # Code generated by attrs follows from the parameters.
                if not code.co_filename.startswith("<attrs generated"):
                    yield f"{name}="
                    yield from _of_code(code)
            elif not name.startswith("__") and isinstance(value, _PLAIN):
                yield f"{name}={_constant(value)}"
    for parameter in getattr(method, "parameters", tuple)():
        yield f"{parameter.name}: {parameter.kind.describe()} = {parameter.default!r}"


_PLAIN = (str, bytes, int, float, bool, tuple, frozenset, type(None))


def _of_code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant)
        else:
            yield _constant(constant)


def _constant(value: Any) -> str:
    """The text of a constant, with sets in a fixed order."""
    if isinstance(value, frozenset):
        return "{" + ",".join(sorted(map(_constant, value))) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(_constant, value)) + ")"
    return repr(value)
