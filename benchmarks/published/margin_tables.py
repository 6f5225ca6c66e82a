"""IMMIGRATE Tables 1–3 and IM4E Tables 3–5, for every method that there is here.

    python benchmarks/published/margin_tables.py --data DATA --published published_accuracy.csv

Stratified ten-fold cross-validation, repeated ten times where --repeats says nothing else; columns
standardised inside the training rows, σ and pruning chosen there. Run files make it resumable: call
it again, and what is finished is read. --published is a table with columns paper, table, dataset,
method, accuracy (percent).
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from cells import Bench, OutOfTime, arguments, percent, write_tables
from scipy import stats

from fsframe.evaluation.comparing import (
    corrected_resampled_test,
    paired_t_test,
    win_tie_loss,
)

SKLEARN = "sklearn:estimator=sklearn."
METHODS = {
    "1NN": "knn:k=1",
    "3NN": "knn:k=3",
    "NBC": SKLEARN + "naive_bayes.GaussianNB",
    "LDA": SKLEARN + "discriminant_analysis.LinearDiscriminantAnalysis,standardize=true",
    "DT": SKLEARN + "tree.DecisionTreeClassifier",
    "SV2": SKLEARN + "svm.SVC,standardize=true",
    "REL": "relief:top=1.0 weighted-knn:k=1",
    "RFF": "relieff:top=1.0 weighted-knn:k={1,3,5}",
    "SIM": "simba:top=1.0 weighted-knn:k=1",
    "LFE": "lfe:top=1.0 margin",
    "IM4": "im4e:sigma=cv,top=1.0 margin",
    "IGT": "immigrate:sigma=cv,top=1.0 margin",
    # As the paper's R package: its update, no line search, ten iterations.
    "IGR": "immigrate:sigma=cv,update=psd-clip,line-search=false,max-iter=10,top=1.0 margin",
    "EGT": "im4e:sigma=cv immigrate:sigma=cv,top=1.0 margin",
    "BIM": "bim-vote",
    "B4G": "im4e:sigma=cv bim-vote",
    "LOGO": "logo:top=1.0 weighted-knn:k=1",
    "GFP": "gflip knn:k=1",
    "IRL": "irelief:top=1.0 weighted-knn:k=1",
}
# What the IM4E paper calls the methods, in its own tables.
IM4E_NAMES = {
    "IM4E": "IM4", "IB1": "1NN", "IB3": "3NN", "NBC": "NBC", "RLF": "REL", "RFF": "RFF",
    "SIM": "SIM", "LOGO": "LOGO", "GFP": "GFP",
}  # fmt: skip
IM4E_SETS = {
    "GI": "GLA", "HS": "HMS", "SH": "heart", "LYM": "LYM", "PARK": "parkinsons", "VC": "VC",
    "WPBC": "BCW", "Breast": "BRE", "Colon": "COL", "GLI": "GLI",
}  # fmt: skip
# Other ways to what was published under one name.
VARIANTS = {"IGT": ("IGR",)}
# IMMIGRATE, Table 2, last row: wins, ties, losses of IGT against each method over 20 sets.
PRINTED_WTL = {
    "SV2": "16,2,2", "DT": "16,3,1", "NBC": "19,1,0", "1NN": "17,2,1", "3NN": "18,2,0",
    "REL": "19,1,0", "RFF": "19,1,0", "SIM": "19,1,0", "LFE": "18,2,0", "LDA": "15,4,1",
    "IM4": "19,0,1",
}  # fmt: skip
SMALL = [
    "CRY", "BRC", "WIN", "LYM", "GLA", "BCW", "PAR", "STA", "HMS", "MON", "parkinsons", "heart",
    "VC", "PID", "URB",
]  # fmt: skip
WIDE, LONG = ["COL", "GLI", "BRE"], ["WAV", "ELE"]
SCREEN = "anova-f:top=500"


def published(path: Path) -> Iterator[tuple[str, str, str, str, float]]:
    """(paper's table, its name of the set, our set, our method, accuracy in percent)."""
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["paper"].startswith("IMMIGRATE"):
                name, method = row["dataset"], row["method"]
            elif row["paper"] == "IM4E":
                name = IM4E_SETS.get(row["dataset"], row["dataset"])
                method = IM4E_NAMES.get(row["method"], "")
            else:
                continue
            table = f"{row['paper'].replace('_', ' ')} Table {row['table']}"
            for ours in (method, *VARIANTS.get(method, ())):
                if ours in METHODS:
                    yield table, row["dataset"], name, ours, float(row["accuracy"])


def results(
    bench: Bench, sets: list[str], methods: list[str], repeats: int, wanted: set[tuple[str, str]]
) -> dict[Any, Any]:
    """(set, method) to its Evaluation, for those wanted, as far as time allows."""
    found: dict[Any, Any] = {}
    late = False
    for name in sets:
        if not bench.has(name):
            print(f"{name}: not in the data folder, left out")
            continue
        table = bench.table(name)
        for method in methods:
            if (name, method) not in wanted:
                continue
            base = METHODS[method]
            if table.n_features > 1000 and method not in ("IM4", "EGT", "B4G"):
                base = f"{SCREEN} {base}"
            try:
                found[name, method], _ = bench.evaluate(base, table, repeats=repeats)
            except OutOfTime:
                late = True
    if late:
        print("out of time: call again to go on; the tables hold what is finished")
    return found


def compared(found: dict[Any, Any], repeats: int, path: Path) -> Iterator[list[Any]]:
    """Rows of the table: what was published beside what comes out here."""
    for table, printed, name, method, accuracy in published(path):
        if (name, method) not in found:
            continue
        measure = found[name, method].measures["accuracy"]
        mean, error = 100 * measure.mean, 100 * measure.standard_error  # percent
        difference = mean - accuracy
        # Both are means over folds with about the same error.
        z = difference / (math.sqrt(2.0) * error) if error > 0 else math.nan
        verdict = "agrees" if abs(z) < 2 else ("above" if difference > 0 else "below")
        yield [
            table, printed, method, accuracy, percent(measure.mean), round(error, 2),
            round(difference, 1), verdict, repeats,
        ]  # fmt: skip


def by_method(rows: list[list[Any]]) -> Iterator[list[Any]]:
    """For each method over the sets of IMMIGRATE's tables: how far from what was published."""
    for method in METHODS:
        of_it = [row for row in rows if row[2] == method and row[0].startswith("IMMIGRATE")]
        differences = np.array([row[6] for row in of_it], dtype=float)
        if not differences.size:
            continue
        p = float(stats.wilcoxon(differences).pvalue) if differences.size > 5 else None
        verdicts = [row[7] for row in of_it]
        yield [
            method, len(of_it), round(float(differences.mean()), 1),
            round(float(np.median(differences)), 1),
            *map(verdicts.count, ("above", "agrees", "below")),
            None if p is None else round(p, 3),
        ]  # fmt: skip


def wins(found: dict[Any, Any]) -> Iterator[list[Any]]:
    """IGT and BIM against each other method: sets won, tied and lost, by two rules."""
    for ours in ("IGT", "BIM"):
        for method in METHODS:
            sets = [n for n, m in found if m == ours and (n, method) in found and method != ours]
            if not sets:
                continue
            counts = []
            for rule in ("papers", "corrected"):
                words = []
                for name in sets:
                    a, b = (found[name, m].measures["accuracy"].values for m in (ours, method))
                    ratio = found[name, ours].test_to_train
                    plain = rule == "papers"
                    test = paired_t_test(a, b) if plain else corrected_resampled_test(a, b, ratio)
                    words.append(win_tie_loss(test))
                counts.append(",".join(str(words.count(w)) for w in ("win", "tie", "loss")))
            printed = PRINTED_WTL.get(method) if ours == "IGT" else None
            yield [ours, method, len(sets), *counts, printed]


def accuracy_of(evaluation: Any) -> float | None:
    """Accuracy in percent, None where there is no evaluation."""
    return None if evaluation is None else percent(evaluation.measures["accuracy"].mean)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--published", type=Path, required=True, help="the printed accuracies")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--sets", default=",".join(SMALL), help="names, comma between")
    parser.add_argument("--methods", default=",".join(METHODS), help="names, comma between")
    parser.add_argument("--name", default="margin", help="name of the result table")


