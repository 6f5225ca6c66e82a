"""Runs from the command line that are stopped, go on, and tell programs what happens."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from executor_bases import Noise, half_an_answer, stop_here

from fsframe.cli import running
from fsframe.cli.terminal import WRITTEN
from fsframe.execution.engine import ProcessEngine
from fsframe.method.run import Run
from tests.command_line import Done, python
from tests.faults.forks import write_table
from tests.forked_programs import Forks, Started
from tests.same_process import fsframe as fsframe_here

ROOT = Path(__file__).parents[2]
TINY = ROOT / "tests" / "faults" / "tiny_plugin"
SLOW = ["tiny:top=3,seconds=0.03", "npfs:n=20,permutations=2,alpha=0.2", "on", "table.csv"]
RUN = "table.tiny_seconds=0.03_top=3-npfs_n=20_alpha=0.2_permutations=2.h5"
FSFRAME = ["-m", "fsframe"]
FIRST = """
import contextlib
from fsframe.cli import main
with contextlib.chdir({!r}), contextlib.suppress(SystemExit):
    main("evaluate tiny:top=2 knn on table.csv --folds 2 --repeats 1".split())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(tmp_path / "table.csv")
    return tmp_path


def fsframe(folder: Path, *arguments: str, code: int | None = None) -> Done:
    """A command that nothing stops, so that it need not be slow."""
    return fsframe_here(*arguments, cwd=folder, fakes=[TINY], env={"TINY_AWAKE": "yes"}, code=code)


def digests(folder: Path, *arguments: str) -> dict[str, str]:
    done = fsframe(folder, *arguments, "--json", "-q", code=0)
    found: dict[str, str] = done.json["digests"]
    return found


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """What starts commands: each takes seconds less where all is imported already."""
    if not hasattr(os, "fork"):
        pytest.skip("each command is a fork")
    folder = tmp_path_factory.mktemp("first")
    write_table(folder / "table.csv")
    paths = os.pathsep.join(map(str, (TINY, ROOT, ROOT / "plugins")))
    environ = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    with contextlib.closing(Forks(FIRST.format(str(folder)), environ)) as result:
        yield result


Start = Callable[..., Started]


@pytest.fixture
def started(forks: Forks, folder: Path) -> Start:
    """Starts a program of Python in the folder."""
    return lambda *arguments: forks.start(folder, *arguments)


@pytest.fixture
def telling(started: Start) -> Start:
    """Starts a run that is told by events."""
    return lambda *arguments: started(*FSFRAME, *arguments, "--progress", "json")


def stopped(process: Started, number: int, done: int = 8, times: int = 1) -> dict:
    """The last event of a run that is sent a signal when it has done so many resamples."""
    for line in process.stderr:
        event = json.loads(line)
        if event["event"] == "progress" and event["done"] >= done:
            break
    # To the whole group, as a terminal does it.
    for _ in range(times):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    rest = process.communicate()[1].splitlines()
    assert process.returncode == 128 + number
    found: dict = json.loads(rest[-1])
    return found


_plain: dict[str, str] = {}


def plain_digests(folder: Path) -> dict[str, str]:
    """The digests of SLOW on the table without interruption; every folder has the same table."""
    if not _plain:
        _plain.update(digests(folder, "chain", *SLOW, "--no-out"))
    return _plain


@pytest.mark.parametrize(
    ("number", "engine", "times"),
    [
        (signal.SIGINT, (), 20),
        (signal.SIGTERM, ("--workers", "1"), 1),
        pytest.param(signal.SIGHUP, (), 1, marks=pytest.mark.slow),
    ],
)
def test_a_stopped_run_keeps_what_is_finished_and_resume_gives_the_same_bits(
    telling, folder, number, engine, times
):
    last = stopped(telling("chain", *SLOW, *engine), number, times=times)
    assert last["event"] == "stopped"
    assert last["signal"] == signal.Signals(number).name
    assert last["kept"] >= 8
    assert sorted(os.listdir(folder)) == ["table.csv", f"{RUN}.units"]
    assert digests(folder, "resume", RUN) == plain_digests(folder)
    assert sorted(os.listdir(folder)) == ["table.csv", RUN]


