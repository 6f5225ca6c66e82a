"""MultiSURF on many genotypes: processor time per target, and from it that of all rows.

    python benchmarks/relief/genotypes.py [--rows 230000] [--columns 2350] [--targets 2000] [--all]

Columns of three levels, two random classes. The method is fitted with 64 targets and with
`--targets` more, with all rows as neighbours; the difference is the time of those, without reading
and preparing the table. `all_rows` is calculated from both; with `--all` every row is a target, and
nothing is calculated. A line of JSON goes to `--out`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from measured_lines import add_line

import fsframe
from fsframe.method.run import Run

OUT = Path(__file__).with_name("results") / "genotypes.jsonl"


def main() -> int:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=230_000)
    parser.add_argument("--columns", type=int, default=2350)
    parser.add_argument("--targets", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", type=int, default=12 << 30, help="bytes of a fit")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    n = given.rows
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (n, given.columns), dtype=np.uint8)
    data = fsframe.Dataset.from_arrays(X, rng.integers(0, 2, n))
    del X
    run = Run(threads=given.threads, memory=given.memory)

    def took(m: int | None) -> tuple[float, float]:
        elapsed, processor = time.perf_counter(), time.process_time()
        fsframe.selectors["multisurf"](m=m).select(data, run=run)
        return time.perf_counter() - elapsed, time.process_time() - processor

    took(64)  # kernels are compiled
    few = took(64)
    many = took(None if given.all else 64 + given.targets)
    each = (many[1] - few[1]) / (n - 64 if given.all else given.targets)
    line = {
        "what": f"multisurf, {n} × {given.columns} of three levels",
        "targets": n if given.all else given.targets,
        "seconds": round(many[0], 1),
        "processor_s_with_64_targets": round(few[1], 2),
        "processor_ms_a_target": round(1e3 * each, 3),
        "all_rows_processor_minutes": round((few[1] + (n - 64) * each) / 60, 1),
        "calculated": not given.all,
        "threads": given.threads,
    }
    add_line(line, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
