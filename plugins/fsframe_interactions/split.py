"""Pairs of the features that a chain keeps, tested on rows that it has not used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.kinds import MOST_TIMES
from fsframe.method.pair_tests import PairTests
from fsframe.method.ranking import INTERACTING, Statement
from fsframe.method.run import Run
from fsframe.method.selection import PairWeights, Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import choice, count_or_fraction, integer, optional, param, real
from fsframe.resampling.groups import deal_groups, require_two
from fsframe.resampling.resamples import Base, WrappingSelector, select_resamples
from fsframe.table.dataset import Dataset
from fsframe_interactions.interactions import Interactions

_HALVES, _CHOICE, _TEST = 0, 1, 2  # first keys of the random streams


def choosing_half(data: Dataset, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Mask of the rows for choosing, (n_samples,): half of every class, with groups kept whole.

    Raises
    ------
    DataError
        If a class has fewer than four rows, or lies within one group.

    Examples
    --------
    >>> data = Dataset.from_arrays(np.eye(10), np.arange(10) % 2)
    >>> half = choosing_half(data, np.random.default_rng(0))
    >>> int(half.sum()), int(half[data.y == 1].sum())
    (5, 3)
    """
    classes = data.task == "classification"
    labels = data.y if classes else np.zeros(data.n_samples, np.int64)
    if data.groups is not None:
        if classes:
            require_two(data.groups, labels, "interactions-split", data.classes)
        return deal_groups(labels, data.groups, 2, generator) == 0
    chosen = np.zeros(data.n_samples, dtype=bool)
    dealt = 0
    for label in np.unique(labels):
        rows = generator.permutation(np.flatnonzero(labels == label))
        if rows.size < 4:
            what = f"class {data.classes[label]!r}" if classes else "the table"
            raise DataError(
                f"interactions-split: {what} has {rows.size} rows; to be halved it needs at "
                "least four"
            )
        # The odd rows of classes go to the two halves alternately.
        half = (rows.size + dealt % 2) // 2
        chosen[rows[:half]] = True
        dealt += rows.size % 2
    return chosen


