"""Pickling of classes that this process has registered.

A pickle names a class of a module by reference, and joblib's own (cloudpickle) carries one of a
program or of a notebook whole; what the other process lacks is the name in its registry.
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
    """From names to those classes among the stages of a chain that this process has registered,
    stages that other stages resample included; nothing of a chain that is refused."""
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
    """Register `classes` here under their names, where they are not; called by unpickling.

    Raises
    ------
    RequestError
        If an installed plugin offers one of the names here.
    """
    for name, method in classes.items():
        if selectors.get(name) is not method and classifiers.get(name) is not method:
            register(name=name)(method)


def blank_chain(kind: Any, classes: Mapping[str, type]) -> Any:
    """An estimator of class `kind` without state; `classes` first, so that its stages find them."""
    with_own_classes(classes)
    return kind.__new__(kind)
