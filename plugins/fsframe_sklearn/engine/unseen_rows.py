"""Permutation importance of a forest on the out-of-bag rows of each tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["unseen_importance"]


def unseen_importance(
    forest: Any,
    X: NDArray[np.float64],
    y: NDArray[Any],
    unit: NDArray[np.int64],
    generator: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation over trees of the loss when a column is permuted out of bag.

    Parameters
    ----------
    forest : fitted forest of scikit-learn with bootstrap
    X : (n, p) float64
        The rows on which it was fitted, in order.
    y : (n,)
    unit : (n,) int
        Copies of a drawn row have equal units; a tree that drew one of them has seen all.
    generator : numpy.random.Generator

    Returns
    -------
    mean, deviation : (p,) float64
        Of the loss of accuracy, or the increase of the squared error, over the trees that have
        out-of-bag rows; zeros if none has.

    Notes
    -----
    Columns that a tree does not use have no loss and are not permuted. Time O(trees · columns that
    a tree uses · out-of-bag rows · depth).
    """
    single = X.astype(np.float32)
    classes = getattr(forest, "classes_", None)
    truth = y if classes is None else np.searchsorted(classes, y)
    losses = []
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        seen = np.zeros(int(unit.max()) + 1, dtype=bool)
        seen[unit[drawn]] = True
        rows = np.flatnonzero(~seen[unit])
        if not rows.size:
            continue
        unseen, labels = single[rows], truth[rows]
        intact = _loss(tree, unseen, labels)
        loss = np.zeros(X.shape[1])
        for column in np.unique(tree.tree_.feature[tree.tree_.feature >= 0]):
            shuffled = unseen.copy()
            shuffled[:, column] = unseen[generator.permutation(rows.size), column]
            loss[column] = _loss(tree, shuffled, labels) - intact
        losses.append(loss)
    if not losses:
        return np.zeros(X.shape[1]), np.zeros(X.shape[1])
    table = np.array(losses)
    return table.mean(axis=0), table.std(axis=0)


def _loss(tree: Any, X: NDArray[np.float32], truth: NDArray[Any]) -> float:
    predicted = tree.predict(X, check_input=False)
    if hasattr(tree, "predict_proba"):
        return float(np.mean(predicted.astype(np.int64) != truth))
    return float(np.mean((predicted - truth) ** 2))
