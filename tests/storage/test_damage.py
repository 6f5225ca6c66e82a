"""Killed writers, full disks, cut and flipped files: the old file stays, damage is always told."""

from __future__ import annotations

import errno
import itertools
import os
import signal
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import fsframe.storage.write as writing
from fsframe import atomic
from fsframe.atomic import place_file
from fsframe.errors import StoreError
from fsframe.storage import RunRecord, load_run, spec, write_run
from fsframe.storage.spec import check_seal
from fsframe.storage.write import first_difference
from tests.command_line import python
from tests.storage.run_files import ROOT, build_record, needs_statm


def siblings(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".partial"))


def test_a_file_cut_short_anywhere_or_grown_is_reported(run_file):
    whole = run_file.read_bytes()
    lengths = {*range(0, 1100, 7), *range(1100, len(whole), 97), len(whole) - 1}
    for length in lengths:
        run_file.write_bytes(whole[:length])
        with pytest.raises(StoreError, match=r"cut short|not a run file|is empty|was changed"):
            load_run(run_file)
    run_file.write_bytes(whole + b"\0")
    with pytest.raises(StoreError, match="too long"):
        load_run(run_file)


def test_one_flipped_bit_at_any_byte_is_reported(run_file):
    whole = bytearray(run_file.read_bytes())
    bits = np.random.default_rng(3).integers(8, size=len(whole))
    for place in range(len(whole)):
        whole[place] ^= 1 << int(bits[place])
        with pytest.raises(StoreError):
            check_seal(bytes(whole), "run.h5")
        whole[place] ^= 1 << int(bits[place])
    check_seal(bytes(whole), "run.h5")
    for place in range(5, len(whole), len(whole) // 50):
        run_file.write_bytes(whole[:place] + bytes([whole[place] ^ 64]) + whole[place + 1 :])
        with pytest.raises(StoreError):
            load_run(run_file)


def killed(number: int, target: Path, record: RunRecord, overwrite: bool) -> bool:
    """Whether a fork that writes a record is killed before its call of that number."""
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        assert status in (0, signal.SIGKILL), status
        return status == signal.SIGKILL
    calls = itertools.count()

    def deadly(owner: Any, name: str) -> None:
        call = getattr(owner, name)

        def called(*given: Any, **options: Any) -> Any:
            if next(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            if name == "write":
                # In a few parts, so that other calls come amid what is to be written.
                return call(given[0], given[1][:10_000])
            return call(*given, **options)

        setattr(owner, name, called)

    for name in ("write", "fsync", "link", "replace", "unlink"):
        deadly(os, name)
    deadly(writing, "load_run")
    write_run(target, record, overwrite=overwrite)
    os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each writer is a fork")
@pytest.mark.parametrize("old", [True, False], ids=["replacing", "new"])
def test_a_writer_killed_before_any_call_leaves_the_old_file_or_the_new_one(tmp_path, old):
    before, after = build_record(command="the old one"), build_record(command="the new one")
    there_before = write_run(tmp_path / "before.h5", before).read_bytes()
    found: list[str] = []
    for number in itertools.count():
        folder = tmp_path / f"{number}"
        folder.mkdir()
        target = folder / "run.h5"
        if old:
            target.write_bytes(there_before)
        if not killed(number, target, after, old):
            break
        there = load_run(target) if target.exists() else None
        found.append(there.command if there else "")
        if there:
            expected = {record.command: record for record in (before, after)}[there.command]
            assert first_difference(there, expected) == ""
        assert len(siblings(folder)) <= 1
        if old:  # What is left of the killed one is in nobody's way.
            write_run(target, before, overwrite=True)
            assert load_run(target).command == "the old one"
    # The old file, or none, until the new one is there to stay.
    moved = found.index("the new one")
    assert {*found[:moved]} == {before.command if old else ""}
    assert {*found[moved:]} == {after.command}
    # Writing in parts, making sure, reading back, moving; then removing and making sure again.
    assert moved >= 6 and len(found) >= moved + 1


def test_an_existing_file_is_not_replaced_without_being_told(run_file, record):
    bytes_before = run_file.read_bytes()
    other = attrs.evolve(record, command="other")
    with pytest.raises(StoreError, match="left unchanged"):
        write_run(run_file, other)
    assert run_file.read_bytes() == bytes_before
    write_run(run_file, other, overwrite=True)
    assert load_run(run_file).command == "other"
    assert siblings(run_file.parent) == []


def test_a_file_that_appears_while_writing_is_left_alone(tmp_path, record, monkeypatch):
    target = tmp_path / "run.h5"
    write = atomic._write_synced

    def write_while_another_does(path, content):
        write(path, content)
        target.write_text("somebody else's")

    monkeypatch.setattr(atomic, "_write_synced", write_while_another_does)
    with pytest.raises(StoreError, match="already exists"):
        write_run(target, record)
    assert target.read_text() == "somebody else's"
    assert siblings(tmp_path) == []


def test_file_systems_without_hard_links_are_served_too(tmp_path, record, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    target = write_run(tmp_path / "run.h5", record)
    assert first_difference(record, load_run(target)) == ""
    with pytest.raises(StoreError, match="already exists"):
        write_run(target, record)
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def full(write, calls):
    """Writes a little, and then no more."""
    if len(calls) > 1:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return write(*calls[0][:1], calls[0][1][:1000])


def lying(write, calls):
    """Writes something else."""
    changed = bytearray(calls[-1][1])
    changed[-100] ^= 1
    return write(calls[-1][0], changed)


@pytest.mark.parametrize(
    ("disk", "told"), [(full, "cannot write"), (lying, "was not written: read back")]
)
def test_a_disk_that_is_full_or_lies_is_found_out_before_the_old_file_goes(
    run_file, record, monkeypatch, disk, told
):
    before, calls, write = run_file.read_bytes(), [], os.write
    monkeypatch.setattr(os, "write", lambda *given: calls.append(given) or disk(write, calls))
    with pytest.raises(StoreError, match=told):
        write_run(run_file, record, overwrite=True)
    monkeypatch.undo()
    assert run_file.read_bytes() == before
    assert siblings(run_file.parent) == []


def test_a_record_read_back_with_a_difference_is_not_kept(tmp_path, record, monkeypatch):
    other = attrs.evolve(record, selected=[2])
    monkeypatch.setattr(writing, "load_run", lambda path: other)
    with pytest.raises(StoreError, match="read back, it differs in /result"):
        write_run(tmp_path / "run.h5", record)
    assert list(tmp_path.iterdir()) == []


def test_folders_in_the_way_or_missing_are_reported(tmp_path, record):
    with pytest.raises(StoreError, match="there is no folder"):
        write_run(tmp_path / "no" / "run.h5", record)
    (tmp_path / "run.h5").mkdir()
    with pytest.raises(StoreError, match="it is a folder"):
        write_run(tmp_path / "run.h5", record, overwrite=True)


def test_a_symbolic_link_stays_and_the_file_behind_it_is_replaced(tmp_path, run_file, record):
    link = tmp_path / "latest.h5"
    link.symlink_to(run_file)
    with pytest.raises(StoreError, match="left unchanged"):
        write_run(link, record)
    write_run(link, attrs.evolve(record, command="new"), overwrite=True)
    assert link.is_symlink()
    assert load_run(run_file).command == "new"


def test_permissions_follow_the_umask(tmp_path):
    mask = os.umask(0o027)
    try:
        path = place_file(tmp_path / "x", b"content")
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.read_bytes() == b"content"


def test_what_is_no_run_file_is_reported(tmp_path, run_file):
    def told(path: Path) -> str:
        with pytest.raises(StoreError) as caught:
            load_run(path)
        return str(caught.value)

    assert "Did you mean `run.h5`" in told(tmp_path / "runn.h5")
    assert "there is no folder" in told(tmp_path / "no" / "run.h5")
    assert "is a folder" in told(tmp_path)
    text = tmp_path / "t.csv"
    text.write_text("a,b\n1,2\n")
    assert "not a run file" in told(text)
    text.write_bytes(run_file.read_bytes()[512:])
    assert "HDF5 file, but not a run file" in told(text)
    text.write_bytes(b"")
    assert "is empty" in told(text)
    now = spec.ENCODING_VERSION
    first, later = f"fsframe-run {now}\n".encode(), f"fsframe-run {now + 1}\n".encode()
    text.write_bytes(run_file.read_bytes().replace(first, later, 1))
    assert f"version {now + 1}; this fsframe reads versions up to {now}" in told(text)
    os.mkfifo(tmp_path / "pipe")
    assert "not a file" in told(tmp_path / "pipe")


SMALL_SPACE = """
import resource, sys
from tests.storage.run_files import build_record
from fsframe.storage import load_run, write_run
with open("/proc/self/statm") as statm:
    taken = int(statm.read().split()[0]) * resource.getpagesize()
most = taken + (256 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
print(load_run(write_run(sys.argv[1], build_record())).chain)
"""


@needs_statm
def test_files_are_written_and_read_in_a_small_address_space(tmp_path, record):
    """Beyond what the libraries have taken, 256 MiB: a buffer is made for what the file has."""
    done = python("-c", SMALL_SPACE, tmp_path / "run.h5", cwd=ROOT)
    assert done.out.strip() == record.chain
