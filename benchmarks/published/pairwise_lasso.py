"""A lasso on columns and their products, in place of hierNet, which no library here has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler


class PairwiseLasso(ClassifierMixin, BaseEstimator):
    """Two classes by an ℓ1-penalised logistic regression on all columns and products of two.

    Parameters
    ----------
    squares : bool
        Multiply each column with itself too, as hierNet does by default.
    penalties : tuple of float
        The inverse strengths C among which cross-validation chooses.
    random_state : int, optional
        Order in which the solver visits coefficients.

    Notes
    -----
    Columns are standardised, multiplied, and the products standardised too. hierNet asks besides
    that a product have a weight only where its columns have one, which is left out.
    """

    def __init__(
        self,
        squares: bool = True,
        penalties: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
        random_state: int | None = None,
    ) -> None:
        self.squares = squares
        self.penalties = penalties
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> PairwiseLasso:
        """Choose C by five folds of these rows, then learn from all of them."""
        self.classes_ = np.unique(y)
        if self.classes_.size != 2:
            raise ValueError(f"two classes are needed, not {self.classes_.size}")
        self.pipeline_: Pipeline = make_pipeline(
            StandardScaler(),
            PolynomialFeatures(degree=2, interaction_only=not self.squares, include_bias=False),
            StandardScaler(),
            LogisticRegressionCV(
                Cs=list(self.penalties),
                l1_ratios=[1],
                solver="liblinear",
                scoring="accuracy",
                use_legacy_attributes=False,
                random_state=self.random_state,
            ),
        )
        self.pipeline_.fit(X, y)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of each row."""
        return np.asarray(self.pipeline_.predict(X))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probabilities of the classes, a column for each."""
        return np.asarray(self.pipeline_.predict_proba(X))
