"""Which scale of instance weights selects better in SimbaMBIW: mean one, or sum one as published.

    python benchmarks/margin/instance_scale.py --data FOLDER

Accuracy of the weighted 1-NN over five-fold cross-validation × 4, and the Kuncheva index of the
best quarter of the features over 20 halves, per set, scale and strategy.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import attrs
import numpy as np

import fsframe
from fsframe_margin.engine.prediction import stratified_folds

SETS = ("BCW", "BRC", "CRY", "GLA", "HMS", "LYM", "PAR", "STA", "VC", "WIN", "heart")
METHODS = {
    "simba": fsframe.selectors["simba"](top=1.0),
    # The control: what equal weights do with steps of the printed size.
    "equal sum": fsframe.selectors["simba"](top=1.0, step="1/n"),
    "order sum": fsframe.selectors["simba-mbiw"](top=1.0, instance_scale="sum"),
    "order mean": fsframe.selectors["simba-mbiw"](top=1.0, instance_scale="mean"),
    "sample sum": fsframe.selectors["simba-mbiw"](top=1.0, strategy="sample", instance_scale="sum"),
    "sample mean": fsframe.selectors["simba-mbiw"](
        top=1.0, strategy="sample", instance_scale="mean"
    ),
}


def accuracy(method: fsframe.Selector, data: fsframe.Dataset, repeats: int = 4) -> float:
    """Share of held-out rows that the weighted 1-NN classifies correctly."""
    right = 0
    for repeat in range(repeats):
        folds = stratified_folds(data.y, 5, np.random.default_rng(repeat))
        for fold in range(5):
            train = data.take_rows(np.flatnonzero(folds != fold))
            found = method.select(train, seed=repeat)
            # feature weights only: one neighbour's vote does not depend on instance weights
            fitted = fsframe.classifiers["weighted-knn"](k=1, ties="index").fit(train, found)
            held = folds == fold
            right += int((fitted.predict(data.X[held]) == data.y[held]).sum())
    return right / (repeats * data.n_samples)


def stability(method: fsframe.Selector, data: fsframe.Dataset) -> float:
    """Kuncheva index of the best quarter of the features over 20 halves."""
    rng = np.random.default_rng(0)
    halves = np.array([rng.permutation(np.arange(data.n_samples) % 2) for _ in range(20)])
    quarter = attrs.evolve(method, top=max(1, data.n_features // 4))
    kept = np.zeros((20, data.n_features), dtype=bool)
    for row, found in zip(kept, quarter.select_many(data, halves, seed=0), strict=True):
        row[found.selected] = True
    return float(fsframe.stability_metrics["kuncheva"]()(kept).value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    options = parser.parse_args()
    print("accuracy %, Kuncheva index: " + "   ".join(f"{name:>13}" for name in METHODS))
    table = np.empty((len(options.sets), len(METHODS), 2))
    for i, name in enumerate(options.sets):
        data = fsframe.read(options.data / name)
        for j, method in enumerate(METHODS.values()):
            table[i, j] = 100 * accuracy(method, data), stability(method, data)
        print(f"{name:27} " + "   ".join(f"{a:6.1f} {k:6.2f}" for a, k in table[i]), flush=True)
    print(f"{'mean':27} " + "   ".join(f"{a:6.1f} {k:6.2f}" for a, k in table.mean(axis=0)))


if __name__ == "__main__":
    main()
