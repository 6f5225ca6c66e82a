"""A chain as a scikit-learn transformer; needs the extra ``sklearn``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fsframe.chains.chain import Chain
from fsframe.contracts.dataset import Dataset

__all__ = ["ChainSelector"]


class ChainSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keeps the columns that a chain selects; for pipelines and grid searches.

    Parameters
    ----------
    chain : str
        Such as ``"mim:top=50 immigrate"``; without a classifier.
    seed : int
        Equal seed, equal columns.
    task : {"classification", "regression"}
        What the label is.

    Attributes
    ----------
    selection_ : Selection
        Everything the last stage found.
    scores_ : (n_features,) float64
        Larger is better; NaN means not considered.
    ranking_ : (n_selected,) int
        Kept columns, best first.

    Raises
    ------
    RequestError, DataError, PluginError
        From `fit`, as `Chain.select` says.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> selector = ChainSelector("immigrate:top=2").fit(X, X[:, 1] * X[:, 3] > 0)
    >>> selector.transform(X).shape, selector.ranking_.tolist()
    ((60, 2), [1, 3])
    """

    def __init__(
        self, chain: str = "immigrate", *, seed: int = 0, task: str = "classification"
    ) -> None:
        self.chain = chain
        self.seed = seed
        self.task = task

    def fit(self, X: ArrayLike, y: ArrayLike) -> ChainSelector:
        """This selector, with the chain run on (n_samples, n_features) `X` and labels `y`."""
        chain = Chain.parse(self.chain)
        X, y = validate_data(self, X, y, ensure_all_finite="allow-nan", ensure_min_samples=2)
        if self.task == "classification":
            check_classification_targets(y)
        names = getattr(self, "feature_names_in_", None)
        data = Dataset.from_arrays(
            X, y, None if names is None else list(names), task=self.task, name="X"
        )
        self.selection_ = chain.select(data, seed=self.seed)
        self.scores_ = self.selection_.scores
        self.ranking_ = self.selection_.selected
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.ranking_] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return tags
