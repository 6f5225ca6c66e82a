"""How the cost of NPFS grows with bootstraps, features and rows, and what memory it takes.

    python benchmarks/resampling/growth.py [--only n|K|N] [--out FILE]

One quantity is doubled at a time, with the others fixed. Each point is a separate process, one
thread, `--memory 512MB`, so that its peak resident memory is that of the point; `base` is the peak
before the test began, the table itself included. Seconds are processor seconds of the test alone,
the smaller of two runs, the table having been seen once before.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

HERE = Path(__file__).parent
MEMORY = 512 * 1024**2
# (base, bootstraps, features, rows) from which each is doubled.
STARTS = {
    "mim:top=20": (200, 500, 4000),
    "relieff:k=10": (20, 100, 250),
    "immigrate:sigma=1": (10, 20, 100),
}
DOUBLINGS = 3


def peak() -> float:
    """Peak resident memory of this process, in MB."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def measure(base: str, n: int, features: int, rows: int) -> dict[str, float]:
    import numpy as np

    from fsframe.chains.chain import Chain
    from fsframe.method.run import Run
    from fsframe.table.dataset import Dataset

    generator = np.random.default_rng(0)
    X = generator.integers(0, 5, size=(rows, features)).astype(float)
    data = Dataset.from_arrays(X, (X[:, :3].sum(axis=1) > 6).astype(int))
    Chain.parse(f"{base} npfs:null=published,n=2,alpha=0.4").select(data, run=Run(threads=1))
    before = peak()
    chain = Chain.parse(f"{base} npfs:n={n},permutations=4,alpha=0.05")
    took = []
    for _ in range(2):
        began = time.process_time()
        chain.select(data, run=Run(threads=1, memory=MEMORY))
        took.append(time.process_time() - began)
    return {"seconds": min(took), "base_mb": before, "more_mb": peak() - before}


def points(only: str) -> list[tuple[str, str, int, int, int]]:
    found = []
    for base, start in STARTS.items():
        for place, what in enumerate(("n", "K", "N")):
            if only and what != only:
                continue
            for doubling in range(DOUBLINGS + 1):
                sizes = list(start)
                sizes[place] <<= doubling
                found.append((what, base, *sizes))
    return found


def _order(key: tuple[str, ...]) -> tuple[object, ...]:
    return (*key[:2], *map(int, key[2:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", choices=["", "n", "K", "N"])
    parser.add_argument("--point", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "growth.csv")
    options = parser.parse_args()
    if options.point:
        print(json.dumps(measure(*json.loads(options.point))))
        return
    known: dict[tuple[str, ...], dict[str, str]] = {}
    if options.out.exists():
        with options.out.open() as lines:
            known = {tuple(row.values())[:5]: row for row in csv.DictReader(lines)}
    last: dict[tuple[str, str], float] = {}
    for what, base, n, features, rows in points(options.only):
        command = [sys.executable, __file__, "--point", json.dumps([base, n, features, rows])]
        found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        before = last.get((what, base))
        last[what, base] = found["seconds"]
        row = {
            "doubled": what,
            "base": base,
            "n": str(n),
            "K": str(features),
            "N": str(rows),
            "seconds": f"{found['seconds']:.2f}",
            "times_the_one_before": "" if before is None else f"{found['seconds'] / before:.2f}",
            "mb_before": f"{found['base_mb']:.0f}",
            "mb_more": f"{found['more_mb']:.0f}",
        }
        known[tuple(row.values())[:5]] = row
        print(*row.values(), sep="  ", flush=True)
        options.out.parent.mkdir(exist_ok=True)
        with options.out.open("w", newline="") as lines:
            writer = csv.DictWriter(lines, row.keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(known[key] for key in sorted(known, key=_order))


if __name__ == "__main__":
    main()
