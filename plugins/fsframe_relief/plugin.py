"""Entries of the Relief family; numerical code is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl

_METHODS = (
    (
        "relief",
        "variants:Relief",
        "Nearest hit against nearest miss of each instance",
        "Kira & Rendell 1992, ICML, Figure 1",
    ),
    (
        "relieff",
        "variants:Relieff",
        "The k nearest hits against the k nearest misses of every other class",
        "Kononenko 1994, ECML; Robnik-Šikonja & Kononenko 2003, Machine Learning 53:23",
    ),
    (
        "rrelieff",
        "variants:Rrelieff",
        "ReliefF for a numeric target",
        "Robnik-Šikonja & Kononenko 1997, ICML; 2003, Machine Learning 53:23, Figure 3",
    ),
    (
        "surf",
        "variants:Surf",
        "All hits and misses nearer than the mean distance",
        "Greene, Penrod, Kiralis & Moore 2009, BioData Mining 2:5",
    ),
    (
        "surfstar",
        "variants:Surfstar",
        "SURF, minus the same score over distant instances; for pure interactions",
        "Greene, Himmelstein, Kiralis & Moore 2010, LNCS 6023:182",
    ),
    (
        "multisurf",
        "variants:Multisurf",
        "Hits and misses within a radius adapted to each instance; nothing to tune",
        "Urbanowicz, Olson, Schmitt, Meeker & Moore 2018, J. Biomed. Inform. 85:168",
    ),
    (
        "multisurfstar",
        "variants:Multisurfstar",
        "MultiSURF, minus the same score over distant instances",
        "Granizo-Mackenzie & Moore 2013, LNCS 7833:1",
    ),
    (
        "swrfstar",
        "variants:Swrfstar",
        "All instances weighted by a sigmoid of distance; distant ones are subtracted",
        "Stokes & Visweswaran 2012, BioData Mining 5:20",
    ),
    (
        "relieved-f",
        "variants:RelievedF",
        "Relief over all instances, without random sampling",
        "John, Kohavi & Pfleger 1994, ICML; Kohavi & John 1997, Artif. Intell. 97:273",
    ),
    (
        "iterative-relief",
        "repeated:IterativeRelief",
        "Relief repeated, each round's scores weighting the distance of the next",
        "Draper, Kaito & Bins 2003, CVPR Workshops",
    ),
    (
        "vls",
        "repeated:Vls",
        "Relief on many random subsets of the features, for very wide tables",
        "Eppstein & Haake 2008, IEEE CIBCB",
    ),
)


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    for name, target, summary, reference in _METHODS:
        yield SelectorEntry(
            name=name,
            target=f"fsframe_relief.methods.{target}",
            summary=summary,
            family="relief",
            gives={"scores", "weights"},
            reference=reference,
            compiles=True,
            proposed=2 if name == "relieff" else 0,
        )
    yield SelectorEntry(
        name="turf",
        target="fsframe_relief.methods.repeated:Turf",
        summary="Repeatedly scores with the stages on its left and drops the worst features",
        family="relief",
        gives={"scores", "weights"},
        reference="Moore & White 2007, LNCS 4447:166",
        wraps=True,
    )
