"""What each null of the NPFS test promises, in words: for help, docs and reports."""

from __future__ import annotations

__all__ = ["NULLS", "PROMISES"]

PROMISES = {
    "permutation": (
        "A feature is relevant if the base scores or ranks it higher, over bootstraps (with "
        "statistic=counts: picks it more often), than features stand when the labels are dealt out "
        "at random. If the label has nothing to do with any feature, on average at most a share "
        "alpha of the features is named, however they depend on each other (exact for equal "
        "numbers of bootstraps; with more for the true label, fewer are named). With "
        "correction=bh alpha is instead the share of false ones among those named, with "
        "bonferroni the chance of any. It does not say which relevant feature matters "
        "given the others, and a noise feature that is correlated with a relevant one counts as "
        "relevant."
    ),
    "shards": (
        "A feature is relevant if it is picked on more disjoint parts of the table than chance "
        "allows. Under the null, with a base that treats all features alike, each is named with "
        "probability at most alpha. It needs a table large enough to be cut into n parts."
    ),
    "published": (
        "The test as printed: binomial law with p0 = k/K over bootstraps of one table. It does not "
        "hold its level: bootstraps share the noise of the table they come from, and with a label "
        "that means nothing it names many times alpha of the features, and more of them the more "
        "bootstraps there are. Its answer is: picked more often than k/K when this table is "
        "perturbed."
    ),
    "matlab": (
        "The test of the authors' MATLAB code: three quarters of the rows, relevant where "
        "z ≥ ζ. It does not hold its level, for the reason given for `published`, and its size is "
        "above alpha even for independent samples."
    ),
}

NULLS = tuple(PROMISES)
