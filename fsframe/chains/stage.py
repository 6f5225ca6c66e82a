"""One stage of a chain, a named method, and its result; the interface of a chain's result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import attrs

from fsframe.grammar import StageText, format_stages
from fsframe.method.classifier import Classifier, FittedOnColumns
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.params import format_value
from fsframe.registry import Registry, classifiers, find_offer, selectors
from fsframe.storage import RunRecord
from fsframe.table.dataset import Dataset

__all__ = ["ChainResult", "RunsInSteps", "Stage", "StageResult", "find_method", "registry_of_class"]


@attrs.frozen
class Stage:
    """One stage: a method with its parameters, and the name it was requested by."""

    name: str
    method: Selector | Classifier

    @property
    def text(self) -> StageText:
        """The stage as text, without parameters at their defaults."""
        return StageText(self.name, {k: format_value(v) for k, v in self.method.changed().items()})

    def __str__(self) -> str:
        return format_stages([self.text])


@attrs.frozen(kw_only=True, eq=False)
class StageResult:
    """Result of one stage: a Selection or a fitted classifier, and its running time."""

    stage: Stage
    key: tuple[int, ...]
    seconds: float
    selection: Selection | None = None
    fitted: FittedOnColumns | None = None


class RunsInSteps(Protocol):
    """The interface of `fsframe.chains.chain.Chain` that recording needs."""

    @property
    def stages(self) -> tuple[Stage, ...]: ...

    def check_request(self, data: Dataset) -> None: ...

    def forewarnings(self, data: Dataset) -> Iterator[str]: ...

    def steps(
        self, data: Dataset, run: Run, upstream: Selection | None = None, start: int = 0
    ) -> Iterator[StageResult]: ...


def find_method(name: str) -> type[Selector] | type[Classifier]:
    """The selector or classifier of that name.

    Raises
    ------
    RequestError, PluginError
        As raised by `fsframe.registry.find_offer`.
    """
    registry, offer = find_offer(name, selectors, classifiers)
    return registry[offer.name]  # type: ignore[no-any-return]


def registry_of_class(method: type[Selector] | type[Classifier]) -> Registry:
    """The registry that a method's name is looked up in."""
    return classifiers if issubclass(method, Classifier) else selectors


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ChainResult(RunRecord):
    """A run that plots and saves itself: `Chain.run` returns it as a `fsframe.SelectionResult`."""

    def plot(
        self,
        kind: str | None = None,
        ax: Any = None,
        *,
        data: Dataset | None = None,
        most: int | None = None,
        pair: tuple[str, str] | None = None,
    ) -> Any:
        """Plot the run."""
        raise NotImplementedError

    def to_sklearn(self) -> Any:
        """The selection as a fitted transformer of scikit-learn."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the run file to `path`."""
        raise NotImplementedError
