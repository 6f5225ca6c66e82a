"""False selections of `ipss` and `cpss` on tables without any relevant feature.

    python benchmarks/resampling/halves_on_noise.py --tables 60 --only cpss --add FILE

Prints, for each chain, what it promises, the mean number of features kept with its standard error,
and the share of tables of which anything is kept. Tables: 120 rows of normal values with a normal
label; `copies` has every column four times, `blocks` three blocks of correlation 0.8.
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
    ("correlation:threshold=1,top=20 ipss:pairs=25,false_selections={e}", (1.0, 0.5, 0.1)),
    ("lasso:top=10 ipss:pairs=25,false_selections={e}", (1.0, 0.1)),
    *(
        (
            "correlation:threshold=1,top=5 cpss:bound=" + bound + ",pairs=25,false_selections={e}",
            (1.0,),
        )
        for bound in ("auto", "worst-case", "unimodal", "r-concave")
    ),
)
KINDS = ("independent", "copies", "blocks")


def noise(kind: str, seed: int, n: int = 120, p: int = 40) -> Dataset:
    """A table whose label depends on nothing."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, p))
    if kind == "copies":
        X = np.repeat(X[:, : p // 4], 4, axis=1)
    elif kind == "blocks":
        for block in range(3):
            X[:, block * 8 : block * 8 + 8] *= np.sqrt(0.2)
            X[:, block * 8 : block * 8 + 8] += np.sqrt(0.8) * draw.normal(size=(n, 1))
    return Dataset.from_arrays(X, draw.normal(size=n), name=kind)


def measured(tables: int, only: str) -> Iterator[dict[str, str]]:
    cells = [(text, promise) for text, promises in CHAINS for promise in promises if only in text]
    for text, promise in cells:
        chain = Chain.parse(text.format(e=promise))
        for kind in KINDS:
            began = time.process_time()
            kept = np.array(
                [chain.select(noise(kind, seed), seed=seed).selected.size for seed in range(tables)]
            )
            seconds = (time.process_time() - began) / tables
            yield {
                "chain": str(chain),
                "table": kind,
                "tables": str(tables),
                "promised": f"{promise:g}",
                "kept": f"{kept.mean():.2f}",
                "se": f"{kept.std(ddof=1) / np.sqrt(tables):.2f}",
                "any": f"{(kept > 0).mean():.2f}",
                "seconds_each": f"{seconds:.2f}",
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--only", default="", help="cells whose chain contains this text")
    parser.add_argument("--add", type=Path, help="file that rows are added to")
    given = parser.parse_args()
    for row in measured(given.tables, given.only):
        print(*row.values(), flush=True)
        if given.add is not None:
            fresh = not given.add.exists()
            with given.add.open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(row), lineterminator="\n")
                if fresh:
                    writer.writeheader()
                writer.writerow(row)


if __name__ == "__main__":
    main()
