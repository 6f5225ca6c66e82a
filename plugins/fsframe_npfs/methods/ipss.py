"""Integrated path stability selection over any selector with scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np

from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import integer, optional, param, real
from fsframe.resampling.resamples import Recurring, select_resamples, too_many
from fsframe.resampling.wrapping import Base, WrappingSelector
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.labellings import BASE, DRAWS, class_codes
from fsframe_npfs.engine.path_integrals import integrate_paths, least_false_rates
from fsframe_npfs.engine.resample_counts import complementary_halves

__all__ = ["Ipss"]


@attrs.frozen(kw_only=True)
class Ipss(WrappingSelector):
    """Features whose score stays high over many halves of the table, with a bound on false ones.

    Parameters
    ----------
    pairs : int ≥ 1
        Number of complementary pairs of halves; two fits of the base each.
    level : float in (0, 1)
        Features with a q-value at or below this are kept.
    false_selections : float > 0, optional
        Instead: a bound on the expected number of false selections.
    power : int from 1 to 3
        Exponent of (2π − 1), by which a share π of the halves counts.
    cutoff : float > 0
        How far down the thresholds go: until the bound on the integral of a path exceeds this.
    delta : float
        Weight of thresholds, λ^(−δ); 1: equal ratios weigh equally.

    Notes
    -----
    At each threshold λ of the score, a feature's stability path is the share π(λ) of the 2B halves
    that score it at λ or more. The score of this stage is the integral of (2π − 1)^power over the
    thresholds at which π exceeds ½; features with an integral of τ or more contain at most
    bound/τ false ones in expectation. A q-value is the smallest such bound divided by the number
    of features kept. The base must give scores that mean the same on every half; `lasso` gives the
    penalty at which a feature enters, so that the path is the path of the penalty, `importance` the
    importance in a forest. Features that score below the first threshold are never selected. Cost:
    2B fits on half of the rows, 16·B·p bytes for their scores and 800·p for the paths.

    References
    ----------
    Melikechi, Miller 2025, Integrated path stability selection, J. Am. Stat. Assoc. (arXiv
    2403.15877); Melikechi, Dunson, Miller 2025, Nonparametric IPSS: fast, flexible feature
    selection with false discovery control, Bioinformatics 41:btaf299 (arXiv 2410.02208).
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    tasks_of_base: ClassVar[bool] = True
    takes_missing: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True
    takes_time: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True

    pairs: int = param(50, integer(1), help="Number of complementary pairs of halves.", symbol="B")
    level: float = param(
        0.1, real(above=0, below=1), help="Keep features with a q-value at or below this."
    )
    false_selections: float | None = param(
        None,
        optional(real(above=0)),
        help="Instead of level: bound on the expected number of false selections.",
        symbol="E(FP)",
    )
    power: int = param(
        3, integer(1, 3), help="Exponent of 2π - 1, for a share π of the halves.", symbol="h_m"
    )
    cutoff: float = param(
        0.05,
        real(above=0),
        help="Lower thresholds are left out once the bound on the integrals exceeds this.",
        symbol="C",
    )
    delta: float = param(
        1.0, real(), help="Thresholds are weighted by λ^-δ; 1 weighs ratios equally.", symbol="δ"
    )

    _steps: ClassVar[int] = 100

    def check_parameters(self) -> Iterator[str]:
        """Refuse more fits than can be counted."""
        yield from too_many(2 * self.pairs, f"pairs={self.pairs}")

    def role_problems(self, data: Dataset) -> Iterator[str]:
        yield from super().role_problems(data)
        yield from self.stretch_problems(data)

    def base_fits(self, p: int) -> int | None:
        """Two for each pair."""
        return 2 * self.pairs

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        p, halves = data.n_features, 2 * self.pairs
        run.must_hold(
            8 * p * (halves + self._steps), f"ipss: scores of {halves} halves and their paths"
        )
        found = select_resamples(
            base,
            data.with_counts(None),
            complementary_halves(data, class_codes(data), run, DRAWS, self.pairs),
            run.child(BASE),
            # The wrapped chain's result on the whole table must not leak into its halves.
            upstream=upstream if self.base is not None else None,
            parts=("scores",),
        )
        scores, recurring = np.empty((halves, p)), Recurring()
        for row, selection in enumerate(found):
            scores[row] = selection.scores
            recurring.add(selection.warnings)
        warnings = list(recurring.lines(halves, "halves"))
        if np.isnan(scores).all():
            raise RequestError("ipss: its base gives no scores; put a selector with scores before")
        integrals, bound, thresholds, paths = integrate_paths(
            scores,
            power=self.power,
            cutoff=self.cutoff,
            steps=self._steps,
            delta=self.delta,
        )
        expected, q_values = least_false_rates(integrals, bound)
        if self.false_selections is None:
            passed = q_values <= self.level
        else:
            passed = expected <= self.false_selections
        order = rank_by_score(integrals)
        kept = order[passed[order]]
        if not thresholds.size:
            warnings.append(
                "nothing can be kept: more features than the cutoff allows share the largest score;"
                " use a base whose scores have few ties"
            )
        elif not kept.size:
            best = order[0]
            warnings.append(
                f"no feature is kept; the best has q = {q_values[best]:.3g} with "
                f"{expected[best]:.3g} false selections expected"
            )
        if self.top is not None:
            kept = order[: self.keep_count(p, 0)]
        return Selection(
            selected=kept,
            scores=integrals,
            tables={
                "q_values": q_values,
                "expected-false": expected,
                "bound": np.array([bound]),
                "thresholds": thresholds,
                "stability-paths": paths,
            },
            warnings=warnings,
        )
