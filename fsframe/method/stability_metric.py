"""The stability-metric contract: similarity of the feature sets that several runs kept."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import DataError, RequestError
from fsframe.params import Parameterised


@attrs.frozen(kw_only=True)
class StabilityValue:
    """A measured stability.

    Parameters
    ----------
    value : float
        NaN if the measure is not defined; then `undefined` says why.
    variance : float, optional
        Variance of the estimate, if the theory gives one.
    interval : (float, float), optional
        Confidence interval, if the theory gives one.
    level : float, optional
        Confidence level of the interval.
    undefined : str
        Why there is no value; empty if there is one.
    warnings : tuple of str
        Caveats about the value, such as too few runs for the interval.
    """

    value: float
    variance: float | None = None
    interval: tuple[float, float] | None = None
    level: float | None = None
    undefined: str = ""
    warnings: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.value


@attrs.frozen(kw_only=True)
class StabilityMetric(Parameterised):
    """Base of all stability metrics; authors declare parameters and write `_measure`.

    Attributes
    ----------
    input : str
        ``"sets"``: a boolean (n_runs, n_features) matrix; ``"ranks"``: (n_runs, n_features) scores,
        larger better, or ranks if a parameter of the measure says so.
    unequal_sizes : bool
        Whether runs may keep different numbers of features.
    chance_corrected : bool
        Whether random selection is 0 on average.
    needs_similarity : bool
        Whether a (n_features, n_features) similarity matrix is needed.
    larger_is_stabler : bool
        False for a distance, which is 0 for identical runs.
    undefined_when : str
        When the measure has no value, in words; empty if it always has one.
    """

    input: ClassVar[str] = "sets"
    unequal_sizes: ClassVar[bool] = True
    chance_corrected: ClassVar[bool] = False
    needs_similarity: ClassVar[bool] = False
    larger_is_stabler: ClassVar[bool] = True
    undefined_when: ClassVar[str] = ""

    def _measure(
        self, matrix: NDArray[Any], similarity: NDArray[np.float64] | None = None
    ) -> StabilityValue:
        """The author's part: the value for a checked matrix."""
        raise NotImplementedError

    def __call__(self, matrix: ArrayLike, similarity: ArrayLike | None = None) -> StabilityValue:
        """The stability of the runs in `matrix`.

        Parameters
        ----------
        matrix : (n_runs, n_features)
            Boolean (or 0/1) for measures of sets; scores or ranks for measures of rankings.
        similarity : (n_features, n_features), optional
            Symmetric, in [0, 1], ones on the diagonal; for measures that need it.

        Raises
        ------
        DataError
            If there are fewer than two runs, or the matrix does not suit the measure.
        RequestError
            If a similarity is missing, or given to a measure that does not use it.
        """
        checked = self._checked(np.asarray(matrix))
        if self.needs_similarity and similarity is None:
            raise RequestError(f"{self.method_name()} needs the similarity of the features")
        if not self.needs_similarity and similarity is not None:
            raise RequestError(f"{self.method_name()} does not use a similarity of features")
        if similarity is None:
            return self._measure(checked)
        alike = np.asarray(similarity, dtype=np.float64)
        n_features = checked.shape[1]
        if alike.shape != (n_features, n_features) or not np.allclose(alike, alike.T):
            raise DataError(
                f"the similarity must be a symmetric {n_features} × {n_features} matrix"
            )
        return self._measure(checked, alike)

    def along_rankings(
        self,
        orders: ArrayLike,
        n_features: int,
        largest: int | None = None,
        similarity: ArrayLike | None = None,
    ) -> tuple[StabilityValue, ...]:
        """The stability of the best 1, 2, … features of every run.

        Parameters
        ----------
        orders : (n_runs, L) int
            Feature numbers, best first, each at most once in a row.
        n_features : int
            How many features were ranked.
        largest : int, optional
            The largest set size K ≤ L; default L.
        similarity : (n_features, n_features), optional
            For measures that need it.

        Returns
        -------
        tuple of StabilityValue
            For set sizes 1 … K.

        Raises
        ------
        RequestError
            If the measure is for whole rankings, or the orders are not valid rankings.

        Notes
        -----
        Computes every size separately; authors override it if one pass over the rankings is enough.
        """
        ranked = self._checked_orders(orders, n_features, largest)
        kept = np.zeros((len(ranked), n_features), dtype=bool)
        values = []
        for newcomers in ranked.T:
            kept[np.arange(len(ranked)), newcomers] = True
            values.append(self(kept, similarity))
        return tuple(values)

    def _checked_orders(
        self, orders: ArrayLike, n_features: int, largest: int | None
    ) -> NDArray[np.integer[Any]]:
        name = self.method_name()
        if self.input != "sets":
            raise RequestError(f"{name} measures whole rankings, not the best features of them")
        ranked = np.asarray(orders)
        if ranked.ndim != 2 or ranked.shape[0] < 2 or ranked.dtype.kind not in "iu":
            raise RequestError(
                f"{name} needs rankings as a whole-number matrix of at least two runs, best "
                f"feature first, not of shape {ranked.shape} and type {ranked.dtype}"
            )
        length = ranked.shape[1]
        stop = length if largest is None else largest
        if not 1 <= stop <= length:
            raise RequestError(f"{name}: set sizes lie between 1 and {length}, not up to {stop}")
        ranked = ranked[:, :stop]
        ordered = np.sort(ranked, axis=1)
        if (
            ranked.min() < 0
            or ranked.max() >= n_features
            or (ordered[:, 1:] == ordered[:, :-1]).any()
        ):
            raise RequestError(
                f"{name}: every ranking must name features 0 … {n_features - 1}, each at most once"
            )
        return ranked

    def _checked(self, matrix: NDArray[Any]) -> NDArray[Any]:
        name = self.method_name()
        if matrix.ndim != 2 or matrix.shape[1] == 0:
            raise DataError(f"{name} needs a matrix of runs × features, not shape {matrix.shape}")
        if matrix.shape[0] < 2:
            raise DataError(f"{name} compares runs: it needs at least two, not {matrix.shape[0]}")
        if self.input == "ranks":
            scores = matrix.astype(np.float64)
            if not np.isfinite(scores).all():
                raise DataError(f"{name} needs a finite score or rank for every feature and run")
            return scores
        if matrix.dtype != bool and not np.isin(matrix, (0, 1)).all():
            raise DataError(f"{name} needs a matrix of 0 and 1 (kept or not)")
        kept = matrix.astype(bool)
        sizes = np.unique(kept.sum(axis=1))
        if not self.unequal_sizes and sizes.size > 1:
            raise DataError(
                f"{name} is defined for runs that keep equally many features, not between "
                f"{sizes[0]} and {sizes[-1]}; use one that allows it, such as `nogueira`"
            )
        return kept
