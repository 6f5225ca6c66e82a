"""Kills, full disks and broken disks, by the hundred; prints what came of them.

    python tests/faults/harness.py kill-points
    python tests/faults/harness.py errors --error ENOSPC then errors --error EIO --once

Everything is imported once; each trial is a fork of this process, so that it costs milliseconds. A
trial runs a small chain into a run file, with a fault on the way; then a second fork goes on from
what the first left. Counted are

    lost       units that the first had acknowledged and the second did not find
    unequal    second runs whose digests are not those of a run without faults
    crashes    ends that are neither the fault's own nor one of ours
    litter     trials after which anything but the run file was left
    unclear    failures that were not told in one sentence of ours
"""

from __future__ import annotations

import argparse
import errno
import functools
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent / "tiny_plugin"))

import numpy as np

import fsframe.atomic as atomic_module
import fsframe.resampling.dispatch as batches_module
import fsframe.storage.checkpoint as checkpoint_module
from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError
from fsframe.storage.checkpoint import Checkpoint
from fsframe.storage.unit_files import Manifest
from fsframe.table.dataset import Dataset
from tests.faults.forks import Counts, folder_in_memory, tell

CHAIN = "tiny:top=5 npfs:n=6,permutations=2,alpha=0.2"
# Every system call by which the program changes a disk; its states lie between two of them.
CALLS = {
    atomic_module: ("open", "write", "fsync", "link", "replace", "unlink"),
    checkpoint_module: ("open", "pwrite", "ftruncate", "unlink", "rmdir", "replace"),
}


class FaultyOs:
    """The module `os` as one of the program's modules sees it, some calls watched."""

    def __init__(
        self, names: tuple[str, ...], watch: Callable[[str, tuple[Any, ...]], None]
    ) -> None:
        self._names, self._watch = names, watch

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in self._names:
            return real

        def watched(*arguments: Any, **options: Any) -> Any:
            self._watch(name, arguments)
            return real(*arguments, **options)

        return watched


def install(watch: Callable[[str, tuple[Any, ...]], None]) -> None:
    """Have `watch` called before each of the calls, in this process from now on."""
    for module, names in CALLS.items():
        module.os = FaultyOs(names, watch)
    real_mkdir = Path.mkdir

    def mkdir(path: Path, *arguments: Any, **options: Any) -> None:
        watch("mkdir", (path,))
        real_mkdir(path, *arguments, **options)

    Path.mkdir = mkdir  # type: ignore[method-assign]


def table() -> Dataset:
    generator = np.random.default_rng(3)
    X = generator.normal(size=(30, 8))
    y = (X[:, 0] + 0.5 * generator.normal(size=30) > 0).astype(int)
    return Dataset.from_arrays(X, y, name="tiny")


def run(out: Path, acknowledge: Callable[[list[str]], None]) -> dict[str, str]:
    """The digests of the chain run into `out`; told are the units it finds or has made safe."""
    chain = Chain.parse(CHAIN)
    manifest = Manifest.of(chain, DATA, 7)
    # One unit per resample, each written at once: as many commit points as can be.
    with Checkpoint.open(out, manifest, every=0.0) as checkpoint:
        result = sorted(str(unit) for units in checkpoint._places.values() for unit in units)
        acknowledge([f"found {unit}" for unit in result])
        flush = checkpoint.flush

        def told() -> None:
            waiting = [str(unit) for unit, _ in checkpoint._waiting]
            flush()
            acknowledge([f"safe {unit}" for unit in waiting])

        checkpoint.flush = told  # type: ignore[method-assign]
        return chain.run(DATA, 7, out, checkpoint=checkpoint).digests()


class Outcome:
    """What a forked run said and how it ended."""

    def __init__(self, lines: list[str], status: int) -> None:
        self.safe = {line[5:] for line in lines if line.startswith("safe ")}
        self.found = {line[6:] for line in lines if line.startswith("found ")}
        self.digests = next((line[8:] for line in lines if line.startswith("digests ")), "")
        self.error = next((line[6:] for line in lines if line.startswith("error ")), "")
        self.unclear = next((line[8:] for line in lines if line.startswith("unclear ")), "")
        self.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        self.code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1


