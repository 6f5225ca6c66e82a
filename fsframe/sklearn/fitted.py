"""What fitted estimators have: attributes of a selection, predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fsframe.evaluation.measures import CIndex
from fsframe.method.answer import feature_table, pair_table
from fsframe.method.classifier import FittedOnColumns
from fsframe.method.selection import Pair, Selection
from fsframe.sklearn.messages import InvalidRequest, as_value_errors
from fsframe.sklearn.tables import (
    Codes,
    Training,
    new_rows,
    times_as_numbers,
)


class FittedAttributes:
    """Attributes derived from `selection_`; those that a method does not provide are absent."""

    selection_: Selection

    @property
    def scores_(self) -> NDArray[np.float64]:
        """(n_features,) larger is better; NaN for a feature that was not considered."""
        return self._found().scores

    @property
    def ranking_(self) -> NDArray[np.intp]:
        """(n_selected,) kept columns, best first."""
        return self._found().selected

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """(n_features,) `scores_`; a feature that was not considered has the minimum, or 0."""
        scores = self._found().scores
        least = min(0.0, float(np.nanmin(scores))) if not np.isnan(scores).all() else 0.0
        return np.where(np.isnan(scores), least, scores)

    @property
    def pairs_(self) -> list[Pair]:
        """Pairs of columns with their weights, by decreasing absolute weight, without zeros."""
        weights = self._found().pair_weights
        if weights is None:
            raise AttributeError(self._lacks("pairs_", "weights of pairs"))
        return weights.top()

    @property
    def pvalues_(self) -> NDArray[np.float64]:
        """p-values of the features (n_features,), or of `pairs_` in a test of pairs; NaN where
        untested."""
        return self._tested("pvalues_", "p")

    @property
    def qvalues_(self) -> NDArray[np.float64]:
        """`pvalues_` adjusted for multiple testing, by Benjamini and Hochberg unless the method
        adjusts them."""
        return self._tested("qvalues_", "q")

    def _found(self) -> Selection:
        check_is_fitted(self)
        if not hasattr(self, "selection_"):
            raise AttributeError(self._lacks("selection_", "a selection"))
        return self.selection_

    def _tested(self, attribute: str, column: str) -> NDArray[np.float64]:
        found = self._found()
        stages, names = [("stage", found)], [str(place) for place in range(found.n_features)]
        # The same tables as `fsframe table` writes.
        if "pairs" in found.tables and column in (tests := pair_table(names, stages)).columns:
            pairs = zip(tests.cells("feature"), tests.cells("with"), strict=True)
            return pair_values(
                self.pairs_, [(int(a), int(b)) for a, b in pairs], tests.columns[column]
            )
        table = feature_table(names, stages)
        if column not in table.columns:
            raise AttributeError(self._lacks(attribute, "tests"))
        values = np.empty(found.n_features)
        values[[int(place) for place in table.cells("feature")]] = table.columns[column]
        return values

    def _lacks(self, attribute: str, what: str) -> str:
        kind = type(self).__name__
        return f"{kind!r} object has no attribute {attribute!r}: this fit gave no {what}"


def pair_values(
    pairs: list[Pair], tested: list[tuple[int, int]], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Values of the tested pairs, in the order of `pairs`; NaN for one that was not tested.

    >>> pair_values([Pair(1, 4, 9.0), Pair(0, 1, 2.0)], [(0, 1), (1, 4)], np.array([0.3, 0.5]))
    array([0.5, 0.3])
    """
    known = dict(zip(tested, values.tolist(), strict=True))
    return np.array([known.get((pair.a, pair.b), np.nan) for pair in pairs], dtype=np.float64)


def iterations(tables: Mapping[str, NDArray[Any]]) -> int | None:
    """Number of iterations of a fit, from its tables ``cost`` (start and each iterate) or
    ``change`` (each iteration)."""
    if "cost" in tables:
        return max(1, int(np.size(tables["cost"])) - 1)
    return max(1, int(np.size(tables["change"]))) if "change" in tables else None


class PredictsRows:
    """Base of estimators that predict new rows with `fitted_`."""

    fitted_: FittedOnColumns
    _codes: Codes
    _allows_nan: Callable[[], bool]
    _promises_nan: Callable[[], bool]

    def _set_fitted(self, training: Training, fitted: FittedOnColumns) -> None:
        self.fitted_ = fitted
        self._codes = training.codes

    def _rows(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return new_rows(self, X, self._codes, allow_nan=self._allows_nan())

    def __sklearn_tags__(self) -> Any:
        return tagged(super().__sklearn_tags__(), self._promises_nan())  # type: ignore[misc]


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
