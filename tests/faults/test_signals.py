"""Signals to whole commands; `signals.py` says what is sent and what is counted.

The usual suite sends few. The long form, an hour on a quiet machine:

    pytest -m slow tests/faults/test_signals.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="it looks into /proc")

BAD = ("lost", "unequal", "failed", "left", "hangs", "untrue", "tracebacks")


def counted(*arguments: str) -> dict:
    """What was counted; printed, so that `pytest -s` and a failure show it."""
    command = [sys.executable, str(Path(__file__).with_name("signals.py")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20_000)
    assert done.returncode == 0, done.stderr[-2000:]
    counts: dict = json.loads(done.stdout)
    print(json.dumps(counts))
    return counts


@pytest.mark.parametrize(
    "arguments",
    [
        ("--trials", "4", "--command", "chain", "--command", "evaluate"),
        pytest.param(("--trials", "600", "--seed", "1"), marks=pytest.mark.slow),
        pytest.param(("--trials", "400", "--workers", "2", "--seed", "2"), marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_signals_lose_nothing_and_leave_nothing(arguments):
    counts = counted(*arguments)
    assert not any(counts[name] for name in BAD), counts
    # The signals did come, and after something.
    assert counts["stopped"] >= counts["trials"] // 5
    assert counts["kept"] or counts["trials"] < 20


@pytest.mark.slow
def test_the_harness_sees_what_is_lost():
    """The counts can be other than zero: a checkpoint that forgets is found out."""
    code = """
import sys; sys.path.insert(0, {folder!r}); sys.argv = ["signals.py", "--trials", "6", "--command",
    "chain", "--seed", "5"]
import signals
from fsframe.storage.checkpoint import Checkpoint
Checkpoint._adopt = lambda self, manifest, mixed: manifest.keep(self.folder)
signals.main()
"""
    folder = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", code.format(folder=folder)],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout)
    assert counts["lost"] or counts["failed"], counts
