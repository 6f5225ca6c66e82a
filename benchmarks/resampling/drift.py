"""Level of `npfs` with a time column, where columns and the label drift together.

    python benchmarks/resampling/drift.py --tables 200 --out FILE

200 rows in order of time, 16 columns, seven of which rise by two standard deviations over the
table; the log odds of the label rise by 3 (`drift`), by 1 (`weak drift`, which is often too weak to
be found) or not (`none`), and depend on no column. `autocorrelated`: columns and the noise of the
label are series with an autocorrelation of 0.8. The last design gives the time as a covariate
(--adjust) instead of as the time (--time). The share of columns with p ≤ 0.05, and of the rising
ones, with standard errors over tables.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from fsframe import Chain, Dataset

CHAIN = "anova-f npfs:n=20,permutations=99,permuted_n=2"
RISING = slice(3, 10)
SLOPES = {"none": 0.0, "weak drift": 1.0}
DESIGNS = (
    "none",
    "weak drift",
    "drift",
    "none, autocorrelated",
    "drift, autocorrelated",
    "drift, adjusted for time",
)


def table(design: str, seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    time = np.arange(200.0)
    X, noise = rng.normal(size=(200, 16)), rng.logistic(size=200)
    if design.endswith("autocorrelated"):
        X = _series(rng.normal(size=(300, 16)))
        noise = 1.8 * _series(rng.normal(size=(300, 1)))[:, 0]
    X[:, RISING] += 2.0 * (time / 200 - 0.5)[:, None]
    odds = SLOPES.get(design.split(",")[0], 3.0) * (time / 200 - 0.5) + noise
    y = (odds > np.median(odds)).astype(int)
    names = [f"f{j}" for j in range(16)] + ["time"]
    role = "adjust" if design == "drift, adjusted for time" else "time"
    return Dataset.from_arrays(np.column_stack([X, time]), y, names).with_roles(**{role: "time"})


def _series(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Series of order one, of variance 1 and autocorrelation 0.8; the first 100 rows are cut."""
    return lfilter([0.6], [1.0, -0.8], steps, axis=0)[100:]


def measured(design: str, tables: int) -> dict[str, object]:
    shares = []
    for seed in range(tables):
        p = Chain.parse(CHAIN).select(table(design, seed), seed=seed).tables["p-values"]
        shares.append([np.mean(p <= 0.05), np.mean(p[RISING] <= 0.05)])
    means, errors = np.mean(shares, axis=0), np.std(shares, axis=0, ddof=1) / np.sqrt(tables)
    return {
        "chain": CHAIN, "design": design, "tables": tables,
        "p<=.05": round(float(means[0]), 4), "se": round(float(errors[0]), 4),
        "p<=.05, rising columns": round(float(means[1]), 4),
        "se, rising columns": round(float(errors[1]), 4),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    for design in DESIGNS:
        rows.append(measured(design, given.tables))
        print(rows[-1], flush=True)
    if given.out:
        with given.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
