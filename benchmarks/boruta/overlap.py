"""Boruta compared with BorutaPy: which columns both confirm, and how much the seed alone changes.

    pip install boruta
    python benchmarks/boruta/overlap.py > benchmarks/boruta/results/overlap.txt

Both get the same table, the same forest of scikit-learn (50 trees), 30 forests at most, level 0.05
and the same seeds. The same seed gives different random streams: BorutaPy draws from one
`RandomState`; fsframe gives every forest its own stream, so that a run can be resumed. Equal seeds
therefore do not give equal forests, and the overlap of the two packages is to be compared with that
of two seeds of one package. BorutaPy is run as in the paper (`two_step=False`: Bonferroni) and by
its default (`two_step`: a false discovery rate over columns, Bonferroni over rounds). About two
minutes of processor time.
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np
from boruta import BorutaPy
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier

import fsframe
from fsframe import Dataset, Run

TREES, FORESTS, ALPHA, SEEDS = 50, 30, 0.05, 3
ROOT = Path(__file__).resolve().parents[2]


def tables() -> dict[str, Dataset]:
    wine, cancer = datasets.load_wine(), datasets.load_breast_cancer()
    planted = datasets.make_classification(
        300, 40, n_informative=6, n_redundant=4, shuffle=False, random_state=0
    )
    return {
        "parkinsons": fsframe.read(ROOT / "examples" / "parkinsons.csv"),
        "wine": Dataset.from_arrays(wine.data, wine.target),
        "cancer (every third row)": Dataset.from_arrays(cancer.data[::3], cancer.target[::3]),
        "planted: 10 of 40 columns": Dataset.from_arrays(*planted),
    }


def ours(data: Dataset, seed: int) -> tuple[set[int], set[int]]:
    stage = fsframe.selectors["boruta"](trees=TREES, max_runs=FORESTS, alpha=ALPHA)
    decision = stage.select(data, run=Run(entropy=seed, threads=1)).tables["decision"]
    return set(np.flatnonzero(decision == 1).tolist()), set(np.flatnonzero(decision == 0).tolist())


def theirs(data: Dataset, seed: int, two_step: bool) -> tuple[set[int], set[int]]:
    found = BorutaPy(
        RandomForestClassifier(n_jobs=1),
        n_estimators=TREES,
        max_iter=FORESTS,
        alpha=ALPHA,
        two_step=two_step,
        random_state=seed,
    ).fit(data.X, data.y)
    return (
        set(np.flatnonzero(found.support_).tolist()),
        set(np.flatnonzero(found.support_weak_).tolist()),
    )


def shared(a: set[int], b: set[int]) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


def within(found: list[tuple[set[int], set[int]]]) -> float:
    return float(np.mean([shared(a[0], b[0]) for a, b in itertools.combinations(found, 2)]))


def between(a: list[tuple[set[int], set[int]]], b: list[tuple[set[int], set[int]]]) -> float:
    return float(np.mean([shared(x[0], y[0]) for x in a for y in b]))


def sizes(found: list[tuple[set[int], set[int]]]) -> str:
    return ", ".join(f"{len(confirmed)}+{len(tentative)}" for confirmed, tentative in found)


def main() -> None:
    print(f"{TREES} trees, {FORESTS} forests at most, alpha {ALPHA:g}, seeds 0 … {SEEDS - 1}")
    print("columns: confirmed + tentative by seed; shared: mean |A ∩ B| / |A ∪ B| of the confirmed")
    for name, data in tables().items():
        print(f"\n{name}: {data.n_samples} × {data.n_features}")
        spent: dict[str, float] = {}
        found: dict[str, list[tuple[set[int], set[int]]]] = {}
        for seed in range(SEEDS):
            # In turns, so that whatever else the machine does falls on all.
            for label, fit in (
                ("fsframe", lambda: ours(data, seed)),  # noqa: B023
                ("BorutaPy, Bonferroni", lambda: theirs(data, seed, False)),  # noqa: B023
                ("BorutaPy, default", lambda: theirs(data, seed, True)),  # noqa: B023
            ):
                started = time.process_time()
                found.setdefault(label, []).append(fit())
                spent[label] = spent.get(label, 0.0) + time.process_time() - started
        for label, all_seeds in found.items():
            print(
                f"  {label:<21} {sizes(all_seeds):<24} two seeds share {within(all_seeds):.2f}, "
                f"with fsframe {between(found['fsframe'], all_seeds):.2f}, "
                f"processor time × {spent[label] / spent['fsframe']:.2f}"
            )
        if name.startswith("planted"):
            false = [sorted(c for c in confirmed if c >= 10) for confirmed, _ in found["fsframe"]]
            print(f"  fsframe's confirmed columns that say nothing: {false}")


if __name__ == "__main__":
    main()
