"""TuRF: score, drop the worst columns, score again."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import count_or_fraction, param
from fsframe.resampling.resamples import select_resamples
from fsframe.resampling.wrapping import Base, WrappingSelector
from fsframe.table.dataset import Dataset

__all__ = ["Turf", "ranked_scores"]


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

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        p = data.n_features
        target = self.keep_count(p, max(1, int(np.ceil(0.1 * p - 1e-9))))
        columns = np.arange(p)
        always = np.flatnonzero(np.zeros(p) if data.keep is None else data.keep)
        last = np.full(p, np.nan)
        rounds = np.zeros(p, dtype=np.int64)
        notes: tuple[str, ...] = ()
        arriving = upstream if self.base is not None else None
        t = 0
        while True:
            found = _scored_round(base, data, columns, arriving, run, t)
            if t == 0:
                # later rounds would repeat the warnings for fewer columns
                notes = found.warnings
            last[columns], rounds[columns] = found.scores[columns], t
            if len(columns) <= target:
                break
            # A column without a score goes first.
            order = columns[rank_by_score(np.nan_to_num(last[columns], nan=-np.inf))]
            stays = order[: max(target, len(columns) - self._dropped(len(columns)))]
            before, columns = len(columns), np.union1d(stays, always)
            if len(columns) == before:
                break
            t += 1
            run.progress(p - len(columns), p - target, "columns dropped")
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
    """The scores of `base` on some columns of `data`, in the numbers of `data`, and its warnings.

    The round draws from ``run.child(number)``. It is one task, computed in this process with
    `run.threads` threads, which is kept with `run.checkpoint` and not computed again; a base that
    resamples submits its own resamples to `run.executor`, and stores those instead of the round.
    """
    scoring = _Round(base, columns)
    if _resamples(base):
        return scoring.select(data, upstream, run.child(number))
    counts = np.ones(data.n_samples, np.int64) if data.counts is None else data.counts
    here = attrs.evolve(run.batch(number), executor=None, listener=None)
    (found,) = select_resamples(
        scoring, data.with_counts(None), counts[None, :], here, upstream=upstream, parts=("scores",)
    )
    return found


def _resamples(base: Any) -> bool:
    """Whether a stage of `base` is a wrapping one."""
    return any(stage.method.wrapping for stage in getattr(base, "selecting", ()))


@attrs.frozen(eq=False)
class _Round:
    """`base` on some columns, with the interface of `select_resamples`."""

    base: Base
    columns: NDArray[np.intp]

    def __str__(self) -> str:
        digest = hashlib.sha256(self.columns.astype("<i8").tobytes()).hexdigest()
        return f"{self.base} on columns {digest}"

    def select(
        self, data: Dataset, upstream: Selection | None = None, run: Run | None = None
    ) -> Selection:
        """The selection of `base` on its columns of `data`, in the numbers of `data`."""
        arriving = None
        if upstream is not None:
            every = np.arange(len(self.columns))
            arriving = attrs.evolve(upstream.restrict(self.columns), selected=every)
        found = self.base.select(data.take_columns(self.columns), arriving, run)
        return found.lift(self.columns, data.n_features)

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
