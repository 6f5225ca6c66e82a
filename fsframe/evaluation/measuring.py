"""Measures of predictions, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.errors import GatheredErrors, RequestError
from fsframe.grammar import format_stages, parse_stage
from fsframe.method.classifier import SCORE_KINDS, Classifier, PredictionMeasure, Predictions
from fsframe.method.selection import Selection
from fsframe.registry import Registry
from fsframe.registry import measures as registered
from fsframe.registry.entries import MeasureEntry
from fsframe.storage.checked_tables import FoldTables, axes_over
from fsframe.table.dataset import Dataset

Floats = NDArray[np.float64]

_LEVEL = 0.95
"""Level of confidence intervals."""


def corrected_standard_error(values: Floats, test_to_train: float) -> float:
    """Standard error of the mean of resampled results: √((1/n + n₂/n₁) s²), Nadeau and Bengio.

    >>> corrected_standard_error(np.array([0.8, 0.9]), 1 / 9) > 0.05
    True
    """
    n = len(values)
    if n < 2:
        return float("nan")
    return float(np.sqrt((1.0 / n + test_to_train) * np.var(values, ddof=1)))


def interval_within(
    mean: float,
    standard_error: float,
    n: int,
    lowest: float = 0.0,
    highest: float = 1.0,
    *,
    units: int | None = None,
) -> tuple[float, float] | None:
    """A 95 % confidence interval for a measure, within its range.

    Parameters
    ----------
    mean : float
        Mean of `n` resampled results.
    standard_error : float
        As from `corrected_standard_error`; if it is NaN, there is no interval.
    n : int
    lowest, highest : float
        Range of the measure; either may be infinite.
    units : int, optional
        For shares of independent units (rows, groups), the number tested: used for Wilson's
        interval if all results are equal. Without it there is no interval in that case.

    Returns
    -------
    (low, high), or None

    Notes
    -----
    If both bounds are finite, symmetric on the logit scale of m = (mean − lowest)/(highest −
    lowest), with standard error s/(m (1 − m)), transformed back; on the logarithm of the distance
    from a single finite bound; otherwise on the scale of the mean. Student's t with n − 1 degrees
    of freedom, standard errors by the delta method. If all results are equal, s = 0 is
    uninformative, and Wilson's interval for `units` trials is used. Approximate, as the correction
    itself is.

    References
    ----------
    Wilson 1927, JASA 22:209; Brown, Cai, DasGupta 2001, Statist. Sci. 16:101 (both intervals).

    Examples
    --------
    >>> def text(interval):
    ...     return "{:.3f} {:.3f}".format(*interval)
    >>> text(interval_within(0.97, 0.03, 10, units=100))
    '0.758 0.997'
    >>> text(interval_within(1.0, 0.0, 10, units=100))
    '0.963 1.000'
    >>> text(interval_within(0.2, 0.15, 10, 0.0, float("inf")))
    '0.037 1.091'
    >>> interval_within(0.0, 0.15, 10, 0.0, float("inf")) is None  # no room for a ratio
    True
    """
    if not np.isfinite(mean) or not np.isfinite(standard_error) or n < 2:
        return None
    t = float(scipy.special.stdtrit(n - 1, 0.5 + _LEVEL / 2))
    below, above = np.isfinite(lowest), np.isfinite(highest)
    if below and above:
        width = highest - lowest
        share, error = (mean - lowest) / width, standard_error / width
        if not 0 <= share <= 1:
            # A run file from elsewhere may hold any number.
            return None
        if error > 0 and 0 < share < 1:
            middle, reach = np.log(share / (1 - share)), t * error / (share * (1 - share))
            low, high = scipy.special.expit(middle - reach), scipy.special.expit(middle + reach)
        elif units is not None:
            low, high = _wilson(share, units)
        else:
            return None
        return lowest + width * float(low), lowest + width * float(high)
    if standard_error <= 0:
        return None
    reach = t * standard_error
    if not below and not above:
        return mean - reach, mean + reach
    away = mean - lowest if below else highest - mean
    if away <= 0:
        return None
    factor = float(np.exp(reach / away))
    if below:
        return lowest + away / factor, lowest + away * factor
    return highest - away * factor, highest - away / factor


def _wilson(share: float, trials: int) -> tuple[float, float]:
    z = float(scipy.special.ndtri(0.5 + _LEVEL / 2))
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    spread = np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    half = z / (1 + z**2 / trials) * spread
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def one_standard_error(better: Floats, error: Floats, kept: Floats) -> int:
    """The candidate with the fewest features within one standard error of the best; -1 without one.

    Parameters
    ----------
    better, error, kept : (n,) float
        The measure (larger is better), its standard error, and the number of kept features.

    Notes
    -----
    Ties go to the better candidate, then to the first (Breiman, Friedman, Olshen, Stone 1984,
    §3.4.3, with the number of features as the size of a tree).

    Examples
    --------
    >>> one_standard_error(np.array([0.80, 0.82, 0.7]), np.full(3, 0.03), np.array([5.0, 10, 2]))
    0
    """
    best = int(np.nanargmax(better)) if not np.isnan(better).all() else -1
    if best < 0 or np.isnan(error[best]):
        return -1
    near = np.flatnonzero(better >= better[best] - error[best])
    return int(min(near, key=lambda place: (kept[place], -better[place], place)))


Named = tuple[tuple[str, PredictionMeasure], ...]


def with_parameters(registry: Registry, text: str) -> tuple[str, Any]:
    """The object of `registry` that a text names, with its parameters, and the canonical text.

    Raises
    ------
    RequestError, PluginError
        If there is none, or a parameter is unknown or invalid.
    """
    stage = parse_stage(text)
    return format_stages([stage]), registry[stage.name].from_texts(stage.params)


def find_measures(texts: Sequence[str]) -> Named:
    """The measures that `texts` name, such as ``auc`` or ``sensitivity:positive=ill``.

    Raises
    ------
    RequestError, PluginError
        Listing all problems.
    """
    measures: dict[str, PredictionMeasure] = {}
    errors = GatheredErrors()
    for text in texts:
        with errors:
            name, measure = with_parameters(registered, text)
            measures[name] = measure
    errors.end()
    return tuple(measures.items())


def default_measures(task: str, classes: tuple[Any, ...], scores: str) -> Named:
    """The bundled measures that are computed by default and are defined here.

    `task` and `classes` are those of the table, `scores` the kind of the classifier's scores.
    """
    plugins = {offer.plugin.name: offer.plugin for offer in registered.offers()}
    measures = []
    for entry in (e for _, p in sorted(plugins.items()) if p.source.bundled for e in p.entries):
        if isinstance(entry, MeasureEntry) and entry.default:
            measure = registered[entry.name]()
            if next(measure.refusals(task, classes, scores), None) is None:
                measures.append((entry.name, measure))
    return tuple(measures)


def least_scores(classifiers: Sequence[Classifier]) -> str:
    """The most informative kind of scores that all classifiers give, one of `SCORE_KINDS`.

    Raises
    ------
    RequestError
        If a classifier declares another kind.
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


