"""Relief and RELIEVED-F: the nearest hit and the nearest miss, or all that are equally near."""

from __future__ import annotations

from typing import ClassVar

import attrs

from fsframe.params import choice, param
from fsframe_relief.engine.neighbours import Nearest, Rule
from fsframe_relief.methods.selector import ReliefSelector

__all__ = ["Relief", "RelievedF"]


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


@attrs.frozen(kw_only=True)
class RelievedF(ReliefSelector):
    """Relief scores over all nearest hits and all nearest misses of each other class, with all
    instances as targets.

    Notes
    -----
    For every target the hits at the smallest hit distance are averaged, and so are the misses of
    each class at that class's smallest distance; misses are weighted by P(c) / (1 - P(y_i)). The
    result is the limit of Relief's score for many targets drawn and ties broken at random.

    Departure from John, Kohavi & Pfleger 1994: `m` may draw targets, for tables with too many rows;
    with missing=probability missing values follow P(value | class), as in the paper, and by default
    they are left out as in the rest of the family. O(n^2 p) time.

    References
    ----------
    John, Kohavi & Pfleger 1994, Irrelevant features and the subset selection problem, ICML,
    section 4. Kohavi & John 1997, Artificial Intelligence 97:273, section 3.2.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> data = Dataset.from_arrays([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> RelievedF(discrete_features="all").select(data).scores.tolist()
    [-0.5, -0.5]
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})

    def rule(self) -> Rule:
        return Nearest(k=1)
