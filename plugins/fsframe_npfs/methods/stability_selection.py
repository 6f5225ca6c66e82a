"""Rankings repeated on resamples: ensembles, complementary pairs, integrated paths."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, flag, integer, optional, param, real
from fsframe.resampling.resamples import Recurring, too_many
from fsframe.resampling.wrapping import Base
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.bounds import (
    BOUNDS,
    complete_ranks,
    expected_false,
    integrate_paths,
    least_count,
    least_false_rates,
    linear_scores,
    list_ranks,
)
from fsframe_npfs.engine.labellings import DRAWS, ResamplingSelector, class_codes
from fsframe_npfs.engine.resample_counts import BootstrapSampler
from fsframe_npfs.methods.halves import HalvesSelector


@attrs.frozen(kw_only=True)
class Ensemble(ResamplingSelector):
    """Features by their mean ranks over many bootstraps of a selector.

    Parameters
    ----------
    n : int ≥ 1
        Number of bootstraps.
    aggregate : {"mean-rank", "linear"}
        How rankings are aggregated.
    fraction : float in (0, 1], optional
        Rows per bootstrap, as a fraction of all.
    stratify : bool
        Draw within classes.

    Notes
    -----
    "mean-rank": mean ranks in the lists that the base keeps; features outside a list share the mean
    of the remaining ranks. "linear": complete linear aggregation, mean ranks over complete rankings
    by score, whether kept or not; features without a score share the last ranks. Both scores range
    from 1 (always first) to 0 (always last); without `top`, as many features are kept as the base
    keeps on average. Cost: n fits of the base, and 8·n·K bytes for the ranks. Stability selection
    is a stage of its own, `cpss`.

    References
    ----------
    Saeys, Abeel, Van de Peer 2008, Robust feature selection using ensemble feature selection
    techniques, ECML PKDD, section 3; Abeel et al. 2010, Bioinformatics 26:392, section 2.2.
    """

    takes_counts: ClassVar[bool] = True
    takes_kept: ClassVar[bool] = True

    n: int = param(50, integer(1), help="Number of bootstraps.", symbol="t")
    aggregate: str = param(
        "mean-rank",
        choice("mean-rank", "linear"),
        help="mean-rank: mean rank in the lists kept; linear: mean of complete rankings by score.",
        source="Saeys 2008; Abeel 2010",
    )
    fraction: float = param(
        1.0, real(above=0, most=1), help="Rows drawn per bootstrap, as a fraction of all."
    )
    stratify: bool = param(True, flag(), help="Draw within classes, so that each keeps its size.")

    def check_parameters(self) -> Iterator[str]:
        """Refuse more fits than can be counted."""
        yield from too_many(self.n, f"n={self.n}")

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        parts = ("scores",) if self.aggregate == "linear" else ()
        found = self.results(base, data, self._counts(data, run), upstream, run, *parts)
        ranks = np.empty((self.n, data.n_features))
        picked = np.zeros((self.n, data.n_features), dtype=bool)
        recurring = Recurring()
        natural_zero = getattr(base, "natural_zero", False)
        for row, selection in enumerate(found):
            picked[row, selection.selected] = True
            if self.aggregate == "linear":
                ranks[row] = complete_ranks(selection.scores, natural_zero)
            else:
                ranks[row] = list_ranks(selection.selected, data.n_features)
            recurring.add(selection.warnings)
        scores = linear_scores(ranks)
        kept = max(1, round(float(picked.sum(axis=1).mean())))
        return Selection(
            selected=rank_by_score(scores, self.keep_count(data.n_features, kept)),
            scores=scores,
            tables={"ranks": ranks, "frequency": picked.mean(axis=0), "kept": picked.sum(axis=1)},
            warnings=list(recurring.lines(self.n, "bootstraps")),
        )

    def _counts(self, data: Dataset, run: Run) -> NDArray[np.int64]:
        """Bootstraps as counts per row, (n, n_samples); bootstrap b does not depend on n."""
        sampler = BootstrapSampler(
            data.n_samples,
            class_codes(data),
            self.fraction,
            self.stratify,
            data.counts,
            data.together,
        )
        return np.stack([sampler.draw(run.generator(DRAWS, b)) for b in range(self.n)])


@attrs.frozen(kw_only=True)
class Cpss(HalvesSelector):
    """Features that a selector keeps on many halves of the table, with a bound on false ones.

    Parameters
    ----------
    pairs : int ≥ 1
        Number of complementary pairs of halves; two fits of the base each.
    false_selections : float > 0
        Bound on the expected number of false selections; decides how often a feature must be
        selected.
    threshold : float in (0, 1], optional
        Instead: keep features that at least this share of the halves select.
    bound : {"worst-case", "unimodal", "r-concave"}
        What is assumed of how often a rarely selected feature is selected.

    Notes
    -----
    The score of a feature is the share Π of the 2B halves that select it. A false selection is a
    kept feature whose probability of selection on a half is at most θ = q/p, where q is the mean
    number of features that the base keeps on a half: one that the base prefers no more than a
    random choice would. With "worst-case", nothing is assumed but that rows are independent:
    neither about the base, nor that noise features are exchangeable. The other bounds keep more,
    and are missed where their assumption fails, as with blocks of copies. What a selection means is
    up to the base: with `lasso`, that the feature is needed given the others; with a filter, that
    it is relevant by itself. The bound is small only if the base keeps few features: at most √p of
    p for one false selection. Cost: 2B fits on half of the rows.

    References
    ----------
    Shah, Samworth 2013, Variable selection with error control: another look at stability selection,
    J. R. Statist. Soc. B 75:55, theorems 1 and 2 and section 3.3; Meinshausen, Bühlmann 2010,
    Stability selection, J. R. Statist. Soc. B 72:417, theorem 1, whose bound is "worst-case".
    """

    false_selections: float = param(
        1.0,
        real(above=0),
        help="Bound on the expected number of kept features that the base selects no more often "
        "than chance.",
        symbol="E[V]",
    )
    threshold: float | None = param(
        None,
        optional(real(above=0, most=1)),
        help="Share of halves that must select a feature, instead of what false_selections "
        "requires; the bound that follows is reported.",
        symbol="τ",
    )
    bound: str = param(
        "worst-case",
        choice(*BOUNDS),
        help="What is assumed of the proportions of a rarely selected feature: nothing "
        "(worst-case, theorem 1), unimodal (theorem 2), or r-concave (the paper's recommendation).",
        source="theorems 1, 2, §3.3",
    )

    def check_parameters(self) -> Iterator[str]:
        """Refuse more fits than can be counted, and a threshold without a bound."""
        yield from super().check_parameters()
        if self.threshold is not None and self.threshold <= 0.5 and self.bound != "r-concave":
            yield f"bound={self.bound} needs a threshold above 0.5, not {self.threshold:g}"

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        times, sizes = np.zeros(data.n_features, dtype=np.int64), []
        recurring = Recurring()
        for selection in self.on_halves(base, data, upstream, run, recurring):
            times[selection.selected] += 1
            sizes.append(selection.selected.size)
        warnings = list(recurring.lines(2 * self.pairs, "halves"))
        return self._decide(times, np.array(sizes), warnings)

    def _decide(
        self, times: NDArray[np.int64], sizes: NDArray[np.int64], warnings: list[str]
    ) -> Selection:
        p, kept = times.size, float(sizes.mean())
        if self.threshold is None:
            needed = least_count(self.false_selections, self.pairs, kept, p, self.bound)
        else:
            # A share such as 0.57 of 100 is compared up to rounding.
            needed = int(np.ceil(self.threshold * 2 * self.pairs * (1 - 1e-12)))
        scores = times / (2 * self.pairs)
        order = rank_by_score(scores)
        tables = {"frequency": scores, "kept": sizes}
        if needed is None:
            stable = order[:0]
            warnings.append(
                f"nothing is kept: with {kept:.4g} of {p} features on a half, no threshold bounds "
                f"the expected false selections by {self.false_selections:g}; "
                f"{_advice(self.false_selections, self.pairs, p, self.bound)}"
            )
        else:
            stable = order[times[order] >= needed]
            false = expected_false(needed, self.pairs, kept, p, self.bound)
            tables["threshold"] = np.array([needed / (2 * self.pairs)])
            tables["false-selections-bound"] = np.array([false])
            if self.threshold is not None and not false <= max(1.0, stable.size / 2):
                warnings.append(
                    f"{false:.3g} false selections can be expected at this threshold, of "
                    f"{stable.size} kept; {_advice(1.0, self.pairs, p, self.bound)}"
                )
        if needed is not None and not stable.size:
            warnings.append(
                f"no feature is selected on a share of {needed / (2 * self.pairs):.3g} of the "
                "halves"
            )
        if self.top is not None:
            stable = order[: self.keep_count(p, 0)]
        return Selection(selected=stable, scores=scores, tables=tables, warnings=warnings)


def _advice(most_false: float, pairs: int, p: int, bound: str) -> str:
    """What number of features on a half would make the bound attainable."""
    possible = bisect.bisect_left(
        range(1, p + 1), 1, key=lambda q: least_count(most_false, pairs, q, p, bound) is None
    )
    if not possible:
        return "raise false_selections or pairs"
    return f"let the base keep at most {possible} (`top`), or raise false_selections"


@attrs.frozen(kw_only=True)
class Ipss(HalvesSelector):
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

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        p, halves = data.n_features, 2 * self.pairs
        run.must_hold(
            8 * p * (halves + self._steps), f"ipss: scores of {halves} halves and their paths"
        )
        scores, recurring = np.empty((halves, p)), Recurring()
        found = self.on_halves(base, data, upstream, run, recurring, "scores")
        for row, selection in enumerate(found):
            scores[row] = selection.scores
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
