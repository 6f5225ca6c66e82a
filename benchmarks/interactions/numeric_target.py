"""Errors of `interactions` on numeric targets without interactions, and what it warns of.

    python benchmarks/interactions/numeric_target.py [--tables 200] [--out FILE]

For each design, tables of 300 rows and 8 columns: the share in which any pair has q ≤ 0.05, the
promise being 0.05, and the share in which such a pair is left that the warning about curved effects
and unequal variances does not name, each with its standard error. The last design has a true
product of small size, where both shares are power.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

from fsframe.table.dataset import Dataset
from fsframe_interactions.interactions import Interactions

DESIGNS = (
    "normal noise", "noise sd exp(0.7 x1)", "t2 noise", "x1^2 + x2, r .8", "product, slope .3"
)  # fmt: skip


def table(design: str, rng: np.random.Generator) -> Dataset:
    """One table of a design."""
    X, noise = rng.normal(size=(300, 8)), rng.normal(size=300)
    if design == "noise sd exp(0.7 x1)":
        y = np.exp(0.7 * X[:, 0]) * noise
    elif design == "t2 noise":
        y = X[:, 0] + rng.standard_t(2, size=300)
    elif design == "x1^2 + x2, r .8":
        X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
        y = X[:, 0] ** 2 + X[:, 1] + noise
    elif design == "product, slope .3":
        y = X[:, 0] + X[:, 1] + 0.3 * X[:, 0] * X[:, 1] + noise
    else:
        y = X[:, 0] + noise
    return Dataset.from_arrays(X, y)


def measured(design: str, tables: int) -> dict[str, object]:
    """Both shares and their standard errors."""
    any_pair, unnamed = 0, 0
    for seed in range(tables):
        found = Interactions().select(table(design, np.random.default_rng(seed)))
        listed = int((found.tables["q_values"] <= 0.05).sum())
        named = [note for note in found.warnings if "do not take them" in note]
        any_pair += listed > 0
        unnamed += listed > (int(named[0].split()[0]) if named else 0)
    row: dict[str, object] = {"design": design, "tables": tables}
    for name, many in (("any pair with q <= .05", any_pair), ("not warned of", unnamed)):
        share = many / tables
        row[name] = share
        row[f"se, {name}"] = round((share * (1 - share) / tables) ** 0.5, 3)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    found = [measured(design, asked.tables) for design in DESIGNS]
    for row in found:
        print(row)
    if asked.out:
        with asked.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(found[0]))
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
