"""The NPFS selector: features that a base selects more often than expected by chance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np

from fsframe.errors import RequestError
from fsframe.method.ranking import RELEVANT, Statement
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.resampling.resamples import Base, CountNull, too_many
from fsframe.table.dataset import Dataset
from fsframe.table.spelling.text_file import shown
from fsframe_npfs.engine.labellings import (
    PERMUTATION,
    FragileColumns,
    ResamplingSelector,
    strata_problems,
)
from fsframe_npfs.engine.nulls import said_of_drift
from fsframe_npfs.methods.outcome import caveats, feature_selection
from fsframe_npfs.methods.procedure import (
    CORRECTED_PERMUTATIONS,
    SCORES_PERMUTATIONS,
    NpfsParameters,
    Procedure,
)

# Above this number of features, correction=auto controls the false discovery rate.
_MANY_FEATURES = 200


@attrs.frozen(kw_only=True)
class Npfs(ResamplingSelector, NpfsParameters):
    """Features that a selector scores higher over bootstraps than it would under permuted labels.

    The published test, which compares counts with a binomial, is ``null="published"``.

    Parameters
    ----------
    n : int ≥ 1, optional
        Bootstraps with the true label, or shards; by default 100, and 200 for a corrected test
        with permuted labels.
    alpha : float in (0, 1)
        Level of the test, after `correction`.
    null : {"permutation", "published", "matlab", "shards"}, or one from a plugin
        The null distribution; `fsframe_npfs.engine.nulls` states what each guarantees.
    permutations : int ≥ 1, optional
        Label permutations; by default 99 (450 with a correction), or as many as `alpha` needs.
    permuted_n : int ≥ 1, optional
        Bootstraps per permuted label; by default n / 10 but at least 10, or 2 with a correction.
    compare : {"centred", "pooled", "own"}
        The permuted values with which a feature is compared.
    correction : {"auto", "none", "bonferroni", "bh"}
        Correction for the number of features tested; "auto" is bh above 200 features with
        null="permutation", else none.
    fraction : float in (0, 1], optional
        m/N, rows per bootstrap.
    stratify : bool
        Draw within classes.
    bias : float in [0, 1)
        β, added to p0 = k/K.
    settle : float in (0, 0.5), optional
        With permuted labels: add bootstraps and permutations until no decision would change with
        another seed with a probability above this. Otherwise: stop before n bootstraps once every
        decision has at most this probability of error.
    fits : int ≥ 1, optional
        With `settle` and permuted labels: maximum number of fits of the base; by default ten
        times those of a test without it.

    Notes
    -----
    z_i = #{l : the base selects i in bootstrap l}, relevant where z_i > ζ. The published ζ is the
    smallest c with P(Bin(n, k/K + β) ≤ c) ≥ 1 − α; where the base keeps varying numbers k_l, the
    distribution is Poisson-binomial with k_l/K + β. The permutation null compares a feature's mean
    score, and the mean normal score of its rank, with those of all features under the true and all
    permuted labels; `fsframe_npfs.engine.decisions.decide_by_scores` defines the statistic
    and proves its level.
    Cost: n fits of the base, and P·`permuted_n` more with P permutations.

    Departures: bootstraps are stratified by class by default, and redrawn if a class has fewer than
    two different rows; columns that are constant, in the table or in the bootstrap, are never
    selected; a count of zero is never relevant (it would be with ζ = 0 and "≥").

    References
    ----------
    Ditzler, lecture notes of 2014, slides 24–25; Ditzler, Polikar, Rosen 2015, A bootstrap based
    Neyman-Pearson test for identifying variable importance, IEEE Trans. Neural Netw. Learn. Syst.
    26(4):880, algorithm 1.
    """

    takes_kept: ClassVar[bool] = True

    def base_fits(self, p: int, base: Base | None = None) -> int | None:
        """Number of fits without `settle`; None if `permutations` is too small."""
        settings = attrs.evolve(self, correction=self._correction(p), permutations=None)
        try:
            made = self._permutation_number(p)
        except RequestError:
            return None
        return settings.resamples + made * settings.permuted_resamples

    def check_parameters(self) -> Iterator[str]:
        """Refuse parameters that the chosen null would ignore."""
        permuting = self.permuting
        made, how = self.resamples, f"n={self.resamples}"
        if permuting and self.permutations is not None:
            made, how = (
                made + self.permutations * self.permuted_resamples,
                f"{how} with {self.permutations:.6g} permutations",
            )
        yield from too_many(made, how)
        for name, is_set in (
            ("permutations", self.permutations is not None),
            ("compare", self.compare != "centred"),
            ("permuted_n", self.permuted_n is not None),
        ):
            if is_set and not permuting:
                yield f"{name} is for null=permutation, not null={self.null}"
        if permuting and self.permuted_n is not None and self.permuted_n > self.resamples:
            yield f"permuted_n={self.permuted_n} is more than n={self.resamples}"
        if self.fits is not None:
            if self.settle is None or not permuting:
                yield (
                    "fits limits what settle adds with null=permutation; without settle, n decides"
                )
            yield from too_many(self.fits, f"fits={self.fits}")
        if permuting and self.bias:
            yield "bias is added to p0 = k/K, which null=permutation does not use"
        null = self.compared_with
        if isinstance(null, CountNull) and null.own_resamples:
            for name, is_set in (
                ("fraction", self.fraction is not None),
                ("stratify", not self.stratify),
                ("settle", self.settle is not None),
            ):
                if is_set:
                    yield (
                        f"{name} is for bootstraps; shards are disjoint parts of the whole table, "
                        "cut within the classes"
                    )

    def statement(self, base: Selector | None = None) -> Statement:
        return RELEVANT

    def forewarnings(self, data: Dataset, n_tests: int | None) -> Iterator[str]:
        """The warnings of its base, and one about a label that drifts in time."""
        yield from super().forewarnings(data, n_tests)
        if self.null == PERMUTATION and (drift := said_of_drift(data)):
            yield drift

    def adjusts_base(self) -> bool:
        """Whether labels are permuted within the strata of the covariates."""
        return self.null == "permutation"

    def works_in_parts(self, data: Dataset) -> bool:
        """Whether shards are tested: they are loaded a few at a time, and the base runs on each."""
        return self.null == "shards" and data.counts is None and data.groups is None

    def parts_problem(self, data: Dataset, n_features: int | None = None) -> str:
        if not data.in_parts or not self.works_in_parts(data):
            return super().parts_problem(data, n_features)
        p = data.n_features if n_features is None else n_features
        rows, most = -(-data.n_samples // self.resamples), data.matrix.most_bytes
        if 8 * rows * p <= most:
            return ""
        return (
            f"npfs: a shard of {rows} × {p} values takes {shown(8 * rows * p)}, and "
            f"{shown(most)} are allowed (FSFRAME_TABLE_MEMORY): use "
            f"n={-(-8 * data.n_samples * p // most)} shards or more"
        )

    def seen_by_base(self, data: Dataset) -> Dataset:
        """A few rows of a table in parts, since the base runs on shards in memory."""
        if not data.in_parts or not self.works_in_parts(data):
            return data
        return data.take_rows(np.arange(min(data.n_samples, 64)))

    def role_problems(self, data: Dataset) -> Iterator[str]:
        yield from super().role_problems(data)
        if data.keep is not None and not self.permuting:
            yield (
                f"npfs: null={self.null} compares with how often a feature is kept by chance, "
                "which is undefined for columns that are always kept (--keep): drop them from the "
                "table (--drop), or use null=permutation"
            )
        if data.times is not None and self.null == "shards":
            yield (
                "npfs: null=shards assigns rows to parts regardless of their order; omit the time"
            )
        if self.adjusts_base():
            yield from strata_problems(data, "npfs")

    def check_request(self, data: Dataset) -> Iterator[str]:
        yield from super().check_request(data)
        if self.permutations is None and self.fits is None:
            return
        n_items = FragileColumns.find(data).n_usable
        if n_items < 2:
            yield self._too_few(n_items, data)
            return
        if self.fits is not None and self.base is None:
            settings = attrs.evolve(self, correction=self._correction(n_items), permutations=None)
            made = self.permutations or settings._permutation_number(n_items)
            first = settings.resamples + made * settings.permuted_resamples
            if self.fits < first:
                yield f"fits={self.fits} is less than the {first} fits of a test without settle"
        if self.permutations is None:
            return
        try:
            self._permutation_number(n_items)
            return
        except RequestError as error:
            problem = str(error).removeprefix("npfs: ")
        try:
            # With a base, the columns are those that an earlier stage keeps. The required number is
            # monotone in theirs: what is too few for all and for two is too few for any.
            self._permutation_number(n_items if self.base is None else min(2, n_items))
        except RequestError:
            yield problem

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        if self.adjusts_base():
            data = data.without_adjusting()
        columns = FragileColumns.find(data)
        n_items = columns.n_usable
        if n_items < 2:
            raise RequestError(f"npfs: {self._too_few(n_items, data)}")
        settings = attrs.evolve(self, correction=self._correction(n_items))
        n_permutations = settings._permutation_number(n_items)
        procedure = Procedure(
            settings=settings,
            base=base,
            data=data,
            # The wrapped chain's result on the whole table must not leak into its bootstraps.
            upstream=upstream if self.base is not None else None,
            columns=columns,
            run=run,
            n_permutations=n_permutations,
        )
        procedure.execute()
        warnings = []
        if settings.correction not in (self.correction, "none"):
            warnings.append(
                f"correction=auto became correction=bh, since {n_items} features were "
                f"tested. Of the kept features, a share of at most about {self.alpha:g} (alpha) is "
                "expected to be false. `npfs:correction=none` bounds the share of all irrelevant "
                "features that are kept instead"
            )
        if data.keep is not None:
            names = [n for n, kept in zip(data.feature_names, data.keep, strict=True) if kept]
            warnings.append(
                f"kept by request (--keep), whatever the test decides: {', '.join(names)}"
            )
        warnings += [*settings._caveats(base, n_items, upstream), *caveats(procedure)]
        return feature_selection(procedure, upstream, warnings)

    def _too_few(self, n_items: int, data: Dataset) -> str:
        return (
            f"{n_items} feature(s) to test in {data.name!r} (constant columns not counted); "
            "at least two are needed"
        )

    def _permutation_number(self, n_items: int) -> int:
        """Number of label permutations; zero where the null needs none."""
        if not self.permuting:
            return 0
        correction = self._correction(n_items)

        def needed_for(level: float) -> int:
            if self.compare == "own":
                needed = 1.0 / level - 1.0
            elif correction != "none":
                needed = (1.0 / level - 1.0) / n_items
            else:
                needed = 1.0 / level / n_items - 1.0
            # A standard deviation over permuted labels needs at least two.
            return max(2, math.ceil(needed - 1e-9))

        if self.permutations is None:
            # With "bh", a single relevant feature has to reach the level of "bonferroni".
            single = self.alpha if correction == "none" else self.alpha / n_items
            usual = SCORES_PERMUTATIONS if correction == "none" else CORRECTED_PERMUTATIONS
            return max(usual, needed_for(single))
        level = self.alpha / n_items if correction == "bonferroni" else self.alpha
        needed = needed_for(level)
        if self.permutations < needed:
            raise RequestError(
                f"npfs: with {self.permutations} permutations of {n_items} features no p-value "
                f"can be as small as {level:.3g} (alpha={self.alpha:g}, correction={correction}); "
                f"use permutations={needed} or more, or omit permutations"
            )
        return self.permutations

    def _correction(self, n_items: int) -> str:
        """`correction`, with "auto" resolved."""
        if self.correction != "auto":
            return self.correction
        return "bh" if n_items > _MANY_FEATURES and self.permuting else "none"

    def _caveats(self, base: Base, n_items: int, upstream: Selection | None) -> Iterator[str]:
        if not self.compared_with.holds_level:
            yield (
                f"null={self.null} does not keep its level on one table: bootstraps share its "
                "noise, so features unrelated to the label are selected too; null=permutation "
                "keeps its level"
            )
        elif self.correction == "none" and self.alpha * n_items >= 1:
            yield (
                f"alpha={self.alpha:g} of {n_items} features: up to {self.alpha * n_items:.3g} "
                "are expected to be selected by chance alone; correction=bh limits their share"
            )
        if self.base is not None and upstream is not None:
            yield (
                "the earlier stages used all labels, which this test does not take into account: "
                "its p-values are too small; omit `base` to resample the earlier stages as well"
            )
