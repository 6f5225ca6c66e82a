"""Does choosing features first change the level of the test of their pairs?

    python benchmarks/interactions/after_selection.py [--tables 200] [--rows 200] [--columns 30]
        [--split-only] [--out FILE]

Tables without any interaction: columns of noise, or two of them with main effects. A chain keeps
features on all rows; the pairs of what it kept are tested by `interactions` on the same rows, as
`Chain.run` does, and, by `interactions-split`, on rows that the chain has not seen. Share of pairs
with p ≤ 0.05 and 0.01, its standard error over tables (pairs of one table are not independent), and
the share of tables with any pair of q ≤ 0.05: q over the pairs of the features kept, and as
`Chain.run` reports it, for a method that looks at features together over the pairs of all columns.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from scipy import stats

from fsframe.chains.chain import Chain
from fsframe.method.run import Run
from fsframe.registry import selectors
from fsframe.table.dataset import Dataset

CHAINS = (
    "mim:top=10",
    "relieff:top=10",
    "immigrate:top=10",
    "immigrate",
    "interactions:top=10",
)
NAMES = ("p05", "p01", "any_q05_of_kept", "any_q05_reported")
TRUTHS = {"noise alone": 0.0, "two main effects": 1.0}


def table(rng: np.random.Generator, rows: int, columns: int, main: float) -> Dataset:
    X = rng.normal(size=(rows, columns))
    if not main:
        return Dataset.from_arrays(X, rng.permutation(np.arange(rows) % 2))
    odds = 1 / (1 + np.exp(-main * (X[:, 0] + X[:, 1])))
    return Dataset.from_arrays(X, (rng.random(rows) < odds).astype(int))


def shares(data: Dataset, kept: np.ndarray, seed: int, together: bool) -> list[float]:
    """Shares of pairs of `kept` with p ≤ 0.05 and 0.01; whether any has q ≤ 0.05, by both q."""
    none = np.empty((0, 2), dtype=np.intp)
    of_all = data.n_features * (data.n_features - 1) // 2 if together else 0
    tested = selectors["interactions"]().test_pairs(
        data, np.sort(kept), none, of_all, Run(entropy=seed)
    )
    return shares_of(tested.p_values, tested.n_tested, tested.q_values)


def shares_of(p: np.ndarray, n: int, reported: np.ndarray) -> list[float]:
    """As `shares`, of n tested pairs; those that are not listed have larger p."""
    full = np.concatenate([p, np.ones(n - len(p))])
    q = stats.false_discovery_control(full)
    return [
        (p <= 0.05).sum() / n,
        (p <= 0.01).sum() / n,
        (q <= 0.05).any(),
        (reported <= 0.05).any(),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--chains", nargs="+", default=list(CHAINS))
    parser.add_argument("--split-only", action="store_true", help="not on the rows that chose")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = []
    for truth, effect in TRUTHS.items():
        for text in options.chains:
            chain = Chain.parse(text)
            together = not any(stage.method.univariate for stage in chain.stages)
            seen: dict[str, list[list[float]]] = {"same rows": [], "other rows": []}
            for seed in range(options.tables):
                rng = np.random.default_rng([seed, 15])
                data = table(rng, options.rows, options.columns, effect)
                kept = np.empty(0) if options.split_only else chain.select(data, seed=seed).selected
                if len(kept) > 1:
                    seen["same rows"].append(shares(data, kept, seed, together))
                split = Chain.parse(f"{text} interactions-split")
                tables = split.select(data, seed=seed).tables
                n = int(tables["n_tested"][0])
                if n:
                    seen["other rows"].append(shares_of(tables["p_values"], n, tables["q_values"]))
            for rows, values in seen.items():
                if not values:
                    continue
                mean = np.mean(values, axis=0)
                error = np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
                line = {"table": truth, "chain": text, "tested on": rows, "tables": len(values)}
                for name, value, se in zip(NAMES, mean, error, strict=True):
                    line |= {name: round(float(value), 4), f"{name}_se": round(float(se), 4)}
                lines.append(line)
                print(line, flush=True)
    if options.out:
        with options.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, lines[0])
            writer.writeheader()
            writer.writerows(lines)


if __name__ == "__main__":
    main()
