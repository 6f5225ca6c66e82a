"""The selector gap: a case worked by hand, and every law of fsframe."""

from __future__ import annotations

import numpy as np
from fsframe import Dataset, selectors
from fsframe.testing import SelectorConformance

from fsframe_gap.conformance import EXCEPTIONS
from fsframe_gap.gap import Gap


def test_scores_are_those_worked_by_hand() -> None:
    # Means 1 and 4 in the first column, whose values 0, 2, 3, 5 have variance 13/4; none apart in
    # the second.
    data = Dataset.from_arrays([[0, 1], [2, 2], [3, 1], [5, 2]], ["a", "a", "b", "b"])
    found = Gap(top=1).select(data)
    assert np.allclose(found.scores, [3 / np.sqrt(13 / 4), 0.0])
    assert found.selected.tolist() == [0]


def test_s0_is_added_to_the_deviation() -> None:
    data = Dataset.from_arrays([[0.0], [2], [3], [5]], ["a", "a", "b", "b"])
    assert np.allclose(Gap(s0=0.5).select(data).scores, 3 / (np.sqrt(13 / 4) + 0.5))


def test_it_is_found_by_name() -> None:
    assert selectors["gap"] is Gap


class TestGap(SelectorConformance):
    name = "gap"
    gives = frozenset({"scores"})
    exceptions = EXCEPTIONS.get("gap", {})

    @staticmethod
    def make() -> Gap:
        return Gap()