@attrs.frozen(kw_only=True)
class InteractionsSplit(WrappingSelector):
    """Features of pairs that interact on rows that were not used to choose them.

    The base runs on half of the rows of every class. The pairs of the features that it keeps are
    tested by `interactions` on the other half, where p keeps its level whatever the selection.
    Without `top`, the features of pairs with q ≤ `alpha` are kept, best pair first. Tables:
    ``pairs`` (m, 2), positions among the given columns, ``g2`` (or ``f``), ``freedom``,
    ``p_values``, ``q_values`` over the pairs of the chosen features, ``mean_ratio``,
    ``fitted_freedom``, ``n_tested``; ``chosen``, the features that the base kept, best first;
    ``choosing_rows`` (n_samples,) bool.

    Notes
    -----
    Data splitting: Cox 1975, Biometrika 62:441. Given the features, rows of the other half are
    independent of the choice. One fit of the base on half the rows, and one test.

    References
    ----------
    D. R. Cox 1975, A note on data-splitting for the evaluation of significance levels, Biometrika
    62:441. L. Wasserman, K. Roeder 2009, High-dimensional variable selection, Ann. Stat. 37:2178.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    takes_missing: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    reads_columns: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True
    takes_time: ClassVar[bool] = False
    uses_upstream_weights: ClassVar[bool] = True

    top: int | float | None = param(
        None,
        optional(count_or_fraction()),
        help="Number of the selected features to keep, ranked by their best pair: a count, or "
        "a fraction. By default those of all significant pairs, which may be none.",
    )
    alpha: float = param(
        0.05,
        real(above=0, below=1),
        help="Pairs with q at or below this are significant.",
        symbol="α",
    )
    correction: str = param(
        "bh", choice("bh", "by"), help="Multiple-testing correction, as in `interactions`."
    )
    bins: int = param(3, integer(2, 16), help="Quantile bins for a numeric feature.")
    draws: int = param(200, integer(20, MOST_TIMES), help="Tables simulated per pair.")

    def _tester(self) -> Interactions:
        return Interactions(
            alpha=self.alpha, correction=self.correction, bins=self.bins, draws=self.draws
        )

    def statement(self, base: Selector | None = None) -> Statement:
        return INTERACTING

    def adjusts(self) -> bool:
        """Whether the test adjusts for covariates."""
        return True

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """Problems with groups whose rows do not share one label."""
        yield from super().role_problems(data)
        yield from self._tester().role_problems(data)

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        choosing = choosing_half(data, run.generator(_HALVES))
        counts = np.ones(data.n_samples, np.int64) if data.counts is None else data.counts
        [first] = select_resamples(
            base,
            data.with_counts(None),
            np.where(choosing, counts, 0)[None],
            run.child(_CHOICE),
            # A selection by the wrapped chain on the whole table must not be used on the half.
            upstream=upstream if self.base is not None else None,
        )
        chosen = np.sort(first.selected)
        notes = [*first.warnings, *self._notes(upstream, choosing, chosen)]
        none = np.empty((0, 2), dtype=np.intp)
        tests = self._tester().test_pairs(
            data.take_rows(np.flatnonzero(~choosing)), chosen, none, 0, run.child(_TEST)
        )
        with np.errstate(divide="ignore"):
            weights = -np.log10(np.maximum(tests.p_values, 1e-300))
        scores = np.full(data.n_features, np.nan)
        scores[chosen] = 0.0
        for column in (0, 1):
            np.maximum.at(scores, tests.pairs[:, column], weights)
        ranked = rank_by_score(scores)
        ranked = ranked[np.isin(ranked, chosen)]
        significant = tests.q_values <= self.alpha
        if self.top is None:
            kept = ranked[np.isin(ranked, np.unique(tests.pairs[significant]))]
        else:
            kept = ranked[: self.keep_count(chosen.size, 1)] if chosen.size else ranked
        if not significant.any() and chosen.size > 1:
            notes.append(
                f"none of the {tests.n_tested} pairs of the {chosen.size} features chosen "
                f"interacts significantly (q ≤ {self.alpha:g}) on the other rows"
            )
        return Selection(
            selected=kept,
            scores=scores,
            pair_weights=PairWeights.from_triplets(
                np.arange(data.n_features), tests.pairs[:, 0], tests.pairs[:, 1], weights
            ),
            tables={
                "pairs": tests.pairs,
                "p_values": tests.p_values,
                "q_values": tests.q_values,
                "n_tested": np.array([tests.n_tested]),
                "chosen": first.selected,
                "choosing_rows": choosing,
                **tests.tables,
            },
            warnings=tuple(notes),
        )

    def _notes(
        self, upstream: Selection | None, choosing: NDArray[np.bool_], chosen: NDArray[np.intp]
    ) -> Iterator[str]:
        yield (
            f"chosen on {int(choosing.sum())} rows, tested on the other {int((~choosing).sum())}; "
            "another seed halves the table differently"
        )
        if chosen.size < 2:
            yield f"{chosen.size} features were chosen, so there is no pair to test"
        if self.base is not None and upstream is not None:
            yield (
                "the earlier stages used all rows, so p keeps its level only for the choice of "
                "`base`; omit `base` to run the earlier stages on half of the rows as well"
            )

    def test_pairs(
        self,
        data: Dataset,
        columns: NDArray[np.intp],
        pairs: NDArray[np.intp],
        chosen_from: int,
        run: Run,
    ) -> PairTests:
        """As `Interactions.test_pairs`, since the pairs are already chosen."""
        return self._tester().test_pairs(data, columns, pairs, chosen_from, run)

    def tests_found(self, selection: Selection) -> PairTests:
        """The tests in a result of this method, with the column numbers of the whole table."""
        tests = self._tester().tests_found(selection)
        return attrs.evolve(tests, columns=np.sort(tests.columns[selection.tables["chosen"]]))
