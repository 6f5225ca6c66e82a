"""Complementary pairs stability selection over any selector."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, integer, optional, param, real
from fsframe.resampling.resamples import Recurring, select_resamples, too_many
from fsframe.resampling.wrapping import Base, WrappingSelector
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.labellings import BASE, DRAWS, class_codes
from fsframe_npfs.engine.resample_counts import complementary_halves
from fsframe_npfs.engine.stability_bounds import BOUNDS, expected_false, least_count

__all__ = ["Cpss"]


@attrs.frozen(kw_only=True)
class Cpss(WrappingSelector):
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

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    tasks_of_base: ClassVar[bool] = True
    takes_missing: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True
    takes_time: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True

    pairs: int = param(
        50, integer(1), help="Number of complementary pairs of halves.", symbol="B", source="§2"
    )
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
        yield from too_many(2 * self.pairs, f"pairs={self.pairs}")
        if self.threshold is not None and self.threshold <= 0.5 and self.bound != "r-concave":
            yield f"bound={self.bound} needs a threshold above 0.5, not {self.threshold:g}"

    def role_problems(self, data: Dataset) -> Iterator[str]:
        yield from super().role_problems(data)
        yield from self.stretch_problems(data)

    def base_fits(self, p: int) -> int | None:
        """Two for each pair."""
        return 2 * self.pairs

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        found = select_resamples(
            base,
            data.with_counts(None),
            complementary_halves(data, class_codes(data), run, DRAWS, self.pairs),
            run.child(BASE),
            # The wrapped chain's result on the whole table must not leak into its halves.
            upstream=upstream if self.base is not None else None,
            parts=(),
        )
        times, sizes = np.zeros(data.n_features, dtype=np.int64), []
        recurring = Recurring()
        for selection in found:
            times[selection.selected] += 1
            sizes.append(selection.selected.size)
            recurring.add(selection.warnings)
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
