"""Versions that must be equal where a resample is asked for and where it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fsframe.registry import default_manager
from fsframe.storage import printable
from fsframe.storage.units.manifest import release

__all__ = ["differences", "found_here", "refusal"]

_ABSENT = "absent"


def found_here(names: Iterable[str]) -> dict[str, str]:
    """The versions of `names` in this process; "absent", or why it cannot be used, where not."""
    return {name: _found(name) for name in names}


def _found(name: str) -> str:
    kind, _, plugin = name.partition(" ")
    if kind != "plugin":
        return release(name)
    for loaded in default_manager().plugins():
        if loaded.provider == plugin:
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
