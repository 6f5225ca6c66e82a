"""MultiSURF and MultiSURF*: a distance threshold of its own for every target."""

from __future__ import annotations

from typing import ClassVar

import attrs

from fsframe_relief.engine.neighbours import Radius, Rule
from fsframe_relief.methods.selector import ReliefSelector

__all__ = ["Multisurf", "Multisurfstar"]


@attrs.frozen(kw_only=True)
class Multisurf(ReliefSelector):
    """Relief scores over all hits and misses nearer than mean_i - sd_i / 2 of the target's
    distances.

    Notes
    -----
    The mean and the standard deviation (divisor N - 1 instances, the target itself left out) are
    taken over the distances from target i; d_ij < mean_i - sd_i / 2, strictly, within a tie band
    of 1e-12.

    Departures from Urbanowicz et al. 2018: misses of more than two classes are weighted by
    P(c) / (1 - P(y_i)); with a numeric target the same neighbourhood enters the RReliefF sums.
    O(n^2 p) time.

    References
    ----------
    Urbanowicz, Olson, Schmitt, Meeker & Moore 2018, J. Biomedical Informatics 85:168, section 2.4.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Multisurf(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    def rule(self) -> Rule:
        return Radius(own=True)


@attrs.frozen(kw_only=True)
class Multisurfstar(ReliefSelector):
    """Relief scores over instances nearer than mean_i - sd_i / 2, minus those over instances beyond
    mean_i + sd_i / 2.

    Notes
    -----
    Instances between the two thresholds are ignored. S(far) is subtracted as it is; the paper
    scores far instances by 1 - diff, which is the same unless a target has no far hit or no far
    miss.

    Departure from Granizo-Mackenzie & Moore 2013: misses of more than two classes are weighted by
    P(c) / (1 - P(y_i)). O(n^2 p) time.

    References
    ----------
    Granizo-Mackenzie & Moore 2013, EvoBIO, LNCS 7833:1.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Multisurfstar(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})

    def rule(self) -> Rule:
        return Radius(own=True, star=True)
