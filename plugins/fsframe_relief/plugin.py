"""The Relief family: what it offers; the mathematics is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl

_METHODS = (
    (
        "relief",
        "relief:Relief",
        "Nearest hit against nearest miss of every instance",
        "Kira & Rendell 1992, ICML, Figure 1",
    ),
    (
        "relieff",
        "relieff:Relieff",
        "The k nearest hits against the k nearest misses of each other class",
        "Kononenko 1994, ECML; Robnik-Šikonja & Kononenko 2003, Machine Learning 53:23",
    ),
    (
        "rrelieff",
        "rrelieff:Rrelieff",
        "ReliefF for a numeric target",
        "Robnik-Šikonja & Kononenko 1997, ICML; 2003, Machine Learning 53:23, Figure 3",
    ),
    (
        "surf",
        "surf:Surf",
        "All hits and misses nearer than the mean distance",
        "Greene, Penrod, Kiralis & Moore 2009, BioData Mining 2:5",
    ),
    (
        "surfstar",
        "surfstar:Surfstar",
        "SURF minus the same score on far instances; for pure interactions",
        "Greene, Himmelstein, Kiralis & Moore 2010, LNCS 6023:182",
    ),
    (
        "multisurf",
        "multisurf:Multisurf",
        "Hits and misses within a radius of each instance's own; nothing to tune",
        "Urbanowicz, Olson, Schmitt, Meeker & Moore 2018, J. Biomed. Inform. 85:168",
    ),
    (
        "multisurfstar",
        "multisurfstar:Multisurfstar",
        "MultiSURF minus the same score on far instances",
        "Granizo-Mackenzie & Moore 2013, LNCS 7833:1",
    ),
    (
        "swrfstar",
        "swrfstar:Swrfstar",
        "All instances weighted by a sigmoid of distance, far ones subtracted",
        "Stokes & Visweswaran 2012, BioData Mining 5:20",
    ),
    (
        "relieved-f",
        "relieved_f:RelievedF",
        "All nearest hits and misses of every instance, without random sampling",
        "John, Kohavi & Pfleger 1994, ICML; Kohavi & John 1997, Artif. Intell. 97:273",
    ),
    (
        "iterative-relief",
        "iterative_relief:IterativeRelief",
        "Scores of one round weigh the features in the distance of the next",
        "Draper, Kaito & Bins 2003, CVPR Workshops",
    ),
    (
        "vls",
        "vls:Vls",
        "Relief on many small random subsets of very many features",
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
        target="fsframe_relief.methods.turf:Turf",
        summary="Repeatedly scores with the stages on its left and drops the worst columns",
        family="relief",
        gives={"scores", "weights"},
        reference="Moore & White 2007, LNCS 4447:166",
        wraps=True,
    )
