"""What this plugin offers: the NPFS test and ensembles of rankings, both wrapping stages."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    yield SelectorEntry(
        name="npfs",
        target="fsframe_npfs.methods.npfs:Npfs",
        summary="Features or pairs selected more often over bootstraps than expected by chance",
        family="resampling",
        gives=frozenset({"scores", "pair-weights"}),
        wraps=True,
        pair_weight="share of resamples",
        reference="Ditzler, Polikar, Rosen 2015, A bootstrap based Neyman-Pearson test for "
        "identifying variable importance, IEEE Trans. Neural Netw. Learn. Syst. 26(4):880",
    )
    yield SelectorEntry(
        name="ensemble",
        target="fsframe_npfs.methods.ensemble:Ensemble",
        summary="Aggregates the rankings of a selector over many resamples",
        family="resampling",
        gives=frozenset({"scores"}),
        wraps=True,
        reference="Saeys, Abeel, Van de Peer 2008, Robust feature selection using ensemble feature "
        "selection techniques, ECML PKDD; Meinshausen, Bühlmann 2010, Stability selection",
    )
