"""Processor time of logistic ℓ₁ paths: `lasso` and scikit-learn's liblinear on the same penalties.

    python benchmarks/sklearn_stages/paths.py --out FILE

Each table is solved until five columns have entered, or at all 50 penalties down to a hundredth of
the largest. Not alike: `lasso` starts from the solution at the last penalty and is solved to 1e-8
of the first; liblinear cannot be given a start, and is asked for a tolerance of 1e-6. `apart` is
the largest difference of a coefficient: liblinear penalises the intercept, so its constant column
is large here.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from fsframe_sklearn.penalised import Problem, largest_penalty, solve

SHAPES = ((120, 40), (60, 1000), (1000, 60), (5000, 60), (5000, 200), (50_000, 60))


def table(rows: int, columns: int, seed: int) -> Problem:
    """Standard normal columns (rows, columns), scaled; the label depends on five of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = (X[:, :5].sum(axis=1) + 2 * rng.normal(size=rows) > 0).astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return Problem(X=X, responses=(y,), weights=np.ones(rows), logistic=True, l1_ratio=1.0)


def of_liblinear(problem: Problem, penalties: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients (penalties, columns); liblinear starts at 0 for each penalty."""
    (y,) = problem.responses
    model = LogisticRegression(
        l1_ratio=1.0, solver="liblinear", tol=1e-6, max_iter=2000, intercept_scaling=100.0
    )
    path = []
    for penalty in penalties:
        model.C = 1 / (penalty * len(y))
        path.append(model.fit(problem.X, y).coef_[0])
    return np.array(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", type=int, default=5)
    given = parser.parse_args()
    solve(table(50, 5, 0), np.array([0.1]))  # Compiled before anything is timed.
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, p in SHAPES:
            for name, most in (("until five enter", 5), ("50 penalties", None)):
                seconds, apart = np.empty((given.tables, 2)), 0.0
                for seed in range(given.tables):
                    problem = table(n, p, seed)
                    grid = largest_penalty(problem) * np.geomspace(1.0, 0.01, 50)
                    began = time.process_time()
                    path = solve(problem, grid, most)
                    middle = time.process_time()
                    theirs = of_liblinear(problem, grid[: len(path.coef)])
                    seconds[seed] = middle - began, time.process_time() - middle
                    apart = max(apart, float(np.abs(path.coef[:, 0] - theirs).max()))
                ours, other = seconds.mean(axis=0)
                rows.append({
                    "rows": n, "columns": p, "path": name, "tables": given.tables,
                    "lasso": f"{ours:.3f}", "slowest": f"{seconds[:, 0].max():.3f}",
                    "liblinear": f"{other:.3f}", "apart": f"{apart:.1e}",
                })  # fmt: skip
                print(*rows[-1].values(), flush=True)
    with given.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
