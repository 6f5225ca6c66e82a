"""Base of the greedy filters: a subclass gives its `criterion`, everything else is here."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.dataset import Dataset
from fsframe.params import choice, integer, param, real
from fsframe.run import Run
from fsframe.selection import PairWeights, Selection
from fsframe_infotheory.criterion import Criterion
from fsframe_infotheory.encode import Encoded
from fsframe_infotheory.filter import DEFAULT_COUNT, InformationFilter
from fsframe_infotheory.greedy import Ranking, select_greedily
from fsframe_infotheory.stopping import Stopping

__all__ = ["GreedyFilter"]


@attrs.frozen(kw_only=True)
class GreedyFilter(InformationFilter):
    """Features one after the other, each the best by a criterion beside those selected before.

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
        help="When to end: after top features; before the first score that is not above zero; "
        "before the first feature whose conditional gain I(X; Y | selected) is not significant.",
    )
    alpha: float = param(0.05, real(above=0, below=1), help="Level of the test for stopping.")
    test: str = param(
        "g",
        choice("g", "permutation"),
        help="Test for stopping: the G-test with Bonferroni's correction for the candidates, or "
        "permutations of the class against the largest gain of all candidates.",
    )
    permutations: int = param(199, integer(19), help="How many permutations.")
    constants: str = param(
        "compete",
        choice("compete", "last"),
        help="Features of one level: scored by the formula as others are (some criteria then "
        "prefer them to redundant features), or kept back, with score 0, until no other is left.",
    )

    def criterion(self) -> Criterion:
        """The author's part: the criterion by this filter's parameters."""
        raise NotImplementedError

    def is_ratio(self) -> bool:
        """Whether scores after the first are ratios of informations, which have no unit."""
        return False

    def pair_weights(
        self, encoded: Encoded, ranking: Ranking, given: NDArray[np.intp], run: Run
    ) -> PairWeights | None:
        """Weights of pairs, where the filter offers them."""
        return None

    def stopping(self) -> Stopping | None:
        """The stopping rule by this filter's parameters."""
        if self.stop == "k":
            return None
        return Stopping(
            rule=self.stop, alpha=self.alpha, test=self.test, permutations=self.permutations
        )

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        encoded, bins = self.encode(data, upstream, run)
        given = self.columns_named(self.given, data)
        count = self.keep_count(
            data.n_features, DEFAULT_COUNT if self.stop == "k" else data.n_features
        )
        ranking = select_greedily(
            encoded,
            self.criterion(),
            count,
            given=given,
            exclude=self.columns_named(self.exclude, data),
            constants_last=self.constants == "last",
            stopping=self.stopping(),
            run=run,
        )
        criterion = self.in_unit(ranking.scores)
        if self.is_ratio():
            criterion[1:] = ranking.scores[1:]
        scores = np.full(data.n_features, np.nan)
        scores[ranking.selected] = criterion
        tables: dict[str, NDArray[Any]] = {
            "relevance": self.in_unit(encoded.relevance()),
            "criterion": criterion,
            **bins.tables(),
        }
        if len(ranking.tests):
            tables["stopping_tests"] = ranking.tests
        notes = self.notes(data, bins, encoded)
        if self.stop == "k" and ranking.stopped and len(ranking.selected) < count:
            notes += (f"{len(ranking.selected)} of {count} features: {ranking.stopped}",)
        elif self.stop != "k" and not len(ranking.selected):
            notes += (f"nothing was selected: {ranking.stopped}",)
        return Selection(
            selected=np.concatenate([given, ranking.selected]),
            scores=scores,
            pair_weights=self.pair_weights(encoded, ranking, given, run),
            tables=tables,
            warnings=notes,
        )
