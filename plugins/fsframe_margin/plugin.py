"""The margin family: what it offers; the mathematics is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.entries import ClassifierEntry, SelectorEntry
from fsframe.hookspecs import hookimpl

_IMMIGRATE = (
    "Zhao, Hong, Liu: IMMIGRATE, a margin-based feature selection method with interaction terms"
)


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    yield SelectorEntry(
        name="immigrate",
        target="fsframe_margin.immigrate:Immigrate",
        summary="Weights of features and of pairs of features that maximise stable margins",
        family="margin",
        gives={"scores", "weights", "pair-weights"},
        reference=_IMMIGRATE + ", Algorithm 2",
    )


@hookimpl
def fsframe_classifiers() -> Iterator[ClassifierEntry]:
    yield from ()