def test_the_last_event_is_the_last_line_when_semaphores_are_left(telling):
    """SIGKILL leaves no time to remove them; a run stopped on a busy machine may be as short of it.

    Standard error ends when no process holds it any more, the one that removes them included.
    """
    process = telling("chain", *SLOW, "--workers", "2")
    for line in process.stderr:
        if json.loads(line)["event"] == "progress":
            break
    process.kill()
    for line in process.communicate()[1].splitlines():
        assert json.loads(line)["event"] == "progress"


def test_messages_say_how_to_continue(started, folder):
    # Long enough not to end by itself before a busy machine sends the signal.
    longer = [text.replace("n=20", "n=100") for text in SLOW]
    process = started(*FSFRAME, "chain", *longer)
    kept = 0
    while kept < 1:
        assert process.poll() is None
        time.sleep(0.02)
        # The folder is made while it is looked for.
        with contextlib.suppress(FileNotFoundError):
            kept = len(list(folder.glob("*.units/units-*")))
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    # A new installation says before it that kernels are compiled.
    line = err.splitlines()[-1]
    command = line.partition("continue with: ")[2].split()
    assert command[:2] == ["fsframe", "resume"]
    assert "Traceback" not in err
    fsframe(folder, *command[1:], code=0)


STOPPED_AT_THE_END = """
import os, signal, sys, threading, time
import fsframe.chains.request as requests
from fsframe.cli import main
from fsframe.storage import checkpoint
write_run, remove = requests.write_run, checkpoint._remove
def placed(*arguments, **options):
    write_run(*arguments, **options)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.5)
def slowly(path):
    remove(path)
    time.sleep(0.2)
requests.write_run, checkpoint._remove = placed, slowly
main(sys.argv[1:])
"""


@pytest.mark.parametrize("events", [(), ("--progress", "json")])
def test_an_interrupt_between_the_run_file_and_the_removal_of_its_units_says_what_is_there(
    started, folder, events
):
    chain = ["tiny:top=3", "npfs:n=4,permutations=2,alpha=0.2", "on", "table.csv", "-o", "run.h5"]
    process = started("-c", STOPPED_AT_THE_END, "chain", *chain, *events)
    said = process.communicate()[1]
    assert process.returncode == 130, said
    last = said.splitlines()[-1]
    if events:
        told = json.loads(last)
        assert (told["kept"], told["written"]) == (0, ["run.h5"])
    else:
        assert last == "fsframe: interrupted; run.h5 is written already"
    assert sorted(os.listdir(folder)) == ["run.h5", "table.csv"]
    fsframe(folder, "verify", "run.h5", code=0)


def test_a_run_that_is_finished_when_it_is_stopped_is_said_to_be_written(monkeypatch):
    """Its own thread may not have come so far as to record it."""
    said: list[str] = []
    monkeypatch.setattr(running, "ignore_signals", lambda: None)
    monkeypatch.setattr(running, "end_process", lambda _, rest="": said.append(rest))
    reporter = SimpleNamespace(close=lambda: None, events=False)
    for finished in (False, True):
        WRITTEN.clear()
        checkpoint = SimpleNamespace(hold=lambda: None, n_parts=0, finished=finished)
        running._stop(None, checkpoint, reporter, "run.h5", signal.SIGINT)
    WRITTEN.clear()
    assert said[::2] == ["this command wrote nothing", "run.h5 is written already"]


# Some folds are kept long before the last is done, even on a busy machine.
CHAINS = ["tiny:top=2,seconds=0.3 knn", "tiny:top=3,seconds=0.3 knn"]
STUDY = f"""
tables = ["table.csv"]
chains = {json.dumps(CHAINS)}
folds = 8
all-features = false
"""


COMPARE = ["compare", *CHAINS, "on", "table.csv", "--folds", "8", "--repeats", "1", "-o", "kept"]
ANYWHERE = "from fsframe.cli import main\nmain()"


