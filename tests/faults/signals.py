"""Signals to running commands, by the hundred; prints what came of them.

    python tests/faults/signals.py --trials 200 --workers 0
    python tests/faults/signals.py --trials 50 --workers 2 --command evaluate

Each trial is a fork of this process that leads a session of its own and runs a command into a run
file; a signal is sent at a random time to the process, to its whole group, or to one worker. Then
the same command is given again, undisturbed. Counted are

    lost       finished units on the disk that the second command did not take over
    unequal    second commands whose results are not those of an undisturbed one
    failed     second commands that did not end well
    left       trials after which a process of the first was left running
    hangs      first commands that had not ended 30 s after the signal
    untrue     last words that were not so: units said to be kept, or nothing said to be written
    tracebacks commands that ended in one
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent / "tiny_plugin"))

from tests.faults.forks import Counts, forked, import_noted, tell, write_table

TINY = "tiny:top=3,seconds=0.02"
COMMANDS = {
    "chain": ["chain", TINY, "npfs:n=10,permutations=2,alpha=0.2", "on", "table.csv"],
    "evaluate": ["evaluate", TINY, "weighted-knn", "on", "table.csv", "--folds", "5",
                 "--repeats", "5"],
    "stability": ["stability", TINY, "on", "table.csv", "--n", "25"],
    "compare": ["compare", f"{TINY} weighted-knn", "tiny:top=2 weighted-knn", "on", "table.csv",
                "--folds", "4", "--repeats", "3", "--out", "all"],
    "study": ["study", "study.toml"],
    "resume": ["resume", "run.h5"],
    "audit": ["audit", "run.h5"],
}  # fmt: skip
STUDY = f"""
name = "both"
folds = 4
seeds = [0, 1]
chains = ["{TINY} weighted-knn", "tiny:top=2 weighted-knn"]
tables = ["table.csv"]
"""
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGINT-burst", "SIGHUP", "SIGSTOP")
TARGETS = ("parent", "group", "worker")
_PATIENCE = 30.0
_GRACE = 5.0


class Trials(Counts):
    """What the trials came to, which there were, and the results of undisturbed commands."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.by: Counter[str] = Counter()
        self.expected: dict[str, str] = {}


def make_table(folder: Path) -> None:
    write_table(folder / "table.csv")
    (folder / "study.toml").write_text(STUDY)


def make_folder(base: Path, command: str) -> Path:
    """The folder that a command finds: for `resume` half of a run is in it, for `audit` a run."""
    folder = base / "run"
    shutil.rmtree(folder, ignore_errors=True)
    ready = base / f"for-{command}"
    if not ready.exists():
        folder.mkdir()
        make_table(folder)
        if command in ("resume", "audit"):
            words = [*COMMANDS["chain"], "-o", "run.h5", "--progress", "json"]
            child = begun(folder, words, "made")
            while command == "resume" and not parts_on_disk(folder):
                time.sleep(0.01)
            if command == "resume":
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        shutil.copytree(folder, ready)
        shutil.rmtree(folder)
    # Where it was: an unfinished run says where its table is.
    shutil.copytree(ready, folder)
    return folder


def begun(folder: Path, words: list[str], name: str) -> int:
    """The process of a command that says what it says into NAME.out and NAME.err."""

    def ready() -> None:
        os.setsid()
        for each in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    out, err = (folder.parent / f"{name}.{end}" for end in ("out", "err"))
    return forked(folder, words, out, err, ready, note=name == "plain")


def wait_for(child: int, seconds: float) -> int | None:
    """How a process ended, as `os.waitpid` says; None if it has not."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        time.sleep(0.005)
    return None


def members(session: int) -> list[int]:
    """The processes of a session that are not dead."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            facts = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            if int(facts[3]) == session and facts[0] not in "ZX":
                found.append(int(entry))
    return found


def workers_of(parent: int) -> list[int]:
    """The worker processes of a command."""
    found = []
    for pid in members(parent):
        with contextlib.suppress(OSError):
            if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text() and pid != parent:
                found.append(pid)
    return sorted(found)


