"""Versions that a worker must have to run a resample."""

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
    """Versions, in this process, of everything that may change a bit of the results of `parts`.

    Parameters
    ----------
    parts
        Bases as they are sent: chains or their text, or objects that hold chains, such as the task
        of a fold; objects that draw counts; functions that workers call.

    Returns
    -------
    dict of str to str
        Python (major and minor), fsframe, NumPy, SciPy, numba, ``plugin NAME`` for each plugin
        whose stages or classes are used, and ``class MODULE:CLASS as NAME`` for classes registered
        in this process.

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
            # A text that is not a chain is reported when it is run.
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
    """Names and versions of the plugins whose packages define it, or of the class itself."""
    package = kind.__module__.partition(".")[0]
    for plugin in default_manager().plugins():
        source = plugin.source
        if plugin.registered is not None:
            if plugin.registered is kind:
                yield plugin.software, source.version
            continue
        if package != "fsframe" and source.target.partition(":")[0].partition(".")[0] == package:
            yield plugin.software, source.version
