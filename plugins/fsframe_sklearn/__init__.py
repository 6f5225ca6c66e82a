"""Scikit-learn's estimators as stages: selectors, and the classifier at the end of a chain.

This module declares what the plugin offers, and imports nothing numerical.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsframe.registry.entries import (
    ClassifierEntry,
    ProposalEntry,
    RegressorEntry,
    SelectorEntry,
    entries_in,
)
from fsframe.registry.hookspecs import hookimpl

_DECLARED = Path(__file__).with_name("entries.toml")


@hookimpl
def fsframe_classifiers() -> Iterator[ClassifierEntry]:
    """Any classifier or regressor of scikit-learn."""
    return entries_in(_DECLARED, ClassifierEntry)


@hookimpl
def fsframe_regressors() -> Iterator[RegressorEntry]:
    """Ridge regression, a baseline for numeric targets."""
    return entries_in(_DECLARED, RegressorEntry)


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    """Selectors of scikit-learn, and selection by its estimators."""
    return entries_in(_DECLARED, SelectorEntry)


@hookimpl
def fsframe_proposals() -> Iterator[ProposalEntry]:
    """Proposals for tables on which tests of single columns find less: heavy tails, a numeric
    target, correlated columns."""
    return entries_in(_DECLARED, ProposalEntry)
