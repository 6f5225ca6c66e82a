"""The reader that read a table is recorded, and asked for where the table is read again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest

from fsframe.storage import load_run, write_run
from tests.command_line import FAKES
from tests.same_process import fsframe

CHAIN = ("chain", "mim:top=2", "npfs:n=6,permutations=9,alpha=0.2", "on", "t.tenths", "-q")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in tenths and its run, made with the plugin."""
    path = tmp_path_factory.mktemp("reader")
    label = np.arange(60) % 2
    X = np.random.default_rng(0).normal(size=(60, 4)).round(3)
    X[:, 0] += 3 * label
    table = np.column_stack([X, label])
    np.savetxt(path / "t.tenths", table, "%.4g", delimiter=",", header="a,b,c,d,class", comments="")
    done = fsframe(*CHAIN, "-o", "run.h5", cwd=path, fakes=["fake_tenths"])
    assert done.code == 0, done.err
    return path


def test_the_reader_is_recorded(folder: Path) -> None:
    reading = load_run(folder / "run.h5").environment["reading"]
    assert reading["reader"] == "fake-tenths/tenths"


@pytest.mark.parametrize(
    "command",
    [
        ("apply", "run.h5", "on", "t.tenths", "-o", "-"),
        ("audit", "run.h5", "on", "t.tenths"),
        ("predict", "run.h5", "on", "t.tenths", "--classifier", "knn"),
    ],
)
def test_a_reader_that_is_missing_is_named(folder: Path, command: tuple[str, ...]) -> None:
    with_it = fsframe(*command, cwd=folder, fakes=["fake_tenths"])
    assert with_it.code == 0, with_it.err
    without = fsframe(*command, cwd=folder)
    assert without.code == 3
    assert "t.tenths was read by the reader 'tenths' of the plugin 'fake-tenths'" in without.err
    assert not without.out


def test_another_format_is_read_without_the_plugin(folder: Path) -> None:
    frame = (folder / "t.tenths").read_text()
    (folder / "same.csv").write_text(frame)
    done = fsframe("apply", "run.h5", "on", "same.csv", "-o", "-", cwd=folder)
    assert done.code == 0, done.err
    assert done.out.splitlines()[0].split(",")[-1] == "class"


_FULL = """
import sys
import fsframe.chains.request as requests
from fsframe.cli import main
from fsframe.errors import StoreError

def full(*_, **__):
    raise StoreError("the disk is full")

requests.write_run = full
sys.argv = ["fsframe", *sys.argv[1:]]
sys.exit(main())
"""


def test_resume_asks_for_the_reader(folder: Path) -> None:
    paths = os.pathsep.join([str(FAKES / "fake_tenths"), os.environ.get("PYTHONPATH", "")])
    stopped = subprocess.run(
        [sys.executable, "-c", _FULL, *CHAIN, "-o", "stopped.h5"],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert stopped.returncode == 5 and "the disk is full" in stopped.stderr
    without = fsframe("resume", "stopped.h5", cwd=folder)
    assert without.code == 3 and "the reader 'tenths'" in without.err
    done = fsframe("resume", "stopped.h5", "-q", cwd=folder, fakes=["fake_tenths"])
    assert done.code == 0, done.err
    found, whole = load_run(folder / "stopped.h5"), load_run(folder / "run.h5")
    assert found.digests() == whole.digests()
    assert found.environment["reading"] == whole.environment["reading"]


def test_a_run_file_without_the_record_is_read_as_before(folder: Path) -> None:
    record = load_run(folder / "run.h5")
    reading = {k: v for k, v in record.environment["reading"].items() if k != "reader"}
    old = attrs.evolve(record, environment={**record.environment, "reading": reading})
    write_run(folder / "old.h5", old)
    done = fsframe("apply", "old.h5", "on", "t.tenths", "-o", "-", cwd=folder)
    assert done.code == 0, done.err
