"""Iterative Relief: the scores of one round weigh the features in the distance of the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import integer, param, real
from fsframe.table.dataset import Dataset
from fsframe_relief.engine.columns import prepare_columns
from fsframe_relief.engine.feature_scores import feature_scores
from fsframe_relief.engine.neighbours import Ball, Rule
from fsframe_relief.methods.problem import Problem, make_problem, table_values
from fsframe_relief.methods.selector import ReliefSelector

__all__ = ["IterativeRelief"]

ROUNDING = 1e-12
"""Rounding error of a sum that is zero, relative to the largest weight."""


@attrs.frozen(kw_only=True)
class IterativeRelief(ReliefSelector):
    """Relief scores with a distance weighted by the scores of the previous round.

    Notes
    -----
    Round t: d_ij = sum_a w_a diff(a, i, j); r_i is the smallest radius with at least `least` hits
    and misses; neighbours count with max(0, 1 - (d_ij / r_i)^2); W is the usual score with these
    weights. Scores add up over the rounds; w is their sum where it is positive, scaled to mean 1,
    and 1 everywhere in the first round. Iteration stops when no weight changes by more than `tol`
    times the largest one; the result is the mean score over the rounds.

    The idea, the ball, the quadratic weight and the sum over rounds are those of Draper, Kaito &
    Bins 2003; departures: the radius is each target's own (a common one is set by the most remote
    instance), and negative sums have weight zero. Without the sum, a feature with a large weight in
    the distance is equal among neighbours, loses its score, and rounds alternate between two
    states. O(rounds n^2 p) time.

    References
    ----------
    Draper, Kaito & Bins 2003, Iterative Relief, CVPR Workshop on Statistical Analysis in Computer
    Vision.

    Examples
    --------
    >>> import numpy as np
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 12))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> sorted(IterativeRelief(discrete_features="all", top=2).select(data).selected.tolist())
    [1, 4]
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})

    least: int = param(
        10,
        integer(1),
        help="Minimum number of hits and misses in the ball around a target instance.",
        symbol="n",
        source="Draper, Kaito & Bins 2003",
    )
    rounds: int = param(20, integer(1), help="Maximum number of rounds.")
    tol: float = param(
        0.01, real(above=0), help="Stop when the weights change by no more than this."
    )

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        yield from self._without_p_values("rounds")
        if self.missing == "probability":
            yield "missing=probability is not supported here; missing values are left out"

    def rule(self) -> Rule:
        return Ball(least=self.least)

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        problem = make_problem(self, data, upstream, run)
        scores, weights, changes = self._iterate(problem, data, run)
        found = self.finish(problem, scores, run)
        tables: dict[str, Any] = {**found.tables, "distance_weights": weights, "changes": changes}
        notes = found.warnings
        if changes.size == self.rounds and changes[-1] > self.tol:
            notes = (
                *notes,
                f"weights still changed by {changes[-1]:.2g} of the largest after {self.rounds} "
                f"rounds (tol={self.tol:g}); raise rounds",
            )
        return attrs.evolve(found, tables=tables, warnings=notes)

    def _iterate(
        self, problem: Problem, data: Dataset, run: Run
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Scores of the last round, its distance weights, and the change of weights per round."""
        p = data.n_features
        w, changes = np.ones(p), []
        total = np.zeros(p)
        every = prepare_columns(
            table_values(data),
            problem.discrete,
            order=problem.order,
            ramp=None if self.ramp is None else (self.ramp[0], self.ramp[1]),
            weight=w,
            like=problem.columns,
        )
        for t in range(self.rounds):
            metric = every.weighted(w)
            total += feature_scores(
                problem.columns,
                self.rule(),
                problem.target,
                rows=problem.drawn,
                memory=run.memory,
                route=run.route,
                threads=problem.threads,
                metric=metric,
            )
            run.progress(t + 1, self.rounds, "rounds")
            following = np.maximum(np.nan_to_num(total), 0.0)
            if not following.any():
                # no feature separates the classes: all weights would be zero
                changes.append(0.0)
                break
            # Rounding errors must not become weights: where values are missing, two instances may
            # share no other column, and that weight would be their whole distance.
            following[following <= ROUNDING * following.max()] = 0.0
            following *= p / following.sum()
            changes.append(float(np.abs(following - w).max() / following.max()))
            w = following
            if changes[-1] <= self.tol:
                break
        return total / len(changes), w, np.array(changes)
