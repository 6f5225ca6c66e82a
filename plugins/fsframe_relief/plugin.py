"""Entries of the Relief family; numerical code is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import (
    TOGETHER_QUESTION,
    ProposalEntry,
    SelectorEntry,
)
from fsframe.registry.hookspecs import hookimpl

_ROBNIK = (
    "Robnik-Šikonja, Kononenko 2003, Theoretical and empirical analysis of ReliefF and RReliefF, "
    "Mach. Learn. 53:23-69, doi:10.1023/A:1025667309714"
)

_METHODS = (
    (
        "relief",
        "variants:Relief",
        "Nearest hit against nearest miss of each instance",
        "Kira, Rendell 1992, A practical approach to feature selection, ICML, pp. 249-256, "
        "doi:10.1016/B978-1-55860-247-2.50037-1, Figure 1",
    ),
    (
        "relieff",
        "variants:Relieff",
        "The k nearest hits against the k nearest misses of every other class",
        "Kononenko 1994, Estimating attributes: analysis and extensions of RELIEF, "
        f"LNCS 784:171-182, doi:10.1007/3-540-57868-4_57; {_ROBNIK}",
    ),
    (
        "rrelieff",
        "variants:Rrelieff",
        "ReliefF for a numeric target",
        "Robnik-Šikonja, Kononenko 1997, An adaptation of Relief for attribute estimation in "
        f"regression, ICML, pp. 296-304; {_ROBNIK}, Figure 3",
    ),
    (
        "surf",
        "variants:Surf",
        "All hits and misses nearer than the mean distance",
        "Greene, Penrod, Kiralis, Moore 2009, Spatially uniform ReliefF (SURF) for "
        "computationally-efficient filtering of gene-gene interactions, BioData Mining 2:5, "
        "doi:10.1186/1756-0381-2-5",
    ),
    (
        "surfstar",
        "variants:Surfstar",
        "SURF, minus the same score over distant instances; for pure interactions",
        "Greene, Himmelstein, Kiralis, Moore 2010, The informative extremes: using both nearest "
        "and farthest individuals can improve Relief algorithms in the domain of human genetics, "
        "LNCS 6023:182-193, doi:10.1007/978-3-642-12211-8_16",
    ),
    (
        "multisurf",
        "variants:Multisurf",
        "Hits and misses within a radius adapted to each instance; nothing to tune",
        "Urbanowicz, Olson, Schmitt, Meeker, Moore 2018, Benchmarking relief-based feature "
        "selection methods for bioinformatics data mining, J. Biomed. Inform. 85:168-188, "
        "doi:10.1016/j.jbi.2018.07.015",
    ),
    (
        "multisurfstar",
        "variants:Multisurfstar",
        "MultiSURF, minus the same score over distant instances",
        "Granizo-Mackenzie, Moore 2013, Multiple threshold spatially uniform ReliefF for the "
        "genetic analysis of complex human diseases, LNCS 7833:1-10, "
        "doi:10.1007/978-3-642-37189-9_1",
    ),
    (
        "swrfstar",
        "variants:Swrfstar",
        "All instances weighted by a sigmoid of distance; distant ones are subtracted",
        "Stokes, Visweswaran 2012, Application of a spatially-weighted Relief algorithm for "
        "ranking genetic predictors of disease, BioData Mining 5:20, doi:10.1186/1756-0381-5-20",
    ),
    (
        "relieved-f",
        "variants:RelievedF",
        "Relief over all instances, without random sampling",
        "John, Kohavi, Pfleger 1994, Irrelevant features and the subset selection problem, ICML, "
        "pp. 121-129, doi:10.1016/B978-1-55860-335-6.50023-4; Kohavi, John 1997, Wrappers for "
        "feature subset selection, Artif. Intell. 97:273-324, doi:10.1016/S0004-3702(97)00043-X",
    ),
    (
        "iterative-relief",
        "repeated:IterativeRelief",
        "Relief repeated, each round's scores weighting the distance of the next",
        "Draper, Kaito, Bins 2003, Iterative Relief, IEEE CVPR Workshops",
    ),
    (
        "vls",
        "repeated:Vls",
        "Relief on many random subsets of the features, for very wide tables",
        "Eppstein, Haake 2008, Very large scale ReliefF for genome-wide association analysis, "
        "IEEE CIBCB, pp. 112-119",
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
            named=2 if name == "relieff" else 0,
        )
    yield SelectorEntry(
        name="turf",
        target="fsframe_relief.methods.repeated:Turf",
        summary="Repeatedly scores with the stages on its left and drops the worst features",
        family="relief",
        gives={"scores", "weights"},
        reference="Moore, White 2007, Tuning ReliefF for genome-wide genetic analysis, "
        "LNCS 4447:166-175, doi:10.1007/978-3-540-71783-6_16",
        wraps=True,
    )


@hookimpl
def fsframe_proposals() -> Iterator[ProposalEntry]:
    """Chains for narrow tables, on which they keep their promises (docs/ledger.md)."""
    yield ProposalEntry(
        name="together",
        question=TOGETHER_QUESTION,
        place=90,
        tables="classes, none of them rare, and 10 to 50 columns, none a copy of another",
        when={"classification"},
        unless={"rare-class", "copies"},
        fewest_columns=10,
        most_columns=50,
        # A half has fewer rows than the table: fewer neighbours are as near.
        chain="relieff:top=5,k=7 cpss",
        promise="on average, at most one kept feature is false",
    )
    yield ProposalEntry(
        name="together-others",
        question=TOGETHER_QUESTION,
        place=95,
        tables="classes and at most 50 columns",
        when={"classification"},
        most_columns=50,
        chain="relieff ipss",
        promise="on average, at most 10% of the kept features are false",
    )
