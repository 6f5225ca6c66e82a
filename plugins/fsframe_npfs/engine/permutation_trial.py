"""One run of the NPFS test: draw, count, decide."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import repeat
from typing import Any, Protocol, TypedDict, cast

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.remarks import remark
from fsframe.contracts.run import Progress, Run
from fsframe.contracts.selection import Selection
from fsframe.errors import RequestError
from fsframe.resampling.null import LawNull, Null
from fsframe.resampling.resamples import select_resamples
from fsframe.resampling.wrapping import Base
from fsframe_npfs.engine import outlook
from fsframe_npfs.engine.counting import Marks
from fsframe_npfs.engine.decisions import Verdict, by_centred_null, by_own_null, by_tail
from fsframe_npfs.engine.drawing import BASE, DRAWS, BootstrapDraws
from fsframe_npfs.engine.outlook import Outlook, span_text
from fsframe_npfs.engine.relabelled import PERMUTATION, Relabelled
from fsframe_npfs.engine.seed_sensitivity import chance_of_other_answer
from fsframe_npfs.engine.selected_items import FeatureMarks, Marker
from fsframe_npfs.engine.sequential_looks import larger_tests, looks, settled
from fsframe_npfs.engine.standing_decisions import by_standings
from fsframe_npfs.engine.standings import Standings, variance_within
from fsframe_npfs.engine.tails import least_bootstraps, permutation_tail

__all__ = ["SHARED_OUT", "Settings", "Trial"]

SHARED_OUT = (
    "the base shares out one whole among the columns it is given, so that its best columns score "
    "as high under a permuted label as under the true one, and a corrected test, which compares "
    "scores, may name nothing; test what screens before it (such as `mim:top=100 npfs`), or counts "
    "(statistic=counts)"
)
"""What is said of such a test before the permuted labels take their time, and with its answer."""


class _Rule(TypedDict):
    """What every verdict is asked."""

    alpha: float
    correction: str
    tests: int


class Settings(Protocol):
    """The parameters of a test: a `fsframe_npfs.methods.npfs.Npfs`."""

    @property
    def alpha(self) -> float: ...
    @property
    def bias(self) -> float: ...
    @property
    def compare(self) -> str: ...
    @property
    def correction(self) -> str: ...
    @property
    def fraction(self) -> float | None: ...
    @property
    def null(self) -> str: ...
    @property
    def compared_with(self) -> Null: ...
    @property
    def of(self) -> str: ...
    @property
    def permuted_resamples(self) -> int: ...
    @property
    def resamples(self) -> int: ...
    @property
    def scoring(self) -> bool: ...
    @property
    def settle(self) -> float | None: ...
    @property
    def stratify(self) -> bool: ...
    @property
    def top(self) -> int | float | None: ...
    def most_fits(self, permutations: int) -> int: ...
    def keep_count(self, n_features: int, default: int) -> int: ...


SHARE = 0.5
"""Of the memory of a run, what shards of a table in parts may take that are loaded together."""


@attrs.define(eq=False)
class Trial:
    """One carrying-out of the test: bootstraps of the true label and of permuted ones."""

    test: Settings
    base: Base
    data: Dataset
    start: Selection | None
    marker: Marker
    run: Run
    n_permutations: int
    observed: Marks = attrs.field(init=False)
    nulls: list[Marks] = attrs.field(factory=list, init=False)
    standings: list[Standings] = attrs.field(factory=list, init=False)
    codes: NDArray[np.int64] = attrs.field(init=False)
    z: NDArray[np.int64] = attrs.field(init=False)
    verdict: Verdict = attrs.field(init=False)
    doubt: NDArray[np.float64] = attrs.field(init=False)
    all_settled: bool = False

    @property
    def drawn(self) -> int:
        """Resamples behind each count."""
        return len(self.observed.marks)

    @property
    def line(self) -> NDArray[np.int64]:
        """Per code, the largest count that is not relevant; NaN where scores decide."""
        return self.verdict.critical - (1 if self._at_least else 0)

    @property
    def law(self) -> LawNull | None:
        """The law of a count, where the null is one."""
        null = self.test.compared_with
        return null if isinstance(null, LawNull) else None

    @property
    def _at_least(self) -> bool:
        return self.law is not None and self.law.at_least

    def carry_out(self) -> None:
        """Draw and decide, at one look or at several."""
        test = self.test
        self.observed = Marks(self.marker)
        if test.scoring:
            self._with_scores()
            return
        self.nulls = [Marks(self.marker) for _ in range(self.n_permutations)]
        if self.law is not None and self.law.own_resamples:
            if self.data.in_parts:
                self.run.must_hold(
                    8 * self.data.n_samples * test.resamples,
                    f"npfs: assignments of rows to {test.resamples} shards",
                    "take fewer (n)",
                )
            shards = self.law.resamples(self.data, test.resamples, self.run.generator(DRAWS))
            if self.data.in_parts:
                self._run_in_parts(shards)
            else:
                self._run_base(shards, 0, test.resamples)
            self._decide()
            return
        plan = [test.resamples] if test.settle is None else looks(test.resamples)
        labellings = self.n_permutations + 1
        for n in plan:
            drawn = self.drawn
            draws = self._draws(range(labellings), range(drawn, n))
            self._run_base(draws, drawn * labellings, test.resamples * labellings)
            self._decide()
            if test.settle is not None and n < test.resamples:
                sure = settled(self.z, n, self.verdict.critical, test.settle, len(plan))
                if sure.all():
                    self.all_settled = True
                    return

    def _with_scores(self) -> None:
        """Compare scores; with `settle`, again with more bootstraps and permutations."""
        test, columns, m = self.test, self.marker.columns, self.test.permuted_resamples
        ranked = test.correction == "none"
        squares = np.zeros((1 + ranked, int(columns.usable.sum())))
        self.standings = [Standings(columns)]
        plan = [(test.resamples, self.n_permutations)]
        most = test.most_fits(self.n_permutations)
        if test.settle is not None:
            plan = larger_tests(*plan[0], m, most)
            if not plan:
                first = test.resamples + self.n_permutations * m
                raise RequestError(
                    f"npfs: fits={most} is less than the {first} that a test without settle makes"
                )
        for place, (n, permutations) in enumerate(plan):
            self.n_permutations = permutations
            before, known = self.fits, len(self.nulls)
            for _ in range(permutations - known):
                self.nulls.append(Marks(self.marker))
                self.standings.append(Standings(columns, ranked=ranked, squares=squares))
            draws = self._draws(range(1), range(self.drawn, n)).then(
                self._draws(range(known + 1, permutations + 1), range(m))
            )
            began = time.monotonic()
            self._run_base(draws, before, n + permutations * m)
            self._decide()
            if test.settle is None:
                return
            open_ = self.doubt > test.settle
            self.all_settled = not open_.any()
            if self.all_settled or place + 1 == len(plan):
                return
            # All that is uncertain falls with the root of bootstraps and permutations.
            times = (ndtri(test.settle) / np.minimum(ndtri(self.doubt[open_]), -1e-9)) ** 2
            if not (times * self.fits <= most).any():
                return
            pace = (time.monotonic() - began) / (self.fits - before)
            then = plan[place + 1][0] + plan[place + 1][1] * m
            if pace * (most - self.fits) >= outlook.BRIEF:
                remark(
                    f"npfs: after {self.fits} fits {open_.sum()} of {open_.size} decisions are "
                    f"open; on to {then} fits, about {span_text(pace * (then - self.fits))} (at "
                    f"most {most}, {span_text(pace * (most - self.fits))})"
                )

    def _run_in_parts(self, shards: NDArray[np.int64]) -> None:
        """Run the base on disjoint shards of a table in parts, as many at a time as memory holds.

        Each time is a pass over the table; what it takes does not depend on how that is divided.
        """
        data, start = self.data, self.start
        each = 8 * data.n_features * int(shards.sum(axis=1).max())
        many = int(np.clip(SHARE * self.run.memory / each, 1, len(shards)))
        for first in range(0, len(shards), many):
            rows = np.flatnonzero(shards[first : first + many].sum(axis=0))
            arrived = start
            if start is not None and start.instance_weights is not None:
                arrived = attrs.evolve(start, instance_weights=start.instance_weights[rows])
            found = select_resamples(
                self.base,
                data.take_rows(rows),
                shards[first : first + many, rows],
                self.run.child(BASE).batch(first),
                upstream=arrived,
                parts=self.marker.parts,
            )
            for selection, row in zip(found, shards[first : first + many], strict=True):
                self.observed.add(selection, row)
        self._check_choice()

    @property
    def fits(self) -> int:
        """Fits of the base so far."""
        return self.drawn + sum(len(null.marks) for null in self.nulls)

    def _draws(self, labellings: range, numbers: range) -> BootstrapDraws:
        """Bootstraps `numbers` of each of `labellings`."""
        test = self.test
        fraction = test.fraction
        if fraction is None:
            fraction = 1.0 if self.law is None else self.law.fraction
        return BootstrapDraws.of(
            self.run,
            labellings,
            numbers,
            fraction,
            test.stratify,
            self.data.counts,
            test.null if self.n_permutations else PERMUTATION,
        )

    def _run_base(self, counts: NDArray[np.int64] | BootstrapDraws, first: int, total: int) -> None:
        """Run the base on resamples, the first of them part `first` of `total` in the run."""
        base, data, every = self.base, self.data.with_counts(None), [self.observed, *self.nulls]
        if isinstance(counts, BootstrapDraws):
            owners = counts.labellings
            rows: Iterable[NDArray[np.integer[Any]] | None] = repeat(None, len(counts))
            if self.marker.columns.columns.size:
                rows = counts.one_by_one(data)
        else:
            owners, rows = np.zeros(len(counts), dtype=np.int64), counts
        if self.nulls:
            base = cast(Base, Relabelled.of(base, self.run, owners, first, self.test.null))
        forecast = Outlook(total)

        def relay(progress: Progress) -> None:
            forecast.look(progress.done, first)
            self.run.progress(first + progress.done, total, progress.label)

        found = select_resamples(
            base,
            data,
            counts,
            attrs.evolve(self.run.child(BASE).batch(first), listener=relay),
            upstream=self.start,
            parts=self.marker.parts,
        )
        last = int(np.count_nonzero(owners == 0)) - 1
        for place, (selection, row) in enumerate(zip(found, rows, strict=True)):
            every[owners[place]].add(selection, row)
            if self.standings:
                self.standings[owners[place]].add(selection, row)
            if place == last and not first:
                # Known now, before the permuted labels take their time.
                self._check_choice()
                if self.scores_shared_out:
                    remark(f"npfs: {SHARED_OUT}")

    @property
    def scores_shared_out(self) -> bool:
        """Whether a corrected test is asked of scores that have no size of their own."""
        corrected = self.test.correction != "none"
        return corrected and bool(self.standings) and self.standings[0].shared_out

    def _check_choice(self) -> None:
        """Stop early where every resample marks everything: nothing can be told apart."""
        scored = self.standings and not self.standings[0].unscored
        if not scored and (self.observed.kept >= self.marker.cells).all():
            raise RequestError(
                f"npfs: the base keeps all {self.marker.cells} usable {self.test.of} in every "
                "bootstrap, so nothing can be picked more often than anything else; tell it to "
                "keep fewer (`top`)"
            )

    def _decide(self) -> None:
        test = self.test
        rule: _Rule = {
            "alpha": test.alpha,
            "correction": test.correction,
            "tests": self.marker.cells,
        }
        self._list_codes()
        if self.standings:
            self.verdict, self.doubt = by_standings(
                self.means_of(0),
                self.means_of(1),
                self.standings[0].mean_errors,
                alpha=test.alpha,
                correction=test.correction,
                compare=test.compare,
                within=self._within(),
                numbers=(self.standings[0].n, self.standings[1].n),
            )
            return
        if self.law is None and test.compare != "pooled":
            null_counts = np.stack([null.counts_of(self.codes) for null in self.nulls])
            by_null = by_own_null if test.compare == "own" else by_centred_null
            self.verdict = by_null(self.z, null_counts, self.drawn, **rule)
        else:
            tail = self._pooled_tail() if self.law is None else self._tail_of(self.law)
            self.verdict = by_tail(
                self.z,
                tail,
                at_least=self._at_least,
                sampled=len(self.nulls) * self.marker.cells,
                **rule,
            )
        if test.of == "pairs":
            # Pairs that only permuted labels marked were needed for the null, not for the answer.
            marked = self.z > 0
            self.codes, self.z = self.codes[marked], self.z[marked]
            self.verdict = self.verdict.of(marked)
        error = self.verdict.line_error
        self.doubt = chance_of_other_answer(self.z, self.drawn, self.line, error)

    def means_of(self, statistic: int) -> NDArray[np.float64]:
        """Mean scores (0) or ranks (1), (P + 1, K); (1, K) where the true label's alone are had."""
        return np.stack([s.means[statistic] for s in self.standings if statistic < len(s.means)])

    def _within(self) -> NDArray[np.float64] | None:
        """Variance of scores over bootstraps of one permuted label, (K,); None for single ones."""
        permuted = self.standings[1:]
        return None if permuted[0].n < 2 else variance_within(permuted)[0]

    def _list_codes(self) -> None:
        """The codes that have counts: all usable features, or the pairs that any label marked."""
        if isinstance(self.marker, FeatureMarks):
            self.codes = np.flatnonzero(self.marker.columns.usable).astype(np.int64)
        else:
            marked = [bootstraps.tally()[0] for bootstraps in (self.observed, *self.nulls)]
            self.codes = np.unique(np.concatenate(marked))
        self.z = self.observed.counts_of(self.codes)

    def _pooled_tail(self) -> NDArray[np.float64]:
        apart = self.test.correction != "none"  # as in by_centred_null
        pool = self.nulls if apart else [self.observed, *self.nulls]
        counts = np.concatenate([marks.tally()[1] for marks in pool])
        cells = len(pool) * self.marker.cells
        return permutation_tail(counts, self.drawn, cells, observed_too=not apart)

    def _tail_of(self, law: LawNull) -> NDArray[np.float64]:
        self._check_choice()
        test, cells = self.test, self.marker.cells
        kept = self.observed.kept
        try:
            tail = law.tail(kept, cells, test.bias)
        except ValueError as error:
            raise RequestError(f"npfs: {error}; lower bias={test.bias:g}") from None
        level = test.alpha if test.correction == "none" else test.alpha / cells
        if test.correction == "bh":
            # Benjamini and Hochberg's first step is easier where several features share it.
            level *= max(1, int(kept.max()))
        # z = n must be able to pass; "≥" needs no more than being marked at all.
        last = self.drawn + 1 if law.at_least else self.drawn
        if self.drawn == test.resamples and tail[last] > level * (1 + 1e-12):
            p0 = float(np.mean(kept) / cells + test.bias)
            needed = least_bootstraps(p0, level)
            way = f"ask for n={needed} or more, or" if needed else "no number is enough:"
            raise RequestError(
                f"npfs: with n={test.resamples} even a count of {test.resamples} has probability "
                f"{tail[last]:.3g} by chance (the base keeps {np.mean(kept):.4g} of {cells} "
                f"{test.of}), above {level:.3g}; {way} let the base keep fewer (`top`)"
            )
        return tail
