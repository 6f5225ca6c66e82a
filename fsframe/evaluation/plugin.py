"""What the core itself offers through its own door: cross-validation as a stage."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl

__all__ = ["fsframe_selectors"]


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    """The protocols as wrapping stages."""
    yield SelectorEntry(
        name="cross-validation",
        target="fsframe.evaluation.cross_validation:CrossValidation",
        summary="How well a chain predicts rows it has not seen, and how often it keeps a feature",
        family="protocol",
        gives=frozenset({"scores"}),
        reference="Ambroise, McLachlan 2002, PNAS 99(10), external cross-validation",
        wraps=True,
    )
    yield SelectorEntry(
        name="stability-study",
        target="fsframe.evaluation.stability_study:StabilityStudy",
        summary="How alike the features are that a chain keeps when the rows are drawn again",
        family="protocol",
        gives=frozenset({"scores"}),
        reference="Kalousis, Prados, Hilario 2007; Nogueira, Sechidis, Brown 2018",
        wraps=True,
    )
