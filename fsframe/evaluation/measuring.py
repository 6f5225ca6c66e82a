"""Measures of performance over the folds of a cross-validation, and of its baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import FsframeError, RequestError
from fsframe.grammar import format_stages, parse_stage
from fsframe.method.classifier import Classifier
from fsframe.method.prediction_measure import SCORE_KINDS, PredictionMeasure, Predictions
from fsframe.method.selection import Selection
from fsframe.registry import measures as registered
from fsframe.registry.entries import MeasureEntry
from fsframe.storage.checked_tables import FoldTables
from fsframe.table.dataset import Dataset

__all__ = [
    "SIDES",
    "default_measures",
    "find_measures",
    "group_tables",
    "join_repetitions",
    "least_scores",
    "measure_tables",
    "parts_of",
]

SIDES = ("chain", "larger class", "all features")
"""Meaning of the first axis of the table ``measured``."""

Named = tuple[tuple[str, PredictionMeasure], ...]


def find_measures(texts: Sequence[str]) -> Named:
    """The measures that texts name, such as ``auc`` or ``sensitivity:positive=ill``.

    Raises
    ------
    RequestError, PluginError
        Listing all problems.
    """
    found: dict[str, PredictionMeasure] = {}
    problems: dict[str, FsframeError] = {}
    for text in texts:
        try:
            stage = parse_stage(text)
            found[format_stages([stage])] = registered[stage.name].from_texts(stage.params)
        except FsframeError as error:
            problems.setdefault(str(error), error)
    if problems:
        raise type(next(iter(problems.values())))("\n".join(problems))
    return tuple(found.items())


def default_measures(task: str, classes: tuple[Any, ...], scores: str) -> Named:
    """The bundled measures that are computed by default, as far as they are defined.

    `task` and `classes` are those of the table, `scores` the kind of the classifier's scores.
    """
    plugins = {offer.plugin.name: offer.plugin for offer in registered.offers()}
    found = []
    for entry in (e for _, p in sorted(plugins.items()) if p.source.bundled for e in p.entries):
        if isinstance(entry, MeasureEntry) and entry.default:
            measure = registered[entry.name]()
            if next(measure.refusals(task, classes, scores), None) is None:
                found.append((entry.name, measure))
    return tuple(found)


def least_scores(classifiers: Sequence[Classifier]) -> str:
    """The most informative kind of scores that all classifiers give, one of `SCORE_KINDS`.

    Raises
    ------
    RequestError
        If one declares something else.
    """
    kinds = []
    for classifier in classifiers:
        kind = classifier.score_kind()
        if kind not in SCORE_KINDS:
            raise RequestError(
                f"{classifier.method_name()} declares scores of the kind {kind!r}; kinds are "
                f"{', '.join(SCORE_KINDS)}"
            )
        kinds.append(kind)
    return min(kinds, key=SCORE_KINDS.index)


def parts_of(fold: NDArray[np.int64]) -> list[tuple[int, NDArray[np.intp]]]:
    """(repetition, tested rows) of every split, in order."""
    parts = []
    for repeat, row in enumerate(fold):
        # One sort for all folds: with leave-one-out there are as many folds as rows.
        order = np.argsort(row, kind="stable")
        starts = np.searchsorted(row[order], np.arange(int(row.max()) + 2))
        parts += [(repeat, order[start:stop]) for start, stop in pairwise(starts)]
    return parts


def measure_tables(tables: FoldTables, classes: tuple[Any, ...], named: Named) -> FoldTables:
    """`tables` with the named measures of every fold and every repetition.

    Notes
    -----
    Two baselines are measured too: the rule that ignores the features (the most frequent class of
    the training rows, with class shares as probabilities; over a repetition those of all rows; the
    mean of a numeric target), and the classifier on all columns, if requested. O(measures × splits)
    calls.
    """
    parts = parts_of(tables.fold)
    whole = [(r, np.flatnonzero(row >= 0)) for r, row in enumerate(tables.fold)]
    sides = _sides(tables, classes)
    measured = np.full((len(sides), len(named), len(parts)), np.nan)
    repeats = np.full((len(sides), len(named), len(whole)), np.nan)
    for side, of in enumerate(sides):
        if of is None:
            continue
        for values, rows_of in ((measured, parts), (repeats, whole)):
            for number, (repeat, rows) in enumerate(rows_of):
                predictions = of(repeat, rows)
                for place, (_, measure) in enumerate(named):
                    if predictions.scores is not None or measure.needs == "labels":
                        values[side, place, number] = measure(predictions)
    facts = [
        [m.lowest, m.highest, float(m.larger_is_better), float(m.every_class)] for _, m in named
    ]
    return attrs.evolve(
        tables,
        measures=tuple(name for name, _ in named),
        measure_facts=np.array(facts).reshape(len(named), 4),
        measured=measured,
        measured_repeats=repeats,
    )


Side = Callable[[int, NDArray[np.intp]], Predictions]


def _sides(tables: FoldTables, classes: tuple[Any, ...]) -> list[Side | None]:
    """Predictions of the chain and of the baselines, in the order of `SIDES`."""
    truth, n_classes = tables.truth, tables.class_scores.shape[2]
    every, of_every = tables.all_features, tables.all_features_scores
    labels = classes or tuple(range(n_classes))
    numbers = tables.task != "classification"

    def of(predicted: NDArray[Any], scores: NDArray[np.float64] | None) -> Side:
        def chosen(repeat: int, rows: NDArray[np.intp]) -> Predictions:
            return Predictions(
                truth=truth[rows],
                predicted=predicted[repeat, rows],
                scores=None if numbers or scores is None else scores[repeat, rows],
                classes=labels,
            )

        return chosen

    def larger(_: int, rows: NDArray[np.intp]) -> Predictions:
        trained = np.ones(truth.size, dtype=bool)
        trained[rows if rows.size < truth.size else []] = False
        if numbers:
            mean = np.full(rows.size, truth[trained].mean())
            return Predictions(truth=truth[rows], predicted=mean)
        shares = np.bincount(truth[trained], minlength=n_classes) / trained.sum()
        return Predictions(
            truth=truth[rows],
            predicted=np.full(rows.size, shares.argmax()),
            scores=np.tile(shares, (rows.size, 1)),
            classes=labels,
        )

    refused = every is None or bool(tables.lacking(every)[tables.fold >= 0].any())
    return [
        of(tables.predicted, tables.class_scores),
        larger,
        None if refused or every is None else of(every, of_every),
    ]


def join_repetitions(parts: Sequence[Selection]) -> Selection:
    """One Selection with the tables of several runs of a cross-validation with different seeds.

    Parameters
    ----------
    parts : sequence of Selection
        Results for the same table, chain and protocol; their repetitions are concatenated.
    """
    if len(parts) == 1:
        return parts[0]
    once = {"truth", "sizes", "measures", "measure-facts", "group-sizes"}
    axes = {"curve": 1, "measured": 2, "measured-repeats": 2}
    tables = {
        name: array
        if name in once
        else np.concatenate([part.tables[name] for part in parts], axis=axes.get(name, 0))
        for name, array in parts[0].tables.items()
    }
    return attrs.evolve(parts[0], tables=tables)


def group_tables(tables: FoldTables, data: Dataset) -> FoldTables:
    """`tables` with the performance per group of rows, if the table has groups and classes."""
    if data.groups is None or tables.task != "classification":
        return tables
    names, code = np.unique(data.groups, return_inverse=True)
    sizes = np.bincount(code)
    right = np.full((len(tables.fold), names.size), np.nan)
    votes = right.copy()
    classes = tables.class_scores.shape[2]
    own = np.zeros((names.size, classes), dtype=np.int64)
    np.add.at(own, (code, tables.truth), 1)
    pure = (own > 0).sum(axis=1) == 1
    for repeat, fold in enumerate(tables.fold):
        rows = np.flatnonzero(fold >= 0)
        ballots = np.zeros((names.size, classes), dtype=np.int64)
        np.add.at(ballots, (code[rows], tables.predicted[repeat, rows]), 1)
        tested = ballots.sum(axis=1)
        hits = np.bincount(
            code[rows],
            weights=tables.predicted[repeat, rows] == tables.truth[rows],
            minlength=names.size,
        )
        right[repeat] = np.divide(hits, tested, out=right[repeat], where=tested > 0)
        decided = pure & (tested > 0)
        votes[repeat, decided] = (ballots.argmax(axis=1) == own.argmax(axis=1))[decided]
    return attrs.evolve(tables, group_sizes=sizes, group_right=right, group_vote=votes)
