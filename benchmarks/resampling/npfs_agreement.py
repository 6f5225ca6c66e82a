"""Whether the default NPFS test gives the same answer with another seed.

    python benchmarks/resampling/npfs_agreement.py TABLE CHAIN [--seeds 20] [--out FILE]

Runs the chain with each seed on the same table and prints how many features each seed kept, and
Nogueira's stability of the kept sets (1: all equal, 0: as by chance). Lines of other tables and
chains in FILE are left unchanged.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from npfs_levels import alone, write_lines

import fsframe
from fsframe.chains.chain import Chain

HERE = Path(__file__).parent


def nogueira(Z: np.ndarray) -> float:
    """1 − mean unbiased variance of the columns of Z over that of random sets of the mean size."""
    share = Z.mean(axis=1).mean()
    if share in (0.0, 1.0):
        return float("nan")
    return float(1.0 - Z.var(axis=0, ddof=1).mean() / (share * (1.0 - share)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("chain")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "npfs_agreement.csv")
    arguments = parser.parse_args()
    data = fsframe.read(arguments.table)
    chain = Chain.parse(arguments.chain)
    Z = np.zeros((arguments.seeds, data.n_features))
    began = time.process_time()
    for seed in range(arguments.seeds):
        Z[seed, chain.select(data, run=alone(seed)).selected] = 1.0
    kept = Z.sum(axis=1).astype(int)
    row: dict[str, object] = {
        "table": arguments.table.name.split(".")[0],
        "chain": str(chain),
        "N": data.n_samples,
        "K": data.n_features,
        "seeds": arguments.seeds,
        "phi": round(nogueira(Z), 3),
        "kept": " ".join(map(str, kept)),
        "by_all": int((Z.mean(axis=0) == 1).sum()),
        "processor_seconds_each": round((time.process_time() - began) / arguments.seeds, 1),
    }
    print(*row.values(), sep="  ")
    found: dict[tuple[str, ...], dict[str, object]] = {}
    if arguments.out.exists():
        with arguments.out.open() as lines:
            found = {(r["table"], r["chain"]): dict(r) for r in csv.DictReader(lines)}
    found[str(row["table"]), str(row["chain"])] = row
    write_lines(arguments.out, found)


if __name__ == "__main__":
    main()
