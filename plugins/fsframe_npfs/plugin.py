"""Entries of this plugin: the NPFS test and its nulls, stability selection, ensembles."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import (
    RELEVANT_QUESTION,
    TOGETHER_QUESTION,
    NullEntry,
    ProposalEntry,
    SelectorEntry,
)
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    yield SelectorEntry(
        name="npfs",
        target="fsframe_npfs.methods.npfs:Npfs",
        summary="Permutation test of a selector's scores over bootstraps; the published test is "
        "null=published",
        family="resampling",
        gives=frozenset({"scores", "pair-weights"}),
        wraps=True,
        named=1,
        pair_weight="share of resamples",
        chosen={"numbers": ("n", "permutations", "permuted_n"), "level": ("largest p kept",)},
        reference="Ditzler, Polikar, Rosen 2015, A bootstrap based Neyman-Pearson test for "
        "identifying variable importance, IEEE Trans. Neural Netw. Learn. Syst. 26(4):880-886, "
        "doi:10.1109/TNNLS.2014.2320415",
    )
    yield SelectorEntry(
        name="ensemble",
        target="fsframe_npfs.methods.stability_selection:Ensemble",
        summary="Aggregates the rankings of a selector over many bootstraps",
        family="resampling",
        gives=frozenset({"scores"}),
        wraps=True,
        reference="Saeys, Abeel, Van de Peer 2008, Robust feature selection using ensemble feature "
        "selection techniques, LNCS 5212:313-325, doi:10.1007/978-3-540-87481-2_21",
    )
    yield SelectorEntry(
        name="cpss",
        target="fsframe_npfs.methods.stability_selection:Cpss",
        summary="Features that a selector keeps on many halves, with a bound on false ones",
        family="resampling",
        gives=frozenset({"scores"}),
        wraps=True,
        reference="Shah, Samworth 2013, Variable selection with error control: another look at "
        "stability selection, J. R. Stat. Soc. B 75(1):55-80, "
        "doi:10.1111/j.1467-9868.2011.01034.x",
        known_as={
            "stability-selection": "cpss",
        },
    )
    yield SelectorEntry(
        name="ipss",
        target="fsframe_npfs.methods.stability_selection:Ipss",
        summary="Features whose score stays high over many halves, with q-values",
        family="resampling",
        gives=frozenset({"scores"}),
        wraps=True,
        reference="Melikechi, Miller 2025, Integrated path stability selection, J. Am. Stat. "
        "Assoc., doi:10.1080/01621459.2025.2525589; Melikechi, Dunson, Miller 2025, Nonparametric "
        "IPSS: fast, flexible feature selection with false discovery control, "
        "Bioinformatics 41(5):btaf299, doi:10.1093/bioinformatics/btaf299",
    )
    yield SelectorEntry(
        name="knockoffs",
        target="fsframe_npfs.methods.knockoffs:Knockoffs",
        summary="Features that a selector prefers to knockoffs of them, with a bound on the FDR",
        family="resampling",
        gives=frozenset({"scores"}),
        wraps=True,
        requires=("scikit-learn",),
        reference="Candès, Fan, Janson, Lv 2018, Panning for gold: model-X knockoffs for high "
        "dimensional controlled variable selection, J. R. Stat. Soc. B 80(3):551-577, "
        "doi:10.1111/rssb.12265; Ren, Barber 2024, Derandomised knockoffs: leveraging e-values "
        "for false discovery rate control, J. R. Stat. Soc. B 86(1):122-154, "
        "doi:10.1093/jrsssb/qkad085",
        known_as={
            "model-x": "knockoffs",
        },
    )


@hookimpl
def fsframe_nulls() -> Iterator[NullEntry]:
    for name, target, summary in (
        ("permutation", "Permutation", "Permuted labels; keeps its level"),
        ("shards", "Shards", "Disjoint parts of a large table; keeps its level"),
        ("published", "Published", "Binomial as published; does not keep its level"),
        ("matlab", "Matlab", "The authors' MATLAB code; does not keep its level"),
    ):
        yield NullEntry(name=name, target=f"fsframe_npfs.engine.nulls:{target}", summary=summary)


_KEPT_BY_CHANCE = "on average, at most 1% of the features that say nothing about the label are kept"


@hookimpl
def fsframe_proposals() -> Iterator[ProposalEntry]:
    """Chains for rows with a time, for groups with different labels, for features that matter only
    together, and for tables without any other proposal."""
    yield ProposalEntry(
        name="time",
        question=RELEVANT_QUESTION,
        place=20,
        tables="rows with a time",
        when={"time"},
        chain="anova-f npfs",
        gaps="anova-f:missing=pairwise npfs",
        promise=_KEPT_BY_CHANCE,
        designs=("drift",),
    )
    yield ProposalEntry(
        name="groups",
        question=RELEVANT_QUESTION,
        place=80,
        tables="rows of one group with different labels",
        when={"groups"},
        unless={"time"},
        chain="anova-f npfs",
        gaps="anova-f:missing=pairwise npfs",
        promise=_KEPT_BY_CHANCE,
    )
    # Beyond these tables it takes long, and has not been measured.
    yield ProposalEntry(
        name="together-weights",
        question=TOGETHER_QUESTION,
        place=85,
        tables="classes, none of them rare, and 10 to 50 columns, if it takes less than six "
        "minutes",
        when={"classification"},
        unless={"rare-class"},
        fewest_columns=10,
        most_columns=50,
        most_hours=0.1,
        chain="immigrate npfs",
        gaps="impute immigrate npfs",
        promise=_KEPT_BY_CHANCE,
        designs=("xor", "three-way"),
    )
    # Above 200 features npfs has a corrected test, which needs a screen; thousands of fits of
    # immigrate to more features, or to many rows, take hours.
    yield ProposalEntry(
        name="weights",
        place=110,
        tables="classes and at most 200 columns, if it takes less than an hour",
        when={"classification"},
        unless={"survival"},
        most_columns=200,
        most_hours=1.0,
        chain="immigrate npfs",
        gaps="impute immigrate npfs",
    )
    yield ProposalEntry(
        name="neighbours",
        place=120,
        tables="at most 200 columns, if it takes less than an hour",
        unless={"survival"},
        most_columns=200,
        most_hours=1.0,
        chain="relieff npfs",
    )
    yield ProposalEntry(
        name="narrow",
        place=130,
        tables="at most 200 columns",
        unless={"survival"},
        most_columns=200,
        chain="mim npfs",
        gaps="mim:missing=pairwise npfs",
    )
    yield ProposalEntry(
        name="wide",
        place=140,
        tables="more than 200 columns",
        fewest_columns=201,
        unless={"survival"},
        chain="mim:top=100 npfs",
        gaps="mim:top=100,missing=pairwise npfs",
    )
