"""Greedy selection by any criterion: select, count with the new feature, score, repeat."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.ranking import TIE
from fsframe.method.run import Run
from fsframe_infotheory.engine.criterion import Criterion
from fsframe_infotheory.engine.encode import Encoded, Sums
from fsframe_infotheory.engine.lazy_greedy import least_conditional_relevance
from fsframe_infotheory.engine.neighbours import Estimator
from fsframe_infotheory.engine.part_counts import AnyEncoded, counter_of, joint, partner_of
from fsframe_infotheory.engine.stopping import NOT_POSITIVE, Stopping

__all__ = ["Ranking", "select_greedily"]


@attrs.frozen(kw_only=True, eq=False)
class Ranking:
    """Result of a greedy selection.

    Parameters
    ----------
    selected : (k,) int
        Columns in the order of selection, without the given ones.
    scores : (k,) float64
        Criterion in bits when each was selected; the first one's is its relevance.
    tests : (m, 3) float64
        With a stopping test: gain in bits, degrees of freedom (NaN for permutations)
        and p-value of each feature tested.
    stopped : str
        Why it ended before the requested count; empty if it did not.
    """

    selected: NDArray[np.intp]
    scores: NDArray[np.float64]
    tests: NDArray[np.float64]
    stopped: str = ""


def select_greedily(
    encoded: AnyEncoded | Estimator,
    criterion: Criterion,
    count: int,
    *,
    given: NDArray[np.intp] | None = None,
    exclude: NDArray[np.intp] | None = None,
    constants_last: bool = False,
    stopping: Stopping | None = None,
    run: Run | None = None,
) -> Ranking:
    """At most `count` features, each the best by `criterion` given those already selected.

    Columns `given` are taken as selected and do not count, columns `exclude` are never selected;
    with `constants_last` features of one level wait, with score 0, until no other is left.

    Notes
    -----
    The first feature is argmax I(X_j; Y), whatever the criterion; ties within 1e-10 bit go to the
    lowest column. One pass over all features per partner, so O(k p n) for criteria over single
    features, and O(k² p n) for those over pairs.
    """
    run = run or Run()
    open_ = np.ones(encoded.n_features, dtype=bool)
    for columns in (given, exclude):
        if columns is not None:
            open_[columns] = False
    waiting = np.zeros_like(open_)
    if constants_last and isinstance(encoded, Sums):
        waiting = open_ & constant(encoded)
    open_ &= ~waiting
    before = np.empty(0, np.intp) if given is None else given
    if isinstance(encoded, Encoded) and encoded.coded is not None and criterion.lazy:
        selected, scores, stopped = _lazily(encoded, count, before, open_, stopping)
        run.progress(len(selected), count, "features")
    else:
        engine = _Engine(encoded, criterion, open_)
        selected, scores, stopped = engine.rank(count, before, stopping, run)
    if not stopped and len(selected) < count:
        constants = np.flatnonzero(waiting)[: count - len(selected)]
        selected += constants.tolist()
        scores += [0.0] * constants.size
        stopped = "" if len(selected) == count else "no candidate is left"
    tests = np.empty((0, 3)) if stopping is None else stopping.table()
    return Ranking(
        selected=np.array(selected, dtype=np.intp),
        scores=np.array(scores),
        tests=tests,
        stopped=stopped,
    )


def _lazily(
    encoded: Encoded,
    count: int,
    given: NDArray[np.intp],
    open_: NDArray[np.bool_],
    stopping: Stopping | None,
) -> tuple[list[int], list[float], str]:
    """Features, scores and the reason for ending, by lazy evaluation."""
    features, scores = least_conditional_relevance(encoded, count, given, open_)
    stopped = ""
    if stopping is not None:
        positive = scores > TIE
        if not positive.all():
            end = int(np.argmin(positive))
            features, scores, stopped = features[:end], scores[:end], NOT_POSITIVE
    return features.tolist(), scores.tolist(), stopped


def constant(encoded: Sums) -> NDArray[np.bool_]:
    """Features that have one level among the counted samples, as (n_features,)."""
    whole = encoded.totals * np.log2(np.maximum(encoded.totals, 1e-300))
    return np.abs(encoded.sum_j - whole) <= TIE * np.maximum(1.0, encoded.totals)


def first_best(scores: NDArray[np.float64]) -> int:
    """Lowest index whose score is within `TIE` of the largest; NaN and −inf are no candidates.

    >>> first_best(np.array([0.1, 0.5, 0.5 + 1e-12, np.nan]))
    1
    """
    # Absolute, in bits, unlike elsewhere: information is a difference of entropies, and their
    # rounding error does not shrink with it.
    return int(np.argmax(scores >= np.fmax.reduce(scores) - TIE))


class _Engine:
    """Counts all candidates with every partner."""

    def __init__(
        self,
        encoded: AnyEncoded | Estimator,
        criterion: Criterion,
        candidates: NDArray[np.bool_],
    ) -> None:
        self.encoded = encoded
        self.criterion = criterion
        self.relevance = encoded.relevance
        self.open = candidates.copy()
        self.folded = criterion.start(encoded.n_features)
        self.partners: list[Any] = []
        self.together: Any = None

    def rank(
        self, count: int, given: NDArray[np.intp], stopping: Stopping | None, run: Run
    ) -> tuple[list[int], list[float], str]:
        """Features, scores, and why a stopping rule ended the selection; empty if none did."""
        selected: list[int] = []
        scores: list[float] = []
        with counter_of(self.encoded, run) as counter:
            for feature in given:
                self.absorb(int(feature), counter)
            while len(selected) < count and self.open.any():
                best, score = self.best()
                if stopping is not None:
                    why = stopping.verdict(best, score, self.open, counter, self.partners, run)
                    if why:
                        return selected, scores, why
                selected.append(best)
                scores.append(score)
                self.open[best] = False
                if len(selected) < count:
                    self.absorb(best, counter)
                run.progress(len(selected), count, "features")
        return selected, scores, ""

    def best(self) -> tuple[int, float]:
        """The best of the open candidates, and its score."""
        scores = self.relevance
        if self.partners:
            scores = self.criterion.score(self.relevance, self.folded, len(self.partners))
        feature = first_best(np.where(self.open, scores, -np.inf))
        return feature, float(scores[feature])

    def absorb(self, feature: int, counter: Any) -> None:
        """Count all features with the partners that `feature` adds."""
        new = partner_of(self.encoded, feature)
        for partner in self._added(new):
            terms = counter.terms(partner, self.criterion.per_class)
            self.folded = self.criterion.absorb(self.folded, self.criterion.term(terms))
        self.partners.append(new)

    def _added(self, new: Any) -> list[Any]:
        if self.criterion.partners == "each":
            return [new]
        if self.criterion.partners == "all":
            self.together = new if self.together is None else joint(self.together, new)
            return [self.together]
        if len(self.partners) == 1:
            # The single feature counted only while there was no pair.
            self.folded = self.criterion.start(len(self.relevance))
        return [joint(earlier, new) for earlier in self.partners] or [new]
