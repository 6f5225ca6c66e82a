"""The parameters of NPFS, and values that follow from them for any table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

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
from fsframe.resampling.resamples import Null, RelabellingNull
from fsframe_npfs.engine.decisions import CORRECTIONS

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
