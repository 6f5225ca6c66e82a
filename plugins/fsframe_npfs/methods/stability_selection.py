"""Rankings repeated on resamples: ensembles, complementary pairs, integrated paths."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.errors import RequestError
from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, flag, integer, optional, param, real
from fsframe.resampling.resamples import Base, Recurring, too_many
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import unit_columns
from fsframe.text import some_of
from fsframe_npfs.engine.draws import BootstrapSampler
from fsframe_npfs.engine.labellings import (
    DRAWS,
    PERMUTATION,
    ResamplingSelector,
    class_codes,
    strata_problems,
)
from fsframe_npfs.methods.halves import (
    BOUNDS,
    HalvesSelector,
    complete_ranks,
    expected_false,
    integrate_paths,
    least_count,
    least_false_rates,
    linear_scores,
    list_ranks,
    normal_false,
    pooled_expected,
    rates_of,
)


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

    def base_fits(self, p: int, base: Base | None = None) -> int:
        """One for each bootstrap."""
        return self.n

    def check_parameters(self) -> Iterator[str]:
        """Refuse more fits than can be counted."""
        yield from too_many(self.n, f"n={self.n}")

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        parts = ("scores",) if self.aggregate == "linear" else ()
        selections = self.results(base, data, self._counts(data, run), upstream, run, *parts)
        ranks = np.empty((self.n, data.n_features))
        picked = np.zeros((self.n, data.n_features), dtype=bool)
        recurring = Recurring()
        natural_zero = base.natural_zero
        for row, selection in enumerate(selections):
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
    bound : {"auto", "worst-case", "unimodal", "r-concave", "permutation"}
        Assumption about the share of halves that select a rarely selected feature; or permuted
        labels.
    permutations : int ≥ 1, optional
        Number of permuted labellings, for bound="permutation"; by default 19.

    Notes
    -----
    The score of a feature is the share Π of the 2B halves that select it. A false selection is a
    kept feature whose probability of selection on a half is at most θ = q/p, where q is the mean
    number of features that the base keeps on a half: one that the base prefers no more than a
    random choice would. "worst-case" assumes only that rows are independent: nothing about the
    base, and not that noise features are exchangeable. "unimodal" and "r-concave" keep more, but
    their bound is exceeded if their assumption fails: that of "r-concave" if few of many features
    are kept, or if a class has few of the rows and scores are signed (1.2 to 1.7 false ones with
    `relieff:top=5` on 20 features and a class of 5 to 15 % of 300 rows), that of both with blocks
    of copied columns; warnings say so. "auto" is our departure: the share τ must be large enough
    for both "r-concave" and normal scores (`fsframe_npfs.methods.halves.normal_false`), signed ones
    if a class has less than a fifth of the rows and the base does not fit all features at once;
    near-copies of other columns must reach the share that "worst-case" requires, and are not kept
    where there is none. "permutation" repeats
    everything with permuted labels, and keeps the features that at least a share τ of the halves
    select, for the smallest τ reached by at most `false_selections` features per labelling, the
    true one included. If the label depends on no feature, at most that many are kept in
    expectation, for any base and any dependence of the features
    (`fsframe_npfs.methods.halves.pooled_expected`); it does not say that a feature is needed, and
    promises nothing about irrelevant features if others are relevant. What a selection means is up
    to the base: with `lasso`, that the feature is needed given the others; with a filter, that it
    is relevant by itself. The bound is small only if the base keeps few features: at most √p of p
    for one false selection. Cost: 2B fits on half of the rows, for each labelling.

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
        "auto",
        choice(*BOUNDS, PERMUTATION),
        help="Assumption about how often halves select a rarely selected feature: none "
        "(worst-case, theorem 1), unimodal (theorem 2), r-concave (the paper's choice), or auto: "
        "r-concave, and what normal scores would give, and worst-case for copied columns; or "
        "permutation: compare with permuted labels.",
        source="theorems 1, 2, §3.3",
    )

    def check_parameters(self) -> Iterator[str]:
        """Refuse more fits than can be counted, and a threshold without a bound."""
        yield from super().check_parameters()
        assumed = self.bound in ("worst-case", "unimodal")
        if self.threshold is not None and self.threshold <= 0.5 and assumed:
            yield f"bound={self.bound} needs a threshold above 0.5, not {self.threshold:g}"

    @property
    def most_false(self) -> float:
        """`false_selections`."""
        return self.false_selections

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        halves, labellings = 2 * self.pairs, self.labellings(self.may_permute)
        times, sizes = np.zeros((labellings, data.n_features), dtype=np.int64), []
        recurring = Recurring()
        selections = self.on_halves(base, data, upstream, run, labellings, recurring)
        for number, selection in enumerate(selections):
            times[number // halves, selection.selected] += 1
            if number < halves:
                sizes.append(selection.selected.size)
        warnings = list(recurring.lines(halves * labellings, "halves"))
        # Methods that fit all features at once choose by the size of a coefficient.
        sides = 1 if _uneven(data) and not base.joint else 2
        return self._decide(data, times, np.array(sizes), sides, warnings)

    def _decide(
        self,
        data: Dataset,
        times: NDArray[np.int64],
        sizes: NDArray[np.int64],
        sides: int,
        warnings: list[str],
    ) -> Selection:
        p, kept, halves = times.shape[1], float(sizes.mean()), 2 * self.pairs
        needed = self._needed(times, kept, sides)
        scores = times[0] / halves
        order = rank_by_score(scores)
        tables = {"frequency": scores, "kept": sizes}
        if self.may_permute:
            tables["expected-false"] = pooled_expected(times)
        if needed is None:
            stable = order[:0]
            warnings.append(self._nothing(kept, p, sides))
        else:
            stable = order[times[0, order] >= needed]
            share = needed / halves
            if self.may_permute:
                false = float(np.count_nonzero(times >= needed) / len(times))
            else:
                false = expected_false(needed, self.pairs, kept, p, self.bound, sides)
            tables["threshold"] = np.array([share])
            tables["false-selections-bound"] = np.array([false])
            if self.threshold is not None and not false <= max(1.0, stable.size / 2):
                warnings.append(
                    f"at this threshold, up to {false:.3g} false selections can be expected among "
                    f"the {stable.size} kept; {self._advised(1.0, p, sides)}"
                )
            if self.bound in _ASSUMING:
                warnings += self._chance(data, needed, kept, p, sides, false)
            if not stable.size:
                warnings.append(f"no feature is selected on a share of {share:.3g} of the halves")
        if self.top is not None:
            stable = order[: self.keep_count(p, 0)]
        elif self.bound == "auto" and self.threshold is None and stable.size:
            strict = least_count(self.false_selections, self.pairs, kept, p, "worst-case")
            copied = near_copies(data, stable)
            copied = copied[times[0, copied] < (np.inf if strict is None else strict)]
            if copied.size:
                stable = stable[~np.isin(stable, copied)]
                warnings.append(self._left_out(data, copied, strict))
        if self.bound in _ASSUMING and (copied := near_copies(data, stable)).size:
            warnings.append(
                f"{_copies(data, copied)}, for which bound={self.bound} does not hold (1.6 to 2.7 "
                "false selections instead of 1); keep one of each, or use bound=worst-case"
            )
        return Selection(selected=stable, scores=scores, tables=tables, warnings=warnings)

    def _left_out(self, data: Dataset, copied: NDArray[np.intp], strict: int | None) -> str:
        """The reason why copied columns are not kept that would be if they were not copied."""
        enough = (
            "no share of the halves is enough"
            if strict is None
            else f"a share of {strict / (2 * self.pairs):.3g} of the halves must select them"
        )
        return (
            f"{_copies(data, copied)}; not kept, because for these only bound=worst-case holds, by "
            f"which {enough}: keep one of each, group them (--feature-groups), or use "
            "bound=permutation"
        )

    def _needed(self, times: NDArray[np.int64], kept: float, sides: int) -> int | None:
        """The number of halves that must select a feature; None if no number is enough."""
        halves = 2 * self.pairs
        if self.threshold is not None:
            # A share such as 0.57 of 100 is compared up to rounding.
            return int(np.ceil(self.threshold * halves * (1 - 1e-12)))
        if not self.may_permute:
            p = times.shape[1]
            return least_count(self.false_selections, self.pairs, kept, p, self.bound, sides)
        reached = np.cumsum(np.bincount(times.ravel(), minlength=halves + 1)[::-1])[::-1]
        enough = reached[1:] <= self.false_selections * len(times) * (1 + 1e-12)
        return 1 + int(np.argmax(enough)) if enough.any() else None

    def _chance(
        self, data: Dataset, needed: int, kept: float, p: int, sides: int, false: float
    ) -> Iterator[str]:
        """Warnings if normal scores of irrelevant features would exceed the bound."""
        more = normal_false(needed, self.pairs, kept, p)
        if more > false:
            yield (
                f"{_more(more, false, needed / (2 * self.pairs), self.bound)} and the scores of "
                "the base are nearly normal: the base keeps too small a share of the features on a "
                "half for this assumption; use bound=unimodal or permutation"
            )
        elif sides == 1 and (more := normal_false(needed, self.pairs, kept, p, sides)) > false:
            classes = np.bincount(data.y)
            yield (
                f"{_more(more, false, needed / (2 * self.pairs), self.bound)} and its base takes "
                "the largest of signed scores, as the Relief family does: a class has "
                f"{classes.min()} of {classes.sum()} rows, and their scores depend on few of them; "
                "use bound=unimodal or permutation"
            )

    def _nothing(self, kept: float, p: int, sides: int) -> str:
        """The reason why nothing is kept, with advice."""
        if self.may_permute:
            return (
                f"nothing is kept: more than {self.false_selections:g} features per labelling are "
                "selected on all halves, the true label's among them; let the base keep fewer "
                "(`top`), or raise permutations or false_selections"
            )
        return (
            f"nothing is kept: with {kept:.4g} of {p} features on a half, no threshold bounds "
            f"the expected false selections by {self.false_selections:g}; "
            f"{self._advised(self.false_selections, p, sides)}"
        )

    def _advised(self, most_false: float, p: int, sides: int) -> str:
        """Advice on how to bound the false selections by `most_false`."""
        if self.may_permute:
            return "raise the threshold, or leave it out"
        possible = bisect.bisect_left(
            range(1, p + 1),
            1,
            key=lambda q: least_count(most_false, self.pairs, q, p, self.bound, sides) is None,
        )
        if not possible:
            return "raise false_selections or pairs"
        return f"let the base keep at most {possible} (`top`), or raise false_selections"


_ASSUMING = ("unimodal", "r-concave")
_COPY = 0.95
_UNEVEN = 0.2
"""Share of the rows of a class below which a sum over rows is mostly one over that class."""


def _uneven(data: Dataset) -> bool:
    """Whether a class has so few rows that signed scores choose by one tail of the normal law.

    With even classes, scores of Relief are no sums over rows: it keeps 0.35 false features of a
    300 × 20 table instead of the 1.6 computed for signed ones.
    """
    if data.task != "classification":
        return False
    classes = np.bincount(data.y)
    return bool(classes.min() < _UNEVEN * classes.sum())


def _copies(data: Dataset, copied: NDArray[np.intp]) -> str:
    names = [data.feature_names[column] for column in copied.tolist()]
    return f"{some_of(names, 3)}: nearly copies of other columns (correlation {_COPY:g} or more)"


def _more(more: float, false: float, share: float, bound: str) -> str:
    return (
        f"{more:.2g} false selections, not {false:.2g}, can be expected at the share of "
        f"{share:.3g} that bound={bound} requires, if no feature is relevant"
    )


def near_copies(data: Dataset, kept: NDArray[np.intp]) -> NDArray[np.intp]:
    """Kept numeric columns whose correlation with another column is at least 0.95.

    Parameters
    ----------
    kept : (m,) int
        Columns of `data`; a missing value counts as the mean of its column.

    Notes
    -----
    O(nmp), in blocks of columns.
    """
    kept = kept[~data.categorical[kept]]
    if not kept.size:
        return kept
    # Column by column, so that a table of bytes is not widened.
    columns = [np.asarray(data.columns(k, k + 1), dtype=np.float64) for k in kept.tolist()]
    mine = unit_columns(np.concatenate(columns, axis=1))
    copied = np.zeros(kept.size, dtype=bool)
    for start, stop in data.column_blocks():
        others = unit_columns(np.asarray(data.columns(start, stop), dtype=np.float64))
        # One thread: the bits of a product depend on how its sums are divided among threads.
        with threadpool_limits(1):
            alike = np.abs(mine.T @ others) >= _COPY
        alike[:, data.categorical[start:stop]] = False
        alike &= np.arange(start, stop) != kept[:, None]
        copied |= alike.any(axis=1)
    return kept[copied]


_WIDE = 200


def _too_wide(base: Base, p: int) -> bool:
    """Whether so many features are scored one by one that the published bound of `ipss` fails."""
    return p > _WIDE and not base.competing


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
        Exponent of 2π − 1 in the weight of a share π of the halves.
    cutoff : float > 0
        Thresholds descend until the bound on the integral of a path exceeds this.
    delta : float
        Weight of thresholds, λ^(−δ); 1: equal ratios weigh equally.
    bound : {"auto", "published", "permutation"}
        Source of the bound on false features.
    permutations : int ≥ 1, optional
        Number of permuted labellings, for bound="permutation"; by default 19, or 2/`level` − 1.

    Notes
    -----
    At each threshold λ of the score, a feature's stability path is the share π(λ) of the 2B halves
    that score it at λ or more. The score of this stage is the integral of (2π − 1)^power over the
    thresholds at which π exceeds ½; features with an integral of τ or more contain at most
    bound/τ false ones in expectation. A q-value is the smallest such bound divided by the number
    of features kept. The base must give scores that mean the same on every half; `lasso` gives the
    penalty at which a feature enters, so that the path is the path of the penalty, `importance` the
    importance in a forest. Features that score below the last threshold on every half are never
    selected. With "permutation", E(FP) of a feature is the number of features that reach its
    integral, on average over the labellings, with common thresholds; `false_selections` is then a
    bound, without the published assumption, if the label depends on no feature, and q-values are
    those of Benjamini and Hochberg for p-values in the pool of all labellings. "auto" is our
    departure: "permutation" where the published assumption is known to fail, with more than 200
    columns that do not compete in one model, or with boosted trees on columns of few values, if the
    roles of the table allow permuted labels; "published" otherwise, but of a base that fits all
    features at once, near-copies of other columns are not kept, since it cannot tell which of them
    is needed. Cost: 2B fits on half of the rows for each labelling, 32·B·p bytes for their scores,
    and 1600·p for the paths.

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

    bound: str = param(
        "auto",
        choice("auto", "published", PERMUTATION),
        help="published: if false features are selected evenly and nearly independently; "
        "permutation: what permuted labels select; auto: permutation where published is known to "
        "fail, and no near-copies from a base that fits all features at once.",
    )

    _steps: ClassVar[int] = 100

    @property
    def most_false(self) -> float:
        """`level`, or `false_selections`."""
        return self.level if self.false_selections is None else self.false_selections

    @property
    def may_permute(self) -> bool:
        return self.bound != "published"

    def permutes(self, base: Base, data: Dataset, p: int) -> bool:
        if self.bound != "auto" or any(strata_problems(data, self.bound)):
            return self.bound == PERMUTATION
        few_values = any(base.told(lambda method: method.halves_forewarning(data)))
        return _too_wide(base, p) or few_values

    def base_fits(self, p: int, base: Base | None = None) -> int | None:
        """Two for each pair and labelling, on columns of many values."""
        wide = self.bound == "auto" and base is not None and _too_wide(base, p)
        return 2 * self.pairs * self.labellings(wide or self.bound == PERMUTATION)

    def said_of_base(self, base: Base, data: Dataset, n_tests: int | None) -> Iterator[str]:
        """The inherited warnings, and those if the published bound fails with this base."""
        yield from super().said_of_base(base, data, n_tests)
        p = data.n_features if n_tests is None else n_tests
        if self.bound == PERMUTATION:
            return
        advice = f"use bound={PERMUTATION}"
        if self.permutes(base, data, p):
            fits = 2 * self.pairs * self.labellings(True)
            advice = f"so the bound is one by permuted labels, in {fits} fits"
        elif any(strata_problems(data, self.bound)):
            advice = "these covariates, groups or time allow no permuted labels: omit some of them"
        if _too_wide(base, p):
            yield (
                f"{self.method_name()}: the published bound does not hold for many features ({p}; "
                "of tables with 1,000, none of them relevant, it kept some in four to nine out of "
                f"ten, instead of in one): {advice}"
            )
        for text in base.told(lambda method: method.halves_forewarning(data)):
            yield f"{text}: {advice}"

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        p = data.n_features
        permuting = self.permutes(base, data, p)
        labellings = self.labellings(permuting)
        halves = 2 * self.pairs * labellings
        run.must_hold(
            8 * p * (2 * halves + 2 * self._steps),
            f"ipss: scores of {halves} halves and their paths",
        )
        scores, recurring = np.empty((halves, p)), Recurring()
        selections = self.on_halves(base, data, upstream, run, labellings, recurring, "scores")
        for row, selection in enumerate(selections):
            scores[row] = selection.scores
        warnings = list(recurring.lines(halves, "halves"))
        if np.isnan(scores).all():
            raise RequestError("ipss: its base gives no scores; put a selector with scores before")
        every, bound, thresholds, paths = integrate_paths(
            scores.reshape(labellings, -1, p),
            power=self.power,
            cutoff=self.cutoff,
            steps=self._steps,
            delta=self.delta,
        )
        integrals = every[0]
        if permuting:
            expected = np.where(integrals > 0, pooled_expected(every), float(p))
            q_values = rates_of(expected)
        else:
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
        if self.bound != PERMUTATION and base.joint and (copied := near_copies(data, kept)).size:
            unclear = "because a base that fits all features at once cannot tell which is needed"
            if self.bound == "auto" and self.top is None:
                kept = kept[~np.isin(kept, copied)]
                unclear = f"not kept, {unclear}"
            else:
                unclear = f"about half of those kept are not needed, {unclear}"
            warnings.append(
                f"{_copies(data, copied)}: {unclear}; keep one of each, or group them "
                "(--feature-groups)"
            )
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