def disturb(child: int, kind: str, target: str, chance: random.Random) -> str:
    """Send a signal; how it was sent."""
    name, _, burst = kind.partition("-")
    number = getattr(signal, name)
    send: Callable[[int], None] = lambda n: os.kill(child, n)  # noqa: E731
    if target == "group":
        send = lambda n: os.killpg(child, n)  # noqa: E731
    elif target == "worker":
        result = workers_of(child)
        if not result:
            return "no worker yet"
        one = chance.choice(result)
        send = lambda n: os.kill(one, n)  # noqa: E731
    with contextlib.suppress(ProcessLookupError):
        for _ in range(5 if burst else 1):
            send(number)
            if burst:
                time.sleep(chance.uniform(0, 0.01))
        if name == "SIGSTOP":
            time.sleep(chance.uniform(0.05, 0.3))
            send(signal.SIGCONT)
    return f"{kind} to {target}"


def parts_on_disk(folder: Path, *, beside_results: bool = False) -> int:
    """Finished resamples and stages in the folders of unfinished runs; damaged files are none.

    What lies beside a finished run file is of no use any more, and told of all the same.
    """
    from fsframe.errors import StoreError
    from fsframe.storage.unit_files import read_index

    found = 0
    for path in folder.rglob("*.units/units-*"):
        if not beside_results and path.parent.with_suffix("").exists():
            continue
        with contextlib.suppress(StoreError):
            found += sum(unit.stop - unit.start for unit in read_index(path))
    return found


def result(folder: Path) -> str:
    """The digests of all run files of a folder, those in the archive of a study too."""
    from fsframe.storage import load_run

    for archive in folder.rglob("study.zip"):
        with zipfile.ZipFile(archive) as members:
            members.extractall(archive.parent)
    return json.dumps({p.name: load_run(p).digests() for p in sorted(folder.rglob("*.h5"))})


