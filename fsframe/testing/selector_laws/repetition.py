"""Reproducibility: equal bits for any seed, threads, memory and batch of resamples."""

from __future__ import annotations

import numpy as np

from fsframe.contracts.run import Run
from fsframe.errors import FsframeError
from fsframe.testing import tables
from fsframe.testing.comparisons import assert_close, assert_equal
from fsframe.testing.conformance import law
from fsframe.testing.selector_laws.base import SelectorLaws, resamples, some_upstream

__all__ = ["RepetitionLaws"]

_FOR_ONE = ("model", "tables", "warnings")


class RepetitionLaws(SelectorLaws):
    """Reproducibility: equal bits for any seed, threads, memory and batch of resamples."""

    @law
    def test_equal_seeds_give_equal_bits(self) -> None:
        data = self.table()
        first = self.make().select(data, seed=7)
        np.random.default_rng().random()  # Global state must neither matter nor change.
        before = repr(np.random.get_state())
        assert_equal(self.make().select(data, seed=7), first, "the second run with one seed")
        after = repr(np.random.get_state())
        assert before == after, "numpy's global random state was used; use run.generator()"

    @law
    def test_number_of_threads_changes_no_bit(self) -> None:
        method = self.make()
        data = tables.suited(method.tasks, 150, 12)
        one = method.select(data, run=Run(entropy=1, threads=1))
        assert_equal(method.select(data, run=Run(entropy=1, threads=2)), one, "with two threads")

    @law
    def test_threads_of_linear_algebra_change_no_bit(self) -> None:
        from threadpoolctl import threadpool_limits

        method = self.make()
        # Large enough for a library to divide its products among threads.
        data = tables.suited(method.tasks, 60, 130)
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads, user_api="blas"):
                found.append(method.select(data, run=Run(entropy=1)))
        assert_equal(found[1], found[0], "with two threads in the library of linear algebra")

    @law
    def test_a_small_memory_limit_changes_nothing(self) -> None:
        method = self.make()
        data = tables.suited(method.tasks, 150, 12)
        wide = method.select(data, run=Run(entropy=1))
        try:
            tight = method.select(data, run=Run(entropy=1, memory=1 << 18))
        except FsframeError as error:
            # A method that cannot work in blocks may refuse, and must name the limit.
            assert "memory" in str(error), f"refused with 256 KB: {error}"
            return
        assert_close(tight, wide, "with 256 KB for temporaries", self.rtol)

    @law
    def test_many_resamples_equal_one_by_one(self) -> None:
        method, data, run = self.make(), self.table(), Run(entropy=5, key=(2,))
        counts = resamples(data, 4)
        many = method.select_many(data, counts, run=run)
        assert len(many) == len(counts)
        for b, (row, found) in enumerate(zip(counts, many, strict=True)):
            alone = method.select(data.with_counts(row), run=run.child(b))
            # Tables are for single results and may be left out here.
            assert_equal(found, alone, f"resample {b} among many", besides=_FOR_ONE)
        tail = method.select_many(data, counts[1:], run=run.batch(1))
        assert_equal(tail[0], many[1], "resample 1 in another batch")
        assert_equal(tail[-1], many[-1], "the last resample in another batch")

    @law
    def test_many_resamples_after_a_stage_equal_one_by_one(self) -> None:
        method, data, run = self.make(), self.table(), Run(entropy=5)
        counts, upstream = resamples(data, 2), some_upstream(data)
        many = method.select_many(data, counts, upstream, run)
        for b, (row, found) in enumerate(zip(counts, many, strict=True)):
            alone = method.select(data.with_counts(row), upstream, run.child(b))
            assert_equal(found, alone, f"resample {b} among many", besides=_FOR_ONE)
