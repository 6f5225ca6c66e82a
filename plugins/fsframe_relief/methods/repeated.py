"""Repeated scoring: with learned weights, on subsets of the features, after dropping the worst."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kinds import MOST_TIMES
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, count_or_fraction, integer, param, real
from fsframe.resampling.resamples import Base, WrappingSelector, select_resamples
from fsframe.table.dataset import Dataset
from fsframe_relief.engine.columns import prepare_columns
from fsframe_relief.engine.neighbours import Ball, Nearest, Radius, Rule
from fsframe_relief.methods.problem import (
    Problem,
    discrete_columns,
    make_problem,
    table_values,
    without_scores,
)
from fsframe_relief.methods.variants import ReliefSelector

ROUNDING = 1e-12
"""Rounding error of a weight that is exactly zero, relative to the largest weight."""


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
    pace: ClassVar[float] = 2e-8

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
        selection = self.finish(problem, scores, run)
        tables: dict[str, Any] = {
            **selection.tables,
            "distance_weights": weights,
            "changes": changes,
        }
        notes = selection.warnings
        if changes.size == self.rounds and changes[-1] > self.tol:
            notes = (
                *notes,
                f"weights still changed by {changes[-1]:.2g} of the largest after {self.rounds} "
                f"rounds (tol={self.tol:g}); raise rounds",
            )
        return attrs.evolve(selection, tables=tables, warnings=notes)

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
            ramp=self.ramp,
            weight=w,
            like=problem.columns,
        )
        for t in range(self.rounds):
            total += self.score(problem, run, metric=every.weighted(w))
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
    pace: ClassVar[float] = 0.0

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

    def cost(self, n: int, p: int) -> Cost:
        m = n if self.m is None else min(n, self.m)
        width = min(p, self.subset)
        fits = 1 if width == p else self.rounds * (p // width)
        return Cost(
            seconds=fits * (2e-3 + m * n * (8e-9 + 5e-11 * width)),
            formula=f"{fits} fits of 0.002 + {'n²' if m == n else f'n × {m}'} "
            f"(8e-9 + 5e-11 × {width}) seconds",
        )

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
        # The last part has said so of its own columns.
        told = without_scores(columns[problem.columns.blank], data)
        others = tuple(note for note in problem.notes if note not in told)
        notes = (*others, *without_scores(np.flatnonzero(np.isnan(best)), data))
        return self.finish(attrs.evolve(problem, notes=notes), best, run)


@attrs.frozen(kw_only=True)
class Turf(WrappingSelector):
    """The columns left after rounds of scoring with another selector and dropping the worst.

    Notes
    -----
    Each round scores the remaining columns and drops `drop` of them, a fraction of those remaining
    (at least one) or a count, but never below `top`; the last remaining columns are scored once
    more among themselves. Without `top` a tenth of the columns, at least one, is kept.

    Columns dropped later rank before those dropped earlier, and within a round by their score in
    that round. `scores` follow that order: those of the last round are unchanged, those of an
    earlier round are lowered, if necessary, below all later ones; `last_score` and `round` are kept
    as tables.

    Departure from Moore & White 2007: any selector with scores can be wrapped, a whole chain too,
    and a fraction is of the remaining columns, not of all columns. One fit of the base per round. A
    round needs the previous one, so rounds are not distributed to workers, but finished ones are
    stored, and an interrupted run continues after the last of them.

    References
    ----------
    Moore & White 2007, Tuning ReliefF for genome-wide genetic analysis, EvoBIO, LNCS 4447:166.

    Examples
    --------
    >>> import numpy as np
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 40))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> sorted(Turf(base="multisurf", drop=0.2, top=2).select(data).selected.tolist())
    [1, 4]
    """

    uses_upstream_weights: ClassVar[bool] = True
    takes_kept: ClassVar[bool] = True
    takes_time: ClassVar[bool] = True
    takes_missing: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})

    drop: int | float = param(
        0.1,
        count_or_fraction(),
        help="Features dropped per round: a count, or a fraction of those remaining.",
        source="Moore & White 2007",
    )

    def base_fits(self, p: int, base: Base | None = None) -> int:
        target, rounds = self.keep_count(p, max(1, -(-p // 10))), 1
        while p > target:
            p = max(target, p - self._dropped(p))
            rounds += 1
        return rounds

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        p = data.n_features
        target = self.keep_count(p, max(1, int(np.ceil(0.1 * p - 1e-9))))
        columns = np.arange(p)
        # Columns that are always kept come on top of the `size` best, which may include them.
        always = np.flatnonzero(np.zeros(p) if data.keep is None else data.keep)
        size = p
        last = np.full(p, np.nan)
        rounds = np.zeros(p, dtype=np.int64)
        notes: tuple[str, ...] = ()
        arriving = upstream if self.base is not None else None
        t = 0
        while True:
            selection = _scored_round(base, data, columns, arriving, run, t)
            if t == 0:
                # later rounds would repeat the warnings for fewer columns
                notes = selection.warnings
            last[columns], rounds[columns] = selection.scores[columns], t
            if size <= target:
                break
            # A column without a score goes first.
            order = columns[rank_by_score(np.nan_to_num(last[columns], nan=-np.inf))]
            size = max(target, size - self._dropped(size))
            columns = np.union1d(order[:size], always)
            t += 1
            run.progress(p - size, p - target, "columns dropped")
        scores = ranked_scores(last, rounds)
        ranked = rank_by_score(scores)
        return Selection(
            selected=ranked[np.isin(ranked, columns)],
            scores=scores,
            weights=np.where(rounds == t, np.maximum(np.nan_to_num(last), 0.0), 0.0),
            tables={"last_score": last, "round": rounds},
            warnings=notes,
        )

    def _dropped(self, n: int) -> int:
        if isinstance(self.drop, int):
            return self.drop
        return max(1, int(np.floor(self.drop * n + 1e-9)))


def ranked_scores(last: NDArray[np.float64], rounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Scores in the order of elimination: those of earlier rounds lowered below all later ones.

    Examples
    --------
    >>> ranked_scores(np.array([0.5, 0.9, 0.1]), np.array([1, 0, 1])).round(3).tolist()
    [0.5, 0.09, 0.1]
    """
    scores = last.copy()
    floor = np.inf
    for t in range(int(rounds.max()), -1, -1):
        members = np.flatnonzero((rounds == t) & ~np.isnan(last))
        if not members.size:
            continue
        top = scores[members].max()
        if top >= floor:
            scores[members] -= top - floor + 0.1 * max(abs(floor), 1e-6)
        floor = scores[members].min()
    return scores


