"""Summary of a cross-validation: measures with corrected standard errors, stability, curves."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.evaluation.measures import R2, Accuracy, CIndex, confusion
from fsframe.evaluation.measuring import (
    corrected_standard_error,
    default_measures,
    interval_within,
    measure_tables,
    one_standard_error,
    parts_of,
    without_features,
)
from fsframe.method.selection import Selection
from fsframe.method.stability_metric import StabilityValue
from fsframe.registry import default_names, stability_metrics
from fsframe.storage.checked_tables import FoldTables, fold_tables

LEADING = {"classification": "accuracy", "regression": "r2", "survival": "c-index"}
"""The measure that is reported first, for each task."""

_OF_TASK = {"classification": Accuracy, "regression": R2, "survival": CIndex}


@attrs.frozen(kw_only=True, eq=False)
class Measure:
    """One measure over the folds.

    Parameters
    ----------
    name : str
    values : (n_splits,) float
        One value per fold; one per repetition if it is not defined for a single fold.
    mean : float
        NaN if it is undefined.
    standard_error : float
        Corrected for overlapping training sets (Nadeau and Bengio); NaN for fewer than two values,
        and for values per repetition, to which the correction does not apply.
    undefined : str
        Why there is no mean; empty if there is one.
    interval : (float, float), optional
        95 % interval within the range of the measure (`interval_within`).
    larger_is_better : bool
    pooled : bool
        Whether there is one value per repetition, because the measure is undefined in some fold.
    baseline : float, optional
        The same measure of the baseline that ignores the features: the most frequent class of the
        training rows, with class shares as probabilities; the mean of a numeric target.
    all_features : float, optional
        The same measure of the same classifier on all columns, if requested.
    """

    name: str
    values: NDArray[np.float64]
    mean: float
    standard_error: float
    undefined: str = ""
    interval: tuple[float, float] | None = None
    larger_is_better: bool = True
    pooled: bool = False
    baseline: float | None = None
    all_features: float | None = None


@attrs.frozen(kw_only=True, eq=False)
class ByGroup:
    """Performance with each group of rows counted once.

    Parameters
    ----------
    n_groups : int
    accuracies : (g,) float64
        Accuracy on the rows of each tested group, averaged over the repetitions.
    vote : float
        Share of the groups with a single class for which the most frequent prediction of their rows
        is correct, averaged over the repetitions; NaN if there are no such groups.
    n_voting : int
        Number of groups with a single class.
    """

    n_groups: int
    accuracies: NDArray[np.float64]
    vote: float
    n_voting: int


@attrs.frozen(kw_only=True)
class Agreement:
    """Agreement of the predictions of a row over the repetitions, correct or not.

    Parameters
    ----------
    share : float
        Probability that two repetitions predict the same class for a row, averaged over rows.
    n_rows : int
        Rows tested in at least two repetitions.
    n_always : int
        Number of these with the same prediction in all repetitions.
    """

    share: float
    n_rows: int
    n_always: int


@attrs.frozen(kw_only=True)
class CurvePoint:
    """Accuracy and stability when the best `size` features of every fold are used.

    For a numeric target `accuracy` is R².
    """

    size: int
    accuracy: float
    standard_error: float
    stability: float


@attrs.frozen(kw_only=True, eq=False)
class Evaluation:
    """Results of a cross-validation.

    Parameters
    ----------
    measures : mapping of str to Measure
        By name, such as ``balanced-accuracy``.
    n_splits : int
    kept : (n_splits,) int
        Number of features that each fold keeps.
    stability : StabilityValue
        Nogueira's φ of the kept sets, with a 95 % interval.
    curve : tuple of CurvePoint
    one_standard_error : int, optional
        The smallest size whose accuracy is within one standard error of the best.
    chosen : (n_splits,) int
        The chain of the grid that each fold chose.
    test_to_train : float
        Mean number of test rows divided by mean number of training rows.
    baseline : Measure
        Accuracy of predicting the most frequent class of the training rows; R² of predicting their
        mean.
    all_features : Measure, optional
        Accuracy (R²) of the same classifier on all columns, if requested and possible.
    confusion : (n_classes, n_classes) float64
        Number of rows by true class (rows) and predicted class (columns), averaged over the
        repetitions; empty without classes.
    task : str
        ``"classification"``, ``"regression"`` or ``"survival"``.
    by_group : ByGroup, optional
        If rows were kept together in groups.
    agreement : Agreement, optional
        If rows were tested more than once.
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
    confusion: NDArray[np.float64]
    by_group: ByGroup | None = None
    agreement: Agreement | None = None
    task: str = "classification"

    @property
    def leading(self) -> Measure:
        """Accuracy, R² for numeric targets, c-index for survival, if measured; else the first
        measure.
        """
        name = LEADING[self.task]
        return self.measures[name if name in self.measures else next(iter(self.measures))]


def summarise(selection: Selection) -> Evaluation:
    """The results of a finished `cross-validation` stage, from the tables of its Selection."""
    return summarise_tables(fold_tables(selection.tables, selection.n_features))


