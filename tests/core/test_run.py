"""Random streams: a part's stream is its own, whoever runs it, in whatever batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsframe.errors import RequestError
from fsframe.method.run import Progress, Run, make_run
from fsframe.resampling.resamples import Recurring

keys = st.lists(st.integers(0, 50), max_size=4).map(tuple)


@given(st.integers(0, 2**70), keys, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_how_work_is_cut_into_batches_changes_no_stream(
    entropy: int, key: tuple[int, ...], first: int, more: int, part: int
) -> None:
    run = Run(entropy=entropy, key=key)
    direct = run.child(first + more + part)
    assert run.batch(first + more).child(part) == direct
    assert run.batch(first).batch(more).child(part) == direct
    assert run.batch(first).generator(more + part).random() == direct.generator().random()


@given(keys, keys)
def test_different_keys_give_different_streams(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    draws = [Run(entropy=1, key=key).generator().integers(2**62) for key in (a, b)]
    assert (draws[0] == draws[1]) == (a == b)


def test_streams_are_those_of_numpys_seed_sequence() -> None:
    sequence = np.random.SeedSequence(12, spawn_key=(3, 1))
    expected = np.random.Generator(np.random.PCG64(sequence)).random(4)
    assert Run(entropy=12).child(3).generator(1).random(4).tolist() == expected.tolist()


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_a_seed_that_is_no_whole_number_from_zero_is_refused(seed: object) -> None:
    with pytest.raises(RequestError, match="the seed must be a whole number ≥ 0"):
        make_run(None, seed)  # type: ignore[arg-type]


def test_numpy_integers_are_seeds_and_a_given_run_is_kept() -> None:
    assert make_run(None, np.int64(5)).entropy == 5
    run = Run(entropy=3)
    assert make_run(run, 99) is run
    # A stage stands before the part of a batch.
    assert Run(key=(7,)).batch(40).stage(2).child(5).key == (7, 2, 45)


def test_progress_says_where_it_is_and_quiet_work_says_nothing() -> None:
    heard: list[Progress] = []
    run = Run(listener=heard.append).child(2)
    run.progress(1, 4, "npfs")
    run.quiet().progress(2, 4, "npfs")
    assert heard == [Progress(label="npfs", done=1, total=4, key=(2,))]


# Warnings of many resamples are told once each


@pytest.mark.parametrize(
    ("resamples", "told"),
    [
        ([["a", "a", "b"], ["a"]], ["in 2 of 9 folds: a", "in 1 of 9 folds: b"]),
        # Those that differ in numbers only are one; equal ones are not introduced by an example.
        (
            [["step 1.5e-07 of 50"], ["step 3 of 50"], ["step 1.5e-07 of 50"], ["stop at 7"]],
            ["in 3 of 9 folds, such as: step 1.5e-07 of 50", "in 1 of 9 folds: stop at 7"],
        ),
    ],
)
def test_a_warning_of_many_resamples_counts_once_in_each(resamples, told) -> None:
    notes = Recurring()
    for warnings in resamples:
        notes.add(warnings)
    assert list(notes.lines(9, "folds")) == told
