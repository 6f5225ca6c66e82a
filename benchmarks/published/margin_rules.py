"""The same weights under other rules of prediction: does a rule give the printed figures?

    python benchmarks/published/margin_rules.py --data DATA --published published_accuracy.csv

Eq. 3.18 compares expected distances to the classes and does not know how large these are. On
immunotherapy (IMM, 71 rows against 19) the printed accuracies exceed the share of the larger class.
Here weights of IMMIGRATE and of IM4E, fitted on the training rows for every σ of the paths, predict
by eq. 3.18; by its relative distance with a threshold learned on the training rows, at the largest
accuracy (each row left out of its own neighbours) or at the largest sensitivity plus specificity
(rows their own neighbours; what pred.values of the R package does); and by nearest neighbours
under the weights. The folds are those of margin_tables.py. IMM is also coded otherwise.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from cells import Bench, arguments
from margin_methods import METHODS, PATH, Printed, published
from numpy.typing import NDArray
from result_tables import grown, percent, write_tables
from set_variants import rebuilt

from fsframe.table.dataset import Dataset
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.prediction import (
    IM4E_PATH,
    class_distances,
    nearest_class,
    relative_scores,
    stratified_folds,
    training_distances,
)
from fsframe_margin.engine.training import Training, take_training
from fsframe_margin.methods.im4e import descend_im4e
from fsframe_margin.methods.immigrate import descend

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Setting = tuple[float, bool]

SETS = ("IMM", "CRY", "BRC", "GLA", "HMS", "LYM", "STA", "BCW", "PAR")
RULES = ("eq. 3.18", "threshold: accuracy", "threshold: Youden", "1-NN", "3-NN", "5-NN")
TYPE = "Type"
"""The column of IMM that holds codes of three kinds of warts."""

TUNED_ON = ("IMM",)
"""Where settings are also chosen inside the training rows, at sixty fits a fold."""


def fit_immigrate(space: PairSpace, size: int, setting: Setting, package: bool) -> Floats:
    """W by IMMIGRATE as here, or as in the R package, started at I/√A."""
    sigma, prune = setting
    how: dict[str, Any] = {"prune_below": 1.0 / size if prune else 0.0}
    if package:
        how |= {"rule": "psd-clip", "line_search": False, "max_iter": 10, "tol": 0.0}
        how |= {"keep_best": False}
    weights: Floats = descend(space, np.eye(size) / np.sqrt(size), sigma, **how).weights
    return weights


def fit_im4e(space: PairSpace, size: int, setting: Setting) -> Floats:
    """w by IM4E, started at equal weights."""
    weights: Floats = descend_im4e(space, np.full(size, 1.0 / size), setting[0]).weights
    return weights


FITS: dict[str, tuple[str, bool, list[Setting], Callable[..., Floats]]] = {
    "IGT": (
        "IMMIGRATE", False, [(s, p) for s in PATH for p in (False, True)],
        partial(fit_immigrate, package=False),
    ),
    "IGR": (
        "IMMIGRATE as in its package", False, [(s, p) for s in PATH for p in (False, True)],
        partial(fit_immigrate, package=True),
    ),
    "IM4": ("IM4E", True, [(s, False) for s in IM4E_PATH], fit_im4e),
}  # fmt: skip


def best_threshold(scores: Floats, y: Codes, youden: bool) -> float:
    """The threshold on the score of class 1 that separates the training rows best.

    The largest sum of sensitivity and specificity with `youden`, otherwise the largest accuracy; of
    equal ones the smallest.
    """
    held = np.unique(scores)
    cuts = np.concatenate([[-np.inf], (held[1:] + held[:-1]) / 2, [np.inf]])
    positive = scores[None, :] >= cuts[:, None]
    hit, rejected = (positive & (y == 1)).sum(axis=1), (~positive & (y == 0)).sum(axis=1)
    if youden:
        return float(cuts[np.argmax(hit / (y == 1).sum() + rejected / (y == 0).sum())])
    return float(cuts[np.argmax(hit + rejected)])


def measures(rows: Floats, training: Floats, weights: Floats) -> Floats:
    """q between rows (m, A) and training rows (n, A): |x − x′|ᵀ W |x − x′|, or wᵀ|x − x′|."""
    apart = np.abs(rows[:, None, :] - training[None, :, :])
    if weights.ndim == 1:
        return apart @ weights
    return np.einsum("mna,ab,mnb->mn", apart, weights, apart, optimize=True)


def predictions(
    space: PairSpace, training: Training, weights: Floats, sigma: float, rows: Floats
) -> dict[str, Codes]:
    """The classes of new rows by each rule."""
    y = training.y
    distances = class_distances(space, weights, sigma, rows, 2)
    scores = relative_scores(distances)[:, 1]
    left_out = relative_scores(training_distances(space, weights, sigma, 2))[:, 1]
    themselves = relative_scores(class_distances(space, weights, sigma, training.X, 2))[:, 1]
    near = np.argsort(measures(rows, training.X, weights), axis=1, kind="stable")
    found = {
        "eq. 3.18": nearest_class(distances),
        "threshold: accuracy": scores >= best_threshold(left_out, y, youden=False),
        "threshold: Youden": scores >= best_threshold(themselves, y, youden=True),
    }
    for k in (1, 3, 5):
        found[f"{k}-NN"] = y[near[:, :k]].mean(axis=1) > 0.5
    return {rule: np.asarray(found[rule], dtype=np.int64) for rule in RULES}


def right(X: Floats, y: Codes, train: Codes, test: Codes, method: str) -> dict[str, Floats]:
    """Share of test rows that is right (n_settings,), by rule."""
    _, linear, settings, fit = FITS[method]
    training = take_training("margin_rules", X[train], y[train], 2)
    space = PairSpace(training.X, training.y, linear=linear)
    rows = training.rows(X[test])
    shares: dict[str, list[float]] = {rule: [] for rule in RULES}
    for setting in settings:
        weights = fit(space, len(training.varying), setting)
        for rule, codes in predictions(space, training, weights, setting[0], rows).items():
            shares[rule].append(float((codes == y[test]).mean()))
    return {rule: np.array(values) for rule, values in shares.items()}


def of_method(
    X: Floats, y: Codes, folds: list[Codes], method: str, tuned: bool
) -> Iterator[tuple[str, Floats, Floats]]:
    """Each rule, its accuracies (n_splits, n_settings), and those of settings chosen inside."""
    by_rule: dict[str, list[Floats]] = {rule: [] for rule in RULES}
    chosen: dict[str, list[float]] = {rule: [] for rule in RULES}
    for seed, of_rows in enumerate(folds):
        for fold in np.unique(of_rows):
            test, train = np.flatnonzero(of_rows == fold), np.flatnonzero(of_rows != fold)
            outer = right(X, y, train, test, method)
            for rule in RULES:
                by_rule[rule].append(outer[rule])
            if not tuned:
                continue
            inside = stratified_folds(y[train], 5, np.random.default_rng((seed, int(fold))))
            parts = [right(X, y, train[inside != k], train[inside == k], method) for k in range(5)]
            for rule in RULES:
                best = int(np.mean([part[rule] for part in parts], axis=0).argmax())
                chosen[rule].append(float(outer[rule][best]))
    for rule in RULES:
        yield rule, np.array(by_rule[rule]), np.array(chosen[rule])


def codings(table: Dataset) -> Iterator[tuple[str, Dataset]]:
    """The table as it is; IMM with its nominal column as columns of 0 and 1, or without it."""
    yield "as they are", table
    if TYPE not in table.feature_names:
        return
    names = list(table.feature_names)
    place, X = names.index(TYPE), np.asarray(table.X)
    rest = [name for name in names if name != TYPE]
    X_rest = np.delete(X, place, axis=1)
    kinds = np.unique(X[:, place])
    indicators = (X[:, [place]] == kinds).astype(float)
    yield (
        "Type as 0 and 1",
        rebuilt(table, np.hstack([X_rest, indicators]), [*rest, *(f"{TYPE}={k:g}" for k in kinds)]),
    )
    numbers = [name for name in rest if name != "sex"]
    yield (
        "without sex and Type",
        rebuilt(table, X[:, [names.index(name) for name in numbers]], numbers),
    )


def rows_of(
    bench: Bench, name: str, printed: dict[tuple[str, str], float], repeats: int
) -> Iterator[list[Any]]:
    """The rows of a set: coding, method and rule, with their accuracies."""
    table = bench.table(name)
    y = np.asarray(table.y, dtype=np.int64)
    folds = []
    for seed in range(repeats):
        run = bench.repetition(METHODS["1NN"], table, seed)
        folds.append(np.ravel(run.stages[-1].tables["fold"]).astype(np.int64))
    larger = percent(table.class_sizes().max() / table.n_samples)
    for coding, coded in codings(table):
        for method, (title, _, settings, _) in FITS.items():
            if time.time() > bench.deadline:
                return
            tuned = name in TUNED_ON and coding != "without sex and Type"
            begun = time.process_time()
            for rule, shares, chosen in of_method(np.asarray(coded.X), y, folds, method, tuned):
                means = shares.mean(axis=0)
                sigma, prune = settings[int(means.argmax())]
                yield [
                    name, coding, title, rule, larger, printed.get((name, method)),
                    percent(chosen.mean()) if tuned else None, percent(means.max()),
                    f"{sigma:g}{' pruned' if prune else ''}",
                    percent(shares.max(axis=1).mean()), repeats,
                ]  # fmt: skip
            print(f"{name} {coding} {method}: {time.process_time() - begun:.0f} s", flush=True)


def printed_by(rows: Iterator[Printed]) -> dict[tuple[str, str], float]:
    """The printed figures of IMMIGRATE's tables, by set and method."""
    return {
        (row.name, row.method): row.accuracy for row in rows if row.table.startswith("IMMIGRATE")
    }


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--published", required=True, help="the printed accuracies")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SETS), help="comma between")


