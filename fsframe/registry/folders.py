"""Modules of a package of fsframe, found without a list, together with offers of plugins."""

from __future__ import annotations

import ast
import contextlib
import pkgutil
import tokenize
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from typing import Any

from fsframe.errors import PluginError, RequestError
from fsframe.registry.registry import Offer, Registry
from fsframe.text import did_you_mean


def modules_in(package: str) -> dict[str, str]:
    """The modules of a package, by name, with the first line of their docstrings.

    Parameters
    ----------
    package : str
        Dotted name; the package is imported, its modules are not. Names with a leading underscore
        are left out.

    Returns
    -------
    dict of str to str
        In alphabetical order.

    Examples
    --------
    >>> modules_in("fsframe.cli.commands")["verify"]
    'Check the integrity of run files.'
    """
    folder = import_module(package)
    names = sorted(found.name for found in pkgutil.iter_modules(folder.__path__))
    return {n: _first_line(f"{package}.{n}") for n in names if not n.startswith("_")}


def _first_line(module: str) -> str:
    spec = find_spec(module)
    source = getattr(spec and spec.loader, "get_source", lambda _: None)(module)
    # If only compiled modules are installed, the docstring has to be imported.
    text = import_module(module).__doc__ if source is None else _docstring(source)
    return (text or "").strip().partition("\n")[0]


def _docstring(source: str) -> str:
    # Parsing the whole module would take one or two milliseconds each.
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type == tokenize.STRING:
            return str(ast.literal_eval(token.string))
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING):
            break
    return ""


class ModulesAndPlugins:
    """Objects defined one per module of a package, and those of the same kind from plugins.

    A plugin's object is ``provider/name`` if fsframe or another plugin has one of the same name.

    Parameters
    ----------
    package : str
        The package; its module ``new_thing`` defines ``new-thing``.
    registry : Registry
        Offers of plugins.
    attribute : str
        Name of the object in its module; that of the module by default.
    """

    def __init__(self, package: str, registry: Registry, attribute: str = "") -> None:
        self._package, self._registry, self._attribute = package, registry, attribute

    @cached_property
    def own(self) -> dict[str, str]:
        """The objects of the package by name, with a line for lists."""
        found = modules_in(self._package)
        return {name.replace("_", "-"): line for name, line in found.items()}

    def listed(self) -> dict[str, str]:
        """All objects by name, with a line for lists, which names the provider of a plugin's."""
        offers: tuple[Offer, ...] = ()
        # Help must work even if FSFRAME_STRICT raises on a broken plugin.
        with contextlib.suppress(PluginError):
            offers = self._registry.offers()
        found = dict(self.own)
        for offer in offers:
            name = f"{offer.provider}/{offer.name}" if offer.name in self.own else offer.name
            found[name] = f"{offer.entry.summary}. [{offer.provider}]"
        return dict(sorted(found.items()))

    def get(self, name: str) -> Any:
        """The object of that name, imported now; None if there is none.

        Raises
        ------
        PluginError
            If several plugins offer it, or a blocked or broken one does.
        """
        if name in self.own:
            module = name.replace("-", "_")
            return getattr(import_module(f"{self._package}.{module}"), self._attribute or module)
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
