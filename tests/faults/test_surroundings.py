"""Folders that cannot be written to, wrong clocks, strange times, few descriptors, no home."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsframe.chains.request import Request
from fsframe.cli import main
from fsframe.errors import StoreError
from fsframe.execution import process_start
from fsframe.storage import load_run
from fsframe.storage.checkpoint import units_folder
from tests.command_line import python
from tests.faults.forks import write_table
from tests.same_process import fsframe
from tests.storage.units.interrupted import CHAIN, Stop, stop_late, table

TABLE = table()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others can reach too, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@contextlib.contextmanager
def as_somebody() -> Iterator[None]:
    """Meanwhile this process is of a user for whom permissions count, which they do not for root.

    Have run before what is run then: files of the true user may be out of reach.
    """
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        os.setegid(65534)
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        os.setegid(group)


def test_a_read_only_folder_is_reported_before_any_work_starts(open_folder):
    CHAIN.run(TABLE)
    folder = open_folder / "read-only"
    folder.mkdir()
    folder.chmod(0o555)
    work: list[object] = []
    with as_somebody(), pytest.raises(StoreError, match="no permission to write"):
        CHAIN.run(TABLE, out=folder / "run.h5", listener=work.append)
    folder.chmod(0o755)
    assert work == []
    assert list(folder.iterdir()) == []


def test_a_folder_that_becomes_read_only_costs_nothing_finished(open_folder):
    expected = CHAIN.run(TABLE).digests()
    out = open_folder / "run.h5"

    def close_the_folder(progress):
        if progress.done >= 5:
            units_folder(out).chmod(0o555)

    with as_somebody():
        checkpoint = Request(chain=CHAIN, data=TABLE, out=out).checkpoint()
        checkpoint._every = 0.0
        with pytest.raises(StoreError, match=r"no permission|Permission denied"):
            CHAIN.run(TABLE, out=out, checkpoint=checkpoint, listener=close_the_folder)
        units_folder(out).chmod(0o755)
        again = Request(chain=CHAIN, data=TABLE, out=out).checkpoint()
        assert again.n_parts >= 5
        assert CHAIN.run(TABLE, out=out, checkpoint=again).digests() == expected
    assert os.listdir(open_folder) == ["run.h5"]


@pytest.mark.parametrize("step", [-86_400.0, +86_400.0, -1e9])
def test_a_clock_that_jumps_changes_nothing(tmp_path, monkeypatch, step):
    expected = CHAIN.run(TABLE).digests()
    real, jumped = time.time, [0.0]

    def wrong() -> float:
        jumped[0] += step
        return max(0.0, real() + jumped[0])

    monkeypatch.setattr(time, "time", wrong)
    out = tmp_path / "run.h5"
    with pytest.raises(Stop):
        CHAIN.run(TABLE, out=out, listener=stop_late)
    assert units_folder(out).is_dir()
    assert CHAIN.run(TABLE, out=out).digests() == expected
    assert os.listdir(tmp_path) == ["run.h5"]


def test_units_dated_in_the_future_or_the_past_are_as_good_as_any(tmp_path):
    out = tmp_path / "run.h5"
    with pytest.raises(Stop):
        CHAIN.run(TABLE, out=out, listener=stop_late)
    for number, entry in enumerate(sorted(units_folder(out).iterdir())):
        os.utime(entry, (0, 0) if number % 2 else (4e9, 4e9))
    checkpoint = Request(chain=CHAIN, data=TABLE, out=out).checkpoint()
    assert checkpoint.n_parts > 3
    assert checkpoint.notes == []
    record = CHAIN.run(TABLE, out=out, checkpoint=checkpoint)
    assert record.digests() == CHAIN.run(TABLE).digests()


def test_a_folder_that_disappears_is_reported(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    out = folder / "run.h5"

    def remove(progress):
        if progress.done > 3 and folder.exists():
            folder.rename(tmp_path / "elsewhere")

    with pytest.raises(StoreError, match="no folder"):
        CHAIN.run(TABLE, out=out, listener=remove)
    assert json.dumps(sorted(os.listdir(tmp_path))) == '["elsewhere"]'


SMALL = ["mim:top=2", "npfs:n=4,permutations=3,alpha=0.2", "on", "größen.csv"]


def narrow(folder: Path, line: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """A shell's line in `folder`, ``fsframe`` standing for this installation's."""
    program = f'"{sys.executable}" -m fsframe'
    return subprocess.run(
        ["sh", "-c", line.replace("fsframe", program)],
        cwd=folder,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environ},
        capture_output=True,
        timeout=600,
    )


def write_sizes(folder: Path) -> None:
    """A table whose names need more than ASCII."""
    write_table(folder / "größen.csv", "größe,b,c,d,e,klasse")


@pytest.fixture
def sizes(tmp_path: Path) -> Path:
    write_sizes(tmp_path)
    return tmp_path


# The least that the refusal of a smaller one names, in KiB.
LEAST = "ulimit -v $(( (1100000000 + 8000000 * $(nproc --all)) / 1024 + 1 ));"


@pytest.fixture(scope="module")
def plain() -> dict[str, str]:
    """The digests of `SMALL` where nothing is narrow."""
    with tempfile.TemporaryDirectory() as name:
        write_sizes(Path(name))
        done = fsframe("chain", *SMALL, "--no-out", "--json", "-q", cwd=name, code=0)
        found: dict[str, str] = done.json["digests"]
        return found


# Two conditions at a time: neither hides the other, and each process takes a second to start.
NARROW = {
    "few descriptors, a small address space, workers": (
        f"ulimit -n 24; {LEAST}",
        {},
        "--workers 2",
    ),
    "a small address space, no home, the C locale": (
        f"{LEAST} unset HOME XDG_CACHE_HOME;",
        {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        "",
    ),
    "no cache, no standard output": (
        "exec >&-;",
        {"HOME": "/nowhere", "XDG_CACHE_HOME": "/proc/none"},
        "",
    ),
}


# A command and then, where there is a run to be shown, `show`; at last stderr tells the exit codes.
# Guarded, since workers import it.
IN_TURN = """
import json, sys
from fsframe.cli import main
if __name__ == "__main__":
    more, *words = sys.argv[1:]
    codes = []
    for command in [words, ["show", "run.h5"]][: 1 + int(more)]:
        try:
            main(command)
        except SystemExit as ended:
            codes.append(ended.code)
    sys.stderr.write("\\n" + json.dumps(codes))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="ulimit is of POSIX shells")
