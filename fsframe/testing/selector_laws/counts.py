"""Bootstraps as counts, and how many columns are kept."""

from __future__ import annotations

import attrs
import numpy as np

from fsframe.testing.comparisons import assert_close
from fsframe.testing.conformance import law, not_applicable
from fsframe.testing.selector_laws.base import SelectorLaws, resamples

__all__ = ["CountLaws"]


class CountLaws(SelectorLaws):
    """Bootstraps as counts, and how many columns are kept."""

    # Counts

    @law
    def test_counts_of_one_change_nothing(self) -> None:
        data = self.table()
        ones = data.with_counts(np.ones(data.n_samples, dtype=np.int64))
        assert_close(self.make().select(ones), self.make().select(data), "with counts of 1", 1e-12)

    @law
    def test_rows_with_count_zero_are_left_out(self) -> None:
        data = self.table()
        counts = (np.arange(data.n_samples) % 7 > 1).astype(np.int64)
        without = data.take_rows(np.flatnonzero(counts))
        found = self.make().select(data.with_counts(counts))
        assert_close(found, self.make().select(without), "with rows left out", 1e-9)

    @law
    def test_counts_equal_copies(self) -> None:
        data = self.table()
        counts = resamples(data, 1)[0]
        copied = data.take_rows(np.repeat(np.arange(data.n_samples), counts))
        found = self.make().select(data.with_counts(counts))
        assert_close(found, self.make().select(copied), "with rows copied", self.rtol)

    @law
    def test_equal_counts_change_nothing(self) -> None:
        data = self.table()
        if not self.make().takes_counts:
            raise not_applicable("counts are not taken; rows are copied")
        threes = data.with_counts(np.full(data.n_samples, 3))
        found = self.make().select(threes)
        assert_close(found, self.make().select(data), "with every count 3", self.rtol)

    # top

    @law
    def test_top_is_honoured(self) -> None:
        data = self.table()
        p = data.n_features
        for top, kept in ((1, 1), (3, 3), (p, p), (p + 10, p), (0.5, -(-p // 2)), (1.0, p)):
            found = attrs.evolve(self.make(), top=top).select(data)
            assert found.selected.size == kept, f"top={top} of {p} kept {found.selected.size}"

    @law
    def test_a_larger_top_only_adds(self) -> None:
        data = self.table()
        few = attrs.evolve(self.make(), top=2).select(data).selected
        many = attrs.evolve(self.make(), top=4).select(data).selected
        assert many[: few.size].tolist() == few.tolist(), (
            f"top=2 keeps {few.tolist()}, top=4 {many.tolist()}"
        )
