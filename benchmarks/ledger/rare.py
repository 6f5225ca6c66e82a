"""Chains on binary columns with few ones, over effects and numbers of rows: why one is proposed.

    python benchmarks/ledger/rare.py [--tables 24] [--out FILE]

40 columns, 1 in 3 to 10 of 100 rows; the first four are relevant, with a log odds of `effect`; the
design `rare` of the ledger is one of the settings. With effect 0 nothing is relevant; such settings
have twice the tables. For each chain, over the same tables: the mean F1 against the relevant
columns, and the share of tables in which an irrelevant one is kept, each with its standard error;
`gain` is the mean difference of F1 from the first chain. About half an hour of processor time.
"""

from __future__ import annotations

import argparse
import csv
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from designs import classes_of
from run import f1

import fsframe

CHAINS = {
    "anova-f": "anova-f:alpha=0.05",
    "anova-f, Bonferroni": "anova-f:alpha=0.05,correction=bonferroni",
    "boruta, best-shadow": "boruta:trees=50,max_runs=39,alpha=0.05,correction=best-shadow",
}
EFFECTS, ROWS = (0.0, 1.5, 2.0, 3.0), (100, 200, 300)
COLUMNS, RELEVANT = 40, 4
OUT = Path(__file__).with_name("results") / "rare.csv"


def tables(effect: float, n: int, count: int) -> list[fsframe.Dataset]:
    """The first `count` tables of a setting."""
    made = []
    for place in range(count):
        draw = np.random.default_rng([7, int(10 * effect), n, place])
        X = (draw.random((n, COLUMNS)) < np.linspace(0.03, 0.1, COLUMNS)[::-1]).astype(float)
        y = classes_of(draw, effect * X[:, :RELEVANT].sum(axis=1), True)
        made.append(fsframe.Dataset.from_arrays(X, y))
    return made


def measured(setting: tuple[float, int], count: int) -> list[dict[str, object]]:
    """A row for each chain."""
    effect, n = setting
    relevant = (np.arange(COLUMNS) < RELEVANT) & (effect > 0)
    data = tables(effect, n, count if effect else 2 * count)
    reached, false = np.zeros((2, len(CHAINS), len(data)))
    for k, chain in enumerate(CHAINS.values()):
        for place, each in enumerate(data):
            kept = fsframe.select(chain, each, seed=place).selected
            reached[k, place] = f1(kept, relevant)
            false[k, place] = not relevant[kept].all()

    def mean(values: np.ndarray) -> dict[str, str]:
        error = values.std() / np.sqrt(values.size)
        return {"": f"{values.mean():.3f}", "_se": f"{error:.3f}"}

    return [
        {"effect": f"{effect:g}", "rows": n, "tables": len(data), "chain": name}
        | {f"f1{k}": v if effect else "" for k, v in mean(reached[place]).items()}
        | {f"gain{k}": v if effect else "" for k, v in mean(reached[place] - reached[0]).items()}
        | {f"any_false{k}": v for k, v in mean(false[place]).items()}
        for place, name in enumerate(CHAINS)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", type=int, default=24, help="tables of each setting")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        settings = product(EFFECTS, ROWS)
        rows = [row for part in pool.map(partial(measured, count=given.tables), settings)
                for row in part]  # fmt: skip
    with given.out.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    csv.DictWriter(sys.stdout, list(rows[0]), delimiter="\t").writerows(rows)


if __name__ == "__main__":
    main()
