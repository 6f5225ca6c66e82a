"""Kills and disk errors at every call by which a command changes the disk; prints the counts.

    python tests/faults/disk.py
    python tests/faults/disk.py --command chain --form ENOSPC --step 7

`faulty_disk.c`, compiled and loaded before the C library, stands for the disk: it sees what Python,
HDF5 and polars ask of it below one folder, and lets the call that is due fail, or kills the process
before it. Everything is imported once; each trial is a fork that runs one command with one fault,
and then a second fork that runs the same command without. Counted are

    points     calls that could fail, over all commands and forms: one trial each
    fired      trials in which the call came and failed (or was cut short)
    ended_0    first commands that succeeded in spite of it
    ended_5    first commands that were refused by the disk, and said so
    killed     first commands that were killed
    acknowledged
               units that first commands had made safe
    lost       of these, those that are not on the disk afterwards, and that no run file stands for
    codes      first commands with any other exit code, or ended by a signal
    tracebacks commands that ended in one, or said `Exception ignored`
    hurt       files of the user's, or outputs to be replaced, that are neither as they were nor new
    half       outputs in their places that are not whole
    litter     trials that left other files behind, though they could have been removed, or parts of
               a run file after the second command
    untrue     words that were not so: kept, written, not written; success without the output
    failed     second commands that did not end well
    unequal    second commands whose results are not those of an undisturbed one
    hangs      commands that had not ended after 30 s, and were not at work (or after 300 s)
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import faulthandler
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", POLARS_MAX_THREADS="1")
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent / "tiny_plugin"))

import attrs

from tests.faults.forks import Counts, folder_in_memory, forked, import_noted, tell, write_table

_SOURCE = Path(__file__).with_name("faulty_disk.c")
_PATIENCE = 30.0
_OPEN, _WRITE, _SYNC, _CLOSE, _RENAME, _LINK, _MAKE, _UNLINK, _TRUNCATE = (1 << k for k in range(9))
_ROOM = _OPEN | _WRITE | _RENAME | _LINK | _MAKE
_NAMES = _OPEN | _RENAME | _LINK | _MAKE | _UNLINK
_ALL = _NAMES | _WRITE | _SYNC | _TRUNCATE


@attrs.frozen
class Form:
    """Which calls fail, and how; `faulty_disk.c` says what the words mean."""

    calls: int
    error: int
    lasting: bool = True
    part: int = 0
    gone: bool = False
    # Whether what was begun can still be taken away.
    tidy: bool = True


FORMS = {
    "ENOSPC": Form(_ROOM, errno.ENOSPC),
    "ENOSPC, half written": Form(_WRITE, errno.ENOSPC, part=128),
    "EDQUOT, all but a byte written": Form(_WRITE, errno.EDQUOT, part=-1),
    "EFBIG": Form(_WRITE, errno.EFBIG, part=64),
    "EIO once": Form(_ALL & ~_UNLINK, errno.EIO, lasting=False),
    "EIO at fsync": Form(_SYNC, errno.EIO),
    "EIO at close": Form(_CLOSE, errno.EIO, lasting=False),
    "EIO at rename or link": Form(_RENAME | _LINK, errno.EIO),
    "EROFS": Form(_ALL & ~_SYNC, errno.EROFS, tidy=False),
    "EACCES": Form(_NAMES, errno.EACCES, tidy=False),
    "short writes, no error": Form(_WRITE, 0, part=-2),
    "folder gone": Form(_ALL, 0, gone=True, tidy=False),
    "killed": Form(_ALL, -signal.SIGKILL, tidy=False),
}  # fmt: skip

TINY = "tiny:top=3"
# Each is run in a folder with a table, a run of it, and a folder `out` whose disk it is that fails.
COMMANDS: dict[str, list[str]] = {
    "chain": ["chain", TINY, "on", "table.csv", "-o", "out/run.h5"],
    "chain of units": ["chain", TINY, "npfs:n=3,permutations=2,alpha=0.2", "on", "table.csv",
                       "-o", "out/run.h5"],
    "chain with a log": ["chain", TINY, "on", "table.csv", "-o", "out/run.h5", "--log",
                         "out/run.log"],
    "chain over an old run": ["chain", TINY, "on", "table.csv", "-o", "out/old.h5", "--overwrite"],
    "resume": ["resume", "out/half.h5"],
    "evaluate": ["evaluate", TINY, "weighted-knn", "on", "table.csv", "--folds", "2", "--repeats",
                 "2", "-o", "out/run.h5"],
    "stability": ["stability", TINY, "on", "table.csv", "--n", "4", "-o", "out/run.h5"],
    "compare": ["compare", f"{TINY} weighted-knn", "tiny:top=2 weighted-knn", "on", "table.csv",
                "--folds", "2", "--repeats", "1", "-o", "out/all"],
    "study": ["study", "study.toml", "-o", "out/both"],
    "report": ["report", "done.h5", "-o", "out/page.html"],
    "plot": ["plot", "scores", "done.h5", "-o", "out/scores.svg"],
    "table": ["table", "done.h5", "-o", "out/table.csv"],
    "table, xlsx": ["table", "done.h5", "-o", "out/table.xlsx"],
    "table, parquet, over an old one": ["table", "done.h5", "-o", "out/old.parquet", "--overwrite"],
    "show --csv": ["show", "folds.h5", "--csv", "out/folds.csv"],
    "apply": ["apply", "done.h5", "on", "table.csv", "-o", "out/reduced.csv"],
    "apply, over the old": ["apply", "done.h5", "on", "table.csv", "-o", "out/old.csv",
                            "--overwrite"],
    "predict": ["predict", "done.h5", "on", "table.csv", "--classifier", "weighted-knn", "-o",
                "out/classes.csv"],
    "new-plugin": ["new-plugin", "my-gap", "-o", "out/plugin"],
    "audit": ["audit", "done.h5"],
}  # fmt: skip
_STUDY = f"""
name = "both"
folds = 2
seeds = [0]
chains = ["{TINY} weighted-knn", "tiny:top=2 weighted-knn"]
tables = ["table.csv"]
"""


class Disk:
    """The library that is loaded before the C library."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._arm = library.faults_arm
        self._arm.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_long,
                              ctypes.c_int, ctypes.c_int, ctypes.c_char_p]  # fmt: skip
        self.calls, self.fired = library.faults_calls, library.faults_fired
        self.calls.restype = self.fired.restype = ctypes.c_long

    def arm(self, below: Path, form: Form, at: int) -> None:
        moved = below.with_name("elsewhere") if form.gone else None
        self._arm(os.fsencode(below), form.calls, form.error, at, form.lasting, form.part,
                  os.fsencode(moved) if moved else b"")  # fmt: skip


