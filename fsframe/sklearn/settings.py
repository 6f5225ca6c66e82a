"""Settings that estimators have beside the parameters of their methods, and pickles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError
from fsframe.method.classifier import Classifier
from fsframe.method.selector import Selector
from fsframe.registry import classifiers, default_manager, register, selectors
from fsframe.storage.units.unit_files import software


@attrs.frozen(kw_only=True)
class Setting:
    """A parameter: its default, its type for docstrings and annotations, and its help."""

    default: Any
    kind: str
    annotation: str
    help: str


SETTINGS = {
    "task": Setting(
        default="auto",
        kind='{"auto", "classification", "regression"}',
        annotation='Literal["auto", "classification", "regression"]',
        help="Whether y holds classes or a numeric target; auto: a target if the values are not "
        "all integers.",
    ),
    "always_keep": Setting(
        default=None,
        kind="name or position of a column, several of them, or None",
        annotation="str | int | Sequence[str | int] | None",
        help="Columns of X that are always kept; greedy filters start from them.",
    ),
    "feature_groups": Setting(
        default=None,
        kind="mapping of str to names or positions of columns, or None",
        annotation="Mapping[str, Sequence[str | int]] | None",
        help="Columns of X that are kept or dropped together, by name of their group.",
    ),
    "random_state": Setting(
        default=0,
        kind="int, RandomState, Generator or None",
        annotation="int | np.random.RandomState | np.random.Generator | None",
        help="Seed; equal seeds give bit-identical results. None draws from numpy's global state.",
    ),
    "n_jobs": Setting(
        default=None,
        kind="int or None",
        annotation="int | None",
        help="Number of threads of a fit, -1 for all processors; None is 1, except in a "
        "joblib.parallel_config. Results do not depend on it.",
    ),
    "memory_limit": Setting(
        default=None,
        kind="int or None",
        annotation="int | None",
        help="Memory limit of a fit besides the table, in bytes; None is 2 GiB.",
    ),
}


def settings_of(method: type[Selector] | type[Classifier]) -> tuple[str, ...]:
    """The settings of a method's estimator, without those that the method declares itself."""
    own = {parameter.name for parameter in method.parameters()}
    if not issubclass(method, Selector):
        own |= {"task", "always_keep", "feature_groups"}
    elif len(method.tasks) < 2:
        own.add("task")
    return tuple(name for name in SETTINGS if name not in own)


def is_set(value: Any, default: Any) -> bool:
    """Whether a setting differs from its default; sequences and arrays always do."""
    return bool(np.ndim(value)) or value != default


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
