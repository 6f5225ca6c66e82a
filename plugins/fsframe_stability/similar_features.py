"""Metrics that take similar features into account: Yu's, Zucknick's and Sechidis's."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fsframe.errors import DataError
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.params import param, real
from fsframe_stability.agreement import (
    Counts,
    Overlap,
    expected_score,
    impute_parameter,
    intersection_law,
    mean_over_pairs,
    ratio,
    undefined,
)


def alike(similarity: NDArray[np.float64], threshold: float) -> Any:
    """Similarities between different features that reach a threshold.

    Parameters
    ----------
    similarity : (p, p) float64
        Symmetric, in [0, 1], ones on the diagonal.
    threshold : float
        Entries below it count as 0.

    Returns
    -------
    (p, p) scipy.sparse.csr_array of float64
        Entries ≥ threshold and above 0, without the diagonal.

    Raises
    ------
    DataError
        If an entry is outside [0, 1] or the diagonal is not 1.

    Notes
    -----
    Sparse, because few features are similar; its products run on one thread, so that results do not
    depend on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> alike(np.array([[1.0, 0.9], [0.9, 1.0]]), 0.85).nnz
    2
    """
    outside = ~((similarity >= 0.0) & (similarity <= 1.0))
    if outside.any():
        i, j = np.argwhere(outside)[0]
        raise DataError(
            f"similarities must lie in [0, 1], features {i} and {j} have {similarity[i, j]:g}; "
            "use the absolute value of a correlation"
        )
    diagonal = similarity.diagonal()
    if not np.allclose(diagonal, 1.0):
        i = int(np.argmax(np.abs(diagonal - 1.0)))
        raise DataError(
            f"a feature must have similarity 1 with itself, feature {i} has {diagonal[i]:g}"
        )
    keep = (similarity >= threshold) & (similarity > 0.0)
    np.fill_diagonal(keep, False)
    rows, columns = np.nonzero(keep)
    values = similarity[rows, columns]
    return sparse.csr_array((values, (rows, columns)), shape=similarity.shape)


@attrs.frozen(kw_only=True)
class SimilarityMetric(StabilityMetric):
    """Base of metrics that average a score using feature similarities over all pairs of runs.

    Authors write `_scores`.

    Parameters
    ----------
    threshold : float in [0, 1]
        Features are similar from this similarity on.
    impute : float, optional
        Score for pairs of runs that have none.
    """

    needs_similarity: ClassVar[bool] = True

    threshold: float = param(
        0.9, real(0, 1), help="Features with at least this similarity count as similar."
    )
    impute: float | None = impute_parameter()

    def _measure(
        self, matrix: NDArray[np.bool_], similarity: NDArray[np.float64] | None = None
    ) -> StabilityValue:
        assert similarity is not None
        overlap = Overlap.of(matrix)
        pairs = overlap.pairs()
        scores = self._scores(matrix, overlap, alike(similarity, self.threshold))[pairs]
        return mean_over_pairs(scores, pairs, self.undefined_when, self.impute)

    def _scores(
        self, sets: NDArray[np.bool_], overlap: Overlap, similar: Any
    ) -> NDArray[np.float64]:
        """Scores (m, m) of all pairs, NaN where undefined; `similar` as `alike` returns it."""
        raise NotImplementedError


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
        # If every pair of sets of these sizes scores the maximum, only rounding is left.
        room[room <= 1e-12 * most] = 0.0
        return ratio(measured - expected, room)


def replaceable(sets: NDArray[np.bool_], similar: Any) -> NDArray[np.int64]:
    """Count the features of one run only that are similar to a feature of another run only.

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
    For each run, one product of its features' rows of `similar` with all sets: O(m · nnz + m² k)
    time, O(m p) memory.
    """
    m = len(sets)
    links = similar.astype(bool).astype(np.float64)
    counts = np.zeros((m, m), dtype=np.int64)
    for i in range(m):
        members = np.flatnonzero(sets[i])
        theirs = (sets & ~sets[i]).astype(np.float64)
        reached = links[members] @ theirs.T > 0
        counts[i] = np.count_nonzero(reached & ~sets[:, members].T, axis=0)
    return counts


def expected_replaceable(
    sizes: NDArray[np.int64], others: NDArray[np.int64], degrees: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Exact expectation of `replaceable` for random sets.

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

    which takes one short sum for each size and each distinct degree, instead of a sum over all
    C(p, n₁)·C(p, n₂) pairs of sets.
    """
    p = len(degrees)
    degree, how_many = np.unique(degrees[degrees > 0], return_counts=True)
    if not degree.size:
        return np.zeros((len(sizes), len(others)))
    # weight[s, c]: expected number of features x, given x ∈ S₁, that do not count exactly if S₂
    # avoids c features: x and its neighbours outside S₁.
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


