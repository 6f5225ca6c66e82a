"""Entries of the information-theoretic family; numerical code is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import ProposalEntry, SelectorEntry
from fsframe.registry.hookspecs import hookimpl

_BROWN = (
    "Brown, Pocock, Zhao, Luján 2012, Conditional likelihood maximisation: a unifying framework "
    "for information theoretic feature selection, J. Mach. Learn. Res. 13:27-66"
)
_BENNASAR = (
    "Bennasar, Hicks, Setchi 2015, Feature selection using joint mutual information maximisation, "
    "Expert Syst. Appl. 42(22):8520-8532, doi:10.1016/j.eswa.2015.07.007"
)

_OFFERS = (
    ("mim", "features ranked by their mutual information with the class", _BROWN),
    (
        "mifs",
        "relevance − β · summed redundancy with the selected features",
        "Battiti 1994, Using mutual information for selecting features in supervised neural net "
        "learning, IEEE Trans. Neural Netw. 5(4):537-550, doi:10.1109/72.298224",
    ),
    (
        "mrmr",
        "relevance − mean redundancy with the selected features",
        "Peng, Long, Ding 2005, Feature selection based on mutual information: criteria of "
        "max-dependency, max-relevance, and min-redundancy, IEEE Trans. Pattern Anal. Mach. "
        "Intell. 27(8):1226-1238, doi:10.1109/TPAMI.2005.159",
    ),
    (
        "jmi",
        "joint mutual information of feature, selected feature and class, summed",
        "Yang, Moody 1999, Data visualization and feature selection: new algorithms for "
        "nongaussian data, NIPS 12, pp. 687-693",
    ),
    (
        "cmim",
        "smallest information a feature adds to any one selected feature",
        "Fleuret 2004, Fast binary feature selection with conditional mutual information, "
        "J. Mach. Learn. Res. 5:1531-1555",
    ),
    (
        "disr",
        "joint mutual information normalised by joint entropy",
        "Meyer, Bontempi 2006, On the use of variable complementarity for feature selection in "
        "cancer classification, LNCS 3907:91-102, doi:10.1007/11732242_9",
    ),
    (
        "icap",
        "relevance − redundancy that the class does not compensate for",
        "Jakulin 2005, Machine learning based on attribute interactions, PhD thesis, University "
        "of Ljubljana",
    ),
    (
        "cife",
        "relevance − redundancy + class-conditional redundancy",
        "Lin, Tang 2006, Conditional infomax learning: an integrated framework for feature "
        "extraction and fusion, LNCS 3951:68-82, doi:10.1007/11744023_6",
    ),
    ("condred", "relevance + class-conditional redundancy", _BROWN),
    (
        "betagamma",
        "relevance − β·redundancy + γ·class-conditional redundancy, for any β and γ",
        _BROWN + ", eq. 17",
    ),
    (
        "jmim",
        "smallest joint mutual information with any one selected feature",
        _BENNASAR,
    ),
    ("njmim", "as jmim, normalised by joint entropy", _BENNASAR),
    ("cmi", "information a feature adds to all selected features jointly", _BROWN + ", eq. 8"),
    (
        "jmi3",
        "joint mutual information with each pair of selected features, summed",
        "Sechidis, Azzimonti, Pocock, Corani, Weatherall, Brown 2019, Efficient feature selection "
        "using shrinkage estimators, Mach. Learn. 108:1261-1286, doi:10.1007/s10994-019-05795-1",
    ),
    (
        "symmetric-uncertainty",
        "mutual information divided by the mean of the two entropies",
        "Yu, Liu 2004, Efficient feature selection via analysis of relevance and redundancy, "
        "J. Mach. Learn. Res. 5:1205-1224, eq. 3",
    ),
    (
        "fcbf",
        "predominant features: those that no better feature makes redundant",
        "Yu, Liu 2003, Feature selection for high-dimensional data: a fast correlation-based "
        "filter solution, ICML, pp. 856-863, ISBN 978-1-57735-189-4",
    ),
)

_KNOWN_AS = {
    "mim": dict.fromkeys(
        ("information-gain", "mi", "mutual-info-classif", "mutual-information"), "mim"
    )
}


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    for name, summary, reference in _OFFERS:
        class_name = "".join(part.capitalize() for part in name.split("-"))
        weighs_pairs = name in ("mim", "jmi")
        yield SelectorEntry(
            name=name,
            target=f"fsframe_infotheory.methods.criteria:{class_name}",
            summary=summary,
            family="information theory",
            gives={"scores", "pair-weights"} if weighs_pairs else {"scores"},
            pair_weight="information about the class" if weighs_pairs else "",
            reference=reference,
            known_as=_KNOWN_AS.get(name, {}),
            compiles=True,
            named=3 if weighs_pairs else 0,
        )


@hookimpl
def fsframe_proposals() -> Iterator[ProposalEntry]:
    """Proposals for tables in parts, which few methods accept."""
    yield ProposalEntry(
        name="parts",
        place=160,
        tables="rows in parts",
        when={"parts"},
        unless={"survival"},
        chain="jmi:top=100",
        gaps="jmi:top=100,missing=level",
    )
