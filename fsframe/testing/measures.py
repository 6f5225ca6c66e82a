"""The checks of measures of predictions."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.classifier import SCORE_KINDS, PredictionMeasure, Predictions
from fsframe.table.side_columns import LABELS
from fsframe.testing.conformance import Conformance, check, check_declarations, not_applicable
from fsframe.testing.side_effects import changed_globals, written_files
from fsframe.testing.tables import frozen_bytes

_N = 60


class MeasureConformance(Conformance):
    """Everything the core promises of a measure of predictions; inherit it and write `make`.

    Attributes
    ----------
    name : str, optional
        The name it is registered under.
    classes : tuple
        The classes of the predictions to measure, if it is a measure of classes: two suit most, a
        measure of one class may need its label among them.
    """

    rtol: ClassVar[float] = 1e-9
    classes: ClassVar[tuple[Any, ...]] = ("a", "b")

    @staticmethod
    def make() -> PredictionMeasure:
        raise NotImplementedError("write make() so that it returns the measure to test")

    def predictions(self, noise: float = 0.8, seed: int = 1) -> Predictions:
        """Sixty predictions of the measure's task: `noise` 0 is all right, 1 is chance alone."""
        task = self.make().task
        draw = np.random.Generator(np.random.PCG64(seed))
        if task == "classification":
            return _of_classes(self.classes, noise, draw)
        truth = 1.0 + draw.random(_N)
        # Risks are high where times are short.
        told = truth if task == "regression" else -truth
        if noise:
            told = (1 - noise) * told + noise * draw.permutation(told)
        if task == "survival":
            # A third of the times are censored, the shortest is not.
            truth = np.where((np.arange(_N) % 3 == 2) & (truth > truth.min()), -truth, truth)
        return Predictions(truth=truth, predicted=told)

    @check
    def test_declarations_are_complete(self) -> None:
        measure = self.make()
        assert isinstance(measure, PredictionMeasure), f"make() returned {type(measure).__name__}"
        check_declarations(measure, self.name)
        assert measure.task in LABELS, f"task is {measure.task!r}, not one of {sorted(LABELS)}"
        assert measure.needs in SCORE_KINDS, f"needs is {measure.needs!r}, not in {SCORE_KINDS}"
        assert measure.lowest < measure.highest, (
            f"its range {measure.lowest} … {measure.highest} is empty"
        )

    @check
    def test_pickles(self) -> None:
        measure = self.make()
        assert pickle.loads(pickle.dumps(measure)) == measure

    @check
    def test_ordinary_predictions_have_a_value(self) -> None:
        for noise in (0.0, 0.8, 1.0):
            value = self.make()(self.predictions(noise))
            assert isinstance(value, float) and math.isfinite(value), (
                f"the value of ordinary predictions is {value}"
            )

    @check
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

    @check
    def test_the_measure_tells_predictions_apart(self) -> None:
        measure = self.make()
        found = {measure(self.predictions(noise, 2)) for noise in (0.0, 0.8, 1.0)}
        assert len(found) > 1, f"right predictions and chance have the same value, {found}"

    @check
    def test_order_of_rows_does_not_matter(self) -> None:
        given = self.predictions()
        order = np.random.Generator(np.random.PCG64(3)).permutation(_N)
        self._equal(_rows(given, order), given, "with rows in another order")

    @check
    def test_copies_of_all_rows_change_nothing(self) -> None:
        given = self.predictions()
        self._equal(_rows(given, np.tile(np.arange(_N), 3)), given, "with every row three times")

    @check
    def test_equal_predictions_have_equal_values(self) -> None:
        measure, given = self.make(), self.predictions()
        first = measure(given)
        measure(self.predictions(1.0, 4))
        assert measure(given) == first, "the value changes from call to call"

    @check
    def test_names_of_classes_do_not_matter(self) -> None:
        if self.make().task != "classification":
            raise not_applicable("it is not a measure of classes")
        if set(map(str, self.classes)) & {str(value) for value in self.make().values().values()}:
            raise not_applicable("a parameter names a class")
        given = self.predictions()
        named = attrs.evolve(given, classes=tuple(f"class {c}" for c in range(given.n_classes)))
        self._equal(named, given, "with other names of the classes")

    @check
    def test_inputs_are_not_modified(self) -> None:
        given = self.predictions()
        arrays = (given.truth, given.predicted, *([] if given.scores is None else [given.scores]))
        before = frozen_bytes(*arrays)
        self.make()(given)
        assert frozen_bytes(*arrays) == before, "it changes the predictions that it measures"

    @check
    def test_rows_of_one_class_and_single_rows_are_handled(self) -> None:
        measure, given = self.make(), self.predictions()
        few = [np.arange(1)]
        if measure.task == "classification":
            few.append(np.flatnonzero(given.truth == given.truth[0]))
        for rows in few:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                value = measure(_rows(given, rows))
            assert not math.isinf(value) or math.inf in (measure.highest, -measure.lowest), (
                f"the value of {rows.size} rows is {value}; say NaN if it is not defined"
            )

    @check
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

    @check
    def test_it_reads_no_more_than_it_says_it_needs(self) -> None:
        measure, given = self.make(), self.predictions()
        if measure.task != "classification":
            raise not_applicable("predictions of numbers have no scores")
        scores = given.scores
        assert scores is not None
        if measure.needs == "labels":
            less = attrs.evolve(given, scores=None)
        elif measure.needs == "scores":
            # In the same order, and no probabilities.
            less = attrs.evolve(given, scores=10.0 * scores - 3.0)
        else:
            raise not_applicable("it needs all that a classifier can give")
        self._equal(less, given, f"although needs={measure.needs!r} is declared, with less")

    @check
    def test_nothing_global_is_changed(self) -> None:
        changed = changed_globals(lambda: self.make()(self.predictions()))
        assert not changed, f"changed for the whole process: {'; '.join(changed)}"

    @check
    def test_no_file_is_written(self) -> None:
        found = written_files(lambda: self.make()(self.predictions()))
        assert not found, f"a measure writes no files: {', '.join(found[:3])}"

    def _equal(self, found: Predictions, expected: Predictions, what: str) -> None:
        measure = self.make()
        a, b = measure(found), measure(expected)
        both_nan = math.isnan(a) and math.isnan(b)
        assert both_nan or abs(a - b) <= self.rtol * max(1.0, abs(b)), (
            f"{what} the value is {a:.9g}, not {b:.9g}"
        )


def _of_classes(classes: tuple[Any, ...], noise: float, draw: np.random.Generator) -> Predictions:
    """Predictions whose classes have the largest of `scores`, which are probabilities."""
    many = len(classes)
    truth = np.arange(_N) % many
    scores = (1 - noise) * np.eye(many)[truth] + noise * draw.dirichlet(np.ones(many), _N)
    # Certain, and not certain beyond what logarithms bear.
    scores = 0.002 / many + 0.998 * scores
    return Predictions(truth=truth, predicted=scores.argmax(axis=1), scores=scores, classes=classes)


def _rows(given: Predictions, rows: NDArray[np.intp]) -> Predictions:
    """Some rows of predictions, in the order given."""

    def parts() -> Iterator[tuple[str, Any]]:
        for name in ("truth", "predicted", "scores"):
            array = getattr(given, name)
            yield name, None if array is None else array[rows]

    return attrs.evolve(given, **dict(parts()))
