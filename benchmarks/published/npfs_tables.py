"""The NPFS slides: the UCI table (naive Bayes and CART) and the synthetic figures.

    python benchmarks/published/npfs_tables.py --data DATA --published published_accuracy.csv

The slides do not print the size k of the base selector, the folds or the discretisation. Here: k is
10 up to 30 features and 15 beyond; stratified ten-fold, or as many folds as the smallest class has
members; ten bins of equal width where values are not whole numbers. NPFS as published: n = 100
bootstraps, α = 0.01, binomial null, rows drawn from all classes together.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from cells import Bench, Cell, OutOfTime, arguments, evaluations, folds_of, grow
from result_tables import grown, write_tables
from scipy import stats

from fsframe.chains.chain import Chain
from fsframe.table.dataset import Dataset

# The slides' name and our file.
SETS = {
    "wine": "wine", "heart": "heart", "parkinsons": "parkinsons", "congress": "congress",
    "breast": "wdbc", "soybean": "soybeansmall", "lungcancer": "lungcancer",
    "penglung": "penglung", "pengcolon": "pengcolon", "pengleuk": "pengleuk",
    "penglymp": "penglymp", "splice": "splice", "waveform": "waveform40", "landsat": "landsat",
    "ionosphere": "ionosphere", "krvskp": "krvskp", "pengnci9": "pengnci9", "semeion": "semeion",
    "sonar": "SMR", "spect": "spect",
}  # fmt: skip
CLASSIFIERS = {
    "nb": "sklearn:estimator=sklearn.naive_bayes.GaussianNB",
    "cart": "sklearn:estimator=sklearn.tree.DecisionTreeClassifier",
}
PUBLISHED = "null=published,stratify=false,alpha=0.01,n=100"


def chains(k: int) -> dict[str, str]:
    """The six columns of the slide's table."""
    found = {}
    for name, classifier in CLASSIFIERS.items():
        found[name] = classifier
        found[f"{name}-jmi"] = f"jmi:top={k} {classifier}"
        found[f"{name}-npfs"] = f"npfs:base=jmi:top={k},{PUBLISHED} {classifier}"
    return found


def cells_of(bench: Bench, sets: list[str]) -> dict[tuple[str, str], Cell]:
    """The cell of each (set of the slides, column)."""
    found = {}
    for name in sets:
        table = bench.table(SETS[name])
        protocol = {"folds": folds_of(table)}
        for column, chain in chains(base_size(table)).items():
            seconds = 1e-6 * table.n_samples * table.n_features
            seconds *= 100 if "npfs" in column else 1
            done = bench.finished(chain, table, **protocol)
            found[name, column] = Cell(chain, table, done, seconds, protocol)
    return found


def discrete_cells(bench: Bench, sets: list[str]) -> dict[tuple[str, str], Cell]:
    """As `cells_of`, for the sets with categorical values only, with categorical naive Bayes."""
    found = {}
    for name in sets:
        table = bench.table(SETS[name])
        levels = max(np.unique(table.X[:, c]).size for c in range(table.n_features))
        if levels > 10:
            continue
        # The estimator counts categories from 0.
        X = table.X - table.X.min(axis=0)
        labels = [table.classes[code] for code in table.y]
        shifted = Dataset.from_arrays(X, labels, feature_names=table.feature_names, name=table.name)
        options = f'options={{"min_categories":{int(X.max()) + 1}}}'
        classifier = f"sklearn:estimator=sklearn.naive_bayes.CategoricalNB,{options}"
        protocol = {"folds": folds_of(table)}
        for column, chain in chains(base_size(table)).items():
            if column.startswith("nb"):
                base = chain.replace(CLASSIFIERS["nb"], classifier)
                seconds = 1e-6 * table.n_samples * table.n_features
                seconds *= 100 if "npfs" in column else 1
                done = bench.finished(base, shifted, **protocol)
                found[name, column] = Cell(base, shifted, done, seconds, protocol)
    return found


def base_size(table: Dataset) -> int:
    """Number of features that the base keeps."""
    return 10 if table.n_features <= 30 else 15


def printed_errors(path: Path) -> dict[tuple[str, str], float]:
    """The printed error rate of each (set, column)."""
    with open(path, newline="") as file:
        return {
            (row["dataset"], row["method"]): 1 - float(row["accuracy"]) / 100
            for row in csv.DictReader(file)
            if row["paper"] == "NPFS"
        }


def discrete(
    bench: Bench, cells: dict[tuple[str, str], Cell], printed: Any, most: int
) -> Iterator[Any]:
    """Rows: printed error rates, and those of categorical naive Bayes."""
    for (name, column), cell in cells.items():
        if cell.done:
            evaluation, _ = bench.evaluate(
                cell.base, cell.table, min(cell.done, most), **cell.protocol
            )
            here = 1 - evaluation.measures["accuracy"].mean
            yield [
                name,
                column,
                min(cell.done, most),
                round(printed[name, column], 3),
                round(here, 3),
            ]


