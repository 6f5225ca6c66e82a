"""Runs that are killed, run out of room or lose their disk; `harness.py` says what is counted.

The usual suite stops some fifty runs. The long form, some ten minutes:

    pytest -m slow tests/faults
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each trial is a fork")


def counted(*arguments: str) -> dict:
    """What the harness counted; printed, so that `pytest -s` and a failure show it."""
    command = [sys.executable, str(Path(__file__).with_name("harness.py")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=7200)
    assert done.returncode == 0, done.stderr[-2000:]
    counts: dict = json.loads(done.stdout)
    print(json.dumps(counts))
    return counts


def assert_nothing_lost(counts: dict, least_trials: int) -> None:
    bad = {name: counts[name] for name in ("lost", "unequal", "crashes", "litter", "unclear")}
    assert not any(bad.values()), counts
    assert counts["trials"] >= least_trials
    # The faults did come: a harness that stops nothing, or after nothing, proves nothing.
    assert counts["stopped"] >= counts["trials"] // 5
    assert counts["acknowledged"] > counts["trials"]


def test_a_run_killed_before_any_change_of_the_disk_continues_to_the_same_bits():
    assert_nothing_lost(counted("kill-points", "--step", "11"), 15)


def test_a_run_killed_at_random_times_again_and_again_continues_to_the_same_bits():
    assert_nothing_lost(counted("kill-times", "--trials", "15"), 15)


def test_a_full_disk_loses_nothing_that_was_acknowledged():
    assert_nothing_lost(counted("errors", "--error", "ENOSPC", "--step", "17", "--short"), 10)


def test_a_disk_with_one_error_loses_nothing_that_was_acknowledged():
    counts = counted("errors", "--error", "EIO", "--once", "--step", "17", "--offset", "1")
    assert_nothing_lost(counts, 10)


@pytest.mark.slow
def test_a_thousand_kills_lose_nothing():
    assert_nothing_lost(counted("kill-points"), 160)
    assert_nothing_lost(counted("kill-times", "--trials", "840", "--seed", "1"), 840)


@pytest.mark.slow
@pytest.mark.parametrize("error", ["ENOSPC", "EIO", "EDQUOT", "EROFS"])
@pytest.mark.parametrize("how", [[], ["--once"], ["--short"]])
def test_an_error_at_every_call_loses_nothing(error: str, how: list[str]):
    assert_nothing_lost(counted("errors", "--error", error, *how), 160)


def test_the_harness_sees_a_loss():
    """The counts can be other than zero: units acknowledged before they are written are lost."""
    code = """
import sys; sys.argv[0] = "harness.py"; sys.path.insert(0, {folder!r})
import harness
from fsframe.storage.checkpoint import Checkpoint
def hasty(self):
    self._waiting.clear()
Checkpoint.flush = hasty
print(harness.kill_points(step=3, offset=0)["lost"])
"""
    folder = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", code.format(folder=folder)],
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 0
