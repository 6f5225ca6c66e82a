"""Why a corrected test of weights with a fixed sum selects nothing: is it the number of genes?

    python benchmarks/resampling/npfs_shares.py TABLE [--strong 300 100 30 10] [--out FILE]

The genes of TABLE that `mim:top=100 npfs` keeps are called strong. All but a given number of them,
the first by p, are removed, the weak genes stay, and `mim:top=100 immigrate npfs` runs on the rest.
Printed are how many genes are selected, and how many of those are strong; how many genes get a
weight in any bootstrap of the true label, and in how many of these lists a strong one is on
average; the largest and the median mean weight of the strong genes; and the largest mean weight of
any gene under any permuted label (two bootstraps each). Seconds are processor seconds.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from npfs_levels import alone

import fsframe
from fsframe.chains.chain import Chain

HERE = Path(__file__).parent
SCREEN = "mim:top=100"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--strong", type=int, nargs="+", default=[300, 100, 30, 10])
    parser.add_argument("--out", type=Path, default=HERE / "results" / "npfs_shares.csv")
    arguments = parser.parse_args()
    data = fsframe.read(arguments.table)
    strong = Chain.parse(f"{SCREEN} npfs").select(data, run=alone(0)).selected
    weak = np.setdiff1d(np.arange(data.n_features), strong)
    rows = []
    for number in arguments.strong:
        kept = strong[:number]
        table = data.take_columns(np.concatenate((kept, weak)))
        began = time.process_time()
        found = Chain.parse(f"{SCREEN} immigrate npfs").select(table, run=alone(0))
        seconds = time.process_time() - began
        tables = found.tables
        means = tables["mean-scores"]
        among = np.isin(tables["columns"], np.arange(kept.size))
        n = int(tables["numbers"][0])
        # Genes that some bootstraps weigh have more than the floor that all others share.
        weighed = means[0] > means[0].min() + 1e-12
        rng = np.random.default_rng(0)
        held = np.zeros(table.n_features)
        for _ in range(n):
            counts = rng.multinomial(table.n_samples, np.full(table.n_samples, 1 / table.n_samples))
            screened = Chain.parse(SCREEN).select(table.with_counts(counts), run=alone(0))
            held[screened.selected] += 1
        row = {
            "table": arguments.table.name.split(".")[0],
            "strong": kept.size,
            "weak": weak.size,
            "named": found.selected.size,
            "named_strong": int((found.selected < kept.size).sum()),
            "weighed": int(weighed.sum()),
            "share_of_lists": round(float(held[: kept.size].mean() / n), 3),
            "largest_strong": round(float(means[0, among].max()), 4),
            "median_strong": round(float(np.median(means[0, among])), 4),
            "largest_permuted": round(float(means[1:].max()), 4),
            "processor_seconds": round(seconds, 1),
        }
        rows.append(row)
        print(*row.values(), sep="  ", flush=True)
        with arguments.out.open("w", newline="") as lines:
            writer = csv.DictWriter(lines, row.keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
