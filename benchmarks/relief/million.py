"""ReliefF on many rows: processor time per target, and from it that of all rows as targets.

    python benchmarks/relief/million.py [--rows 50000 200000 1000000] [--columns 100]

Normal columns, two classes that follow a product of two of them. A number of targets is drawn
(`m`); the time of comparing them with all rows, and of scoring, is measured separately from that of
reading and preparing the table, which is needed once. `all_rows` is calculated from both. With
`--all` every row is a target, and nothing is calculated. A line of JSON each goes to `--out`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from measured_lines import add_line

import fsframe
from fsframe.method.run import Run
from fsframe_relief.engine import feature_scores

OUT = Path(__file__).with_name("results") / "million.jsonl"


class Stopwatch:
    """Elapsed and processor seconds spent in a function."""

    def __init__(self, function: Any) -> None:
        self.function, self.elapsed, self.processor = function, 0.0, 0.0

    def __call__(self, *given: Any) -> Any:
        elapsed, processor = time.perf_counter(), time.process_time()
        found = self.function(*given)
        self.elapsed += time.perf_counter() - elapsed
        self.processor += time.process_time() - processor
        return found


def main() -> int:
    """Measure the tables that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 200_000, 1_000_000])
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--targets", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    comparing = feature_scores._listed_scores = Stopwatch(feature_scores._listed_scores)
    for n in given.rows:
        rng = np.random.default_rng(1)
        X = rng.normal(size=(n, given.columns))
        y = (X[:, 0] * X[:, 1] + rng.normal(size=n) > 0).astype(int)
        data = fsframe.Dataset.from_arrays(X, y)
        del X
        run = Run(threads=given.threads)
        fsframe.selectors["relieff"](m=64).select(data, run=run)  # kernels are compiled
        m = n if given.all else given.targets
        comparing.elapsed = comparing.processor = 0.0
        elapsed, processor = time.perf_counter(), time.process_time()
        fsframe.selectors["relieff"](m=None if given.all else m).select(data, run=run)
        elapsed, processor = time.perf_counter() - elapsed, time.process_time() - processor
        each, before = comparing.processor / m, processor - comparing.processor
        line = {
            "what": f"relieff, {n} × {given.columns}, screened by bytes",
            "targets": m,
            "seconds": round(elapsed, 1),
            "processor_s_before": round(before, 2),
            "processor_ms_a_target": round(1e3 * each, 3),
            "all_rows_processor_minutes": round((before + n * each) / 60, 1),
            "calculated": not given.all,
            "threads": given.threads,
        }
        add_line(line, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
