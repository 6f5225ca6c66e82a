"""The information-theoretic family: what it offers; the mathematics is imported when asked for."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import SelectorEntry
from fsframe.registry.hookspecs import hookimpl

_BROWN = "Brown, Pocock, Zhao, Luján 2012, J. Mach. Learn. Res. 13:27"

_OFFERS = (
    ("mim", "features of the largest mutual information with the class, each alone", _BROWN),
    ("mifs", "relevance less β times the summed redundancy with selected features", "Battiti 1994"),
    ("mrmr", "relevance − mean redundancy with the selected features", "Peng, Long, Ding 2005"),
    ("jmi", "what a feature tells together with each selected one", "Yang, Moody 1999"),
    ("cmim", "the least a feature tells beyond any one selected", "Fleuret 2004"),
    ("disr", "joint relevance relative to joint entropy", "Meyer, Bontempi 2006"),
    ("icap", "relevance less uncompensated redundancy", "Jakulin 2005"),
    ("cife", "relevance − redundancy + class-conditional redundancy", "Lin, Tang 2006"),
    ("condred", "relevance plus redundancy given the class", _BROWN),
    ("betagamma", "any linear mixture of relevance and the two redundancies", _BROWN + ", eq. 17"),
    ("jmim", "the least a feature tells together with any one selected", "Bennasar et al. 2015"),
    ("njmim", "as jmim, relative to joint entropy", "Bennasar, Hicks, Setchi 2015"),
    ("cmi", "what a feature tells beyond all selected together", _BROWN + ", eq. 8"),
    ("jmi3", "what a feature tells together with each pair selected", "Sechidis et al. 2019"),
)

_OTHERS = (
    (
        "symmetric-uncertainty",
        "symmetric_uncertainty:SymmetricUncertainty",
        "mutual information relative to the mean of both entropies",
        "Yu, Liu 2004, eq. 3",
    ),
    ("fcbf", "fcbf:Fcbf", "features that no better one makes redundant", "Yu, Liu 2003"),
    ("chi2", "chi2:Chi2", "the chi-squared test of levels against the class", "Pearson 1900"),
    ("anova-f", "anova_f:AnovaF", "class means beside the spread within classes", "Fisher 1925"),
)


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    for name, summary, reference in _OFFERS:
        yield SelectorEntry(
            name=name,
            target=f"fsframe_infotheory.methods.{name}:{name.capitalize()}",
            summary=summary,
            family="information theory",
            gives={"scores", "pair-weights"} if name in ("mim", "jmi") else {"scores"},
            pair_weight="information about the class" if name in ("mim", "jmi") else "",
            reference=reference,
            compiles=True,
            proposed=3 if name in ("jmi", "mim") else 0,
        )
    for name, target, summary, reference in _OTHERS:
        yield SelectorEntry(
            name=name,
            target="fsframe_infotheory.methods." + target,
            summary=summary,
            family="information theory",
            gives={"scores"},
            reference=reference,
            compiles=name != "anova-f",
        )
