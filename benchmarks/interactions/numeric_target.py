"""Errors and power of `interactions` where main effects are curved or variances unequal.

    python benchmarks/interactions/numeric_target.py [--tables 200] [--only DESIGN …] [--out FILE]

For each design the share of tables in which a pair that does not interact has q ≤ 0.05, the promise
being 0.05, with its standard error; in the designs marked *power* the share in which the true pair
has. `straight` is the same with `calibrate=0`: F (numeric targets) or χ² (classes), without
allowance for curved main effects.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from fsframe.table.dataset import Dataset
from fsframe_interactions.interactions import Interactions

TRUE = (0, 1)
NUMERIC = (
    "normal noise",
    "noise sd exp(0.7 x1)",
    "t2 noise",
    "t2 columns, r .8",
    "x1^2 + x2, r .8",
    "steps, r .8",
    "power: product, slope .3",
    "power: sign(x1 x2)",
)
CLASSES = ("classes: 1.5 (x1^2 - 1), r .5", "classes: 1.5 (x1^2 - 1), r .5, given x1",
           "classes: 1.5 (x1 + x2), r .8", "classes: noise",
           "power: classes, 0.8 x1 x2", "power: classes, sign(x1 x2)")  # fmt: skip
WIDE = ("231 pairs: normal noise", "231 pairs: noise sd exp(0.7 x1)")


def table(design: str, rng: np.random.Generator) -> Dataset:
    """One table of a design: numeric targets 300 × 8 (231 pairs: 200 × 22), classes 400 × 10."""
    n, p = (400, 10) if "classes" in design else (200, 22) if design in WIDE else (300, 8)
    X, noise = rng.normal(size=(n, p)), rng.normal(size=n)
    if "classes" in design:
        shared = 0.8 if "r .8" in design else 0.5 if "r .5" in design else 0.0
        X = np.sqrt(1 - shared) * X + np.sqrt(shared) * rng.normal(size=(n, 1))
        a, b = X[:, 0], X[:, 1]
        score = {"1.5 (x1^2 - 1)": 1.5 * (a**2 - 1), "1.5 (x1 + x2)": 1.5 * (a + b),
                 "0.8 x1 x2": 0.8 * a * b, "sign(x1 x2)": np.sign(a * b)}  # fmt: skip
        found = [values for name, values in score.items() if name in design]
        z = found[0] if found else np.zeros(n)
        data = Dataset.from_arrays(X, (z + rng.logistic(size=n) > 0).astype(int))
        return data.with_roles(adjust="f1") if "given x1" in design else data
    if "t2 columns" in design:
        X = rng.standard_t(2, size=(n, p))
    if "r .8" in design:
        X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    a, b = X[:, 0], X[:, 1]
    if "exp(0.7 x1)" in design:
        y = np.exp(0.7 * a) * noise
    elif design == "t2 noise":
        y = a + rng.standard_t(2, size=n)
    elif design == "t2 columns, r .8":
        y = a + b + noise
    elif design == "x1^2 + x2, r .8":
        y = a**2 + b + noise
    elif design == "steps, r .8":
        y = 2.0 * (a > 0) + 2.0 * (b > 0.5) + noise
    elif "product" in design:
        y = a + b + 0.3 * a * b + noise
    elif "sign" in design:
        y = 0.6 * np.sign(a * b) + noise
    else:
        y = a + noise
    return Dataset.from_arrays(X, y)


def hit(design: str, data: Dataset, method: Interactions) -> tuple[bool, bool]:
    """Whether any pair (for power, the true one) has q ≤ .05; and whether any with x1 has."""
    tables = method.select(data).tables
    pairs = tables["pairs"][tables["q_values"] <= 0.05].tolist()
    if design.startswith("power"):
        return list(TRUE) in pairs, list(TRUE) in pairs
    return bool(pairs), any(0 in pair for pair in pairs)


def measured(design: str, tables: int) -> dict[str, object]:
    """Shares of tables and their standard errors."""
    row: dict[str, object] = {"design": design, "tables": tables}
    for name, method in (("straight", Interactions(calibrate=0)), ("default", Interactions())):
        if method.calibrate == 0 and "given" in design:
            continue
        began = time.process_time()
        hits = np.array([
            hit(design, table(design, np.random.default_rng(seed)), method)
            for seed in range(tables)
        ])  # fmt: skip
        share, with_first = hits.mean(axis=0).tolist()
        row[name] = round(share, 3)
        row[f"{name}, se"] = round((share * (1 - share) / tables) ** 0.5, 3)
        row[f"{name}, pairs with x1"] = round(with_first, 3)
        row[f"{name}, ms a table"] = round((time.process_time() - began) / tables * 1000, 1)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--only", nargs="+", default=[*NUMERIC, *WIDE, *CLASSES])
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    rows = []
    for design in asked.only:
        rows.append(measured(design, asked.tables))
        print(rows[-1], flush=True)
    if asked.out:
        with asked.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
