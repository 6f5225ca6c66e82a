"""What this plugin offers; imports no mathematics."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import ClassifierEntry
from fsframe.registry.hookspecs import hookimpl

__all__ = ["fsframe_classifiers"]


@hookimpl
def fsframe_classifiers() -> Iterator[ClassifierEntry]:
    """Any classifier of scikit-learn."""
    yield ClassifierEntry(
        name="sklearn",
        target="fsframe_sklearn.methods.classifier:Sklearn",
        summary="Any scikit-learn classifier by its public name",
        reference="Pedregosa et al. 2011, JMLR 12",
    )
