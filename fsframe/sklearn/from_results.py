"""Estimators from results: a fitted selector of a run, a predictor of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from fsframe.contracts.selection import Selection
from fsframe.sklearn.chain_estimators import ChainClassifier, ChainRegressor, ChainSelector

__all__ = ["fitted_selector", "unfitted_predictor"]


def fitted_selector(
    chain: str,
    found: Sequence[Selection],
    feature_names: Sequence[str],
    **settings: Any,
) -> ChainSelector:
    """A fitted `ChainSelector` from an existing run.

    Parameters
    ----------
    chain : str
        Without a classifier.
    found : sequence of Selection
        Of every stage, left to right.
    feature_names : (n_features,) texts
    **settings
        Other parameters of `ChainSelector`.

    Returns
    -------
    ChainSelector
        Without names of categories: a run does not store them.
    """
    made = ChainSelector(chain, **settings)
    made._set_selections(found, {})
    made.n_features_in_ = len(feature_names)
    made.feature_names_in_ = np.array(feature_names, dtype=object)
    return made


def unfitted_predictor(
    chains: Sequence[str], task: str, *, inner_folds: int, grouped: bool, **settings: Any
) -> ChainClassifier | ChainRegressor | GridSearchCV:
    """The estimator that a cross-validation evaluated, to be fitted on all rows.

    Parameters
    ----------
    chains : sequence of str
        Each with its classifier or regressor; several if the folds chose among them.
    task : {"classification", "regression", "survival"}
    inner_folds : int
        Number of folds of the search among several chains, by accuracy, R² or the c-index.
    grouped : bool
        Whether rows were grouped: the search then takes ``fit(X, y, groups=…)``.
    **settings
        Other parameters of the estimator.
    """
    classes = task == "classification"
    made = (ChainClassifier if classes else ChainRegressor)(chains[0], **settings)
    if len(chains) == 1:
        return made
    if grouped:
        splitter = StratifiedGroupKFold if classes else GroupKFold
    else:
        splitter = StratifiedKFold if classes else KFold
    folds = splitter(inner_folds, shuffle=True, random_state=settings.get("random_state"))
    return GridSearchCV(made, {"chain": list(chains)}, cv=folds)
