"""The NPFS test: its parameters; draw bootstraps, count selections or average scores, decide."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import repeat
from typing import TYPE_CHECKING, Any, cast

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fsframe.errors import RequestError
from fsframe.method.run import Progress, Run
from fsframe.method.selection import Selection
from fsframe.params import (
    Parameterised,
    choice,
    flag,
    integer,
    offered,
    optional,
    param,
    real,
)
from fsframe.registry import nulls
from fsframe.resampling.resamples import (
    Base,
    CountNull,
    Null,
    RelabellingNull,
    select_resamples,
)
from fsframe.table.dataset import Dataset
from fsframe.text import duration, remark
from fsframe_npfs.engine import decisions
from fsframe_npfs.engine.decisions import (
    Decisions,
    decide_by_scores,
    decide_by_tail,
    reversal_probability,
)
from fsframe_npfs.engine.labellings import (
    BASE,
    DRAWS,
    PERMUTATION,
    BootstrapDraws,
    FragileColumns,
    MeanScores,
    Relabelled,
    SelectionCounts,
    variance_within,
)
from fsframe_npfs.engine.nulls import (
    larger_tests,
    least_bootstraps,
    looks,
    settled,
)

CONSTANT_TOTAL = (
    "the base's scores have the same sum in every resample, so its best columns score as high "
    "under a permuted label as under the true one, and a corrected test, which compares scores, "
    "may select nothing; test the screening stage before it (such as `mim:top=100 npfs`)"
)
"""Printed before the permuted labels are run, and recorded as a warning with the result."""


SHARE = 0.5
"""Share of a run's memory for the shards of a table in parts that are loaded together."""


# At alpha = 0.01, 99 permutations allow every feature to be selected, and 100 + 99·10 fits or
# 200 + 450·2 are at most 1,100. A corrected test works far out in the tail of the null,
# which needs many permutations; two bootstraps of each suffice to estimate the variance within.
SCORES_PERMUTATIONS, CORRECTED_PERMUTATIONS = 99, 450
_SCORES_N, _CORRECTED_N = 100, 200
_FEWEST_PERMUTED, _CORRECTED_PERMUTED = 10, 2
_MORE_FITS = 10


