"""Runs that are killed or signalled, and disks that fail under them: nothing finished is lost.

`harness.py`, `disk.py` and `signals.py` say what is tried and what is counted. The usual suite
stops some fifty runs and tries a few dozen calls. The long form, two hours on a quiet machine:

    pytest -m slow tests/faults
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fsframe import atomic
from fsframe.atomic import place_file
from fsframe.errors import StoreError

HERE = Path(__file__).parent
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="each trial is a fork")
proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="it looks into /proc")
compiles = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not (shutil.which("cc") or shutil.which("gcc")),
    reason="the disk that fails is compiled, and loaded before the C library",
)
BAD = {
    "harness.py": ("lost", "unequal", "crashes", "litter", "unclear"),
    "disk.py": ("codes", "tracebacks", "hurt", "half", "litter", "untrue", "failed", "unequal",
                "hangs"),
    "signals.py": ("lost", "unequal", "failed", "left", "hangs", "untrue", "tracebacks"),
}  # fmt: skip


def told(*words: object) -> list[dict]:
    """What a program printed, line by line; printed, so that `pytest -s` and a failure show it."""
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20_000)
    assert done.returncode == 0, done.stderr[-2000:]
    print(done.stdout)
    return [json.loads(line) for line in done.stdout.splitlines()]


def counted(script: str, line: str = "", *more: str) -> list[dict]:
    """What a harness counted, in which nothing is bad."""
    found = told(HERE / script, *line.split(), *more)
    for counts in found:
        assert not any(counts[name] for name in BAD[script]), counts
    return found


def assert_nothing_lost(least_trials: dict[str, int]) -> None:
    """Of several lines of words for the harness, each with the least that it has to try."""
    found = counted("harness.py", " then ".join(least_trials))
    for counts, least in zip(found, least_trials.values(), strict=True):
        assert counts["trials"] >= least
        # The faults did come: a harness that stops nothing, or after nothing, proves nothing.
        assert counts["stopped"] >= counts["trials"] // 5
        assert counts["acknowledged"] > counts["trials"]


@forks
def test_runs_killed_or_without_room_continue_to_the_same_bits() -> None:
    assert_nothing_lost(
        {
            "kill-points --step 11": 15,
            "errors --error ENOSPC --step 17 --short": 10,
            "errors --error EIO --once --step 17 --offset 1": 10,
        }
    )


@forks
@pytest.mark.slow
def test_a_kill_before_every_call_loses_nothing() -> None:
    assert_nothing_lost({"kill-points": 160})


@forks
@pytest.mark.slow
@pytest.mark.parametrize("error", ["ENOSPC", "EIO", "EDQUOT", "EROFS"])
@pytest.mark.parametrize("how", ["", "--once", "--short"])
def test_an_error_at_every_call_loses_nothing(error: str, how: str) -> None:
    assert_nothing_lost({f"errors --error {error} {how}": 160})


def assert_held(found: list[dict], least: int) -> None:
    # The errors did come, and stopped something.
    assert sum(counts["fired"] for counts in found) >= least
    assert sum(counts["ended_5"] for counts in found) >= least // 3


@compiles
def test_a_disk_that_fails_costs_no_more_than_the_command() -> None:
    chosen = ["chain of units", "apply, over the old", "new-plugin"]
    names = [word for name in chosen for word in ("--command", name)]
    assert_held(counted("disk.py", "--step 61 --offset 3", *names), 25)


@compiles
@pytest.mark.slow
def test_twelve_forms_of_error_at_every_call_of_every_command() -> None:
    found = counted("disk.py")
    assert len(found) >= 20
    assert {counts["forms"] for counts in found} == {12}
    assert_held(found, 2000)


@proc
@pytest.mark.parametrize(
    "line",
    [
        "--trials 4 --command chain --command evaluate",
        pytest.param("--trials 600 --seed 1", marks=pytest.mark.slow),
        pytest.param("--trials 400 --workers 2 --seed 2", marks=pytest.mark.slow),
    ],
)
def test_signals_lose_nothing_and_leave_nothing(line: str) -> None:
    (counts,) = counted("signals.py", line)
    # The signals did come, and after something.
    assert counts["stopped"] >= counts["trials"] // 5
    assert counts["kept"] or counts["trials"] < 20


FORGETFUL = {
    "harness.py": """
import harness
from fsframe.storage.checkpoint import Checkpoint
Checkpoint.flush = lambda self: self._waiting.clear()
print(json.dumps(harness.kill_points(step=3, offset=0).numbers))
""",
    "disk.py": """
import fsframe.atomic as atomic
place_file = atomic.place_file
def hasty(path, content, **options):
    if not str(path).endswith("out/table.csv"):
        return place_file(path, content, **options)
    path.write_bytes(content)
    return path
atomic.place_file = hasty
from tests.faults.disk import main
main()
""",
    "signals.py": """
import signals
from fsframe.storage.checkpoint import Checkpoint
Checkpoint._adopt = lambda self, manifest, mixed: manifest.keep(self.folder)
signals.main()
""",
}
"""Faults for each harness: units that are acknowledged before they are written, files that are
written where they shall be, a checkpoint that forgets."""


@pytest.mark.parametrize(
    ("script", "words", "seen"),
    [
        pytest.param("harness.py", [], {"lost"}, marks=forks),
        pytest.param(
            "disk.py", ["--command", "table", "--form", "ENOSPC, half written"], {"half"},
            marks=compiles,
        ),
        pytest.param(
            "signals.py", ["--trials", "6", "--command", "chain", "--seed", "5"],
            {"lost", "failed"}, marks=[proc, pytest.mark.slow],
        ),
    ],
)  # fmt: skip
def test_the_counts_can_be_other_than_nought(
    tmp_path: Path, script: str, words: list[str], seen: set[str]
) -> None:
    program = tmp_path / script
    paths = [str(HERE), str(HERE.parents[1])]
    start = f"import json, sys\nsys.path[:0] = {paths!r}\nsys.argv[0] = {script!r}\n"
    if script == "disk.py":
        # It starts itself again, by its own name, with its library.
        start = start.replace(f"sys.argv[0] = {script!r}\n", "")
    program.write_text(start + FORGETFUL[script])
    (counts,) = told(program, *words)
    assert any(counts[name] for name in seen), counts


def test_a_claimed_name_is_given_back_where_the_file_cannot_be_moved(tmp_path, monkeypatch):
    """Without hard links the name is claimed first; the empty claim must not stay."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(atomic.os, "link", refuse)
    monkeypatch.setattr(atomic.os, "replace", refuse)
    with pytest.raises(StoreError, match="Input/output error"):
        place_file(tmp_path / "table.csv", b"content")
    assert list(tmp_path.iterdir()) == []
