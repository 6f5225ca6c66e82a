"""How work is cut: towards half a second, shared out evenly, and never a result's business."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsframe.executors.batches import Batches


def sizes(seconds_each: float, total: int, workers: int = 1) -> list[int]:
    batches, found, left = Batches({}, "x"), [], total
    while left:
        size = batches.size(left, workers)
        batches.saw(size, size * seconds_each)
        found.append(size)
        left -= size
    return found


@given(st.floats(1e-6, 10), st.integers(1, 500), st.integers(1, 8))
def test_batches_cover_everything_exactly(seconds, total, workers):
    found = sizes(seconds, total, workers)
    assert sum(found) == total
    assert min(found) >= 1


def test_tasks_take_at_least_a_fifth_of_a_second_once_the_pace_is_known():
    for workers in (2, 4, 16):
        found = sizes(0.01, 2000, workers)
        assert found[:3] == [1, 4, 16]
        assert min(found[3:-1]) >= 20
        assert max(found) <= 50


def test_slow_resamples_go_one_by_one():
    assert set(sizes(3.0, 20, 2)) == {1}


def test_the_pace_is_kept_for_the_next_call_of_a_run():
    pace: dict[str, float] = {}
    Batches(pace, "mim").saw(10, 0.1)
    assert Batches(pace, "mim").size(1000) == 50
    assert Batches(pace, "other").size(1000) == 1
