"""Entries of the interaction tests; numerical code is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    yield SelectorEntry(
        name="interactions",
        target="fsframe_interactions.interactions:Interactions",
        summary="features in pairs that interact: effects on the class beyond both main effects",
        family="interactions",
        gives={"scores", "pair-weights", "pair-test"},
        pair_weight="−log₁₀ p of interaction",
        compiles=True,
        reference="Wan et al. 2010, BOOST: a fast approach to detecting gene-gene interactions in "
        "genome-wide case-control studies, Am. J. Hum. Genet. 87(3):325-340, "
        "doi:10.1016/j.ajhg.2010.07.021",
    )
    yield SelectorEntry(
        name="interactions-split",
        target="fsframe_interactions.split:InteractionsSplit",
        summary="selects pairs on half of the rows and tests them on the other half",
        family="interactions",
        gives={"scores", "pair-weights"},
        pair_weight="−log₁₀ p of interaction, on rows that did not choose",
        compiles=True,
        reference="Cox 1975, A note on data-splitting for the evaluation of significance levels, "
        "Biometrika 62(2):441-444, doi:10.1093/biomet/62.2.441",
    )