def _scored_round(
    base: Base,
    data: Dataset,
    columns: NDArray[np.intp],
    upstream: Selection | None,
    run: Run,
    number: int,
) -> Selection:
    """The scores of `base` on some columns of `data`, numbered as in `data`, and its warnings.

    The round draws from ``run.child(number)``. It is one task, computed in this process with
    `run.threads` threads, and stored by `run.checkpoint`; a base that resamples submits its own
    resamples to `run.executor`, and stores those instead of the round.
    """
    scoring = _Round(base, columns)
    if _resamples(base):
        return scoring.select(data, upstream, run.child(number))
    here = attrs.evolve(run.batch(number), executor=None, listener=None)
    (selection,) = select_resamples(
        scoring,
        data.with_counts(None),
        data.row_counts[None, :],
        here,
        upstream=upstream,
        parts=("scores",),
    )
    return selection


def _resamples(base: Any) -> bool:
    """Whether a stage of `base` is a wrapping one."""
    return any(stage.method.wrapping for stage in getattr(base, "selecting", ()))


@attrs.frozen(eq=False)
class _Round(Base):
    """`base` on some columns."""

    base: Base
    columns: NDArray[np.intp]

    def __str__(self) -> str:
        digest = hashlib.sha256(self.columns.astype("<i8").tobytes()).hexdigest()
        return f"{self.base} on columns {digest}"

    def select(
        self, data: Dataset, upstream: Selection | None = None, run: Run | None = None
    ) -> Selection:
        """The selection of `base` on its columns of `data`, numbered as in `data`."""
        arriving = None
        if upstream is not None:
            every = np.arange(len(self.columns))
            arriving = attrs.evolve(upstream.restrict(self.columns), selected=every)
        selection = self.base.select(data.take_columns(self.columns), arriving, run)
        return selection.lift(self.columns, data.n_features)

    def select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None = None,
        run: Run | None = None,
    ) -> list[Selection]:
        """`select` with each row of `counts`."""
        surroundings = Run() if run is None else run
        return [
            # no counts if all are one, for methods that would copy rows
            self.select(
                data.with_counts(None if (row == 1).all() else row), upstream, surroundings.child(b)
            )
            for b, row in enumerate(counts)
        ]