def trial(
    base: Path,
    command: str,
    workers: int,
    kind: str,
    target: str,
    chance: random.Random,
    whole: float,
    counts: Trials,
) -> None:
    """One disturbed command, and the same again."""
    folder = make_folder(base, command)
    before = contents(folder)
    (base / "first.err").unlink(missing_ok=True)
    # `audit` keeps nothing and tells no events.
    events = [*COMMANDS[command], *([] if command == "audit" else ["--progress", "json"])]
    engine = ["--workers", str(workers)] if workers else []
    child = begun(folder, events + engine, "first")
    said = base / "first.err"
    status = None
    # Four of five come while it is at work, the others at any time before.
    at_work = chance.random() < 0.8 and command != "audit"
    longest = whole if command == "audit" else 3.0
    give_up = time.monotonic() + (_PATIENCE if at_work else chance.uniform(0, longest))
    while time.monotonic() < give_up and status is None:
        if said.is_file() and '"begin"' in said.read_text():
            break
        status = wait_for(child, 0.01)
    if status is None:
        status = wait_for(child, chance.uniform(0, whole if at_work else 0.01))
    how = "over before"
    if status is None:
        counts.by.update((command, kind, target))
        how = disturb(child, kind, target, chance)
        status = wait_for(child, _PATIENCE)
    what = f"{command}, {workers} workers, {how}"
    counts.numbers["trials"] += 1
    if status is None:
        counts.note("hangs", what)
        os.killpg(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    counts.numbers["stopped"] += status != 0
    give_up = time.monotonic() + _GRACE
    while members(child) and time.monotonic() < give_up:
        time.sleep(0.02)
    for pid in members(child):
        counts.note("left", f"{what}: {Path(f'/proc/{pid}/cmdline').read_text()[:80]!r}")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    judge_words(base, folder, before, what, counts)
    there = parts_on_disk(folder)
    again = begun(folder, events, "second")
    status = wait_for(again, 2 * _PATIENCE)
    told = (base / "second.err").read_text()
    if status != 0:
        counts.note("failed", f"{what}: {status}: {told[-300:]}")
        with contextlib.suppress(ProcessLookupError):
            os.kill(again, signal.SIGKILL)
        return
    starts = [line for line in told.splitlines() if line.startswith('{"event": "begin"')]
    taken = sum(json.loads(line)["kept"] for line in starts)
    counts.numbers["kept"] += there
    # Where the run file was there already, what was left beside it is of no use any more.
    if starts and taken < there:
        counts.note("lost", f"{what}: {there - taken} of {there}", there - taken)
    if result(folder) != counts.expected[command]:
        counts.note("unequal", what)


def contents(folder: Path) -> set[Path]:
    """What a command leaves: run files and finished units."""
    return {*folder.rglob("*.h5"), *folder.rglob("*.units/units-*")}


def judge_words(base: Path, folder: Path, before: set[Path], what: str, counts: Trials) -> None:
    """Whether the last words of a command were so."""
    said = (base / "first.err").read_text()
    if "Traceback" in said or "Exception ignored" in said:
        counts.note("tracebacks", f"{what}: {said[-300:]}")
    last = said.splitlines()[-1] if said.splitlines() else ""
    # What lies beside a finished run file is about to be removed, and may be told of or not.
    there = {parts_on_disk(folder, beside_results=all_of_them) for all_of_them in (True, False)}
    if last.startswith('{"event": "stopped"') and json.loads(last)["kept"] not in there:
        counts.note("untrue", f"{what}: {last}, {there} on disk")
    kept = re.search(r"(\d+) finished resamples and stages are kept", last)
    if kept and int(kept[1]) not in there:
        counts.note("untrue", f"{what}: {last}, {there} on disk")
    events = last.startswith('{"event": "stopped"')
    placed = json.loads(last)["written"] if events else re.findall(r"(\S+\.h5)(?:,| is| are)", last)
    for name in placed:
        if not sound(folder / name):
            counts.note("untrue", f"{what}: {last}, but {name} cannot be read")
    if "wrote nothing" in last and contents(folder) != before:
        counts.note("untrue", f"{what}: {last}, {there} on disk")


def sound(path: Path) -> bool:
    """Whether a run file is there and whole."""
    from fsframe.errors import StoreError
    from fsframe.storage import load_run

    try:
        load_run(path)
    except StoreError:
        return False
    return True


def version() -> str:
    """The commit that is tried; nothing for what lies in no repository."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def main() -> None:
    # Not at import: whoever only reads this module keeps the surroundings it has.
    others = [p for p in [os.environ.get("PYTHONPATH")] if p]
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parent / "tiny_plugin"), *others]
    )
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no trial after so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--command", choices=sorted(COMMANDS), action="append")
    parser.add_argument("--signal", choices=SIGNALS, action="append", help="default: all")
    parser.add_argument("--target", choices=TARGETS, action="append", help="default: all")
    parser.add_argument("--add", type=Path, help="a file of lines; this run's is added")
    options = parser.parse_args()
    chance = random.Random(f"{options.seed} {options.workers}")
    base = Path(tempfile.mkdtemp(prefix="fsframe-signals-"))
    counts = Trials("trials", "stopped", "kept", "lost", "unequal", "failed", "left", "hangs",
                    "untrue", "tracebacks")  # fmt: skip
    began = time.perf_counter()
    # Everything is imported once: these, and what the undisturbed commands say.
    from fsframe.chains.chain import Chain

    Chain.parse("tiny npfs:n=3,permutations=2 weighted-knn")
    commands = options.command or sorted(COMMANDS)
    whole = {}
    engine = ["--workers", str(options.workers)] if options.workers else []
    try:
        for command in commands:
            folder = make_folder(base, command)
            events = [] if command == "audit" else ["--progress", "json"]
            start = time.perf_counter() if command == "audit" else None
            child = begun(folder, [*COMMANDS[command], *engine, *events], "plain")
            said = base / "plain.err"
            while (status := wait_for(child, 0.01)) is None:
                if start is None and said.is_file() and '"begin"' in said.read_text():
                    start = time.perf_counter()
            assert status == 0, said.read_text()
            assert start is not None
            whole[command] = time.perf_counter() - start
            import_noted(base)
            counts.expected[command] = result(folder)
        targets = TARGETS if options.workers else TARGETS[:2]
        for number in range(options.trials):
            if time.perf_counter() - began > options.seconds:
                break
            command = commands[number % len(commands)]
            kind = chance.choice(options.signal or SIGNALS)
            target = chance.choice(options.target or targets)
            trial(base, command, options.workers, kind, target, chance, whole[command], counts)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    about = {"version": version(), "workers": options.workers, "seed": options.seed}
    line = {**about, **counts.numbers, "examples": counts.examples, "by": counts.by}
    tell({**line, "seconds": round(time.perf_counter() - began, 1)}, options.add)


if __name__ == "__main__":
    main()
