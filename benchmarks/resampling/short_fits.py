"""Many short fits, one after the other or in threads: `fsframe.kernels.SHORT`.

    python benchmarks/resampling/short_fits.py

A margin or Relief method under `npfs` with two threads: always in threads, as `SHORT` says, and one
after the other. Seconds by the clock, the best of three, on a machine that does nothing else. The
kept columns are the same. Takes four minutes; writes results/short_fits.csv.
"""

from __future__ import annotations

import csv
import time
import warnings
from pathlib import Path

import numpy as np

import fsframe
from fsframe import kernels

RESULTS = Path(__file__).parent / "results" / "short_fits.csv"
RUNS = [
    ("relieff", 40, 12),
    ("im4e", 40, 12),
    ("immigrate", 40, 12),
    ("immigrate", 80, 20),
    ("immigrate", 200, 20),
    ("immigrate", 300, 30),
]
WAYS = {"always in threads": 0.0, "as now": kernels.SHORT, "one by one": float("inf")}
FITS = "npfs:n=5,permutations=40"


def main() -> None:
    """Time every run in every way, and store the seconds."""
    warnings.simplefilter("ignore")
    rows = []
    for name, n, p in RUNS:
        X = np.random.default_rng(0).normal(size=(n, p))
        X[:, 0] += np.arange(n) % 2 * 3
        data = fsframe.Dataset.from_arrays(X, np.arange(n) % 2)
        fsframe.select(name, data)
        row: dict[str, object] = {"method": name, "rows": n, "columns": p}
        kept = set()
        for way, short in WAYS.items():
            kernels.SHORT = short
            seconds = []
            for _ in range(3):
                before = time.perf_counter()
                kept.add(tuple(fsframe.select(f"{name} {FITS}", data, threads=2).selected))
                seconds.append(time.perf_counter() - before)
            row[way] = f"{min(seconds):.2f}"
        assert len(kept) == 1
        rows.append(row)
        print(*row.values())
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
