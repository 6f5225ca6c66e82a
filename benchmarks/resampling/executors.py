"""Costs and gains of engines and checkpoints: ratios measured in one run.

    python benchmarks/resampling/executors.py [--only immigrate,mim,small,overhead,stop]

Two workers are compared with one process that may use one thread, since that is what each worker
may use; rounds alternate between the two, so that other load on the machine affects both. On a busy
machine two workers cannot have two processors, so processor seconds are given as well as elapsed
ones, and resamples that only sleep show the cost of distribution alone. The maximum that the
machine allows is measured in the same rounds: both workers do the whole serial run at the same
time, and nothing is distributed. One process with two threads is also measured, and small runs
including the start of the workers.
"""

from __future__ import annotations

import os

# Before numerical libraries are loaded: the serial side has one thread, as each worker has.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import argparse
import contextlib
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import attrs
import numpy as np

from fsframe.chains.chain import Chain
from fsframe.chains.request import Request
from fsframe.execution import Engine, open_engine
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.resampling.resamples import select_resamples
from fsframe.table.dataset import Dataset


@attrs.frozen(kw_only=True)
class Idle:
    """A selector that sleeps for a known time in each resample."""

    seconds: float

    def select_many(self, data, counts, upstream=None, run=None):  # type: ignore[no-untyped-def]
        time.sleep(self.seconds * len(counts))
        return [Selection(selected=[0], scores=np.zeros(data.n_features)) for _ in counts]


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def xor_table(n: int, p: int) -> Dataset:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, p))
    return Dataset.from_arrays(X, (X[:, 0] * X[:, 1] > 0).astype(int))


def level_table(n: int, p: int) -> Dataset:
    generator = np.random.default_rng(1)
    X = generator.integers(0, 5, size=(n, p)).astype(float)
    return Dataset.from_arrays(X, (X[:, :5].sum(axis=1) > 10).astype(int))


TABLES = {"xor": xor_table, "levels": level_table}


@lru_cache
def table_of(kind: str, n: int, p: int) -> Dataset:
    return TABLES[kind](n, p)


def serially(text: str, table: tuple[str, int, int]) -> None:
    """The whole run in one process and thread, also as the task of a single worker."""
    Chain.parse(text).run(table_of(*table), threads=1)


def both_at_once(engine: Engine, text: str, table: tuple[str, int, int]) -> None:
    for future in [engine.submit(serially, text, table) for _ in range(2)]:
        future.result()


def workers_against_serial(name: str, text: str, table: tuple[str, int, int], rounds: int) -> None:
    chain, data = Chain.parse(text), table_of(*table)
    expected = chain.run(data, threads=1).digests()
    alone, together, unshared, threaded, others = [], [], [], [], []
    spent_alone = spent_together = 0.0
    with open_engine("processes", 2) as engine:
        # Starting workers is not measured here: it is the same for a run of a minute and of a day.
        assert chain.run(data, executor=engine).digests() == expected
        both_at_once(engine, text, table)
        for _ in range(rounds):
            machine, before = busy_seconds(), processor_seconds(engine)
            alone.append(seconds(lambda: chain.run(data, threads=1)))
            between = processor_seconds(engine)
            together.append(seconds(lambda: chain.run(data, executor=engine)))
            spent_alone += between - before
            spent_together += processor_seconds(engine) - between
            ours = processor_seconds(engine) - before
            others.append((busy_seconds() - machine - ours) / (alone[-1] + together[-1]))
            unshared.append(seconds(lambda: both_at_once(engine, text, table)))
            threaded.append(seconds(lambda: chain.run(data, threads=2)))
    ratios = [one / two for one, two in zip(alone, together, strict=True)]
    limits = [2 * one / two for one, two in zip(alone, unshared, strict=True)]
    kept = [whole / (2 * two) for whole, two in zip(unshared, together, strict=True)]
    shown, taken = (", ".join(f"{x:.2f}" for x in numbers) for numbers in (ratios, others))
    print(
        f"{name}: serial {statistics.median(alone):.2f} s, 2 workers "
        f"{statistics.median(together):.2f} s, ratio median {statistics.median(ratios):.2f} "
        f"({shown})"
    )
    shown = ", ".join(f"{x:.2f}" for x in limits)
    print(
        "  both workers with the whole run each, at once: ratio median "
        f"{statistics.median(limits):.2f} ({shown}); of that sharing out keeps "
        f"{statistics.median(kept):.2f}"
    )
    print(
        f"  processors that others used meanwhile: {taken}; processor seconds "
        f"{spent_together / spent_alone:.2f} of the serial ones; one process with two threads "
        f"{statistics.median(threaded):.2f} s"
    )


