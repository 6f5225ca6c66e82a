"""IMMIGRATE Tables 1–3 and IM4E Tables 3–5, for every method available here.

    python benchmarks/published/margin_tables.py --data DATA --published published_accuracy.csv

Stratified ten-fold cross-validation, up to ten times (--repeats); columns standardised inside the
training rows, σ and pruning chosen there. Repetitions are computed in the order of information
gained per unit of time, and never twice: run it again to continue. Figures of other sets and
methods that are stored already are kept, with their date. --published is a table with columns
paper, table, dataset, method, accuracy (percent).
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from cells import Bench, Cell, OutOfTime, arguments, evaluations, grow
from margin_methods import (
    IM4E_SETS,
    LONG,
    METHODS,
    NOT_THE_SAME,
    PAIRS,
    PRINTED_WTL,
    SMALL,
    VARIANT_OF,
    WIDE,
    Printed,
    chain_of,
    guess,
    published,
)
from result_tables import grown, percent, write_tables
from scipy import stats

from fsframe.evaluation.comparison_tests import (
    corrected_resampled_test,
    paired_t_test,
    win_tie_loss,
)
from fsframe.evaluation.summary import Evaluation
from fsframe_sklearn.estimators import ALLOW

FOLDS = 10
Found = Mapping[tuple[str, str], Evaluation]


TELLS = 2.0
"""Points of accuracy: a table that cannot tell so much calls nothing equal."""

VERDICTS = ("above", "equal", "below", "cannot tell")


def cells_of(bench: Bench, printed: list[Printed], sets: list[str]) -> dict[Any, Cell]:
    """The cell of each (set, method) that was printed."""
    found: dict[Any, Cell] = {}
    tables = {name: bench.table(name) for name in sets if bench.has(name)}
    for name in sorted(set(sets) - set(tables)):
        print(f"{name}: not in the data folder, left out")
    for row in printed:
        if row.name not in tables or (row.name, row.method) in found:
            continue
        base, table = chain_of(row.method, row.name), tables[row.name]
        done = bench.finished(base, table)
        found[row.name, row.method] = Cell(base, table, done, guess(row.method, table))
    return found


def fold_error(values: np.ndarray) -> float:
    """Standard error, in points, of the difference from ten other repetitions on the same rows.

    Only the folds differ: σ √(1/r + 1/10), where σ is the standard deviation between repetitions,
    or for a single one that between folds divided by √10.
    """
    means = 100 * values.reshape(-1, FOLDS).mean(axis=1)
    if means.size > 1:
        spread = float(means.std(ddof=1))
    else:
        spread = 100 * float(values.std(ddof=1)) / math.sqrt(FOLDS)
    return spread * math.sqrt(1 / means.size + 1 / 10)


def verdict(difference: float, error: float) -> str:
    """Verdict on a difference in points with standard error `error` over folds.

    Within twice the error it is *equal* only if that is at most `TELLS` points; otherwise a
    relevant difference could not have been detected, and the verdict is *cannot tell*.
    """
    if abs(difference) <= 2 * error + 0.05:
        return "equal" if 2 * error <= TELLS else "cannot tell"
    return "above" if difference > 0 else "below"


def compared(found: Found, printed: list[Printed]) -> Iterator[list[Any]]:
    """Rows of the table: published and measured accuracies."""
    for row in printed:
        if (row.name, row.method) not in found:
            continue
        measure = found[row.name, row.method].measures["accuracy"]
        difference, error = 100 * measure.mean - row.accuracy, fold_error(measure.values)
        yield [
            row.table, row.printed_set, row.method, row.accuracy, percent(measure.mean),
            round(100 * measure.standard_error, 2), round(difference, 1), round(error, 2),
            verdict(difference, error),
            len(measure.values) // FOLDS,
        ]  # fmt: skip


def by_method(rows: list[list[Any]]) -> Iterator[list[Any]]:
    """Differences from the published figures by method, over the sets of IMMIGRATE's tables."""
    for paper in ("IMMIGRATE", "IM4E"):
        for method in METHODS:
            of_it = [
                row
                for row in rows
                if row[2] == method and row[0].startswith(paper) and row[1] not in NOT_THE_SAME
            ]
            differences = np.array([row[6] for row in of_it], dtype=float)
            if not differences.size:
                continue
            p = float(stats.wilcoxon(differences).pvalue) if differences.size > 5 else None
            verdicts = [row[8] for row in of_it]
            yield [
                paper, method, VARIANT_OF.get(method, ""), len(of_it),
                round(float(differences.mean()), 1), round(float(np.median(differences)), 1),
                *map(verdicts.count, VERDICTS),
                None if p is None else round(p, 3),
            ]  # fmt: skip