def uci(bench: Bench, cells: dict[tuple[str, str], Cell], printed: Any, most: int) -> Iterator[Any]:
    """Rows: printed and measured error rates."""
    for name in dict.fromkeys(name for name, _ in cells):
        of_set = {column: cells[name, column] for column in chains(1)}
        repeats = min(most, *(cell.done for cell in of_set.values()))
        if not repeats:
            continue
        table = cells[name, "nb"].table
        row: list[Any] = [name, table.n_samples, table.n_features, base_size(table)]
        row += [folds_of(table), repeats]
        found = evaluations(bench, of_set, repeats)
        for column, (evaluation, _) in found.items():
            here = 1 - evaluation.measures["accuracy"].mean
            row += [round(printed[name, column], 3), round(here, 3)]
        yield [*row, round(float(found["nb-npfs"][0].kept.mean()), 1)]


def mean_ranks(rows: list[list[Any]], first: int) -> list[float]:
    """Mean ranks of all features, JMI and NPFS, by the measured errors from column `first` on."""
    errors = np.array([[row[first], row[first + 2], row[first + 4]] for row in rows])
    return [round(float(r), 3) for r in stats.rankdata(errors, axis=1).mean(axis=0)]


def synthetic(K: int, relevant: int, n: int, seed: int) -> Dataset:
    """K uniform columns 0 … 10; the label: whether the sum of the first is at most its mean."""
    X = np.random.default_rng(seed).integers(0, 11, (n, K)).astype(np.float64)
    return Dataset.from_arrays(X, X[:, :relevant].sum(axis=1) <= 5.0 * relevant)


def sizes(K: int, base: str, k: int, seeds: int) -> Iterator[list[Any]]:
    """Number of features that NPFS keeps, and of relevant ones, by the number of bootstraps."""
    most = 500
    marks = []
    for seed in range(seeds):
        data = synthetic(K, 15, 1000, seed)
        text = f"npfs:base={base}:top={k},null=published,stratify=false,n={most}"
        tables = Chain.parse(text).select(data, seed=seed).tables
        marks.append(tables["bootstrap-matrix"].astype(np.int64))
    for n in (1, 2, 5, 10, 25, 50, 100, 200, 300, 400, 500):
        threshold = stats.binom.ppf(0.99, n, k / K)
        relevant = [_counts(mark, n, K) > threshold for mark in marks]
        yield [
            base, K, k, n,
            round(float(np.mean([r.sum() for r in relevant])), 1),
            round(float(np.mean([r[:15].sum() for r in relevant])), 1),
        ]  # fmt: skip


def _counts(mark: np.ndarray, n: int, K: int) -> np.ndarray:
    # The matrix is (bootstraps, features), or its transpose, as the run's table holds it.
    matrix = mark if mark.shape[1] == K else mark.T
    return matrix[:n].sum(axis=0)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--published", type=Path, required=True, help="the printed accuracies")
    parser.add_argument("--sets", default=",".join(SETS), help="names, comma between")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5, help="of the synthetic figures; 0: none")


def main() -> None:
    options, bench = arguments(__doc__, _options)
    sets = ["wine", "heart"] if options.quick else options.sets.split(",")
    cells, categories = cells_of(bench, sets), discrete_cells(bench, sets)
    try:
        grow(
            bench,
            [*cells.values(), *categories.values()],
            1 if options.quick else options.repeats,
        )
    except OutOfTime:
        print("out of time: call again to go on")
    printed = printed_errors(options.published)
    rows = list(uci(bench, cells, printed, options.repeats))
    header = ["set", "column", "repeats", "printed", "with categories"]
    coded = list(discrete(bench, categories, printed, options.repeats))
    title = "NPFS, UCI: naive Bayes on categories, where all values are such"
    note = "Error rates; npfs-uci.md has those of normal densities, on the same folds."
    header, coded = grown(options.results, "npfs-uci-categories", header, coded, key=2)
    write_tables(options.results, "npfs-uci-categories", header, coded, title, [note])
    header = ["set", "samples", "features", "k", "folds", "repeats"]
    for column in chains(1):
        header += [f"{column} printed", f"{column} here"]
    header, rows = grown(options.results, "npfs-uci", [*header, "NPFS keeps"], rows, key=1)
    left_out = [name for name in SETS if name not in {row[0] for row in rows}]
    notes = [
        "Error rates. " + " ".join((__doc__ or "").split("\n\n")[2].split()),
        f"Mean ranks here (1 is best): all, JMI, NPFS with naive Bayes {mean_ranks(rows, 7)}, with "
        f"CART {mean_ranks(rows, 13)}; printed over 20 sets: [2.275, 1.9, 1.825] and "
        "[2.075, 2.125, 1.8].",
        "Left out for want of time: " + (", ".join(left_out) or "none") + ".",
    ]
    write_tables(options.results, "npfs-uci", header, rows, "NPFS, UCI", notes)
    if not options.seeds:
        return
    curves: list[list[Any]] = []
    widths, bases = ((50,), ("mim",)) if options.quick else ((50, 100, 250), ("mim", "jmi"))
    for base in bases:
        for K in widths:
            for k in (3, 5, 10, 15, 25):
                curves += sizes(K, base, k, options.seeds)
                print(f"synthetic {base} K={K} k={k}", flush=True)
    write_tables(
        options.results,
        "npfs-synthetic",
        ["base", "K", "k", "bootstraps", "kept", "of them relevant (of 15)"],
        curves,
        "NPFS, synthetic data",
        [
            f"1000 rows, columns uniform on 0 … 10, k* = 15, α = 0.01, mean of {options.seeds} "
            "seeds; the slides do not print the number of rows."
        ],
    )


if __name__ == "__main__":
    main()
