"""Relief: one nearest hit and one nearest miss per target."""

from __future__ import annotations

from typing import ClassVar

import attrs

from fsframe.params import choice, param
from fsframe_relief.engine.neighbours import Nearest, Rule
from fsframe_relief.methods.selector import ReliefSelector

__all__ = ["Relief"]


@attrs.frozen(kw_only=True)
class Relief(ReliefSelector):
    """Relief scores over the nearest hit and the nearest miss of each target, W += (diff miss -
    diff hit) / m.

    Notes
    -----
    Kira & Rendell 1992, Figure 1, with these departures: all instances are targets unless `m` is
    given (the paper draws m); diff is not squared, as in all later members of the family;
    instances equally near share their place; with more than two classes the miss is the nearest
    instance of any other class. O(n^2 p) time.

    References
    ----------
    Kira & Rendell 1992, A practical approach to feature selection, ICML, Figure 1.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> data = Dataset.from_arrays([[0, 5], [1, 5], [8, 4], [9, 6]], ["a", "a", "b", "b"])
    >>> Relief(discrete_features="none").select(data).scores.round(3).tolist()
    [0.722, 0.0]
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})

    ties: str = param(
        "share",
        choice("share", "index"),
        help="Instances tied for the nearest share the place, or the first row takes it.",
    )

    def rule(self) -> Rule:
        return Nearest(k=1, ties=self.ties, pooled=True)
