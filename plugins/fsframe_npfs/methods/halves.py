"""What stages have in common that run a selector on complementary halves of the table."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.method.statement import NEEDED, RELEVANT, Statement
from fsframe.params import integer, param
from fsframe.resampling.resamples import Recurring, too_many
from fsframe.resampling.wrapping import Base
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.labellings import DRAWS, ResamplingSelector, class_codes
from fsframe_npfs.engine.resample_counts import complementary_halves


@attrs.frozen(kw_only=True)
class HalvesSelector(ResamplingSelector):
    """Base of methods that run a selector on complementary pairs of halves of the table."""

    pairs: int = param(
        50,
        integer(1),
        help="Number of complementary pairs of halves.",
        symbol="B",
        source="Shah 2013, §2",
    )

    def check_parameters(self) -> Iterator[str]:
        """Refuse more fits than can be counted."""
        yield from too_many(2 * self.pairs, f"pairs={self.pairs}")

    def statement(self, base: Selector | None = None) -> Statement:
        """That of the base: what it keeps on most halves."""
        return NEEDED if base is not None and base.joint else RELEVANT

    def base_fits(self, p: int) -> int | None:
        """Two for each pair."""
        return 2 * self.pairs

    def on_halves(
        self,
        base: Base,
        data: Dataset,
        upstream: Selection | None,
        run: Run,
        recurring: Recurring,
        *parts: str,
    ) -> Iterator[Selection]:
        """The selection of `base` on every half; `recurring` counts its warnings."""
        counts = complementary_halves(data, class_codes(data), run, DRAWS, self.pairs)
        for selection in self.results(base, data, counts, upstream, run, *parts):
            recurring.add(selection.warnings)
            yield selection
