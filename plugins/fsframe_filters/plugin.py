"""Entries of this plugin; imports no numerical code."""

from __future__ import annotations

from collections.abc import Iterator

from fsframe.registry.entries import (
    FALSE_SHARE,
    RELEVANT_QUESTION,
    ClassifierEntry,
    ProposalEntry,
    SelectorEntry,
)
from fsframe.registry.hookspecs import hookimpl


@hookimpl
def fsframe_selectors() -> Iterator[SelectorEntry]:
    """Filters that look at one column at a time, or at columns without the label."""
    yield SelectorEntry(
        name="chi2",
        target="fsframe_filters.chi2:Chi2",
        summary="chi-squared test of independence between feature and class",
        family="filters",
        reference="Pearson 1900, On the criterion that a given system of deviations from the "
        "probable in the case of a correlated system of variables is such that it can be "
        "reasonably supposed to have arisen from random sampling, Philos. Mag. 50(302):157-175, "
        "doi:10.1080/14786440009463897",
        former_provider="infotheory",
    )
    yield SelectorEntry(
        name="anova-f",
        target="fsframe_filters.significance:AnovaF",
        summary="f test: variance between the class means over the variance within classes",
        family="filters",
        reference="Fisher 1925, Statistical methods for research workers, Oliver and Boyd",
        former_provider="infotheory",
        known_as={
            "anova": "anova-f",
            "f-test": "anova-f",
            "f-classif": "anova-f",
            "f-regression": "anova-f",
            "t-test": "anova-f",
            "pearson": "anova-f",
            "kruskal": "anova-f:ranks=true",
            "kruskal-wallis": "anova-f:ranks=true",
            "mann-whitney": "anova-f:ranks=true",
            "rank-sum": "anova-f:ranks=true",
            "spearman": "anova-f:ranks=true",
            "wilcoxon": "anova-f:ranks=true",
            "glejser": "anova-f:spread=true",
        },
    )
    yield SelectorEntry(
        name="variance",
        target="fsframe_filters.columns:Variance",
        summary="drops features whose variance is at or below a threshold",
        family="filters",
        reference="Pedregosa et al. 2011, Scikit-learn: machine learning in Python, "
        "J. Mach. Learn. Res. 12:2825-2830, arXiv:1201.0490",
        former_provider="sklearn",
        known_as={
            "low-variance": "variance",
            "variance-threshold": "variance",
        },
    )
    yield SelectorEntry(
        name="correlation",
        target="fsframe_filters.columns:Correlation",
        summary="one feature from each cluster of correlated features",
        family="filters",
        reference="Sokal, Michener 1958, A statistical method for evaluating systematic "
        "relationships, Univ. Kansas Sci. Bull. 38:1409-1438",
        former_provider="sklearn",
    )
    yield SelectorEntry(
        name="impute",
        target="fsframe_filters.columns:Impute",
        summary="Fills missing values: median, most frequent value, or nearest rows",
        family="preparation",
        gives={"scores", "fill"},
        reference="Little, Rubin 2019, Statistical analysis with missing data, 3rd ed., Wiley, "
        "doi:10.1002/9781119482260, ch. 4",
        former_provider="tables",
        known_as={
            "simple-imputer": "impute",
            "knn-imputer": "impute:method=neighbours",
        },
    )


@hookimpl
def fsframe_classifiers() -> Iterator[ClassifierEntry]:
    """A classifier without feature weights."""
    yield ClassifierEntry(
        name="knn",
        target="fsframe_filters.knn:Knn",
        summary="k nearest neighbours on standardised features: majority vote, or mean of a "
        "numeric target",
        reference="Fix, Hodges 1951, Discriminatory analysis: nonparametric discrimination, "
        "consistency properties, Int. Stat. Rev. 57(3):238-247, doi:10.2307/1403797; Aha, Kibler, "
        "Albert 1991, Instance-based learning algorithms, Mach. Learn. 6:37-66, "
        "doi:10.1007/BF00153759",
        former_provider="classify",
        known_as={
            "k-nearest-neighbours": "knn",
            "nearest-neighbours": "knn",
        },
    )


@hookimpl
def fsframe_proposals() -> Iterator[ProposalEntry]:
    """Proposals for most tables: tests of one column at a time."""
    yield ProposalEntry(
        name="covariates",
        question=RELEVANT_QUESTION,
        place=30,
        tables="covariates",
        when={"covariates"},
        chain="anova-f:alpha=0.05",
        gaps="impute anova-f:alpha=0.05",
        promise=FALSE_SHARE,
        designs=("batch",),
    )
    yield ProposalEntry(
        name="nominal-covariates",
        question=RELEVANT_QUESTION,
        place=40,
        tables="covariates and nominal features",
        when={"covariates"},
        chain="chi2:alpha=0.05,discretise=equal-frequency,bins=3",
        gaps="chi2:alpha=0.05,discretise=equal-frequency,bins=3,missing=pairwise",
        promise=FALSE_SHARE,
    )
    yield ProposalEntry(
        name="heavy-tails",
        question=RELEVANT_QUESTION,
        place=50,
        tables="heavy tails in most columns",
        when={"heavy-tails"},
        chain="anova-f:alpha=0.05,ranks=true",
        gaps="anova-f:alpha=0.05,ranks=true,missing=pairwise",
        promise=FALSE_SHARE,
    )
    yield ProposalEntry(
        name="curved",
        question=RELEVANT_QUESTION,
        place=60,
        tables="a numeric target and at least 10 rows a column",
        when={"regression"},
        rows_per_column=10,
        chain="anova-f:alpha=0.05,curved=true,spread=true",
        gaps="anova-f:alpha=0.05,curved=true,spread=true,missing=pairwise",
        promise=FALSE_SHARE,
        designs=("curved",),
    )
    yield ProposalEntry(
        name="others",
        question=RELEVANT_QUESTION,
        place=70,
        tables="all others",
        chain="anova-f:alpha=0.05",
        gaps="anova-f:alpha=0.05,missing=pairwise",
        promise=FALSE_SHARE,
        designs=(
            "independent",
            "blocks",
            "copies",
            "chains",
            "sparse-linear",
            "mixed",
            "rare",
            "genotypes",
            "60x1000",
            "30x2000",
            "95-5",
            "people",
        ),
    )
