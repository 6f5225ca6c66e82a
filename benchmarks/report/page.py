"""The page about a large run: bytes and seconds of ``fsframe report``.

    python benchmarks/report/page.py

The run has 20,000 features, weights of about 500 × 500 pairs and 1,000 bootstraps; the page may
take 3 MB and 10 s. Written to ``results/page.csv`` beside this script.
"""

from __future__ import annotations

import csv
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import fsframe
from fsframe.storage import load_run

RESULTS = Path(__file__).parent / "results" / "page.csv"
ROWS, FEATURES, INFORMATIVE, BOOTSTRAPS = 100, 20_000, 500, 1000
CHAIN = f"anova-f:top={INFORMATIVE} npfs:n={BOOTSTRAPS},null=published immigrate:max_iter=2,top=1.0"


def main() -> None:
    """Make the run, write its page, and record size and time."""
    rng = np.random.default_rng(0)
    y = np.arange(ROWS) % 2
    X = rng.standard_normal((ROWS, FEATURES))
    X[:, :INFORMATIVE] += 3 * y[:, None]
    with tempfile.TemporaryDirectory() as name:
        run, table, page = (Path(name) / file for file in ("run.h5", "table.npz", "page.html"))
        np.savez(table, X=X, y=y)
        data = fsframe.read(table)
        fsframe.Chain.parse(CHAIN).run(data, seed=0, out=run)
        record = load_run(run)
        weights = next(stage for stage in record.stages if stage.name == "immigrate")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "fsframe", "report", run, "on", table, "-o", page],
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        row = {
            "features": record.n_features,
            "pairs": f"{weights.features_in.size} × {weights.features_in.size}",
            "bootstraps": BOOTSTRAPS,
            "MB": round(page.stat().st_size / 1e6, 2),
            "allowed MB": 3,
            "processor s": round(
                after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1
            ),
            "allowed s": 10,
        }
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        writer.writeheader()
        writer.writerow(row)
    print(row)


if __name__ == "__main__":
    main()
