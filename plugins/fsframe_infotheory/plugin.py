"""The information-theoretic family: what it offers; the mathematics is imported when asked for."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.entries import SelectorEntry
from fsframe.hookspecs import hookimpl

_BROWN = "Brown, Pocock, Zhao, Luján 2012, J. Mach. Learn. Res. 13:27"


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    yield SelectorEntry(
        name="mim",
        target="fsframe_infotheory.mim:Mim",
        summary="features of the largest mutual information with the class, each alone",
        family="information theory",
        gives={"scores"},
        reference=_BROWN + ", eq. 12; Lewis 1992",
    )
