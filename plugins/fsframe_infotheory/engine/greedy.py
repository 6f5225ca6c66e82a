"""Greedy selection by any criterion: select, count with the new feature, score, repeat or stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.kernels.bit_counts import LANES
from fsframe.kernels.compiled import njit
from fsframe.method.ranking import TIE
from fsframe.method.run import Run
from fsframe_infotheory.engine.encode import Counter, Encoded, Partner, Sums
from fsframe_infotheory.engine.entropy import (
    block_counts,
    block_scratch,
    block_terms,
    pack_blocks,
)
from fsframe_infotheory.engine.neighbours import Estimator
from fsframe_infotheory.engine.packing import PACKED_LEVELS, empty_blocks
from fsframe_infotheory.engine.part_counts import AnyEncoded, counter_of

Term = Callable[[Any], NDArray[np.float64]]
Scores = Callable[[NDArray[np.float64], NDArray[np.float64], int], NDArray[np.float64]]


@attrs.frozen(kw_only=True)
class Criterion:
    """The parts in which greedy criteria differ.

    Parameters
    ----------
    term : callable
        From the `entropy.Terms` of all features with one partner, or, with
        nearest-neighbour estimates, `fsframe_infotheory.engine.neighbours.EstimatedTerms`, to
        (n_features,) values.
    score : callable
        ``score(relevance, folded, n_selected)`` to (n_features,) scores in bits, larger is better;
        `relevance` is I(X_j; Y), `folded` the terms folded over the partners so far, which are the
        scores by default.
    fold : str
        ``"sum"`` or ``"least"`` over the partners, or ``"last"`` for the newest only.
    partners : str
        ``"each"``: every selected feature alone; ``"pairs"``: every unordered pair of selected
        features (every single one while there is one only); ``"all"``: all of them as one.
    per_class : bool
        Whether the term needs counts together with the class.
    lazy : bool
        Whether the score is ``min(relevance, folded)`` of conditional relevances, so that a
        candidate whose bound is below the best need not be counted further.

    Examples
    --------
    mRMR in its difference form:

    >>> Criterion(
    ...     term=lambda t: t.redundancy,
    ...     score=lambda relevance, folded, n: relevance - folded / n,
    ...     per_class=False,
    ... ).fold
    'sum'
    """

    term: Term
    score: Scores = lambda relevance, folded, n: folded
    fold: str = attrs.field(default="sum", validator=attrs.validators.in_(("sum", "least", "last")))
    partners: str = attrs.field(
        default="each", validator=attrs.validators.in_(("each", "pairs", "all"))
    )
    per_class: bool = True
    lazy: bool = False

    def start(self, n_features: int) -> NDArray[np.float64]:
        """The initial value of the fold."""
        return np.full(n_features, np.inf) if self.fold == "least" else np.zeros(n_features)

    def absorb(
        self, folded: NDArray[np.float64], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """`folded` with the terms of one more partner."""
        if self.fold == "sum":
            return folded + values
        return np.minimum(folded, values) if self.fold == "least" else values


NOT_POSITIVE = "no candidate has a positive score"


@attrs.frozen(kw_only=True, eq=False)
class Stopping:
    """A stopping rule, and the tests it has made.

    Parameters
    ----------
    rule : str
        ``"positive"``: end before the first feature whose score is not above zero.
        ``"significant"``: end before the first whose gain I(X; Y | S) is not significant.
    alpha : float
        Level of the test; with Bonferroni's correction for the number of candidates (G-test), or
        against the largest gain of all candidates (permutations).
    test : str
        ``"g"`` or ``"permutation"``.
    permutations : int
        Number of permutations.
    """

    rule: str
    alpha: float = 0.05
    test: str = "g"
    permutations: int = 199
    found: list[tuple[float, float, float]] = attrs.field(factory=list)

    def table(self) -> NDArray[np.float64]:
        """Gain, degrees of freedom and p-value of each test made, as (n_tests, 3)."""
        return np.array(self.found).reshape(-1, 3)

    def verdict(
        self,
        feature: int,
        score: float,
        open_: NDArray[np.bool_],
        counter: Any,
        partners: list[Any],
        run: Run,
    ) -> str:
        """The reason to end before `feature`; empty if it may be selected."""
        if self.rule == "positive":
            return "" if score > TIE else NOT_POSITIVE
        together: Any = partners[0] if partners else None
        for partner in partners[1:]:
            together = together.joined(partner)
        candidate = counter.encoded.partner(feature)
        if self.test == "permutation":
            gain, p = self._by_permutation(candidate, together, open_, counter, run)
            df = np.nan
        else:
            gain, df, n = conditional_gain(candidate, together)
            p = float(scipy.special.chdtrc(df, 2 * n * np.log(2) * gain)) if df > 0 else 1.0
            p = min(1.0, p * int(open_.sum()))
        self.found.append((gain, df, p))
        return "" if p <= self.alpha else f"the next gain is not significant (p = {p:.3g})"

    def _by_permutation(
        self,
        candidate: Partner,
        together: Partner | None,
        open_: NDArray[np.bool_],
        counter: Counter,
        run: Run,
    ) -> tuple[float, float]:
        """Gain, and the share of permutations in which some candidate gains at least as much.

        Classes are permuted among samples of equal levels of the selected features, under the
        null that no candidate adds information. Gains of all candidates then come from one pass
        with the pairs (levels, permuted class) as partner.
        """
        gain = conditional_gain(candidate, together)[0]
        layout = candidate.layout
        strata = _strata(together, layout.n)
        n_strata = int(strata.max()) + 1
        present = None if together is None else together.present
        base = Partner(layout, n_strata, strata, present)
        without = counter.terms(base, per_class=False)
        generator = run.generator(len(self.found))
        labels = candidate.labels
        by_stratum = np.argsort(strata, kind="stable")
        reached = 0
        for _ in range(self.permutations):
            shuffled = np.lexsort((generator.random(layout.n), strata))
            permuted = np.empty_like(labels)
            permuted[by_stratum] = labels[shuffled]
            codes = strata * layout.n_classes + permuted
            both = Partner(layout, n_strata * layout.n_classes, codes, present)
            terms = counter.terms(both, per_class=False)
            gains = (terms.js - without.js - terms.s + without.s) / terms.total
            reached += bool(np.max(gains, where=open_, initial=-np.inf) >= gain - TIE)
        return gain, (1 + reached) / (1 + self.permutations)


def conditional_gain(candidate: Partner, together: Partner | None) -> tuple[float, float, float]:
    """I(X; Y | S) in bits, its degrees of freedom, and the effective number of samples.

    Notes
    -----
    2·n·ln 2·I is the G statistic. Degrees of freedom are summed over the levels of S, counting in
    each only the levels of X and Y that occur there, so that a level of S with one sample
    adds nothing. With importance weights n is (Σw)²/Σw².
    """
    layout = candidate.layout
    present = np.ones(layout.n, dtype=bool)
    for partner in (candidate, together):
        if partner is not None and partner.present is not None:
            present &= partner.present
    x, y = candidate.codes[present], candidate.labels[present]
    s = _strata(together, layout.n)[present]
    if not x.size:
        return 0.0, 0.0, 0.0
    weights = np.ones(x.size) if layout.weights is None else layout.weights[present]
    total = weights.sum()

    def cells(*codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
        key = codes[0]
        for code in codes[1:]:
            key = key * (int(code.max()) + 1) + code
        keys, place = np.unique(key, return_inverse=True)
        sizes = np.bincount(place, weights=weights)
        return keys, float((sizes * np.log2(sizes)).sum())

    strata, of_s = cells(s)
    sx, of_sx = cells(s, x)
    sy, of_sy = cells(s, y)
    of_sxy = cells(s, x, y)[1]
    levels_x = np.bincount(np.searchsorted(strata, sx // (int(x.max()) + 1)), minlength=strata.size)
    levels_y = np.bincount(np.searchsorted(strata, sy // (int(y.max()) + 1)), minlength=strata.size)
    gain = max(0.0, (of_sxy - of_sx - of_sy + of_s) / total)
    df = float(((levels_x - 1) * (levels_y - 1)).sum())
    return gain, df, float(total**2 / (weights**2).sum())


def _strata(together: Partner | None, n: int) -> NDArray[np.int64]:
    return np.zeros(n, np.int64) if together is None else together.codes


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
        Why the selection ended before the requested count; empty if it did not.
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
    run: Run,
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
        features, reached = least_conditional_relevance(encoded, count, before, open_)
        selected, scores, stopped = features.tolist(), reached.tolist(), ""
        if stopping is not None and not (reached > TIE).all():
            end = int(np.argmin(reached > TIE))
            selected, scores, stopped = selected[:end], scores[:end], NOT_POSITIVE
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


def constant(encoded: Sums) -> NDArray[np.bool_]:
    """Features that have one level among the counted samples, as (n_features,)."""
    of_one_level = encoded.totals * np.log2(np.maximum(encoded.totals, 1e-300))
    return np.abs(encoded.sum_j - of_one_level) <= TIE * np.maximum(1.0, encoded.totals)


def first_best(scores: NDArray[np.float64]) -> int:
    """Lowest index whose score is within `TIE` of the largest; NaN and −inf are no candidates.

    >>> first_best(np.array([0.1, 0.5, 0.5 + 1e-12, np.nan]))
    1
    """
    # The tolerance is absolute, unlike elsewhere: information is a difference of entropies, whose
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
        new = self.encoded.partner(feature)
        for partner in self._added(new):
            terms = counter.terms(partner, self.criterion.per_class)
            self.folded = self.criterion.absorb(self.folded, self.criterion.term(terms))
        self.partners.append(new)

    def _added(self, new: Any) -> list[Any]:
        if self.criterion.partners == "each":
            return [new]
        if self.criterion.partners == "all":
            self.together = new if self.together is None else self.together.joined(new)
            return [self.together]
        if len(self.partners) == 1:
            # Single features count only while there is no pair.
            self.folded = self.criterion.start(len(self.relevance))
        return [earlier.joined(new) for earlier in self.partners] or [new]


_GROUP = np.minimum(np.array([0, 0, 0, 1, 1, 2, 2, 2, 2] + 8 * [3]), 3)
"""Group of features that share blocks, by number of levels up to 16, to waste few rows."""


@njit()
def _upper(open_, bound, block):
    """Largest bound of the candidates of one block."""
    upper = -np.inf
    for lane in range(block * LANES, (block + 1) * LANES):
        if open_[lane] and bound[lane] > upper:
            upper = bound[lane]
    return upper


@njit()
def _choose(
    columns, lanes, samples, blocks, table, sums_j, sums_jy, total, given, open_, bound, tolerance,
    rows, row_margins, chosen, scores,
):  # fmt: skip
    """Write the chosen features in order, and their scores; return their number.

    Parameters
    ----------
    columns, lanes, samples, blocks
        As in `pack_blocks`; blocks are packed when they are first needed.
    table : (n + 1,) float64
    sums_j, sums_jy : (n_features,) float64
    total : float
    given : (m,) int64
        Lanes of features that are given partners.
    open_ : (n_lanes,) bool
        Candidates; chosen ones are closed.
    bound : (n_lanes,) float64
        The relevance; becomes the least over the partners counted so far.
    tolerance : float
    rows : (capacity,) uint64
    row_margins : (m + k, most levels, n_classes) int64
        Memory for bit rows and counts of all partners.
    chosen, scores : (k,) int64, float64
        Results.
    """
    words, planes, margins = samples.words, blocks.planes, blocks.margins
    n_words = words[words.size - 1]
    n_classes = words.size - 1
    n_blocks = blocks.levels.size
    n_given = given.size
    capacity = n_given + chosen.size
    packed = np.zeros(n_blocks, np.bool_)
    seen = np.zeros(n_blocks, np.int64)
    uppers = np.empty(n_blocks)
    for block in range(n_blocks):
        uppers[block] = _upper(open_, bound, block)
    row_starts = np.zeros(capacity + 1, np.int64)
    of_s = np.empty(capacity)
    of_sy = np.empty(capacity)
    partner_levels = np.empty(capacity, np.int64)
    most = np.int64(1)
    for block in range(n_blocks):
        most = max(most, blocks.levels[block])
    scratch = block_scratch(most, n_classes, most)
    js, jsy = np.empty(LANES), np.empty(LANES)
    n_chosen = 0
    n_partners = 0
    while True:
        # The next partner: a given feature, or the best of the candidates.
        lane = np.int64(-1)
        if n_partners < n_given:
            lane = given[n_partners]
        else:
            if n_chosen == chosen.size:
                break
            first = 0
            for other in range(n_blocks):
                if uppers[other] > uppers[first]:
                    first = other
            if uppers[first] == -np.inf:
                break
            mark = -np.inf
            # The block of the largest bound first: a high mark early saves counting the others.
            for step in range(n_blocks + 1):
                block = first if step == 0 else step - 1
                while uppers[block] >= mark - tolerance and uppers[block] > -np.inf:
                    s = seen[block]
                    if s == n_partners:
                        mark = max(mark, uppers[block])
                        break
                    if not packed[block]:
                        pack_blocks(columns, lanes, samples, blocks, block, block + 1)
                        packed[block] = True
                    n_rows = partner_levels[s] - 1
                    partner_rows = rows[row_starts[s] : row_starts[s] + n_rows * n_words]
                    cells = block_counts(
                        blocks, block, partner_rows.reshape((n_rows, n_words)),
                        row_margins[s, : n_rows + 1], words, n_classes, scratch,
                    )  # fmt: skip
                    block_terms(cells, table, js, jsy)
                    for k in range(LANES):
                        value = (jsy[k] - js[k] - of_sy[s] + of_s[s]) / total
                        if value < bound[block * LANES + k]:
                            bound[block * LANES + k] = value
                    seen[block] += 1
                    uppers[block] = _upper(open_, bound, block)
            for block in range(n_blocks):
                if uppers[block] < mark - tolerance:
                    continue
                for other in range(block * LANES, (block + 1) * LANES):
                    lower = lane < 0 or lanes[other] < lanes[lane]
                    if open_[other] and bound[other] >= mark - tolerance and lower:
                        lane = np.int64(other)
            chosen[n_chosen] = lanes[lane]
            scores[n_chosen] = bound[lane]
            n_chosen += 1
            open_[lane] = False
            uppers[lane // LANES] = _upper(open_, bound, lane // LANES)
            if n_chosen == chosen.size:
                break
        home, k = int(lane) // LANES, int(lane) % LANES
        if not packed[home]:
            pack_blocks(columns, lanes, samples, blocks, home, home + 1)
            packed[home] = True
        s = n_partners
        levels = columns.starts[lanes[lane] + 1] - columns.starts[lanes[lane]]
        partner_levels[s] = levels
        row_starts[s + 1] = row_starts[s] + (levels - 1) * n_words
        for i in range((levels - 1) * n_words):
            rows[row_starts[s] + i] = planes[blocks.offsets[home] + i * LANES + k]
        for i in range(levels):
            for c in range(n_classes):
                place = blocks.margin_offsets[home] + (i * n_classes + c) * LANES + k
                row_margins[s, i, c] = margins[place]
        of_s[s] = sums_j[lanes[lane]]
        of_sy[s] = sums_jy[lanes[lane]]
        n_partners += 1
    return n_chosen


def least_conditional_relevance(
    encoded: Encoded,
    count: int,
    given: NDArray[np.intp],
    candidates: NDArray[np.bool_],
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The greedy selection by min(I(X_j; Y), min_s I(X_j; Y | X_s)), as features and scores.

    At most `count` of the `candidates` (n_features,) bool are chosen, `given` (m,) int are partners
    from the start; `encoded` has `coded`.

    Notes
    -----
    The score of a candidate can only fall as features are selected, so one whose bound is below
    the best complete candidate needs no more counting (Fleuret's idea), and one that is never
    reached is not even packed. Blocks of 8 features are counted together; features of similar
    relevance share a block, so that few blocks are reached. All candidates within the tolerance
    of the best are completed in any case, so that the result does not depend on their order.
    """
    layout, coded = encoded.layout, encoded.coded
    assert coded is not None
    relevance = encoded.relevance
    group = _GROUP[np.minimum(encoded.n_levels, PACKED_LEVELS)]
    # 64 bits are more than any relevance.
    features = np.argsort(group * 64.0 - relevance)
    sizes = np.bincount(group, minlength=4)
    n_blocks = -(-sizes // LANES)
    ends = np.cumsum(n_blocks) * LANES
    lanes = np.full(int(ends[-1]), -1, np.int64)
    shift = np.repeat(ends - n_blocks * LANES - (np.cumsum(sizes) - sizes), sizes)
    lane_of = np.empty(encoded.n_features, np.int64)
    lane_of[features] = np.arange(encoded.n_features) + shift
    lanes[lane_of] = np.arange(encoded.n_features)
    blocks = empty_blocks(encoded.n_levels, lanes, layout)
    bound = np.full(lanes.size, -np.inf)
    bound[lane_of] = relevance
    open_ = np.zeros(lanes.size, bool)
    open_[lane_of] = candidates
    most = int(blocks.levels.max())
    chosen, scores = np.empty(count, np.int64), np.empty(count)
    capacity = count + given.size
    n_chosen = _choose(
        coded.columns, lanes, layout.samples, blocks, layout.table, encoded.sum_j, encoded.sum_jy,
        layout.total, lane_of[given], open_, bound, TIE,
        np.empty(capacity * (most - 1) * layout.n_words, np.uint64),
        np.empty((capacity, most, layout.n_classes), np.int64), chosen, scores,
    )  # fmt: skip
    return chosen[:n_chosen], scores[:n_chosen]
