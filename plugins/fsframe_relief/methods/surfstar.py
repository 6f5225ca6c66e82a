"""SURF*: SURF, minus the same score on distant instances."""

from __future__ import annotations

from typing import ClassVar

import attrs

from fsframe_relief.engine.neighbours import Radius, Rule
from fsframe_relief.methods.selector import ReliefSelector

__all__ = ["Surfstar"]


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
