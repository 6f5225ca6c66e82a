"""The checks of measures of predictions, and of stability metrics."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import RequestError
from fsframe.method.classifier import SCORE_KINDS, PredictionMeasure, Predictions
from fsframe.method.stability_metric import StabilityMetric, StabilityValue
from fsframe.table.side_columns import LABELS
from fsframe.testing.conformance import (
    CallChecks,
    MethodChecks,
    assert_refused,
    numpy_warnings_raised,
    only_if,
    refusal_of,
)
from fsframe.testing.tables import drawing, frozen_bytes, shuffled

_N = 60


class MeasureConformance(MethodChecks, CallChecks):
    """Everything the core promises of a measure of predictions; inherit it and write `make`.

    Attributes
    ----------
    name : str, optional
        The name it is registered under.
    classes : tuple
        The classes of the predictions to measure, if it is a measure of classes: two suit most, a
        measure of one class may need its label among them.
    """

    kind = PredictionMeasure
    rtol: ClassVar[float] = 1e-9
    classes: ClassVar[tuple[Any, ...]] = ("a", "b")

    def predictions(self, noise: float = 0.8, seed: int = 1) -> Predictions:
        """Sixty predictions of the measure's task: all are right for `noise` 0, by chance for 1."""
        task = self.make().task
        draw = drawing(seed)
        if task == "classification":
            return _of_classes(self.classes, noise, draw)
        truth = 1.0 + draw.random(_N)
        # Risks are high where times are short.
        predicted = truth if task == "regression" else -truth
        if noise:
            predicted = (1 - noise) * predicted + noise * draw.permutation(predicted)
        if task == "survival":
            # A third of the times are censored, the shortest is not.
            truth = np.where((np.arange(_N) % 3 == 2) & (truth > truth.min()), -truth, truth)
        return Predictions(truth=truth, predicted=predicted)

    def _check_declared(self, measure: PredictionMeasure) -> None:
        assert measure.task in LABELS, f"task is {measure.task!r}, not one of {sorted(LABELS)}"
        assert measure.needs in SCORE_KINDS, f"needs is {measure.needs!r}, not in {SCORE_KINDS}"
        assert measure.lowest < measure.highest, (
            f"its range {measure.lowest} … {measure.highest} is empty"
        )

    def test_ordinary_predictions_have_a_value(self) -> None:
        for noise in (0.0, 0.8, 1.0):
            value = self.make()(self.predictions(noise))
            assert isinstance(value, float) and math.isfinite(value), (
                f"the value of ordinary predictions is {value}"
            )

    def test_right_predictions_are_the_best(self) -> None:
        measure = self.make()
        right = measure(self.predictions(0.0))
        for seed in range(2, 7):
            for noise in (0.8, 1.0):
                other = measure(self.predictions(noise, seed))
                gain = other - right if measure.larger_is_better else right - other
                assert gain <= self.rtol * max(1.0, abs(right)), (
                    f"larger_is_better is {measure.larger_is_better}, but predictions with errors "
                    f"have {other:.6g}, and those without {right:.6g}"
                )

    def test_the_measure_tells_predictions_apart(self) -> None:
        measure = self.make()
        values = {measure(self.predictions(noise, 2)) for noise in (0.0, 0.8, 1.0)}
        assert len(values) > 1, f"right predictions and chance have the same value, {values}"

    def test_order_of_rows_does_not_matter(self) -> None:
        given = self.predictions()
        self._equal(_rows(given, shuffled(_N, 3)), given, "with rows in another order")

    def test_copies_of_all_rows_change_nothing(self) -> None:
        given = self.predictions()
        self._equal(_rows(given, np.tile(np.arange(_N), 3)), given, "with every row three times")

    def test_equal_predictions_have_equal_values(self) -> None:
        measure, given = self.make(), self.predictions()
        first = measure(given)
        measure(self.predictions(1.0, 4))
        assert measure(given) == first, "the value changes from call to call"

    def test_names_of_classes_do_not_matter(self) -> None:
        only_if(self.make().task == "classification", "it is not a measure of classes")
        parameters = {str(value) for value in self.make().values().values()}
        only_if(not parameters & {*map(str, self.classes)}, "a parameter names a class")
        given = self.predictions()
        named = attrs.evolve(given, classes=tuple(f"class {c}" for c in range(given.n_classes)))
        self._equal(named, given, "with other names of the classes")

    def test_inputs_are_not_modified(self) -> None:
        given = self.predictions()
        arrays = (given.truth, given.predicted, given.scores)
        before = frozen_bytes(*arrays)
        self.make()(given)
        assert frozen_bytes(*arrays) == before, "it changes the predictions that it measures"

    def test_rows_of_one_class_and_single_rows_are_handled(self) -> None:
        measure, given = self.make(), self.predictions()
        few = [np.arange(1)]
        if measure.task == "classification":
            few.append(np.flatnonzero(given.truth == given.truth[0]))
        for rows in few:
            with numpy_warnings_raised():
                value = measure(_rows(given, rows))
            assert not math.isinf(value) or math.inf in (measure.highest, -measure.lowest), (
                f"the value of {rows.size} rows is {value}; say NaN if it is not defined"
            )

    def test_other_labels_are_refused_before_work(self) -> None:
        measure = self.make()
        for task in sorted(set(LABELS) - {measure.task}):
            classes = self.classes if task == "classification" else ()
            assert list(measure.refusals(task, classes, "probabilities")), (
                f"it is for {measure.task}, and {task} is not refused"
            )
        classes = self.classes if measure.task == "classification" else ()
        problems = list(measure.refusals(measure.task, classes, "probabilities"))
        assert not problems, f"its own task is refused: {'; '.join(problems)}"

    def test_it_reads_no_more_than_it_says_it_needs(self) -> None:
        measure, given = self.make(), self.predictions()
        only_if(measure.task == "classification", "predictions of numbers have no scores")
        only_if(measure.needs != "probabilities", "it needs all that a classifier can give")
        assert given.scores is not None
        # Scores in the same order, which are not probabilities.
        scores = 10.0 * given.scores - 3.0 if measure.needs == "scores" else None
        less = attrs.evolve(given, scores=scores)
        self._equal(less, given, f"although needs={measure.needs!r} is declared, with less")

    def _use(self) -> None:
        self.make()(self.predictions())

    def _equal(self, predictions: Predictions, expected: Predictions, what: str) -> None:
        measure = self.make()
        a, b = measure(predictions), measure(expected)
        both_nan = math.isnan(a) and math.isnan(b)
        assert both_nan or abs(a - b) <= self.rtol * max(1.0, abs(b)), (
            f"{what} the value is {a:.9g}, not {b:.9g}"
        )


