"""Parameters that estimators have besides those of their methods."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from fsframe.contracts.classifier import Classifier
from fsframe.contracts.selector import Selector

__all__ = ["SETTINGS", "Setting", "is_set", "settings_of"]


@attrs.frozen(kw_only=True)
class Setting:
    """One of them: its default, its type for docstrings and for annotations, and its help."""

    default: Any
    kind: str
    annotation: str
    help: str


SETTINGS = {
    "task": Setting(
        default="auto",
        kind='{"auto", "classification", "regression"}',
        annotation='Literal["auto", "classification", "regression"]',
        help="Whether y names classes or is a number; auto: numbers that are not all whole are a "
        "target, all else classes.",
    ),
    "always_keep": Setting(
        default=None,
        kind="name or position of a column, several of them, or None",
        annotation="str | int | Sequence[str | int] | None",
        help="Columns of X that are kept whatever is found; greedy filters start from them.",
    ),
    "feature_groups": Setting(
        default=None,
        kind="mapping of str to names or positions of columns, or None",
        annotation="Mapping[str, Sequence[str | int]] | None",
        help="Columns of X that are kept or dropped together, by what their group is called.",
    ),
    "random_state": Setting(
        default=0,
        kind="int, RandomState, Generator or None",
        annotation="int | np.random.RandomState | np.random.Generator | None",
        help="Seed; equal ones give equal bits. None draws from numpy's global state.",
    ),
    "n_jobs": Setting(
        default=None,
        kind="int or None",
        annotation="int | None",
        help="Threads that a fit may use, -1 for all processors; None is 1, unless in a "
        "joblib.parallel_config. Results do not depend on it.",
    ),
    "memory_limit": Setting(
        default=None,
        kind="int or None",
        annotation="int | None",
        help="Bytes that a fit may hold beside the table; None is 2 GiB.",
    ),
}


def settings_of(method: type[Selector] | type[Classifier]) -> tuple[str, ...]:
    """Which of them the estimator of a method has: none that the method declares itself."""
    own = {parameter.name for parameter in method.parameters()}
    if not issubclass(method, Selector):
        own |= {"task", "always_keep", "feature_groups"}
    elif len(method.tasks) < 2:
        own.add("task")
    return tuple(name for name in SETTINGS if name not in own)


def is_set(value: Any, default: Any) -> bool:
    """Whether a setting differs from its default; sequences and arrays always do."""
    return bool(np.ndim(value)) or value != default
