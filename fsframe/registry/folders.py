"""Modules found by their folder, so that adding one needs no list: what they are called and say."""

from __future__ import annotations

import ast
import pkgutil
import tokenize
from importlib import import_module
from importlib.util import find_spec
from io import StringIO

__all__ = ["modules_in"]


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
    'Check that a run file is sound.'
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
