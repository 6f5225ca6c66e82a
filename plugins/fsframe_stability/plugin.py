"""Entries of the stability metrics; imports no numerical code."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import StabilityMetricEntry
from fsframe.registry.hookspecs import hookimpl

_BOMMERT_2017 = (
    "Bommert, Rahnenführer, Lang 2017, A multicriteria approach to find predictive and sparse "
    "models with stable feature selection for high-dimensional data, Comput. Math. Methods Med. "
    "2017:7907163, doi:10.1155/2017/7907163"
)
_SOMOL = (
    "Somol, Novovičová 2010, Evaluating stability and comparing output of feature selectors that "
    "optimize feature subset cardinality, IEEE Trans. Pattern Anal. Mach. Intell. "
    "32(11):1921-1939, doi:10.1109/TPAMI.2010.34"
)

# name: (module:Class, summary, reference)
_OFFERED = {
    "kuncheva": (
        "agreement:Kuncheva",
        "Kuncheva's index, for sets of one size",
        "Kuncheva 2007, A stability index for feature selection, IASTED Artificial Intelligence "
        "and Applications, pp. 390-395",
    ),
    "nogueira": (
        "nogueira:Nogueira",
        "Nogueira's φ with confidence interval, for sets of any size",
        "Nogueira, Sechidis, Brown 2018, On the stability of feature selection algorithms, "
        "J. Mach. Learn. Res. 18(174):1-54",
    ),
    "lustgarten": (
        "agreement:Lustgarten",
        "Intersection corrected for chance, divided by its possible range",
        "Lustgarten, Gopalakrishnan, Visweswaran 2009, Measuring stability of feature selection "
        "in biomedical datasets, AMIA Annu. Symp. Proc. 2009:406-410",
    ),
    "wald": (
        "agreement:Wald",
        "Intersection beyond chance, divided by its largest value for the smaller set",
        "Wald, Khoshgoftaar, Napolitano 2013, Stability of filter- and wrapper-based feature "
        "subset selection, IEEE ICTAI, pp. 374-380, doi:10.1109/ICTAI.2013.63",
    ),
    "kappa": (
        "agreement:Kappa",
        "Cohen's κ between the decisions of two runs",
        "Carletta 1996, Assessing agreement on classification tasks: the kappa statistic, "
        "Comput. Linguist. 22(2):249-254, arXiv:cmp-lg/9602004",
    ),
    "phi": (
        "agreement:Phi",
        "Correlation (φ) of two runs' decisions",
        "Nogueira, Brown 2016, Measuring the stability of feature selection, LNCS 9852:442-457, "
        "doi:10.1007/978-3-319-46227-1_28",
    ),
    "unadjusted": (
        "agreement:Unadjusted",
        "Intersection beyond chance, divided by its largest value at the geometric mean size",
        "Bommert, Rahnenführer 2020, Adjusted measures for feature selection stability for data "
        "sets with similar features, LNCS 12565:203-214, doi:10.1007/978-3-030-64583-0_19",
    ),
    "jaccard": (
        "coefficients:Jaccard",
        "Intersection over union",
        "Jaccard 1901, Étude comparative de la distribution florale dans une portion des Alpes et "
        "du Jura, Bull. Soc. Vaud. Sci. Nat. 37:547-579, doi:10.5169/seals-266450",
    ),
    "dice": (
        "coefficients:Dice",
        "Intersection over mean size",
        "Dice 1945, Measures of the amount of ecologic association between species, "
        "Ecology 26(3):297-302, doi:10.2307/1932409",
    ),
    "ochiai": (
        "coefficients:Ochiai",
        "Intersection over geometric mean size",
        "Ochiai 1957, Zoogeographical studies on the soleoid fishes found in Japan and its "
        "neighbouring regions II, Bull. Jpn. Soc. Sci. Fish. 22(9):526-530, "
        "doi:10.2331/suisan.22.526",
    ),
    "hamming": (
        "coefficients:Hamming",
        "Share of features on which two runs agree",
        "Dunne, Cunningham, Azuaje 2002, Solutions to instability problems with sequential "
        "wrapper-based approaches to feature selection, Trinity College Dublin, technical report "
        "TCD-CS-2002-28",
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
        "Davis et al. 2006, Reliable gene signatures for microarray classification: assessment "
        "of stability and performance, Bioinformatics 22(19):2356-2363, "
        "doi:10.1093/bioinformatics/btl400",
    ),
    "novovicova": (
        "coefficients:Novovicova",
        "Entropy of the features' selection frequencies",
        "Novovičová, Somol, Pudil 2009, A new measure of feature selection algorithms' "
        "stability, IEEE ICDM Workshops, pp. 382-387, doi:10.1109/ICDMW.2009.32",
    ),
    "somol-cw": ("coefficients:SomolCw", "Weighted consistency", _SOMOL),
    "somol-cwrel": (
        "coefficients:SomolCwrel",
        "Relative weighted consistency",
        _SOMOL,
    ),
    "krizek": (
        "coefficients:Krizek",
        "Entropy of the distribution of selected sets; 1 if the set never changes",
        "Křížek, Kittler, Hlaváč 2007, Improving stability of feature selection methods, "
        "LNCS 4673:929-936, doi:10.1007/978-3-540-74272-2_115",
    ),
    "yu": (
        "similar_features:Yu",
        "Agreement that counts similar features as matches, corrected for chance",
        "Yu, Han, Berens 2012, Stable gene selection from microarray data via sample weighting, "
        "IEEE/ACM Trans. Comput. Biol. Bioinform. 9(1):262-272, doi:10.1109/TCBB.2011.47",
    ),
    "zucknick": (
        "similar_features:Zucknick",
        "Jaccard's index with partial credit for similar features",
        "Zucknick, Richardson, Stronach 2008, Comparing the characteristics of gene expression "
        "profiles derived by univariate and multivariate classification methods, Stat. Appl. "
        "Genet. Mol. Biol. 7(1):7, doi:10.2202/1544-6115.1307",
    ),
    "zucknick-corrected": (
        "similar_features:ZucknickCorrected",
        "Zucknick's index beyond chance",
        _BOMMERT_2017,
    ),
    "sechidis": (
        "similar_features:Sechidis",
        "Nogueira's φ with similar features treated as equivalent",
        "Sechidis, Papangelou, Nogueira, Weatherall, Brown 2020, On the stability of feature "
        "selection in the presence of feature correlations, LNCS 11906:327-342, "
        "doi:10.1007/978-3-030-46150-8_20",
    ),
    "spearman": (
        "rankings:Spearman",
        "Correlation of rankings",
        "Spearman 1904, The proof and measurement of association between two things, "
        "Am. J. Psychol. 15(1):72-101, doi:10.2307/1412159",
    ),
    "kendall": (
        "rankings:Kendall",
        "Kendall's τ-b of rankings",
        "Kendall 1945, The treatment of ties in ranking problems, Biometrika 33(3):239-251, "
        "doi:10.1093/biomet/33.3.239",
    ),
    "weighted-tau": (
        "rankings:WeightedTau",
        "Kendall's τ, weighted towards the top ranks",
        "Vigna 2015, A weighted correlation index for rankings with ties, WWW, pp. 1166-1176, "
        "doi:10.1145/2736277.2741088",
    ),
    "canberra": (
        "rankings:Canberra",
        "Top-weighted distance of rankings: 0 identical, 1 as random",
        "Jurman et al. 2008, Algebraic stability indicators for ranked lists in molecular "
        "profiling, Bioinformatics 24(2):258-264, doi:10.1093/bioinformatics/btm550",
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
