"""Chains on binary columns with few ones, over effects and numbers of rows: why one is proposed.

    python benchmarks/ledger/rare.py [--tables 24]

The design `rare` of the ledger is one of the nine settings. Each line gives the mean F1 against the
four relevant of 40 columns, over the same tables for each chain, and the difference of the last
chain from the first with its standard error. Took 20 minutes of processor time with 24 tables.
"""

from __future__ import annotations

import argparse

import numpy as np
from designs import classes_of
from run import f1

import fsframe

CHAINS = {
    "BH": "anova-f:alpha=0.05",
    "Bonferroni": "anova-f:alpha=0.05,correction=bonferroni",
    "best-shadow": "boruta:trees=50,max_runs=39,alpha=0.05,correction=best-shadow",
}
COLUMNS, RELEVANT = 40, 4


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=24, help="tables of each setting")
    given = parser.parse_args()
    relevant = np.arange(COLUMNS) < RELEVANT
    print("effect  rows ", *(f"{name:>12}" for name in CHAINS), "  difference  ±")
    for effect in (1.5, 2.0, 3.0):
        for n in (100, 200, 300):
            reached = np.zeros((len(CHAINS), given.tables))
            for table in range(given.tables):
                draw = np.random.default_rng([7, int(10 * effect), n, table])
                shares = np.linspace(0.03, 0.1, COLUMNS)[::-1]
                X = (draw.random((n, COLUMNS)) < shares).astype(float)
                y = classes_of(draw, effect * X[:, :RELEVANT].sum(axis=1), True)
                data = fsframe.Dataset.from_arrays(X, y)
                for place, chain in enumerate(CHAINS.values()):
                    kept = fsframe.select(chain, data, seed=table).selected
                    reached[place, table] = f1(kept, relevant)
            gain = reached[-1] - reached[0]
            print(
                f"{effect:<7g} {n:<5}",
                *(f"{value:12.3f}" for value in reached.mean(axis=1)),
                f"{gain.mean():12.3f}  {gain.std() / np.sqrt(given.tables):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
