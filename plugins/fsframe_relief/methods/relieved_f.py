"""RELIEVED-F: the deterministic Relief, with all instances that are equally near."""

from __future__ import annotations

from typing import ClassVar

import attrs

from fsframe_relief.engine.neighbours import Nearest, Rule
from fsframe_relief.methods.selector import ReliefSelector

__all__ = ["RelievedF"]


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
