"""Versions that a worker must have for what a resample runs."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any

import attrs

from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError
from fsframe.execution.worker_versions import found_here
from fsframe.registry import default_manager, nulls
from fsframe.storage.units.manifest import software

__all__ = ["needed_by"]


def needed_by(*parts: Any) -> dict[str, str]:
    """Versions of everything that may change a bit of what `parts` give, as they are here.

    Parameters
    ----------
    parts
        Bases as they travel: chains or their text, or objects that hold some, such as the task of
        a fold; what draws the counts; functions that workers call.

    Returns
    -------
    dict of str to str
        Python (major and minor), fsframe, NumPy, SciPy, numba, and ``plugin NAME`` for each plugin
        whose stages or classes are in use, ``class MODULE:CLASS as NAME`` for those that this
        process has registered.

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
    if isinstance(part, FunctionType):
        return dict(_owners(part))
    found = dict(_owners(type(part)))
    if attrs.has(type(part)):
        for field in attrs.fields(type(part)):
            value = getattr(part, field.name, None)
            chain = field.name in ("base", "classifier") and value
            if chain or isinstance(value, Chain):
                found |= _of(value)
            if field.name == "null" and isinstance(value, str):
                found |= {o.plugin.software: o.version for o in nulls.matching(value)}
    return found


def _owners(kind: type | FunctionType) -> Iterator[tuple[str, str]]:
    """Names and versions of the plugins in whose packages it stands, or of the class itself."""
    package = kind.__module__.partition(".")[0]
    for plugin in default_manager().plugins():
        source = plugin.source
        if plugin.registered is not None:
            if plugin.registered is kind:
                yield plugin.software, source.version
            continue
        if package != "fsframe" and source.target.partition(":")[0].partition(".")[0] == package:
            yield plugin.software, source.version