def _zucknick(sets: NDArray[np.bool_], overlap: Overlap, similar: Any) -> NDArray[np.float64]:
    held = sparse.csr_array(sets.astype(np.float64))
    reach = held @ similar  # [i, f]: similarity of f to all of S_i
    outside = sparse.csr_array(reach.multiply(sparse.csr_array((~sets).astype(np.float64))))
    total = (outside @ held.T).toarray()
    sizes = overlap.sizes
    # Nothing is similar to an empty set: its sum is 0, not 0/0.
    extra = total / np.maximum(sizes[None, :], 1)
    union = sizes[:, None] + sizes[None, :] - overlap.intersections
    return ratio(overlap.intersections + extra + extra.T, union)


@attrs.frozen(kw_only=True)
class Zucknick(SimilarityMetric):
    """Stability by Zucknick's index: Jaccard's, with similar features counted by similarity.

    Parameters
    ----------
    threshold : float in [0, 1]
        Features are similar from this similarity on.
    impute : float, optional
        Score for pairs of runs that have none.

    Notes
    -----
    Mean over pairs of

    .. math:: \\frac{|S_i ∩ S_j| + C(S_i, S_j) + C(S_j, S_i)}{|S_i ∪ S_j|}, \\qquad
        C(A, B) = \\frac{1}{|B|} \\sum_{x∈A,\\, y∈B∖A,\\, s(x,y) ≥ t} s(x, y)

    The form of Bommert et al. for any similarity (the paper has correlations). Not chance
    corrected. Undefined where both sets are empty. O(m·nnz + m²p).

    References
    ----------
    Zucknick, Richardson, Stronach (2008), Statistical Applications in Genetics and Molecular
    Biology 7(1); Bommert, Rahnenführer, Lang (2017), doi:10.1155/2017/7907163.

    Examples
    --------
    >>> import numpy as np
    >>> like = np.eye(4); like[0, 1] = like[1, 0] = 0.95
    >>> Zucknick()([[1, 0, 1, 0], [0, 1, 1, 0]], like).value.__round__(6)
    0.65
    """

    undefined_when: ClassVar[str] = "both sets are empty"

    def _scores(
        self, sets: NDArray[np.bool_], overlap: Overlap, similar: Any
    ) -> NDArray[np.float64]:
        return _zucknick(sets, overlap, similar)


@attrs.frozen(kw_only=True)
class ZucknickCorrected(SimilarityMetric):
    """Stability by Zucknick's index beyond chance, pair by pair.

    Parameters
    ----------
    threshold : float in [0, 1]
        Features are similar from this similarity on.
    impute : float, optional
        Score for pairs of runs that have none.

    Notes
    -----
    Every pair scores (s − E s)/(1 − E s). Given that two random sets share r features, any two
    different features lie in A and in B∖A with probability n₁(n₂ − r)/(p(p − 1)), so with Σ the
    sum of all similarities from the threshold on

    .. math:: E[s | r] = \\frac{r + \\frac{Σ}{p(p-1)} \\big(\\frac{n_1 (n_2 - r)}{n_2}
        + \\frac{n_2 (n_1 - r)}{n_1}\\big)}{n_1 + n_2 - r}

    and E s is its hypergeometric mean: exact, without enumeration. Undefined where both sets are
    empty or both are full, or every pair of sets scores 1.

    References
    ----------
    Bommert, Rahnenführer, Lang (2017), doi:10.1155/2017/7907163 (the correction).

    Examples
    --------
    >>> import numpy as np
    >>> ZucknickCorrected()([[1, 0, 1, 0], [1, 0, 1, 0]], np.eye(4)).value
    1.0
    """

    chance_corrected: ClassVar[bool] = True
    undefined_when: ClassVar[str] = (
        "both sets are empty, both hold every feature, or any two sets of these sizes would score 1"
    )

    def _scores(
        self, sets: NDArray[np.bool_], overlap: Overlap, similar: Any
    ) -> NDArray[np.float64]:
        p = overlap.n_features
        # For a single feature Σ = 0, and p(p − 1) = 0 must not be divided by.
        density = float(similar.sum()) / max(1, p * (p - 1))

        def given_shared(
            shared: Counts, first: Counts, second: Counts, p: int
        ) -> NDArray[np.float64]:
            one = first * (second - shared) / np.maximum(second, 1)
            other = second * (first - shared) / np.maximum(first, 1)
            return ratio(shared + density * (one + other), first + second - shared)

        size, which = np.unique(overlap.sizes, return_inverse=True)
        chance = np.empty((len(size), len(size)))
        for a, first in enumerate(size):
            for b, second in enumerate(size[: a + 1]):
                chance[a, b] = chance[b, a] = expected_score(
                    given_shared, int(first), int(second), p
                )
        expected = chance[which[:, None], which[None, :]]
        room = 1.0 - expected
        # If every pair of sets scores 1, only rounding is left.
        room[np.abs(room) <= 1e-12] = 0.0
        return ratio(_zucknick(sets, overlap, similar) - expected, room)


