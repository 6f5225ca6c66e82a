"""Power and level of `npfs` over margin methods, on tables whose relevant columns are known.

    python benchmarks/margin/power_of_scores.py [--cases blocks linear] [--base immigrate]
        [--tables 3] [--leukaemia TABLE] [--out FILE]

Each case is a number of random tables (seed = number of the table), tested with the defaults of
`npfs` except where the case says so. Printed are the mean numbers of columns kept and of relevant
ones among them, the share of columns with p ≤ .05, each with its standard error over the tables,
and processor seconds per table. In the null cases no column is relevant.

blocks   120 × 30: three blocks of seven columns, correlation .8, nine independent ones; the class
         depends on one column of each of two blocks and on one independent column: 15 are relevant
linear   120 × 30, independent; the class depends on five columns
wide     300 × 30, independent; the class depends on six columns
xor      200 × 10; the class is the sign of a product of two columns
null-blocks       60 × 18: two blocks of nine columns, correlation .9, permuted labels
null-independent  60 × 18, permuted labels
leukaemia         `mim:top=100 BASE npfs` on the table given, one seed per repetition
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fsframe
from fsframe.chains.chain import Chain

HERE = Path(__file__).parent


def correlated(rng: np.random.Generator, n: int, blocks: int, size: int, rho: float) -> np.ndarray:
    """Blocks of normal columns with correlation `rho` within each."""
    shared = np.repeat(rng.standard_normal((n, blocks)), size, axis=1)
    return np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.standard_normal((n, blocks * size))


def classes(rng: np.random.Generator, signal: np.ndarray) -> np.ndarray:
    """Two classes by the sign of the signal and noise of three tenths of its deviation."""
    return signal + 0.3 * signal.std() * rng.standard_normal(signal.size) > 0


def blocks(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[int]]:
    X = np.hstack([correlated(rng, 120, 3, 7, 0.8), rng.standard_normal((120, 9))])
    return X, classes(rng, X[:, 0] + X[:, 7] + X[:, 21]), [*range(14), 21]


def linear(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[int]]:
    X = rng.standard_normal((120, 30))
    return X, classes(rng, X[:, :5].sum(axis=1)), list(range(5))


def wide(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[int]]:
    X = rng.standard_normal((300, 30))
    return X, classes(rng, X[:, :6].sum(axis=1)), list(range(6))


def xor(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[int]]:
    X = rng.standard_normal((200, 10))
    return X, X[:, 0] * X[:, 1] > 0, [0, 1]


def null_blocks(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[int]]:
    return correlated(rng, 60, 2, 9, 0.9), rng.permutation(60) < 30, []


def null_independent(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[int]]:
    return rng.standard_normal((60, 18)), rng.permutation(60) < 30, []


CASES: dict[str, tuple[Callable[..., tuple[np.ndarray, np.ndarray, list[int]]], int]] = {
    "blocks": (blocks, 3),
    "linear": (linear, 3),
    "wide": (wide, 2),
    "xor": (xor, 2),
    "null-blocks": (null_blocks, 14),
    "null-independent": (null_independent, 14),
}


def tested(chain: str, data: fsframe.Dataset, seed: int, relevant: list[int]) -> dict[str, float]:
    """What one test found."""
    began = time.process_time()
    found = Chain.parse(chain).select(data, seed=seed)
    seconds = time.process_time() - began
    return {
        "kept": found.selected.size,
        "relevant": int(np.isin(found.selected, relevant).sum()),
        "p<=.05": float((found.tables["p-values"] <= 0.05).mean()),
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=[*CASES, "leukaemia"], default=list(CASES))
    parser.add_argument("--base", default="immigrate")
    parser.add_argument("--tables", type=int, help="number of tables, instead of each case's own")
    parser.add_argument("--leukaemia", type=Path, help="the leukaemia table")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "power_of_scores.csv")
    asked = parser.parse_args()
    rows = []
    for case in asked.cases:
        found = []
        chain = f"{asked.base} npfs"
        if case == "leukaemia":
            if asked.leukaemia is None:
                parser.error("leukaemia needs --leukaemia TABLE")
            chain = f"mim:top=100 {chain}"
            data = fsframe.read(asked.leukaemia)
            for seed in range(asked.tables or 2):
                found.append(tested(chain, data, seed, []))
        else:
            make, number = CASES[case]
            for seed in range(asked.tables or number):
                X, y, relevant = make(np.random.default_rng(seed))
                data = fsframe.Dataset.from_arrays(X, y)
                found.append(tested(chain, data, seed, relevant))
        row: dict[str, object] = {"case": case, "chain": chain, "tables": len(found)}
        for name in found[0]:
            values = np.array([one[name] for one in found])
            row[name] = round(float(values.mean()), 4)
            if name != "seconds" and len(found) > 1:
                row[f"{name} error"] = round(float(values.std(ddof=1) / len(found) ** 0.5), 4)
        row["kept, each"] = " ".join(str(one["kept"]) for one in found)
        rows.append(row)
        print(*(f"{name}={value}" for name, value in row.items()), sep="  ", flush=True)
    with asked.out.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