def wins(found: Found, printed: list[Printed]) -> Iterator[list[Any]]:
    """IGT, BIM and B4G compared with every other method: sets won, tied and lost, by two rules."""
    figures = {
        (row.name, row.method): row.accuracy for row in printed if row.table.startswith("IMMIGRATE")
    }
    for ours in ("IGT", "BIM", "B4G"):
        for method in METHODS:
            sets = [n for n, m in found if m == ours and (n, method) in found and method != ours]
            if not sets:
                continue
            plain, corrected, gaps, wanted = [], [], [], []
            for name in sets:
                a, b = (found[name, m].measures["accuracy"].values for m in (ours, method))
                shared = min(len(a), len(b))
                a, b, ratio = a[:shared], b[:shared], found[name, ours].test_to_train
                plain.append(win_tie_loss(paired_t_test(a, b)))
                corrected.append(win_tie_loss(corrected_resampled_test(a, b, ratio)))
                gaps.append(100 * float((a - b).mean()))
                if (name, ours) in figures and (name, method) in figures:
                    wanted.append(figures[name, ours] - figures[name, method])
            words = [
                ",".join(str(list_.count(word)) for word in ("win", "tie", "loss"))
                for list_ in (plain, corrected)
            ]
            means = [round(float(np.mean(g)), 1) if g else None for g in (gaps, wanted)]
            as_printed = PRINTED_WTL.get((ours, VARIANT_OF.get(method, method)))
            yield [ours, method, len(sets), *means, *words, as_printed]


