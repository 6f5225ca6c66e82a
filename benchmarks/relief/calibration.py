"""Whether p-values keep their level if labels are independent of the features.

    python benchmarks/relief/calibration.py [--repeats 20] [--permutations 199] [--methods NAME …]

Each repeat is a table of 100 × 500 normal columns with 50 labels of each of two classes (a normal
target for `rrelieff`). Printed are the share of p < 0.05 over all repeats, its smallest and largest
value in one repeat, and in how many repeats a feature is significant at 0.05 after the adjustment
of Benjamini and Hochberg (expected: one in twenty).
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import fsframe

METHODS = [
    "relief",
    "relieved-f",
    "relieff",
    "surf",
    "surfstar",
    "multisurf",
    "multisurfstar",
    "swrfstar",
    "rrelieff",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    arguments = parser.parse_args()
    print("| method | permutations | p < 0.05, % | least | most | discoveries in | cpu s a table |")
    print("|---|---|---|---|---|---|---|")
    for name in arguments.methods:
        method = fsframe.selectors[name](permutations=arguments.permutations)
        shares, discoveries, used = [], 0, time.process_time()
        for repeat in range(arguments.repeats):
            rng = np.random.default_rng(1000 + repeat)
            X = rng.normal(size=(100, 500))
            y = rng.permutation(np.arange(100) % 2)
            if name == "rrelieff":
                y = rng.normal(size=100)
            tables = method.select(fsframe.Dataset.from_arrays(X, y), seed=repeat).tables
            shares.append(100 * float((tables["p_values"] < 0.05).mean()))
            discoveries += bool((tables["p_adjusted"] <= 0.05).any())
        used = (time.process_time() - used) / arguments.repeats
        print(
            f"| {name} | {arguments.permutations} | {np.mean(shares):.1f} | {min(shares):.1f} | "
            f"{max(shares):.1f} | {discoveries} of {arguments.repeats} | {used:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
