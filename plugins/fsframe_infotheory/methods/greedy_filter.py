"""Base of the greedy filters; their parameters for nearest neighbours and for pair weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.kinds import MOST_TIMES
from fsframe.method.ranking import ADDING, Statement
from fsframe.method.run import Run, size_text
from fsframe.method.selection import PairWeights, Selection
from fsframe.method.selector import Selector
from fsframe.method.statistics import PermutationTest
from fsframe.params import choice, integer, param, real
from fsframe.table.arrays import SparseColumns
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bins import Bins, cached_bytes
from fsframe_infotheory.engine.encode import Encoded, encode
from fsframe_infotheory.engine.entropy import MOST_REPEATED
from fsframe_infotheory.engine.greedy import Criterion, Ranking, Stopping, select_greedily
from fsframe_infotheory.engine.neighbours import Estimator
from fsframe_infotheory.engine.packing import PACKED_LEVELS
from fsframe_infotheory.engine.part_counts import AnyEncoded, EncodedParts, counter_of
from fsframe_infotheory.engine.sparse_table import EncodedSparse
from fsframe_infotheory.methods.filter import (
    DEFAULT_COUNT,
    InformationFilter,
    with_strata,
    without_last,
)

_Notes = Callable[[Bins, AnyEncoded], tuple[str, ...]]


@attrs.frozen(kw_only=True)
class GreedyFilter(InformationFilter):
    """Features selected greedily, each the best by a criterion given those selected before.

    Authors write `criterion`. Without `top`, 10 features are kept, or, with a stopping rule, as
    many as it allows.

    The score of a selected feature is the criterion when it was selected (the first one's is its
    relevance), so scores compare candidates within a step, not steps; the order of `selected` is
    the ranking, and a feature that was not selected has no score (NaN). Table ``relevance`` holds
    I(X; Y) of all features.
    """

    stop: str = param(
        "k",
        choice("k", "positive", "significant"),
        help="Stopping rule: after top features; before the first score that is not positive; "
        "before the first feature whose conditional gain I(X; Y | selected) is not "
        "significant.",
    )
    alpha: float = param(
        0.05, real(above=0, below=1), help="Significance level of the stopping test."
    )
    test: str = param(
        "g",
        choice("g", "permutation"),
        help="Stopping test: the G-test with Bonferroni correction over the candidates, or "
        "permutations of the class against the largest gain of all candidates.",
    )
    permutations: int = param(199, integer(19, MOST_TIMES), help="Number of permutations.")
    constants: str = param(
        "compete",
        choice("compete", "last"),
        help="Constant features: scored by the formula like any other (some criteria then "
        "prefer them to redundant features), or ranked last with score 0.",
    )

    conditional: ClassVar[bool] = True
    """Whether relevance is conditional on the selected features."""
    greedy: ClassVar[bool] = True

    def criterion(self) -> Criterion:
        """The author's part: the criterion by this filter's parameters."""
        raise NotImplementedError

    def is_ratio(self) -> bool:
        """Whether scores after the first are ratios, which have no unit."""
        return False

    def pair_weights(
        self, encoded: Encoded | EncodedParts, selected: NDArray[np.intp], run: Run
    ) -> PairWeights | None:
        """Weights of pairs; None if the filter does not offer them."""
        return None

    def works_in_parts(self, data: Dataset) -> bool:
        # A test of gains, and all selected features as one partner, need the rows.
        wide = self.criterion().partners == "all"
        return super().works_in_parts(data) and self.stop != "significant" and not wide

    def adjusts(self) -> bool:
        """Whether it conditions on the strata of covariates, as on a given feature."""
        plain = getattr(self, "estimator", "plug-in") == "plug-in"
        return plain and self.conditional and self.criterion().per_class

    def ignores_groups(self) -> str:
        if self.stop == "significant" and self.test == "permutation":
            return (
                "test=permutation permutes labels among rows with equal levels of the selected "
                "features, and rows of one group need not have equal levels"
            )
        return super().ignores_groups()

    def permutation_test(self) -> PermutationTest | None:
        if self.stop != "significant" or self.test != "permutation":
            return None
        # Against the largest gain of all candidates: no correction for their number.
        return PermutationTest(permutations=self.permutations, level=self.alpha)

    def statement(self, base: Selector | None = None) -> Statement | None:
        return ADDING if self.stop == "significant" else None

    def stopping(self) -> Stopping | None:
        """The stopping rule by this filter's parameters."""
        if self.stop == "k":
            return None
        return Stopping(
            rule=self.stop, alpha=self.alpha, test=self.test, permutations=self.permutations
        )

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        if data.covariates is not None and self.adjusts():
            return self._select_given_strata(data, upstream, run)
        return self._select_columns(data, upstream, run, partial(self.notes, data))

    def _select_columns(
        self, data: Dataset, upstream: Selection | None, run: Run, notes: _Notes
    ) -> Selection:
        """The selection from the columns of a table as they are; `notes` are made of their bins."""
        criterion = self.criterion()
        pairs_only = criterion.partners == "each" and not criterion.per_class
        pairs_only = pairs_only and self.stop != "significant"
        encode_table = self.encode_for_pairs if pairs_only else self.encode
        encoded, bins = encode_table(data, upstream, run, keep=self._kept)
        return self._ranked(data, encoded, bins, run, notes)

    def _select_given_strata(
        self, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        """The selection with the strata of the covariates as a given feature."""
        p = data.n_features
        if not data.in_memory and not isinstance(data.matrix, SparseColumns):
            run.must_hold(
                2 * data.matrix.dtype.itemsize * data.n_samples * p,
                f"{self.method_name()}: two copies of the packed table, with strata as a column",
                "put a filter such as mim:top=1000 before",
            )
        wide = with_strata(data)
        first = wide.feature_names[p]
        method = attrs.evolve(self, given=(first, *self.given), top=self._most(data))
        arrived = None if upstream is None else upstream.lift(np.arange(p), p + 1)
        # Notes are about the table that was given; strata are never cut into bins.
        selection = method._select_columns(wide, arrived, run, partial(self.notes, data))
        kept = selection.selected[selection.selected != p]
        selection = attrs.evolve(selection, selected=kept, tables=without_last(selection.tables, p))
        return selection.restrict(np.arange(p))

    @property
    def _kept(self) -> str:
        # A test of gains needs codes of features; lazy selection does not.
        return "bytes" if self.criterion().lazy and self.stop != "significant" else "codes"

    def _select_many(
        self, data: Dataset, counts: NDArray[np.int64], upstream: Selection | None, run: Run
    ) -> list[Selection]:
        """One Selection per bootstrap; the table is read once if its columns are bytes."""
        if data.covariates is not None or not self._same_bytes(data, upstream, run):
            return self.one_by_one(data, counts, upstream, run)
        selections = []
        for b, drawn in enumerate(counts):
            part = run.child(b)
            if drawn.sum() > MOST_REPEATED * np.count_nonzero(drawn):
                selections += self.one_by_one(data, drawn[None], upstream, run.batch(b))
                continue
            encoded, bins = encode(
                data, self.discretiser(), counts=drawn, keep=self._kept, run=part
            )
            selections.append(self._ranked(data, encoded, bins, part, partial(self.notes, data)))
        return selections

    def _same_bytes(self, data: Dataset, upstream: Selection | None, run: Run) -> bool:
        """Whether every column is the same few bytes in every bootstrap, whichever rows it draws.

        Whole numbers of at most `max_levels` values stay so when rows are left out. Bins do not:
        they are learned on the rows drawn.
        """
        if not self.counts_are_whole(data, upstream) or cached_bytes(data, run) is None:
            return False
        encoded, bins = encode(data, self.discretiser(), keep="sums", run=run)
        return bool(bins.as_levels.all() and encoded.n_levels.max() <= PACKED_LEVELS)

    def _most(self, data: Dataset) -> int:
        """Most features to select besides those given: `top`, else the default or all others."""
        others = data.n_features - self.columns_given(data).size
        default = min(DEFAULT_COUNT, others) if self.stop == "k" else others
        return self.keep_count(data.n_features, default)

    def rank(
        self, data: Dataset, encoded: AnyEncoded | Estimator, run: Run
    ) -> tuple[Ranking, NDArray[np.float64]]:
        """The greedy ranking, and the scores of all features in the requested unit."""
        ranking = select_greedily(
            encoded,
            self.criterion(),
            self._most(data),
            given=self.columns_given(data),
            exclude=self.columns_named(self.exclude, data),
            constants_last=self.constants == "last",
            stopping=self.stopping(),
            run=run,
        )
        values = self.in_unit(ranking.scores)
        if self.is_ratio():
            values[1:] = ranking.scores[1:]
        scores = np.full(data.n_features, np.nan)
        scores[ranking.selected] = values
        return ranking, scores

    def _ranked(
        self, data: Dataset, encoded: AnyEncoded, bins: Bins, run: Run, notes: _Notes
    ) -> Selection:
        """The Selection from an encoded table."""
        ranking, scores = self.rank(data, encoded, run)
        count = self._most(data)
        tables: dict[str, NDArray[Any]] = {
            "relevance": self.in_unit(encoded.relevance),
            "criterion": scores[ranking.selected],
            **bins.tables(),
        }
        if len(ranking.tests):
            tables["stopping_tests"] = ranking.tests
        warnings = notes(bins, encoded)
        if self.stop == "k" and ranking.stopped and len(ranking.selected) < count:
            warnings += (
                f"only {len(ranking.selected)} of {count} features were selected: "
                f"{ranking.stopped}",
            )
        elif self.stop != "k" and not len(ranking.selected):
            warnings += (f"nothing was selected: {ranking.stopped}",)
        selected = np.concatenate([self.columns_given(data), ranking.selected])
        pairs = None
        if not isinstance(encoded, EncodedSparse):
            pairs = self.pair_weights(encoded, selected, run)
        return Selection(
            selected=selected,
            scores=scores,
            pair_weights=pairs,
            tables=tables,
            warnings=warnings,
        )


# Without slots, so that it can be mixed with a base that has them.
@attrs.frozen(kw_only=True, slots=False)
class EstimatorParameters(InformationFilter):
    """Parameters of filters that can estimate mutual information from nearest neighbours."""

    estimator: str = param(
        "plug-in",
        choice("plug-in", "knn"),
        help="Estimator of mutual information for continuous features: counts after binning, "
        "or k nearest neighbours without binning (may be negative).",
        source="Ross 2014; Kraskov, Stögbauer, Grassberger 2004",
    )
    neighbours: int = param(
        3, integer(1), help="Number of nearest neighbours, for estimator=knn.", symbol="k"
    )

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        if self.estimator == "knn" and self.missing == "level":
            yield "missing=level has no distances for estimator=knn; use missing=pairwise"

    def unlike_copies(self) -> str:
        # A copy at distance 0 would be the nearest neighbour, and the information infinite.
        return "a row is no neighbour of itself (estimator=knn)" if self.estimator == "knn" else ""

    def works_in_parts(self, data: Dataset) -> bool:
        """Whether it counts over parts; neighbours need the whole table."""
        return super().works_in_parts(data) and self.estimator == "plug-in"

    def estimates(self, data: Dataset, upstream: Selection | None, run: Run) -> Estimator:
        """Nearest-neighbour estimates, weighted by bootstrap counts times importance weights."""
        weights = None if upstream is None else upstream.instance_weights
        if data.counts is not None:
            counts = data.counts.astype(np.float64)
            weights = counts if weights is None else counts * weights
        return Estimator(data, self.discretiser(), weights, self.neighbours, run.threads)


def estimation_note(bits: NDArray[np.float64]) -> str:
    """The warning about estimated information."""
    note = "the information of continuous columns is estimated from nearest neighbours"
    if (bits < 0).any():
        below = int((bits < 0).sum())
        note += f"; estimates below zero ({below}) mean that no information was found"
    return note


@attrs.frozen(kw_only=True, slots=False)
class PairParameters(EstimatorParameters):
    """Parameters of filters that give pair weights on request."""

    pairs: str = param(
        "none",
        choice("none", "synergy", "joint"),
        help="Pair weights: I(Xi; Xj | Y) − I(Xi; Xj), I(Xi, Xj; Y), or none.",
    )
    pair_columns: str = param(
        "all",
        choice("all", "selected"),
        help="Features to form pairs of: all (8 bytes per pair), or those selected.",
    )

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        if self.estimator == "knn" and self.pairs != "none":
            yield "pairs are counted, so they need estimator=plug-in"

    def pair_weights(
        self, encoded: Encoded | EncodedParts, selected: NDArray[np.intp], run: Run
    ) -> PairWeights | None:
        """Informations of all pairs of columns about the class; None if they were not requested.

        The diagonal holds I(X_i; Y). Synergy is the joint information minus the sum of both,
        negative for redundant features.

        Raises
        ------
        RequestError
            If the m × m weights would take more than half of the memory allowed.

        Notes
        -----
        One pass over all features per column, O(m p n) time, 8 m² bytes.
        """
        if self.pairs == "none":
            return None
        every = self.pair_columns == "all"
        columns = np.arange(encoded.n_features) if every else np.sort(selected)
        m = len(columns)
        if 8 * m * m > run.memory // 2:
            raise RequestError(
                f"weights of {m} × {m} pairs take {size_text(8 * m * m)}, more than half of the "
                f"{size_text(run.memory)} allowed; use pair_columns=selected, put a filter such "
                "as mim:top=2000 before, or allow more memory"
            )
        weights = np.empty((m, m))
        np.fill_diagonal(weights, encoded.relevance[columns])
        with counter_of(encoded, run) as counter:
            for i, column in enumerate(columns):
                terms = counter.terms(encoded.partner(int(column)))
                if self.pairs == "joint":
                    values = terms.joint_relevance
                else:
                    values = terms.conditional_redundancy - terms.redundancy
                weights[i, i + 1 :] = weights[i + 1 :, i] = values[columns[i + 1 :]]
                run.progress(i + 1, m, "pairs")
        return PairWeights(columns, self.in_unit(weights))


@attrs.frozen(kw_only=True)
class EstimatingGreedyFilter(EstimatorParameters, GreedyFilter):
    """Base of greedy filters whose terms follow from the mutual information of two variables.

    Redundancy given the class is estimated within each class, so it needs classes.
    """

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        if self.estimator == "knn" and self.stop == "significant":
            yield "stop=significant tests counts, so it needs estimator=plug-in"
        if self.estimator == "knn" and self.constants == "last":
            yield "constants=last looks at levels, so it needs estimator=plug-in"

    def task_problems(self, data: Dataset) -> Iterator[str]:
        """The problems of every filter, and that estimates need classes."""
        yield from super().task_problems(data)
        estimated = self.estimator == "knn" and data.task == "regression"
        if estimated and self.criterion().per_class:
            yield (
                f"{self.method_name()}: estimator=knn estimates redundancy within each class, and "
                f"{data.label_name!r} is a numeric target; use mim, mifs or mrmr, whose criteria "
                "need no classes, or estimator=plug-in"
            )

    def counts_are_whole(self, data: Dataset, upstream: Selection | None) -> bool:
        """Whether a bootstrap is counted in whole numbers; estimates are not."""
        return self.estimator == "plug-in" and super().counts_are_whole(data, upstream)

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        if self.estimator == "plug-in":
            return super()._select(data, upstream, run)
        estimator = self.estimates(data, upstream, run)
        ranking, scores = self.rank(data, estimator, run)
        relevance = estimator.relevance
        return Selection(
            selected=np.concatenate([self.columns_given(data), ranking.selected]),
            scores=scores,
            tables={
                "relevance": self.in_unit(relevance),
                "criterion": scores[ranking.selected],
            },
            warnings=(*self.notes_on_given(data), estimation_note(relevance)),
        )
