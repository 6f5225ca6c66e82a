"""Unit files, manifests and locks: what is damaged, strange or held is told, never used."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import attrs
import pytest

from fsframe.chains.chain import Chain
from fsframe.errors import StoreError
from fsframe.storage.checkpoint import FolderLock, Holder
from fsframe.storage.unit_files import (
    Manifest,
    Unit,
    read_index,
    read_unit,
    software,
    unit_file,
)

UNITS = [
    (Unit("1.2~0~ab", 0, 4), b"first"),
    (Unit("1.2~0~ab", 4, 5), b""),
    (Unit("1~9~cd", 0, 1), b"x"),
]
CONTENT = unit_file(UNITS)


def test_a_unit_file_gives_back_its_units(tmp_path):
    path = tmp_path / "units-000001"
    path.write_bytes(CONTENT)
    places = read_index(path)
    assert [(unit, read_unit(place)) for unit, place in places.items()] == UNITS


def damaged(content: bytes) -> Iterator[bytes]:
    """The content with each byte changed in turn, and cut short anywhere."""
    for place in range(len(content)):
        yield content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        yield content[:place]


def test_any_damage_of_a_unit_file_is_seen(tmp_path):
    path = tmp_path / "units-000001"
    for content in damaged(CONTENT):
        path.write_bytes(content)
        with pytest.raises(StoreError):
            read_index(path)


def test_a_change_after_the_index_was_read_is_seen(tmp_path):
    path = tmp_path / "units-000001"
    path.write_bytes(CONTENT)
    place = read_index(path)[UNITS[0][0]]
    path.write_bytes(CONTENT.replace(b"first", b"later"))
    with pytest.raises(StoreError, match="has changed"):
        read_unit(place)


@pytest.mark.parametrize(
    "units",
    [
        [(Unit("../../etc", 0, 1), b"x")],
        [(Unit("a/b", 0, 1), b"x")],
        [(Unit("a", 3, 3), b"x")],
        [(Unit("a", 0, 1), b"x"), (Unit("a", 0, 1), b"y")],
    ],
)
def test_units_of_strange_names_are_refused(tmp_path, units):
    path = tmp_path / "units-000001"
    path.write_bytes(unit_file(units))
    with pytest.raises(StoreError):
        read_index(path)


def test_a_pipe_or_a_link_in_place_of_a_unit_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="not a file"):
        read_index(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(CONTENT)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(StoreError, match="cannot be read"):
        read_index(tmp_path / "link")


MANIFEST = Manifest(
    chain="mim npfs", seed=3, sha256="ab" * 32, software={"numpy": "2.1"}, request={"path": "/σ"}
)


def test_a_manifest_comes_back(tmp_path):
    MANIFEST.keep(tmp_path)
    assert Manifest.read(tmp_path / "manifest") == MANIFEST
    assert MANIFEST.differences(Manifest.read(tmp_path / "manifest")) == []


def test_any_damage_of_a_manifest_is_seen(tmp_path):
    path = tmp_path / "manifest"
    MANIFEST.keep(tmp_path)
    for content in damaged(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(StoreError, match="damaged"):
            Manifest.read(path)


@pytest.mark.parametrize("body", ["[]", "{}", "3", '{"chain": 1}', "{" * 5000, "\xff"])
def test_a_manifest_of_another_shape_is_refused(tmp_path, body):
    import hashlib

    digest = hashlib.sha256(body.encode()).hexdigest()
    (tmp_path / "manifest").write_text(f"fsframe-unfinished 1\nsha256 {digest}\n{body}")
    with pytest.raises(StoreError, match="not the manifest"):
        Manifest.read(tmp_path / "manifest")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"chain": "mim npfs:n=7"}, "chain is `mim npfs`, not `mim npfs:n=7`"),
        ({"seed": 4}, "seed is 3, not 4"),
        ({"sha256": "cd" * 32}, "data have SHA-256"),
        ({"software": {"numpy": "2.2"}}, "started with numpy 2.1, not 2.2"),
        ({"software": {}}, "started with numpy 2.1, not absent"),
    ],
)
def test_differences_name_what_differs_and_nothing_else(change, reason):
    [found] = MANIFEST.differences(attrs.evolve(MANIFEST, **change))
    assert reason in found


def test_a_fingerprint_that_only_one_manifest_has_stands_for_no_version():
    known = attrs.evolve(MANIFEST, numerics={"blas": "a"}, software={"numpy": "2.2"})
    assert MANIFEST.differences(known) == ["it was started with numpy 2.1, not 2.2"]
    assert known.differences(MANIFEST) == ["it was started with numpy 2.2, not 2.1"]


def test_another_fingerprint_is_a_difference_unless_runs_may_be_mixed():
    here, there = (attrs.evolve(MANIFEST, numerics={"blas": word}) for word in "ab")
    assert here.differences(there) == ["it was started with blas 'a', not 'b'"]
    assert here.differences(there, mixed=True) == []


def test_the_software_of_a_chain_names_the_plugins_of_every_stage_also_within_a_base():
    result = software(Chain.parse("mim:top=5 npfs:base=(relieff immigrate)"))
    assert {"plugin infotheory", "plugin npfs", "plugin relief", "plugin margin"} <= set(result)
    assert {"python", "numpy", "scipy", "numba", "fsframe"} <= set(result)
    assert "plugin margin" not in software(Chain.parse("mim:top=5"))


def test_a_second_lock_on_a_folder_is_refused_and_says_who_holds_it(tmp_path):
    lock = FolderLock.take(tmp_path)
    with pytest.raises(StoreError, match="in use by another run of this process; wait"):
        FolderLock.take(tmp_path)
    lock.release()
    FolderLock.take(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


HOLD = """
import sys, time
from pathlib import Path
from fsframe.storage.checkpoint import FolderLock
lock = FolderLock.take(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_the_lock_of_another_process_holds_until_it_is_killed(tmp_path):
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=f"process {other.pid}, since .*kill {other.pid}"):
            FolderLock.take(tmp_path)
    finally:
        other.send_signal(signal.SIGKILL)
        other.wait()
        other.stdout.close()
    assert (tmp_path / "lock").exists()
    FolderLock.take(tmp_path).release()


