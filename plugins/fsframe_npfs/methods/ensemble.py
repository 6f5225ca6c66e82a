"""The ensemble selector: aggregate rankings over many resamples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import choice, flag, integer, optional, param, real
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection, rank_by_score
from fsframe.errors import RequestError
from fsframe.resampling.resamples import Recurring, select_resamples, too_many
from fsframe.resampling.wrapping import Base, WrappingSelector
from fsframe_npfs.engine.aggregation import (
    complete_ranks,
    false_selections_bound,
    linear_scores,
    list_ranks,
    threshold_for,
)
from fsframe_npfs.engine.labellings import BASE, DRAWS, class_codes
from fsframe_npfs.engine.resample_counts import BootstrapSampler, half_counts

__all__ = ["Ensemble"]

_DEFAULT_THRESHOLD = 0.75


@attrs.frozen(kw_only=True)
class Ensemble(WrappingSelector):
    """Features by their ranks over many resamples of a selector, or by selection frequency.

    Parameters
    ----------
    n : int ≥ 1
        Number of resamples.
    aggregate : {"mean-rank", "linear", "stability"}
        How rankings are aggregated.
    fraction : float in (0, 1], optional
        Rows per bootstrap, as a fraction of all.
    stratify : bool
        Draw within classes.
    threshold : float in (0.5, 1], optional
        With "stability": keep features selected in at least this share of the half samples.
    false_selections : float > 0, optional
        With "stability": choose the threshold for this bound on the expected number of false
        selections.

    Notes
    -----
    "mean-rank": mean ranks in the lists that the base keeps; features outside a list share the mean
    of the remaining ranks. "linear": complete linear aggregation, mean ranks over complete rankings
    by score, whether kept or not; features without a score share the last ranks. Both scores range
    from 1 (always first) to 0 (always last); without `top`, as many features are kept as the base
    keeps on average. "stability": complementary halves of the table instead of bootstraps; the
    score is the share of halves in which the feature is selected. Cost: n fits of the base, and
    8·n·K bytes for the ranks.

    References
    ----------
    Saeys, Abeel, Van de Peer 2008, Robust feature selection using ensemble feature selection
    techniques, ECML PKDD, section 3; Abeel et al. 2010, Bioinformatics 26:392, section 2.2;
    Meinshausen, Bühlmann 2010, J. R. Statist. Soc. B 72:417; Shah, Samworth 2013, J. R. Statist.
    Soc. B 75:55.
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    tasks_of_base: ClassVar[bool] = True
    takes_missing: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True
    takes_time: ClassVar[bool] = True
    takes_kept: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True

    n: int = param(50, integer(1), help="Number of resamples.", symbol="t")
    aggregate: str = param(
        "mean-rank",
        choice("mean-rank", "linear", "stability"),
        help="mean-rank: mean rank in the lists kept over bootstraps; linear: mean of complete "
        "rankings over bootstraps; stability: share of half samples that select the feature, "
        "with a threshold.",
        source="Saeys 2008; Abeel 2010; Meinshausen 2010",
    )
    fraction: float | None = param(
        None,
        optional(real(above=0, most=1)),
        help="Rows drawn per bootstrap, as a fraction of all; by default 1.",
    )
    stratify: bool = param(True, flag(), help="Draw within classes, so that each keeps its size.")
    threshold: float | None = param(
        None,
        optional(real(above=0.5, most=1)),
        help="With aggregate=stability: fraction of half samples that must select a feature; "
        "by default 0.75.",
        symbol="π",
        source="Meinshausen 2010, theorem 1",
    )
    false_selections: float | None = param(
        None,
        optional(real(above=0)),
        help="With aggregate=stability, instead of threshold: upper bound on the expected "
        "number of false selections.",
        symbol="E[V]",
        source="Meinshausen 2010, theorem 1",
    )

    def check_parameters(self) -> Iterator[str]:
        """Refuse parameters that the chosen aggregate would ignore."""
        yield from too_many(self.n, f"n={self.n}")
        halves = self.aggregate == "stability"
        for name, is_set in (
            ("threshold", self.threshold is not None),
            ("false_selections", self.false_selections is not None),
        ):
            if is_set and not halves:
                yield f"{name} is for aggregate=stability, not aggregate={self.aggregate}"
        if self.threshold is not None and self.false_selections is not None:
            yield "threshold and false_selections determine each other; give only one of them"
        if halves and (self.fraction is not None or not self.stratify):
            yield (
                "aggregate=stability halves the table within classes: it accepts neither fraction "
                "nor stratify"
            )
        if halves and self.n % 2:
            yield f"aggregate=stability draws halves in pairs: n must be even, not {self.n}"

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
        for row, selection in enumerate(found):
            picked[row, selection.selected] = True
            if self.aggregate == "linear":
                ranks[row] = complete_ranks(selection.scores)
            else:
                ranks[row] = list_ranks(selection.selected, data.n_features)
            recurring.add(selection.warnings)
        warnings = list(recurring.lines(self.n, "resamples"))
        tables = {"ranks": ranks, "frequency": picked.mean(axis=0), "kept": picked.sum(axis=1)}
        if self.aggregate == "stability":
            return self._stable(tables, data, warnings)
        scores = linear_scores(ranks)
        kept = max(1, round(float(tables["kept"].mean())))
        return Selection(
            selected=rank_by_score(scores, self.keep_count(data.n_features, kept)),
            scores=scores,
            tables=tables,
            warnings=warnings,
        )

    def _counts(self, data: Dataset, run: Run) -> NDArray[np.int64]:
        """Resamples as counts per row, (n, n_samples); resample b does not depend on n."""
        n, y, times, groups = data.n_samples, class_codes(data), data.counts, data.together
        if self.aggregate == "stability":
            streams = [run.generator(DRAWS, b) for b in range(self.n // 2)]
            halves = [half_counts(n, g, y=y, times=times, groups=groups) for g in streams]
            return np.concatenate(halves)
        fraction = 1.0 if self.fraction is None else self.fraction
        sampler = BootstrapSampler(n, y, fraction, self.stratify, times, groups)
        return np.stack([sampler.draw(run.generator(DRAWS, b)) for b in range(self.n)])

    def _stable(self, tables: dict[str, NDArray], data: Dataset, warnings: list[str]) -> Selection:
        scores, q = tables["frequency"], float(tables["kept"].mean())
        if self.false_selections is None:
            threshold = _DEFAULT_THRESHOLD if self.threshold is None else self.threshold
        else:
            threshold = threshold_for(q, data.n_features, self.false_selections)
            if threshold > 1:
                most = int(np.sqrt(data.n_features * self.false_selections))
                raise RequestError(
                    f"ensemble: with {q:.4g} of {data.n_features} features kept per half, no "
                    f"threshold bounds the false selections by {self.false_selections:g}; make the "
                    f"base keep at most {most} (`top`), or raise false_selections"
                )
        order = rank_by_score(scores)
        # Shares such as 37.5/50 are compared up to rounding.
        stable = order[scores[order] >= threshold * (1 - 1e-12)]
        bound = false_selections_bound(q, data.n_features, threshold)
        if not stable.size:
            warnings.append(
                f"no feature is kept in a share of {threshold:.3g} or more of the halves"
            )
        if bound >= max(1, stable.size):
            warnings.append(
                f"up to {bound:.3g} false selections are expected with a threshold of "
                f"{threshold:.3g} and {q:.4g} features kept per half: as many as were found"
            )
        kept = stable if self.top is None else order[: self.keep_count(data.n_features, 0)]
        return Selection(
            selected=kept,
            scores=scores,
            tables={
                **tables,
                "threshold": np.array([threshold]),
                "false-selections-bound": np.array([bound]),
            },
            warnings=warnings,
        )
