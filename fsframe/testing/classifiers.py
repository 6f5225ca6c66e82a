"""The laws of classifiers."""

from __future__ import annotations

import contextlib
import pickle
import warnings
from typing import Any, ClassVar

import numpy as np

from fsframe.contracts.classifier import Classifier
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.grammar import parse_stages
from fsframe.contracts.params import format_value
from fsframe.contracts.prediction_measure import SCORE_KINDS
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe.errors import DataError, FsframeError, one_line
from fsframe.registry import selectors
from fsframe.testing import tables
from fsframe.testing.comparing import frozen_bytes
from fsframe.testing.conformance import Conformance, check_declarations, law, not_applicable
from fsframe.testing.selector_laws.base import some_upstream
from fsframe.testing.watching import changed_globals, written_files

__all__ = ["ClassifierConformance"]


class ClassifierConformance(Conformance):
    """Everything the core promises of a classifier; inherit it and write `make`.

    Attributes
    ----------
    name : str, optional
        The name it is registered under, if it is.
    after : str, optional
        The stage that it needs on its left, such as ``"immigrate"``: every law is then tried behind
        it, and that it is refused without, in words.
    """

    name: ClassVar[str | None] = None
    after: ClassVar[str] = ""

    @staticmethod
    def make() -> Classifier:
        raise NotImplementedError("write make() so that it returns the classifier to test")

    def table(self) -> Dataset:
        """The table that most laws are tried on."""
        return tables.classes()

    def _fit(self, data: Dataset, upstream: Selection | None = None, **options: Any) -> Any:
        """The method fitted on `data`, behind the stage that it needs."""
        if self.after and upstream is None:
            upstream = self._stage_before(data)
        return self.make().fit(data, upstream, **options)

    def _stage_before(self, data: Dataset) -> Selection:
        (text,) = parse_stages(self.after)
        stage: Selection = selectors[text.name].from_texts(text.params).select(data)
        return stage

    def _scores(self, data: Dataset, X: object = None, **options: object) -> np.ndarray:
        fitted = self._fit(data, **options)  # type: ignore[arg-type]
        scores: np.ndarray = fitted.predict_scores(data.X if X is None else X)
        return scores

    @law
    def test_declarations_are_complete(self) -> None:
        method = self.make()
        assert isinstance(method, Classifier), f"make() returned {type(method).__name__}"
        check_declarations(method, self.name)

    @law
    def test_parameters_read_back_from_text(self) -> None:
        method = self.make()
        every = {name: format_value(value) for name, value in method.values().items()}
        assert type(method).from_texts(every) == method

    @law
    def test_pickles(self) -> None:
        method, data = self.make(), self.table()
        assert pickle.loads(pickle.dumps(method)) == method
        fitted = self._fit(data)
        again = pickle.loads(pickle.dumps(fitted))
        assert again.predict_scores(data.X).tobytes() == fitted.predict_scores(data.X).tobytes()

    @law
    def test_predictions_have_the_promised_shape(self) -> None:
        data = tables.classes(45, n_classes=3)
        fitted = self._fit(data)
        codes, scores = fitted.predict(data.X[:7]), fitted.predict_scores(data.X[:7])
        assert codes.shape == (7,) and codes.dtype == np.int64
        assert set(codes.tolist()) <= {0, 1, 2}
        assert scores.shape == (7, 3) and not np.isnan(scores).any()

    @law
    def test_the_predicted_class_has_the_largest_score(self) -> None:
        data = tables.classes(45, n_classes=3)
        fitted = self._fit(data)
        codes, scores = fitted.predict(data.X), fitted.predict_scores(data.X)
        assert (scores[np.arange(45), codes] == scores.max(axis=1)).all()

    @law
    def test_scores_are_what_they_are_declared_to_be(self) -> None:
        data = tables.classes(45, n_classes=3)
        kind = self.make().score_kind()
        assert kind in SCORE_KINDS, f"score_kind() gives {kind!r}, not one of {SCORE_KINDS}"
        if kind == "probabilities":
            scores = self._fit(data).predict_scores(data.X)
            assert (scores >= 0).all(), "a probability is negative"
            assert np.allclose(scores.sum(axis=1), 1.0, atol=1e-6), "they do not add up to one"

    @law
    def test_a_stage_that_it_needs_is_declared(self) -> None:
        try:
            self.make().fit(self.table())
        except FsframeError as error:
            told = error.exit_code == 2 and str(error).strip()
            assert told, f"without a stage on its left: {one_line(error)}"
            assert self.after, (
                f"it needs a stage on its left ({error}): name one, TRIED_AFTER in conformance.py"
            )
            return
        assert not self.after, f"after={self.after} is declared, but it fits without"

    @law
    def test_nothing_global_is_changed(self) -> None:
        data = self.table()
        changed = changed_globals(lambda: self._scores(data, seed=1))
        assert not changed, f"changed for the whole process: {'; '.join(changed)}"

    @law
    def test_no_file_is_written(self) -> None:
        data = self.table()
        found = written_files(lambda: self._scores(data, seed=1))
        assert not found, f"files are the core's affair: {', '.join(found[:3])}"

    @law
    def test_number_of_threads_changes_no_bit_on_many_rows(self) -> None:
        data = tables.classes(1200, 4)
        one = self._scores(data, run=Run(threads=1))
        assert self._scores(data, run=Run(threads=3)).tobytes() == one.tobytes()

    @law
    def test_a_separable_table_is_learned(self) -> None:
        data = tables.planted(4)
        fitted = self._fit(data.take_rows(np.arange(40)))
        right = np.mean(fitted.predict(data.X[40:]) == data.y[40:])
        assert right >= 0.8, f"{right:.0%} of new rows of a separable table are right"

    @law
    def test_labels_come_back_as_they_were_given(self) -> None:
        data = self.table()
        named = Dataset.from_arrays(data.X, np.array(["well", "ill"])[data.y])
        labels = self._fit(named).predict_labels(data.X)
        assert set(labels) <= {"well", "ill"}

    @law
    def test_each_row_is_predicted_by_itself(self) -> None:
        data = self.table()
        fitted = self._fit(data)
        together = fitted.predict_scores(data.X[:5])
        alone = np.vstack([fitted.predict_scores(data.X[i : i + 1]) for i in range(5)])
        assert np.allclose(together, alone, rtol=1e-9, atol=1e-12)

    @law
    def test_equal_seeds_give_equal_bits(self) -> None:
        data = self.table()
        assert self._scores(data, seed=7).tobytes() == self._scores(data, seed=7).tobytes()

    @law
    def test_number_of_threads_changes_no_bit(self) -> None:
        data = tables.classes(150, 12)
        one = self._scores(data, run=Run(threads=1))
        assert self._scores(data, run=Run(threads=2)).tobytes() == one.tobytes()

    @law
    def test_order_of_training_rows_does_not_matter(self) -> None:
        data = self.table()
        order = np.random.Generator(np.random.PCG64(2)).permutation(data.n_samples)
        found = self._scores(data.take_rows(order), data.X)
        assert np.allclose(found, self._scores(data), rtol=self.rtol, atol=1e-12)

    @law
    def test_order_of_columns_does_not_matter(self) -> None:
        data = self.table()
        order = np.random.Generator(np.random.PCG64(1)).permutation(data.n_features)
        found = self._scores(data.take_columns(order))
        assert np.allclose(found, self._scores(data), rtol=self.rtol, atol=1e-12)

    @law
    def test_inputs_are_not_modified(self) -> None:
        data = self.table()
        X, y = data.X.copy(), data.y.copy()
        mine = Dataset.from_arrays(X, y)
        upstream = self._stage_before(data) if self.after else some_upstream(data)
        before = frozen_bytes(X, y, upstream)
        self._fit(mine, upstream).predict_scores(X)
        assert frozen_bytes(X, y, upstream) == before

    @law
    def test_only_columns_left_upstream_are_used(self) -> None:
        data = self.table()
        upstream = Selection(selected=[3, 1], scores=np.ones(data.n_features))
        if self.after:
            upstream = self._stage_before(data)
        fitted = self._fit(data, upstream)
        other = data.X.copy()
        other[:, np.setdiff1d(np.arange(data.n_features), upstream.selected)] = 1e6
        found = fitted.predict_scores(other)
        assert found.tobytes() == fitted.predict_scores(data.X).tobytes()

    @law
    def test_missing_values_are_taken_or_refused_as_declared(self) -> None:
        data = self.table()
        X = data.X.copy()
        X[3, 1] = np.nan
        table = Dataset.from_arrays(X, data.y)
        if self.make().takes_missing:
            # What it wraps may refuse them all the same, in words.
            with contextlib.suppress(DataError):
                assert not np.isnan(self._scores(table)).any()
            return
        for refused in (lambda: self._scores(table), lambda: self._scores(data, X)):
            try:
                refused()
            except DataError:
                continue
            raise AssertionError("missing values are neither taken nor refused")

    @law
    def test_names_of_levels_do_not_matter(self) -> None:
        data = tables.categories()
        if list(self.make().role_problems(data)):
            try:
                self.make().fit(data)
            except DataError:
                return
            raise AssertionError("nominal columns are neither taken nor refused")
        other = tables.recoded(data)
        learned, left = np.arange(40), np.arange(40, data.n_samples)
        expected = self.make().fit(data.take_rows(learned)).predict_scores(data.X[left])
        found = self.make().fit(other.take_rows(learned)).predict_scores(other.X[left])
        assert np.allclose(found, expected, rtol=self.rtol, atol=1e-12), (
            "other codes of levels give other predictions"
        )

    @law
    def test_a_level_that_training_rows_lack_is_borne(self) -> None:
        data = tables.categories()
        if list(self.make().role_problems(data)):
            raise not_applicable("it takes no nominal columns")
        known = np.flatnonzero(data.X[:, 0] != 3)
        fitted = self.make().fit(data.take_rows(known))
        other = data.X.copy()
        other[data.X[:, 0] == 3, 0] = 99.0
        scores = fitted.predict_scores(data.X)
        assert not np.isnan(scores).any()
        assert np.allclose(fitted.predict_scores(other), scores, rtol=self.rtol, atol=1e-12), (
            "what a level is called that training rows lack changes predictions"
        )

    @law
    def test_a_class_without_rows_in_a_resample_is_borne(self) -> None:
        data = tables.classes(45, n_classes=3)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                fitted = self._fit(data.with_counts((data.y != 1) * 1))
            except FsframeError as error:
                assert isinstance(error, DataError), f"the data are at fault: {error}"
                return
            assert 1 not in fitted.predict(data.X), "a class that was never seen is predicted"