def built() -> Path:
    """The library, compiled."""
    path = Path(tempfile.gettempdir()) / f"fsframe-faulty-disk-{os.getpid()}.so"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SystemExit("there is no C compiler")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", path, _SOURCE, "-ldl"], check=True)
    return path


Units = frozenset[tuple[str, str]]
"""Finished units, each as the name of its folder and its own."""


@attrs.frozen
class Ended:
    """How a command ended, what it said, and the units that it had made safe."""

    code: int
    said: str
    calls: int = 0
    fired: int = 0
    safe: Units = frozenset()


def run(
    folder: Path, words: list[str], disk: Disk, form: Form | None = None, at: int = -1
) -> Ended:
    """A command in a fork, its disk armed."""
    said, safe = folder.parent / "said", folder.parent / "safe"
    safe.write_text("")

    def ready() -> None:
        faulthandler.register(signal.SIGUSR1, all_threads=True, file=2)
        if form is not None:
            disk.arm(folder / "out", form, at)

    child = forked(folder, words, said, said, ready, note=form is None)
    began = time.monotonic()
    give_up, used = began + _PATIENCE, 0.0
    while time.monotonic() < give_up:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            units = frozenset(tuple(line.split("\t")) for line in safe.read_text().splitlines())
            return Ended(code, said.read_text(errors="replace"), disk.calls(), disk.fired(), units)
        time.sleep(0.002)
        # On a busy machine it may still be at work.
        if time.monotonic() >= give_up and processor_seconds(child) > used + 0.1:
            used, give_up = processor_seconds(child), min(time.monotonic() + 10, began + 300)
    # Where it hangs, for whoever reads the example.
    os.kill(child, signal.SIGUSR1)
    time.sleep(0.5)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return Ended(-99, said.read_text(errors="replace"), disk.calls(), disk.fired())


