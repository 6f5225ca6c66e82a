"""Reading text tables by two revisions of fsframe, alternately, each in a new process.

    git worktree add ../before REVISION
    python benchmarks/tables/against.py ../before [--repeats 3] [--quick]

Printed are processor seconds (user and system, of all threads), the wall clock's, and the peak of
resident memory above that of the interpreter with its imports, divided by the file's size; the
ratio is of the other revision's processor time to this one's: above 1, this one is faster. The best
of the repeats counts. Digests must be equal.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TABLES = [
    ("tall", 300_000, 30, "%.6g", 1),
    ("square", 2_000, 2_000, "%.6g", 1),
    ("wide", 200, 20_000, "%.6g", 1),
    ("wider", 100, 60_000, "%.6g", 1),
    ("small", 200, 20, "%.6g", 1),
    ("genotypes", 2_000, 5_000, "%d", 1),
    ("gaps", 2_000, 2_000, "%.6g", 10),
    ("padded", 2_000, 2_000, " %.6g", 1),
    ("quoted", 2_000, 1_000, '"%.6g"', 1),
]

_CALL = """
import json, sys, time
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/plugins"]
import numpy
import fsframe
assert fsframe.__file__.startswith(sys.argv[1] + "/")
from fsframe.table.read import read
try:
    import polars
except ImportError:
    pass
def peak():
    # Not ru_maxrss: that is inherited from the process which started this one.
    status = open("/proc/self/status").read()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])
before, cpu, wall = peak(), time.process_time(), time.perf_counter()
data = read(sys.argv[2])
cpu, wall, taken = time.process_time() - cpu, time.perf_counter() - wall, peak() - before
print(json.dumps([cpu, wall, taken, data.sha256]))
"""


def write_table(path: Path, n: int, p: int, form: str, gaps: int) -> None:
    """Write n × p numbers in that format and a text label; one cell in `gaps` is missing."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (n, p)) if form == "%d" else rng.normal(size=(n, p))
    with path.open("w") as out:
        out.write(",".join([*(f"f{j}" for j in range(p)), "class"]) + "\n")
        for k, row in enumerate(X):
            cells = [form % value for value in row]
            if gaps > 1:
                cells[k % gaps :: gaps] = ["NA"] * len(cells[k % gaps :: gaps])
            out.write(",".join([*cells, "ab"[k % 2]]) + "\n")


def call(root: Path, table: Path) -> tuple[float, float, int, str]:
    """Time and memory of reading a table once, in a new process."""
    command = [sys.executable, "-I", "-c", _CALL, str(root.resolve()), str(table)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=table.parent)
    found: tuple[float, float, int, str] = tuple(json.loads(printed.stdout))
    return found


def main() -> None:
    """Print one line for each table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small tables only")
    options = parser.parse_args()
    here = Path(__file__).resolve().parents[2]
    print(f"{'table':<11}{'size':>14}{'MB':>7}{'cpu s':>9}{'wall s':>9}{'memory':>8}", end="")
    print(f"{'before: cpu s':>15}{'wall s':>9}{'memory':>8}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, n, p, form, gaps in TABLES:
            if options.quick and n * p > 200_000:
                continue
            path = Path(folder) / "table.csv"
            write_table(path, n, p, form, gaps)
            size = path.stat().st_size
            runs: dict[Path, list[tuple[float, float, int, str]]] = {here: [], options.before: []}
            for _ in range(options.repeats):
                for root, found in runs.items():
                    found.append(call(root, path))
            assert len({run[3] for found in runs.values() for run in found}) == 1, "digests differ"
            best = [[min(run[k] for run in found) for k in range(3)] for found in runs.values()]
            print(f"{name:<11}{f'{n} × {p}':>14}{size / 1e6:>7.1f}", end="")
            for width, (cpu, wall, memory) in zip((9, 15), best, strict=True):
                print(f"{cpu:>{width}.3f}{wall:>9.3f}{memory / size:>7.1f}×", end="")
            print(f"{best[1][0] / best[0][0]:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
