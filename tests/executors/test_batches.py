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
        assert found[:2] == [1, 16]
        assert min(found[2:-1]) >= 20
        assert max(found) <= 50


def test_slow_resamples_go_one_by_one():
    found = sizes(3.0, 20, 2)
    # One pair is tried: only a second size tells the cost of a call from that of a resample.
    assert max(found) <= 2 and list(found).count(2) <= 1


def test_a_call_that_is_dear_whatever_it_holds_gets_many_resamples():
    batches, calls, left = Batches({}, "x"), 0, 500
    while left:
        size = batches.size(left)
        batches.saw(size, 3.0 + 0.01 * size)
        calls, left = calls + 1, left - size
    assert calls <= 20


def test_the_pace_is_kept_for_the_next_call_of_a_run():
    pace: dict[str, float] = {}
    Batches(pace, "mim").saw(10, 0.1)
    assert Batches(pace, "mim").size(1000) == 50
    assert Batches(pace, "other").size(1000) == 1
