"""Time and memory for reading text tables, tables of bytes, and tables in HDF5.

    python benchmarks/tables/limits.py [--repeats 3] [--out benchmarks/tables/results/limits.csv]

Each measurement is a separate process; the best of the repeats counts. Printed are processor
seconds (user and system, of all threads), seconds by the clock, and the peak of resident memory
above that of the interpreter with its imports, divided by the size of the file, or of the table as
it is held. `allowed` are the project's own bounds: seconds of another parser (1.5 times those of
its earlier parser if that was faster), and memory.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np
from against import write_table

TEXTS = [
    # name, rows, columns, form, seconds allowed: 1.5 times those of the parser before, or its own
    ("300,000 × 30", 300_000, 30, "%.6g", 4.86),
    ("2,000 × 2,000", 2_000, 2_000, "%.6g", 1.59),
    ("200 × 20,000", 200, 20_000, "%.6g", 2.1),
    ("100 × 60,000", 100, 60_000, "%.6g", 3.6),
]
TEXT_MEMORY = 3.0
# Single digits: seconds that reading took while they became numbers of 8 bytes.
DIGITS = [("1,000 × 100,000", 1_000, 100_000, 2.98), ("100,000 × 1,000", 100_000, 1_000, 2.91)]
BYTES = (100_000, 2_000)
BYTES_SECONDS, BYTES_MEMORY = 1.0, 1.3
FILE_SECONDS = 1.0

_CALL = """
import json, sys, time
import numpy as np, h5py, polars
import fsframe
from fsframe.table.dataset import Dataset
def peak():
    # Not ru_maxrss: that is inherited from the process which started this one.
    status = open("/proc/self/status").read()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])
what, path = sys.argv[1:]
if what == "bytes":
    X = np.load(path)
    y = np.arange(len(X)) % 2
before, cpu, wall = peak(), time.process_time(), time.perf_counter()
if what == "bytes":
    data = Dataset.from_arrays(X, y)
else:
    data = fsframe.read(path)
cpu, wall, taken = time.process_time() - cpu, time.perf_counter() - wall, peak() - before
print(json.dumps([cpu, wall, taken, str(data.matrix.dtype)]))
"""


def best(what: str, path: Path, repeats: int) -> tuple[float, float, int]:
    """Lowest processor time, elapsed time and memory over the repeats."""
    found = []
    for _ in range(repeats):
        command = [sys.executable, "-c", _CALL, what, str(path)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(json.loads(printed.stdout)[:3])
    cpu, wall, taken = (min(column) for column in zip(*found, strict=True))
    return cpu, wall, int(taken)


def write_digits(path: Path, n: int, p: int) -> None:
    """A table of 0, 1 and 2 with a label of 0 and 1."""
    draw = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write((",".join(f"s{j}" for j in range(p)) + ",class\n").encode())
        line = np.full(2 * p + 2, ord(","), dtype=np.uint8)
        for _ in range(n):
            line[: 2 * p : 2] = draw.integers(ord("0"), ord("3"), p, dtype=np.uint8)
            line[2 * p :] = draw.integers(ord("0"), ord("2")), ord("\n")
            file.write(line.tobytes())


def main() -> None:
    """Print one line for each table, and write them to the file of results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []

    def tell(name: str, took: tuple[float, float, int], size: int, allowed: list[float]) -> None:
        cpu, wall, taken = took
        rows.append({
            "table": name, "processor_seconds": round(cpu, 3), "clock_seconds": round(wall, 3),
            "memory_ratio": round(taken / size, 2), "megabytes": round(size / 1e6, 1),
            "seconds_allowed": allowed[0], "memory_allowed": allowed[1],
        })  # fmt: skip
        print(
            f"{name:<44}{size / 1e6:>7.0f} MB{cpu:>8.2f} s cpu{wall:>8.2f} s clock"
            f"  (allowed {allowed[0]:g}){taken / size:>7.2f} × (allowed {allowed[1]:g})",
            flush=True,
        )

    with tempfile.TemporaryDirectory() as folder:
        for name, n, p, form, seconds in TEXTS:
            path = Path(folder) / "table.csv"
            write_table(path, n, p, form, 1)
            took = best("read", path, options.repeats)
            tell(f"text, {name}", took, path.stat().st_size, [seconds, TEXT_MEMORY])
        for name, n, p, seconds in DIGITS:
            path = Path(folder) / "table.csv"
            write_digits(path, n, p)
            took = best("read", path, options.repeats)
            tell(f"text, {name} genotypes", took, path.stat().st_size, [seconds, TEXT_MEMORY])
        X = np.random.default_rng(0).integers(0, 3, BYTES).astype(np.uint8)
        path = Path(folder) / "bytes.npy"
        np.save(path, X)
        name = "uint8, 100,000 × 2,000"
        took = best("bytes", path, options.repeats)
        # The array is there before the measurement begins.
        told = (took[0], took[1], took[2] + X.nbytes)
        tell(f"{name}, from_arrays", told, X.nbytes, [BYTES_SECONDS, BYTES_MEMORY])
        path = Path(folder) / "bytes.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("X", data=X, chunks=(len(X), 64))
            file["y"] = np.arange(len(X)) % 2
        took = best("read", path, options.repeats)
        tell(f"{name}, HDF5, opened and checked", took, X.nbytes, [FILE_SECONDS, BYTES_MEMORY])
    if options.out:
        with options.out.open("w", newline="", encoding="utf-8") as file:
            load = f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}"
            file.write(f"# {load}; best of {options.repeats}\n")
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
