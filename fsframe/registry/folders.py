"""Modules of a folder of fsframe, found without a list, together with what plugins offer."""

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
from fsframe.suggest import did_you_mean

__all__ = ["OwnAndOffered", "modules_in"]


def modules_in(package: str) -> dict[str, str]:
    """The modules of a package, by name, with the first line of their docstrings.

    Parameters
    ----------
    package : str
        Dotted name; the package itself is imported, its modules are not. Names that begin with an
        underscore are left out.

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
    # Where only compiled modules are installed, the docstring has to be imported.
    text = import_module(module).__doc__ if source is None else _docstring(source)
    return (text or "").strip().partition("\n")[0]


def _docstring(source: str) -> str:
    # The whole syntax tree would take a millisecond or two for every module.
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type == tokenize.STRING:
            return str(ast.literal_eval(token.string))
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING):
            break
    return ""


class OwnAndOffered:
    """The modules of a folder, one thing in each, and what plugins offer of the same kind.

    A plugin's that is called like one of ours, or like another plugin's, is ``provider/name``.

    Parameters
    ----------
    package : str
        The folder; a module ``new_thing`` holds ``new-thing``.
    registry : Registry
        What plugins offer.
    attribute : str
        What a module calls its thing; its own name by default.
    """

    def __init__(self, package: str, registry: Registry, attribute: str = "") -> None:
        self._package, self._registry, self._attribute = package, registry, attribute

    @cached_property
    def own(self) -> dict[str, str]:
        """Ours, and the line that lists have of each."""
        found = modules_in(self._package)
        return {name.replace("_", "-"): line for name, line in found.items()}

    def listed(self) -> dict[str, str]:
        """All by name, with a line on each; those of plugins end with their provider."""
        offers: tuple[Offer, ...] = ()
        # Help has to answer whatever FSFRAME_STRICT makes of a broken plugin.
        with contextlib.suppress(PluginError):
            offers = self._registry.offers()
        found = dict(self.own)
        for offer in offers:
            name = f"{offer.provider}/{offer.name}" if offer.name in self.own else offer.name
            found[name] = f"{offer.entry.summary}. [{offer.provider}]"
        return dict(sorted(found.items()))

    def get(self, name: str) -> Any:
        """The thing of that name, imported now; None where nobody has it.

        Raises
        ------
        PluginError
            If several plugins offer it, or one does that is blocked or broken.
        """
        if name in self.own:
            module = name.replace("-", "_")
            return getattr(import_module(f"{self._package}.{module}"), self._attribute or module)
        if self._registry.matching(name):
            return self._registry[name]
        claim = self._registry.claim(name)
        if claim is not None:
            raise claim
        return None

    def unknown(self, name: str) -> RequestError:
        """That there is none of that name, and which there are."""
        known = self.listed()
        hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        return RequestError(f"there is no {self._registry.kind} {name!r}{hint}")
