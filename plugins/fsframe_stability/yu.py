"""Yu's index: similar features stand in for each other, corrected for chance."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_stability.agreement import ratio
from fsframe_stability.chance import intersection_law
from fsframe_stability.overlap import Overlap
from fsframe_stability.similarity import SimilarityMetric

__all__ = ["Yu", "expected_replaceable", "replaceable"]


@attrs.frozen(kw_only=True)
class Yu(SimilarityMetric):
    """Stability by Yu's index: similar features stand in for each other; corrected for chance.

    Parameters
    ----------
    threshold : float in [0, 1]
        Features are similar from this similarity on.
    impute : float, optional
        Score for pairs of runs that have none.

    Notes
    -----
    With O_ij features of S_i∖S_j that have a similar one in S_j∖S_i, and
    I_ij = |S_i ∩ S_j| + (O_ij + O_ji)/2, the mean over pairs of

    .. math:: \\frac{I_{ij} - E\\,I_{ij}}{(n_i + n_j)/2 - E\\,I_{ij}}

    The paper has sets of one size and similarity by correlation; this is the form of Bommert and
    Rahnenführer for any sizes and similarity. They enumerate or simulate E I; here it is exact by
    hypergeometric sums (`expected_replaceable`). Undefined where no pair of sets of these sizes
    could score below the maximum, such as both empty or both full. Without similar features this
    is `kappa`. O(m·nnz + m²p).

    References
    ----------
    Yu, Han, Berens (2012), IEEE/ACM TCBB 9(1), 262–272; Zhang et al. (2009), Bioinformatics 25(13),
    1662–1668; Bommert, Rahnenführer (2020), arXiv:2009.12075.

    Examples
    --------
    >>> import numpy as np
    >>> like = np.eye(4); like[0, 1] = like[1, 0] = 0.95
    >>> Yu()([[1, 0, 1, 0], [0, 1, 1, 0]], like).value
    1.0
    """

    chance_corrected: ClassVar[bool] = True
    undefined_when: ClassVar[str] = (
        "both sets are empty, both hold every feature, or any two sets of these sizes would score "
        "the most"
    )

    def _scores(
        self, sets: NDArray[np.bool_], overlap: Overlap, similar: Any
    ) -> NDArray[np.float64]:
        stand_in = replaceable(sets, similar)
        measured = overlap.intersections + (stand_in + stand_in.T) / 2
        size, which = np.unique(overlap.sizes, return_inverse=True)
        degrees = np.diff(similar.indptr).astype(np.int64)
        replaced = expected_replaceable(size, size, degrees)
        chance = size[:, None] * size[None, :] / overlap.n_features + (replaced + replaced.T) / 2
        expected = chance[which[:, None], which[None, :]]
        most = (overlap.sizes[:, None] + overlap.sizes[None, :]) / 2
        room = most - expected
        # Nothing but rounding is left where every pair of sets of these sizes scores the most.
        room[room <= 1e-12 * most] = 0.0
        return ratio(measured - expected, room)


def replaceable(sets: NDArray[np.bool_], similar: Any) -> NDArray[np.int64]:
    """Count features of one run only that have a similar one among those of another run only.

    Parameters
    ----------
    sets : (m, p) bool
        One row per run.
    similar : (p, p) sparse array
        Non-zero where two different features are similar.

    Returns
    -------
    (m, m) int64
        ``O[i, j]``: features in S_i, not in S_j, with a similar feature in S_j that is not in S_i.

    Notes
    -----
    For each run one product of its rows of `similar` with all sets: O(m · nnz + m² k) in time,
    O(m p) in memory.
    """
    m = len(sets)
    links = similar.astype(bool).astype(np.float64)
    counts = np.zeros((m, m), dtype=np.int64)
    for i in range(m):
        own = np.flatnonzero(sets[i])
        theirs = (sets & ~sets[i]).astype(np.float64)
        reached = links[own] @ theirs.T > 0
        counts[i] = np.count_nonzero(reached & ~sets[:, own].T, axis=0)
    return counts


def expected_replaceable(
    sizes: NDArray[np.int64], others: NDArray[np.int64], degrees: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The expectation of `replaceable` for random sets, exact.

    Parameters
    ----------
    sizes : (a,) int64
        Sizes of the first set.
    others : (b,) int64
        Sizes of the second set.
    degrees : (p,) int64
        d_x, the number of features similar to feature x.

    Returns
    -------
    (a, b) float64
        E O for every pair of sizes.

    Notes
    -----
    Feature x counts if it lies in S₁, not in S₂, and S₂ hits one of its neighbours outside S₁.
    Given x ∈ S₁, the number a of neighbours in S₁ is hypergeometric(p − 1, d_x, n₁ − 1), and S₂
    avoids x and the other d_x − a neighbours with probability C(p−1−d_x+a, n₂)/C(p, n₂). So

    .. math:: E\\,O = \\sum_x \\frac{n_1}{p}\\Big[1 - \\frac{n_2}{p} -
        \\sum_a h(a)\\,\\frac{\\binom{p-1-d_x+a}{n_2}}{\\binom{p}{n_2}}\\Big]

    which takes one short sum for each size and each different degree, instead of all
    C(p, n₁)·C(p, n₂) pairs of sets.
    """
    p = len(degrees)
    degree, how_many = np.unique(degrees[degrees > 0], return_counts=True)
    if not degree.size:
        return np.zeros((len(sizes), len(others)))
    # weight[s, c]: expected number of features, given they are in S₁, that need S₂ to avoid c.
    weight = np.zeros((len(sizes), int(degree[-1]) + 2))
    for row, size in enumerate(sizes):
        if size:
            for d, times in zip(degree, how_many, strict=True):
                inside, probability = intersection_law(int(d), int(size) - 1, p - 1)
                np.add.at(weight[row], 1 + d - inside, times * probability)
    taken = np.arange(weight.shape[1] - 1)
    steps = np.maximum(p - others[:, None] - taken, 0) / (p - taken)
    avoid = np.concatenate([np.ones((len(others), 1)), np.cumprod(steps, axis=1)], axis=1)
    hidden = np.einsum("ac,bc->ab", weight, avoid)
    share = sizes[:, None] / p
    return share * (how_many.sum() * (1.0 - others[None, :] / p) - hidden)
