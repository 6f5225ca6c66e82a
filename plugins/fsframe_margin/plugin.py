"""Entries of the margin family; imports no numerical code."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import ClassifierEntry, SelectorEntry
from fsframe.registry.hookspecs import hookimpl

_IMMIGRATE = (
    "Zhao, Hong, Liu 2020, IMMIGRATE: A margin-based feature selection method with interaction "
    "terms, Entropy 22(3):291, doi:10.3390/e22030291"
)
_ESANN = "Prat, Belanche 2016, Instance and feature weighted k-nearest-neighbors algorithm, ESANN"
_SIMBA = (
    "Gilad-Bachrach, Navot, Tishby 2004, Margin based feature selection: theory and algorithms, "
    "ICML, doi:10.1145/1015330.1015352"
)

_METRIC_WEIGHT = "metric weight: relevance of both together, not interaction"

# name, class, summary, what it gives, reference
_SELECTORS = (
    (
        "immigrate",
        "immigrate:Immigrate",
        "Weights of features and of pairs of features that maximise stable margins",
        {"scores", "weights", "pair-weights"},
        f"{_IMMIGRATE}, Algorithm 2",
    ),
    (
        "im4e",
        "im4e:Im4e",
        "Feature weights that maximise margins and their stability; a fast screen for immigrate",
        {"scores", "weights"},
        "Bei, Hong 2015, Maximizing margin quality and quantity, IEEE MLSP, pp. 1-6",
    ),
    (
        "bim",
        "bim:Bim",
        "Weights of features and pairs from boosted immigrate",
        {"scores", "weights", "pair-weights"},
        f"{_IMMIGRATE}, Algorithm 3",
    ),
    (
        "simba",
        "nearest_margins:Simba",
        "Feature weights by stochastic ascent on nearest-neighbour margins",
        {"scores", "weights"},
        f"{_SIMBA}, Algorithm 2",
    ),
    (
        "gflip",
        "nearest_margins:Gflip",
        "Feature set found by greedily adding or removing features to increase the margins",
        {"scores", "weights"},
        f"{_SIMBA}, Algorithm 1",
    ),
    (
        "irelief",
        "local_learning:Irelief",
        "Feature weights from expected margins, outliers down-weighted",
        {"scores", "weights"},
        "Sun 2007, Iterative RELIEF for feature weighting: algorithms, theories, and applications, "
        "IEEE Trans. Pattern Anal. Mach. Intell. 29(6):1035-1051, doi:10.1109/TPAMI.2007.1093",
    ),
    (
        "lfe",
        "local_learning:Lfe",
        "Metric from the scatter of nearest misses minus the scatter of nearest hits",
        {"scores", "weights", "pair-weights"},
        "Sun, Wu 2008, A RELIEF based feature extraction algorithm, SIAM Data Mining, pp. 188-195, "
        "doi:10.1137/1.9781611972788.17",
    ),
    (
        "logo",
        "local_learning:Logo",
        "Sparse feature weights by logistic regression on expected margins",
        {"scores", "weights"},
        "Sun, Todorovic, Goodison 2010, Local-learning-based feature selection for "
        "high-dimensional data analysis, IEEE Trans. Pattern Anal. Mach. Intell. "
        "32(9):1610-1626, doi:10.1109/TPAMI.2009.190",
    ),
    (
        "mbiw",
        "nearest_margins:Mbiw",
        "Instance weights from the agreement of margin profiles",
        {"scores", "instance-weights"},
        f"{_ESANN}, eq. 2",
    ),
    (
        "simba-mbiw",
        "nearest_margins:SimbaMbiw",
        "Simba with steps scaled by instance weights, for stability",
        {"scores", "weights", "instance-weights"},
        f"{_ESANN}, Algorithm 1",
    ),
)

_CLASSIFIERS = (
    (
        "margin",
        "margin_selector:Margin",
        "Class with the smallest expected distance under the upstream weights",
        {"weights", "pair-weights", "instance-weights"},
        f"{_IMMIGRATE}, eq. 3.18",
    ),
    (
        "weighted-knn",
        "nearest_margins:WeightedKnn",
        "k nearest neighbours with a weighted distance and weighted votes",
        {"weights", "instance-weights"},
        f"{_ESANN}, Algorithm 2",
    ),
    (
        "bim-vote",
        "bim:BimVote",
        "Weighted vote of boosted immigrate rounds",
        {"weights", "pair-weights", "instance-weights"},
        f"{_IMMIGRATE}, Algorithm 3",
    ),
)


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    for name, target, summary, gives, reference in _SELECTORS:
        yield SelectorEntry(
            name=name,
            target=f"fsframe_margin.methods.{target}",
            summary=summary,
            family="margin",
            gives=gives,
            pair_weight=_METRIC_WEIGHT if "pair-weights" in gives else "",
            reference=reference,
            compiles=True,
            named=1 if name == "immigrate" else 0,
        )


@hookimpl
def fsframe_classifiers() -> Iterator[ClassifierEntry]:
    for name, target, summary, uses, reference in _CLASSIFIERS:
        yield ClassifierEntry(
            name=name,
            target=f"fsframe_margin.methods.{target}",
            summary=summary,
            uses=uses,
            reference=reference,
            default=name == "weighted-knn",
        )
