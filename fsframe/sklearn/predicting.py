"""Prediction by fitted estimators: classes, scores, probabilities, numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fsframe.evaluation.measures.numbers import CIndex
from fsframe.method.classifier import FittedOnColumns
from fsframe.sklearn.messages import InvalidRequest, as_value_errors
from fsframe.sklearn.tables import (
    Codes,
    Training,
    new_rows,
    times_as_numbers,
)

__all__ = ["Predicting", "PredictingNumbers", "PredictsRows", "tagged"]


class PredictsRows:
    """Base of estimators that predict new rows with `fitted_`."""

    fitted_: FittedOnColumns
    _codes: Codes
    _allows_nan: Callable[[], bool]

    def _set_fitted(self, training: Training, fitted: FittedOnColumns) -> None:
        self.fitted_ = fitted
        self._codes = training.codes

    def _rows(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return new_rows(self, X, self._codes, allow_nan=self._allows_nan())

    def __sklearn_tags__(self) -> Any:
        return tagged(super().__sklearn_tags__(), self._allows_nan())  # type: ignore[misc]


class PredictingNumbers(PredictsRows, RegressorMixin):  # type: ignore[misc]
    """A fitted regressor of fsframe under scikit-learn's names; for classes that set `fitted_`."""

    _of_times: bool

    def _set_fitted(self, training: Training, fitted: FittedOnColumns) -> None:
        super()._set_fitted(training, fitted)
        self._of_times = training.data.task == "survival"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Numbers (n_samples,) predicted of new rows `X` (n_samples, n_features)."""
        rows = self._rows(X)
        with as_value_errors():
            return self.fitted_.predict(rows)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R² of the predictions; for survival the c-index of the risks."""
        if not self._of_times:
            return float(super().score(X, y, sample_weight))
        if sample_weight is not None:
            raise InvalidRequest("the c-index of survival times does not support sample_weight")
        return CIndex.of(times_as_numbers(y), self.predict(X))


def _gives_probabilities(estimator: Any) -> bool:
    """Whether the classifier declares its scores to be probabilities."""
    try:
        classifier = estimator._chain().classifier
    except ValueError:
        # Invalid parameters are refused by `fit`.
        return False
    return classifier is not None and classifier.score_kind() == "probabilities"


class Predicting(PredictsRows, ClassifierMixin):  # type: ignore[misc]
    """A fitted classifier of fsframe under scikit-learn's names; for classes that set `fitted_`."""

    classes_: NDArray[Any]

    def _set_fitted(self, training: Training, fitted: FittedOnColumns) -> None:
        super()._set_fitted(training, fitted)
        self.classes_ = training.classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes (n_samples,) of new rows `X` (n_samples, n_features)."""
        rows = self._rows(X)
        with as_value_errors():
            codes = self.fitted_.predict(rows)
        found: NDArray[Any] = self.classes_[codes]
        return found

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Decision scores of each class, larger is more likely.

        Returns
        -------
        (n_samples, n_classes) float64
            With two classes, (n_samples,): the score of the second minus that of the first.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities for new rows `X` (n_samples, n_features).

        Only available if the scores of the classifier are probabilities, such as votes of
        neighbours; otherwise scikit-learn's CalibratedClassifierCV computes probabilities from
        `decision_function`.

        Returns
        -------
        (n_samples, n_classes) float64
            Columns as in `classes_`; each row sums to 1.
        """
        return self._scores(X)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        rows = self._rows(X)
        with as_value_errors():
            return self.fitted_.predict_scores(rows)


def tagged(tags: Any, allow_nan: bool) -> Any:
    tags.target_tags.required = True
    tags.input_tags.allow_nan = allow_nan
    tags.input_tags.categorical = True
    return tags
