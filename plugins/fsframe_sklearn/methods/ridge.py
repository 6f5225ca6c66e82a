"""A numeric target by ridge regression, the penalty chosen by leave-one-out errors."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.classifier import Regressor
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import choice, either, param, real
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import learn_scale, standardised
from fsframe_sklearn.engine.indicators import Levels, indicators, learn_levels

__all__ = ["Ridge"]

_PENALTIES = np.logspace(-3, 5, 33)


@attrs.frozen(kw_only=True)
class Ridge(Regressor):
    """Ridge regression on standardised columns.

    Notes
    -----
    min_β Σ_i n_i (y_i − β₀ − z_iᵀβ)² + λ ‖β‖², n_i the count of row i and z_i its columns with mean
    0 and standard deviation 1. ``penalty=auto`` chooses, among 33 values of λ from 10⁻³ to 10⁵
    (four per decade), that with the smallest squared leave-one-out error, a row being left out with
    all its copies; the errors follow from one singular value decomposition. Nominal columns become
    indicator columns. Fitted by `sklearn.linear_model.RidgeCV`: O(n A min(n, A)). Upstream weights
    are not used, only the selected columns.

    References
    ----------
    Hoerl, Kennard 1970, Technometrics 12:55; Golub, Heath, Wahba 1979, Technometrics 21:215.
    """

    takes_nominal: ClassVar[bool] = True

    penalty: float | str = param(
        "auto",
        either(real(above=0), choice("auto")),
        help="Penalty on the squared coefficients; auto chooses it by leave-one-out errors.",
        symbol="λ",
        source="Hoerl, Kennard 1970",
    )

    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> _Fitted:
        from sklearn.linear_model import RidgeCV

        levels = learn_levels(data)
        X = indicators(data.values, levels) if levels else data.matrix
        counts = np.ones(data.n_samples) if data.counts is None else data.counts.astype(np.float64)
        centre, scale = learn_scale(X, counts)
        penalties = _PENALTIES if self.penalty == "auto" else np.array([float(self.penalty)])
        made = RidgeCV(penalties).fit(standardised(X, centre, scale), data.y, sample_weight=counts)
        return _Fitted(
            slope=made.coef_ / scale,
            intercept=float(made.intercept_ - (made.coef_ / scale) @ centre),
            levels=levels,
        )


@attrs.frozen(kw_only=True, eq=False)
class _Fitted:
    slope: NDArray[np.float64]
    intercept: float
    levels: Levels

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers (n,) for rows (n, n_features)."""
        found: NDArray[np.float64] = indicators(X, self.levels) @ self.slope + self.intercept
        return found
