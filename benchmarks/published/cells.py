"""Repetitions of cross-validations as run files, never computed twice, and their order."""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

import fsframe
from fsframe.chains.chain import Chain, Stage
from fsframe.errors import StoreError
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.measuring import join_repetitions
from fsframe.evaluation.summary import Evaluation, summarise
from fsframe.method.run import Progress
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


class OutOfTime(Exception):
    """The time limit is reached; finished repetitions are kept."""


@attrs.frozen(kw_only=True)
class Bench:
    """Folders of data and run files, and the time limit of the script.

    Parameters
    ----------
    data, work : Path
        Tables are read from `data`; run files and unfinished work live in `work`.
    deadline : float
        Seconds since the epoch after which nothing more is started, not even a fold.
    """

    data: Path
    work: Path
    deadline: float = float("inf")

    def table(self, name: str) -> Dataset:
        """The table of that name in the data folder."""
        return fsframe.read(self.data / name)

    def has(self, name: str) -> bool:
        """Whether the data folder has such a table."""
        return any(self.data.glob(f"{name}.*"))

    def repetition(self, base: str, table: Dataset, seed: int, **protocol: Any) -> Any:
        """The record of one cross-validation: read if it is finished, else computed.

        Raises
        ------
        OutOfTime
            Past the deadline, if there is something left to compute.
        """
        chain, path = self._file(base, table, seed, protocol)
        if path.exists():
            return fsframe.load_run(path)
        if time.time() > self.deadline:
            raise OutOfTime
        self.work.mkdir(parents=True, exist_ok=True)

        def watch(progress: Progress) -> None:
            if time.time() > self.deadline and progress.done < progress.total:
                raise OutOfTime

        began = time.perf_counter()
        # One thread: the job is a guest on its machine, and the bits are the same.
        record = chain.run(table, seed, path, listener=watch, threads=1)
        seconds = time.perf_counter() - began
        print(f"{table.name:12} #{seed} {base:60.60} {seconds:7.1f} s", flush=True)
        return record

    def evaluate(
        self, base: str, table: Dataset, repeats: int, **protocol: Any
    ) -> tuple[Evaluation, Selection]:
        """Repeated cross-validation of a chain: its evaluation and its Selection with all tables.

        Repetition r is a separate run with seed r, so that more can be added later, and all chains
        have the same folds.
        """
        runs = [self.repetition(base, table, seed, **protocol) for seed in range(repeats)]
        selection = join_repetitions([run.stages[-1].selection for run in runs])
        return summarise(selection), selection

    def finished(self, base: str, table: Dataset, **protocol: Any) -> int:
        """Number of finished repetitions, without gaps from the first."""
        done = 0
        while self._file(base, table, done, protocol)[1].exists():
            done += 1
        return done

    def _file(
        self, base: str, table: Dataset, seed: int, protocol: dict[str, Any]
    ) -> tuple[Chain, Path]:
        method = CrossValidation(base=base, repeats=1, **protocol)
        chain = Chain((Stage("cross-validation", method),))
        digest = hashlib.sha256(f"{chain} {table.sha256}".encode()).hexdigest()[:12]
        slug = "".join(c if c.isalnum() else "-" for c in base)[:60].strip("-")
        return chain, self.work / f"{table.name}.{slug}.{digest}.{seed}.h5"


@attrs.define(eq=False)
class Cell:
    """A chain on a table, and its finished repetitions.

    Parameters
    ----------
    base : str
    table : Dataset
    done : int
        Finished repetitions.
    seconds : float
        Cost of one more: an estimate at first, later the time of the last one.
    protocol : mapping
        Parameters of the folds that differ from the defaults.
    """

    base: str
    table: Dataset
    done: int
    seconds: float
    protocol: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def claim(self) -> float:
        """Priority of the next repetition: seconds per unit of variance removed, smallest first.

        The variance left after n repetitions is proportional to 1/n, so that one more removes
        1/(n (n + 1)) of it. A first repetition precedes a second one unless it costs twenty times
        as much.
        """
        return self.seconds * (self.done * (self.done + 1) if self.done else 1 / 10)


def grow(bench: Bench, cells: Sequence[Cell], repeats: int) -> None:
    """Compute repetitions of all cells, those with the most information per second first.

    Raises
    ------
    OutOfTime
        Past the deadline, if there is something left to compute.
    """
    waiting = list(cells)
    while open_cells := [cell for cell in waiting if cell.done < repeats]:
        cell = min(open_cells, key=lambda cell: cell.claim)
        began = time.perf_counter()
        try:
            bench.repetition(cell.base, cell.table, cell.done, **cell.protocol)
        except StoreError as error:
            # Another process is at it.
            print(f"left alone: {error}", flush=True)
            waiting.remove(cell)
            continue
        cell.done += 1
        cell.seconds = max(0.05, time.perf_counter() - began)


def evaluations(
    bench: Bench, cells: Mapping[Any, Cell], repeats: int
) -> dict[Any, tuple[Evaluation, Selection]]:
    """The evaluation of each cell from its finished repetitions, at most `repeats`."""
    return {
        key: bench.evaluate(cell.base, cell.table, min(cell.done, repeats), **cell.protocol)
        for key, cell in cells.items()
        if cell.done
    }


def arguments(about: str | None, extra: Callable[[argparse.ArgumentParser], Any] | None = None):
    """The command line that all scripts share, and its Bench."""
    parser = argparse.ArgumentParser(
        description=(about or "").splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the tables")
    parser.add_argument("--work", type=Path, default=HERE / "work", help="folder for run files")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the tables")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long; 0: never")
    parser.add_argument("--quick", action="store_true", help="smallest sets, one repetition")
    if extra is not None:
        extra(parser)
    options = parser.parse_args()
    deadline = time.time() + 60 * options.minutes if options.minutes else float("inf")
    return options, Bench(data=options.data, work=options.work, deadline=deadline)


def folds_of(table: Dataset, most: int = 10) -> int:
    """Ten folds, or as many as the smallest class has members."""
    return min(most, int(table.class_sizes().min()))
