"""Share of columns that tell nothing with so small a p-value of `cox-score`, by law of the null.

    python benchmarks/survival/level.py

Normal columns, t-distributed ones of 2 degrees of freedom, and binary ones with a tenth of ones;
exponential times, a fraction of them censored. `told` tables have censoring nine times as early
where the column is above 0. Writes results/level.csv.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from fsframe import Dataset
from fsframe_survival.cox import CoxScore

OUT = Path(__file__).with_name("results") / "level.csv"
LEVELS = (0.05, 0.01, 0.001, 0.0001)
COLUMNS, TABLES, TOLD = 5000, 20, 5000


def columns(law: str, n: int, draw: np.random.Generator) -> np.ndarray:
    """Columns of a law, without constant ones."""
    if law == "t":
        return draw.standard_t(2, size=(n, COLUMNS))
    if law == "rare":
        X = (draw.random((n, COLUMNS)) < 0.1).astype(float)
        return X[:, X.std(axis=0) > 0]
    return draw.normal(size=(n, COLUMNS))


def p_values(X: np.ndarray, time: np.ndarray, until: np.ndarray, null: str) -> np.ndarray:
    """Of `cox-score` on times that are followed until some other time."""
    data = Dataset.from_arrays(X, np.minimum(time, until), event=time <= until)
    return CoxScore(alpha=0.05, null=null).select(data).tables["p_values"]


def rows() -> list[list[object]]:
    found: list[list[object]] = []
    for n in (30, 60, 100, 300):
        for law in ("normal", "t", "rare", "told"):
            small: dict[str, list[np.ndarray]] = {"chi2": [], "permutation": []}
            for seed in range(TOLD if law == "told" else TABLES):
                draw = np.random.default_rng([n, seed, len(law)])
                X = draw.normal(size=(n, 1)) if law == "told" else columns(law, n, draw)
                time, until = draw.exponential(size=n), draw.exponential(1.5, size=n)
                if law == "told":
                    until *= np.where(X[:, 0] > 0, 1 / 3, 3)
                for null, values in small.items():
                    values.append(p_values(X, time, until, null))
            for null, values in small.items():
                whole = np.concatenate(values)
                shares = [f"{(whole <= level).mean():.5f}" for level in LEVELS]
                found.append([n, law, null, whole.size, *shares])
    return found


if __name__ == "__main__":
    OUT.parent.mkdir(exist_ok=True)
    with OUT.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["rows", "law", "null", "columns", *map(str, LEVELS)])
        writer.writerows(rows())
