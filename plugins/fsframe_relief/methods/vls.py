"""VLSRelief: Relief on many small subsets of the features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np

from fsframe.kinds import MOST_TIMES
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import choice, integer, param
from fsframe.table.dataset import Dataset
from fsframe_relief.engine.neighbours import Nearest, Radius, Rule
from fsframe_relief.methods.problem import discrete_columns, make_problem
from fsframe_relief.methods.selector import ReliefSelector

__all__ = ["Vls"]


@attrs.frozen(kw_only=True)
class Vls(ReliefSelector):
    """The largest Relief score of each feature over many random subsets of the features.

    Notes
    -----
    In a distance over thousands of features an interacting pair is lost in the noise of the others;
    in a subset of `subset` features it is not, if both are in it. In each of `rounds` rounds the
    features are shuffled and split into subsets; every subset is scored separately, and a feature
    keeps its largest score. Two given features meet in a round with probability (subset - 1) / (p
    - 1), so that after R rounds they have met with probability 1 - (1 - (subset - 1) / (p - 1))^R;
    the documentation page states how many rounds that takes.

    Departure from Eppstein & Haake 2008: subsets of a round are disjoint and cover all features, so
    that every feature has a score. O(rounds n^2 p) time; memory as for a table of `subset` columns.

    References
    ----------
    Eppstein & Haake 2008, Very large scale ReliefF for genome-wide association analysis, IEEE
    CIBCB.

    Examples
    --------
    >>> import numpy as np
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 40))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> vls = Vls(discrete_features="all", subset=10, rounds=30, top=2)
    >>> sorted(vls.select(data).selected.tolist())
    [1, 4]
    """

    table_copies: ClassVar[float] = 0.0
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})

    subset: int = param(
        100,
        integer(2),
        help="Number of features per subset.",
        symbol="p_s",
        source="Eppstein & Haake 2008",
    )
    rounds: int = param(
        20,
        integer(1, MOST_TIMES),
        help="Number of times the features are shuffled and split into subsets.",
    )
    scoring: str = param(
        "relieff",
        choice("relieff", "surf", "multisurf"),
        help="Relief variant that scores a subset.",
    )
    k: int = param(10, integer(1), help="Neighbours per class, for relieff.", symbol="k")

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        yield from self._without_p_values("fits")

    def rule(self) -> Rule:
        if self.scoring == "relieff":
            return Nearest(k=self.k)
        return Radius(own=self.scoring == "multisurf")

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        p = data.n_features
        discrete = discrete_columns(self, data)
        best = np.full(p, np.nan)
        cuts = list(range(0, p, self.subset))
        if len(cuts) > 1 and p - cuts[-1] < self.subset // 2:
            # scores from a much smaller last subset would not be comparable
            cuts.pop()
        for t in range(self.rounds):
            shuffled = run.generator(2, t).permutation(p)
            for part in np.split(shuffled, cuts[1:]):
                columns = np.sort(part)
                problem = make_problem(
                    self, data, upstream, run, columns=columns, discrete=discrete, draw=(0, t)
                )
                best[columns] = np.fmax(best[columns], self.score(problem, run))
            run.progress(t + 1, self.rounds, "rounds")
            if len(cuts) == 1:
                break
        if np.isnan(best).any():
            notes = (f"{int(np.isnan(best).sum())} columns have no value at all and no score",)
            problem = attrs.evolve(problem, notes=problem.notes + notes)
        return self.finish(problem, best, run)
