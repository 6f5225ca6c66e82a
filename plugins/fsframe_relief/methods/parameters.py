"""The parameters that all methods of the family share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.params import choice, either, integer, listing, optional, param, real, text
from fsframe.contracts.permutation_test import PermutationTest
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe.contracts.selector import Selector
from fsframe.resampling.resamples import too_many
from fsframe_relief.engine.neighbours import Rule

__all__ = ["ReliefParameters"]


@attrs.frozen(kw_only=True)
class ReliefParameters(Selector):
    """What is to be scored, and by which neighbours; `ReliefSelector` does it."""

    takes_missing: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
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
        "auto: those the data mark as nominal or, if none is marked so or as ordinal, those with "
        "at most 10 distinct values, which is then said.",
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

    def permutation_test(self) -> PermutationTest | None:
        if not self.permutations:
            return None
        # Without a level adjusted p-values are reported, for a reader who looks for 5 %.
        level = 0.05 if self.level is None else self.level
        return PermutationTest(
            permutations=self.permutations, level=level, correction=self.correction
        )

    def check_parameters(self) -> Iterator[str]:
        if self.ramp is not None and (len(self.ramp) != 2 or not self.ramp[0] < self.ramp[1]):
            yield f"ramp must be [equal,different] with equal < different, not {list(self.ramp)}"
        yield from too_many(self.permutations, f"permutations={self.permutations}")
        if self.permutations and self.missing == "probability":
            yield "permutations need missing=skip: P(value | class) changes with the labels"
        if self.level is not None and not self.permutations:
            yield "level needs permutations, such as permutations=999"
        elif self.level is not None and 1 / (self.permutations + 1) > self.level:
            yield (
                f"level={self.level:g} cannot be reached with permutations={self.permutations}; "
                f"at least {int(np.ceil(1 / self.level)) - 1} are needed"
            )

    def finish(self, problem: Any, scores: NDArray[np.float64], run: Run) -> Selection:
        """The Selection of some scores."""
        raise NotImplementedError
