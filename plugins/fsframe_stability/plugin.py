"""Entries of the stability metrics; imports no numerical code."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import StabilityMetricEntry
from fsframe.registry.hookspecs import hookimpl

_BOMMERT_2017 = "Bommert, Rahnenführer, Lang 2017"

# name: (module:Class, summary, reference)
_OFFERED = {
    "kuncheva": (
        "agreement:Kuncheva",
        "Kuncheva's index, for sets of one size",
        "Kuncheva 2007; Prat, Belanche 2016",
    ),
    "nogueira": (
        "nogueira:Nogueira",
        "Nogueira's φ with confidence interval, for sets of any size",
        "Nogueira, Sechidis, Brown 2018",
    ),
    "lustgarten": (
        "agreement:Lustgarten",
        "Intersection corrected for chance, divided by its possible range",
        "Lustgarten, Gopalakrishnan, Visweswaran 2009",
    ),
    "wald": (
        "agreement:Wald",
        "Intersection beyond chance, divided by its largest value for the smaller set",
        "Wald, Khoshgoftaar, Napolitano 2013",
    ),
    "kappa": ("agreement:Kappa", "Cohen's κ between the decisions of two runs", "Carletta 1996"),
    "phi": (
        "agreement:Phi",
        "Correlation (φ) of two runs' decisions",
        "Nogueira, Brown 2016",
    ),
    "unadjusted": (
        "agreement:Unadjusted",
        "Intersection beyond chance, divided by its largest value at the geometric mean size",
        "Bommert, Rahnenführer 2020",
    ),
    "jaccard": ("coefficients:Jaccard", "Intersection over union", "Jaccard 1901"),
    "dice": ("coefficients:Dice", "Intersection over mean size", "Dice 1945"),
    "ochiai": ("coefficients:Ochiai", "Intersection over geometric mean size", "Ochiai 1957"),
    "hamming": (
        "coefficients:Hamming",
        "Share of features on which two runs agree",
        "Dunne et al. 2002",
    ),
    "jaccard-corrected": (
        "coefficients:JaccardCorrected",
        "Jaccard's index beyond chance",
        _BOMMERT_2017,
    ),
    "dice-corrected": ("coefficients:DiceCorrected", "Dice's index beyond chance", _BOMMERT_2017),
    "ochiai-corrected": (
        "coefficients:OchiaiCorrected",
        "Ochiai's index beyond chance",
        _BOMMERT_2017,
    ),
    "hamming-corrected": (
        "coefficients:HammingCorrected",
        "Share of features on which two runs agree, corrected for chance",
        _BOMMERT_2017,
    ),
    "davis": (
        "coefficients:Davis",
        "Mean selection frequency over features selected at least once",
        "Davis et al. 2006",
    ),
    "novovicova": (
        "coefficients:Novovicova",
        "Entropy of the features' selection frequencies",
        "Novovičová, Somol, Pudil 2009",
    ),
    "somol-cw": ("coefficients:SomolCw", "Weighted consistency", "Somol, Novovičová 2010"),
    "somol-cwrel": (
        "coefficients:SomolCwrel",
        "Relative weighted consistency",
        "Somol, Novovičová 2010",
    ),
    "krizek": (
        "coefficients:Krizek",
        "Entropy of the distribution of selected sets; 1 if the set never changes",
        "Křížek, Kittler, Hlaváč 2007",
    ),
    "yu": (
        "similar_features:Yu",
        "Agreement that counts similar features as matches, corrected for chance",
        "Yu, Han, Berens 2012",
    ),
    "zucknick": (
        "similar_features:Zucknick",
        "Jaccard's index with partial credit for similar features",
        "Zucknick, Richardson, Stronach 2008",
    ),
    "zucknick-corrected": (
        "similar_features:ZucknickCorrected",
        "Zucknick's index beyond chance",
        _BOMMERT_2017,
    ),
    "sechidis": (
        "similar_features:Sechidis",
        "Nogueira's φ with similar features treated as equivalent",
        "Sechidis et al. 2020",
    ),
    "spearman": ("rankings:Spearman", "Correlation of rankings", "Spearman 1904"),
    "kendall": ("rankings:Kendall", "Kendall's τ-b of rankings", "Kendall 1945"),
    "weighted-tau": (
        "rankings:WeightedTau",
        "Kendall's τ, weighted towards the top ranks",
        "Vigna 2015",
    ),
    "canberra": (
        "rankings:Canberra",
        "Top-weighted distance of rankings: 0 identical, 1 as random",
        "Jurman et al. 2008",
    ),
}


_DEFAULTS = ("nogueira", "kuncheva")


@hookimpl
def fsframe_stability_metrics() -> Iterator[StabilityMetricEntry]:
    """All metrics of this package."""
    for name, (target, summary, reference) in _OFFERED.items():
        yield StabilityMetricEntry(
            name=name,
            target=f"fsframe_stability.{target}",
            summary=summary,
            reference=reference,
            default=_DEFAULTS.index(name) + 1 if name in _DEFAULTS else 0,
            fleiss=name == "nogueira",
        )
