"""Entries of this plugin; imports no numerical code."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import RegressorEntry, SelectorEntry
from fsframe.registry.hookspecs import hookimpl

_COX = "Cox 1972, J. R. Statist. Soc. B 34:187; Efron 1977, JASA 72:557"


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    """Selectors for survival times."""
    yield SelectorEntry(
        name="cox-score",
        target="fsframe_survival.cox:CoxScore",
        summary="Score test of each feature in Cox's proportional hazards model",
        family="survival",
        gives=frozenset({"scores", "p-values"}),
        reference=_COX,
        proposed=4,
    )


@hookimpl
def fsframe_regressors() -> Iterator[RegressorEntry]:
    """Models that predict risks."""
    yield RegressorEntry(
        name="cox",
        target="fsframe_survival.cox:Cox",
        summary="Cox proportional hazards with a ridge penalty; predicts log hazard ratios",
        reference=f"{_COX}; Verweij, van Houwelingen 1994, Stat. Med. 13:2427",
    )
