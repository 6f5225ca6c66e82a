"""Interactions that NPFS over pairs finds, and pairs that it selects if the label is random.

    python benchmarks/resampling/npfs_pairs.py [--gametes FILE] [--repeats 50] [--out FILE]

XOR: 200 rows, the class is the sign of x1·x2, eight columns of noise, normal values. GAMETES: the
two-locus set of 1600 rows and 20 SNPs (heritability 0.4; P1 and P2 predict, no main effect), of
which each repeat takes 100 or 400 rows of each class at random. `pair` is the share of repeats in
which the true pair is named, `others` the mean number of other pairs, `nominal` alpha times the
number of pairs. Seconds are processor seconds.
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
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset

HERE = Path(__file__).parent
GAMETES = HERE.parents[1] / "tests" / "plugins" / "relief" / "data" / "gametes2way.csv"
SYNERGY = "mim:pairs=synergy,discretise=equal-frequency,bins=2"


def xor_table(seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 10))
    return Dataset.from_arrays(X, (X[:, 0] * X[:, 1] > 0).astype(int))


def part_of(data: Dataset, rows_per_class: int) -> Callable[[int], Dataset]:
    def table(seed: int) -> Dataset:
        rng = np.random.default_rng(seed)
        rows = [
            rng.choice(np.flatnonzero(data.y == code), rows_per_class, replace=False)
            for code in range(data.n_classes)
        ]
        return data.take_rows(np.sort(np.concatenate(rows)))

    return table


def measured(
    name: str, table: Callable[[int], Dataset], chain: str, pair: tuple[int, int],
    permuted: bool, repeats: int,
) -> dict[str, object]:  # fmt: skip
    parsed = Chain.parse(chain)
    hit, others, tests = [], [], 0
    began = time.process_time()
    for seed in range(repeats):
        data = table(seed)
        if permuted:
            data = data.with_labels(np.random.default_rng(seed).permutation(data.y))
        tables = parsed.select(data, run=Run(entropy=seed, threads=1)).tables
        pairs = {tuple(p) for p in tables["pairs"][tables["relevant"]].tolist()}
        hit.append(pair in pairs)
        others.append(len(pairs - {pair}))
        tests = data.n_features * (data.n_features - 1) // 2
    return {
        "table": name + (", label permuted" if permuted else ""),
        "chain": chain,
        "repeats": repeats,
        "pair": round(float(np.mean(hit)), 3),
        "others": round(float(np.mean(others)), 3),
        "se": round(float(np.std(others, ddof=1) / np.sqrt(repeats)), 3),
        "nominal": round(0.01 * tests, 3),
        "seconds_each": round((time.process_time() - began) / repeats, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gametes", type=Path, default=GAMETES, help="label in the last column")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "npfs_pairs.csv")
    arguments = parser.parse_args()
    jobs = []
    for permuted in (False, True):
        jobs.append(("xor", xor_table, f"{SYNERGY} npfs:of=pairs", (0, 1), permuted))
        data = fsframe.read(arguments.gametes)
        pair = (data.feature_names.index("P1"), data.feature_names.index("P2"))
        chain = "mim:pairs=synergy npfs:of=pairs"
        for rows in (100, 400):
            name = f"gametes, {2 * rows} rows"
            jobs.append((name, part_of(data, rows), chain, pair, permuted))
    jobs += [
        ("xor", xor_table, "immigrate npfs:of=pairs", (0, 1), permuted)
        for permuted in (False, True)
    ]
    found = []
    arguments.out.parent.mkdir(exist_ok=True)
    for name, table, chain, pair, permuted in jobs:
        found.append(measured(name, table, chain, pair, permuted, arguments.repeats))
        print(*found[-1].values(), sep="  ", flush=True)
        with arguments.out.open("w", newline="") as lines:
            writer = csv.DictWriter(lines, found[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
