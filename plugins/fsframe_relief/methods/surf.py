"""SURF and SURF*: all instances nearer than the mean distance, less those farther."""

from __future__ import annotations

from typing import ClassVar

import attrs

from fsframe_relief.engine.neighbours import Radius, Rule
from fsframe_relief.methods.selector import ReliefSelector

__all__ = ["Surf", "Surfstar"]


@attrs.frozen(kw_only=True)
class Surf(ReliefSelector):
    """Relief scores over all hits and misses nearer than T, the mean distance over all pairs.

    Notes
    -----
    H_i and M_i are the instances with d_ij < T, T = 2 / (N (N - 1)) sum_{i<j} d_ij, strictly; a
    distance within a fraction 1e-12 of T counts as equal to it. No parameter to choose; the
    neighbourhood does not depend on the labels, so label permutations are one matrix product.

    Departures from Greene et al. 2009: misses of more than two classes are weighted by P(c) / (1 -
    P(y_i)); with a numeric target the same neighbourhood enters the RReliefF sums. O(n^2 p) time.

    References
    ----------
    Greene, Penrod, Kiralis & Moore 2009, BioData Mining 2:5.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Surf(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    def rule(self) -> Rule:
        return Radius()


@attrs.frozen(kw_only=True)
class Surfstar(ReliefSelector):
    """Relief scores over instances nearer than T, minus those over instances farther than T.

    Notes
    -----
    T is the mean distance over all pairs; W = S(d_ij < T) - S(d_ij > T), S being the mean miss diff
    minus the mean hit diff. Distant instances sharpen pure interactions and cancel main effects: a
    feature with a main effect loses as much at a distance as it gains nearby.

    Departure from Greene et al. 2010: misses of more than two classes are weighted by
    P(c) / (1 - P(y_i)). O(n^2 p) time.

    References
    ----------
    Greene, Himmelstein, Kiralis & Moore 2010, EvoBIO, LNCS 6023:182.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Surfstar(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})

    def rule(self) -> Rule:
        return Radius(star=True)