def measure_tables(
    tables: FoldTables, classes: tuple[Any, ...], named: Named
) -> dict[str, NDArray[Any]]:
    """The tables of the named measures, in every fold and every repetition, by name.

    Notes
    -----
    Two baselines are measured too: the rule that ignores the features (the most frequent class of
    the training rows, with class shares as probabilities; over a repetition those of all rows; the
    mean of a numeric target), and the classifier on all columns, if requested. O(measures × splits)
    calls.
    """
    parts = parts_of(tables.fold)
    tested = [(r, np.flatnonzero(row >= 0)) for r, row in enumerate(tables.fold)]
    sides = _sides(tables, classes)
    measured = np.full((len(sides), len(named), len(parts)), np.nan)
    repeats = np.full((len(sides), len(named), len(tested)), np.nan)
    for side, of in enumerate(sides):
        if of is None:
            continue
        for values, rows_of in ((measured, parts), (repeats, tested)):
            for number, (repeat, rows) in enumerate(rows_of):
                predictions = of(repeat, rows)
                for place, (_, measure) in enumerate(named):
                    if predictions.scores is not None or measure.needs == "labels":
                        values[side, place, number] = measure(predictions)
    facts = [
        [m.lowest, m.highest, float(m.larger_is_better), float(m.every_class)] for _, m in named
    ]
    return {
        "measures": np.array([name for name, _ in named], dtype=str),
        "measure-facts": np.array(facts).reshape(len(named), 4),
        "measured": measured,
        "measured-repeats": repeats,
    }


Side = Callable[[int, NDArray[np.intp]], Predictions]


def _sides(tables: FoldTables, classes: tuple[Any, ...]) -> list[Side | None]:
    """Predictions of the chain and of the baselines, in the order of the table ``measured``."""
    truth, n_classes = tables.truth, tables.class_scores.shape[2]
    every = tables.on_all_features
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

    return [
        of(tables.predicted, tables.class_scores),
        lambda _, rows: without_features(tables, rows, labels),
        None if every is None else of(every, tables.all_features_scores),
    ]


def without_features(
    tables: FoldTables, rows: NDArray[np.intp], labels: tuple[Any, ...] = ()
) -> Predictions:
    """Predictions for tested rows by the rule that ignores the features.

    It predicts the most frequent class, with class shares as probabilities, or the mean, of the
    other rows; of all rows if all are tested.
    """
    truth = tables.truth
    trained = np.ones(truth.size, dtype=bool)
    trained[rows if rows.size < truth.size else []] = False
    if tables.task != "classification":
        mean = np.full(rows.size, truth[trained].mean())
        return Predictions(truth=truth[rows], predicted=mean)
    shares = np.bincount(truth[trained], minlength=tables.class_scores.shape[2]) / trained.sum()
    return Predictions(
        truth=truth[rows],
        predicted=np.full(rows.size, shares.argmax()),
        scores=np.tile(shares, (rows.size, 1)),
        classes=labels,
    )


def join_repetitions(parts: Sequence[Selection]) -> Selection:
    """One Selection with the tables of several runs of a cross-validation with different seeds.

    Parameters
    ----------
    parts : sequence of Selection
        Results for the same table, chain and protocol; their repetitions are concatenated.
    """
    if len(parts) == 1:
        return parts[0]
    joined = axes_over(FoldTables, "repeats", "splits")
    tables = {
        name: np.concatenate([part.tables[name] for part in parts], axis=joined[name])
        if name in joined
        else array
        for name, array in parts[0].tables.items()
    }
    return attrs.evolve(parts[0], tables=tables)


def group_tables(tables: FoldTables, data: Dataset) -> dict[str, NDArray[Any]]:
    """Tables of the performance per group of rows, if `data` has groups and classes."""
    if data.groups is None or tables.task != "classification":
        return {}
    names, code = np.unique(data.groups, return_inverse=True)
    sizes = np.bincount(code)
    right = np.full((len(tables.fold), names.size), np.nan)
    votes = right.copy()
    classes = tables.class_scores.shape[2]
    class_counts = np.zeros((names.size, classes), dtype=np.int64)
    np.add.at(class_counts, (code, tables.truth), 1)
    pure = (class_counts > 0).sum(axis=1) == 1
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
        votes[repeat, decided] = (ballots.argmax(axis=1) == class_counts.argmax(axis=1))[decided]
    return {"group-sizes": sizes, "group-right": right, "group-vote": votes}
