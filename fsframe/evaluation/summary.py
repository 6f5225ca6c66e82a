"""What a cross-validation says: measures with corrected standard errors, stability, curves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.selection import Selection
from fsframe.contracts.stability_metric import StabilityValue
from fsframe.evaluation.comparing import bounded_interval, corrected_standard_error
from fsframe.evaluation.measures import accuracy, auc, balanced_accuracy, log_loss
from fsframe.registry import stability_metrics
from fsframe.storage.known_tables import FoldTables, fold_tables

__all__ = ["CurvePoint", "Evaluation", "Measure", "summarise", "summarise_tables"]


@attrs.frozen(kw_only=True, eq=False)
class Measure:
    """One measure over the folds.

    Parameters
    ----------
    name : str
    values : (n_splits,) float
        One value per fold; one per repetition where a fold alone does not define it.
    mean : float
        NaN where nothing defines it.
    standard_error : float
        Corrected for overlapping training sets (Nadeau and Bengio); NaN for fewer than two values,
        and for values per repetition, which the correction is not made for.
    undefined : str
        Why there is no mean; empty if there is one.
    interval : (float, float), optional
        95 %, within [0, 1] (`bounded_interval`), for measures that are shares.
    """

    name: str
    values: NDArray[np.float64]
    mean: float
    standard_error: float
    undefined: str = ""
    interval: tuple[float, float] | None = None


@attrs.frozen(kw_only=True)
class CurvePoint:
    """Accuracy and stability when the best `size` features of every fold are used."""

    size: int
    accuracy: float
    standard_error: float
    stability: float


@attrs.frozen(kw_only=True, eq=False)
class Evaluation:
    """What a cross-validation says.

    Parameters
    ----------
    measures : mapping of str to Measure
        accuracy, balanced accuracy, auc, log-loss.
    n_splits : int
    kept : (n_splits,) int
        How many features each fold keeps.
    stability : StabilityValue
        Nogueira's φ of the kept sets, with a 95 % interval.
    curve : tuple of CurvePoint
    one_standard_error : int, optional
        The smallest size whose accuracy is within one standard error of the best.
    chosen : (n_splits,) int
        Which chain of the grid each fold chose.
    test_to_train : float
        Rows tested over rows trained on, the mean over the splits.
    baseline : Measure
        Accuracy of predicting the most frequent class of the training rows.
    all_features : Measure, optional
        Accuracy of the same classifier on all columns, where it was asked for and takes them.
    """

    measures: dict[str, Measure]
    n_splits: int
    kept: NDArray[np.int64]
    stability: StabilityValue
    curve: tuple[CurvePoint, ...]
    one_standard_error: int | None
    chosen: NDArray[np.int64]
    test_to_train: float
    baseline: Measure
    all_features: Measure | None = None


def summarise(selection: Selection) -> Evaluation:
    """The measures of a finished `cross-validation` stage, from the tables of its Selection."""
    return summarise_tables(fold_tables(selection.tables, selection.n_features))


def summarise_tables(tables: FoldTables, units: int | None = None) -> Evaluation:
    """The measures of a cross-validation.

    Parameters
    ----------
    tables : FoldTables
    units : int, optional
        Number of independent units tested: the groups of a table that has some; by default rows.

    Notes
    -----
    A measure is taken in every fold; where a fold leaves it undefined, it is taken over each
    repetition's predictions together. So it is with balanced accuracy and AUC where some fold tests
    no row of some class, as in leave-one-out.
    """
    truth, fold = tables.truth, tables.fold
    predicted, scores = tables.predicted, tables.class_scores
    parts = _parts(fold)
    ratio = _test_to_train(parts, truth.size)
    n_classes = np.unique(truth).size

    def whole(rows: NDArray[np.intp]) -> bool:
        return bool(np.unique(truth[rows]).size == n_classes)

    of_part: dict[str, Any] = {
        "accuracy": lambda r, rows: accuracy(truth[rows], predicted[r, rows]),
        "balanced accuracy": lambda r, rows: (
            balanced_accuracy(truth[rows], predicted[r, rows]) if whole(rows) else np.nan
        ),
        "auc": lambda r, rows: auc(truth[rows], scores[r, rows]) if whole(rows) else np.nan,
        "log-loss": lambda r, rows: log_loss(truth[rows], scores[r, rows]),
    }
    trials = truth.size if units is None else units
    measures = {
        name: _measure(name, parts, fold, ratio, of, None if name == "log-loss" else trials)
        for name, of in of_part.items()
    }
    every = tables.all_features
    if every is not None and (every[fold >= 0] < 0).any():
        every = None
    kept = tables.kept
    curve = _curve(tables, parts, ratio)
    return Evaluation(
        measures=measures,
        n_splits=len(parts),
        kept=kept.sum(axis=1),
        stability=_stability(kept),
        curve=curve,
        one_standard_error=_one_standard_error(curve),
        chosen=tables.chosen,
        test_to_train=ratio,
        baseline=_of_fold(
            "larger class", [_baseline(truth, rows) for _, rows in parts], ratio, trials
        ),
        all_features=None
        if every is None
        else _of_fold(
            "all features",
            [accuracy(truth[rows], every[repeat, rows]) for repeat, rows in parts],
            ratio,
            trials,
        ),
    )


def _baseline(truth: NDArray[np.int64], tested: NDArray[np.intp]) -> float:
    """Share of the tested rows that are of the most frequent class of the others."""
    trained = np.ones(truth.size, dtype=bool)
    trained[tested] = False
    return float(np.mean(truth[tested] == np.bincount(truth[trained]).argmax()))


def _of_fold(name: str, found: list[float], ratio: float, trials: int) -> Measure:
    values = np.array(found)
    mean, error = float(values.mean()), corrected_standard_error(values, ratio)
    return Measure(
        name=name,
        values=values,
        mean=mean,
        standard_error=error,
        interval=bounded_interval(mean, error, values.size, trials),
    )


def _parts(fold: NDArray[np.int64]) -> list[tuple[int, NDArray[np.intp]]]:
    """(repetition, tested rows) of every split, in order."""
    parts = []
    for repeat, row in enumerate(fold):
        # One sort for all folds: leaving one out there are as many folds as rows.
        order = np.argsort(row, kind="stable")
        starts = np.searchsorted(row[order], np.arange(int(row.max()) + 2))
        parts += [(repeat, order[start:stop]) for start, stop in pairwise(starts)]
    return parts


def _test_to_train(parts: list[tuple[int, NDArray[np.intp]]], n: int) -> float:
    tested = float(np.mean([rows.size for _, rows in parts]))
    return tested / (n - tested)


def _measure(
    name: str,
    parts: list[tuple[int, NDArray[np.intp]]],
    fold: Any,
    ratio: float,
    of: Any,
    trials: int | None,
) -> Measure:
    values = np.array([of(repeat, rows) for repeat, rows in parts])
    error = corrected_standard_error(values, ratio)
    if np.isnan(values).any():
        values = np.array([of(r, np.flatnonzero(fold[r] >= 0)) for r in range(len(fold))])
        error = float("nan")
    if np.isnan(values).any():
        return Measure(
            name=name,
            values=values,
            mean=float("nan"),
            standard_error=error,
            undefined="the classifier's scores are no probabilities",
        )
    mean = float(values.mean())
    interval = None if trials is None else bounded_interval(mean, error, values.size, trials)
    return Measure(name=name, values=values, mean=mean, standard_error=error, interval=interval)


def _stability(kept: NDArray[np.bool_]) -> StabilityValue:
    if len(kept) < 2:
        return StabilityValue(value=float("nan"), undefined="one fold has nothing to agree with")
    if "nogueira" not in stability_metrics:
        return StabilityValue(value=float("nan"), undefined="the metric nogueira is not installed")
    metric = stability_metrics["nogueira"]()
    found: StabilityValue = metric(kept)
    return found


def _curve(
    tables: FoldTables, parts: list[tuple[int, NDArray[np.intp]]], ratio: float
) -> tuple[CurvePoint, ...]:
    truth, place = tables.truth, tables.place
    if tables.sizes is None or tables.curve is None or place is None:
        return ()
    points = []
    for row, size in enumerate(tables.sizes):
        predicted = tables.curve[row]
        values = np.array([accuracy(truth[rows], predicted[r, rows]) for r, rows in parts])
        kept = (place >= 0) & (place < size)
        points.append(
            CurvePoint(
                size=int(size),
                accuracy=float(values.mean()),
                standard_error=corrected_standard_error(values, ratio),
                stability=_stability(kept).value,
            )
        )
    return tuple(points)


def _one_standard_error(curve: tuple[CurvePoint, ...]) -> int | None:
    """The smallest size that is within one standard error of the most accurate (Breiman's rule)."""
    if not curve:
        return None
    best = max(curve, key=lambda point: (point.accuracy, -point.size))
    floor = best.accuracy - (0.0 if np.isnan(best.standard_error) else best.standard_error)
    return min(point.size for point in curve if point.accuracy >= floor)
