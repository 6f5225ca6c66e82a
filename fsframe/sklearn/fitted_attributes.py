"""Attributes of a fitted estimator from its Selection, under scikit-learn's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fsframe.method.answer import feature_table, pair_table
from fsframe.method.selection import Pair, Selection

__all__ = ["FittedAttributes", "iterations", "pair_values"]


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
