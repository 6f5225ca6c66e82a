"""The ensemble selector: aggregate rankings over many bootstraps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, flag, integer, param, real
from fsframe.resampling.resamples import Recurring, select_resamples, too_many
from fsframe.resampling.wrapping import Base, WrappingSelector
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.aggregation import (
    complete_ranks,
    linear_scores,
    list_ranks,
)
from fsframe_npfs.engine.labellings import BASE, DRAWS, class_codes
from fsframe_npfs.engine.resample_counts import BootstrapSampler

__all__ = ["Ensemble"]


@attrs.frozen(kw_only=True)
class Ensemble(WrappingSelector):
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

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    tasks_of_base: ClassVar[bool] = True
    takes_missing: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True
    takes_time: ClassVar[bool] = True
    takes_kept: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True

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

    def role_problems(self, data: Dataset) -> Iterator[str]:
        yield from super().role_problems(data)
        yield from self.stretch_problems(data)

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        found = select_resamples(
            base,
            data.with_counts(None),
            self._counts(data, run),
            run.child(BASE),
            # The wrapped chain's result on the whole table must not leak into its resamples.
            upstream=upstream if self.base is not None else None,
            parts=("scores",) if self.aggregate == "linear" else (),
        )
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
