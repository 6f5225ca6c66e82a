"""A table larger than memory: 5,000 × 200,000 bytes on disk, read in parts, within 1 GB.

    python benchmarks/infotheory/out_of_memory.py [--folder /some/where] [--columns 200000]

Writes the table (1 GB) into the folder, then runs `mim`, `mrmr:top=50` and `jmi:top=50` on it in
processes of their own, with `memory=1 GB`, and prints seconds and the largest resident set of each.
Then the same for different numbers of rows, columns and k, on tables a tenth of that size.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

CHILD = """
import json, resource, sys, time
import fsframe
from fsframe.method.run import Run
path, chain, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
started = time.perf_counter()
data = fsframe.read(path, in_memory=False)
read = time.perf_counter() - started
name, _, top = chain.partition(":top=")
selector = fsframe.selectors[name](top=int(top or 10))
started = time.perf_counter()
found = selector.select(data, run=Run(memory=1 << 30, threads=threads))
print(json.dumps({
    "read": read, "select": time.perf_counter() - started,
    "selected": found.selected[:8].tolist(),
    "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def write_table(path: Path, rows: int, columns: int, levels: int = 3) -> None:
    """Random genotypes 0, 1, 2, of which 30 follow the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows)
    with h5py.File(path, "w") as file:
        table = file.create_dataset(
            "X", (rows, columns), "u1", chunks=(min(256, rows), min(4096, columns))
        )
        for start in range(0, columns, 4096):
            width = min(4096, columns - start)
            block = rng.integers(0, levels, (rows, width), dtype=np.uint8)
            if start == 0:
                for j in range(30):
                    block[:, j] = np.where(rng.random(rows) < 0.1 + 0.01 * j, y, block[:, j])
            table[:, start : start + width] = block
        file["y"] = y
        file["feature_names"] = [f"snp{j}" for j in range(columns)]


def measure(path: Path, chain: str, threads: int = 1) -> dict[str, float]:
    """Seconds and memory of one chain in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), chain, str(threads)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def report(path: Path, label: str, chain: str, threads: int = 1) -> None:
    found = measure(path, chain, threads)
    print(
        f"{label:24} {chain:12} threads {threads}  read {found['read']:7.2f} s  "
        f"select {found['select']:7.2f} s  largest resident set {found['rss_mb']:7.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--columns", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "table.h5"
        write_table(path, 50, 100)
        measure(path, "mrmr:top=3")  # compiled kernels are kept
        write_table(path, options.rows, options.columns)
        size = f"{options.rows} × {options.columns}"
        print(f"{path.stat().st_size / 1e6:.0f} MB on disk")
        for threads in (1, 2):
            for chain in ("mim", "mrmr:top=50", "jmi:top=50"):
                report(path, size, chain, threads)
        print("growth:")
        rows, columns = options.rows // 2, options.columns // 10
        for n, p, chain in (
            (rows, columns, "jmi:top=25"),
            (2 * rows, columns, "jmi:top=25"),
            (rows, 2 * columns, "jmi:top=25"),
            (rows, columns, "jmi:top=50"),
        ):
            write_table(path, n, p)
            report(path, f"{n} × {p}", chain)


if __name__ == "__main__":
    main()
