"""How time and memory grow with instances and features, and the two largest promised tables.

    python benchmarks/relief/growth.py [--large | --only-large] [--threads 2]

Every line is a process of its own: processor seconds, wall seconds, and the peak of its memory with
and without the table (8 bytes per value). `--large` adds 100,000 × 50 continuous columns and
2,000 × 100,000 genotypes, which take minutes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

GROWTH = [
    ("normal", 500, 1000),
    ("normal", 1000, 1000),
    ("normal", 2000, 1000),
    ("normal", 4000, 1000),
    ("normal", 1000, 250),
    ("normal", 1000, 4000),
    ("normal", 1000, 16000),
    ("genotypes", 1000, 1000),
    ("genotypes", 2000, 1000),
    ("genotypes", 4000, 1000),
    ("genotypes", 2000, 4000),
    ("genotypes", 2000, 16000),
]
LARGE = [("normal", 100_000, 50), ("genotypes", 2000, 100_000)]


def one(kind: str, n: int, p: int, method: str, threads: int) -> None:
    """Score one table in this process and print time and memory as JSON."""
    import numpy as np

    import fsframe
    from fsframe.method.run import Run

    rng = np.random.default_rng(0)
    X = np.empty((n, p))
    step = max(1, 4_000_000 // n)
    for start in range(0, p, step):
        width = min(step, p - start)
        if kind == "genotypes":
            X[:, start : start + width] = rng.integers(0, 3, (n, width), dtype=np.uint8)
        else:
            X[:, start : start + width] = rng.normal(size=(n, width))
    y = rng.integers(0, 2, n)
    selector = fsframe.selectors[method]()
    # loads the compiled loops, so that they are not part of the figures
    selector.select(fsframe.Dataset.from_arrays(X[:100, :20].copy(), np.arange(100) % 2))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start, used = time.perf_counter(), time.process_time()
    selector.select(fsframe.Dataset.from_arrays(X, y), run=Run(threads=threads))
    answer = {
        "wall": time.perf_counter() - start,
        "cpu": time.process_time() - used,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "table": before,
    }
    print(json.dumps(answer))


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        kind, n, p, method, threads = sys.argv[2:]
        one(kind, int(n), int(p), method, int(threads))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only-large", action="store_true", help="those alone")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    print("| kind | N | A | method | cpu s | wall s | peak MB | of which process and table MB |")
    print("|---|---|---|---|---|---|---|---|")
    tables = [] if arguments.only_large else GROWTH
    tables = tables + (LARGE if arguments.large or arguments.only_large else [])
    for kind, n, p in tables:
        for method in ("relieff", "multisurf"):
            command = [sys.executable, __file__, "one", kind, str(n), str(p), method]
            done = subprocess.run(
                [*command, str(arguments.threads)], capture_output=True, text=True, check=False
            )
            if done.returncode:
                print(f"| {kind} | {n} | {p} | {method} | {done.stderr.strip()[-80:]} |")
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            print(
                f"| {kind} | {n} | {p} | {method} | {found['cpu']:.2f} | {found['wall']:.2f} | "
                f"{found['peak']:.0f} | {found['table']:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
