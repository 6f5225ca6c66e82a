"""Level of `npfs` with covariates that label and features follow.

    python benchmarks/resampling/strata.py --tables 60 --out FILE

20 features follow a function of the covariates (correlation 0.8) and depend on the label by it
alone; one more has an effect of its own. The function is the mean of normal covariates (`mean`), of
their squares (`squares`), the product of the first two (`product`) or the sine of twice the first
(`sine`); the mean of log-normal ones (`skewed`); or the mean of the effects of 50 levels and of one
number (`levels`). With `none` features and label follow no covariate. The share of the 20 features
with p ≤ 0.05, with its standard error over tables, and how often p ≤ 0.05 for the one with an
effect: with labels permuted in the strata of `npfs` (`alike`) and within equal levels and quintiles
of each covariate (`quintiles`). Tables without two rows in a stratum are refused. The base does not
adjust itself.
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

REPEATED = "npfs:n=3,permutations=59,permuted_n=3"
N_FEATURES, N_LEVELS = 20, 50
DESIGNS = (
    (200, 1, "mean", "2 classes"), (500, 1, "mean", "2 classes"), (1000, 1, "mean", "2 classes"),
    (200, 1, "none", "2 classes"), (200, 2, "mean", "2 classes"), (500, 2, "mean", "2 classes"),
    (500, 2, "squares", "2 classes"), (500, 2, "product", "2 classes"),
    (500, 2, "sine", "2 classes"), (200, 10, "mean", "2 classes"), (200, 10, "none", "2 classes"),
    (200, 2, "skewed", "2 classes"), (200, 2, "levels", "2 classes"),
    (200, 2, "mean", "5 classes"), (200, 1, "mean", "number"), (200, 2, "skewed", "number"),
)  # fmt: skip


def followed(
    function: str, Z: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """What label and features follow of the covariates Z (rows, n_covariates), (rows,)."""
    if function == "squares":
        return ((Z**2).sum(axis=1) - Z.shape[1]) / np.sqrt(2 * Z.shape[1])
    if function == "product":
        return Z[:, 0] * Z[:, 1]
    if function == "sine":
        return np.sqrt(2) * np.sin(2 * Z[:, 0])
    if function == "skewed":
        return (Z.sum(axis=1) - Z.sum(axis=1).mean()) / Z.sum(axis=1).std()
    if function == "levels":
        return (rng.normal(size=N_LEVELS)[Z[:, 0].astype(int)] + Z[:, 1]) / np.sqrt(2)
    return Z.sum(axis=1) / np.sqrt(Z.shape[1])


def table(rows: int, n_covariates: int, function: str, label: str, seed: int) -> Dataset:
    rng = np.random.default_rng([rows, n_covariates, seed])
    covariates = rng.normal(size=(rows, n_covariates))
    if function == "skewed":
        covariates = np.exp(covariates)
    if function == "levels":
        covariates[:, 0] = rng.integers(0, N_LEVELS, size=rows)
    shared = np.zeros(rows)
    common = rng.normal(size=rows) if function == "none" else followed(function, covariates, rng)
    if function != "none":
        shared = common
    X = 0.8 * shared[:, None] + 0.6 * rng.normal(size=(rows, N_FEATURES))
    effect = rng.normal(size=rows)
    y = common + 0.5 * rng.normal(size=rows) + 0.5 * effect
    if label == "2 classes":
        y = (y > 0).astype(int)
    if label == "5 classes":
        y = np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)
    names = [f"f{j}" for j in range(N_FEATURES)] + ["effect"]
    task = "regression" if label == "number" else "classification"
    data = Dataset.from_arrays(np.column_stack([X, effect]), y, names, task=task)
    adjust = {f"z{j}": values for j, values in enumerate(covariates.T)}
    nominal = ["z0"] if function == "levels" else []
    return data.with_roles(adjust=[*adjust], beside=adjust, nominal_beside=nominal)


def measured(design: tuple[int, int, str, str], strata: str, tables: int) -> dict[str, object]:
    rows, n_covariates, function, label = design
    chain = Chain.parse(f"{'rrelieff' if label == 'number' else 'relieff'} {REPEATED}")
    p, refused = [], 0
    for seed in range(tables):
        try:
            p.append(chain.select(table(*design, seed), seed=seed).tables["p-values"])
        except DataError:  # every row is a stratum
            refused += 1
    relevant = np.array(p).reshape(-1, N_FEATURES + 1) <= 0.05
    shares = relevant[:, :N_FEATURES].mean(axis=1)
    return {
        "chain": str(chain), "label": label, "rows": rows, "covariates": n_covariates,
        "function": function, "strata": strata, "tables": tables, "refused": refused,
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