def summarise_tables(tables: FoldTables, units: int | None = None) -> Evaluation:
    """The results of a cross-validation.

    Parameters
    ----------
    tables : FoldTables
        If they contain no measures, as in files of early versions, the bundled measures that apply
        to the scores are computed.
    units : int, optional
        Number of independent units tested: the groups, if the table has groups; by default rows.

    Notes
    -----
    A measure is computed in every fold. If it is undefined in some fold, it is computed over all
    predictions of each repetition instead; so are measures that need every class if some fold tests
    no row of a class, as in leave-one-out.
    """
    if tables.measured is None:
        labels = tuple(range(tables.class_scores.shape[2]))
        named = default_measures(tables.task, labels, "probabilities")
        measured: dict[str, Any] = measure_tables(tables, labels, named)
        fields = {name.replace("-", "_"): table for name, table in measured.items()}
        tables = attrs.evolve(tables, **fields)
    parts = parts_of(tables.fold)
    ratio = _test_to_train(parts, tables.fold)
    if units is None:
        units = int((tables.fold >= 0).any(axis=0).sum())
    elif tables.group_right is not None:
        # If groups are in order of time, the earliest are never tested.
        units = int((~np.isnan(tables.group_right)).any(axis=0).sum())
    members = np.bincount(tables.truth) if tables.task == "classification" else np.ones(1)
    smallest = members[members > 0].min() / tables.truth.size
    measures = {
        name: _measure(tables, place, ratio, units, float(smallest))
        for place, name in enumerate(tables.measures)
    }
    kept = tables.kept
    curve = _curve(tables, parts, ratio)
    baselines = _baselines(tables, parts, ratio, units)
    return Evaluation(
        measures=measures,
        n_splits=len(parts),
        kept=kept.sum(axis=1),
        stability=_stability(kept),
        curve=curve,
        one_standard_error=_one_standard_error(curve),
        chosen=tables.chosen,
        test_to_train=ratio,
        baseline=baselines[0],
        all_features=baselines[1],
        confusion=_confusion(tables),
        by_group=_by_group(tables),
        agreement=agreement(tables.predicted, tables.class_scores.shape[2])
        if tables.task == "classification"
        else None,
        task=tables.task,
    )


Parts = list[tuple[int, NDArray[np.intp]]]


def _baselines(
    tables: FoldTables, parts: Parts, ratio: float, units: int
) -> tuple[Measure, Measure | None]:
    """Accuracy (R²) of the baseline without features, and of the classifier on all columns."""
    plain = np.full(tables.predicted.shape, -1 if tables.task == "classification" else np.nan)
    for repeat, rows in parts:
        plain[repeat, rows] = without_features(tables, rows).predicted
    words = {"classification": "larger class", "regression": "mean", "survival": "same risk"}
    word = words[tables.task]
    of_rule = _accuracy_of(word, tables, plain, parts, ratio, units)
    every = tables.on_all_features
    if every is None:
        return of_rule, None
    return of_rule, _accuracy_of("all features", tables, every, parts, ratio, units)


def _quality(
    tables: FoldTables, predicted: NDArray[Any], parts: Parts
) -> tuple[NDArray[np.float64], bool]:
    """Accuracy in every fold; R² or c-index, per repetition if undefined in some fold.

    The second value says whether there is one value per repetition.
    """
    of = _OF_TASK[tables.task].of

    def values(some: Parts) -> NDArray[np.float64]:
        return np.array([of(tables.truth[rows], predicted[repeat, rows]) for repeat, rows in some])

    quality = values(parts)
    if not np.isnan(quality).any():
        return quality, False
    tested = [(repeat, np.flatnonzero(row >= 0)) for repeat, row in enumerate(tables.fold)]
    return values(tested), True


def _accuracy_of(
    name: str, tables: FoldTables, predicted: NDArray[Any], parts: Parts, ratio: float, units: int
) -> Measure:
    """Accuracy, R² or c-index of some predictions."""
    of = _OF_TASK[tables.task]
    values, pooled = _quality(tables, predicted, parts)
    return _summarised(name, values, pooled, ratio, (of.lowest, of.highest), units)


def _summarised(
    name: str,
    values: NDArray[np.float64],
    pooled: bool,
    ratio: float,
    within: tuple[float, float],
    units: int | None,
    **more: Any,
) -> Measure:
    """A measure by its values, with its mean, error and interval; `more` are further fields."""
    mean = float(values.mean())
    error = float("nan") if pooled else corrected_standard_error(values, ratio)
    return Measure(
        name=name,
        values=values,
        mean=mean,
        standard_error=error,
        interval=interval_within(mean, error, values.size, *within, units=units),
        pooled=pooled,
        **more,
    )


def _test_to_train(parts: Parts, fold: NDArray[np.int64]) -> float:
    tested = float(np.mean([rows.size for _, rows in parts]))
    if (fold >= 0).all():
        return tested / (fold.shape[1] - tested)
    # If rows are in order of time, only earlier rows are trained on.
    before = [np.count_nonzero(fold[k] < fold[k, rows[0]]) for k, rows in parts]
    return tested / float(np.mean(before))


