"""Base of stages that run a selector on complementary halves of the table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import attrs
import numpy as np

from fsframe.errors import DataError
from fsframe.method.ranking import NEEDED, RELEVANT, Statement
from fsframe.method.run import Progress, Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.params import integer, optional, param
from fsframe.resampling.resamples import Base, Recurring, too_many
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.labellings import (
    DRAWS,
    PERMUTATION,
    Relabelled,
    ResamplingSelector,
    class_codes,
    permuted,
)
from fsframe_npfs.engine.nulls import said_of_drift
from fsframe_npfs.engine.resample_counts import check_halves, complementary_halves

_FEWEST = 19


@attrs.frozen(kw_only=True)
class HalvesSelector(ResamplingSelector):
    """Base of methods that run a selector on complementary pairs of halves of the table.

    Derived classes have a property `most_false` and a parameter `bound`, whose value "permutation"
    repeats everything with permuted labels; another value may do so too (`permutes`).
    """

    if TYPE_CHECKING:
        bound: str

    pairs: int = param(
        50,
        integer(1),
        help="Number of complementary pairs of halves.",
        symbol="B",
        source="Shah 2013, §2",
    )
    permutations: int | None = param(
        None,
        optional(integer(1)),
        help="For a bound by permuted labels: their number; by default 19, or as many as the bound "
        "needs.",
        symbol="P",
    )

    @property
    def may_permute(self) -> bool:
        """Whether the bound comes from permuted labels, on some tables at least."""
        return self.bound == PERMUTATION

    def permutes(self, base: Base, data: Dataset, p: int) -> bool:
        """Whether it does with this base on p columns of `data`."""
        return self.bound == PERMUTATION

    @property
    def most_false(self) -> float:
        """The required bound on the expected number, or share, of false features."""
        raise NotImplementedError

    def labellings(self, permuting: bool) -> int:
        """Number of labellings: the true one, and the permuted ones."""
        if not permuting:
            return 1
        made = self.permutations
        return 1 + (max(_FEWEST, math.ceil(2 / self.most_false) - 1) if made is None else made)

    def check_parameters(self) -> Iterator[str]:
        """Refuse more fits than can be counted, and permutations that decide nothing."""
        said, labellings = f"pairs={self.pairs}", self.labellings(self.may_permute)
        if self.may_permute:
            said += f" with {labellings - 1:.6g} permutations"
        yield from too_many(2 * self.pairs * labellings, said)
        if self.permutations is None:
            return
        if not self.may_permute:
            yield "permutations is for bound=permutation"
        elif self.most_false * labellings < 1 - 1e-9:
            yield (
                f"with permutations={self.permutations} nothing could be kept at "
                f"{self.most_false:g}; at least {math.ceil(1 / self.most_false - 1e-9) - 1} are "
                "needed"
            )

    def said_of_base(self, base: Base, data: Dataset, n_tests: int | None) -> Iterator[str]:
        """The inherited warnings, and one about a label that drifts in time."""
        yield from super().said_of_base(base, data, n_tests)
        p = data.n_features if n_tests is None else n_tests
        if self.permutes(base, data, p) and (drift := said_of_drift(data)):
            yield f"{self.method_name()}: {drift}"

    def role_problems(self, data: Dataset) -> Iterator[str]:
        problems = [*super().role_problems(data)]
        yield from problems
        try:
            check_halves(data.n_samples, class_codes(data), data.counts, data.together)
        except DataError as error:
            # A class that lies within one group has been reported already.
            if not problems:
                yield f"{self.method_name()}: {error}"
        if self.bound != PERMUTATION or data.covariates is None:
            return
        for column, role in ((data.groups, "groups"), (data.times, "a time")):
            if column is not None:
                yield (
                    f"{self.method_name()}: bound=permutation permutes labels within the strata of "
                    f"{', '.join(data.covariates.names)} or respects {role}, not both: omit one of "
                    "them"
                )

    def statement(self, base: Selector | None = None) -> Statement:
        """The base's statement, as its choice on most halves is kept.

        The comparison with permuted labels, which depend on no feature, shows relevance only.
        """
        joint = base is not None and base.joint and self.bound != PERMUTATION
        return NEEDED if joint else RELEVANT

    def base_fits(self, p: int, base: Base | None = None) -> int | None:
        """Two for each pair and labelling."""
        return 2 * self.pairs * self.labellings(self.bound == PERMUTATION)

    def on_halves(
        self,
        base: Base,
        data: Dataset,
        upstream: Selection | None,
        run: Run,
        labellings: int,
        recurring: Recurring,
        *parts: str,
    ) -> Iterator[Selection]:
        """Yield the selection of `base` on every half, labelling by labelling, true label first.

        `recurring` counts the warnings of `base`.
        """
        halves = 2 * self.pairs
        total = halves * labellings
        for labelling in range(labellings):
            first, each = labelling * halves, base
            table = permuted(data, run, labelling)
            counts = complementary_halves(
                table, class_codes(table), run, DRAWS, self.pairs, labelling
            )
            if labelling:
                owners = np.full(halves, labelling)
                each = cast(Base, Relabelled.of(base, run, owners, first, PERMUTATION))

            def relay(progress: Progress, first: int = first) -> None:
                run.progress(first + progress.done, total, progress.label)

            heard = run if labellings == 1 else attrs.evolve(run, listener=relay)
            for selection in self.results(each, data, counts, upstream, heard, *parts, first=first):
                recurring.add(selection.warnings)
                yield selection
