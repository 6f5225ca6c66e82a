"""SWRF*: all instances, by a sigmoid of the distance."""

from __future__ import annotations

from typing import ClassVar

import attrs

from fsframe_relief.engine.neighbours import Rule, Sigmoid
from fsframe_relief.methods.selector import ReliefSelector

__all__ = ["Swrfstar"]


@attrs.frozen(kw_only=True)
class Swrfstar(ReliefSelector):
    """Relief scores over all instances, weighted by a sigmoid of distance; distant ones are
    subtracted.

    Notes
    -----
    The weight of j for target i is s_ij = 2 / (1 + exp(-(t_i - d_ij) / u_i)) - 1, t_i the mean and
    4 u_i the standard deviation of the distances from i. Instances with s > 0 are near, those with
    s < 0 far; W = S(near, s) - S(far, |s|), S being weighted means with divisor sum |s|.

    Departures from Stokes & Visweswaran 2012: t and u are those of the target, for hits and misses,
    and means are divided by the sum of weights. O(n^2 p) time, and an exponential per pair.

    References
    ----------
    Stokes & Visweswaran 2012, BioData Mining 5:20.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Swrfstar(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})

    def rule(self) -> Rule:
        return Sigmoid()
