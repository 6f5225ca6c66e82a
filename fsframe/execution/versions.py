"""Versions that must be equal where a resample is asked for and where it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError
from fsframe.registry import default_manager
from fsframe.storage import printable
from fsframe.storage.units.manifest import release, software

__all__ = ["differences", "found_here", "needed_by", "refusal"]

_ABSENT = "absent"


def needed_by(*parts: Any) -> dict[str, str]:
    """Versions of everything that may change a bit of what `parts` give, as they are here.

    Parameters
    ----------
    parts
        Bases as they travel: chains or their text, or objects that hold some, such as the task of
        a fold; and what draws the counts.

    Returns
    -------
    dict of str to str
        Python (major and minor), fsframe, NumPy, SciPy, numba, and ``plugin NAME`` for each plugin
        whose stages or classes are in use.

    Examples
    --------
    >>> sorted(needed_by("mim:top=3"))
    ['fsframe', 'numba', 'numpy', 'plugin infotheory', 'python', 'scipy']
    """
    found = found_here(["python", "fsframe", "numpy", "scipy", "numba"])
    for part in parts:
        found |= _of(part)
    return found


def _of(part: Any) -> dict[str, str]:
    if isinstance(part, (str, Chain)):
        try:
            return software(part)
        except FsframeError:
            # A text that is no chain; whoever runs it says so.
            return {}
    found = {f"plugin {name}": version for name, version in _owners(type(part))}
    if attrs.has(type(part)):
        for field in attrs.fields(type(part)):
            value = getattr(part, field.name, None)
            chain = field.name in ("base", "classifier") and value
            if chain or isinstance(value, Chain):
                found |= _of(value)
    return found


def _owners(kind: type) -> Iterator[tuple[str, str]]:
    """The plugins in whose packages a class stands."""
    package = kind.__module__.partition(".")[0]
    for plugin in default_manager().plugins():
        source = plugin.source
        if package != "fsframe" and source.target.partition(":")[0].partition(".")[0] == package:
            yield source.name, source.version


def found_here(names: Iterable[str]) -> dict[str, str]:
    """The versions of `names` in this process; "absent", or why it cannot be used, where not."""
    return {name: _found(name) for name in names}


def _found(name: str) -> str:
    kind, _, plugin = name.partition(" ")
    if kind != "plugin":
        return release(name)
    for loaded in default_manager().plugins():
        if loaded.name == plugin:
            if loaded.status == "loaded":
                return loaded.source.version
            return f"{loaded.source.version}, which is {loaded.status} ({loaded.reason})"
    return _ABSENT


def differences(needed: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """What is another in `found` than it must be, one phrase each.

    >>> differences({"numpy": "2.4.6", "plugin tiny": "1.0"}, {"numpy": "2.3.0"})
    ['numpy 2.3.0, not 2.4.6', 'no plugin tiny (here 1.0)']
    """
    return [
        f"no {name} (here {version})"
        if found.get(name, _ABSENT) == _ABSENT
        else f"{name} {printable(found[name])}, not {version}"
        for name, version in sorted(needed.items())
        if found.get(name, _ABSENT) != version
    ]


def refusal(worker: str, found: Iterable[str]) -> str:
    """The sentence about a worker that has these differences."""
    return (
        f"the worker {worker} has {', '.join(found)}: its results could differ; install the same "
        "there and start it again, or stop it"
    )
