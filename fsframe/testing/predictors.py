"""The checks of classifiers and regressors."""

from __future__ import annotations

import contextlib
import pickle
from typing import Any, ClassVar

import numpy as np

from fsframe.errors import DataError, FsframeError, one_line
from fsframe.grammar import parse_stages
from fsframe.method.classifier import SCORE_KINDS, Classifier
from fsframe.method.selection import Selection
from fsframe.registry import selectors
from fsframe.table.dataset import Dataset
from fsframe.testing import tables
from fsframe.testing.conformance import assert_refused, only_if, unless_refused
from fsframe.testing.results import FitChecks, some_upstream
from fsframe.testing.tables import frozen_bytes, shuffled


class PredictorConformance(FitChecks):
    """Everything the core promises of classifiers and regressors alike.

    Attributes
    ----------
    name : str, optional
        The name it is registered under.
    after : str, optional
        The stage that the method needs on its left, such as ``"immigrate"``: every check then runs
        after it, and without it the method must raise an error.
    """

    kind = Classifier
    after: ClassVar[str] = ""

    def _tasks(self) -> frozenset[str]:
        return frozenset(self.make().predicts())

    def answer(self, fitted: Any, X: Any) -> np.ndarray:
        """The predictions of `fitted` for the rows of `X`."""
        raise NotImplementedError

    def _fit(self, data: Dataset, upstream: Selection | None = None, **options: Any) -> Any:
        """The method fitted on `data`, after the stage that it needs."""
        if self.after and upstream is None:
            upstream = self._stage_before(data)
        return self.make().fit(data, upstream, **options)

    def _stage_before(self, data: Dataset) -> Selection:
        (text,) = parse_stages(self.after)
        stage: Selection = selectors[text.name].from_texts(text.params).select(data)
        return stage

    def _result(self, data: Dataset, X: object = None, **options: Any) -> np.ndarray:
        return self.answer(self._fit(data, **options), data.X if X is None else X)

    def _assert_same_bits(self, result: np.ndarray, expected: np.ndarray, what: str) -> None:
        assert result.tobytes() == expected.tobytes(), f"{what} it predicts something else"

    def _assert_close(self, answers: np.ndarray, expected: np.ndarray, otherwise: str) -> None:
        assert np.allclose(answers, expected, rtol=self.rtol, atol=1e-12), otherwise

    def _check_pickled(self) -> None:
        data = self.table()
        fitted = self._fit(data)
        again = pickle.loads(pickle.dumps(fitted))
        same = self.answer(again, data.X).tobytes() == self.answer(fitted, data.X).tobytes()
        assert same, "pickled and loaded it predicts something else"

    def test_a_required_stage_is_declared(self) -> None:
        try:
            self.make().fit(self.table())
        except FsframeError as error:
            stated = error.exit_code == 2 and str(error).strip()
            assert stated, f"without a stage on its left: {one_line(error)}"
            assert self.after, (
                f"it needs a stage on its left ({error}): name one, TRIED_AFTER in conformance.py"
            )
            return
        assert not self.after, f"after={self.after} is declared, but it fits without it"

    def test_each_row_is_predicted_by_itself(self) -> None:
        data = self.table()
        fitted = self._fit(data)
        together = self.answer(fitted, data.X[:5])
        alone = np.concatenate([self.answer(fitted, data.X[i : i + 1]) for i in range(5)])
        same = np.allclose(together, alone, rtol=1e-9, atol=1e-12)
        assert same, "a row alone has another prediction than among others"

    def test_order_of_training_rows_does_not_matter(self) -> None:
        data = self.table()
        answers = self._result(data.take_rows(shuffled(data.n_samples, 2)), data.X)
        said = "training rows in another order give other predictions"
        self._assert_close(answers, self._result(data), said)

    def test_order_of_columns_does_not_matter(self) -> None:
        data = self.table()
        answers = self._result(data.take_columns(shuffled(data.n_features, 1)))
        said = "columns in another order give other predictions"
        self._assert_close(answers, self._result(data), said)

    def test_inputs_are_not_modified(self) -> None:
        data = self.table()
        X, y = data.X.copy(), data.y.copy()
        given = Dataset.from_arrays(X, y, task=data.task)
        upstream = self._stage_before(data) if self.after else some_upstream(data)
        before = frozen_bytes(X, y, upstream)
        self.answer(self._fit(given, upstream), X)
        assert frozen_bytes(X, y, upstream) == before, "it changes its table or what is upstream"

    def test_only_columns_kept_upstream_are_used(self) -> None:
        data = self.table()
        upstream = Selection(selected=[3, 1], scores=np.ones(data.n_features))
        if self.after:
            upstream = self._stage_before(data)
        fitted = self._fit(data, upstream)
        other = data.X.copy()
        other[:, np.setdiff1d(np.arange(data.n_features), upstream.selected)] = 1e6
        answers = self.answer(fitted, other)
        same = answers.tobytes() == self.answer(fitted, data.X).tobytes()
        assert same, "a column that was not kept changes predictions"

    def test_missing_values_are_accepted_or_refused_as_declared(self) -> None:
        data = self.table()
        X = data.X.copy()
        X[3, 1] = np.nan
        table = tables.with_columns(data, X)
        if self.make().takes_missing:
            # The method that it wraps may still refuse them.
            with contextlib.suppress(DataError):
                assert not np.isnan(self._result(table)).any(), "a missing value makes some NaN"
            return
        assert_refused(lambda: self._result(table), "missing values")
        assert_refused(lambda: self._result(data, X), "missing values in new rows")

    def test_names_of_levels_do_not_matter(self) -> None:
        data = self._with_levels()
        if list(self.make().role_problems(data)):
            assert_refused(lambda: self.make().fit(data), "nominal columns")
            return
        other = tables.recoded(data)
        learned, left = np.arange(40), np.arange(40, data.n_samples)
        expected = self._result(data.take_rows(learned), data.X[left])
        answers = self._result(other.take_rows(learned), other.X[left])
        self._assert_close(answers, expected, "other codes of levels give other predictions")

    def test_an_unseen_level_is_handled(self) -> None:
        data = self._with_levels()
        only_if(not list(self.make().role_problems(data)), "it does not accept nominal columns")
        known = np.flatnonzero(data.X[:, 0] != 3)
        fitted = self._fit(data.take_rows(known))
        other = data.X.copy()
        other[data.X[:, 0] == 3, 0] = 99.0
        answers = self.answer(fitted, data.X)
        assert not np.isnan(answers).any(), "a level that training rows lack makes some NaN"
        said = "the code of a level that training rows lack changes predictions"
        self._assert_close(self.answer(fitted, other), answers, said)


