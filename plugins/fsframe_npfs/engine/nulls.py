"""The nulls of the NPFS test: permuted labels, disjoint shards, two published distributions."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.resampling.groups import permuted_labels, permuted_within, rotated_labels
from fsframe.resampling.null import LawNull, RelabellingNull
from fsframe_npfs.engine.resample_counts import shard_counts
from fsframe_npfs.engine.tails import selection_tail

__all__ = ["Matlab", "Permutation", "Published", "Shards"]


class Permutation(RelabellingNull):
    """Permuted labels: whole by group where the label is constant in groups, else within them.

    With covariates within their strata; in time the labels are moved on as they are, those at the
    end to the beginning, from group to group where the rows have groups too.
    """

    promise = (
        "A feature is relevant if the base scores or ranks it higher, over bootstraps (with "
        "statistic=counts: picks it more often), than features stand when the labels are dealt out "
        "at random. If the label has nothing to do with any feature, on average at most a share "
        "alpha of the features is named, however they depend on each other (exact for equal "
        "numbers of bootstraps; with more for the true label, fewer are named). With "
        "correction=bh alpha is instead the share of false ones among those named, with "
        "bonferroni the chance of any. It does not say which relevant feature matters "
        "given the others, and a noise feature that is correlated with a relevant one counts as "
        "relevant."
    )

    def _labels(self, data: Dataset, generator: np.random.Generator) -> NDArray:
        if data.times is not None:
            return rotated_labels(data.y, data.times.values[:, 0], generator, data.groups)
        if data.covariates is not None:
            return permuted_within(data.y, data.covariates.strata(), generator)
        if data.groups is not None:
            return permuted_labels(data.y, data.groups, generator)
        return data.y[generator.permutation(data.n_samples)]


class Published(LawNull):
    """The binomial law of the paper, Poisson-binomial where the base keeps varying numbers."""

    holds_level: ClassVar[bool] = False
    promise = (
        "The test as printed: binomial law with p0 = k/K over bootstraps of one table. It does not "
        "keep its level: bootstraps share the noise of the table they come from, and with a label "
        "that means nothing it names many times alpha of the features, and more of them the more "
        "bootstraps there are. Its answer is: picked more often than k/K when this table is "
        "perturbed."
    )

    def _tail(self, kept: NDArray[np.int64], cells: int, bias: float) -> NDArray[np.float64]:
        return selection_tail(kept, cells, bias)


class Matlab(Published):
    """The authors' MATLAB code: three quarters of the rows, z ≥ ζ."""

    fraction: ClassVar[float] = 0.75
    at_least: ClassVar[bool] = True
    promise = (
        "The test of the authors' MATLAB code: three quarters of the rows, relevant where "
        "z ≥ ζ. It does not keep its level, for the reason given for `published`, and its size is "
        "above alpha even for independent samples."
    )


class Shards(LawNull):
    """Disjoint parts of a large table, for which the binomial law is exact."""

    own_resamples: ClassVar[bool] = True
    promise = (
        "A feature is relevant if it is picked on more disjoint parts of the table than chance "
        "allows. Under the null, with a base that treats all features alike, each is named with "
        "probability at most alpha. It needs a table large enough to be cut into n parts."
    )

    def _tail(self, kept: NDArray[np.int64], cells: int, bias: float) -> NDArray[np.float64]:
        return selection_tail(kept, cells, bias)

    def _resamples(
        self, data: Dataset, n: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        return shard_counts(
            data.n_samples,
            n,
            generator,
            y=data.y if data.task == "classification" else None,
            times=data.counts,
            groups=data.groups,
        )
