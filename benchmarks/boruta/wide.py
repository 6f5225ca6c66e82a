"""Boruta on 60 rows of 1000 columns, ten of which differ between the classes, with BorutaPy.

    pip install boruta
    python benchmarks/boruta/wide.py [--tables 3] [--trees 100] [--forests 20 40]

With so many columns the correction decides how many forests it takes until the first column is
rejected, and only then do shuffled copies get so few that others can be confirmed. Both programs
are run with both corrections. A line of JSON for each goes to `--out`.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from boruta import BorutaPy
from sklearn.ensemble import RandomForestClassifier

import fsframe
from fsframe import Dataset, Run

OUT = Path(__file__).with_name("results") / "wide.jsonl"
CAUSAL, SHIFT = 10, 1.0


def table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(60, 1000))
    y = np.repeat([0, 1], 30)
    X[y == 1, :CAUSAL] += SHIFT
    return X, y


def ours(X: np.ndarray, y: np.ndarray, seed: int, trees: int, forests: int, correction: str) -> set:
    stage = fsframe.selectors["boruta"](
        trees=trees, max_runs=forests, alpha=0.05, correction=correction
    )
    found = stage.select(Dataset.from_arrays(X, y), run=Run(entropy=seed, threads=1))
    return set(np.flatnonzero(found.tables["decision"] == 1).tolist())


def theirs(
    X: np.ndarray, y: np.ndarray, seed: int, trees: int, forests: int, correction: str
) -> set:
    found = BorutaPy(
        RandomForestClassifier(n_jobs=1),
        n_estimators=trees,
        max_iter=forests,
        two_step=correction == "two-step",
        random_state=seed,
    ).fit(X, y)
    return set(np.flatnonzero(found.support_).tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=3)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--forests", type=int, nargs="+", default=[20, 40])
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    for forests in given.forests:
        for correction in ("bonferroni", "two-step"):
            for program, fit in (("fsframe", ours), ("BorutaPy", theirs)):
                started = time.process_time()
                sets = [
                    fit(*table(seed), seed, given.trees, forests, correction)
                    for seed in range(given.tables)
                ]
                true = [sum(column < CAUSAL for column in found) for found in sets]
                sizes = [len(found) for found in sets]
                line = {
                    "program": program,
                    "correction": correction,
                    "forests": forests,
                    "trees": given.trees,
                    "tables": given.tables,
                    "confirmed of ten": round(float(np.mean(true)), 2),
                    "confirmed falsely": round(float(np.mean(sizes) - np.mean(true)), 2),
                    "processor s": round(time.process_time() - started, 1),
                }
                print(json.dumps(line), flush=True)
                with given.out.open("a") as out:
                    out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
