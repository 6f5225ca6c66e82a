"""Entries of this plugin; imports no numerical code."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import ClassifierEntry
from fsframe.registry.hookspecs import hookimpl

__all__ = ["fsframe_classifiers"]


@hookimpl
def fsframe_classifiers() -> Iterator[ClassifierEntry]:
    """Classifiers without feature weights."""
    yield ClassifierEntry(
        name="knn",
        target="fsframe_classify.knn:Knn",
        summary="k nearest neighbours on standardised features: majority vote, or mean of a "
        "numeric target",
        reference="Fix, Hodges 1951; Aha, Kibler, Albert 1991",
    )
