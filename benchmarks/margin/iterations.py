"""How many updates IMMIGRATE takes until it stops, on the papers' tables.

    python benchmarks/margin/iterations.py --data DATA [--out FILE]

σ = 1, columns standardised. With the line search, updates until the cost changes by less than 1e-4
of itself, the default; as the paper prints it (`update=psd-clip,line_search=false`), the first of
200 updates that changes the cost by less than 1e-3 of itself, blank if none does. `excess` is how
far the cost with the line search is above that with tol=1e-9, as a share of it.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

import fsframe
from fsframe_margin.methods.immigrate import TOLERANCE

RESULTS = Path(__file__).parent / "results" / "iterations.csv"
TABLES = (
    *("BCW", "BRC", "CRY", "CUS", "ECO", "GLA", "HMS", "IMM", "ION"),
    *("LYM", "MON", "PAR", "PID", "SMR", "STA", "URB", "USE", "WIN"),
)
WAYS = {
    "line search": {},
    "as printed": {"update": "psd-clip", "line_search": False, "max_iter": 200},
}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    rows = []
    for name in TABLES:
        data = fsframe.read(next(asked.data.glob(f"{name}.*")))
        row = {"set": name, "rows": data.n_samples, "columns": data.n_features}
        for way, parameters in WAYS.items():
            found = fsframe.selectors["immigrate"](sigma=1.0, **parameters).select(data, seed=0)
            cost = found.tables["cost"]
            changes = np.abs(np.diff(cost)) / np.abs(cost[:-1])
            small = changes < (TOLERANCE if way == "line search" else 1e-3)
            row[way] = int(np.argmax(small)) + 1 if small.any() else ""
        reached, limit = (
            fsframe.selectors["immigrate"](**settings).select(data, seed=0).tables["cost"][-1]
            for settings in ({}, {"tol": 1e-9, "max_iter": 2000})
        )
        row["excess"] = f"{(reached - limit) / abs(limit):.1e}"
        rows.append(row)
        print(row, flush=True)
    with asked.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
