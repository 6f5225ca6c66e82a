"""What must not matter, and groups of rows that stay whole."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.stage_view import Base
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import SideColumns
from fsframe.testing import tables
from fsframe.testing.conformance import assert_refused, check, not_applicable
from fsframe.testing.selector_checks.results import (
    SelectorChecks,
    assert_sound,
    resamples,
    some_upstream,
)
from fsframe.testing.tables import assert_close, assert_equal, frozen_bytes


class Probe(Base):
    """A base that checks that no resample splits a group; its scores are random."""

    def __init__(self) -> None:
        self.seen: list[NDArray[Any]] = []

    def __str__(self) -> str:
        return "probe"

    def select(
        self, data: Dataset, upstream: Selection | None = None, run: Run | None = None
    ) -> Selection:
        counts = np.ones(data.n_samples, np.int64) if data.counts is None else data.counts
        self._check(data, counts)
        self.seen.append(np.where(counts > 0, data.y, -1))
        scores = (Run() if run is None else run).generator().random(data.n_features)
        return Selection(selected=np.argsort(-scores)[:2], scores=scores)

    def _check(self, data: Dataset, counts: NDArray[np.int64]) -> None:
        assert data.groups is not None, "a resample has lost its groups"
        for group in np.unique(data.groups):
            rows = data.groups == group
            assert np.unique(counts[rows]).size == 1, "a resample splits a group"
            assert np.unique(data.y[rows]).size == 1, "labels are permuted within a group"


class TimeProbe(Probe):
    """A base that checks that no resample splits a block of time."""

    def _check(self, data: Dataset, counts: NDArray[np.int64]) -> None:
        assert data.together is not None, "a resample has lost its times"
        for block in np.unique(data.together):
            drawn = counts[data.together == block]
            assert np.unique(drawn).size == 1, "a resample splits a block of time"


class GroupChecks(SelectorChecks):
    """Groups of rows, and blocks of time."""

    def _grouped(self) -> Dataset:
        """The table of most checks, with its rows in groups of two or three of equal label."""
        data = self.table()
        place = np.empty(data.n_samples, dtype=np.int64)
        place[np.argsort(data.y, kind="stable")] = np.arange(data.n_samples)
        _, groups = np.unique(place // 3 * data.n_samples + data.y, return_inverse=True)
        y = data.y
        if data.task != "classification":
            groups, y = place // 3, np.sort(data.y)[place // 3 * 3]
        return attrs.evolve(data, y=y, groups=groups.astype(np.int64), group_name="person")

    @check
    def test_groups_are_accepted_or_refused_as_declared(self) -> None:
        data, method = self._grouped(), self.make()
        if method.ignores_groups():
            assert_refused(lambda: method.select(data), "groups")
            return
        assert_sound(self._quietly(lambda: method.select(data)), data)

    @check
    def test_resamples_keep_blocks_of_time_whole(self) -> None:
        plain = self.table()
        self._probe(plain.with_roles(time=plain.feature_names[-1]), "time", TimeProbe())

    def _probe(self, data: Dataset, what: str, *probes: Probe) -> None:
        """Assert that a table with times is refused, or each resample passes the probes."""
        method = self.make()
        if list(method.role_problems(data)):
            assert_refused(lambda: method.select(data), what)
            return
        if not method.wrapping or getattr(method, "reads_own_base", False):
            assert_sound(self._quietly(lambda: method.select(data)), data)
            return
        wrapping = attrs.evolve(method, base=None)  # type: ignore[call-arg]
        for probe in probes:
            wrapping.select_wrapped(probe, data, None, Run())  # type: ignore[attr-defined]
            assert len(probe.seen) > 1, "the base was given no resample"

    @check
    def test_resamples_keep_consecutive_groups_whole_in_time(self) -> None:
        grouped, method = self._grouped(), self.make()
        day = np.random.default_rng(11).permutation(grouped.n_groups)[grouped.groups]
        hours = np.linspace(0, 0.9, grouped.n_samples)
        times = SideColumns.of({"day": day + hours}, [False], "column")
        data = attrs.evolve(grouped, times=times)
        self._probe(data, "day", Probe(), TimeProbe())
        overlapping = attrs.evolve(data, times=attrs.evolve(times, values=times.values % 1.0))
        if list(method.role_problems(overlapping)):
            assert_refused(lambda: method.select(overlapping), "overlap in time")

    @check
    def test_resamples_keep_groups_whole(self) -> None:
        data, method = self._grouped(), self.make()
        if not method.wrapping or getattr(method, "reads_own_base", False):
            raise not_applicable("it does not resample a base")
        if method.ignores_groups():
            raise not_applicable("it refuses a table with groups")
        probe, wrapping = Probe(), attrs.evolve(method, base=None)  # type: ignore[call-arg]
        found = wrapping.select_wrapped(probe, data, None, Run())  # type: ignore[attr-defined]
        assert_sound(found, data)
        assert len(probe.seen) > 1, "the base was given no resample"
        assert len({seen.tobytes() for seen in probe.seen}) > 1, "all resamples are the same"


class InvarianceChecks(SelectorChecks):
    """What must not matter: order, names, scale, constant and duplicated columns, equal counts."""

    @check
    def test_inputs_are_not_modified(self) -> None:
        data = self.table()
        X, y = data.X.copy(), data.y.copy()
        mine = Dataset.from_arrays(X, y, task=data.task)
        counts = resamples(mine, 2)
        resample, upstream = mine.with_counts(counts[0]), some_upstream(mine)
        before = frozen_bytes(X, y, counts, upstream, resample.counts)
        self.make().select(mine)
        self.make().select(mine, upstream)
        self.make().select(resample)
        self.make().select_many(mine, counts)
        assert frozen_bytes(X, y, counts, upstream, resample.counts) == before

    @check
    def test_order_of_columns_does_not_matter(self) -> None:
        data = self.table()
        order = np.random.Generator(np.random.PCG64(1)).permutation(data.n_features)
        found = self.make().select(data.take_columns(order))
        # Column p of the shuffled table is column order[p] of the first.
        back = Selection(selected=order[found.selected], scores=found.scores[np.argsort(order)])
        assert_close(back, self.make().select(data), "with shuffled columns", self.rtol)

    @check
    def test_order_of_rows_does_not_matter(self) -> None:
        data = self.table()
        order = np.random.Generator(np.random.PCG64(2)).permutation(data.n_samples)
        found = self.make().select(data.take_rows(order))
        assert_close(found, self.make().select(data), "with shuffled rows", self.rtol)

    @check
    def test_names_do_not_matter(self) -> None:
        data = self.table()
        named = data.task == "classification"
        labels = np.array([f"c{code}" for code in data.y]) if named else data.y
        renamed = Dataset.from_arrays(
            data.X, labels, [f"größe {i}" for i in range(data.n_features)], task=data.task
        )
        found, expected = self.make().select(renamed), self.make().select(data)
        assert_equal(found, expected, "with other names", besides=("warnings",))

    @check
    def test_order_of_classes_does_not_matter(self) -> None:
        data = self._of_classes()
        turned = data.with_labels(data.n_classes - 1 - data.y)
        found = self.make().select(turned)
        assert_close(found, self.make().select(data), "with classes in reverse", self.rtol)
        # The reverse of three classes is their order to whatever takes codes for numbers.
        data = tables.classes(45, n_classes=3)
        found = self.make().select(data.with_labels((data.y + 1) % 3))
        assert_close(found, self.make().select(data), "with three classes turned", self.rtol)

    @check
    def test_scale_changes_nothing(self) -> None:
        data = self.table()
        powers = 2.0 ** np.array([3, -5, 0, 7, -2, 11])
        scaled = Dataset.from_arrays(data.X * powers[: data.n_features], data.y, task=data.task)
        found = self.make().select(scaled)
        assert_close(found, self.make().select(data), "with other units", self.rtol)

    @check
    def test_a_constant_column_comes_last(self) -> None:
        data = self.table()
        X = np.insert(data.X, 2, 4.2, axis=1)
        table = Dataset.from_arrays(X, data.y, task=data.task)
        found = self.make().select(table)
        assert_sound(found, table)
        assert 2 not in found.selected[:2], "a constant column was kept before informative ones"
        if "kept_columns_come_best_first" in self.exceptions:
            return  # Scores of different columns are not comparable.
        score, others = found.scores[2], np.delete(found.scores, 2)
        # Noise may score below zero, and a constant column zero.
        least = max(0.0, float(np.nanmin(others)))
        assert np.isnan(score) or score <= least + 1e-12, (
            f"the constant column scores {score:.3g}, others from {least:.3g}"
        )

    @check
    def test_a_duplicated_column_scores_as_its_original(self) -> None:
        data = self.table()
        X = np.insert(data.X, 4, data.X[:, 1], axis=1)
        found = self.make().select(Dataset.from_arrays(X, data.y, task=data.task))
        first, second = found.scores[1], found.scores[4]
        close = abs(first - second) <= self.rtol * max(abs(first), abs(second))
        assert close or (np.isnan(first) and np.isnan(second)), (
            f"equal columns score {first:.6g} and {second:.6g}"
        )

    # Bootstraps as counts

    @check
    def test_counts_of_one_change_nothing(self) -> None:
        data = self.table()
        ones = data.with_counts(np.ones(data.n_samples, dtype=np.int64))
        assert_close(self.make().select(ones), self.make().select(data), "with counts of 1", 1e-12)

    @check
    def test_rows_with_count_zero_are_left_out(self) -> None:
        data = self.table()
        counts = (np.arange(data.n_samples) % 7 > 1).astype(np.int64)
        without = data.take_rows(np.flatnonzero(counts))
        found = self.make().select(data.with_counts(counts))
        assert_close(found, self.make().select(without), "with rows left out", 1e-9)

    @check
    def test_counts_equal_copies(self) -> None:
        data = self.table()
        counts = resamples(data, 1)[0]
        copied = data.take_rows(np.repeat(np.arange(data.n_samples), counts))
        found = self.make().select(data.with_counts(counts))
        assert_close(found, self.make().select(copied), "with rows copied", self.rtol)

    @check
    def test_equal_counts_change_nothing(self) -> None:
        data = self.table()
        if not self.make().takes_counts:
            raise not_applicable("counts are not taken; rows are copied")
        threes = data.with_counts(np.full(data.n_samples, 3))
        found = self.make().select(threes)
        assert_close(found, self.make().select(data), "with every count 3", self.rtol)
