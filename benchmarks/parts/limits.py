"""Tables larger than memory: time and memory of loading and of each further feature, from files.

    python benchmarks/parts/limits.py make epsilon FOLDER
    python benchmarks/parts/limits.py run epsilon FOLDER jmi,mrmr --top 100 --memory 2GB

Synthetic tables of the shapes of known ones, of random levels of which some columns follow the
class: `epsilon` 400,000 × 2,000 bytes of ten levels in one HDF5 file; `ecbdl14` 64 million × 631
columns in Parquet files of 262,144 rows (539 of ten levels, 92 of two to five), of which `--tenths`
makes some tenths of a tenth. The limit of the machine is measured in the same run: how fast the
files, and the cache beside them, are read again, and the largest resident set of this process (with
the interpreter, and with pages of files that are mapped).

`run` prints elapsed and processor seconds of opening, loading and the selection, and seconds per
feature after the first.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import polars
from numpy.typing import NDArray

import fsframe
from fsframe.execution import open_engine
from fsframe.method.run import Run
from fsframe.table.parts import CACHE_FOLDER

ROWS = 1 << 18


def levels_of(shape: str, p: int) -> NDArray[np.int64]:
    """Levels of each column."""
    levels = np.full(p, 10)
    if shape == "ecbdl14":
        levels[-92:] = 2 + np.arange(92) % 4
    return levels


def blocks(shape: str, n: int, p: int) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
    """Rows and labels, block after block."""
    levels = levels_of(shape, p)
    for k, start in enumerate(range(0, n, ROWS)):
        rng = np.random.default_rng((7, k))
        rows = min(ROWS, n - start)
        y = rng.integers(0, 2, rows).astype(np.uint8)
        X = (rng.integers(0, 256, (rows, p), dtype=np.uint8) * levels >> 8).astype(np.uint8)
        for j in range(0, min(p, 200)):
            follows = rng.random(rows) < 0.001 * j
            X[follows, j] = y[follows]
        yield X, y


def make(shape: str, folder: Path, tenths: float) -> None:
    """Write a table."""
    folder.mkdir(parents=True, exist_ok=True)
    if shape == "epsilon":
        n, p = 400_000, 2_000
        with h5py.File(folder / "table.h5", "w") as file:
            X = file.create_dataset("X", (n, p), np.uint8)
            y = file.create_dataset("y", (n,), np.uint8)
            at = 0
            for values, labels in blocks(shape, n, p):
                X[at : at + len(values)], y[at : at + len(values)] = values, labels
                at += len(values)
        return
    n, p = int(640_000 * tenths), 631
    for k, (values, labels) in enumerate(blocks(shape, n, p)):
        frame = polars.DataFrame({f"f{j}": values[:, j] for j in range(p)})
        frame = frame.with_columns(**{"class": polars.Series(labels)})
        frame.write_parquet(folder / f"{k:04}.parquet", compression="zstd", statistics=False)


class Clock:
    """Elapsed and processor seconds since the last time it was read."""

    def __init__(self) -> None:
        self.last = self._now()

    @staticmethod
    def _now() -> tuple[float, float]:
        spent = os.times()
        own = spent.user + spent.system + spent.children_user + spent.children_system
        return time.perf_counter(), own

    def told(self) -> str:
        before, self.last = self.last, self._now()
        elapsed, spent = (b - a for a, b in zip(before, self.last, strict=True))
        return f"{elapsed:7.2f} s elapsed, {spent:7.2f} s processor"


def read_again(files: list[Path]) -> str:
    """Rate of reading files, from the system's cache if they are in it."""
    buffer = bytearray(1 << 24)
    size, begun = 0, time.perf_counter()
    for path in files:
        with path.open("rb", buffering=0) as file:
            while got := file.readinto(buffer):
                size += got
    seconds = time.perf_counter() - begun
    return f"{size / 1e6:.0f} MB in {seconds:.2f} s, {size / 1e6 / seconds:.0f} MB/s"


def run(
    shape: str, folder: Path, names: list[str], top: int, memory: int, workers: int, threads: int
) -> None:
    """Load a table, run the selection, and print what both took."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    shutil.rmtree(folder / CACHE_FOLDER, ignore_errors=True)
    print("files:", read_again(files), flush=True)
    clock = Clock()
    label = None if shape == "epsilon" else "class"
    data = fsframe.read(str(files[0]) if len(files) == 1 else str(folder), label=label)
    print(f"{data.n_samples} × {data.n_features}, {data.matrix.dtype}")
    print(f"opened:            {clock.told()}", flush=True)
    with open_engine(workers=workers or None) as engine:
        around = Run(memory=memory, threads=threads, executor=engine)
        fsframe.selectors["mim"](top=10).select(data, run=around)
        print(f"taken in, mim:     {clock.told()}", flush=True)
        for name in names:
            fsframe.selectors[name](top=2).select(data, run=around)
            print(f"{name} top=2:        {clock.told()}", flush=True)
            begun = time.perf_counter()
            fsframe.selectors[name](top=top).select(data, run=around)
            each = (time.perf_counter() - begun) / top
            print(f"{name} top={top}:      {clock.told()}, {each:.3f} s a feature", flush=True)
    kept = sorted((folder / CACHE_FOLDER).rglob("*.shard"))
    print(f"codes beside it:   {read_again(kept)}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"largest resident set {peak:.2f} GB, allowed {memory / 1e9:.2f} GB, threads {threads}, "
          f"workers {workers}, load {os.getloadavg()[0]:.1f}")  # fmt: skip


def main() -> None:
    """Make or run, as the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["make", "run"])
    parser.add_argument("shape", choices=["epsilon", "ecbdl14"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("methods", nargs="?", default="jmi,mrmr")
    parser.add_argument("--tenths", type=float, default=1.0, help="of 640,000 rows (ecbdl14)")
    parser.add_argument("--top", type=int, default=100)
    parser.add_argument("--memory", type=float, default=2.0, help="GB")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    if given.what == "make":
        make(given.shape, given.folder, given.tenths)
        return
    run(
        given.shape, given.folder, given.methods.split(","), given.top, int(given.memory * 1e9),
        given.workers, given.threads,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