def _of_classes(classes: tuple[Any, ...], noise: float, draw: np.random.Generator) -> Predictions:
    """Predictions of the class with the largest of `scores`, which are probabilities."""
    many = len(classes)
    truth = np.arange(_N) % many
    scores = (1 - noise) * np.eye(many)[truth] + noise * draw.dirichlet(np.ones(many), _N)
    # No probability is 0, the logarithm of which is infinite.
    scores = 0.002 / many + 0.998 * scores
    return Predictions(truth=truth, predicted=scores.argmax(axis=1), scores=scores, classes=classes)


def _rows(given: Predictions, rows: NDArray[np.intp]) -> Predictions:
    """Some rows of predictions, in the order given."""
    scores = None if given.scores is None else given.scores[rows]
    return attrs.evolve(
        given, truth=given.truth[rows], predicted=given.predicted[rows], scores=scores
    )


class StabilityMetricConformance(MethodChecks):
    """Everything the core promises of a stability metric; inherit it and write `make`.

    Attributes
    ----------
    name : str, optional
        The name it is registered under.
    """

    kind = StabilityMetric
    rtol: ClassVar[float] = 1e-9

    def runs(self) -> NDArray[Any]:
        """Six runs that agree in part: sets of three of nine features, or scores without ties."""
        scores = drawing(1).random((6, 9))
        scores[:, :2] += 0.6
        if self.make().input == "ranks":
            return scores
        return np.argsort(np.argsort(-scores, axis=1), axis=1) < 3

    def _measure(self, matrix: Any, alike: NDArray[np.float64] | None = None) -> StabilityValue:
        """The value of the metric, with similarities of the features if it needs them."""
        metric = self.make()
        if not metric.needs_similarity:
            return metric(matrix)
        n_features = np.atleast_2d(matrix).shape[1]
        return metric(matrix, _similarity(n_features) if alike is None else alike)

    def _check_declared(self, metric: StabilityMetric) -> None:
        assert metric.input in ("sets", "ranks"), f"input is {metric.input!r}"

    def test_the_value_is_finite_and_inside_its_interval(self) -> None:
        stability = self._measure(self.runs())
        assert math.isfinite(stability.value) and not stability.undefined
        if self.make().larger_is_stabler:
            assert stability.value <= 1 + 1e-9, f"{stability.value} is above one"
        else:
            assert stability.value >= -1e-9, f"the distance {stability.value} is below zero"
        if stability.interval is not None:
            assert stability.interval[0] <= stability.value <= stability.interval[1]
            assert stability.level is not None and 0 < stability.level < 1

    def test_identical_runs_are_perfectly_stable(self) -> None:
        matrix = np.repeat(self.runs()[:1], 5, axis=0)
        best = 1.0 if self.make().larger_is_stabler else 0.0
        stability = self._measure(matrix)
        assert abs(stability.value - best) < 1e-9, (
            f"identical runs give {stability.value}, not {best}"
        )

    def test_more_similar_runs_are_more_stable(self) -> None:
        base, alike = self.runs(), self.runs()
        alike[1:4] = alike[0]
        less, more = self._measure(base).value, self._measure(alike).value
        sign = 1 if self.make().larger_is_stabler else -1
        assert sign * more > sign * less, f"{less} became {more} when four of six runs agreed"

    def test_order_of_runs_does_not_matter(self) -> None:
        matrix = self.runs()
        expected = self._measure(matrix).value
        # Reversing the runs alone would not reveal a metric of adjacent runs.
        for order in ([5, 4, 3, 2, 1, 0], [2, 0, 4, 1, 5, 3]):
            value = self._measure(matrix[order]).value
            assert math.isclose(value, expected, rel_tol=self.rtol, abs_tol=1e-12), (
                f"{expected} became {value} with the runs in another order"
            )

    def test_order_of_features_does_not_matter(self) -> None:
        matrix = self.runs()
        order = shuffled(matrix.shape[1], 1)
        alike = _similarity(matrix.shape[1])
        stability = self._measure(matrix[:, order], alike[np.ix_(order, order)])
        expected = self._measure(matrix, alike)
        assert math.isclose(stability.value, expected.value, rel_tol=self.rtol, abs_tol=1e-12)

    def test_equal_input_gives_equal_bits(self) -> None:
        matrix = self.runs()
        assert self._measure(matrix) == self._measure(matrix)

    def test_booleans_and_ones_are_equivalent(self) -> None:
        only_if(self.make().input == "sets", "it compares rankings")
        matrix = self.runs()
        assert self._measure(matrix.astype(float)).value == self._measure(matrix).value
        assert self._measure(matrix.tolist()).value == self._measure(matrix).value

    def test_inputs_are_not_modified(self) -> None:
        matrix = self.runs()
        alike = _similarity(matrix.shape[1])
        before = frozen_bytes(matrix, alike)
        self._measure(matrix, alike)
        assert frozen_bytes(matrix, alike) == before

    def test_invalid_matrices_are_refused(self) -> None:
        matrix = self.runs()
        hole = matrix.astype(float)
        hole[0, 0] = np.nan
        for wrong in (matrix[:1], matrix[0], np.empty((3, 0)), hole):
            assert_refused(partial(self._measure, wrong), "an invalid matrix")

    def test_similarity_is_required_as_declared(self) -> None:
        matrix = self.runs()
        alike = None if self.make().needs_similarity else _similarity(matrix.shape[1])
        otherwise = "a similarity is missing or unusable, and no error was raised"
        refusal_of(lambda: self.make()(matrix, alike), otherwise, RequestError)

    def test_unequal_sizes_are_accepted_or_refused_as_declared(self) -> None:
        only_if(self.make().input == "sets", "it compares rankings")
        matrix = self.runs()
        matrix[0] = np.arange(matrix.shape[1]) < 5
        if self.make().unequal_sizes:
            assert math.isfinite(self._measure(matrix).value)
            return
        assert_refused(lambda: self._measure(matrix), "sets of different sizes")

    def test_extreme_matrices_give_a_value_or_a_reason(self) -> None:
        if self.make().input == "sets":
            cases = [np.zeros((3, 5)), np.ones((3, 5)), np.eye(3, 5), np.ones((2, 1))]
        else:
            cases = [np.zeros((3, 5)), np.ones((2, 1)), np.arange(6.0).reshape(2, 3)]
        for matrix in cases:
            with numpy_warnings_raised():
                stability = self._measure(matrix)
            assert math.isnan(stability.value) == bool(stability.undefined), (
                f"value {stability.value} with the reason {stability.undefined!r}"
            )
            assert not math.isinf(stability.value)
            if stability.undefined:
                assert self.make().undefined_when, "undefined_when does not say that this happens"

    def test_chance_gives_zero_as_declared(self) -> None:
        metric = self.make()
        only_if(metric.chance_corrected, "it is not corrected for chance")
        draw, values = drawing(3), []
        for _ in range(100):
            scores = draw.random((8, 12))
            sets = np.argsort(np.argsort(scores, axis=1), axis=1) < 4
            values.append(self._measure(scores if metric.input == "ranks" else sets).value)
        error = np.std(values) / 10
        assert abs(np.mean(values)) < 5 * error, f"{np.mean(values):.3f} ± {error:.3f} by chance"


def _similarity(n_features: int) -> NDArray[np.float64]:
    """Similarities: 0.95 within pairs (0, 1), (2, 3), …; 0.6 of other neighbours; else 0.1."""
    place = np.arange(n_features)
    distance = np.abs(np.subtract.outer(place, place))
    pair = np.equal.outer(place // 2, place // 2)
    return np.select([distance == 0, pair, distance == 1], [1.0, 0.95, 0.6], 0.1)
