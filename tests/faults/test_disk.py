"""Disks that fail under whole commands; `disk.py` says in which ways, and what is counted.

The usual suite tries a few dozen calls. The long form, an hour on a quiet machine:

    pytest -m slow tests/faults/test_disk.py
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fsframe import atomic
from fsframe.atomic import place_file
from fsframe.errors import StoreError

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not (shutil.which("cc") or shutil.which("gcc")),
    reason="the disk that fails is compiled, and loaded before the C library",
)

DISK = Path(__file__).with_name("disk.py")
BAD = ("codes", "tracebacks", "hurt", "half", "litter", "untrue", "failed", "unequal", "hangs")


def counted(*arguments: str, script: Path = DISK) -> list[dict]:
    """What was counted, by command; printed, so that `pytest -s` and a failure show it."""
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20_000)
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_held(found: list[dict], least: int) -> None:
    for counts in found:
        assert not any(counts[name] for name in BAD), counts
    # The errors did come, and stopped something.
    assert sum(counts["fired"] for counts in found) >= least
    assert sum(counts["ended_5"] for counts in found) >= least // 3


def test_a_disk_that_fails_costs_no_more_than_the_command():
    chosen = ["chain of units", "apply, over the old", "new-plugin"]
    names = [word for name in chosen for word in ("--command", name)]
    assert_held(counted(*names, "--step", "61", "--offset", "3"), 25)


@pytest.mark.slow
def test_twelve_forms_of_error_at_every_call_of_every_command():
    found = counted()
    assert len(found) >= 20
    assert {counts["forms"] for counts in found} == {12}
    assert_held(found, 2000)


HASTY = """
import sys
sys.path.insert(0, {folder!r})
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
"""


def test_the_harness_sees_what_is_half_written(tmp_path):
    """The counts can be other than zero: files written where they shall be are found out."""
    script = tmp_path / "hasty.py"
    script.write_text(HASTY.format(folder=str(Path(__file__).parents[2])))
    [found] = counted("--command", "table", "--form", "ENOSPC, half written", script=script)
    assert found["half"], found


def test_a_claimed_name_is_given_back_where_the_file_cannot_be_moved(tmp_path, monkeypatch):
    """Without hard links the name is claimed first; the empty claim must not stay."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(atomic.os, "link", refuse)
    monkeypatch.setattr(atomic.os, "replace", refuse)
    with pytest.raises(StoreError, match="Input/output error"):
        place_file(tmp_path / "table.csv", b"content")
    assert list(tmp_path.iterdir()) == []