def leave_lock(folder, **changes):
    holder = attrs.evolve(Holder.this_process(), **changes)
    (folder / "lock").write_text(json.dumps(attrs.asdict(holder)))


@pytest.mark.parametrize(
    "changes",
    [
        {"pid": 2**22 + 1},
        {"pid": 1},
        {"boot": "another-start-of-this-machine"},
        # As a requeued job finds it: the same start of the same machine, under another name.
        {"host": "before", "pid": 2**22 + 1},
        {"host": "container", "pid": 7},
    ],
)
def test_a_lock_left_by_a_dead_process_is_taken_even_if_its_number_is_in_use_again(
    tmp_path, changes
):
    leave_lock(tmp_path, **changes)
    FolderLock.take(tmp_path).release()


@pytest.fixture
def no_locks(monkeypatch):
    """As on a file system that has none."""
    monkeypatch.setattr("fsframe.storage.checkpoint.lock_file", lambda descriptor: None)


def test_a_lock_from_another_machine_is_respected_and_says_how_to_remove_it(tmp_path):
    leave_lock(tmp_path, host="elsewhere", boot="another", pid=77)
    with pytest.raises(StoreError, match=r"process 77 on elsewhere.*remove .*lock"):
        FolderLock.take(tmp_path)


@pytest.mark.usefixtures("no_locks")
def test_a_live_process_is_respected_where_the_file_system_has_no_locks(tmp_path):
    lock = FolderLock.take(tmp_path)
    with pytest.raises(StoreError, match="in use by another run of this process"):
        FolderLock.take(tmp_path)
    lock.release()
    leave_lock(tmp_path, pid=2**22 + 1)
    FolderLock.take(tmp_path).release()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}', "\0" * 100])
def test_a_lock_file_without_sense_that_nobody_holds_is_taken(tmp_path, content):
    (tmp_path / "lock").write_text(content)
    FolderLock.take(tmp_path).release()


@pytest.mark.usefixtures("no_locks")
def test_processes_elsewhere_and_here_are_respected_where_the_kernel_cannot_tell(tmp_path):
    # The number means another process in its container.
    leave_lock(tmp_path, host="container", pid=7)
    with pytest.raises(StoreError, match=r"process 7 on container.*remove .*lock"):
        FolderLock.take(tmp_path)
    with subprocess.Popen(["sleep", "60"]) as other:
        leave_lock(tmp_path, pid=other.pid)
        # Its number may belong to another process by now, which nobody should kill.
        with pytest.raises(StoreError, match=rf"process {other.pid}, since .*remove .*lock"):
            FolderLock.take(tmp_path)
        other.kill()
    FolderLock.take(tmp_path).release()


def test_of_many_processes_at_once_exactly_one_gets_the_lock(tmp_path):
    leave_lock(tmp_path, pid=2**22 + 1)
    code = HOLD.replace("time.sleep(60)", "sys.stdin.read()")
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        for _ in range(3)
    ]
    # The one that has it keeps it until it is told to go on; the others end by themselves.
    while sum(process.poll() is None for process in started) > 1:
        time.sleep(0.02)
    outputs = [process.communicate(timeout=600) for process in started]
    assert [out for out, _ in outputs].count("held\n") == 1
    assert all("is in use by" in err for out, err in outputs if not out)
