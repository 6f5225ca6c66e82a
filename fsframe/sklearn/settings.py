"""Parameters that estimators have beside those of their methods."""

from __future__ import annotations

from typing import Any

import attrs

from fsframe.contracts.classifier import Classifier
from fsframe.contracts.selector import Selector

__all__ = ["SETTINGS", "Setting", "settings_of"]


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
    both = issubclass(method, Selector) and len(method.tasks) > 1
    return tuple(name for name in SETTINGS if name not in own and (name != "task" or both))
