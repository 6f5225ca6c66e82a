"""Sparse tables of many columns: loading, and each further feature of mRMR.

    python benchmarks/infotheory/sparse.py ROWS COLUMNS [--held 28] [--values ones|numbers]

A table with `--held` non-zero values per row, most of them in few of the columns (the number of a
column is COLUMNS · u³, u uniform), as in kddb; all ones, or numbers between 0 and 1, which are cut
into ten bins. The label follows ten of the columns. `held_gb` is the peak memory of this process
without the interpreter and the table; a line of JSON is added to `--out`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np
from scipy import sparse

import fsframe
from fsframe.method.run import Run

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks/parts"))
from measured import Watch, clock  # noqa: E402


def table(n: int, p: int, held: int, values: str) -> fsframe.Dataset:
    """A table by rows, and its label."""
    rng = np.random.default_rng(4)
    columns = (p * rng.random((n, held), dtype=np.float32) ** 3).astype(np.int32).clip(0, p - 1)
    columns.sort(axis=1)
    # A column that is drawn twice in a row is held once.
    again = np.zeros((n, held), bool)
    again[:, 1:] = columns[:, 1:] == columns[:, :-1]
    starts = np.concatenate([[0], np.cumsum(held - again.sum(axis=1))]).astype(np.int32)
    indices = columns[~again]
    data = np.ones(len(indices), np.float32)
    if values == "numbers":
        data = rng.random(len(indices), dtype=np.float32) + np.float32(1e-3)
    marked = (columns < p // 1000).sum(axis=1) + rng.normal(size=n)
    y = (marked > np.median(marked)).astype(np.int64)
    matrix = sparse.csr_array((data, indices, starts), shape=(n, p))
    return fsframe.Dataset.from_arrays(matrix, y)


def main() -> None:
    """Run the measurement that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("columns", type=int)
    parser.add_argument("--held", type=int, default=28)
    parser.add_argument("--values", choices=["ones", "numbers"], default="ones")
    parser.add_argument("--top", type=int, default=11)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--out", type=Path, default=ROOT / "benchmarks/infotheory/results/sparse.jsonl"
    )
    given = parser.parse_args()
    small = table(200, 500, 5, given.values)
    fsframe.Chain.parse("mrmr:top=3").select(small)
    data = table(given.rows, given.columns, given.held, given.values)
    watch = Watch()
    watch.start()
    run = Run(threads=given.threads)
    begun = clock()
    fsframe.Chain.parse("mrmr:top=1").select(data, run=run)
    first = clock()
    fsframe.Chain.parse(f"mrmr:top={given.top}").select(data, run=run)
    done = clock()
    watch.over.set()
    watch.join()
    spent = [b - a for a, b in zip(begun, first, strict=True)]
    more = [b - a - s for a, b, s in zip(first, done, spent, strict=True)]
    line = {
        "what": f"mrmr, {given.values}",
        "rows": given.rows,
        "columns": given.columns,
        "held_values": len(data.matrix.values),
        "table_gb": round(data.matrix.nbytes / 1e9, 2),
        "first_s": round(spent[0], 2),
        "first_processor_s": round(spent[1], 2),
        "a_further_feature_s": round(more[0] / (given.top - 1), 3),
        "a_further_feature_processor_s": round(more[1] / (given.top - 1), 3),
        "held_gb": round(watch.most / 1e9, 2),
        "threads": given.threads,
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(line))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with given.out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
