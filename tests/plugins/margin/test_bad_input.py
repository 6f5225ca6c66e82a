"""What cannot be used is refused in one sentence, or met by a stated rule."""

from __future__ import annotations

import numpy as np
import pytest

import fsframe
from fsframe.errors import DataError
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset

SELECTORS = [
    "immigrate", "im4e", "bim", "simba", "gflip", "irelief", "lfe", "logo", "mbiw", "simba-mbiw",
]  # fmt: skip


@pytest.mark.parametrize("name", SELECTORS)
def test_tables_without_a_hit_a_miss_or_a_difference_are_refused(name):
    X = np.random.default_rng(0).standard_normal((6, 3))
    for table, y, told in (
        (X, np.zeros(6, dtype=int), "class"),
        (X, np.arange(6), "member of its class"),
        (np.ones((6, 3)), np.arange(6) % 2, "constant"),
    ):
        with pytest.raises(DataError, match=told):
            fsframe.selectors[name]().select(Dataset.from_arrays(table, y))


@pytest.mark.parametrize("name", SELECTORS)
def test_all_hits_at_distance_zero_give_finite_scores(name):
    X = np.repeat([[0.0, 1.0, 3.0], [5.0, 1.5, 3.5]], 4, axis=0)
    found = fsframe.selectors[name]().select(Dataset.from_arrays(X, np.repeat([0, 1], 4)), seed=0)
    assert np.isfinite(found.scores).all()
    assert found.selected.size


@pytest.mark.parametrize("name", SELECTORS)
def test_labels_that_nothing_separates_give_finite_scores_or_a_warning(name):
    # every row lies on one of the other class and far from its own: (−Σ)⁺ = 0
    X = np.array([[0.0], [10.0], [0.1], [10.1]])
    found = fsframe.selectors[name]().select(Dataset.from_arrays(X, [0, 0, 1, 1]), seed=0)
    assert np.isfinite(found.scores).all()
    assert found.selected.tolist() == [0]


def test_no_gain_in_any_pair_leaves_w_where_it_started_and_says_so():
    X = np.array([[0.0], [10.0], [0.1], [10.1]])
    found = fsframe.selectors["immigrate"]().select(Dataset.from_arrays(X, [0, 0, 1, 1]))
    assert any("(−Σ)⁺ = 0" in note for note in found.warnings)
    np.testing.assert_array_equal(found.weights, [1.0])
    np.testing.assert_array_equal(found.scores, [0.0])  # its margin is negative: it carries none


def test_more_features_than_w_has_room_for_are_refused_with_the_bytes_and_a_way_out():
    X = np.random.default_rng(0).standard_normal((6, 50_001))
    data = Dataset.from_arrays(X, [0, 1] * 3)
    with pytest.raises(DataError, match=r"50001 columns takes 149.0 GiB.*im4e immigrate"):
        fsframe.selectors["immigrate"]().select(data, run=Run(memory=64 << 20))
    assert (
        fsframe.selectors["im4e"](top=5).select(data, run=Run(memory=64 << 20)).selected.size == 5
    )