@pytest.mark.parametrize(
    ("command", "begin"),
    [
        (COMPARE, ANYWHERE),
        (["study", "study.toml"], STOPPED_AT_THE_END),
        pytest.param(COMPARE, STOPPED_AT_THE_END, marks=pytest.mark.slow),
        pytest.param(["study", "study.toml"], ANYWHERE, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_command_of_many_runs_is_continued_by_the_same_command(
    started, folder, undrawn, command, begin
):
    # What ends by itself need not take long.
    seconds = "0.03" if begin is STOPPED_AT_THE_END else "0.3"
    command = [word.replace("0.3", seconds) for word in command]
    (folder / "study.toml").write_text(STUDY.replace("0.3", seconds))
    process = started("-c", begin, *command)
    while begin is not STOPPED_AT_THE_END and not list(folder.glob("**/*.units/units-*")):
        assert process.poll() is None
        time.sleep(0.02)
    if begin is not STOPPED_AT_THE_END:
        process.send_signal(signal.SIGINT)
    last = process.communicate()[1].splitlines()[-1]
    assert process.returncode == 130
    assert last.endswith(f"; continue with: {shlex.join(['fsframe', *command])}")
    done = fsframe(folder, *command, code=0)
    assert begin is STOPPED_AT_THE_END or "continuing from" in done.err


def test_a_run_stopped_before_anything_is_finished_leaves_nothing(telling, folder):
    slow = ["tiny:top=3,seconds=3000", *SLOW[1:]]
    process = telling("chain", *slow)
    assert json.loads(process.stderr.readline())["event"] == "begin"
    os.killpg(process.pid, signal.SIGHUP)
    rest = process.communicate()[1].splitlines()
    assert process.returncode == 128 + signal.SIGHUP
    last = json.loads(rest[-1])
    assert (last["signal"], last["kept"]) == ("SIGHUP", 0)
    assert os.listdir(folder) == ["table.csv"]


def test_only_the_same_run_goes_on_from_a_stopped_one(telling, folder):
    options = ["--label", "class", "--drop", "g1,g2"]
    kept = stopped(telling("chain", *SLOW, *options), signal.SIGTERM)["kept"]
    other = [SLOW[0], "npfs:n=3,permutations=2,alpha=0.2", *SLOW[2:], *options, "-o", RUN]
    refused = fsframe(folder, "chain", *other, code=5)
    assert "its chain is" in refused.err and "--restart" in refused.err
    table, moved, copy = (folder / name for name in ("table.csv", "moved.csv", "copy"))
    shutil.copy(table, moved)
    table.write_text(table.read_text().replace("ill", "sick"))
    assert "its data have SHA-256" in fsframe(folder, "resume", RUN, code=5).err
    table.unlink()
    assert "--data" in fsframe(folder, "resume", RUN, code=5).err
    shutil.copytree(folder / f"{RUN}.units", copy)
    expected = digests(folder, "resume", f"{RUN}.units/", "--data", "moved.csv")
    # Killed when its file was written; a command that is repeated goes on by itself.
    shutil.copytree(copy, folder / f"{RUN}.units")
    assert digests(folder, "resume", RUN) == expected
    assert not (folder / f"{RUN}.units").exists()
    (folder / RUN).unlink()
    copy.rename(folder / f"{RUN}.units")
    moved.rename(table)
    done = fsframe(folder, "chain", *SLOW, *options, "--json")
    assert done.code == 0 and done.json["digests"] == expected, done.err
    assert f"continuing from {kept} finished" in done.err
    assert expected == digests(folder, "chain", *SLOW, *options, "--no-out")
    fsframe(folder, "chain", *other, "--restart", "--overwrite", code=0)


def test_a_second_process_on_one_run_file_learns_who_holds_it(telling, folder):
    long = ["chain", "tiny:top=3,seconds=300", *SLOW[1:]]
    process = telling(*long)
    assert json.loads(process.stderr.readline())["event"] == "begin"
    for command in (long, ["resume", RUN.replace("0.03", "300.0")]):
        assert f"in use by process {process.pid}" in fsframe(folder, *command, code=5).err
    process.terminate()
    process.communicate()
    assert process.returncode == 143


def test_nothing_to_resume_is_reported(folder):
    assert "nothing to resume" in fsframe(folder, "resume", RUN).err
    # In a process that has not imported runs, which log errors.
    program = "from fsframe.cli import main; main(['resume', 'nothing.h5'])"
    told = python("-c", program, cwd=folder, code=5)
    assert told.err.count("nothing to resume") == 1
    expected = digests(folder, "chain", "tiny", "on", "table.csv")
    again = fsframe(folder, "resume", "table.tiny.h5", "--json")
    assert "already finished" in again.err
    assert again.json["digests"] == expected


def test_events_are_one_json_object_a_line_and_nothing_else(folder):
    done = fsframe(folder, "chain", *SLOW, "--workers", "2", "--progress", "json")
    events = [json.loads(line) for line in done.err.splitlines()]
    assert events[0]["event"] == "begin"
    assert events[0]["workers"] == 2
    assert events[0]["run_file"] == RUN
    assert events[-1]["event"] == "end"
    progress = [event for event in events if event["event"] == "progress"]
    assert progress[-1]["done"] == progress[-1]["total"] == 40
    assert [event["done"] for event in progress] == sorted(event["done"] for event in progress)


# Closing an engine ends it in bounded time, whatever has become of its workers


def pids(engine: ProcessEngine) -> list[int]:
    return [process.pid for process in engine.executor._processes.values()]


def idle(workers: int) -> ProcessEngine:
    """An engine whose workers all wait for a task; one of them holds the queue's lock."""
    engine = ProcessEngine(workers)
    for future in [engine.submit(int) for _ in range(4 * workers)]:
        future.result()
    time.sleep(0.2)
    return engine


def gone(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def close_in_time(engine: ProcessEngine) -> None:
    workers = pids(engine)
    closing = threading.Thread(target=engine.close, daemon=True)
    closing.start()
    # Far above what it takes; what is tested is that it ends at all.
    closing.join(30)
    hangs = closing.is_alive()
    if hangs:
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert not hangs
    assert all(gone(pid) for pid in workers)


def test_workers_that_are_stopped_do_not_keep_an_engine_from_closing():
    engine = idle(2)
    for pid in pids(engine):
        os.kill(pid, signal.SIGSTOP)
    close_in_time(engine)


@pytest.mark.parametrize("which", [0, 1])
def test_a_worker_killed_while_the_engine_closes_leaves_no_other_waiting(which):
    """One of the two holds the lock of the queue of tasks, and the other waits for it for ever."""
    engine = idle(2)
    workers = pids(engine)
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)

    def kill_one() -> None:
        time.sleep(0.3)
        with contextlib.suppress(ProcessLookupError):
            os.kill(workers[which], signal.SIGKILL)
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    killer = threading.Thread(target=kill_one)
    killer.start()
    close_in_time(engine)
    killer.join()


def test_a_worker_killed_half_way_through_its_answer_is_survived(bits, table, counts, monkeypatch):
    monkeypatch.setattr("fsframe.execution.engine._LOOK_SECONDS", 0.2)
    monkeypatch.setattr("fsframe.execution.engine._SEEN_SECONDS", 0.5)
    with ProcessEngine(2) as engine:
        half = engine.submit(half_an_answer)
        # The answers of all workers come through one pipe, which now is waited at for ever.
        result = bits(Noise(), table, counts, Run(entropy=5, executor=engine))
        assert result == bits(Noise(), table, counts, Run(entropy=5))
        assert half.exception(30) is not None


def test_a_worker_that_is_stopped_costs_patience_and_no_more(bits, table, counts, monkeypatch):
    monkeypatch.setattr("fsframe.execution.engine._LOOK_SECONDS", 0.1)
    with ProcessEngine(1, patience=0.3) as engine:
        [first] = pids(engine)
        engine.submit(stop_here)
        result = bits(Noise(), table, counts, Run(entropy=5, executor=engine))
        assert result == bits(Noise(), table, counts, Run(entropy=5))
        assert first not in pids(engine)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_is_being_started_gets_everything_before_a_signal_ends_this_one(number):
    """What reads half of what it shall be complains on stderr, with a traceback."""
    with contextlib.closing(ProcessEngine(1)) as engine:
        told = []

        class Slow:
            def submit(self, *_):
                signal.raise_signal(number)
                time.sleep(0.01)
                told.append("all")

        class Ended(BaseException):
            pass

        def end(*_):
            raise Ended

        before, pool = signal.signal(number, end), engine.executor
        try:
            engine.executor = Slow()
            with pytest.raises(Ended):
                engine.submit(int)
            assert told == ["all"] and signal.getsignal(number) is end
        finally:
            engine.executor = pool
            signal.signal(number, before)
