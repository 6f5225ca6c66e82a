"""Measures of predictions with intervals, and tests of chains on identical folds: on one table and
over several, frequentist and Bayesian.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.errors import DataError, GatheredErrors, RequestError
from fsframe.grammar import format_stages, parse_stage
from fsframe.method.classifier import SCORE_KINDS, Classifier, PredictionMeasure, Predictions
from fsframe.method.selection import Selection
from fsframe.registry import Registry
from fsframe.registry import measures as registered
from fsframe.registry.entries import MeasureEntry
from fsframe.storage.checked_tables import FoldTables
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


# Monte Carlo samples of the Bayesian signed-rank test.
_SAMPLES = 50_000


@attrs.frozen(kw_only=True)
class PairedTest:
    """A test of equal means over paired results.

    Parameters
    ----------
    difference : float
        Mean of a − b.
    statistic, p_value : float
        Two-sided; NaN and 1 if all differences are zero.
    """

    difference: float
    statistic: float
    p_value: float


def paired_t_test(a: Floats, b: Floats) -> PairedTest:
    """Student's paired t-test of equal means, as the papers use it on the folds of 10 × 10.

    Parameters
    ----------
    a, b : (n,) float
        Results on the same folds.

    Notes
    -----
    The folds of repeated cross-validation share training rows, so their differences are not
    independent and the test exceeds its level; `corrected_resampled_test` corrects for this.

    Raises
    ------
    DataError
        If lengths differ or there are fewer than two results.
    """
    return corrected_resampled_test(a, b, 0.0)


def corrected_resampled_test(a: Floats, b: Floats, test_to_train: float) -> PairedTest:
    """The corrected resampled t-test of equal means.

    Parameters
    ----------
    a, b : (n,) float
        Results on the same folds.
    test_to_train : float ≥ 0
        Number of test rows divided by number of training rows, such as 1/9 for ten folds; 0 makes
        it Student's paired t-test.

    Raises
    ------
    DataError
        If lengths differ or there are fewer than two results.

    Notes
    -----
    t = d̄ / √((1/n + n₂/n₁) s²) with n − 1 degrees of freedom.

    References
    ----------
    Nadeau, Bengio 2003, Inference for the generalization error, Machine Learning 52, §3.5.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1 or first.size < 2:
        raise DataError(
            "a paired test needs two vectors of equal length with at least two results, not "
            f"{first.shape} and {second.shape}"
        )
    difference = first - second
    n = difference.size
    mean, variance = float(difference.mean()), float(np.var(difference, ddof=1))
    # Equal folds cancel exactly; any other difference is far above this.
    if variance > 1e-30:
        statistic = mean / corrected_standard_error(difference, test_to_train)
    else:
        statistic = float(np.copysign(np.inf, mean)) if abs(mean) > 1e-15 else float("nan")
    p_value = 2.0 * float(scipy.stats.t.sf(abs(statistic), n - 1))
    return PairedTest(
        difference=mean,
        statistic=statistic,
        p_value=1.0 if np.isnan(statistic) else p_value,
    )


def win_tie_loss(test: PairedTest, rule: str = "two-step") -> str:
    """``"win"``, ``"tie"`` or ``"loss"`` of a against b, by one of the papers' rules.

    Parameters
    ----------
    test : PairedTest
    rule : {"two-step", "strict"}
        ``"two-step"`` (IMMIGRATE, §4.2): a tie unless the two-sided p is below 0.05; then the
        one-sided p of the better direction must be below 0.05 too. ``"strict"`` (IM4E): p < 0.01
        and means that differ by at least 0.5 %.

    Notes
    -----
    In the two-step rule the second step never changes the outcome of the first: a two-sided p below
    0.05 has a one-sided p below 0.025. It is computed as published nevertheless.
    """
    if rule == "strict":
        # 1e-12, so that a difference of exactly 0.005 does not fail because of rounding.
        decided = test.p_value < 0.01 and abs(test.difference) >= 0.005 - 1e-12
    else:
        decided = test.p_value < 0.05 and test.p_value / 2.0 < 0.05
    if not decided:
        return "tie"
    return "win" if test.difference > 0 else "loss"


