"""Entries of the information-theoretic family; numerical code is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl

_BROWN = "Brown, Pocock, Zhao, Luján 2012, J. Mach. Learn. Res. 13:27"

_OFFERS = (
    ("mim", "features ranked by their mutual information with the class", _BROWN),
    ("mifs", "relevance − β · summed redundancy with the selected features", "Battiti 1994"),
    ("mrmr", "relevance − mean redundancy with the selected features", "Peng, Long, Ding 2005"),
    (
        "jmi",
        "joint mutual information of feature, selected feature and class, summed",
        "Yang, Moody 1999",
    ),
    ("cmim", "smallest information a feature adds to any one selected feature", "Fleuret 2004"),
    ("disr", "joint mutual information normalised by joint entropy", "Meyer, Bontempi 2006"),
    ("icap", "relevance − redundancy that the class does not compensate for", "Jakulin 2005"),
    ("cife", "relevance − redundancy + class-conditional redundancy", "Lin, Tang 2006"),
    ("condred", "relevance + class-conditional redundancy", _BROWN),
    (
        "betagamma",
        "relevance − β·redundancy + γ·class-conditional redundancy, for any β and γ",
        _BROWN + ", eq. 17",
    ),
    (
        "jmim",
        "smallest joint mutual information with any one selected feature",
        "Bennasar et al. 2015",
    ),
    ("njmim", "as jmim, normalised by joint entropy", "Bennasar, Hicks, Setchi 2015"),
    ("cmi", "information a feature adds to all selected features jointly", _BROWN + ", eq. 8"),
    (
        "jmi3",
        "joint mutual information with each pair of selected features, summed",
        "Sechidis et al. 2019",
    ),
    (
        "symmetric-uncertainty",
        "mutual information divided by the mean of the two entropies",
        "Yu, Liu 2004, eq. 3",
    ),
    (
        "fcbf",
        "predominant features: those that no better feature makes redundant",
        "Yu, Liu 2003",
    ),
)

_MODULES = {
    "mim": "relevance",
    "symmetric-uncertainty": "relevance",
    "fcbf": "relevance",
}


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    for name, summary, reference in _OFFERS:
        module = _MODULES.get(name, "greedy_criteria")
        class_name = "".join(part.capitalize() for part in name.split("-"))
        weighs_pairs = name in ("mim", "jmi")
        yield SelectorEntry(
            name=name,
            target=f"fsframe_infotheory.methods.{module}:{class_name}",
            summary=summary,
            family="information theory",
            gives={"scores", "pair-weights"} if weighs_pairs else {"scores"},
            pair_weight="information about the class" if weighs_pairs else "",
            reference=reference,
            compiles=True,
            proposed=3 if weighs_pairs else 0,
        )
