"""Distributions that methods, plugins and engines require, and what to do if one is missing."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata


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
    found: dict[str, None] = {}
    for each in requires:
        name, _, extra = each.rstrip("]").partition("[")
        for needed in (name, *_brought_by(name, extra)):
            if not _installed(needed):
                found.setdefault(needed)
    return tuple(found)


def pip_command(requires: Iterable[str]) -> str:
    """The command that installs them for this Python, in whatever environment it is.

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
    told = f"{what} needs {' and '.join(absent)}, which {verb} not installed"
    return f"{told}: {pip_command(requires)}"


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _brought_by(name: str, extra: str) -> Iterator[str]:
    """The distributions that an extra names."""
    if not extra or not _installed(name):
        return
    for line in metadata.requires(name) or ():
        requirement, _, marker = line.partition(";")
        if re.search(rf"""extra\s*==\s*["']{re.escape(extra)}["']""", marker):
            yield re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]