class ClassifierConformance(PredictorConformance):
    """Everything the core promises of a classifier; inherit it and write `make`.

    If it also predicts numbers, the checks of `RegressorConformance` apply to them.
    """

    def answer(self, fitted: Any, X: Any) -> np.ndarray:
        scores: np.ndarray = fitted.predict_scores(X)
        return scores

    def test_predictions_have_the_promised_shape(self) -> None:
        data = tables.classes(45, n_classes=3)
        fitted = self._fit(data)
        codes, scores = fitted.predict(data.X[:7]), fitted.predict_scores(data.X[:7])
        # `FittedOnColumns` refuses other answers.
        assert codes.shape == (7,) and codes.dtype == np.int64
        assert set(codes.tolist()) <= {0, 1, 2}
        assert scores.shape == (7, 3) and not np.isnan(scores).any()

    def test_the_predicted_class_has_the_largest_score(self) -> None:
        data = tables.classes(45, n_classes=3)
        fitted = self._fit(data)
        codes, scores = fitted.predict(data.X), fitted.predict_scores(data.X)
        largest = (scores[np.arange(45), codes] == scores.max(axis=1)).all()
        assert largest, "a predicted class does not have the largest score of its row"

    def test_scores_are_what_they_are_declared_to_be(self) -> None:
        data = tables.classes(45, n_classes=3)
        kind = self.make().score_kind()
        assert kind in SCORE_KINDS, f"score_kind() gives {kind!r}, not one of {SCORE_KINDS}"
        if kind == "probabilities":
            scores = self._fit(data).predict_scores(data.X)
            assert (scores >= 0).all(), "a probability is negative"
            assert np.allclose(scores.sum(axis=1), 1.0, atol=1e-6), "they do not sum to one"

    def test_a_separable_table_is_learned(self) -> None:
        data = tables.planted(4)
        fitted = self._fit(data.take_rows(np.arange(40)))
        right = np.mean(fitted.predict(data.X[40:]) == data.y[40:])
        assert right >= 0.8, f"{right:.0%} of new rows of a separable table are right"

    def test_labels_are_returned_as_given(self) -> None:
        data = self.table()
        named = Dataset.from_arrays(data.X, np.array(["well", "ill"])[data.y])
        labels = self._fit(named).predict_labels(data.X)
        assert set(labels) <= {"well", "ill"}, f"labels are {sorted(set(labels))}"

    def test_a_class_without_rows_in_a_resample_is_handled(self) -> None:
        data = tables.classes(45, n_classes=3)
        table = data.with_counts((data.y != 1) * 1)
        predicted = unless_refused(lambda: self._fit(table).predict(data.X))
        if predicted is not None:
            assert 1 not in predicted, "a class without training rows is predicted"

    def test_numeric_targets_are_accepted_or_refused_as_declared(self) -> None:
        data = tables.target()
        if "regression" in self.make().predicts():
            suite = type(
                "Numbers",
                (RegressorConformance,),
                {"make": staticmethod(self.make), "after": self.after},
            )()
            for name in sorted(vars(RegressorConformance)):
                check = getattr(vars(RegressorConformance)[name], "__wrapped__", None)
                if check is not None and name != "test_classes_are_refused":
                    check(suite)
            return
        assert list(self.make().task_problems(data)), "task_problems does not report it"
        assert_refused(lambda: self.make().fit(data), "a numeric target")


