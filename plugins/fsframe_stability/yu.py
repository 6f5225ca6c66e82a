"""Yu's index: similar features stand in for each other."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_stability.agreement import ratio
from fsframe_stability.overlap import Overlap
from fsframe_stability.replaceable import expected_replaceable, replaceable
from fsframe_stability.similarity_pairs import SimilarityMetric

__all__ = ["Yu"]


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