# Without slots, so that it can be a base class together with a selector.
@attrs.frozen(kw_only=True, slots=False)
class NpfsParameters(Parameterised):
    """The parameters of a test; `Npfs` describes each."""

    if TYPE_CHECKING:
        top: int | float | None

        def keep_count(self, n_features: int, default: int) -> int: ...

    n: int | None = param(
        None,
        optional(integer(1)),
        help="Number of bootstraps with the true label (or of shards); by default 100, or 200 "
        "for a corrected test with permuted labels.",
        symbol="n",
        source="slide 24",
    )
    alpha: float = param(
        0.01,
        real(above=0, below=1),
        help="Significance level: the share of features selected when the label carries no "
        "information.",
        symbol="α",
        source="eq. 1",
    )
    null: str = param(
        "permutation",
        offered("nulls"),
        help="Null distribution: permutation (permuted labels; keeps its level), shards "
        "(disjoint parts of a large table; keeps its level), published (binomial; does "
        "not keep its level on one table), matlab (0.75 N rows, z ≥ ζ; does not either).",
        source="slides 24–25",
    )
    permutations: int | None = param(
        None,
        optional(integer(1)),
        help="Number of label permutations, for null=permutation; by default 99 (450 with a "
        "correction), or as many as alpha needs.",
    )
    permuted_n: int | None = param(
        None,
        optional(integer(1)),
        help="Bootstraps per permuted label; by default n/10 but at least 10, or 2 with a "
        "correction.",
    )
    compare: str = param(
        "centred",
        choice("centred", "pooled", "own"),
        help="With null=permutation: compare each feature with all features under permuted "
        "labels, after centring each on its own mean (centred) or without (pooled), or "
        "only with itself (own, which needs 1/alpha - 1 permutations).",
    )
    correction: str = param(
        "auto",
        choice("auto", "none", "bonferroni", "bh"),
        help="Multiple-testing correction: none (published), bonferroni, bh "
        "(Benjamini–Hochberg), or auto: bh above 200 features with null=permutation, else "
        "none.",
    )
    fraction: float | None = param(
        None,
        optional(real(above=0, most=1)),
        help="Rows drawn per bootstrap, as a fraction of all; by default 1, and 0.75 for "
        "null=matlab.",
        symbol="m/N",
    )
    stratify: bool = param(
        True, flag(), help="Draw within classes, so that each keeps its size (published: no)."
    )
    bias: float = param(
        0.0,
        real(0, below=1),
        help="Added to p0 = k/K; a larger value makes the test stricter.",
        symbol="β",
    )
    settle: float | None = param(
        None,
        optional(real(above=0, below=0.5)),
        help="With null=permutation: add bootstraps and permutations until no decision "
        "would change with another seed with a probability above this, or `fits` is "
        "reached. With other nulls: stop early once every decision has at most "
        "this probability of error.",
    )
    fits: int | None = param(
        None,
        optional(integer(1)),
        help="With settle and null=permutation: upper limit on fits of the base; by "
        "default ten times the fits of a test without settle. Progress shows how many are "
        "used.",
    )

    @property
    def compared_with(self) -> Null:
        """The null named by `null`."""
        null: Null = nulls[self.null]()
        return null

    @property
    def permuting(self) -> bool:
        """Whether the base is also run with permuted labels."""
        return isinstance(self.compared_with, RelabellingNull)

    @property
    def resamples(self) -> int:
        """`n`, or its default."""
        if self.n is not None:
            return self.n
        return _CORRECTED_N if self._corrected else _SCORES_N

    def most_fits(self, permutations: int) -> int:
        """Maximum number of fits with `settle`; `permutations` are those of a test without it."""
        if self.fits is not None:
            return self.fits
        return _MORE_FITS * (self.resamples + permutations * self.permuted_resamples)

    @property
    def _corrected(self) -> bool:
        """Whether permuted labels come with a correction; "auto" is decided with the table."""
        return self.permuting and self.correction in ("bonferroni", "bh")

    @property
    def permuted_resamples(self) -> int:
        """Number of bootstraps per permuted label."""
        if self.permuted_n is not None:
            return self.permuted_n
        if self._corrected:
            return min(self.resamples, _CORRECTED_PERMUTED)
        return min(self.resamples, max(_FEWEST_PERMUTED, self.resamples // 10))


@attrs.define(eq=False)
class Procedure:
    """One execution of the test: bootstraps with the true label and with permuted ones."""

    settings: NpfsParameters
    base: Base
    data: Dataset
    upstream: Selection | None
    columns: FragileColumns
    run: Run
    n_permutations: int
    observed: SelectionCounts = attrs.field(init=False)
    mean_scores: list[MeanScores] = attrs.field(factory=list, init=False)
    codes: NDArray[np.int64] = attrs.field(init=False)
    z: NDArray[np.int64] = attrs.field(init=False)
    decisions: Decisions = attrs.field(init=False)
    reversal: NDArray[np.float64] = attrs.field(init=False)
    all_settled: bool = False

    @property
    def drawn(self) -> int:
        """Number of resamples with the true label so far."""
        return len(self.observed.selected)

    @property
    def threshold(self) -> NDArray[np.int64]:
        """Largest count that is not relevant, per code; NaN where scores are compared."""
        return self.decisions.critical - (1 if self._at_least else 0)

    @property
    def count_null(self) -> CountNull | None:
        """The theoretical null distribution, or None for permuted labels."""
        null = self.settings.compared_with
        return null if isinstance(null, CountNull) else None

    @property
    def _at_least(self) -> bool:
        return self.count_null is not None and self.count_null.at_least

    def execute(self) -> None:
        """Draw and decide, at one look or several."""
        settings = self.settings
        self.observed = SelectionCounts(self.columns)
        if settings.permuting:
            self._with_scores()
            return
        if self.count_null is not None and self.count_null.own_resamples:
            if self.data.in_parts:
                self.run.must_hold(
                    8 * self.data.n_samples * settings.resamples,
                    f"npfs: assignments of rows to {settings.resamples} shards",
                    "use fewer (n)",
                )
            shards = self.count_null.resamples(
                self.data, settings.resamples, self.run.generator(DRAWS)
            )
            if self.data.in_parts:
                self._run_in_parts(shards)
            else:
                self._run_base(shards, 0, settings.resamples)
            self._decide()
            return
        plan = [settings.resamples] if settings.settle is None else looks(settings.resamples)
        for n in plan:
            drawn = self.drawn
            self._run_base(self._draws(range(1), range(drawn, n)), drawn, settings.resamples)
            self._decide()
            if settings.settle is not None and n < settings.resamples:
                sure = settled(self.z, n, self.decisions.critical, settings.settle, len(plan))
                if sure.all():
                    self.all_settled = True
                    return

    def _with_scores(self) -> None:
        """Compare scores; with `settle`, repeat with more bootstraps and permutations."""
        settings, columns, m = self.settings, self.columns, self.settings.permuted_resamples
        ranked = settings.correction == "none"
        squares = np.zeros((1 + ranked, columns.n_usable))
        zero = self.base.natural_zero
        self.mean_scores = [MeanScores(columns, natural_zero=zero)]
        plan = [(settings.resamples, self.n_permutations)]
        most = settings.most_fits(self.n_permutations)
        if settings.settle is not None:
            plan = larger_tests(*plan[0], m, most)
            if not plan:
                first = settings.resamples + self.n_permutations * m
                raise RequestError(
                    f"npfs: fits={most} is less than the {first} fits of a test without settle"
                )
        for place, (n, permutations) in enumerate(plan):
            self.n_permutations = permutations
            before, known = self.fits, len(self.mean_scores) - 1
            self.mean_scores += [
                MeanScores(columns, ranked=ranked, squares=squares, natural_zero=zero)
                for _ in range(permutations - known)
            ]
            draws = self._draws(range(1), range(self.drawn, n)).concatenate(
                self._draws(range(known + 1, permutations + 1), range(m))
            )
            began = time.monotonic()
            self._run_base(draws, before, n + permutations * m)
            self._decide()
            if settings.settle is None:
                return
            open_ = self.reversal > settings.settle
            self.all_settled = not open_.any()
            if self.all_settled or place + 1 == len(plan):
                return
            # Errors decrease with the root of the numbers of bootstraps and permutations.
            times = (ndtri(settings.settle) / np.minimum(ndtri(self.reversal[open_]), -1e-9)) ** 2
            if not (times * self.fits <= most).any():
                return
            pace = (time.monotonic() - began) / (self.fits - before)
            then = plan[place + 1][0] + plan[place + 1][1] * m
            if pace * (most - self.fits) >= decisions.BRIEF:
                remark(
                    f"npfs: {open_.sum()} of {open_.size} decisions are open after {self.fits} "
                    f"fits; continuing to {then} fits, about "
                    f"{duration(pace * (then - self.fits))} (at most {most} fits, "
                    f"{duration(pace * (most - self.fits))})"
                )

    def _run_in_parts(self, shards: NDArray[np.int64]) -> None:
        """Run the base on disjoint shards of a table in parts, as many at a time as fit in memory.

        Each batch of shards is one pass over the table.
        """
        data, upstream = self.data, self.upstream
        each = 8 * data.n_features * int(shards.sum(axis=1).max())
        many = int(np.clip(SHARE * self.run.memory / each, 1, len(shards)))
        for first in range(0, len(shards), many):
            rows = np.flatnonzero(shards[first : first + many].sum(axis=0))
            of_rows = upstream
            if upstream is not None and upstream.instance_weights is not None:
                of_rows = attrs.evolve(upstream, instance_weights=upstream.instance_weights[rows])
            selections = select_resamples(
                self.base,
                data.take_rows(rows),
                shards[first : first + many, rows],
                self.run.child(BASE).batch(first),
                upstream=of_rows,
                parts=self._parts,
            )
            for selection, row in zip(selections, shards[first : first + many], strict=True):
                self.observed.add(selection, row)
        self._check_choice()

    @property
    def _parts(self) -> tuple[str, ...]:
        """The parts of the base's results that are needed besides its choice."""
        return ("scores",) if self.settings.permuting else ()

    @property
    def fits(self) -> int:
        """Number of fits of the base so far."""
        return self.drawn + sum(permuted.n for permuted in self.mean_scores[1:])

    def _draws(self, labellings: range, numbers: range) -> BootstrapDraws:
        """Bootstraps `numbers` of each of `labellings`."""
        settings = self.settings
        fraction = settings.fraction
        if fraction is None:
            fraction = 1.0 if self.count_null is None else self.count_null.fraction
        return BootstrapDraws.of(
            self.run,
            labellings,
            numbers,
            fraction,
            settings.stratify,
            self.data.counts,
            settings.null if self.n_permutations else PERMUTATION,
        )

    def _run_base(self, counts: NDArray[np.int64] | BootstrapDraws, first: int, total: int) -> None:
        """Run the base on resamples, which are units `first` … of `total` in the run."""
        base, data = self.base, self.data.with_counts(None)
        if isinstance(counts, BootstrapDraws):
            owners = counts.labellings
            rows: Iterable[NDArray[np.integer[Any]] | None] = repeat(None, len(counts))
            if self.columns.columns.size:
                rows = counts.one_by_one(data)
        else:
            owners, rows = np.zeros(len(counts), dtype=np.int64), counts
        if self.settings.permuting:
            base = cast(Base, Relabelled.of(base, self.run, owners, first, self.settings.null))

        def relay(progress: Progress) -> None:
            self.run.progress(first + progress.done, total, progress.label)

        selections = select_resamples(
            base,
            data,
            counts,
            attrs.evolve(self.run.child(BASE).batch(first), listener=relay),
            upstream=self.upstream,
            parts=self._parts,
        )
        last = int(np.count_nonzero(owners == 0)) - 1
        for place, (selection, row) in enumerate(zip(selections, rows, strict=True)):
            if not owners[place]:
                self.observed.add(selection, row)
            if self.mean_scores:
                self.mean_scores[owners[place]].add(selection, row)
            if place == last and not first:
                # Reported before the permuted labels are run.
                self._check_choice()
                if self.constant_total:
                    remark(f"npfs: {CONSTANT_TOTAL}")

    @property
    def constant_total(self) -> bool:
        """Whether a corrected test compares scores that always have the same sum."""
        corrected = self.settings.correction != "none"
        return corrected and bool(self.mean_scores) and self.mean_scores[0].constant_total

    def _check_choice(self) -> None:
        """Raise an error if every resample selects everything, so that nothing can stand out."""
        scored = self.mean_scores and not self.mean_scores[0].unscored
        if not scored and (self.observed.kept >= self.columns.n_usable).all():
            raise RequestError(
                f"npfs: the base keeps all {self.columns.n_usable} usable features in "
                "every bootstrap, so none can be selected more often than any other; make it keep "
                "fewer (`top`)"
            )

    def _decide(self) -> None:
        settings = self.settings
        self.codes = np.flatnonzero(self.columns.usable).astype(np.int64)
        self.z = self.observed.counts
        if self.mean_scores:
            permuted = self.mean_scores[1:]
            self.decisions, self.reversal = decide_by_scores(
                self.means_of(0),
                self.means_of(1),
                self.mean_scores[0].mean_errors,
                alpha=settings.alpha,
                correction=settings.correction,
                compare=settings.compare,
                within=variance_within(permuted)[0] if permuted[0].n > 1 else None,
                numbers=(self.mean_scores[0].n, permuted[0].n),
            )
            return
        assert self.count_null is not None
        self.decisions = decide_by_tail(
            self.z,
            self._tail_of(self.count_null),
            alpha=settings.alpha,
            correction=settings.correction,
            at_least=self._at_least,
        )
        self.reversal = reversal_probability(self.z, self.drawn, self.threshold)

    def means_of(self, statistic: int) -> NDArray[np.float64]:
        """Mean scores (0) or ranks (1), (P + 1, K), or (1, K) if only the true label has them."""
        return np.stack([s.means[statistic] for s in self.mean_scores if statistic < len(s.means)])

    def _tail_of(self, null: CountNull) -> NDArray[np.float64]:
        self._check_choice()
        settings, n_items = self.settings, self.columns.n_usable
        kept = self.observed.kept
        try:
            tail = null.tail(kept, n_items, settings.bias)
        except ValueError as error:
            raise RequestError(f"npfs: {error}; lower bias={settings.bias:g}") from None
        level = settings.alpha if settings.correction == "none" else settings.alpha / n_items
        if settings.correction == "bh":
            # With r equal p-values, Benjamini and Hochberg compare them with r·alpha/tests.
            level *= max(1, int(kept.max()))
        # A count of n must be able to pass; with "≥" any positive count can.
        last = self.drawn + 1 if null.at_least else self.drawn
        if self.drawn == settings.resamples and tail[last] > level * (1 + 1e-12):
            p0 = float(np.mean(kept) / n_items + settings.bias)
            needed = least_bootstraps(p0, level)
            way = f"use n={needed} or more, or" if needed else "no n is large enough:"
            raise RequestError(
                f"npfs: with n={settings.resamples} even a count of {settings.resamples} has "
                f"probability {tail[last]:.3g} by chance (the base keeps {np.mean(kept):.4g} of "
                f"{n_items} features), above {level:.3g}; {way} make the base keep fewer "
                "(`top`)"
            )
        return tail
