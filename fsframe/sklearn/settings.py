"""Parameters of estimators besides those of their methods."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from fsframe.method.classifier import Classifier
from fsframe.method.selector import Selector

__all__ = ["SETTINGS", "Setting", "is_set", "settings_of"]


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
