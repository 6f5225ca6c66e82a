"""A scikit-learn classifier or regressor at the end of a chain, by its public name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError, one_line
from fsframe.method.classifier import Classifier
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import flag, param, text
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import learn_scale, standardised
from fsframe_sklearn.engine.estimators import (
    LEARNERS,
    make_estimator,
    parse_options,
    seed_estimator,
    takes_missing,
)
from fsframe_sklearn.engine.indicators import Levels, indicators, learn_levels

__all__ = ["Sklearn"]


@attrs.frozen(kw_only=True)
class Sklearn(Classifier):
    """A scikit-learn classifier or regressor on the selected columns.

    Parameters
    ----------
    estimator : str
        Public name of a classifier or regressor of scikit-learn, such as
        ``sklearn.naive_bayes.GaussianNB`` or ``GaussianNB``, or of a class that the environment
        variable ``FSFRAME_SKLEARN_ALLOW`` lists.
    options : str
        Its parameters as a JSON object, such as ``{"max_depth": 3}``.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first, learned from the training rows.

    Raises
    ------
    RequestError
        If the name is unknown, or the class does not accept its options.
    PluginError
        If scikit-learn is not installed.

    Notes
    -----
    A parameter ``random_state`` is set from the run's stream unless `options` sets it. Rows that a
    bootstrap drew twice are repeated. A nominal column becomes an indicator column for each level
    of the training rows, in order of first occurrence; a new level has 0 in all of them. Scores are
    probabilities if the estimator has ``predict_proba``, else its decision function, else −1 and 1;
    a class without training rows gets 0, or less than any other decision value. Upstream weights
    are not used, only the selected columns.

    References
    ----------
    Pedregosa et al. 2011, Scikit-learn: machine learning in Python, JMLR 12.
    """

    takes_missing: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    # The scaled rows, and twice as much for copies made by the estimator.
    table_copies: ClassVar[float] = 3.0

    estimator: str = param(
        kind=text("a classifier or regressor of scikit-learn"),
        help="Public name of the class, such as sklearn.naive_bayes.GaussianNB or Ridge.",
    )
    options: str = param(
        "{}", text("a JSON object"), help='Its parameters, as JSON: {"max_depth": 3}.'
    )
    standardize: bool = param(
        False,
        flag(),
        help="Scale features to mean 0 and standard deviation 1, learned from the training rows.",
    )

    def check_parameters(self) -> Iterator[str]:
        try:
            self._made()
        except RequestError as error:
            yield str(error)

    def missing_taken(self) -> bool:
        return takes_missing(self._made())

    def _made(self) -> Any:
        return make_estimator(self.estimator, parse_options(self.options), LEARNERS)

    def predicts(self) -> frozenset[str]:
        from sklearn.base import is_regressor

        return frozenset({"regression" if is_regressor(self._made()) else "classification"})

    def score_kind(self) -> str:
        made = self._made()
        if hasattr(made, "predict_proba"):
            return "probabilities"
        return "scores" if hasattr(made, "decision_function") else "labels"

    def _fit(
        self, data: Dataset, upstream: Selection | None, run: Run
    ) -> _FittedClassifier | _FittedRegressor:
        options = parse_options(self.options)
        seed = int(run.generator().integers(2**31 - 1))
        made = seed_estimator(self._made(), seed, options)
        levels = learn_levels(data)
        drawn = data
        if data.counts is not None:
            drawn = data.take_rows(np.repeat(np.arange(data.n_samples), data.counts))
        X = indicators(drawn.values, levels) if levels else drawn.matrix
        centre, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.standardize:
            centre, scale = learn_scale(X)
        try:
            made.fit(standardised(X, centre, scale), drawn.y)
        except ValueError as error:
            # Missing values, a single class and the like.
            raise DataError(f"{self.estimator} cannot be fitted: {one_line(error)}") from error
        kind = _FittedClassifier if data.task == "classification" else _FittedRegressor
        return kind(
            made=made, name=self.estimator, n_classes=data.n_classes, centre=centre, scale=scale,
            levels=levels,
        )  # fmt: skip


@attrs.frozen(kw_only=True, eq=False)
class _FittedBase:
    made: Any
    name: str
    n_classes: int
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    levels: Levels

    def _call(self, method: str, X: NDArray[np.float64]) -> NDArray[Any]:
        rows = standardised(indicators(X, self.levels), self.centre, self.scale)
        try:
            return np.asarray(getattr(self.made, method)(rows))
        except ValueError as error:
            # Missing values that did not occur in the training rows.
            raise DataError(f"{self.name} cannot predict: {one_line(error)}") from error


@attrs.frozen(kw_only=True, eq=False)
class _FittedRegressor(_FittedBase):
    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        # Some estimators (PLSRegression) return a column.
        return self._call("predict", X).astype(np.float64).reshape(len(X))


@attrs.frozen(kw_only=True, eq=False)
class _FittedClassifier(_FittedBase):
    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        return self._call("predict", X).astype(np.int64)

    def predict_scores(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities if the estimator has them, else its decision values, else −1 and 1."""
        known = np.asarray(self.made.classes_, dtype=np.int64)
        scores = np.zeros((len(X), self.n_classes))
        if hasattr(self.made, "predict_proba"):
            scores[:, known] = self._call("predict_proba", X)
        elif hasattr(self.made, "decision_function"):
            values = self._call("decision_function", X)
            if values.ndim == 1:
                values = np.column_stack([-values, values])
            # A class without training rows never scores above one that has some.
            scores[:] = values.min(initial=0.0) - 1.0
            scores[:, known] = values
        else:
            # Not 0 and 1, which could be mistaken for probabilities.
            scores[:] = -1.0
            scores[np.arange(len(X)), self.predict(X)] = 1.0
        return scores