def main() -> None:
    options, bench = arguments(__doc__, _options)
    repeats = 1 if options.quick else options.repeats
    sets = ["CRY"] if options.quick else options.sets.split(",")
    printed = printed_by(published(options.published))
    header = [
        "set", "columns", "weights of", "rule", "larger class %", "printed %", "tuned",
        "best setting", "its σ", "best in each fold", "repeats",
    ]  # fmt: skip
    made = [
        row for name in sets if bench.has(name) for row in rows_of(bench, name, printed, repeats)
    ]
    header, rows = grown(options.results, "margin-rules", header, made, key=4)
    notes = [
        "Accuracy in percent, ten-fold cross-validation, the folds of the margin table. *tuned*: σ "
        "and pruning by five folds inside the training rows, by the accuracy of the rule itself. "
        "*best setting*: the one with the highest accuracy on the test folds, an upper bound for "
        "any choice of one setting. *best in each fold*: chosen anew with each test fold in sight.",
        "*threshold: accuracy*: class 1 from that share of the distances on that is most often "
        "right on the training rows, each left out of its own neighbours. *threshold: Youden*: the "
        "largest sensitivity plus specificity on the training rows, which are their own "
        "neighbours, as pred.values of the R package. *k-NN*: majority of k neighbours by the "
        "learned measure.",
    ]
    write_tables(options.results, "margin-rules", header, rows, "Other rules of prediction", notes)


if __name__ == "__main__":
    main()
