"""Entries of this plugin; imports no numerical code."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import (
    FALSE_SHARE,
    RELEVANT_QUESTION,
    ProposalEntry,
    RegressorEntry,
    SelectorEntry,
)
from fsframe.registry.hookspecs import hookimpl

_COX = (
    "Cox 1972, Regression models and life-tables, J. R. Stat. Soc. B 34(2):187-220, "
    "doi:10.1111/j.2517-6161.1972.tb00899.x; Efron 1977, The efficiency of Cox's likelihood "
    "function for censored data, J. Am. Stat. Assoc. 72(359):557-565, "
    "doi:10.1080/01621459.1977.10480613"
)


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
        named=4,
        known_as={
            "log-rank": "cox-score",
            "univariate-cox": "cox-score",
        },
    )


@hookimpl
def fsframe_regressors() -> Iterator[RegressorEntry]:
    """Models that predict risks."""
    yield RegressorEntry(
        name="cox",
        target="fsframe_survival.cox:Cox",
        summary="Cox proportional hazards with a ridge penalty; predicts log hazard ratios",
        reference=f"{_COX}; Verweij, van Houwelingen 1994, Penalized likelihood in Cox regression, "
        "Stat. Med. 13:2427-2436, doi:10.1002/sim.4780132307",
    )


@hookimpl
def fsframe_proposals() -> Iterator[ProposalEntry]:
    """Proposals for times until an event."""
    yield ProposalEntry(
        name="survival",
        question=RELEVANT_QUESTION,
        place=10,
        tables="times until an event",
        when={"survival"},
        chain="cox-score:alpha=0.05",
        gaps="impute cox-score:alpha=0.05",
        promise=FALSE_SHARE,
        designs=("survival",),
    )
    yield ProposalEntry(
        name="ordered-survival",
        place=150,
        tables="times until an event, and roles that only a test by resampling supports",
        when={"survival"},
        chain="cox-score npfs",
        gaps="impute cox-score npfs",
    )