def main() -> None:
    options, bench = arguments(__doc__, _options)
    sets, methods = options.sets.split(","), options.methods.split(",")
    repeats = options.repeats
    if options.quick:
        sets, repeats = ["CRY", "WIN"], 1
    wanted = {(name, method) for _, _, name, method, _ in published(options.published)}
    found = results(bench, sets, methods, repeats, wanted)
    rows = list(compared(found, repeats, options.published))
    header = [
        "table", "set", "method", "published %", "here %", "± (corrected)",
        "difference", "verdict", "repeats",
    ]  # fmt: skip
    finished = list(dict.fromkeys(name for name, _ in found))
    notes = [
        f"Stratified ten-fold cross-validation × {repeats}, seed 0; everything that learns, σ and "
        "pruning included, learns from the training rows of the fold. ± is the standard error "
        "corrected for overlapping training sets. *agrees*: the difference is below twice its own "
        "standard error, taking the published figure to have the same error as ours.",
        f"Sets: {', '.join(finished)}. Evaluated are the pairs of set and method that were "
        "published. Chains: " + "; ".join(f"{m} = `{METHODS[m]}`" for m in methods) + ". With more "
        f"than 1000 features all but IM4, EGT and B4G stand behind `{SCREEN}`, inside the fold.",
        f"{sum(row[7] == 'agrees' for row in rows)} of {len(rows)} figures agree, "
        f"{sum(row[7] == 'above' for row in rows)} are above, "
        f"{sum(row[7] == 'below' for row in rows)} below.",
    ]
    write_tables(options.results, options.name, header, rows, "Margin methods", notes)
    write_tables(
        options.results,
        f"{options.name}-by-method",
        ["method", "sets", "mean difference", "median", "above", "agrees", "below", "Wilcoxon p"],
        list(by_method(rows)),
        "Margin methods: here less published, over the sets of IMMIGRATE's tables",
        [
            "In points of percent. *agrees* alone is lenient: a corrected standard error of three "
            "to four points lets single differences of ten pass. A method whose mean difference is "
            "far from zero over many sets is another one than was published, or was run otherwise."
        ],
    )
    write_tables(
        options.results,
        f"{options.name}-wins",
        ["of", "against", "sets", "W,T,L here", "by the corrected test", "printed (20 sets)"],
        list(wins(found)),
        "IMMIGRATE and BIM against the other methods: sets won, tied, lost",
        ["p < 0.05; first Student's paired t-test over the folds, as in the paper."],
    )
    write_tables(
        options.results,
        f"{options.name}-by-set",
        ["set", *methods],
        [[name, *(accuracy_of(found.get((name, m))) for m in methods)] for name in finished],
        "Margin methods: accuracy in percent, by set",
        notes[:1],
    )


if __name__ == "__main__":
    main()
