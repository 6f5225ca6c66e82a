"""Cox's proportional hazards with a ridge penalty."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.method.classifier import Regressor
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import choice, param, real
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import even_blocks
from fsframe.table.survival import times_and_events
from fsframe_survival.partial_likelihood import Times, fit_ridge

__all__ = ["Cox"]


@attrs.frozen(kw_only=True, eq=False)
class _Risks:
    """Log risks relative to the mean row of training.

    Parameters
    ----------
    centre : (p,) float64
    beta : (p,) float64
        Per unit of the columns.
    """

    centre: NDArray[np.float64]
    beta: NDArray[np.float64]

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        # Row by row, so that one row is predicted as it is among others.
        return np.asarray(((X - self.centre) * self.beta).sum(axis=1), dtype=np.float64)


@attrs.frozen(kw_only=True)
class Cox(Regressor):
    """Log risks by Cox's proportional hazards with a ridge penalty.

    Larger values mean earlier events. Upstream weights are not used.

    Notes
    -----
    β maximises Σ_events [βᵀx − log Σ_R(t) exp(βᵀx)] − λ‖β‖²/2 over columns of mean 0 and standard
    deviation 1, by Newton's method with step halving; λ is `penalty`, and λ = 0 is Cox's own
    model, an error where it has no finite maximum. The risk of a row is βᵀ(x − x̄). Tied events are
    treated by `ties`; counts and weights of rows act as copies. A step: O(n m²), m = min(n, p).

    References
    ----------
    D. Cox 1972, J. R. Statist. Soc. B 34:187–220. B. Efron 1977, JASA 72:557–565. P. Verweij, H.
    van Houwelingen 1994, Penalized likelihood in Cox regression, Stat. Med. 13:2427–2436.

    Examples
    --------
    >>> data = Dataset.from_arrays([[3.0, 1], [2, 1], [1, 2], [0, 1]], [1, 2, 3, 4],
    ...                            event=[1, 1, 1, 0])
    >>> Cox().fit(data).predict([[3, 1], [0, 1]]).round(2)
    array([ 1.49, -1.44])
    """

    penalty: float = param(1.0, real(0), help="Ridge penalty on standardised columns.", symbol="λ")
    ties: str = param("efron", choice("efron", "breslow"), help="Treatment of tied event times.")

    def predicts(self) -> frozenset[str]:
        return frozenset({"survival"})

    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> _Risks:
        weight = np.ones(data.n_samples) if data.counts is None else data.counts.astype(np.float64)
        times = Times.of(*times_and_events(data.y), weight, efron=self.ties == "efron")
        if not times.moments:
            raise DataError("cox: these rows contain no event, so there is nothing to fit")
        rows = np.empty((data.n_samples, data.n_features))
        centre, scale = np.empty(data.n_features), np.empty(data.n_features)
        for start, stop in even_blocks(*rows.shape):
            block, some = rows[:, start:stop], slice(start, stop)
            X = np.asarray(data.columns(start, stop), dtype=np.float64)
            centre[some] = np.average(X, axis=0, weights=weight)
            spread = np.sqrt(np.average((X - centre[some]) ** 2, axis=0, weights=weight))
            known = spread > 1e-12 * np.abs(X).max(axis=0, initial=0.0)
            scale[some] = np.where(known, spread, 1.0)
            block[:] = np.where(known, X - centre[some], 0.0) / scale[some]
        beta, converged = fit_ridge(rows, times, self.penalty)
        if not converged:
            raise DataError(
                f"cox: no maximum is found with penalty={self.penalty:g}: risks that order the "
                "events perfectly grow without bound; give a larger penalty, or fewer columns"
            )
        return _Risks(centre=centre, beta=beta / scale)
