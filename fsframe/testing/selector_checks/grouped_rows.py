"""Grouped rows: a method that resamples keeps groups whole, or refuses the table."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.wrapping_stages import Base
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import SideColumns
from fsframe.testing.conformance import assert_refused, check, not_applicable
from fsframe.testing.selector_checks.base import SelectorChecks, assert_sound

__all__ = ["GroupChecks", "Probe"]


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