def small_runs(rounds: int) -> None:
    """The same tests with fewer bootstraps, including the start of two workers."""
    data = level_table(5000, 1000)
    for n in (10, 50, 200, 1000):
        chain = Chain.parse(f"mim:top=20 npfs:n={n},permutations=10,alpha=0.05")
        alone, together = [], []
        for _ in range(rounds):
            alone.append(seconds(lambda chain=chain: chain.run(data, threads=1)))

            def started(chain: Chain = chain) -> None:
                with open_engine("processes", 2) as engine:
                    chain.run(data, executor=engine)

            together.append(seconds(started))
        print(
            f"NPFS over mim, {11 * n} fits: serial {statistics.median(alone):.2f} s, two workers "
            f"with their start {statistics.median(together):.2f} s"
        )


def processor_seconds(engine: Engine) -> float:
    """Processor time of this process and of the engine's workers, so far."""
    total = time.process_time()
    for pid in engine.executor._processes:  # type: ignore[attr-defined]
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def busy_seconds() -> float:
    """Processor time of the whole machine, so far."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    idle, waiting = fields[3], fields[4]
    return (sum(fields[:8]) - idle - waiting) / os.sysconf("SC_CLK_TCK")


def sharing_out(engine: Engine, rounds: int) -> None:
    """Two workers compared with one process on resamples that sleep, whatever the load."""
    data = xor_table(1000, 200)
    counts = np.ones((600, 1000), dtype=np.int64)
    base = Idle(seconds=0.02)
    ratios = []
    for _ in range(rounds):
        alone = seconds(lambda: list(select_resamples(base, data, counts, Run())))
        run = Run(executor=engine)
        together = seconds(lambda run=run: list(select_resamples(base, data, counts, run)))
        ratios.append(alone / together)
    print(
        f"600 resamples that sleep 20 ms, 2 workers: ratio median {statistics.median(ratios):.2f} "
        f"({', '.join(f'{ratio:.2f}' for ratio in ratios)})"
    )


def overhead_per_task(engine: Engine, rounds: int) -> None:
    """Overhead of tasks that sleep, with one worker and with two."""
    data = xor_table(1000, 200)
    each, tasks = 0.2, 20
    counts = np.ones((tasks, 1000), dtype=np.int64)
    base = Idle(seconds=each)
    found = []
    for _ in range(rounds + 1):
        # A pace of one resample per batch: each is a task of its own.
        run = Run(executor=engine, pace={f"{base} 1000x200": 10.0})
        took = seconds(lambda run=run: list(select_resamples(base, data, counts, run)))
        found.append((took - each * tasks / engine.workers) / tasks * 1000)
    print(
        f"overhead per task of {each} s, 1000 × 200: {found[0]:.2f} ms for the first {tasks} tasks "
        f"of new workers, then median {statistics.median(found[1:]):.2f} ms "
        f"({', '.join(f'{value:.2f}' for value in found[1:])})"
    )


def checkpoint_cost(rounds: int) -> None:
    data = xor_table(300, 20)
    chain = Chain.parse("immigrate:sigma=1 npfs:n=10,permutations=5,alpha=0.05")
    plain, kept = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            plain.append(seconds(lambda: chain.run(data, threads=1)))
            out = Path(folder) / f"{number}.h5"
            kept.append(seconds(lambda out=out: chain.run(data, out=out, threads=1)))
        empty = Path(folder) / "empty.h5"
        opening = [
            seconds(lambda: Request(chain=chain, data=data, out=empty).checkpoint().close())
            for _ in range(9)
        ]
    ratios = [with_file / without for with_file, without in zip(kept, plain, strict=True)]
    print(
        f"run file and checkpoints: {statistics.median(plain):.2f} s without, "
        f"{statistics.median(kept):.2f} s with, ratio median {statistics.median(ratios):.3f}; "
        f"opening and closing a checkpoint {1000 * statistics.median(opening):.1f} ms"
    )


def time_to_stop(engine: list[str], number: int) -> None:
    """Time from the signal to the end of the process, during a run over IMMIGRATE."""
    data = xor_table(300, 20)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        header = ",".join([*data.feature_names, "class"])
        rows = np.column_stack([data.X, data.y])
        np.savetxt(f"{folder}/t.csv", rows, delimiter=",", header=header, comments="")
        command = [sys.executable, "-m", "fsframe", "chain", "immigrate:sigma=1", "npfs:n=500"]
        command += ["on", "t.csv", "--progress", "json", "--restart", *engine]
        for _ in range(5):
            process = subprocess.Popen(
                command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
            )
            assert process.stderr is not None
            for line in process.stderr:
                if '"done": 1' in line:
                    break
            time.sleep(0.5)
            began = time.perf_counter()
            process.send_signal(number)
            process.communicate()
            found.append(time.perf_counter() - began)
            assert process.returncode == 128 + number
    name = signal.Signals(number).name
    print(
        f"{name} to the end, {engine[0] if engine else 'serial'}: at most {max(found):.3f} s of 5"
    )


@contextlib.contextmanager
def cluster() -> Iterator[str]:
    """The address of a scheduler with two workers on this machine."""
    processes = []

    def start(what: str, *arguments: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments]
        quiet = subprocess.DEVNULL
        processes.append(subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet))

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        try:
            start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                  "--no-show", "--scheduler-file", str(file))  # fmt: skip
            while not file.exists() or '"address"' not in file.read_text():
                time.sleep(0.05)
            address = json.loads(file.read_text())["address"]
            for _ in range(2):
                start("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
            yield address
        finally:
            for process in processes:
                process.kill()
                process.wait()


def stopping() -> None:
    time_to_stop([], signal.SIGINT)
    time_to_stop(["--workers", "2"], signal.SIGINT)
    time_to_stop(["--workers", "2"], signal.SIGTERM)
    with cluster() as address:
        time_to_stop(["--scheduler", address], signal.SIGINT)
        time_to_stop(["--scheduler", address], signal.SIGTERM)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--n", type=int, default=20, help="bootstraps over immigrate; a hundredth of those over mim"
    )
    parser.add_argument("--only", default="immigrate,mim,small,overhead,sharing,units,stop")
    options = parser.parse_args()
    rounds, n, asked = options.rounds, options.n, options.only.split(",")
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    if "immigrate" in asked:
        text = f"immigrate:sigma=1 npfs:n={n},permutations=10,alpha=0.05"
        workers_against_serial("NPFS over immigrate, 300 × 20", text, ("xor", 300, 20), rounds)
    if "mim" in asked:
        text = f"mim:top=20 npfs:n={100 * n},permutations=10,alpha=0.05"
        table = ("levels", 5000, 1000)
        workers_against_serial("NPFS over mim, 5000 × 1000, five levels", text, table, rounds)
    if "small" in asked:
        small_runs(min(rounds, 3))
    if "overhead" in asked or "sharing" in asked:
        with open_engine("processes", 2) as engine:
            assert engine is not None
            engine.submit(int).result()
            if "overhead" in asked:
                overhead_per_task(engine, rounds)
            if "sharing" in asked:
                sharing_out(engine, rounds)
    if "units" in asked:
        checkpoint_cost(rounds)
    if "stop" in asked:
        stopping()
    print(f"load after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
