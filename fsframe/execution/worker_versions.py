"""Checks that workers have the same versions as this process."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping

from fsframe.errors import RequestError
from fsframe.registry import default_manager, local_class_version, unreachable_classes
from fsframe.storage import printable
from fsframe.storage.numeric_fingerprint import NUMERIC_PARTS, fingerprint, release

__all__ = ["check_classes", "differences", "found_here", "refusal", "refusal_here"]

_ABSENT = "absent"


def found_here(names: Iterable[str]) -> dict[str, str]:
    """The versions of `names` in this process; "absent", or why it cannot be used, where not.

    `names` may include parts of the numeric fingerprint
    (`fsframe.storage.numeric_fingerprint.NUMERIC_PARTS`).
    """
    return {name: _found(name) for name in names}


def _found(name: str) -> str:
    if name in NUMERIC_PARTS:
        return fingerprint()[name]
    kind, _, plugin = name.partition(" ")
    if kind == "class":
        return local_class_version(plugin) or _ABSENT
    if kind != "plugin":
        return release(name)
    for loaded in default_manager().plugins():
        if loaded.provider == plugin:
            if loaded.status == "loaded":
                return loaded.source.version
            return f"{loaded.source.version}, which is {loaded.status} ({loaded.reason})"
    return _ABSENT


def differences(needed: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Differences of `found` from the versions needed, one phrase each.

    >>> differences({"numpy": "2.4.6", "plugin tiny": "1.0"}, {"numpy": "2.3.0"})
    ['numpy 2.3.0, not 2.4.6', 'no plugin tiny (here 1.0)']
    """
    return [
        _missing(name, version)
        if found.get(name, _ABSENT) == _ABSENT
        else f"{name} {printable(found[name])}, not {version}"
        for name, version in sorted(needed.items())
        if found.get(name, _ABSENT) != version
    ]


def _missing(name: str, version: str) -> str:
    kind, _, rest = name.partition(" ")
    if kind == "class":
        module = rest.partition(":")[0]
        return f"no {rest} (a class of this program; its module {module} cannot be imported there)"
    return f"no {name} (here {version})"


def check_classes(needed: Mapping[str, str], *, program: bool) -> None:
    """Refuse classes of this process that workers cannot import.

    Parameters
    ----------
    needed : mapping of str to str
        As for `differences`.
    program : bool
        Whether workers also import the main program of this process.

    Raises
    ------
    RequestError
        Saying what to do instead.
    """
    references = (name.removeprefix("class ") for name in needed if name.startswith("class "))
    problems = list(unreachable_classes(references, program=program))
    if problems:
        raise RequestError("\n".join(problems))


def refusal(worker: str, found: Iterable[str]) -> str:
    """The message about a worker with these differences."""
    found = list(found)
    if all(each.startswith(NUMERIC_PARTS) for each in found):
        return (
            f"the worker {worker} has {', '.join(found)}: its results could differ in the last "
            "bits; stop it, or accept results of both in one run, which records this (--mixed, "
            "mixed=True)"
        )
    return (
        f"the worker {worker} has {', '.join(found)}: its results could differ; install the same "
        "version there and restart it, or stop it"
    )


def refusal_here(needed: Mapping[str, str]) -> str:
    """The message if this process differs from the versions needed; else empty."""
    found = differences(needed, found_here(needed))
    return refusal(f"process {os.getpid()} on {socket.gethostname()}", found) if found else ""
