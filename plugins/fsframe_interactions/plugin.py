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
        reference="Wan et al. 2010, Am. J. Hum. Genet. 87:325 (BOOST)",
    )
    yield SelectorEntry(
        name="interactions-split",
        target="fsframe_interactions.split:InteractionsSplit",
        summary="selects pairs on half of the rows and tests them on the other half",
        family="interactions",
        gives={"scores", "pair-weights"},
        pair_weight="−log₁₀ p of interaction, on rows that did not choose",
        compiles=True,
        reference="Cox 1975, Biometrika 62:441 (data splitting)",
    )
