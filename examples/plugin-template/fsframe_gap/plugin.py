"""What this plugin offers; imports no numpy, so that listing it is quick."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    yield SelectorEntry(
        name="gap",
        target="fsframe_gap.gap:Gap",
        summary="Columns by the gap between class means, in standard deviations",
        family="statistics",
        gives={"scores"},
        reference="Tusher, Tibshirani, Chu 2001, PNAS 98:5116, eq. 1, with the whole column's "
        "standard deviation",
    )
