"""Prototypes drawn over a table in parts: error of the weights, time and memory, by their number.

    python benchmarks/parts/prototypes.py FOLDER --rows 1000000 [--method im4e]

The table is simulated as in `benchmarks/margin/prototypes.py` (20 normal columns; one main effect
and one pair of columns without effects of their own), written to FOLDER as Parquet files of 262,144
rows where there are none. No descent over all rows is possible, so the error of a draw is the
largest distance of any share of W (w of `im4e`) from the mean of five draws of the largest number.
A line of JSON for each number goes to `--out` (default
`benchmarks/parts/results/prototypes.jsonl`); `scale_s` are processor seconds of the two passes over
the parts, `peak_gb` includes the interpreter.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from pathlib import Path

import numpy as np
import polars

import fsframe
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset

ROWS, COLUMNS, DRAWS = 1 << 18, 20, 5
NUMBERS = (8000, 4000, 2000, 1000, 500)
OUT = Path(__file__).parent / "results" / "prototypes.jsonl"


def make(folder: Path, n: int) -> None:
    """Write the parts."""
    folder.mkdir(parents=True)
    for k, first in enumerate(range(0, n, ROWS)):
        rng = np.random.default_rng((11, k))
        X = rng.standard_normal((min(ROWS, n - first), COLUMNS))
        y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(len(X)) > 0
        frame = polars.DataFrame({f"f{j}": X[:, j] for j in range(COLUMNS)})
        frame = frame.with_columns(y=polars.Series(y.astype(np.uint8)))
        frame.write_parquet(folder / f"{k:04}.parquet")


def drawn(data: Dataset, method: str, number: int) -> dict[str, object]:
    """Five draws: their shares, kept features, and processor seconds of each."""
    chain = fsframe.Chain.parse(f"{method}:prototypes={number}")
    shares, kept, seconds = [], [], []
    for seed in range(DRAWS):
        begun = time.process_time()
        found = chain.select(data, run=Run(entropy=seed, threads=2))
        seconds.append(time.process_time() - begun)
        shares.append(found.weights if found.pair_weights is None else found.weights**2)
        kept.append(sorted(found.selected.tolist()))
    return {"shares": np.array(shares), "kept": kept, "seconds": seconds}


def main() -> None:
    """Draw, compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--method", default="immigrate", choices=["immigrate", "im4e"])
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    if not given.folder.is_dir():
        make(given.folder, given.rows)
    data = fsframe.read(given.folder, label="y")
    # Compiling is no part of what follows.
    fsframe.Chain.parse(f"{given.method}:prototypes=40,max_iter=1").select(data)
    begun = time.process_time()
    fsframe.Chain.parse(f"{given.method}:prototypes=40,max_iter=1").select(data)
    passes = time.process_time() - begun
    centre = kept = None
    for number in NUMBERS:
        found = drawn(data, given.method, number)
        if centre is None:
            centre, kept = found["shares"].mean(axis=0), found["kept"][0]
        off = np.abs(found["shares"] - centre).max(axis=1)
        line = {
            "what": f"{given.method}:prototypes={number}", "rows": data.n_samples,
            "columns": COLUMNS, "mean_error": round(float(off.mean()), 4),
            "worst_error": round(float(off.max()), 4),
            "largest_share": round(float(centre.max()), 3),
            "same_kept": sum(one == kept for one in found["kept"]), "draws": DRAWS,
            "processor_s": round(float(np.mean(found["seconds"])), 2),
            "scale_s": round(passes, 2),
            "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
            "load": round(os.getloadavg()[0], 1),
        }  # fmt: skip
        print(json.dumps(line), flush=True)
        with given.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