def processor_seconds(child: int) -> float:
    """What a process has had of a processor."""
    fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def make_inputs(folder: Path, disk: Disk) -> None:
    """What the commands find: tables, finished runs, half of a run, files to be replaced."""
    (folder / "out").mkdir(parents=True)
    write_table(folder / "table.csv")
    (folder / "study.toml").write_text(_STUDY)
    (folder / "out" / "notes.txt").write_text("mine")
    units = COMMANDS["chain of units"][:-1]
    for words in (
        ["chain", TINY, "on", "table.csv", "-o", "done.h5"],
        ["evaluate", TINY, "weighted-knn", "on", "table.csv", "--folds", "2", "--repeats", "1",
         "-o", "folds.h5"],
        ["chain", "tiny:top=2", "on", "table.csv", "-o", "out/old.h5"],
        ["table", "done.h5", "--top", "1", "-o", "out/old.parquet"],
        ["apply", "done.h5", "on", "table.csv", "--top", "1", "-o", "out/old.csv"],
    ):  # fmt: skip
        done = run(folder, words, disk)
        assert done.code == 0, done
        import_noted(folder.parent)
    # Five resamples on, the disk is full for good.
    stopped = run(folder, [*units, "out/half.h5"], disk, FORMS["ENOSPC"], 28)
    assert stopped.code == 5 and "are kept" in stopped.said, stopped


