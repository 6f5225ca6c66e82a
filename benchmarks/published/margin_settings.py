"""The best that IMMIGRATE's tuning could reach, and what else changes its accuracy, set by set.

    python benchmarks/published/margin_settings.py --data DATA --published published_accuracy.csv
        [--only im4e,bim]

Every σ of the path with and without pruning as a fixed setting, by the update here and by the R
package's, on the folds of margin_tables.py. The best of them is chosen on the test folds, so that
it is an upper bound for any choice of one setting. In addition, at σ = 1: full steps, a random
start, another prediction rule, columns standardised before the folds. A second table has the same
bound for IM4E's σ, over its whole path, and the σ that comes nearest to the published figure. A
third has other settings of BIM, on the two sets where it is furthest below.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cells import Bench, OutOfTime, arguments
from margin_methods import PACKAGE, PATH, SMALL, chain_of, fixed, published
from result_tables import percent, write_tables

from fsframe.table.dataset import Dataset
from fsframe_margin.engine.prediction import IM4E_PATH

SETTINGS = [(sigma, prune) for sigma in PATH for prune in (False, True)]
ONE = "immigrate:sigma=1,prune=false,top=1.0"
OTHERS = {
    "σ=1": f"{ONE} margin",
    "whole steps": f"{ONE},line-search=false,max-iter=10 margin",
    "random start": f"{ONE},start=random margin",
    "1-NN by weights": f"{ONE} weighted-knn:k=1,ties=index",
    "3-NN by weights": f"{ONE} weighted-knn:k=3,ties=index",
}
BEFORE = f"{ONE},standardize=false margin:standardize=false"
PACKAGE_STEP = "update=psd-clip,line-search=false"
BIM_WAYS = (
    "bim-vote", f"bim-vote:{PACKAGE_STEP}", f"bim-vote:rounds=3,sigma-min=0.02,{PACKAGE_STEP}",
    f"bim-vote:rounds=3,sigma-max=0.06,sigma-min=0.02,{PACKAGE_STEP}",
    "bim-vote:rounds=3,sigma-min=0.02", "bim-vote:rounds=10", "bim-vote:max-iter=1",
    "bim-vote:max-iter=1,rounds=20", "bim-vote:start=identity", "bim-vote:sigma-min=1",
    "bim-vote:sigma-max=1,sigma-min=0.02", "bim-vote:standardize=false", "bim:top=1.0 margin",
    "bim:top=1.0 weighted-knn:k=3", "bim:top=1.0 weighted-knn:k=5",
)  # fmt: skip
BIM_SETS = ("BCW", "GLA")


def standardised(table: Dataset) -> Dataset:
    """The columns standardised over all rows, test rows included."""
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
    """Accuracy when tuned, of the best setting, of the best per fold; variants at σ = 1."""
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


def accuracy(bench: Bench, base: str, name: str, repeats: int) -> float:
    """Mean accuracy of a chain on a set, in [0, 1]."""
    return float(bench.evaluate(base, bench.table(name), repeats)[0].measures["accuracy"].mean)


def im4e_row(bench: Bench, name: str, printed: float, repeats: int) -> list[Any]:
    """IM4E when tuned, at its best σ, and at the σ whose accuracy is nearest to the printed one."""
    tuned = accuracy(bench, chain_of("IM4", name), name, repeats)
    means = np.array(
        [accuracy(bench, f"im4e:sigma={s:g},top=1.0 margin", name, repeats) for s in IM4E_PATH]
    )
    best, near = int(means.argmax()), int(np.abs(means - printed / 100).argmin())
    return [
        name, printed, percent(tuned), percent(means[best]), f"{IM4E_PATH[best]:g}",
        percent(means[near]), f"{IM4E_PATH[near]:g}",
    ]  # fmt: skip


def rows_in_time(names: list[str], row_of: Callable[[str], list[Any]]) -> list[list[Any]]:
    """The rows of a table that can be computed within the time limit."""
    rows = []
    for name in names:
        try:
            rows.append(row_of(name))
        except OutOfTime:
            print(f"{name}: out of time")
    return rows


def bim_table(bench: Bench, printed: dict[str, float], options: Any, repeats: int) -> None:
    """The table of other settings of BIM."""
    columns = rows_in_time(
        [name for name in BIM_SETS if bench.has(name)],
        lambda name: [
            name, printed[name],
            *(percent(accuracy(bench, way, name, repeats)) for way in BIM_WAYS),
        ],
    )  # fmt: skip
    if not columns:
        return
    header, *rows = map(list, zip(("chain", "as printed", *BIM_WAYS), *columns, strict=True))
    notes = [f"Accuracy in percent, ten-fold × {repeats}, the folds of the margin table."]
    write_tables(options.results, "bim-settings", header, rows, "BIM with other settings", notes)


def im4e_table(
    bench: Bench, names: list[str], printed: dict[str, float], options: Any, repeats: int
) -> None:
    """The table of IM4E's settings."""
    rows = rows_in_time(names, lambda name: im4e_row(bench, name, printed[name], repeats))
    header = ["set", "printed %", "tuned", "best σ", "which", "nearest σ", "which one"]
    notes = [
        f"Accuracy in percent, ten-fold × {repeats}, the folds of the margin table. *tuned*: by "
        "five-fold cross-validation inside the training rows. *best σ*: fixed, with the highest "
        "accuracy on the test folds. *nearest σ*: fixed, nearest to what was printed."
    ]
    write_tables(options.results, "im4e-settings", header, rows, "IM4E's settings", notes)


def immigrate_table(
    bench: Bench, names: list[str], printed: dict[str, float], options: Any, repeats: int
) -> None:
    """The table of IMMIGRATE's settings."""
    rows = rows_in_time(names, lambda name: row_of(bench, name, printed[name], repeats))
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


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--published", type=Path, required=True, help="the printed accuracies")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SMALL), help="comma between")
    parser.add_argument("--only", default="immigrate,im4e,bim", help="tables, comma between")


def main() -> None:
    options, bench = arguments(__doc__, _options)
    repeats = 1 if options.quick else options.repeats
    printed: dict[str, dict[str, float]] = {"IGT": {}, "IM4": {}, "BIM": {}}
    for row in published(options.published):
        if row.method in printed and row.table.startswith("IMMIGRATE"):
            printed[row.method][row.name] = row.accuracy
    asked = ["CRY", "WIN"] if options.quick else options.sets.split(",")
    names = [n for n in asked if n in printed["IGT"] and bench.has(n)]
    wanted = options.only.split(",")
    if "im4e" in wanted:
        im4e_table(bench, names, printed["IM4"], options, repeats)
    if "bim" in wanted and not options.quick:
        bim_table(bench, printed["BIM"], options, repeats)
    if "immigrate" in wanted:
        immigrate_table(bench, names, printed["IGT"], options, repeats)


if __name__ == "__main__":
    main()
