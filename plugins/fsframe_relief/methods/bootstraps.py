"""Many bootstraps of one table: in parallel, with distances of codes computed once."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.wrapping_stages import drawn_rows
from fsframe.table.dataset import Dataset
from fsframe_relief.engine.columns import Columns, prepare_columns
from fsframe_relief.engine.feature_scores import feature_scores, full_distances
from fsframe_relief.engine.pair_sums import MAX_LEVELS
from fsframe_relief.engine.row_order import content_groups
from fsframe_relief.engine.table_values import summarise
from fsframe_relief.methods.parameters import ReliefParameters
from fsframe_relief.methods.problem import (
    FEW_LEVELS,
    discrete_columns,
    label_codes,
    row_weights,
    table_values,
    ties_by_index,
    with_target,
)

__all__ = ["select_each"]


def select_each(
    method: ReliefParameters,
    data: Dataset,
    counts: NDArray[np.int64],
    upstream: Selection | None,
    run: Run,
    *,
    plain: bool,
) -> list[Selection]:
    """The selection of `method` on every bootstrap, a row of `counts` (n_resamples, n_samples).

    Bit-identical to one bootstrap after the other: ranges, discrete columns, probabilities and
    class shares are those of the rows drawn (count 0: absent), and bootstrap b draws from
    ``run.child(b)``. `run.threads` of them are fitted at a time, as memory allows. `plain`
    means that the method only scores and finishes, so that bootstraps can share distances.
    """
    shared = _SharedCodes.of(method, data, run) if plain and len(counts) > 1 else None
    workers = _workers(method, data, run) if len(counts) > 1 else 1

    def one(b: int) -> Selection:
        rows, local, own = drawn_rows(data, counts[b], upstream)
        surroundings = run.child(b).quiet()
        if workers > 1:
            surroundings = attrs.evolve(surroundings, threads=1)
        if shared is not None:
            return shared.select(method, rows, counts[b, rows], own, surroundings)
        return method._select(local, own, surroundings)

    return in_threads(workers, one, range(len(counts)))


def _workers(method: ReliefParameters, data: Dataset, run: Run) -> int:
    """Number of fits at a time; each keeps its bounds, so results do not depend on it."""
    if method.permutations:
        # permutations bound the threads of linear algebra for the whole process
        return 1
    n, p = data.n_samples, data.n_features
    each = min(8 * n * n, run.memory // 2) + 40 * n * p
    return int(max(1, min(run.threads, run.memory // each)))


@attrs.frozen(eq=False)
class _SharedCodes:
    """A complete table of few integer codes, whose distances are the same in every bootstrap.

    Differences of codes do not depend on the range of the rows drawn, and their sums are integers,
    without rounding that could depend on the rows left out. `group` numbers the rows by content.
    """

    data: Dataset
    columns: Columns
    mask: NDArray[np.bool_]
    notes: tuple[str, ...]
    distances: NDArray[np.float64]
    group: NDArray[np.intp]

    @classmethod
    def of(cls, method: ReliefParameters, data: Dataset, run: Run) -> _SharedCodes | None:
        """The codes that bootstraps of `data` share; None if they cannot."""
        n = data.n_samples
        if method.permutations or method.ramp is not None or 8 * n * n > run.memory // 4:
            return None
        if method.discrete_features == "none":
            return None
        X = table_values(data)
        summary = summarise(X)
        # With so few levels in the table no bootstrap has more, so the choice of discrete columns
        # and of the arithmetic is the same in all of them.
        span = summary.high - summary.low
        if (
            summary.missing.any()
            or not (summary.whole & (span < min(FEW_LEVELS, MAX_LEVELS))).all()
        ):
            return None
        mask, notes = discrete_columns(method, data, X, summary)
        if not mask.all():
            return None
        columns = prepare_columns(X, mask, summary=summary)
        return cls(
            data=data,
            columns=columns,
            mask=mask,
            notes=notes,
            distances=full_distances(columns, run.threads),
            group=content_groups(X),
        )

    def select(
        self,
        method: ReliefParameters,
        rows: NDArray[np.intp],
        drawn: NDArray[np.int64],
        upstream: Selection | None,
        run: Run,
    ) -> Selection:
        """The selection of `method` on `rows` with these counts."""
        y, value = label_codes(method, self.data, rows)
        weights = row_weights(drawn, upstream, len(rows))
        order = np.arange(len(rows))
        if not ties_by_index(method):
            # as in content_order, with the rows' content ranked once for all bootstraps
            labels = (y.astype(np.float64) if value is None else value, *weights)
            keys = [(label + 0.0).view(np.uint64) for label in reversed(labels)]
            order = np.lexsort((*keys, self.group[rows]))
        order = order[np.argsort(y[order], kind="stable")]
        places = rows[order]
        problem = with_target(
            method, self.columns.take(places), y, value, weights, order, run, (0,), self.mask,
            self.notes,
        )  # fmt: skip
        # drawn targets are few: their distances are computed as for one bootstrap
        shared = None
        if problem.drawn is None:
            shared = np.take(self.distances[places], places, axis=1)
        scores = feature_scores(
            problem.columns,
            method.rule(),
            problem.target,
            rows=problem.drawn,
            memory=run.memory,
            threads=problem.threads,
            distances=shared,
        )
        return method.finish(problem, scores, run)
