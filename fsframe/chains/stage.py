"""One stage of a chain: a method under a name, and what it did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import attrs

from fsframe.contracts.classifier import Classifier, FittedOnColumns
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.grammar import StageText, format_stages
from fsframe.contracts.params import format_value
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe.contracts.selector import Selector
from fsframe.registry import Registry, classifiers, find_offer, selectors

__all__ = ["RunsInSteps", "Stage", "StageResult", "find_method", "registry_of_class"]


@attrs.frozen
class Stage:
    """One stage: a method with its parameters, under the name it was asked for."""

    name: str
    method: Selector | Classifier

    @property
    def text(self) -> StageText:
        """The stage as text, parameters at their defaults left out."""
        return StageText(self.name, {k: format_value(v) for k, v in self.method.changed().items()})

    def __str__(self) -> str:
        return format_stages([self.text])


@attrs.frozen(kw_only=True, eq=False)
class StageResult:
    """What one stage did: a Selection, or a fitted classifier, and the seconds it took."""

    stage: Stage
    key: tuple[int, ...]
    seconds: float
    selection: Selection | None = None
    fitted: FittedOnColumns | None = None


class RunsInSteps(Protocol):
    """Stages that run one after the other on a table: a `fsframe.chains.chain.Chain`."""

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
        As `fsframe.registry.find_offer` says.
    """
    registry, offer = find_offer(name, selectors, classifiers)
    return registry[offer.name]  # type: ignore[no-any-return]


def registry_of_class(method: type[Selector] | type[Classifier]) -> Registry:
    """The registry that a method's name is looked up in."""
    return classifiers if issubclass(method, Classifier) else selectors
