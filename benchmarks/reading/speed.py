"""Reading text tables, compared with other readers in one run.

    python benchmarks/reading/speed.py [--repeats 3] [--quick]

Readers that cannot be imported are named and left out. Programs take turns on each table; the best
of the repeats counts. Ratios are peer seconds / fsframe seconds: above 1, fsframe is faster. Its
time includes what the others leave to the caller: finding the label, checking every value, class
codes, warnings.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fsframe.table.read import read

TABLES = [
    ("tall", 10_000, 12, "%.6g"),
    ("taller", 100_000, 20, "%.6g"),
    ("expression", 62, 2_000, "%.6g"),
    ("wide", 85, 12_713, "%.4f"),
    ("wide, all digits", 85, 12_713, "%.17g"),
    ("genotypes", 2_000, 5_000, "%d"),
]


def readers() -> dict[str, Callable[[Path], object]]:
    """The peers that are installed."""
    found: dict[str, Callable[[Path], object]] = {
        "numpy.loadtxt": lambda path: np.loadtxt(
            path,
            delimiter=",",
            skiprows=1,
            usecols=range(path.open().readline().count(",")),
            comments=None,
        )
    }
    try:
        import pandas

        found["pandas"] = pandas.read_csv
    except ImportError:
        print("pandas is not installed: left out")
    try:
        from pyarrow import csv

        one = csv.ReadOptions(use_threads=False, block_size=1 << 27)
        found["pyarrow, one thread"] = lambda path: csv.read_csv(path, read_options=one)
    except ImportError:
        print("pyarrow is not installed: left out")
    return found


def write_table(path: Path, n: int, p: int, form: str) -> None:
    """A table of n × p numbers in that format, with a class of text at the end."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (n, p)) if form == "%d" else rng.normal(size=(n, p))
    out = io.StringIO()
    out.write(",".join([*(f"f{j}" for j in range(p)), "class"]) + "\n")
    for k, row in enumerate(X):
        out.write(",".join([*(form % value for value in row), "ab"[k % 2]]) + "\n")
    path.write_text(out.getvalue())


def seconds(function: Callable[[Path], object], path: Path) -> float:
    """Time of one call."""
    start = time.perf_counter()
    function(path)
    return time.perf_counter() - start


def main() -> None:
    """Print one line for each table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small tables only")
    options = parser.parse_args()
    peers = readers()
    print(f"{'table':<18}{'size':>14}{'MB':>7}{'fsframe s':>11}{'ns/cell':>9}", end="")
    print("".join(f"{name:>22}" for name in peers))
    with tempfile.TemporaryDirectory() as folder:
        for name, n, p, form in TABLES:
            if options.quick and n * p > 200_000:
                continue
            path = Path(folder) / "table.csv"
            write_table(path, n, p, form)
            best = dict.fromkeys(["fsframe", *peers], np.inf)
            for _ in range(options.repeats):
                for reader, function in {"fsframe": read, **peers}.items():
                    best[reader] = min(best[reader], seconds(function, path))
            own = best["fsframe"]
            print(f"{name:<18}{f'{n} × {p}':>14}{path.stat().st_size / 1e6:>7.1f}", end="")
            print(f"{own:>11.3f}{1e9 * own / (n * p):>9.0f}", end="")
            print("".join(f"{best[reader] / own:>21.2f}×" for reader in peers), flush=True)


if __name__ == "__main__":
    main()
