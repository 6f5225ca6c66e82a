"""Paths of the lasso: the solver ends within its tolerance; what is said before it is resampled."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from fsframe import Chain, Dataset
from fsframe_sklearn.engine.linear_models import solve_logistic


@pytest.mark.parametrize("rows", [500, 2000])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_every_penalty_of_a_path_converges_on_many_rows(rows: int, ridge: float) -> None:
    # A step of the last digits seemed to raise the objective, was halved until it was lost, and
    # 200 passes later the path "did not converge": on two of three such tables.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(rows, 10))
        y = (X[:, :3].sum(axis=1) + 2 * rng.normal(size=rows) > 0).astype(float)
        columns = np.ascontiguousarray(((X - X.mean(axis=0)) / X.std(axis=0)).T)
        share = np.full(rows, 1 / rows)
        largest = np.abs(columns @ (share * (y - y.mean()))).max()
        coef, intercept = np.zeros(10), math.log(y.mean() / (1 - y.mean()))
        for penalty in largest * np.geomspace(1, 0.05, 20):
            intercept, converged = solve_logistic(
                columns, y, share, coef, intercept, penalty, ridge * penalty, 1e-8 * largest
            )
            assert converged
            chance = 1 / (1 + np.exp(-(intercept + coef @ columns)))
            slope = columns @ (share * (y - chance)) - ridge * penalty * coef
            worst = np.where(
                coef == 0, np.abs(slope) - penalty, np.abs(slope - penalty * np.sign(coef))
            )
            assert worst.max() <= 1.01e-8 * largest


def test_the_page_says_how_long_paths_take_beside_liblinear() -> None:
    root = Path(__file__).parents[3]
    with (root / "benchmarks/sklearn_stages/results/paths.csv").open(encoding="utf-8") as file:
        shares = [float(row["lasso"]) / float(row["liblinear"]) for row in csv.DictReader(file)]
    page = " ".join((root / "docs/methods/sklearn.md").read_text(encoding="utf-8").split())
    assert max(shares) < 0.5 and "in less than half of liblinear's time" in page


@pytest.mark.parametrize(
    ("chain", "warned"),
    [
        ("lasso cpss", "lasso:"),
        ("mim:top=20 elastic-net npfs", "elastic-net:"),
        ("ipss:base=lasso", "lasso:"),
        ("lasso:top=5 cpss", ""),
        ("lasso:score_by=coefficient knockoffs", ""),
        ("lasso", ""),
        ("npfs:base=mim lasso", ""),
        ("mim npfs lasso", ""),
    ],
)
def test_a_lasso_without_top_warns_in_resamples_only(chain: str, warned: str) -> None:
    X = np.random.default_rng(0).normal(size=(40, 30))
    data = Dataset.from_arrays(X, np.arange(40) % 2)
    told = [w for w in Chain.parse(chain).forewarnings(data) if "top=10, the first" in w]
    assert len(told) == bool(warned) and all(warned in w for w in told)
