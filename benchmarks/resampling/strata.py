"""Level of `npfs` with covariates that are numbers, which label and features follow.

    python benchmarks/resampling/strata.py --tables 60 --out FILE

20 features follow a function of normal covariates (correlation 0.8) and depend on the label by it
alone; one more has an effect of its own. The function is the mean of the covariates (`mean`), of
their squares (`squares`), the product of the first two (`product`) or the sine of twice the first
(`sine`); with `none` features and label follow no covariate. The share of the 20 features with
p ≤ 0.05, with its standard error over tables, and how often p ≤ 0.05 for the one with an effect:
with labels permuted in the strata of `npfs` (`alike`) and within quintiles of each covariate
(`quintiles`). Tables without two rows in a stratum are refused. The base does not adjust itself.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import fsframe_npfs.engine.nulls
from fsframe import Chain, Dataset
from fsframe.errors import DataError

CHAIN = "relieff npfs:n=3,permutations=59,permuted_n=3"
N_FEATURES = 20
DESIGNS = (
    (200, 1, "mean"), (500, 1, "mean"), (1000, 1, "mean"), (200, 1, "none"),
    (200, 2, "mean"), (500, 2, "mean"), (500, 2, "squares"), (500, 2, "product"),
    (500, 2, "sine"), (200, 10, "mean"), (200, 10, "none"),
)  # fmt: skip
FUNCTIONS = {
    "mean": lambda Z: Z.sum(axis=1) / np.sqrt(Z.shape[1]),
    "squares": lambda Z: ((Z**2).sum(axis=1) - Z.shape[1]) / np.sqrt(2 * Z.shape[1]),
    "product": lambda Z: Z[:, 0] * Z[:, 1],
    "sine": lambda Z: np.sqrt(2) * np.sin(2 * Z[:, 0]),
}


def table(rows: int, n_covariates: int, function: str, seed: int) -> Dataset:
    rng = np.random.default_rng([rows, n_covariates, seed])
    covariates = rng.normal(size=(rows, n_covariates))
    common: NDArray[np.float64] = FUNCTIONS.get(function, lambda Z: rng.normal(size=rows))(
        covariates
    )
    shared = common if function != "none" else np.zeros(rows)
    X = 0.8 * shared[:, None] + 0.6 * rng.normal(size=(rows, N_FEATURES))
    effect = rng.normal(size=rows)
    y = (common + 0.5 * rng.normal(size=rows) + 0.5 * effect > 0).astype(int)
    adjust = [f"z{j}" for j in range(n_covariates)]
    names = [f"f{j}" for j in range(N_FEATURES)] + ["effect", *adjust]
    data = Dataset.from_arrays(np.column_stack([X, effect, covariates]), y, names)
    return data.with_roles(adjust=adjust)


def measured(design: tuple[int, int, str], strata: str, tables: int) -> dict[str, object]:
    chain = Chain.parse(CHAIN)
    p, refused = [], 0
    for seed in range(tables):
        try:
            p.append(chain.select(table(*design, seed), seed=seed).tables["p-values"])
        except DataError:  # every row is a stratum
            refused += 1
    relevant = np.array(p).reshape(-1, N_FEATURES + 1) <= 0.05
    shares = relevant[:, :N_FEATURES].mean(axis=1)
    rows, n_covariates, function = design
    return {
        "chain": CHAIN, "rows": rows, "covariates": n_covariates, "function": function,
        "strata": strata, "tables": tables, "refused": refused,
        "p<=.05": round(float(shares.mean()), 4) if p else "",
        "se": round(float(shares.std(ddof=1) / np.sqrt(len(p))), 4) if len(p) > 1 else "",
        "power": round(float(relevant[:, N_FEATURES].mean()), 4) if p else "",
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    nulls = fsframe_npfs.engine.nulls
    ways = {
        "quintiles": lambda data: data.covariates.strata(),
        "alike": nulls.strata_of_covariates,
    }
    results = []
    for design in DESIGNS:
        for strata, way in ways.items():
            nulls.strata_of_covariates = way
            results.append(measured(design, strata, given.tables))
            print(results[-1], flush=True)
    if given.out:
        with given.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(results[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(results)


if __name__ == "__main__":
    main()