def _measure(tables: FoldTables, place: int, ratio: float, units: int, smallest: float) -> Measure:
    """The measure at index `place`, per fold, or per repetition if undefined in some fold.

    `smallest` is the share of rows of the smallest class.
    """
    assert tables.measured is not None and tables.measured_repeats is not None
    assert tables.measure_facts is not None
    lowest, highest, larger, every_class = tables.measure_facts[place].tolist()
    by_fold, by_repeat = tables.measured[:, place], tables.measured_repeats[:, place]
    pooled = bool(np.isnan(by_fold[0]).any())
    chain, plain, of_all = by_repeat if pooled else by_fold
    # The uncertainty of a measure that needs every class depends on the smallest class.
    trials = max(1, round(units * smallest)) if every_class else units
    share = (lowest, highest) == (0.0, 1.0) and larger
    return _summarised(
        tables.measures[place],
        chain,
        pooled,
        ratio,
        (lowest, highest),
        trials if share else None,
        undefined="it has no value for these predictions" if np.isnan(chain).any() else "",
        larger_is_better=bool(larger),
        baseline=_mean(plain),
        all_features=_mean(of_all),
    )


def _mean(values: NDArray[np.float64]) -> float | None:
    return None if np.isnan(values).any() else float(values.mean())


def _confusion(tables: FoldTables) -> NDArray[np.float64]:
    """Number of rows by true and predicted class, averaged over the repetitions."""
    n_classes = tables.class_scores.shape[2]
    counts = np.zeros((n_classes, n_classes), dtype=np.int64)
    if not n_classes:
        return counts.astype(np.float64)
    for fold, predicted in zip(tables.fold, tables.predicted, strict=True):
        rows = fold >= 0
        counts += confusion(tables.truth[rows], predicted[rows], n_classes)
    return counts / len(tables.fold)


def agreement(predicted: NDArray[np.int64], n_classes: int) -> Agreement | None:
    """Agreement of predictions over repetitions; None if no row has two.

    Parameters
    ----------
    predicted : (n_repeats, n_samples) int
        Class codes; −1 where a repetition does not test the row.
    n_classes : int

    Notes
    -----
    For a row with m predictions, m_c of class c: Σ_c m_c (m_c − 1) / m (m − 1), the observed
    agreement of Fleiss 1971, Psychol. Bull. 76:378. O(repeats · rows).

    Examples
    --------
    >>> agreement(np.array([[0, 1], [0, 1], [1, 1]]), 2)
    Agreement(share=0.666..., n_rows=2, n_always=1)
    """
    votes = np.stack([(predicted == code).sum(axis=0) for code in range(n_classes)])
    times = votes.sum(axis=0)
    several = times > 1
    if not several.any():
        return None
    votes, times = votes[:, several], times[several]
    alike = (votes * (votes - 1)).sum(axis=0) / (times * (times - 1))
    return Agreement(
        share=float(alike.mean()),
        n_rows=int(several.sum()),
        n_always=int((votes.max(axis=0) == times).sum()),
    )


def _by_group(tables: FoldTables) -> ByGroup | None:
    sizes, right, vote = tables.group_sizes, tables.group_right, tables.group_vote
    if sizes is None or right is None or vote is None or np.isnan(right).all():
        return None
    with np.errstate(invalid="ignore"):
        tested = ~np.isnan(right)
        times = tested.sum(axis=0)
        each = np.where(tested, right, 0.0).sum(axis=0)[times > 0] / times[times > 0]
    votes = vote[~np.isnan(vote)]
    return ByGroup(
        n_groups=int((times > 0).sum()),
        accuracies=each,
        vote=float(votes.mean()) if votes.size else float("nan"),
        n_voting=int((~np.isnan(vote)).any(axis=0).sum()),
    )


def _stability(kept: NDArray[np.bool_]) -> StabilityValue:
    if len(kept) < 2:
        return StabilityValue(value=float("nan"), undefined="there is only one fold")
    name = next(iter(default_names(stability_metrics)), "")
    if not name:
        return StabilityValue(value=float("nan"), undefined="no default metric is installed")
    stability: StabilityValue = stability_metrics[name]()(kept)
    return stability


def _curve(tables: FoldTables, parts: Parts, ratio: float) -> tuple[CurvePoint, ...]:
    place = tables.place
    if tables.sizes is None or tables.curve is None or place is None:
        return ()
    points = []
    for row, size in enumerate(tables.sizes):
        values, pooled = _quality(tables, tables.curve[row], parts)
        kept = (place >= 0) & (place < size)
        points.append(
            CurvePoint(
                size=int(size),
                accuracy=float(values.mean()),
                standard_error=float("nan") if pooled else corrected_standard_error(values, ratio),
                stability=_stability(kept).value,
            )
        )
    return tuple(points)


def _one_standard_error(curve: tuple[CurvePoint, ...]) -> int | None:
    """The smallest size within one standard error of the most accurate one (Breiman's rule)."""
    if not curve:
        return None
    accuracy, error, size = np.array([(p.accuracy, p.standard_error, p.size) for p in curve]).T
    best = one_standard_error(accuracy, np.nan_to_num(error), size)
    return None if best < 0 else curve[best].size