@pytest.mark.parametrize("what", NARROW)
def test_narrow_surroundings_change_no_bit(sizes, plain, what):
    before, environ, more = NARROW[what]
    # Workers write the same file, which is not shown again.
    shows = not more
    (sizes / "in_turn.py").write_text(IN_TURN)
    words = [sys.executable, "in_turn.py", str(int(shows)), "chain", *SMALL, "-o", "run.h5"]
    line = shlex.join([*words, *more.split()])
    done = narrow(sizes, f"{before} {line}", **environ)
    assert b"Traceback" not in done.stderr
    code, *shown = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    assert load_run(sizes / "run.h5").digests() == plain
    # What a command only prints is nowhere if standard output is closed.
    assert shown == [5 if ">&-" in before else 0] * shows, done.stderr


def test_characters_that_a_stream_lacks_are_spelled_otherwise(sizes, monkeypatch):
    monkeypatch.chdir(sizes)
    # Streams of ASCII become UTF-8 in click.
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, "latin-1", write_through=True)
    with monkeypatch.context() as narrowed, pytest.raises(SystemExit, match="0"):
        narrowed.setattr(sys, "stdout", stream)
        main(["chain", "anova-f:top=1", "on", "größen.csv", "--no-out", "-q"])
    said = written.getvalue().decode("latin-1")
    assert "größe" in said and "####" in said


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX process may begin without streams")
def test_a_file_never_takes_the_number_of_a_closed_stream(tmp_path):
    code = """
        import os
        from fsframe.cli import main
        os.close(2)
        try:
            main(["--version"])
        finally:
            print(os.open("new", os.O_CREAT))
    """
    done = python("-c", textwrap.dedent(code), cwd=tmp_path, code=None)
    assert int(done.out.split()[-1]) > 2


@pytest.mark.parametrize("limit", [None, 1 << 31])
def test_with_a_limit_of_address_space_all_threads_share_an_arena(monkeypatch, limit):
    arenas: list[int] = []
    monkeypatch.setattr(process_start, "address_space_limit", lambda: limit)
    monkeypatch.setattr(process_start, "allocate_from_one_arena", lambda: arenas.append(1))
    fsframe("--version", code=0)
    assert bool(arenas) == (limit is not None)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
def test_an_address_space_that_is_too_small_is_refused_with_the_least(sizes):
    """Below it, polars aborts the process and OpenBLAS tries for ever."""
    words = "fsframe chain mim:top=2 on größen.csv --no-out"
    for size in (400_000, 1_000_000):
        done = narrow(sizes, f"ulimit -v {size}; {words}")
        assert done.returncode == 1, done.stderr
        least = re.search(rb"allow at least [\d.]+ GB \(ulimit -v (\d+)\)", done.stderr)
        assert least and b"Traceback" not in done.stderr
    done = narrow(sizes, f"ulimit -v {int(least[1])}; {words}")
    assert done.returncode == 0, done.stderr
    assert narrow(sizes, "ulimit -v 400000; fsframe chain --help").returncode == 0


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (RuntimeError("can't start new thread"), "too few threads"),
        (MemoryError(), "not enough memory"),
    ],
)
def test_lack_of_threads_or_memory_is_one_sentence(sizes, monkeypatch, error, says):
    """What is seen where the number of threads is limited, and where memory is used up."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("fsframe.cli.running.stoppable", fail)
    done = fsframe("chain", "mim:top=2", "on", "größen.csv", "--no-out", cwd=sizes)
    assert done.code == 1 and says in done.err


def refuse_to_write(*_: object, **__: object) -> None:
    raise StoreError("the disk is full")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names are bytes on Linux")
def test_a_table_whose_name_is_not_utf8_is_run_and_resumed(sizes, monkeypatch):
    """Its run used to be refused by the run file when everything was computed."""
    name = os.fsdecode(b"bad\xff.csv")
    (sizes / "größen.csv").rename(sizes / name)
    with monkeypatch.context() as full:
        full.setattr("fsframe.chains.request.write_run", refuse_to_write)
        stopped = fsframe("chain", *SMALL[:-1], name, "-o", "run.h5", cwd=sizes)
    assert stopped.code == 5 and "are kept" in stopped.err
    fsframe("resume", "run.h5", cwd=sizes, code=0)
    record = load_run(sizes / "run.h5")
    assert record.data.source == r"bad\xff.csv"
    shown = narrow(sizes, "fsframe show run.h5")
    assert shown.returncode == 0 and b"Traceback" not in shown.stderr