class RegressorConformance(PredictorConformance):
    """Everything the core promises of methods that predict numbers, or risks for survival times;
    inherit it and write `make`."""

    def _tasks(self) -> frozenset[str]:
        return super()._tasks() - {"classification"}

    def answer(self, fitted: Any, X: Any) -> np.ndarray:
        numbers: np.ndarray = fitted.predict(X)
        return numbers

    def test_classes_are_refused(self) -> None:
        predicts = self.make().predicts()
        assert predicts and predicts <= {"regression", "survival"}, (
            f"predicts() gives {sorted(predicts)}; a method that also predicts classes is a "
            "classifier"
        )
        data = tables.classes()
        assert list(self.make().task_problems(data)), "task_problems does not report classes"
        assert_refused(lambda: self.make().fit(data), "a table with classes")

    def test_predictions_are_one_number_per_row(self) -> None:
        data = self.table()
        predicted = self._fit(data).predict(data.X[:7])
        assert predicted.shape == (7,) and predicted.dtype == np.float64
        assert np.isfinite(predicted).all()

    def test_a_target_that_depends_on_a_column_is_learned(self) -> None:
        if "regression" not in self.make().predicts():
            data = tables.survival()
            risks = self._fit(data.take_rows(np.arange(64))).predict(data.X[64:])
            follows = np.corrcoef(risks, -np.log(np.abs(data.y[64:])))[0, 1]
            assert follows > 0.3, f"risks of new rows correlate by {follows:.2f} with early events"
            return
        data = tables.followed()
        left = np.arange(64, data.n_samples)
        predicted = self._fit(data.take_rows(np.arange(64))).predict(data.X[left])
        error = np.mean((predicted - data.y[left]) ** 2) / np.var(data.y[left])
        assert error <= 0.8, f"squared error of new rows is {error:.2f} of their variance"

    def test_a_constant_target_is_handled(self) -> None:
        data = self.table()
        said = "it predicts risks; equal times of different events are a target"
        only_if(data.task != "survival", said)
        table = Dataset.from_arrays(data.X, np.full(data.n_samples, 2.5), task="regression")
        answers = unless_refused(lambda: self._result(table))
        if answers is not None:
            assert np.isfinite(answers).all(), "not finite where every target is 2.5"
