"""Share of false features that `knockoffs` keeps, and of true ones, over designs.

    python benchmarks/resampling/knockoffs_fdr.py --tables 40 --out FILE

300 rows, 60 features, 20 of them causes of a numeric label: a feature is false if the label does
not depend on it given the others. `ar` has correlation 0.3 or 0.8 between neighbours, `heavy`
t-distributed features with 3 degrees of freedom, `blocks` ten blocks of six at 0.8 with two causes
each, `null` no cause. Level 0.2.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fsframe import Chain, Dataset

CHAINS = (
    "lasso:top=60 knockoffs:copies=1",
    "lasso:top=60 knockoffs:copies=10",
    "lasso:score_by=coefficient knockoffs:copies=1",
    "lasso:score_by=coefficient knockoffs:copies=10",
)
KINDS = ("null", "ar 0.3", "ar 0.8", "heavy", "blocks")


def table(kind: str, seed: int, n: int = 300, p: int = 60) -> tuple[Dataset, np.ndarray]:
    """A table, and which of its features are causes."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, p))
    causes = np.zeros(p, dtype=bool)
    causes[::3] = True
    if kind.startswith("ar") or kind == "null":
        rho = 0.3 if kind == "null" else float(kind.split()[1])
        for j in range(1, p):
            X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    elif kind == "heavy":
        X = draw.standard_t(3, size=(n, p))
    else:
        for block in range(10):
            part = slice(block * 6, block * 6 + 6)
            X[:, part] = np.sqrt(0.2) * X[:, part] + np.sqrt(0.8) * draw.normal(size=(n, 1))
    if kind == "null":
        causes[:] = False
    y = 0.6 * X[:, causes].sum(axis=1) + 1.5 * draw.normal(size=n)
    return Dataset.from_arrays(X, y, name=kind), causes


def measured(tables: int) -> Iterator[dict[str, str]]:
    for text in CHAINS:
        chain = Chain.parse(text)
        for kind in KINDS:
            began = time.process_time()
            false, power = [], []
            for seed in range(tables):
                data, causes = table(kind, seed)
                kept = chain.select(data, seed=seed).selected
                false.append((~causes[kept]).sum() / max(1, kept.size))
                power.append(causes[kept].sum() / max(1, causes.sum()))
            seconds = (time.process_time() - began) / tables
            yield {
                "chain": text,
                "design": kind,
                "tables": str(tables),
                "promised": "0.2",
                "fdr": f"{np.mean(false):.3f}",
                "se": f"{np.std(false, ddof=1) / np.sqrt(tables):.3f}",
                "power": "" if kind == "null" else f"{np.mean(power):.2f}",
                "seconds_each": f"{seconds:.2f}",
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    for row in measured(given.tables):
        print(*row.values(), flush=True)
        rows.append(row)
    if given.out is not None:
        with given.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
