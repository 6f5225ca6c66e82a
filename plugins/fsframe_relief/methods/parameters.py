"""The parameters that all methods of the family share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.permutation_test import PermutationTest
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.params import choice, either, integer, listing, optional, param, real, text
from fsframe.resampling.resamples import too_many
from fsframe_relief.engine.neighbours import Rule

__all__ = ["ReliefParameters", "decay_parameter", "ties_parameter"]


def decay_parameter() -> Any:
    """The parameter of methods that can weight neighbours by rank."""
    return param(
        20.0,
        real(above=0),
        help="Decay of the weight with the neighbour's rank.",
        symbol="σ",
        source="Robnik-Šikonja & Kononenko 2003, eq. 12",
    )


def ties_parameter() -> Any:
    """The parameter of methods with k neighbours per class."""
    return param(
        "share",
        choice("share", "index"),
        help="Instances tied at the k-th distance share the remaining places, or are taken in "
        "row order.",
    )


@attrs.frozen(kw_only=True)
class ReliefParameters(Selector):
    """Parameters of scoring and of neighbourhoods, used by `ReliefSelector`."""

    takes_missing: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    table_copies: ClassVar[float] = 1.0
    reads_bytes: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})

    threshold: float = param(
        0.0,
        real(),
        help="Without top: keep features with a score above this, at least the best one.",
        symbol="τ",
        source="Kira & Rendell 1992",
    )
    discrete_features: str | tuple[int | str, ...] = param(
        "auto",
        either(choice("auto", "all", "none"), listing(either(integer(0), text("a feature name")))),
        help="Features compared as equal or different: all, none, or a list of names or "
        "numbers from 0. auto: those the data mark as nominal; if none is marked nominal "
        "or ordinal, those with at most 10 distinct values (a warning says which).",
    )
    task: str = param(
        "data",
        choice("data", "classification", "regression"),
        help="Whether the label is classes or a number; data: as the table declares.",
    )
    m: int | None = param(
        None,
        optional(integer(1)),
        help="Number of target instances, drawn without replacement; by default all.",
        symbol="m",
        source="Kira & Rendell 1992",
    )
    missing: str = param(
        "skip",
        choice("skip", "probability"),
        help="Missing values: left out of distances and scores, or counted as different with "
        "probability 1 - P(value | class).",
        source="Kononenko 1994",
    )
    ramp: tuple[float, ...] | None = param(
        None,
        optional(listing(real(0, 1), 2)),
        help="[equal,different]: differences up to the first fraction of the range count as 0, "
        "from the second on as 1, linear in between; by default |difference| / range.",
        source="Hong 1997; Robnik-Šikonja & Kononenko 2003, eq. 15",
    )
    permutations: int = param(
        0,
        integer(0),
        help="Number of label permutations for a p-value per feature; 0: no p-values.",
    )
    level: float | None = param(
        None,
        optional(real(above=0, most=1)),
        help="Keep features with adjusted p at or below this (needs permutations).",
    )
    correction: str = param(
        "benjamini-hochberg",
        choice("benjamini-hochberg", "none"),
        help="Correction of the p-values for the number of features.",
    )

    def tables_held(self, n_features: int) -> float:
        """One scaled copy, bytes to screen by, and blocks of distances; gaps under the probability
        rule take values, levels and states."""
        if not self.table_copies:
            return 0.0  # of a few columns at a time
        if self.missing == "probability":
            return 3.0
        return 1.75

    def rule(self) -> Rule:
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

    def _without_p_values(self, repeated: str) -> Iterator[str]:
        """Problems of a method whose p-values would take too long: what would be repeated."""
        if self.permutations:
            yield (
                "permutations are not supported here: every permuted label would need all "
                f"{repeated} again"
            )
        if self.correction != "benjamini-hochberg":
            yield "correction is for p-values, which this method does not give"

    def finish(self, problem: Any, scores: NDArray[np.float64], run: Run) -> Selection:
        """The Selection of some scores."""
        raise NotImplementedError