def write_all(found: Found, printed: list[Printed], options: argparse.Namespace) -> None:
    """Write the four tables; stored figures that are not computed here are kept."""
    folder, name = options.results, options.name
    header = [
        "table", "set", "method", "published %", "here %", "± corrected", "difference", "± folds",
        "verdict", "repeats",
    ]  # fmt: skip
    header, rows = grown(folder, name, header, compared(found, printed), key=3)
    order = {name: place for place, name in enumerate((*SMALL, *WIDE, *LONG))}
    methods = list(METHODS)
    rows.sort(key=lambda row: (row[0], order[our_set(row)], methods.index(row[2])))
    sets = sorted({our_set(row) for row in rows}, key=order.__getitem__)
    how = (
        "Stratified ten-fold cross-validation, repetition r with seed r, the same folds for all "
        "methods; everything that learns, σ and pruning included, learns from the training rows "
        "of the fold."
    )
    chains = "; ".join(f"{m} = `{chain}`" for m, chain in METHODS.items())
    verdicts = [row[8] for row in rows if row[2] not in VARIANT_OF]
    notes = [
        f"{how} ± corrected is the standard error that allows for overlapping training sets: what "
        "another table of the same size would give. ± folds is the standard error of the "
        "difference if the published figure comes from ten other repetitions on the same rows. "
        "*equal*: the difference is within twice that, and twice that is at most "
        f"{TELLS:g} points; where it is more, the table *cannot tell*. *made* and *code*: the day "
        "of a figure, and the digest of the code behind it (benchmarks/provenance.py).",
        f"Sets: {', '.join(sets)}. Chains: {chains}. With more than 1000 features all but IMF "
        "stand behind `anova-f:top=500`, inside the fold; on WAV, ELE and CRO immigrate learns "
        "from 500 prototypes, on ELE and CRO IM4 and BIM from 2000. IGR, IG1, IGP, BIP, BI3, IM1, "
        "IMF, RE1, RES, RFS, LOM, GFZ, LDE, HIP and DTR are other ways to what was printed as IGT, "
        "BIM, IM4, REL, RFF, LOGO, GFP, LDA, HIN and DT. HIN, in place of hierNet, is a lasso on "
        "columns, squares and products (pairwise_lasso.py), HIP without squares. XGB is gradient "
        "boosting here, not XGBoost; SVM1 to SVM3 are not preceded by recursive elimination.",
        f"Of {len(verdicts)} figures (variants apart) {verdicts.count('equal')} are equal, "
        f"{verdicts.count('above')} above and {verdicts.count('below')} below; of "
        f"{verdicts.count('cannot tell')} the table cannot tell.",
    ]
    write_tables(folder, name, header, rows, "Margin methods", notes)
    header = [
        "paper", "method", "variant of", "figures", "mean difference", "median", *VERDICTS,
        "Wilcoxon p",
    ]  # fmt: skip
    title = "Margin methods: difference from the published accuracy, by method"
    about = (
        "In points of percent, over the sets of each paper's tables but BRE (Breast) and GI, for "
        "which something else was printed (margin-why.md)."
    )
    write_tables(folder, f"{name}-by-method", header, list(by_method(rows)), title, [about])
    header = [
        "of", "against", "sets", "mean difference", "printed on these", "W,T,L here",
        "by the corrected test", "printed (20 sets; B4G 5)",
    ]  # fmt: skip
    title = "IMMIGRATE, BIM and boosted IM4E-IMMIGRATE against the others: sets won, tied, lost"
    about = "p < 0.05; first Student's paired t-test over the folds, as in the paper. Sets: "
    about += ", ".join(s for s in sets if any(s == held for held, _ in found)) + "."
    write_tables(folder, options.wins, header, list(wins(found, printed)), title, [about])
    here = {(our_set(row), row[2]): row[4] for row in rows}
    cells = [[n, *(here.get((n, m)) for m in METHODS)] for n in sets]
    title = "Margin methods: accuracy in percent, by set"
    write_tables(folder, f"{name}-by-set", ["set", *METHODS], cells, title, [how])


def our_set(row: list[Any]) -> str:
    """Our name of the set of a figure."""
    return IM4E_SETS.get(row[1], row[1]) if row[0].startswith("IM4E") else row[1]


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--published", type=Path, required=True, help="the printed accuracies")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--sets", default=",".join(SMALL + WIDE + LONG), help="comma between")
    parser.add_argument("--methods", default=",".join(METHODS), help="comma between")
    parser.add_argument("--name", default="margin", help="name of the result tables")
    parser.add_argument("--wins", default="margin-wins", help="name of the table of wins")


def main() -> None:
    # The chains of HIN name a class beside this script.
    allowed = (os.environ.get(ALLOW, ""), PAIRS.partition("=")[2])
    os.environ[ALLOW] = ",".join(filter(None, allowed))
    options, bench = arguments(__doc__, _options)
    sets, methods = options.sets.split(","), options.methods.split(",")
    repeats = options.repeats
    if options.quick:
        sets, repeats = ["CRY", "WIN"], 1
    printed = [row for row in published(options.published) if row.method in methods]
    cells = cells_of(bench, printed, sets)
    try:
        grow(bench, list(cells.values()), repeats)
    except OutOfTime:
        print("out of time: call again to go on; the tables hold what is finished")
    found = {key: found for key, (found, _) in evaluations(bench, cells, repeats).items()}
    write_all(found, printed, options)


if __name__ == "__main__":
    main()
