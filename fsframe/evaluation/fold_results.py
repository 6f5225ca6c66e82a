"""The results of all folds as one Selection with the tables of a cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.prediction_measure import PredictionMeasure
from fsframe.contracts.selection import Selection, rank_by_score
from fsframe.contracts.survival import times_and_events
from fsframe.evaluation.fold_task import FoldTask, full_ranking
from fsframe.evaluation.folds import Split
from fsframe.evaluation.measuring import group_tables, measure_tables
from fsframe.resampling.resamples import Recurring
from fsframe.storage.checked_tables import fold_tables

__all__ = ["gather_folds"]


_AXIS_OF_ROWS = {
    "predicted": 0,
    "class-scores": 0,
    "all-features": 0,
    "all-features-scores": 0,
    "curve": 1,
}
"""Tables of a fold that hold predictions, and which of their axes are its test rows."""


def gather_folds(
    data: Dataset,
    splits: list[Split],
    found: list[Selection],
    task: FoldTask,
    named: tuple[tuple[str, PredictionMeasure], ...],
    suspicion: tuple[str, ...],
) -> Selection:
    """The results `found` of all folds of the table as one Selection, with the named measures.

    Warnings of `suspicion`, about the table, precede those of the folds.
    """
    repeats, n = 1 + max(split.repeat for split in splits), data.n_samples
    classes = data.task == "classification"
    fold = np.full((repeats, n), -1, dtype=np.int64)
    kept = np.zeros((len(splits), data.n_features), dtype=bool)
    place = np.full((len(splits) if task.sizes else 0, data.n_features), -1, dtype=np.int64)
    predictions: dict[str, NDArray[Any]] = {}
    for name, axis in _AXIS_OF_ROWS.items():
        if name in found[0].tables:
            shape = list(found[0].tables[name].shape)
            shape[axis : axis + 1] = repeats, n
            codes = classes and not name.endswith("scores")
            predictions[name] = np.full(shape, *((-1, np.int64) if codes else (np.nan, float)))
    notes = Recurring()
    for number, (split, selection) in enumerate(zip(splits, found, strict=True)):
        fold[split.repeat, split.test] = split.fold
        for name, array in predictions.items():
            axis, part = _AXIS_OF_ROWS[name], selection.tables[name]
            if data.times is not None:
                # A fold in time also predicts the rows of later blocks.
                later = np.delete(np.arange(n), split.train)
                part = part.compress(np.isin(later, split.test), axis)
            array[(slice(None),) * axis + (split.repeat, split.test)] = part
        kept[number, selection.selected] = True
        notes.add(selection.warnings)
        if task.sizes:
            ranking = full_ranking(selection)
            place[number, ranking] = np.arange(ranking.size)
    share = kept.mean(axis=0)
    every = predictions.get("all-features")
    if every is not None and not (every >= 0 if classes else ~np.isnan(every)).any():
        del predictions["all-features"]
        predictions.pop("all-features-scores", None)
    tables = {
        "fold": fold,
        "truth": data.y,
        **predictions,
        **({"event": times_and_events(data.y)[1]} if data.task == "survival" else {}),
        "kept": kept,
        "chosen": np.concatenate([selection.tables["chosen"] for selection in found]),
        "tuning": np.vstack([selection.tables["tuning"] for selection in found]),
        **({"sizes": np.array(task.sizes), "place": place} if task.sizes else {}),
    }
    tables |= _measure_arrays(tables, data, named)
    ranked = rank_by_score(share)
    return Selection(
        selected=ranked[share[ranked] > 0.5],
        scores=share,
        tables=tables,
        warnings=(*suspicion, *notes.lines(len(splits), "folds")),
    )


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
