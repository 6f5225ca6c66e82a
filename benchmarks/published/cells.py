"""What the scripts of this folder share: one evaluation as a run file that is never computed twice,
and tables that say when, on what and with which versions they were made.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs

import fsframe
from fsframe.chain import Chain, Stage
from fsframe.dataset import Dataset
from fsframe.evaluation.cross_validation import CrossValidation
from fsframe.evaluation.summary import Evaluation, summarise
from fsframe.run import Progress
from fsframe.selector import WrappingSelector

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


class OutOfTime(Exception):
    """The time that was given is used up; what is finished is kept."""


@attrs.frozen(kw_only=True)
class Bench:
    """Where data and run files are, and how long the script may run.

    Parameters
    ----------
    data, work : Path
        Tables are read from `data`; run files and unfinished work live in `work`.
    deadline : float
        Seconds since the epoch after which nothing more is begun, not even a fold.
    """

    data: Path
    work: Path
    deadline: float = float("inf")
    seed: int = 0

    def table(self, name: str) -> Dataset:
        """The table of that name in the data folder."""
        return fsframe.read(self.data / name)

    def has(self, name: str) -> bool:
        """Whether the data folder has such a table."""
        return any(self.data.glob(f"{name}.*"))

    def run(self, kind: str, method: WrappingSelector, table: Dataset, what: str) -> Any:
        """The record of a protocol stage on a table: read if it is finished, else computed.

        Raises
        ------
        OutOfTime
            Past the deadline, if there is something left to compute.
        """
        chain = Chain((Stage(kind, method),))
        digest = hashlib.sha256(f"{chain} {table.sha256} {self.seed}".encode()).hexdigest()[:12]
        slug = "".join(c if c.isalnum() else "-" for c in what)[:60].strip("-")
        path = self.work / f"{table.name}.{slug}.{digest}.h5"
        if path.exists():
            return fsframe.load_run(path)
        if time.time() > self.deadline:
            raise OutOfTime
        self.work.mkdir(parents=True, exist_ok=True)

        def watch(progress: Progress) -> None:
            if time.time() > self.deadline and progress.done < progress.total:
                raise OutOfTime

        began = time.perf_counter()
        record = chain.run(table, self.seed, path, listener=watch)
        print(f"{table.name:14} {what:62.62} {time.perf_counter() - began:7.1f} s", flush=True)
        return record

    def evaluate(self, base: str, table: Dataset, **protocol: Any) -> tuple[Evaluation, Any]:
        """What cross-validation says of a chain on a table, and its Selection with all tables."""
        method = CrossValidation(base=base, **protocol)
        record = self.run("cross-validation", method, table, f"{base} {_short(protocol)}")
        selection = record.stages[-1].selection
        return summarise(selection), selection


def _short(protocol: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(protocol.items()))


def arguments(about: str | None, extra: Callable[[argparse.ArgumentParser], Any] | None = None):
    """The command line that all scripts share, and the Bench it asks for."""
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


def write_tables(
    folder: Path,
    name: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    title: str,
    notes: Sequence[str] = (),
) -> None:
    """The rows as ``name.csv``, and as ``name.md`` with date, machine and versions."""
    held = [list(row) for row in rows]
    if not held:
        print(f"{name}: nothing finished, no table")
        return
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([["" if v is None else v for v in row] for row in held])
    lines = [f"# {title}", "", *environment_lines(), ""]
    for note in notes:
        lines += [note, ""]
    lines += ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(_cell(v) for v in row) + " |" for row in held]
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n")
    print(f"wrote {folder / name}.csv and .md ({len(held)} rows)")


def _cell(value: Any) -> str:
    if value is None:
        return "—"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def environment_lines() -> list[str]:
    """Date, machine and versions."""
    packages = ("fsframe", "numpy", "scipy", "numba", "scikit-learn")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return [f"Made {today} on {machine()}, with {versions}."]


def machine() -> str:
    """Cores and vector instructions, as far as the system tells."""
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        flags = ""
    kinds = [(" avx512f", "AVX-512"), (" avx2", "AVX2"), (" asimd", "NEON")]
    kind = next((name for flag, name in kinds if flag in flags), "unknown")
    return f"{len(os.sched_getaffinity(0))} cores, {kind} class"


def folds_of(table: Dataset, most: int = 10) -> int:
    """Ten folds, or as many as the smallest class has members."""
    return min(most, int(table.class_sizes().min()))


def percent(value: float) -> float:
    """A share in percent, to two places."""
    return round(100.0 * value, 2)
