"""The NPFS selector: features that a base selects more often than expected by chance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import choice, flag, integer, offered, optional, param, real
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe.errors import RequestError
from fsframe.registry import nulls
from fsframe.resampling.null import LawNull, Null, RelabellingNull
from fsframe.resampling.resamples import too_many
from fsframe.resampling.wrapping import Base, WrappingSelector
from fsframe_npfs.engine.corrections import CORRECTIONS
from fsframe_npfs.engine.permutation_trial import Trial
from fsframe_npfs.engine.selected_items import (
    FeatureMarks,
    FragileColumns,
    Marker,
    PairMarks,
    ScoredMarks,
)
from fsframe_npfs.methods.caveats import weaknesses
from fsframe_npfs.methods.outcome import feature_selection, pair_selection

__all__ = ["Npfs"]

# At alpha = 0.01: 99 permutations let every feature be named, and 100 + 99·10 fits, 200 + 450·2, or
# 20·55, make no more than 1,100. A corrected test looks far out in the tail of the permuted labels,
# where their number counts; two bootstraps of each tell how far bootstraps spread.
_SCORES_N, _CORRECTED_N, _COUNTS_N = 100, 200, 20
_FEWEST_PERMUTED, _CORRECTED_PERMUTED = 10, 2
_MORE_FITS = 10
_SCORES_PERMUTATIONS, _CORRECTED_PERMUTATIONS, _COUNTS_PERMUTATIONS = 99, 450, 54
# From here on the features that chance names crowd out the others.
_MANY_FEATURES = 200
# Methods whose pair weight is one of a metric: joint relevance, which main effects make too.
_METRIC = ("immigrate", "bim", "lfe")


@attrs.frozen(kw_only=True)
class Npfs(WrappingSelector):
    """Features that a selector selects more often over bootstraps than expected by chance.

    Parameters
    ----------
    n : int ≥ 1, optional
        Bootstraps of the true label, or shards; by default 100, 200 for a corrected test of
        scores, and 20 where permuted counts are compared.
    alpha : float in (0, 1)
        Level of the test, after `correction`.
    null : {"permutation", "published", "matlab", "shards"}, or what a plugin offers
        The null distribution; `fsframe_npfs.engine.nulls` states what each guarantees.
    permutations : int ≥ 1, optional
        Label permutations; by default 99 (450 with a correction, 54 for counts), or as many as
        `alpha` needs.
    permuted_n : int ≥ 1, optional
        Bootstraps of each permuted label where scores are compared; by default n / 10, 10 at least,
        and 2 with a correction.
    statistic : {"scores", "counts"}, optional
        What is compared under null="permutation": by default scores for features, counts for
        pairs.
    compare : {"centred", "pooled", "own"}
        Which permuted counts a count is compared with.
    correction : {"auto", "none", "bonferroni", "bh"}
        For the number of features (pairs) tested; "auto" is bh above 200 features with
        null="permutation", else none.
    fraction : float in (0, 1], optional
        m/N, rows per bootstrap.
    stratify : bool
        Draw within the classes.
    bias : float in [0, 1)
        β, added to p0 = k/K.
    settle : float in (0, 0.5), optional
        If scores are compared: add bootstraps and permutations until no decision would change with
        another seed with a probability above this. If counts are compared: stop before n bootstraps
        once every decision has at most this probability of error.
    fits : int ≥ 1, optional
        With `settle`, if scores are compared: maximum number of fits of the base; by default ten
        times those of a test without it.
    of : {"features", "pairs"}
        What is tested.
    pairs : int ≥ 1, optional
        Number of pairs that each bootstrap selects.

    Notes
    -----
    z_i = #{l : the base marks i in bootstrap l}, relevant where z_i > ζ. The published ζ is the
    smallest c with P(Bin(n, k/K + β) ≤ c) ≥ 1 − α; where the base keeps a varying k_l it is the
    Poisson-binomial law of k_l/K + β. The permutation null compares the mean score of a feature,
    and the mean normal score of its rank, with those of all features under the true and all
    permuted labels; `fsframe_npfs.engine.standing_decisions.by_standings` has the statistic and
    the proof of its level. Counts are compared in the same pool, every count less the mean of its
    feature over the other labellings, as far as those means differ by more than chance
    ("centred"), so that a base's taste for a column whatever the label neither helps nor hinders.
    Cost: n fits of the base, and P·`permuted_n` more with P permutations (P·n for counts).

    Departures: bootstraps are stratified by class by default and repeated where a class has fewer
    than two different rows; columns that are constant, in the table or in the bootstrap, are
    never marked; a count of zero is never relevant (it would be with ζ = 0 and "≥").

    References
    ----------
    Ditzler, lecture notes of 2014, slides 24–25; Ditzler, Polikar, Rosen 2015, A bootstrap based
    Neyman-Pearson test for identifying variable importance, IEEE Trans. Neural Netw. Learn. Syst.
    26(4):880, algorithm 1.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    tasks_of_base: ClassVar[bool] = True
    takes_missing: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True
    takes_time: ClassVar[bool] = True
    takes_kept: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True

    n: int | None = param(
        None,
        optional(integer(1)),
        help="Number of bootstraps with the true label (or of shards); by default 100, or 200 "
        "for a corrected test of scores, or 20 where counts are compared with permuted "
        "labels.",
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
        "correction, 54 where counts are compared), or as many as alpha needs.",
    )
    permuted_n: int | None = param(
        None,
        optional(integer(1)),
        help="Bootstraps per permuted label, where scores are compared; by default n/10 but at "
        "least 10, or 2 with a correction.",
    )
    statistic: str | None = param(
        None,
        optional(choice("scores", "counts")),
        help="Statistic for null=permutation: the base's mean scores and ranks, or how often "
        "it selects a feature; by default scores for features, counts for pairs.",
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
        choice("auto", *CORRECTIONS),
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
        help="Where scores are compared: add bootstraps and permutations until no decision "
        "would change with another seed with a probability above this, or `fits` is "
        "reached. Where counts are compared: stop early once every decision has at most "
        "this probability of error.",
    )
    fits: int | None = param(
        None,
        optional(integer(1)),
        help="With settle, where scores are compared: upper limit on fits of the base; by "
        "default ten times the fits of a test without settle. Progress shows how many are "
        "used.",
    )
    of: str = param(
        "features",
        choice("features", "pairs"),
        help="What to test: features, or pairs, if the base weights pairs.",
    )
    pairs: int | None = param(
        None,
        optional(integer(1)),
        help="With of=pairs: number of pairs that count as selected in a bootstrap; by default "
        "the number of features.",
    )

    @property
    def compared_with(self) -> Null:
        """The null of that name."""
        null: Null = nulls[self.null]()
        return null

    @property
    def permuting(self) -> bool:
        """Whether the base is run under other labels."""
        return isinstance(self.compared_with, RelabellingNull)

    @property
    def resamples(self) -> int:
        """`n`, or what it is by default."""
        if self.n is not None:
            return self.n
        if self.permuting and not self.scoring:
            return _COUNTS_N
        return _CORRECTED_N if self._corrected else _SCORES_N

    @property
    def scoring(self) -> bool:
        """Whether scores are compared, not counts."""
        if self.statistic is not None:
            return self.statistic == "scores"
        return self.of == "features" and self.permuting

    def most_fits(self, permutations: int) -> int:
        """Fits that `settle` may come to, with so many permutations in a test without it."""
        if self.fits is not None:
            return self.fits
        return _MORE_FITS * (self.resamples + permutations * self.permuted_resamples)

    def base_fits(self, p: int) -> int | None:
        """Without what `settle` adds; None where fewer permutations are asked than it needs."""
        test = attrs.evolve(self, correction=self._correction(p), permutations=None)
        try:
            made = self._permutation_number(p)
        except RequestError:
            return None
        return test.resamples + made * test.permuted_resamples

    @classmethod
    def proposal(cls, data: Dataset, gaps: bool) -> str:
        return "npfs"

    @property
    def _corrected(self) -> bool:
        """Whether a corrected test of scores is asked; "auto" is decided with the table."""
        return self.scoring and self.correction in ("bonferroni", "bh")

    @property
    def permuted_resamples(self) -> int:
        """Bootstraps of each permuted label."""
        if not self.scoring:
            return self.resamples
        if self.permuted_n is not None:
            return self.permuted_n
        if self._corrected:
            return min(self.resamples, _CORRECTED_PERMUTED)
        return min(self.resamples, max(_FEWEST_PERMUTED, self.resamples // 10))

    def check_parameters(self) -> Iterator[str]:
        """Parameters that the chosen null or `of` would ignore are refused."""
        permuting = self.permuting
        made, how = self.resamples, f"n={self.resamples}"
        if permuting and self.permutations is not None:
            made, how = (
                made + self.permutations * self.permuted_resamples,
                f"{how} with {self.permutations:.6g} permutations",
            )
        yield from too_many(made, how)
        for name, given in (
            ("permutations", self.permutations is not None),
            ("compare", self.compare != "centred"),
        ):
            if given and not permuting:
                yield f"{name} is for null=permutation, not null={self.null}"
        if self.statistic == "scores":
            for wrong, why in (
                (not permuting, f"null=permutation, not null={self.null}"),
                (self.of == "pairs", "of=features"),
            ):
                if wrong:
                    yield f"statistic=scores is for {why}"
        if self.permuted_n is not None:
            if not self.scoring:
                yield "permuted_n is for statistic=scores; counts are compared at equal n"
            elif self.permuted_n > self.resamples:
                yield f"permuted_n={self.permuted_n} is more than n={self.resamples}"
        if self.fits is not None:
            if self.settle is None or not self.scoring:
                yield (
                    "fits limits what settle adds where scores are compared; without settle, n "
                    "decides"
                )
            yield from too_many(self.fits, f"fits={self.fits}")
        if permuting and self.bias:
            yield "bias is added to p0 = k/K, which null=permutation does not use"
        law = self.compared_with
        if isinstance(law, LawNull) and law.own_resamples:
            for name, given in (
                ("fraction", self.fraction is not None),
                ("stratify", not self.stratify),
                ("settle", self.settle is not None),
            ):
                if given:
                    yield (
                        f"{name} is for bootstraps; shards are disjoint parts of the whole table, "
                        "cut within the classes"
                    )
        if self.pairs is not None and self.of != "pairs":
            yield "pairs is for of=pairs"

    def adjusts_base(self) -> bool:
        """Whether labels are permuted within the strata of the covariates."""
        return self.null == "permutation"

    def works_in_parts(self, data: Dataset) -> bool:
        """Disjoint shards are loaded some at a time, and the base runs on each in memory."""
        return self.null == "shards" and data.counts is None and data.groups is None

    def parts_problem(self, data: Dataset, n_features: int | None = None) -> str:
        if not data.in_parts or not self.works_in_parts(data):
            return super().parts_problem(data, n_features)
        p = data.n_features if n_features is None else n_features
        rows, most = -(-data.n_samples // self.resamples), data.matrix.most_bytes
        if 8 * rows * p <= most:
            return ""
        return (
            f"npfs: a shard of {rows} × {p} values takes {8 * rows * p / 1e9:.1f} GB, and "
            f"{most / 1e9:.1f} GB are allowed (FSFRAME_TABLE_MEMORY): take "
            f"n={-(-8 * data.n_samples * p // most)} shards or more"
        )

    def seen_by_base(self, data: Dataset) -> Dataset:
        """A few rows of a table in parts: the base is given shards, in memory."""
        if not data.in_parts or not self.works_in_parts(data):
            return data
        return data.take_rows(np.arange(min(data.n_samples, 64)))

    def role_problems(self, data: Dataset) -> Iterator[str]:
        yield from super().role_problems(data)
        yield from self.stretch_problems(data)
        if data.keep is not None and not self.permuting:
            yield (
                f"npfs: null={self.null} compares with how often a feature is kept by chance, and "
                "columns that are always kept (--keep) always are: leave them out of the table "
                "(--drop), or take null=permutation"
            )
        if data.times is not None and self.null == "shards":
            yield (
                "npfs: null=shards assigns rows to parts without regard to their order; leave "
                "the time out"
            )
        if data.covariates is None or not self.adjusts_base():
            return
        for given, what in ((data.groups, "groups"), (data.times, "a time")):
            if given is not None:
                yield (
                    f"npfs permutes labels within the strata of {', '.join(data.covariates.names)} "
                    f"or keeps {what} together, not both: leave one of them out"
                )

    def check_request(self, data: Dataset) -> Iterator[str]:
        yield from super().check_request(data)
        if self.permutations is None and self.fits is None:
            return
        cells = self._marker(FragileColumns.find(data), data.n_features).cells
        if self.fits is not None and self.base is None and cells > 1:
            test = attrs.evolve(self, correction=self._correction(cells), permutations=None)
            made = self.permutations or test._permutation_number(cells)
            first = test.resamples + made * test.permuted_resamples
            if self.fits < first:
                yield f"fits={self.fits} is less than the {first} that a test without settle makes"
        if self.permutations is None:
            return
        try:
            self._permutation_number(cells)
            return
        except RequestError as error:
            problem = str(error).removeprefix("npfs: ")
        try:
            # With a base the columns are those that a stage on the left keeps. What is needed rises
            # or falls with their number: too few for all and for two is too few for any.
            self._permutation_number(cells if self.base is None else min(2, cells))
        except RequestError:
            yield problem

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        if self.adjusts_base():
            data = data.without_adjusting()
        columns = FragileColumns.find(data)
        marker = self._marker(columns, data.n_features)
        if marker.cells < 2:
            raise RequestError(
                f"npfs: {marker.cells} {self.of[:-1]}(s) to test in {data.name!r} (constant "
                "columns not counted); at least two are needed"
            )
        test = attrs.evolve(self, correction=self._correction(marker.cells))
        n_permutations = test._permutation_number(marker.cells)
        trial = Trial(
            test=test,
            base=base,
            data=data,
            # What the wrapped chain found on the whole table must not reach its bootstraps.
            start=upstream if self.base is not None else None,
            marker=marker,
            run=run,
            n_permutations=n_permutations,
        )
        trial.carry_out()
        chosen: tuple[str, ...] = (
            ()
            if test.correction == self.correction or test.correction == "none"
            else (
                f"{marker.cells} features: correction=bh, so that of those named a share of about "
                f"alpha={self.alpha:g} is expected to be false; correction=none names a share "
                "alpha of all features where the label means nothing",
            )
        )
        if data.keep is not None:
            names = [n for n, kept in zip(data.feature_names, data.keep, strict=True) if kept]
            chosen = (
                *chosen,
                f"kept by request (--keep), whatever the test says: {', '.join(names)}",
            )
        warnings = [*chosen, *test._caveats(base, marker.cells, upstream), *weaknesses(trial)]
        if self.of == "pairs":
            return pair_selection(test, trial, upstream, warnings)
        return feature_selection(test, trial, upstream, warnings)

    def _marker(self, columns: FragileColumns, n_features: int) -> Marker:
        if self.of == "features":
            return ScoredMarks(columns) if self.scoring else FeatureMarks(columns)
        return PairMarks(columns, n_features if self.pairs is None else self.pairs)

    def _permutation_number(self, cells: int) -> int:
        """How many label permutations to make; zero where the null needs none."""
        if not self.permuting:
            return 0
        correction = self._correction(cells)

        def needed_for(level: float) -> int:
            if self.compare == "own":
                needed = 1.0 / level - 1.0
            elif correction != "none":
                needed = (1.0 / level - 1.0) / cells
            else:
                needed = 1.0 / level / cells - 1.0
            # Standard deviations over permuted labels take two of them.
            return max(2 if self.scoring else 1, math.ceil(needed - 1e-9))

        if self.permutations is None:
            # With "bh" a lone relevant feature has to reach the level of "bonferroni".
            lone = self.alpha if correction == "none" else self.alpha / cells
            usual = _COUNTS_PERMUTATIONS
            if self.scoring:
                usual = _SCORES_PERMUTATIONS if correction == "none" else _CORRECTED_PERMUTATIONS
            return max(usual, needed_for(lone))
        level = self.alpha / cells if correction == "bonferroni" else self.alpha
        needed = needed_for(level)
        if self.permutations < needed:
            raise RequestError(
                f"npfs: with {self.permutations} permutations of {cells} {self.of} no p-value can "
                f"be as small as {level:.3g} (alpha={self.alpha:g}, correction={correction}); "
                f"ask for permutations={needed} or more, or leave them out"
            )
        return self.permutations

    def _correction(self, cells: int) -> str:
        """`correction`, or what it is by default."""
        if self.correction != "auto":
            return self.correction
        many = self.of == "features" and cells > _MANY_FEATURES
        return "bh" if many and self.permuting else "none"

    def _caveats(self, base: Base, cells: int, upstream: Selection | None) -> Iterator[str]:
        weighing = [s.name for s in getattr(base, "stages", ()) if s.name in _METRIC]
        if self.of == "pairs" and weighing:
            yield (
                f"the pair weights of {weighing[-1]} are metric weights, which grow with main "
                "effects: they measure joint relevance, may miss an exclusive or, and may pair a "
                "relevant feature with noise; `interactions` tests the interaction alone"
            )
        if not self.compared_with.holds_level:
            yield (
                f"null={self.null} does not keep its level on one table: bootstraps share its "
                "noise, so features without any relation to the label are named too; "
                "null=permutation holds it"
            )
        elif self.correction == "none" and self.alpha * cells >= 1:
            yield (
                f"alpha={self.alpha:g} of {cells} {self.of}: up to {self.alpha * cells:.3g} are "
                "expected to be named by chance alone; correction=bh bounds their share"
            )
        if self.base is not None and upstream is not None:
            yield (
                "the stages on the left have seen all labels, and this test does not know it: its "
                "p-values are too small; leave `base` out to resample them as well"
            )
