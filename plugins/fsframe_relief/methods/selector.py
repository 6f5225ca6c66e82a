"""What all methods of the family share: parameters, scoring, and the result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import choice, either, integer, listing, optional, param, real, text
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection, rank_by_score
from fsframe.contracts.selector import Selector
from fsframe_relief.engine.neighbours import Rule
from fsframe_relief.engine.permutations import adjusted, permutation_p_values
from fsframe_relief.engine.sums import feature_scores
from fsframe_relief.methods.problem import Problem, make_problem

__all__ = ["ReliefSelector"]


@attrs.frozen(kw_only=True)
class ReliefSelector(Selector):
    """Base of the family; a method gives its neighbourhood as `rule`.

    Notes
    -----
    diff(a, i, j) is 0 or 1 for a discrete feature and |x - x'| / range for a continuous one;
    distance is its sum over the features, the mean over shared features times their number where
    values are missing. The score is W_a = sum_i omega_i (mean miss diff - mean hit diff), with
    misses of class c weighted by P(c) / (1 - P(class of i)), and N_CA / N_C - (N_A - N_CA) / (m -
    N_C) for a numeric target. Rows are put in an order that depends on their content only, so
    shuffled rows give the same bits.
    """

    takes_missing: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    table_copies: ClassVar[float] = 1.0
    uses_upstream_weights: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})

    threshold: float = param(
        0.0,
        real(),
        help="Without top, columns with a score above this are kept, the best one at least.",
        symbol="τ",
        source="Kira & Rendell 1992",
    )
    discrete_features: str | tuple[int | str, ...] = param(
        "auto",
        either(choice("auto", "all", "none"), listing(either(integer(0), text("a feature name")))),
        help="Columns with diff 0 or 1: all, none, or a list of names or numbers from 0. "
        "auto: those the data mark as categorical or, if none is marked, those with at most "
        "10 distinct values, "
        "which is then said.",
    )
    task: str = param(
        "data",
        choice("data", "classification", "regression"),
        help="Whether the label names classes or is a number; data: as the data say.",
    )
    m: int | None = param(
        None,
        optional(integer(1)),
        help="Number of target instances drawn without replacement; by default all.",
        symbol="m",
        source="Kira & Rendell 1992",
    )
    missing: str = param(
        "skip",
        choice("skip", "probability"),
        help="Missing values are left out of distance and score, or differ with probability "
        "1 - P(value | class).",
        source="Kononenko 1994",
    )
    ramp: tuple[float, ...] | None = param(
        None,
        optional(listing(real(0, 1), 2)),
        help="[equal,different]: fractions of the range up to which values count as equal and from "
        "which as different, linear between; by default |difference| / range.",
        source="Hong 1997; Robnik-Šikonja & Kononenko 2003, eq. 15",
    )
    permutations: int = param(
        0,
        integer(0),
        help="Label permutations for p-values per feature; 0 computes none.",
    )
    level: float | None = param(
        None,
        optional(real(above=0, most=1)),
        help="Keep the features whose adjusted p-value is at most this (needs permutations).",
    )
    correction: str = param(
        "benjamini-hochberg",
        choice("benjamini-hochberg", "none"),
        help="Adjustment of the p-values for many features.",
    )

    def rule(self, regression: bool) -> Rule:
        """Neighbours and their weights."""
        raise NotImplementedError

    def check_parameters(self) -> Iterator[str]:
        if self.ramp is not None and (len(self.ramp) != 2 or not self.ramp[0] < self.ramp[1]):
            yield f"ramp must be [equal,different] with equal < different, not {list(self.ramp)}"
        if self.permutations and self.missing == "probability":
            yield "permutations need missing=skip: P(value | class) changes with the labels"
        if self.level is not None and not self.permutations:
            yield "level needs permutations, such as permutations=999"
        elif self.level is not None and 1 / (self.permutations + 1) > self.level:
            yield (
                f"level={self.level:g} cannot be reached with permutations={self.permutations}; "
                f"at least {int(np.ceil(1 / self.level)) - 1} are needed"
            )

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        problem = make_problem(self, data, upstream, run)
        scores = self.score(problem, run)
        return self.finish(problem, scores, run)

    def _select_many(
        self, data: Dataset, counts: NDArray[np.int64], upstream: Selection | None, run: Run
    ) -> list[Selection]:
        from fsframe_relief.methods.bootstraps import select_each

        return select_each(self, data, counts, upstream, run)

    def score(self, problem: Problem, run: Run) -> NDArray[np.float64]:
        """The score of every feature."""
        return feature_scores(
            problem.columns,
            self.rule(not problem.target.signed),
            problem.target,
            rows=problem.drawn,
            memory=run.memory,
            route=run.route,
            threads=problem.threads,
        )

    def finish(self, problem: Problem, scores: NDArray[np.float64], run: Run) -> Selection:
        """The Selection of some scores: what is kept, p-values if asked for, warnings."""
        notes = [*problem.notes, *_neighbour_notes(problem, self.rule(not problem.target.signed))]
        tables: dict[str, NDArray[Any]] = {}
        if self.permutations:
            p_values = permutation_p_values(
                problem.columns,
                self.rule(not problem.target.signed),
                problem.target,
                self.permutations,
                run.generator(1),
                rows=problem.drawn,
                memory=run.memory,
                threads=problem.threads,
                progress=run.progress,
            )
            tables["p_values"] = p_values
            tables["p_adjusted"] = adjusted(p_values, self.correction)
        if self.level is not None and self.top is None:
            ranked = rank_by_score(scores)
            kept = ranked[tables["p_adjusted"][ranked] <= self.level]
            if not kept.size:
                notes.append(f"no feature has an adjusted p-value of at most {self.level:g}")
        else:
            above = int((scores > self.threshold).sum())
            kept = rank_by_score(scores, self.keep_count(len(scores), max(1, above)))
            if not above and self.top is None:
                notes.append(
                    f"no score is above {self.threshold:g}; the best column was kept all the same"
                )
        return Selection(
            selected=kept,
            scores=scores,
            weights=np.maximum(np.nan_to_num(scores), 0.0),
            tables=tables,
            warnings=tuple(notes),
        )


def _neighbour_notes(problem: Problem, rule: Rule) -> Iterator[str]:
    """What to say of classes too small to have the neighbours asked for."""
    target = problem.target
    sizes = np.bincount(target.y, weights=target.counts, minlength=len(target.prior))
    targets = slice(None) if problem.drawn is None else problem.drawn
    apart = ", copies of the instance itself left out" if (target.counts > 1).any() else ""
    # A row's own copies are no neighbours of it.
    others = (sizes[target.y] - target.counts)[targets]
    alone = np.unique(target.y[targets][others <= 0])
    if target.signed and alone.size:
        yield f"{alone.size} classes have one member, which has no hit"
    k = getattr(rule, "k", None)
    if k is None:
        return
    least = min(others.min(), sizes.min()) if target.signed else others.min()
    if k > least:
        yield (
            f"k={k} is more than the {int(least)} other members of a class{apart}; there, all of "
            "them were used"
            if target.signed
            else f"k={k} is more than the {int(least)} other instances{apart}; all of them were "
            "used"
        )
