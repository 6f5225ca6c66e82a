"""The results of all folds as one Selection with the tables of a cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.prediction_measure import PredictionMeasure
from fsframe.contracts.selection import Selection, rank_by_score
from fsframe.contracts.survival import times_and_events
from fsframe.evaluation.fold_task import FoldTask, full_ranking
from fsframe.evaluation.folds import Split
from fsframe.evaluation.measuring import group_tables, measure_tables
from fsframe.resampling.recurring_warnings import Recurring
from fsframe.storage.checked_tables import fold_tables

__all__ = ["gather_folds"]


def gather_folds(
    data: Dataset,
    splits: list[Split],
    found: list[Selection],
    task: FoldTask,
    named: tuple[tuple[str, PredictionMeasure], ...],
    suspicion: tuple[str, ...],
) -> Selection:
    """Combine the results of all folds into one Selection.

    Parameters
    ----------
    data : Dataset
        The whole table.
    splits, found : list of Split, list of Selection
        The training and test rows of each fold, and its result, in the same order.
    task : FoldTask
        The work done in each fold.
    named : tuple of (str, PredictionMeasure)
        The measures to compute, by name.
    suspicion : tuple of str
        Warnings about the table; they precede those of the folds.
    """
    repeats, n = 1 + max(split.repeat for split in splits), data.n_samples
    fold = np.full((repeats, n), -1, dtype=np.int64)
    classes = data.task == "classification"
    nothing, kind = (-1, np.int64) if classes else (np.nan, np.float64)
    predicted = np.full((repeats, n), nothing, dtype=kind)
    scores = np.full((repeats, n, data.n_classes), np.nan)
    every = np.full((repeats, n), nothing, dtype=kind)
    of_every = np.full((repeats, n, data.n_classes), np.nan)
    kept = np.zeros((len(splits), data.n_features), dtype=bool)
    curve = np.full((len(task.sizes), repeats, n), nothing, dtype=kind)
    place = np.full((len(splits) if task.sizes else 0, data.n_features), -1, dtype=np.int64)
    notes = Recurring()
    for number, (split, selection) in enumerate(zip(splits, found, strict=True)):
        where = (split.repeat, split.test)
        fold[where] = split.fold
        if data.times is not None:
            later = np.delete(np.arange(n), split.train)
            selection = _for_rows(selection, np.isin(later, split.test))
        predicted[where] = selection.tables["predicted"]
        if classes:
            scores[where] = selection.tables["class-scores"]
        kept[number, selection.selected] = True
        notes.add(selection.warnings)
        if task.all_features:
            every[where] = selection.tables["all-features"]
            if classes:
                of_every[where] = selection.tables["all-features-scores"]
        if task.sizes:
            curve[:, split.repeat, split.test] = selection.tables["curve"]
            ranking = full_ranking(selection)
            place[number, ranking] = np.arange(ranking.size)
    share = kept.mean(axis=0)
    tables = {
        "fold": fold,
        "truth": data.y,
        "predicted": predicted,
        **({"class-scores": scores} if classes else {}),
        **({"event": times_and_events(data.y)[1]} if data.task == "survival" else {}),
        "kept": kept,
        "chosen": np.concatenate([selection.tables["chosen"] for selection in found]),
        "tuning": np.vstack([selection.tables["tuning"] for selection in found]),
    }
    if task.sizes:
        tables |= {"sizes": np.array(task.sizes), "curve": curve, "place": place}
    if task.all_features and (every >= 0 if classes else ~np.isnan(every)).any():
        tables["all-features"] = every
        if classes:
            tables["all-features-scores"] = of_every
    tables |= _measure_arrays(tables, data, named)
    ranked = rank_by_score(share)
    return Selection(
        selected=ranked[share[ranked] > 0.5],
        scores=share,
        tables=tables,
        warnings=(*suspicion, *notes.lines(len(splits), "folds")),
    )


def _for_rows(selection: Selection, tested: NDArray[np.bool_]) -> Selection:
    """The result of a fold, restricted to some of the rows that it predicted."""
    tables = dict(selection.tables)
    for name in ("predicted", "class-scores", "all-features", "all-features-scores"):
        if name in tables:
            tables[name] = tables[name][tested]
    if "curve" in tables:
        tables["curve"] = tables["curve"][:, tested]
    return attrs.evolve(selection, tables=tables)


def _measure_arrays(
    tables: Mapping[str, NDArray[Any]],
    data: Dataset,
    named: tuple[tuple[str, PredictionMeasure], ...],
) -> dict[str, NDArray[Any]]:
    """Tables of the measures and of the groups."""
    plain = fold_tables(tables, data.n_features)
    found = group_tables(measure_tables(plain, data.classes, named), data)
    named_tables = {
        "measures": np.array(found.measures),
        "measure-facts": found.measure_facts,
        "measured": found.measured,
        "measured-repeats": found.measured_repeats,
        "group-sizes": found.group_sizes,
        "group-right": found.group_right,
        "group-vote": found.group_vote,
    }
    return {name: array for name, array in named_tables.items() if array is not None}
