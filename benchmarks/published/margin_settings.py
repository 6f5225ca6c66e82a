"""What IMMIGRATE's tuning could reach at best, and what else moves its accuracy, set by set.

    python benchmarks/published/margin_settings.py --data DATA --published published_accuracy.csv

Every σ of the path with and without pruning as a fixed setting, by the update here and by the R
package's, on the folds of margin_tables.py. The best of them is chosen with the test folds in
sight, so that it bounds from above what any choice of one setting can give. Beside them, at σ = 1:
whole steps, a random start, another rule of prediction, columns standardised before the folds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from cells import Bench, OutOfTime, arguments
from margin_methods import PACKAGE, PATH, SMALL, chain_of, fixed, published
from result_tables import percent, write_tables

from fsframe.dataset import Dataset

SETTINGS = [(sigma, prune) for sigma in PATH for prune in (False, True)]
ONE = "immigrate:sigma=1,prune=false,top=1.0"
OTHERS = {
    "σ=1": f"{ONE} margin",
    "whole steps": f"{ONE},line-search=false,max-iter=10 margin",
    "random start": f"{ONE},start=random margin",
    "1-NN by weights": f"{ONE} weighted-knn:k=1",
    "3-NN by weights": f"{ONE} weighted-knn:k=3",
}
BEFORE = f"{ONE},standardize=false margin:standardize=false"


def standardised(table: Dataset) -> Dataset:
    """All rows' columns to mean 0 and standard deviation 1: test rows take part in it."""
    deviation = table.X.std(axis=0)
    X = (table.X - table.X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    labels = [table.classes[code] for code in table.y]
    return Dataset.from_arrays(X, labels, feature_names=table.feature_names, name=table.name)


def of_settings(bench: Bench, table: Dataset, update: str, repeats: int) -> np.ndarray:
    """Accuracies (n_settings, n_splits) of every fixed setting."""
    return np.array(
        [
            bench.evaluate(fixed(*setting, update), table, repeats)[0].measures["accuracy"].values
            for setting in SETTINGS
        ]
    )


def named(setting: tuple[float, bool]) -> str:
    """σ, and whether small weights are pruned."""
    return f"{setting[0]:g}{' pruned' if setting[1] else ''}"


def row_of(bench: Bench, name: str, printed: float, repeats: int) -> list[Any]:
    """Tuned, best setting, best per fold; then the other ways at σ = 1."""
    table = bench.table(name)
    row: list[Any] = [name, printed]
    for method, update in (("IGT", ""), ("IGR", PACKAGE)):
        tuned = bench.evaluate(chain_of(method, name), table, repeats)[0].measures["accuracy"].mean
        by_setting = of_settings(bench, table, update, repeats)
        means = by_setting.mean(axis=1)
        best = int(means.argmax())
        row += [
            percent(tuned), percent(means[best]), named(SETTINGS[best]),
            percent(by_setting.max(axis=0).mean()),
        ]  # fmt: skip
    for base in OTHERS.values():
        row.append(percent(bench.evaluate(base, table, repeats)[0].measures["accuracy"].mean))
    before = bench.evaluate(BEFORE, standardised(table), repeats)[0]
    return [*row, percent(before.measures["accuracy"].mean)]


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--published", type=Path, required=True, help="the printed accuracies")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SMALL), help="comma between")


def main() -> None:
    options, bench = arguments(__doc__, _options)
    repeats = 1 if options.quick else options.repeats
    printed = {
        row.name: row.accuracy
        for row in published(options.published)
        if row.method == "IGT" and row.table.startswith("IMMIGRATE")
    }
    names = [n for n in options.sets.split(",") if n in printed and bench.has(n)]
    rows = []
    for name in ["CRY", "WIN"] if options.quick else names:
        try:
            rows.append(row_of(bench, name, printed[name], repeats))
        except OutOfTime:
            print(f"{name}: out of time")
    header = ["set", "printed %"]
    for way in ("here", "package"):
        header += [f"{way}: tuned", f"{way}: best setting", "its σ", f"{way}: best in each fold"]
    notes = [
        f"Accuracy in percent, ten-fold × {repeats}, the folds of the margin table. *tuned*: σ and "
        "pruning by five-fold cross-validation inside the training rows. *best setting*: the one "
        "with the highest accuracy on the test folds. *best in each fold*: chosen anew with every "
        "test fold in sight. *package*: psd-clip, no line search, ten iterations.",
        "From σ=1 on: σ = 1 without pruning; the same with whole steps, with a random start, with "
        "nearest neighbours under the feature weights in place of eq. 3.18, and with the columns "
        "standardised on all rows before the folds.",
    ]
    header += [*OTHERS, "standardised before"]
    write_tables(options.results, "margin-settings", header, rows, "IMMIGRATE's settings", notes)


if __name__ == "__main__":
    main()
