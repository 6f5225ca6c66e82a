"""Level of `npfs` with covariates that are numbers, which label and features follow.

    python benchmarks/resampling/strata.py --tables 60 --out FILE

20 features follow the mean of one or two normal covariates (correlation 0.8) and depend on the
label by it alone; one more (`power`) has an effect of its own. The share of the 20 features with
p ≤ 0.05, with its standard error over tables, and how often p ≤ 0.05 for the one with an effect:
with labels permuted within strata of about ten rows, as `npfs` does (`ten rows`), and within
quintiles (`quintiles`). The base is one that does not adjust itself.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

from fsframe import Chain, Dataset
from fsframe.table.side_columns import SideColumns

CHAIN = "relieff npfs:n=20,permutations=99,permuted_n=2"
SIZES = ((200, 1), (500, 1), (1000, 1), (200, 2), (500, 2))
N_FEATURES = 20


def table(rows: int, n_covariates: int, seed: int) -> Dataset:
    rng = np.random.default_rng([rows, n_covariates, seed])
    covariates = rng.normal(size=(rows, n_covariates))
    mean = covariates.sum(axis=1) / np.sqrt(n_covariates)
    X = 0.8 * mean[:, None] + 0.6 * rng.normal(size=(rows, N_FEATURES))
    effect = rng.normal(size=rows)
    y = (mean + 0.5 * rng.normal(size=rows) + 0.5 * effect > 0).astype(int)
    adjust = [f"z{j}" for j in range(n_covariates)]
    names = [f"f{j}" for j in range(N_FEATURES)] + ["effect", *adjust]
    data = Dataset.from_arrays(np.column_stack([X, effect, covariates]), y, names)
    return data.with_roles(adjust=adjust)


def measured(rows: int, n_covariates: int, strata: str, tables: int) -> dict[str, object]:
    chain = Chain.parse(CHAIN)
    p = np.array(
        [
            chain.select(table(rows, n_covariates, seed), seed=seed).tables["p-values"]
            for seed in range(tables)
        ]
    )
    shares = (p[:, :N_FEATURES] <= 0.05).mean(axis=1)
    return {
        "chain": CHAIN, "rows": rows, "covariates": n_covariates, "strata": strata,
        "tables": tables, "p<=.05": round(float(shares.mean()), 4),
        "se": round(float(shares.std(ddof=1) / np.sqrt(tables)), 4),
        "power": round(float((p[:, N_FEATURES] <= 0.05).mean()), 4),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    ten_rows = SideColumns.strata
    ways = {"quintiles": lambda columns, rows=None: ten_rows(columns), "ten rows": ten_rows}
    results = []
    for rows, n_covariates in SIZES:
        for strata, way in ways.items():
            SideColumns.strata = way  # type: ignore[method-assign,assignment]
            results.append(measured(rows, n_covariates, strata, given.tables))
            print(results[-1], flush=True)
    if given.out:
        with given.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(results[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(results)


if __name__ == "__main__":
    main()
