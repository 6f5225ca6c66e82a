"""Optional distributions that a plugin requires, and the command that installs missing ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import metadata

__all__ = ["missing", "pip_command"]


def missing(requires: Iterable[str]) -> tuple[str, ...]:
    """The distributions in `requires`, or in its extras, that are not installed.

    Parameters
    ----------
    requires : iterable of str
        Distributions, or extras such as ``"fsframe[excel]"``.

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
    """The pip command that installs them.

    >>> pip_command(["fsframe[excel]", "boruta"])
    "pip install 'fsframe[excel]' boruta"
    """
    words = (f"'{each}'" if "[" in each else each for each in requires)
    return f"pip install {' '.join(words)}"


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
