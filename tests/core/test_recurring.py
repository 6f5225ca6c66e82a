"""Warnings of many resamples are told once each."""

from __future__ import annotations

from fsframe.resampling.resamples import Recurring


def test_a_warning_counts_once_a_resample_however_often_it_comes_there() -> None:
    notes = Recurring()
    notes.add(["a", "a", "b"])
    notes.add(["a"])
    assert list(notes.lines(2, "folds")) == ["in 2 of 2 folds: a", "in 1 of 2 folds: b"]


def test_warnings_that_differ_in_numbers_only_are_one_and_equal_ones_are_not_called_first() -> None:
    notes = Recurring()
    for text in ("step 1.5e-07 of 50", "step 3 of 50", "step 1.5e-07 of 50"):
        notes.add([text])
    notes.add(["stop at 7"])
    notes.add(["stop at 7"])
    assert list(notes.lines(9, "resamples")) == [
        "in 3 of 9 resamples, the first: step 1.5e-07 of 50",
        "in 2 of 9 resamples: stop at 7",
    ]
