"""Runs that are killed or signalled, and disks that fail under them: nothing finished is lost.

`disk.py` and `signals.py` say what is tried and what is counted. The usual suite stops some fifty
runs and tries a few dozen calls. The long form, two hours on a quiet machine:

    pytest -m slow tests/faults
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from fsframe import atomic
from fsframe.atomic import place_file
from fsframe.errors import StoreError
from tests.command_line import python

HERE = Path(__file__).parent
proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="it looks into /proc")
compiles = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not (shutil.which("cc") or shutil.which("gcc")),
    reason="the disk that fails is compiled, and loaded before the C library",
)
BAD = {
    "disk.py": ("lost", "codes", "tracebacks", "hurt", "half", "litter", "untrue", "failed",
                "unequal", "hangs"),
    "signals.py": ("lost", "unequal", "failed", "left", "hangs", "untrue", "tracebacks"),
}  # fmt: skip


def told(*words: object) -> list[dict]:
    """What a program printed, line by line; printed, so that `pytest -s` and a failure show it."""
    done = python(*words, timeout=20_000)
    print(done.out)
    return [json.loads(line) for line in done.out.splitlines()]


def counted(script: str, line: str = "", *more: str) -> list[dict]:
    """What a harness counted, in which nothing is bad."""
    result = told(HERE / script, *line.split(), *more)
    for counts in result:
        assert not any(counts[name] for name in BAD[script]), counts
    return result


def assert_held(found: list[dict], least: int) -> None:
    # The errors did come, and stopped something.
    assert sum(counts["fired"] for counts in found) >= least
    assert sum(counts["ended_5"] for counts in found) >= least // 3
    # Kills came after something that was safe, and before the result.
    assert sum(counts["acknowledged"] for counts in found) > sum(c["fired"] for c in found)
    assert sum(counts["killed"] for counts in found) >= least // 3


@compiles
def test_kills_and_a_disk_that_fails_cost_no_more_than_the_command(disk_told) -> None:
    result = disk_told[:-2]
    assert [counts["command"] for counts in result] == SOME_COMMANDS
    for counts in result:
        assert not any(counts[name] for name in BAD["disk.py"]), counts
    forms = [form for name in SOME_COMMANDS for form in SOME_FORMS[name]]
    assert len({*forms}) == len(forms) == result[0]["forms"]
    assert_held(result, len(forms))


@compiles
@pytest.mark.slow
def test_kills_and_twelve_forms_of_error_at_every_call_of_every_command() -> None:
    result = counted("disk.py")
    assert len(result) >= 20
    assert {counts["forms"] for counts in result} == {13}
    assert_held(result, 2000)


@proc
@pytest.mark.parametrize(
    "line",
    [
        "--trials 3 --command chain --command evaluate",
        pytest.param("--trials 600 --seed 1", marks=pytest.mark.slow),
        pytest.param("--trials 400 --workers 2 --seed 2", marks=pytest.mark.slow),
    ],
)
def test_signals_lose_nothing_and_leave_nothing(line: str) -> None:
    (counts,) = counted("signals.py", line)
    # The signals did come, and after something.
    assert counts["stopped"] >= counts["trials"] // 5
    assert counts["kept"] or counts["trials"] < 20


# In the usual suite each form meets one of three commands; `table` is for a program that writes its
# file in its place, `resume` for one that forgets what it has acknowledged.
SOME_FORMS = {
    "chain of units": ["killed", "ENOSPC", "EIO once", "EIO at fsync", "EROFS",
                       "short writes, no error", "folder gone"],
    "apply, over the old": ["EDQUOT, all but a byte written", "EIO at close",
                            "EIO at rename or link"],
    "new-plugin": ["ENOSPC, half written", "EFBIG", "EACCES"],
    "table": ["ENOSPC, half written"],
    "resume": ["killed"],
}  # fmt: skip
*SOME_COMMANDS, _, _ = SOME_FORMS

# Faults for each program, tried behind what is sound, so that all is imported and made ready once:
# files that are written where they shall be, units that are acknowledged and not written, a
# checkpoint that forgets.
FORGETFUL = {
    "disk.py": """
import fsframe.atomic as atomic
place_file = atomic.place_file
def hasty(path, content, **options):
    if not str(path).endswith("out/table.csv"):
        return place_file(path, content, **options)
    path.write_bytes(content)
    return path
atomic.place_file = hasty
import tests.faults.disk as disk
from fsframe.storage.checkpoint import Checkpoint
flush, forgets = Checkpoint.flush, []
Checkpoint.flush = lambda self: self._waiting.clear() if forgets else flush(self)
trials = disk.trials
def each_with_its_own(base, library, command, *given):
    *_, counts = given
    one_of = {"chain of units": (19, 3), "table": (1, 0), "resume": (4, 2)}
    step, offset = one_of.get(command, (61, 3))
    if command == "resume":
        forgets.append(command)
    return trials(base, library, command, some_forms[command], step, offset, counts)
disk.trials = each_with_its_own
disk.main()
""",
    "signals.py": """
import signals
from fsframe.storage.checkpoint import Checkpoint
Checkpoint._adopt = lambda self, manifest, mixed: manifest.keep(self.folder)
signals.main()
""",
}


def told_with_a_fault(folder: Path, script: str, *words: str) -> list[dict]:
    """What a harness tells whose last trials, or all of them, are of a faulty program."""
    program = folder / script
    paths = [str(HERE), str(HERE.parents[1])]
    start = f"import json, sys\nsys.path[:0] = {paths!r}\nsys.argv[0] = {script!r}\n"
    if script == "disk.py":
        # It starts itself again, by its own name, with its library.
        start = start.replace(f"sys.argv[0] = {script!r}\n", "")
    program.write_text(f"{start}some_forms = {SOME_FORMS!r}\n{FORGETFUL[script]}")
    return told(program, *words)


@pytest.fixture(scope="module")
def disk_told(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """Counts of `SOME_COMMANDS`; at last of faulty programs."""
    words = [word for name in SOME_FORMS for word in ("--command", name)]
    return told_with_a_fault(tmp_path_factory.mktemp("disk"), "disk.py", *words)


@compiles
def test_the_faulty_disk_counts_what_is_half_and_what_is_lost(disk_told) -> None:
    hasty, forgetful = disk_told[-2:]
    assert hasty["command"] == "table" and hasty["half"], hasty
    assert forgetful["command"] == "resume" and forgetful["lost"], forgetful


@proc
@pytest.mark.slow
def test_the_signals_count_what_is_lost_or_failed(tmp_path: Path) -> None:
    words = ["--trials", "6", "--command", "chain", "--seed", "5"]
    (counts,) = told_with_a_fault(tmp_path, "signals.py", *words)
    assert counts["lost"] or counts["failed"], counts


def test_a_claimed_name_is_given_back_where_the_file_cannot_be_moved(tmp_path, monkeypatch):
    """Without hard links the name is claimed first; the empty claim must not stay."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(atomic.os, "link", refuse)
    monkeypatch.setattr(atomic.os, "replace", refuse)
    with pytest.raises(StoreError, match="Input/output error"):
        place_file(tmp_path / "table.csv", b"content")
    assert list(tmp_path.iterdir()) == []
