"""Things to resample that misbehave; workers import this module by its name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import attrs
import numpy as np

from fsframe.errors import DataError
from fsframe.method.run import Run
from fsframe.method.selection import Selection


@attrs.frozen(kw_only=True)
class Noise:
    """Scores that depend on the part's stream, the counts and the table, one by one."""

    seconds: float = 0.0

    def select(self, data, upstream=None, run=None):
        time.sleep(self.seconds)
        scores = data.X.T @ data.counts + run.generator().random(data.n_features)
        if upstream is not None:
            scores = scores + upstream.scores
        kept = np.argsort(-scores)[:3]
        return Selection(
            selected=kept,
            scores=scores,
            tables={"order": np.argsort(scores)},
            model={"y": data.y},
            warnings=(f"seen as {data.name}",),
        )

    def select_many(self, data, counts, upstream=None, run=None):
        surroundings = run or Run()
        return [
            self.select(data.with_counts(row), upstream, surroundings.child(b))
            for b, row in enumerate(counts)
        ]


@attrs.frozen(kw_only=True)
class Bounds(Noise):
    """Says how much memory it may use."""

    def select(self, data, upstream=None, run=None):
        tables = {"memory": np.array([run.memory])}
        return attrs.evolve(super().select(data, upstream, run), tables=tables)


@attrs.frozen(kw_only=True)
class Deadly(Noise):
    """Kills the process that computes some part, as often as there are files to remove."""

    part: int
    folder: str

    def select(self, data, upstream=None, run=None):
        if run.key[-1] == self.part:
            for file in Path(self.folder).glob("life-*"):
                file.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return super().select(data, upstream, run)


def total_of_parts(ask: Path, parts: list[int], threads: int) -> int:
    """The sum of some parts; the first process that is given part 1 kills itself."""
    mark = ask / "killed"
    if 1 in parts and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return sum(parts)


class Unsendable(Exception):
    """An error that cannot be made again from its arguments."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


@attrs.frozen(kw_only=True)
class Failing(Noise):
    """Raises in part 3."""

    how: str

    def select(self, data, upstream=None, run=None):
        if run.key[-1] == 3:
            if self.how == "ours":
                raise DataError("part 3 is no good")
            if self.how == "plain":
                raise ZeroDivisionError("part 3 divides")
            raise Unsendable("this", "that")
        return super().select(data, upstream, run)


def threads_in_use() -> tuple[list[int], str, str]:
    """Threads of each linear algebra library, numba's variable, and what SIGINT does."""
    import numpy as np
    import threadpoolctl

    np.zeros((2, 2)) @ np.zeros((2, 2))
    found = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
    return found, os.environ["NUMBA_NUM_THREADS"], str(signal.getsignal(signal.SIGINT))


def wait_long() -> None:
    time.sleep(100)


def array_flags(shared) -> list[tuple[bool, bool]]:
    """Whether the arrays of a shared value can be written to, and whether they are aligned."""
    from fsframe.execution.engine import fetch

    arrays = [value for value in fetch(shared) if isinstance(value, np.ndarray)]
    return [(a.flags.writeable, a.flags.aligned and a.ctypes.data % 64 == 0) for a in arrays]


@attrs.frozen(kw_only=True)
class Traced(Noise):
    """Leaves the number of the process that computes it."""

    folder: str

    def select(self, data, upstream=None, run=None):
        (Path(self.folder) / str(os.getpid())).touch()
        return super().select(data, upstream, run)


def stop_here() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def half_an_answer() -> None:
    """Begin to write an answer as a worker of a process pool does, and die."""
    import struct
    import sys

    frame = sys._getframe()
    while "result_queue" not in frame.f_locals:
        frame = frame.f_back
    writer = frame.f_locals["result_queue"]._writer
    os.write(writer.fileno(), struct.pack("!i", 1 << 20) + b"half")
    os.kill(os.getpid(), signal.SIGKILL)
