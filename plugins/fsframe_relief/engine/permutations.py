"""p-values of scores by permuting the labels, and their adjustment for many features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsframe.method.answer_statistics import adjusted_p_values
from fsframe.resampling.groups import permuted_rows
from fsframe_relief.engine.columns import Columns
from fsframe_relief.engine.distances import full_distances
from fsframe_relief.engine.feature_scores import feature_scores
from fsframe_relief.engine.neighbours import Rule, Target
from fsframe_relief.engine.permutation_products import SLACK, Progress, reached_by_products

__all__ = ["adjusted", "permutation_p_values"]


def permutation_p_values(
    columns: Columns,
    rule: Rule,
    target: Target,
    permutations: int,
    generator: np.random.Generator,
    *,
    rows: NDArray[np.int64] | None = None,
    groups: NDArray[np.int64] | None = None,
    memory: int = 1 << 31,
    threads: int = 1,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """The share of labellings, the observed one included, whose score reaches the observed score.

    Parameters
    ----------
    columns, rule, target, rows
        As for `feature_scores`.
    permutations : int
        Number of random labellings R.
    generator : numpy Generator
        Draws the labellings.
    groups : (n,) int, optional
        Groups of rows: labels are permuted among groups of equal size, or within a group where its
        label varies (`fsframe.resampling.groups.permuted_rows`).
    memory, threads, progress
        Bound on temporaries, threads (the result does not depend on them), and what is called with
        the number of finished permutations.

    Returns
    -------
    (n_features,) float64
        p = (1 + #{r : W_r >= W}) / (R + 1); NaN for columns without a score, 1 for constant ones.

    Notes
    -----
    Where the neighbourhood does not depend on the labels (SURF, MultiSURF, their star forms,
    SWRF*, and all methods in regression), W_r is linear in the diffs of the neighbouring pairs
    with weights that only the labels change: with P the (pairs × features) diffs and K the
    (labellings × pairs) weights, all scores are the product K P, computed in blocks of pairs.
    O(R n^2 p) multiplications at the speed of a matrix product, and O(R p) memory besides the
    blocks. Nearest hits and misses depend on the labels (`Rule.uses`): there neighbours are found
    anew for each labelling from one matrix of distances.

    The labellings are exchangeable when features and labels are independent, so P(p <= a) <= a for
    any number of samples and any dependence between features or between overlapping pairs.
    """
    n = columns.n
    labellings = np.empty((permutations + 1, n), dtype=np.int64)
    labellings[0] = np.arange(n)
    labels = target.y if target.value is None else target.value
    for t in range(1, permutations + 1):
        labellings[t] = (
            generator.permutation(n) if groups is None else permuted_rows(labels, groups, generator)
        )
    refit = ("classes" if target.signed else "values") in rule.uses
    count = _reached_by_refitting if refit else reached_by_products
    reached = count(columns, rule, target, labellings, rows, memory, threads, progress)
    p_values = (1.0 + reached) / (permutations + 1)
    p_values[columns.constant] = 1.0
    p_values[columns.blank] = np.nan
    return p_values


def adjusted(p_values: NDArray[np.float64], correction: str) -> NDArray[np.float64]:
    """p-values adjusted for the number of features, unless `correction` is ``"none"``."""
    return p_values.copy() if correction == "none" else adjusted_p_values(p_values)


def _reached_by_refitting(
    columns: Columns,
    rule: Rule,
    target: Target,
    labellings: NDArray[np.int64],
    rows: NDArray[np.int64] | None,
    memory: int,
    threads: int,
    progress: Progress | None,
) -> NDArray[np.int64]:
    """How often a permuted score reaches the observed one, refitting for every labelling.

    The rows of the table are permuted against the same target, which is equivalent to permuting
    the labels.
    """
    n = columns.n
    keep = 16 * n * n <= memory // 2
    distances = full_distances(columns, threads) if keep else None
    observed: NDArray[np.float64] | None = None
    reached = np.zeros(columns.n_features, dtype=np.int64)
    for t, moved in enumerate(labellings):
        table = columns if t == 0 else columns.take(moved)
        D = None if distances is None else np.ascontiguousarray(distances[np.ix_(moved, moved)])
        scores = feature_scores(
            table, rule, target, rows=rows, memory=memory, threads=threads,
            distances=D if rows is None else None,
        )  # fmt: skip
        if observed is None:
            observed = scores
            continue
        reached += scores >= observed - SLACK
        if progress is not None:
            progress(t, len(labellings) - 1, "permutations")
    return reached