def forked(out: Path, prepare: Callable[[], None]) -> Outcome:
    """Run in a fork, `prepare` first."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)

        def say(lines: list[str]) -> None:
            os.write(writing, "".join(f"{line}\n" for line in lines).encode())

        code = 1
        try:
            prepare()
            say(["digests " + json.dumps(run(out, say))])
            code = 0
        except FsframeError as error:
            say(["error " + " ".join(str(error).split())])
        except BaseException as error:
            say([f"unclear {type(error).__name__}: {error}".replace("\n", " ")])
        finally:
            os._exit(code)
    os.close(writing)
    with open(reading) as pipe:
        lines = pipe.read().splitlines()
    return Outcome(lines, os.waitpid(child, 0)[1])


def no_counts() -> Counts:
    names = ("lost", "unequal", "crashes", "litter", "unclear")
    return Counts("trials", "stopped", "acknowledged", *names)


def go_on(folder: Path, first: Outcome, counts: Counts, what: str) -> None:
    """Judge a run that met a fault, finish it in a new process, and judge the result."""
    out = folder / "run.h5"
    counts.numbers["trials"] += 1
    counts.numbers["acknowledged"] += len(first.safe)
    counts.numbers["stopped"] += not first.digests
    if first.unclear:
        counts.note("unclear", f"{what}: {first.unclear}")
    if first.signal not in (0, signal.SIGKILL) or (first.code not in (0, 1) and not first.signal):
        counts.note("crashes", f"{what}: signal {first.signal}, code {first.code}")
    digests = first.digests
    # A run that was told that its file is there, or had written it, is finished.
    if not digests and not out.exists():
        second = forked(out, lambda: None)
        lost = first.safe - second.found
        counts.note("lost", f"{what}: {sorted(lost)[:2]}", len(lost))
        if second.unclear or second.error or second.signal:
            how = second.unclear or second.error or second.signal
            counts.note("crashes", f"{what}, then: {how}")
        digests = second.digests
    elif not digests:
        from fsframe.storage import load_run

        digests = json.dumps(load_run(out).digests())
        # What is left of the folder goes with the next command on this file.
        Checkpoint.open(out, Manifest.of(Chain.parse(CHAIN), DATA, 7), overwrite=True).finish()
    if digests != EXPECTED:
        counts.note("unequal", what)
    rest = sorted(entry.name for entry in folder.iterdir() if entry.name != "run.h5")
    if rest and not (rest[0].endswith(".partial") and not first.digests and out.exists()):
        counts.note("litter", f"{what}: {rest}")


def in_folders() -> Iterator[Path]:
    """New empty folders, each removed when the next is asked for."""
    base = folder_in_memory("faults")
    try:
        number = 0
        while True:
            number += 1
            folder = base / str(number)
            folder.mkdir()
            yield folder
            shutil.rmtree(folder)
    finally:
        shutil.rmtree(base, ignore_errors=True)


@functools.cache
def count_calls() -> list[str]:
    """The names of the watched calls of one undisturbed run, in order; counted once."""
    with tempfile.TemporaryDirectory() as name:
        seen = Path(name) / "seen"
        seen.touch()

        def prepare() -> None:
            log = os.open(seen, os.O_WRONLY | os.O_APPEND)
            install(lambda name, _: os.write(log, f"{name}\n".encode()) and None)

        outcome = forked(Path(name) / "run.h5", prepare)
        assert outcome.digests == EXPECTED, (outcome.error, outcome.unclear)
        return seen.read_text().split()


def at_each_call(
    what: str, fault: Callable[[str, tuple[Any, ...], int], None], step: int, offset: int
) -> Counts:
    """A fault at each call that changes the disk; it is told how many calls off its own is."""
    counts, folders, names = no_counts(), in_folders(), count_calls()
    for number in range(offset, len(names), step):

        def prepare(at: int = number) -> None:
            left = itertools.count(at, -1)
            install(lambda name, arguments: fault(name, arguments, next(left)))

        folder = next(folders)
        call = f"{what} call {number + 1}, {names[number]}"
        go_on(folder, forked(folder / "run.h5", prepare), counts, call)
    return counts


def kill_points(step: int, offset: int) -> Counts:
    """SIGKILL before each call that changes the disk."""

    def kill(name: str, arguments: tuple[Any, ...], left: int) -> None:
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return at_each_call("killed before", kill, step, offset)


def errors(code: int, step: int, offset: int, *, lasting: bool, short: bool) -> Counts:
    """An error at each call that changes the disk: once, or from there on in that process."""

    def fail(name: str, arguments: tuple[Any, ...], left: int) -> None:
        # Room may be short for writing and for new names, never for taking names away.
        if left > 0 or (left < 0 and not lasting) or name in ("unlink", "rmdir"):
            return
        if short and name == "write" and left == 0:
            os.write(arguments[0], bytes(arguments[1][: len(arguments[1]) // 2]))
        raise OSError(code, os.strerror(code))

    return at_each_call(f"{errno.errorcode[code]} at", fail, step, offset)


DATA = table()
EXPECTED = json.dumps(Chain.parse(CHAIN).run(DATA, 7).digests())
# One resample a batch, whatever it takes.
batches_module._AIM_SECONDS = 0.0
batches_module._TRIAL = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["kill-points", "errors"])
    parser.add_argument("--error", default="ENOSPC", choices=["ENOSPC", "EIO", "EDQUOT", "EROFS"])
    parser.add_argument(
        "--once", action="store_true", help="the error comes once, not from there on"
    )
    parser.add_argument("--short", action="store_true", help="half of the bytes are written first")
    parser.add_argument("--step", type=int, default=1, help="try each STEP-th call only")
    parser.add_argument("--offset", type=int, default=0, help="begin at this call")
    parser.add_argument("--add", type=Path, help="a file of lines; this run's is added")
    lines: list[list[str]] = [[]]
    for word in sys.argv[1:]:
        if word == "then":
            lines.append([])
        else:
            lines[-1].append(word)
    for words in lines:
        tried(parser.parse_args(words))


def tried(options: argparse.Namespace) -> None:
    """Try what one line of words asks for, and print its counts."""
    began = time.perf_counter()
    if options.what == "kill-points":
        counts = kill_points(options.step, options.offset)
    else:
        code = getattr(errno, options.error)
        counts = errors(
            code, options.step, options.offset, lasting=not options.once, short=options.short
        )
    line: dict[str, Any] = {"what": options.what, **counts.numbers, "examples": counts.examples}
    line["seconds"] = round(time.perf_counter() - began, 1)
    if options.what == "errors":
        line |= {"error": options.error, "once": options.once, "half": options.short}
    tell(line, options.add)


if __name__ == "__main__":
    main()
