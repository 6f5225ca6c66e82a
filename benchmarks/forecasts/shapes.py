"""Forecasts of `inspect` and of runs beside the processor time that runs take.

    python benchmarks/forecasts/shapes.py [FIRST WORD OF CHAINS]

Shapes and chains, one run each in this process with its kernels compiled before; a forecast
holds if it is within a factor of three of the processor time, or if both are less than a second,
beside which the start of a command takes longer. Prints a line for each and writes
results/shapes.csv. Takes two minutes of processor time.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import fsframe
from fsframe.chains.chain import Chain

SMALL = "n=10,permutations=20"
RUNS = [
    ("mim:top=100", 200, 2000),
    ("mim:top=100", 2000, 2000),
    ("mim:top=100", 60, 20000),
    ("mim:top=100 npfs", 60, 205),
    ("mim:top=100 npfs", 60, 1000),
    ("mim:top=100 npfs", 200, 300),
    ("mim:top=100 npfs", 30, 2000),
    ("jmi:top=20", 500, 500),
    ("mrmr:top=20", 1000, 300),
    ("cmim:top=20", 300, 1000),
    ("relieff", 500, 500),
    ("relieff", 1000, 1000),
    ("multisurf", 400, 300),
    ("immigrate", 200, 20),
    ("immigrate", 300, 60),
    (f"immigrate npfs:{SMALL}", 100, 15),
    (f"relieff npfs:{SMALL}", 200, 50),
    ("simba", 200, 50),
    ("simba:passes=5", 5000, 100),
    ("simba-mbiw", 4000, 100),
    ("mbiw", 4000, 200),
    ("irelief", 200, 50),
    ("irelief", 3000, 100),
    ("im4e", 500, 2000),
    ("im4e", 5000, 50),
    ("bim", 200, 20),
    ("lfe", 200, 500),
    ("logo", 1000, 100),
    ("gflip", 1000, 200),
    ("rfe", 2000, 30),
    ("rfe:of=LinearSVC", 2000, 100),
    ("rfecv", 1000, 20),
    ("sequential:top=3", 1000, 30),
    ("lasso", 1000, 200),
    ("elastic-net", 500, 500),
    ("importance:measure=held-out", 500, 20),
    ("vls", 2000, 300),
    ("turf:base=relieff", 2000, 100),
    ("anova-f", 500, 2000),
]
FACTOR, NEGLIGIBLE = 3.0, 1.0
RESULTS = Path(__file__).parent / "results" / "shapes.csv"


def table(n: int, p: int, seed: int = 0) -> fsframe.Dataset:
    """Continuous columns, five of which follow the classes."""
    draw = np.random.default_rng(seed)
    X = draw.standard_normal((n, p))
    y = np.arange(n) % 2
    X[:, :5] += y[:, None]
    return fsframe.Dataset.from_arrays(X, y, name=f"{n}x{p}")


def main() -> None:
    """Print and store forecast, time and ratio of every run."""
    warnings.simplefilter("ignore")
    begin = sys.argv[1] if len(sys.argv) > 1 else ""
    rows = []
    for text, n, p in RUNS:
        if not text.startswith(begin):
            continue
        chain = Chain.parse(text)
        data = table(n, p)
        base, resampled, _ = text.partition(" npfs")
        Chain.parse(base).run(data)
        if resampled:
            Chain.parse(f"{base} npfs:n=2,permutations=20").run(data)
        cost = chain.cost(n, p)
        before = time.process_time()
        chain.run(data)
        took = time.process_time() - before
        forecast = None if cost is None else cost.seconds
        ratio = None if forecast is None else forecast / took
        holds = forecast is None or max(took, forecast) < NEGLIGIBLE
        holds = holds or 1 / FACTOR <= forecast / took <= FACTOR
        rows.append([text, n, p, forecast, took, ratio, "yes" if holds else "no"])
        told = "none" if forecast is None else f"{forecast:.2f}"
        print(f"{text:40} {n:6} × {p:6}  {told:>7} s  {took:7.2f} s  {'' if holds else 'MISSES'}")
    if begin:
        return
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["chain", "rows", "columns", "forecast", "seconds", "ratio", "holds"])
        for *head, forecast, took, ratio, holds in rows:
            numbers = ["" if v is None else f"{v:.3g}" for v in (forecast, took, ratio)]
            writer.writerow([*head, *numbers, holds])


if __name__ == "__main__":
    main()
