"""Pickling of estimators whose methods were registered in this process.

A pickle stores a class by reference, and joblib's (cloudpickle) stores classes of a script or
notebook by value; the process that loads it still has to register their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError
from fsframe.registry import classifiers, default_manager, register, selectors
from fsframe.storage.units.manifest import software

__all__ = ["blank_chain", "own_classes", "with_own_classes"]


def own_classes(chain_of: Callable[[], Chain]) -> dict[str, type]:
    """The classes of the stages of a chain, also resampled ones, that were registered in this
    process, by name; none if the chain is invalid."""
    try:
        used = software(chain_of())
    except (FsframeError, ValueError):
        return {}
    return {
        plugin.entries[0].name: plugin.registered
        for plugin in default_manager().plugins()
        if plugin.registered is not None and plugin.software in used
    }


def with_own_classes(classes: Mapping[str, type]) -> None:
    """Register `classes` under their names if they are not; called by unpickling.

    Raises
    ------
    RequestError
        If an installed plugin offers one of the names.
    """
    for name, method in classes.items():
        if selectors.get(name) is not method and classifiers.get(name) is not method:
            register(name=name)(method)


def blank_chain(kind: Any, classes: Mapping[str, type]) -> Any:
    """An estimator of class `kind` without state, for pickle, after `with_own_classes`."""
    with_own_classes(classes)
    return kind.__new__(kind)
