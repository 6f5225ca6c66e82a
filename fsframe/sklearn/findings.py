"""What a fitted estimator shows of its Selection, under scikit-learn's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fsframe.contracts.selection import Pair, Selection

__all__ = ["Findings", "iterations", "pair_values", "values_by_column"]

_P_VALUES = ("p_values", "p-values")
_ADJUSTED = ("q_values", "p_adjusted", "adjusted-p-values", "q-values")


class Findings:
    """Attributes that follow from `selection_`; those that a method does not give are not there."""

    selection_: Selection

    @property
    def scores_(self) -> NDArray[np.float64]:
        """(n_features,) larger is better; NaN for a feature that was not considered."""
        return self._found().scores

    @property
    def ranking_(self) -> NDArray[np.intp]:
        """(n_selected,) columns that are kept, best first."""
        return self._found().selected

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """(n_features,) `scores_`, where a feature that was not considered has the least, or 0."""
        scores = self._found().scores
        least = min(0.0, float(np.nanmin(scores))) if not np.isnan(scores).all() else 0.0
        return np.where(np.isnan(scores), least, scores)

    @property
    def pairs_(self) -> list[Pair]:
        """Pairs of columns with their weights, the largest by size first, those of 0 left out."""
        weights = self._found().pair_weights
        if weights is None:
            raise AttributeError(self._lacks("pairs_", "weights of pairs"))
        return weights.top()

    @property
    def pvalues_(self) -> NDArray[np.float64]:
        """p-values of the features (n_features,), NaN where untested; of `pairs_` in a test of
        pairs."""
        return self._tested("pvalues_", _P_VALUES, "p-values")

    @property
    def qvalues_(self) -> NDArray[np.float64]:
        """`pvalues_` adjusted for the number of tests, as the method's parameters say."""
        return self._tested("qvalues_", _ADJUSTED, "adjusted p-values")

    def _found(self) -> Selection:
        check_is_fitted(self)
        if not hasattr(self, "selection_"):
            raise AttributeError(self._lacks("selection_", "a selection"))
        return self.selection_

    def _tested(self, attribute: str, names: tuple[str, ...], what: str) -> NDArray[np.float64]:
        found = self._found()
        name = next((name for name in names if name in found.tables), None)
        if name is None:
            raise AttributeError(self._lacks(attribute, what))
        values = np.asarray(found.tables[name], dtype=np.float64)
        pairs = found.tables.get("pairs")
        if pairs is not None and np.shape(pairs) == (*values.shape, 2):
            return pair_values(self.pairs_, _seen(found)[np.asarray(pairs, dtype=np.intp)], values)
        placed = values_by_column(found, values)
        if placed is None:
            raise AttributeError(self._lacks(attribute, f"{what} by feature"))
        return placed

    def _lacks(self, attribute: str, what: str) -> str:
        kind = type(self).__name__
        return f"{kind!r} object has no attribute {attribute!r}: this fit gave no {what}"


def _seen(found: Selection) -> NDArray[np.intp]:
    """The columns that the method saw; its tables number them 0, 1, …."""
    return np.arange(found.n_features) if found.features_in is None else found.features_in


def values_by_column(found: Selection, values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Values of a table of `found` as (n_features,), NaN for other columns.

    None where it cannot be told which columns they belong to.

    Examples
    --------
    >>> found = Selection(selected=[2], scores=[0, 0, 1.0], features_in=[0, 2])
    >>> values_by_column(found, np.array([0.5, 0.1]))
    array([0.5, nan, 0.1])
    """
    seen = _seen(found)
    tested = np.asarray(found.tables.get("columns", np.arange(seen.size)))
    if values.shape != tested.shape or tested.dtype.kind not in "iu":
        return None
    placed = np.full(found.n_features, np.nan)
    placed[seen[tested]] = values
    return placed


def pair_values(
    pairs: list[Pair], tested: NDArray[np.intp], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Values of the tested pairs (m, 2), in the order of `pairs`; NaN for one not tested.

    >>> pairs = [Pair(1, 4, 9.0), Pair(0, 1, 2.0)]
    >>> pair_values(pairs, np.array([[0, 1], [4, 1]]), np.array([0.3, 0.5]))
    array([0.5, 0.3])
    """
    known: Mapping[tuple[int, int], Any] = {
        (min(a, b), max(a, b)): value
        for (a, b), value in zip(tested.tolist(), values.tolist(), strict=True)
    }
    return np.array([known.get((pair.a, pair.b), np.nan) for pair in pairs], dtype=np.float64)


def iterations(tables: Mapping[str, NDArray[Any]]) -> int | None:
    """How many iterations a fit ran, where its tables say so.

    ``cost`` holds the start and each iterate, ``change`` each iteration.
    """
    if "cost" in tables:
        return max(1, int(np.size(tables["cost"])) - 1)
    return max(1, int(np.size(tables["change"]))) if "change" in tables else None