def holm(p_values: Sequence[float]) -> Floats:
    """Holm's step-down adjusted p-values, in the given order.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((p.size - np.arange(p.size)) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def wilcoxon_holm(results: Floats) -> Floats:
    """Adjusted p-values of every pair of methods over several data sets.

    Parameters
    ----------
    results : (n_sets, n_methods) float
        Mean result of each method on each data set.

    Returns
    -------
    (n_methods, n_methods) float
        Wilcoxon's signed-rank test for each pair (Pratt's zeros), adjusted by Holm over all pairs;
        ones on the diagonal.

    References
    ----------
    Demšar 2006, Statistical comparisons of classifiers over multiple data sets, JMLR 7; Benavoli,
    Corani, Mangili 2016, Should we really use post-hoc tests based on mean-ranks? JMLR 17.
    """
    n_methods = results.shape[1]
    pairs = list(combinations(range(n_methods), 2))
    raw = []
    for i, j in pairs:
        # Rounded, so that differences that are equal up to the last bits share a rank.
        difference = np.round(results[:, i] - results[:, j], 12)
        # scipy refuses a test in which all differences are zero; there is no evidence then.
        same = not np.any(difference)
        raw.append(
            1.0 if same else float(scipy.stats.wilcoxon(difference, zero_method="pratt").pvalue)
        )
    matrix = np.ones((n_methods, n_methods))
    for (i, j), p in zip(pairs, holm(raw), strict=True):
        matrix[i, j] = matrix[j, i] = p
    return matrix


@attrs.frozen(kw_only=True, eq=False)
class CriticalDifference:
    """Mean ranks of methods over data sets, and the difference that is significant.

    Parameters
    ----------
    mean_ranks : (n_methods,) float
        1 is best; ties share ranks.
    friedman_p : float
        p-value of the hypothesis that all methods are equal.
    difference : float
        Nemenyi's critical difference at `level`.
    level : float
    groups : tuple of tuple of int
        Maximal sets of methods, best first, without a significant difference by Wilcoxon–Holm at
        `level`.
    """

    mean_ranks: Floats
    friedman_p: float
    difference: float
    level: float
    groups: tuple[tuple[int, ...], ...]


def mean_ranks(results: Floats) -> Floats:
    """Mean ranks of methods over data sets; 1 is best, ties share ranks.

    >>> mean_ranks(np.array([[0.9, 0.8, 0.8], [0.7, 0.9, 0.5]])).tolist()
    [1.5, 1.75, 2.75]
    """
    ranks = np.vstack([scipy.stats.rankdata(-np.round(row, 12)) for row in results])
    return np.asarray(ranks.mean(axis=0))


def critical_difference(results: Floats, level: float = 0.05) -> CriticalDifference:
    """The summary behind a critical-difference diagram.

    Parameters
    ----------
    results : (n_sets, n_methods) float
        Larger is better.
    level : float

    Notes
    -----
    CD = q_α √(k(k+1)/(6N)), q_α from the studentised range over √2. The groups use Wilcoxon's test
    with Holm's adjustment, since Nemenyi's verdict on two methods depends on the others.
    """
    n_sets, n_methods = results.shape
    ranks = mean_ranks(results)
    if n_methods > 2:
        same = np.all(np.ptp(results, axis=1) < 1e-12)
        friedman_p = 1.0 if same else float(scipy.stats.friedmanchisquare(*results.T).pvalue)
    else:
        friedman_p = float(wilcoxon_holm(results)[0, 1])
    q = float(scipy.stats.studentized_range.ppf(1.0 - level, n_methods, np.inf)) / np.sqrt(2.0)
    return CriticalDifference(
        mean_ranks=ranks,
        friedman_p=friedman_p,
        difference=q * float(np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets))),
        level=level,
        groups=_groups_without_difference(ranks, wilcoxon_holm(results), level),
    )


def _groups_without_difference(
    mean_ranks: Floats, p: Floats, level: float
) -> tuple[tuple[int, ...], ...]:
    """Maximal runs of methods in order of rank, no two of which differ significantly."""
    order = np.argsort(mean_ranks, kind="stable")
    groups: list[tuple[int, ...]] = []
    reach = -1
    for start in range(len(order)):
        stop = start
        while stop + 1 < len(order) and all(
            p[order[i], order[stop + 1]] >= level for i in range(start, stop + 1)
        ):
            stop += 1
        if stop > start and stop > reach:
            groups.append(tuple(int(m) for m in order[start : stop + 1]))
            reach = stop
    return tuple(groups)


def correlated_posterior(
    a: Floats, b: Floats, test_to_train: float, rope: float
) -> tuple[float, float, float]:
    """Posterior probabilities of "a worse", "practically equal", "a better" on one table.

    Parameters
    ----------
    a, b : (n,) float
        Results on the same folds; larger is better.
    test_to_train : float > 0
        Number of test rows divided by number of training rows.
    rope : float ≥ 0
        Half width of the region of practical equivalence.

    Notes
    -----
    The Bayesian correlated t-test: the mean difference has Student's t distribution with n − 1
    degrees of freedom about d̄ with scale √((1/n + n₂/n₁) s²), under the matching prior; its tails
    at ρ = 0 are the p-values of the corrected resampled t-test.

    References
    ----------
    Corani, Benavoli 2015, A Bayesian approach for comparing cross-validated algorithms on multiple
    data sets, Machine Learning 100; Benavoli, Corani, Demšar, Zaffalon 2017, JMLR 18(77), §4.

    Examples
    --------
    >>> a = np.array([0.9, 0.8, 0.7, 0.6])
    >>> [round(p, 3) for p in correlated_posterior(a, a - [0.1, 0.3, 0.2, 0.0], 1 / 9, 0.01)]
    [0.066, 0.019, 0.916]
    """
    _check_rope(rope)
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    n, mean = difference.size, float(difference.mean())
    scale = corrected_standard_error(difference, test_to_train)
    if scale <= 1e-15:
        return float(mean < -rope), float(abs(mean) <= rope), float(mean > rope)
    worse = float(scipy.stats.t.cdf((-rope - mean) / scale, n - 1))
    better = float(scipy.stats.t.sf((rope - mean) / scale, n - 1))
    return worse, max(0.0, 1.0 - worse - better), better


def signed_rank_posterior(
    difference: Floats, rope: float, seed: int = 0
) -> tuple[float, float, float]:
    """Posterior probabilities of "worse", "practically equal", "better" over several tables.

    Parameters
    ----------
    difference : (n,) float
        Mean difference of two methods on each table, positive if the first is better.
    rope : float ≥ 0
        Half width of the region of practical equivalence.
    seed : int
        Seed of the 50,000 Monte Carlo samples; the standard error is at most 0.002.

    Notes
    -----
    The Bayesian signed-rank test: a Dirichlet process with strength s = ½ and a pseudo-observation
    z₀ = 0. With w ~ Dirichlet(½, 1, …, 1) the three shares are θ = Σ_ij w_i w_j over the pairs
    whose mean (z_i + z_j)/2 lies left of, in, or right of [−rope, rope]; the result is how often
    each share is the largest. O(samples · n²). Neither the order of the tables nor that of the two
    methods changes a bit, since the differences are sorted, with one of the two signs, before the
    weights are drawn.

    References
    ----------
    Benavoli, Corani, Demšar, Zaffalon 2017, Time for a change: a tutorial for comparing multiple
    classifiers through Bayesian analysis, JMLR 18(77), §5; Benavoli et al. 2014, ICML.

    Examples
    --------
    >>> worse, same, better = signed_rank_posterior(np.array([0.05, 0.04, 0.06, 0.02, 0.03]), 0.01)
    >>> better > 0.95, worse < 0.01
    (True, True)
    """
    _check_rope(rope)
    # Rounded, so that a difference on the border of the region does not depend on its last bits.
    given = np.sort(np.round(np.asarray(difference, dtype=np.float64), 12))
    forward, turned = given.tolist(), (-given[::-1]).tolist()
    z = np.array([0.0, *max(forward, turned)])
    total = z[:, None] + z[None, :]
    left = (total < -2 * rope - 1e-12).astype(np.float64)
    right = (total > 2 * rope + 1e-12).astype(np.float64)
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, z.size])))
    strength = np.ones(z.size)
    strength[0] = 0.5
    counts = np.zeros(3)
    step = max(1, (1 << 22) // z.size)
    # One thread: the bits of a product depend on how its sums are divided.
    with threadpool_limits(1):
        for start in range(0, _SAMPLES, step):
            w = generator.dirichlet(strength, min(step, _SAMPLES - start))
            lost, won = ((w @ left) * w).sum(axis=1), ((w @ right) * w).sum(axis=1)
            shares = np.column_stack([lost, 1.0 - lost - won, won])
            best = shares >= shares.max(axis=1, keepdims=True) - 1e-12
            counts += (best / best.sum(axis=1, keepdims=True)).sum(axis=0)
    if forward == turned:
        counts[[0, 2]] = counts[[0, 2]].mean()
    elif forward < turned:
        counts = counts[::-1]
    worse, same, better = (counts / _SAMPLES).tolist()
    return worse, same, better


def _check_rope(rope: float) -> None:
    if not (np.isfinite(rope) and rope >= 0):
        raise RequestError(f"the region of practical equivalence must be ≥ 0, not {rope}")


def pareto_front(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask (n,) of the candidates that are not dominated in the two values.

    Parameters
    ----------
    first, second : (n,) float
        Larger is better; NaN is worse than everything.

    Examples
    --------
    >>> pareto_front(np.array([0.9, 0.8, 0.8]), np.array([0.5, 0.7, 0.6])).tolist()
    [True, True, False]
    """
    a = np.where(np.isnan(first), -np.inf, np.round(first, 12))
    b = np.where(np.isnan(second), -np.inf, np.round(second, 12))
    at_least = (a[None, :] >= a[:, None]) & (b[None, :] >= b[:, None])
    above = (a[None, :] > a[:, None]) | (b[None, :] > b[:, None])
    return np.asarray(~(at_least & above).any(axis=1))
