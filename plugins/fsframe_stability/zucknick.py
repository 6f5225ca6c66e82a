"""Zucknick's index: Jaccard's with similar features counted in part, raw and beyond chance."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fsframe_stability.agreement import ratio
from fsframe_stability.chance import Counts, expected_score
from fsframe_stability.overlap import Overlap
from fsframe_stability.similarity import SimilarityMetric

__all__ = ["Zucknick", "ZucknickCorrected"]


def _zucknick(sets: NDArray[np.bool_], overlap: Overlap, similar: Any) -> NDArray[np.float64]:
    held = sparse.csr_array(sets.astype(np.float64))
    reach = held @ similar  # [i, f]: similarity of f to all of S_i
    outside = sparse.csr_array(reach.multiply(sparse.csr_array((~sets).astype(np.float64))))
    total = (outside @ held.T).toarray()
    sizes = overlap.sizes
    # An empty set has nothing to be similar to: its sum is empty, 0 and not 0/0.
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
        # A single feature is similar to no other: Σ = 0, and p(p − 1) must not divide.
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
        # Nothing but rounding is left where every pair of sets scores 1.
        room[np.abs(room) <= 1e-12] = 0.0
        return ratio(_zucknick(sets, overlap, similar) - expected, room)
