"""Base of the greedy filters; a subclass defines its `criterion`."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kinds import MOST_TIMES
from fsframe.method.permutation_test import PermutationTest
from fsframe.method.run import Run
from fsframe.method.selection import PairWeights, Selection
from fsframe.params import choice, integer, param, real
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bins import Bins
from fsframe_infotheory.engine.byte_cache import cached_bytes
from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.engine.encode import Encoded, encode
from fsframe_infotheory.engine.greedy import Ranking, select_greedily
from fsframe_infotheory.engine.layout import MOST_REPEATED
from fsframe_infotheory.engine.neighbours import Estimator
from fsframe_infotheory.engine.packing import PACKED_LEVELS
from fsframe_infotheory.engine.part_counts import AnyEncoded, EncodedParts
from fsframe_infotheory.engine.sparse_table import EncodedSparse
from fsframe_infotheory.engine.stopping import Stopping
from fsframe_infotheory.engine.strata import with_strata, without_last
from fsframe_infotheory.methods.filter import DEFAULT_COUNT, InformationFilter

__all__ = ["GreedyFilter"]


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

    def criterion(self) -> Criterion:
        """The author's part: the criterion by this filter's parameters."""
        raise NotImplementedError

    def is_ratio(self) -> bool:
        """Whether scores after the first are ratios, which have no unit."""
        return False

    def pair_weights(
        self, encoded: Encoded | EncodedParts, selected: NDArray[np.intp], run: Run
    ) -> PairWeights | None:
        """Weights of pairs, where the filter offers them."""
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
        criterion = self.criterion()
        pairs_only = criterion.partners == "each" and not criterion.per_class
        if pairs_only and self.stop != "significant":
            return self._ranked(
                data, *self.encode_for_pairs(data, upstream, run, keep=self._kept), run
            )
        encoded, bins = self.encode(data, upstream, run, keep=self._kept)
        return self._ranked(data, encoded, bins, run)

    def _select_given_strata(
        self, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        """The selection with the strata of the covariates as a given feature."""
        p = data.n_features
        wide = with_strata(data)
        first = wide.feature_names[p]
        method = attrs.evolve(self, given=(first, *self.given), top=self._count(p))
        arrived = None if upstream is None else upstream.lift(np.arange(p), p + 1)
        found = method._select(wide, arrived, run)
        kept = found.selected[found.selected != p]
        found = attrs.evolve(found, selected=kept, tables=without_last(found.tables, p))
        return found.restrict(np.arange(p))

    def _count(self, p: int) -> int | None:
        return None if self.top is None else self.keep_count(p, DEFAULT_COUNT)

    @property
    def _kept(self) -> str:
        # A test of gains needs codes of features; lazy selection does not.
        return "bytes" if self.criterion().lazy and self.stop != "significant" else "codes"

    def _select_many(
        self, data: Dataset, counts: NDArray[np.int64], upstream: Selection | None, run: Run
    ) -> list[Selection]:
        """One Selection per bootstrap; the table is read once where its columns are bytes."""
        if data.covariates is not None or not self._same_bytes(data, upstream, run):
            return self.one_by_one(data, counts, upstream, run)
        found = []
        for b, drawn in enumerate(counts):
            part = run.child(b)
            if drawn.sum() > MOST_REPEATED * np.count_nonzero(drawn):
                found += self.one_by_one(data, drawn[None], upstream, run.batch(b))
                continue
            encoded, bins = encode(
                data, self.discretiser(), counts=drawn, keep=self._kept, run=part
            )
            found.append(self._ranked(data, encoded, bins, part))
        return found

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
        return self.keep_count(
            data.n_features, DEFAULT_COUNT if self.stop == "k" else data.n_features
        )

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

    def _ranked(self, data: Dataset, encoded: AnyEncoded, bins: Bins, run: Run) -> Selection:
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
        notes = self.notes(data, bins, encoded)
        if self.stop == "k" and ranking.stopped and len(ranking.selected) < count:
            notes += (f"{len(ranking.selected)} of {count} features: {ranking.stopped}",)
        elif self.stop != "k" and not len(ranking.selected):
            notes += (f"nothing was selected: {ranking.stopped}",)
        selected = np.concatenate([self.columns_given(data), ranking.selected])
        pairs = None
        if not isinstance(encoded, EncodedSparse):
            pairs = self.pair_weights(encoded, selected, run)
        return Selection(
            selected=selected,
            scores=scores,
            pair_weights=pairs,
            tables=tables,
            warnings=notes,
        )