def files(folder: Path) -> dict[str, str]:
    """Every file that is not of an unfinished run: its name, and the digest of what it says."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if ".units/" not in name:
            found[name] = said_by(path, hashlib.sha256(path.read_bytes()).hexdigest())
    return found


_SAID: dict[tuple[str, str], str] = {}
"""Of files by their names and bytes: most of them are the same in all trials."""


def said_by(path: Path, digest: str) -> str:
    """What is compared of a file whose bytes have this digest."""
    from fsframe.errors import StoreError
    from fsframe.storage import load_run

    key = path.name, digest
    if key in _SAID:
        return _SAID[key]
    said = digest
    try:
        if path.suffix == ".h5":
            said = json.dumps(load_run(path).digests())
        elif path.suffix == ".log":
            said = "a log"
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as place:
                archive.extractall(place)
                said = json.dumps(files(Path(place)))
    except (StoreError, zipfile.BadZipFile) as error:
        said = f"damaged: {error}"
    return _SAID.setdefault(key, said)


def timeless(first: dict[str, str], second: dict[str, str]) -> set[str]:
    """The files that two undisturbed commands leave alike."""
    return {name for name in first if first[name] == second.get(name)}


GOOD = ("points", "fired", "ended_0", "ended_5", "killed", "acknowledged")
BAD = ("lost", "codes", "tracebacks", "hurt", "half", "litter", "untrue", "failed", "unequal",
       "hangs")  # fmt: skip


def units_on_disk(folder: Path) -> Units:
    """The units that can be read in the folders of unfinished runs."""
    from fsframe.errors import StoreError
    from fsframe.storage.unit_files import read_index

    found: set[tuple[str, str]] = set()
    for path in folder.rglob("*.units/units-*"):
        with contextlib.suppress(StoreError):
            found |= {(path.parent.name, str(unit)) for unit in read_index(path)}
    return frozenset(found)


def lost_units(safe: Units, folder: Path) -> list[tuple[str, str]]:
    """Of units that were safe, those that are not there any more, and that no result stands for."""
    if list(folder.rglob("study.zip")):
        return []
    lost = safe - units_on_disk(folder)
    return sorted(each for each in lost if not list(folder.rglob(each[0].removesuffix(".units"))))


def parts_on_disk(folder: Path) -> set[int]:
    """Finished resamples and stages, without and with those that lie beside a finished run."""
    from tests.faults.signals import parts_on_disk as parts

    return {parts(folder), parts(folder, beside_results=True)}


def judge_first(
    done: Ended, folder: Path, what: str, form: Form, before: dict[str, str],
    expected: dict[str, str], same: set[str], counts: Counts,
) -> None:  # fmt: skip
    """Whether a command that met a fault left everything whole and spoke the truth."""
    last = done.said.splitlines()[-1] if done.said.splitlines() else ""
    what = f"{what}: {done.code}: {done.said[-2400 if done.code == -99 else -240 :]!r}"
    if done.code == -99:
        counts.note("hangs", what)
    elif done.code in (0, 5):
        counts.numbers[f"ended_{done.code}"] += 1
    elif done.code == form.error == -signal.SIGKILL:
        counts.numbers["killed"] += 1
    else:
        counts.note("codes", what)
    if "Traceback" in done.said or "Exception ignored" in done.said:
        counts.note("tracebacks", what)
    counts.numbers["acknowledged"] += len(done.safe)
    if lost := lost_units(done.safe, folder):
        counts.note("lost", f"{what}: {lost[:2]}", len(lost))
    place = folder / "elsewhere" if (folder / "elsewhere").exists() else folder / "out"
    now = files(folder)
    if place.name == "elsewhere":
        # Made anew where the folder was: counted as it stands there.
        moved = {f"out/{n[10:]}": v for n, v in now.items() if n.startswith("elsewhere/")}
        now = {n: v for n, v in now.items() if not n.startswith("elsewhere/")} | moved
    for name, digest in before.items():
        if now.get(name) not in (
            digest,
            expected.get(name) if name.startswith("out/old") else None,
        ):
            counts.note("hurt", f"{what}: {name} is {now.get(name)}")
    for name, digest in now.items():
        if name in before:
            continue
        if name not in expected:
            # What a study has finished is kept, and gone on from.
            if "/cells/" in name and name.endswith(".h5"):
                if digest.startswith("damaged"):
                    counts.note("half", f"{what}: {name}")
            elif form.tidy and done.code != -99:
                counts.note("litter", f"{what}: {name}")
        elif name in same and digest != expected[name]:
            counts.note("half", f"{what}: {name}")
    if done.code == 0 and any(now.get(n) is None for n in expected if not n.endswith(".log")):
        missing = [n for n in expected if n not in now]
        counts.note("untrue", f"{what}: it succeeded without {missing}")
    if done.code == 0 and any(now[n] != expected[n] for n in same if n in now):
        counts.note("untrue", f"{what}: it succeeded with another result")
    there = parts_on_disk(folder)
    kept = re.search(r"(\d+) finished resamples and stages are kept", done.said)
    if kept and int(kept[1]) not in there:
        counts.note("untrue", f"{what}: {kept[0]}, {there} are on the disk")
    for name in re.findall(r"cannot write \S*?/run/(out/[^\s:]+):", done.said):
        new = now.get(name) is not None and now.get(name) != before.get(name)
        if new and name in same and now[name] == expected.get(name):
            counts.note("untrue", f"{what}: {name} is whole in its place")
    if "wrote nothing" in last and now != before:
        counts.note("untrue", f"{what}: there is {sorted(set(now) - set(before))}")


def judge_second(
    done: Ended, folder: Path, what: str, expected: dict[str, str], same: set[str], counts: Counts
) -> None:
    """Whether the same command, on a sound disk, came to what it comes to undisturbed."""
    now = files(folder)
    there_already = done.code == 5 and re.search("is there already|already exists", done.said)
    what = f"{what}, then: {done.code}: {done.said[-2400 if done.code == -99 else -240 :]!r}"
    if done.code == -99:
        counts.note("hangs", what)
    elif done.code != 0 and not there_already:
        counts.note("failed", what)
        return
    if "Traceback" in done.said or "Exception ignored" in done.said:
        counts.note("tracebacks", what)
    wrong = [n for n in expected if n not in now or (n in same and now[n] != expected[n])]
    if wrong:
        counts.note("unequal", f"{what}: {wrong}")
    # What is left of a run file goes with the next command on it.
    if rest := [n for n in now if ".h5." in n and n.endswith(".partial") and done.code == 0]:
        counts.note("litter", f"{what}: {rest}")


def points(step: int, offset: int, calls: int) -> Iterator[int]:
    yield from range(min(offset, max(calls - 1, 0)), calls, step)


def trials(
    base: Path, disk: Disk, command: str, forms: list[str], step: int, offset: int, counts: Counts
) -> int:
    """All forms at every call of a command; how many calls change the disk."""
    words = COMMANDS[command]
    ready, folder = base / "ready", base / "run"

    def fresh() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ready, folder)
        if command != "resume":
            shutil.rmtree(folder / "out" / "half.h5.units")

    fresh()
    assert run(folder, words, disk).code == 0
    import_noted(base)
    fresh()
    before = files(folder)
    plain = run(folder, words, disk, Form(_ALL | _CLOSE, 0), -1)
    assert plain.code == 0, plain.said
    expected = files(folder)
    fresh()
    again = run(folder, words, disk)
    assert again.code == 0, again.said
    same = timeless(expected, files(folder))
    for name in forms:
        form = FORMS[name]
        fresh()
        calls = run(folder, words, disk, form, -1).calls
        # Of writes that are only cut short nothing is to be seen later: all of them at once.
        for at in [0] if form.part == -2 and calls else points(step, offset, calls):
            fresh()
            first = run(folder, words, disk, form, at)
            what = f"{command}, {name}, call {at + 1} of {calls}"
            counts.numbers["points"] += 1
            counts.numbers["fired"] += bool(first.fired)
            judge_first(first, folder, what, form, before, expected, same, counts)
            if (folder / "elsewhere").exists():
                shutil.rmtree(folder / "out", ignore_errors=True)
                (folder / "elsewhere").rename(folder / "out")
            judge_second(run(folder, words, disk), folder, what, expected, same, counts)
    return plain.calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", choices=list(COMMANDS), action="append")
    parser.add_argument("--form", choices=list(FORMS), action="append")
    parser.add_argument("--step", type=int, default=1, help="try each STEP-th call only")
    parser.add_argument("--offset", type=int, default=0, help="begin at this call")
    parser.add_argument("--add", type=Path, help="a file of lines; one for each command is added")
    options = parser.parse_args()
    if "faulty-disk" not in os.environ.get("LD_PRELOAD", ""):
        library = built()
        try:
            # SIGINT reaches both.
            environ = {**os.environ, "LD_PRELOAD": str(library)}
            done = subprocess.run([sys.executable, *sys.argv], env=environ)
        finally:
            library.unlink()
        raise SystemExit(done.returncode)
    others = [p for p in [os.environ.get("PYTHONPATH")] if p]
    os.environ["PYTHONPATH"] = os.pathsep.join([*sys.path[:2], *others])
    disk = Disk()
    base = folder_in_memory("disk")
    warm_up(base / "safe")
    try:
        # Where it will be: an unfinished run says where its table is.
        make_inputs(base / "run", disk)
        shutil.copytree(base / "run", base / "ready")
        for command in options.command or COMMANDS:
            counts = Counts()
            began = time.perf_counter()
            calls = trials(base, disk, command, options.form or list(FORMS), options.step,
                           options.offset, counts)  # fmt: skip
            line = {
                "command": command,
                "forms": len(options.form or FORMS),
                "calls": calls,
                "every": options.step,
                "offset": options.offset,
                **{name: counts.numbers[name] for name in (*GOOD, *BAD)},
                "examples": counts.examples,
                "seconds": round(time.perf_counter() - began, 1),
            }
            tell(line, options.add)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def warm_up(safe: Path) -> None:
    """Import everything, start no thread, and have every batch of resamples kept by itself.

    What a checkpoint has made safe is added to the file `safe`.
    """
    import fsframe.resampling.dispatch as batches
    import fsframe.show.page
    from fsframe.chains.chain import Chain
    from fsframe.storage.checkpoint import Checkpoint
    from fsframe.storage.encoding import fingerprint

    Chain.parse("tiny npfs:n=3,permutations=2 weighted-knn")
    # Each process takes it once; the forks have that of this one.
    fingerprint()
    batches._AIM_SECONDS, batches._TRIAL = 0.0, 1
    assert Checkpoint.open.__func__.__kwdefaults__ is not None  # type: ignore[attr-defined]
    Checkpoint.open.__func__.__kwdefaults__["every"] = 0.0  # type: ignore[attr-defined]
    flush = Checkpoint.flush

    def told(checkpoint: Checkpoint) -> None:
        waiting = [f"{checkpoint.folder.name}\t{unit}\n" for unit, _ in checkpoint._waiting]
        flush(checkpoint)
        with safe.open("a") as file:
            file.writelines(waiting)

    Checkpoint.flush = told  # type: ignore[method-assign]
    assert fsframe.show.page


if __name__ == "__main__":
    main()