@attrs.frozen(kw_only=True)
class Sechidis(StabilityMetric):
    """Effective stability: Nogueira's φ with similar features treated as equivalent.

    Parameters
    ----------
    threshold : float in [0, 1]
        Similarities below it count as 0; 0 takes the similarity as it is.

    Notes
    -----
    With C the thresholded similarity (ones on the diagonal), S the sample covariance of the rows
    of the (m, p) matrix of sets, and Σ its expectation under random selection,

    .. math:: 1 - \\frac{\\mathrm{tr}(C S)}{\\mathrm{tr}(C Σ)}, \\quad
        Σ_{ii} = \\frac{k̄}{p}\\Big(1 - \\frac{k̄}{p}\\Big), \\quad
        Σ_{ij} = \\frac{\\overline{k^2} - k̄}{p^2 - p} - \\frac{k̄^2}{p^2}

    Without similar features it equals φ. Chance corrected. It has no general bounds, because a
    thresholded similarity need not be positive semi-definite; undefined where tr(CΣ) is not
    positive: nothing or everything is kept, or everything is similar and all sets are equally
    large. O(m·nnz + m p), never a p × p product.

    References
    ----------
    Sechidis, Papangelou, Nogueira, Weatherall, Brown (2020), ECML PKDD 2019, 327–342.

    Examples
    --------
    >>> import numpy as np
    >>> Sechidis()([[1, 1, 0], [0, 1, 1], [1, 0, 1]], np.eye(3)).value.__round__(12)
    -0.5
    """

    needs_similarity: ClassVar[bool] = True
    chance_corrected: ClassVar[bool] = True
    undefined_when: ClassVar[str] = (
        "nothing or everything is kept, or the similarities leave random selection no variance"
    )

    threshold: float = param(0.9, real(0, 1), help="Similarities below this count as 0.")

    def _measure(
        self, matrix: NDArray[np.bool_], similarity: NDArray[np.float64] | None = None
    ) -> StabilityValue:
        assert similarity is not None
        similar = alike(similarity, self.threshold)
        overlap = Overlap.of(matrix)
        m, p = overlap.n_runs, overlap.n_features
        sizes, h = overlap.sizes.astype(np.float64), overlap.frequencies.astype(np.float64)
        held = sparse.csr_array(matrix.astype(np.float64))
        # Σ_i z_iᵀ C z_i and hᵀ C h; `similar` is C without its diagonal, which is added here.
        within = float((held @ similar).multiply(held).sum() + sizes.sum())
        across = float(np.sum(h * (similar @ h)) + np.sum(h * h))
        observed = (within - across / m) / (m - 1)
        share = sizes.mean() / p
        # A single feature has no pairs, and p² − p = 0 must not be divided by.
        pair = (np.mean(sizes**2) - sizes.mean()) / max(1, p * p - p) - share**2
        alone, together = p * share * (1 - share), float(similar.sum()) * pair
        chance = alone + together
        # If all sets are equally large and all features are similar, only rounding is left.
        if chance <= 1e-12 * (alone + abs(together)):
            return undefined(self.undefined_when)
        return StabilityValue(value=float(1.0 - observed / chance))
