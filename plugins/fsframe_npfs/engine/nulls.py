"""Null distributions of the NPFS test: permuted labels, disjoint shards, two published ones."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fsframe.resampling.groups import permuted_labels, permuted_within, rotated_labels
from fsframe.resampling.null import CountNull, RelabellingNull
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.resample_counts import shard_counts
from fsframe_npfs.engine.tails import selection_tail

__all__ = ["Matlab", "Permutation", "Published", "Shards"]


class Permutation(RelabellingNull):
    """Permuted labels: between groups where the label is constant in each, else within groups.

    With covariates, within their strata. With a time, the series of labels is shifted circularly,
    from group to group where there are groups too.
    """

    promise = (
        "A feature is relevant if the base scores or ranks it higher over bootstraps (with "
        "statistic=counts: selects it more often) than features under permuted labels. If the "
        "label is independent of all features, on average at most a share alpha of them is "
        "selected, whatever their dependence (exact for equal numbers of bootstraps; with more "
        "for the true label, fewer are selected). With correction=bh, alpha is the expected share "
        "of false selections among all selections; with bonferroni, the probability of any false "
        "selection. The test does not say which relevant feature matters given the others: a "
        "noise feature correlated with a relevant one counts as relevant."
    )

    def _labels(self, data: Dataset, generator: np.random.Generator) -> NDArray:
        if data.times is not None:
            return rotated_labels(data.y, data.times.values[:, 0], generator, data.groups)
        if data.covariates is not None:
            return permuted_within(data.y, data.covariates.strata(), generator)
        if data.groups is not None:
            return permuted_labels(data.y, data.groups, generator)
        return data.y[generator.permutation(data.n_samples)]


class Published(CountNull):
    """The binomial distribution of the paper, Poisson-binomial where k varies over bootstraps."""

    holds_level: ClassVar[bool] = False
    promise = (
        "The test as published: binomial distribution with p0 = k/K over bootstraps of one table. "
        "It does not keep its level: bootstraps share the noise of their table, so with a label "
        "that carries no information it selects many times a share alpha of the features, and more "
        "with more bootstraps. What it shows is selection more often than k/K when this table is "
        "perturbed."
    )

    def _tail(self, kept: NDArray[np.int64], cells: int, bias: float) -> NDArray[np.float64]:
        return selection_tail(kept, cells, bias)


class Matlab(Published):
    """The authors' MATLAB code: three quarters of the rows, z ≥ ζ."""

    fraction: ClassVar[float] = 0.75
    at_least: ClassVar[bool] = True
    promise = (
        "The test of the authors' MATLAB code: three quarters of the rows, relevant where z ≥ ζ. "
        "It does not keep its level, for the same reason as `published`, and its size exceeds "
        "alpha even for independent samples."
    )


class Shards(CountNull):
    """Disjoint parts of a large table, for which the binomial distribution is exact."""

    own_resamples: ClassVar[bool] = True
    promise = (
        "A feature is relevant if it is selected on more of n disjoint parts of the table than "
        "expected by chance. Under the null, with a base that treats all features alike, each is "
        "selected with probability at most alpha. The table must be large enough for n parts."
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
