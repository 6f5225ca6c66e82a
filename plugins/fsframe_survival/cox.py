"""Cox's proportional hazards: partial likelihood, score test of each feature, ridge regression."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy import special

from fsframe.errors import DataError
from fsframe.method.classifier import Regressor
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection
from fsframe.params import (
    choice,
    correction_of_tests,
    level_of_tests,
    number_to_keep,
    param,
    real,
)
from fsframe.resampling.groups import FilterWithTests
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import times_and_events
from fsframe.table.standardising import even_blocks

Floats = NDArray[np.float64]

_NEWTON_STEPS = 50


@attrs.frozen(kw_only=True, eq=False)
class Times:
    """Rows in the order in which they enter the risk set, from the latest time down.

    Parameters
    ----------
    order : (n,) int
        Rows by descending time.
    weight : (n,) float64
        Weights of the rows, in that order.
    moments : list of (int, int, (d,) int)
        For each event time, the latest first: the positions in `order` that have entered since the
        previous one (start, stop), and the positions with events.
    efron : bool
        Efron's treatment of tied events instead of Breslow's.
    """

    order: NDArray[np.intp]
    weight: Floats
    moments: list[tuple[int, int, NDArray[np.intp]]]
    efron: bool

    @classmethod
    def of(
        cls, time: Floats, event: NDArray[np.bool_], weight: Floats, *, efron: bool = True
    ) -> Times:
        """The order of rows with these times, events and weights, (n,) each."""
        order = np.argsort(-time, kind="stable")
        falling, seen = time[order], event[order]
        bounds = [*np.flatnonzero(np.diff(falling, prepend=np.inf) != 0).tolist(), len(order)]
        moments, entered = [], 0
        for start, stop in pairwise(bounds):
            happened = start + np.flatnonzero(seen[start:stop])
            if happened.size:
                moments.append((entered, stop, happened))
                entered = stop
        return cls(order=order, weight=weight[order], moments=moments, efron=efron)

    def leaving(self, happened: NDArray[np.intp]) -> Floats:
        """Share of the tied events removed from the risk set at each event of one time."""
        many = round(float(self.weight[happened].sum()))
        return np.arange(many) / many if self.efron else np.zeros(many)


def score_tests(X: Floats, times: Times) -> tuple[Floats, Floats]:
    """Score and information of the log partial likelihood of each column alone, at 0.

    Parameters
    ----------
    X : (n, p) float64, finite
        Columns of any offset and scale.
    times : Times

    Returns
    -------
    U, V : (p,) float64
        In units of the columns: under the null, U²/V is χ² with one degree of freedom; V is 0 for
        a constant column. O(n p).
    """
    rows = X[times.order]
    weight = times.weight[:, None]
    # Centring avoids cancellation and does not change the test.
    rows = rows - (weight * rows).sum(axis=0) / times.weight.sum()
    p = rows.shape[1]
    at_risk, first, second = 0.0, np.zeros(p), np.zeros(p)
    U, V = np.zeros(p), np.zeros(p)
    for start, stop, happened in times.moments:
        block, w = rows[start:stop], weight[start:stop]
        at_risk += float(times.weight[start:stop].sum())
        first += (w * block).sum(axis=0)
        second += (w * block**2).sum(axis=0)
        died, w = rows[happened], weight[happened]
        total, squares, many = (w * died).sum(axis=0), (w * died**2).sum(axis=0), w.sum()
        U += total
        for share in times.leaving(happened):
            mean = (first - share * total) / (at_risk - share * many)
            U -= mean
            V += (second - share * squares) / (at_risk - share * many) - mean**2
    return U, np.maximum(V, 0.0)


def residuals(times: Times) -> Floats:
    """Martingale residuals M of the rows at β = 0, (n,) in the order of `times`: U = Σ w M x.

    A row's number of events minus the number expected while it was at risk; O(n).
    """
    M = np.zeros(len(times.order))
    hazards, at_risk = np.zeros(len(times.moments)), 0.0
    for k, (start, stop, happened) in enumerate(times.moments):
        at_risk += float(times.weight[start:stop].sum())
        shares = times.leaving(happened)
        steps = 1.0 / (at_risk - shares * times.weight[happened].sum())
        hazards[k] = steps.sum()
        M[happened] += 1.0 + (shares * steps).sum()
    # A row that has entered is at risk at all earlier event times.
    ahead = np.cumsum(hazards[::-1])[::-1]
    for k, (start, stop, _) in enumerate(times.moments):
        M[start:stop] -= ahead[k]
    return M


def permutation_p_values(X: Floats, times: Times) -> Floats:
    """p-values of U of each column by its moments over all permutations of the column's rows.

    Parameters
    ----------
    X : (n, p) float64, finite
    times : Times

    Returns
    -------
    (p,) float64
        1 for a constant column.

    Notes
    -----
    With centred x and residuals M of N rows, copies counted, U = Σ M x has over all permutations
    mean 0, variance Σx² ΣM² / (N − 1) and third moment N Σx³ ΣM³ / ((N − 1)(N − 2)). Twice the
    smaller tail of a Pearson type III (gamma) distribution of these moments, which may be 0 on the
    side on which it ends. O(n p).
    """
    rows, weight = X[times.order], times.weight[:, None]
    N = times.weight.sum()
    rows = rows - (weight * rows).sum(axis=0) / N
    weighted = weight * rows
    M = residuals(times)
    variance = (weighted * rows).sum(axis=0) * (times.weight @ M**2) / max(N - 1.0, 1.0)
    # Of two rows every permutation is symmetric; the third moment is 0.
    third = (weighted * rows**2).sum(axis=0) * (times.weight @ M**3)
    third *= N / ((N - 1.0) * (N - 2.0)) if N > 2 else 0.0
    known = variance > 1e-12 * N
    scale = np.sqrt(np.where(known, variance, 1.0))
    z, skewness = np.where(known, M @ weighted, 0.0) / scale, third / scale**3
    # A smaller skewness would change no tail in its fourth digit.
    shape = 4.0 / np.maximum(np.abs(skewness), 1e-4) ** 2
    at = np.maximum(shape + np.sqrt(shape) * np.where(skewness < 0, -z, z), 0.0)
    smaller = np.minimum(special.gammainc(shape, at), special.gammaincc(shape, at))
    p_values: Floats = np.minimum(2.0 * smaller, 1.0)
    return p_values


def fit_ridge(X: Floats, times: Times, penalty: float) -> tuple[Floats, bool]:
    """Coefficients (p,) that maximise log partial likelihood − penalty ‖β‖²/2.

    Parameters
    ----------
    X : (n, p) float64
        Centred columns.
    times : Times
    penalty : float ≥ 0

    Returns
    -------
    coefficients : (p,) float64
    converged : bool

    Notes
    -----
    At most 50 Newton steps, each halved until the value increases. A step costs O(n m²) with
    m = min(n, p): with more columns than rows β lies in the row space, to which X is rotated first.
    """
    n, p = X.shape
    rotation = None
    if p > n:
        left, sizes, right = np.linalg.svd(X, full_matrices=False)
        X, rotation = left * sizes, right
    rows = X[times.order]
    beta = np.zeros(rows.shape[1])
    value, slope, curvature = _derivatives(rows, times, beta, penalty)
    at_zero, converged = curvature, False
    for _ in range(_NEWTON_STEPS):
        step = np.linalg.lstsq(curvature, slope, rcond=None)[0]
        gain = float(slope @ step)
        if gain <= 1e-12 * max(1.0, abs(value)):
            converged = True
            break
        for size in 0.5 ** np.arange(30):
            derivatives = _derivatives(rows, times, beta + size * step, penalty)
            if derivatives[0] >= value:
                break
        else:
            converged = True
            break
        beta = beta + size * step
        value, slope, curvature = derivatives
    # Without a penalty, risks that order the events perfectly have no finite maximum.
    flat = beta @ curvature @ beta < 1e-6 * (beta @ at_zero @ beta)
    converged = converged and not flat
    return (beta if rotation is None else rotation.T @ beta), converged


def _derivatives(
    rows: Floats, times: Times, beta: Floats, penalty: float
) -> tuple[float, Floats, Floats]:
    """Penalised log partial likelihood, its gradient (m,), and minus its Hessian (m, m)."""
    m = rows.shape[1]
    linear = rows @ beta
    # Only ratios of risks matter: scaled so that the largest is 1 and none overflows.
    risk = times.weight * np.exp(linear - linear.max(initial=0.0))
    value, slope = 0.0, np.zeros(m)
    curvature = np.zeros((m, m))
    at_risk, first, second = 0.0, np.zeros(m), np.zeros((m, m))
    top = float(linear.max(initial=0.0))
    for start, stop, happened in times.moments:
        block, r = rows[start:stop], risk[start:stop, None]
        at_risk += float(r.sum())
        first += (r * block).sum(axis=0)
        second += block.T @ (r * block)
        died, r, w = rows[happened], risk[happened, None], times.weight[happened]
        shares = times.leaving(happened)
        some, of_first, of_second = float(r.sum()), (r * died).sum(axis=0), died.T @ (r * died)
        left = at_risk - shares * some
        means = (first - shares[:, None] * of_first) / left[:, None]
        value += float(w @ (linear[happened] - top)) - float(np.log(left).sum())
        slope += w @ died - means.sum(axis=0)
        curvature += (1.0 / left).sum() * second - (shares / left).sum() * of_second
        curvature -= means.T @ means
    value -= 0.5 * penalty * float(beta @ beta)
    return value, slope - penalty * beta, curvature + penalty * np.eye(m)


DEFAULT_COUNT = 10


@attrs.frozen(kw_only=True)
class CoxScore(FilterWithTests):
    """Features ranked by the score test of Cox's model, each alone.

    Without `top`, 10 features are kept; with `alpha` those whose p-value, adjusted for the number
    of features, is at most `alpha`, which may be none. Tables ``p_values``, ``q_values`` (with
    `alpha`) and ``z_score`` are stored; z is positive where larger values go with earlier events.
    p-values hold for a feature that says nothing about the times or about censoring; if it is
    related to censoring only, they are too large, not too small.

    Notes
    -----
    With risk sets R(t) of the rows whose time is at least t, U = Σ_events (x − x̄_R(t)) and
    V = Σ_events var_R(t)(x), the derivatives of the log partial likelihood at β = 0 (Cox 1972,
    eqs. 14 – 16); the score is U²/V, under the null χ² with one degree of freedom, and z = U/√V.
    For a binary column without ties it is the log-rank test. A feature that is constant in every
    risk set scores 0. Bootstrap counts and weights of rows act as copies. O(n p).

    Tied events are treated by Efron's (1977) or Breslow's method (`ties`).

    Departures: χ² of U²/V gives too many small p-values where features have heavy tails, few rows
    or few carriers: of 100 rows p ≤ 0.0001 in 0.0013 of t-distributed columns (2 degrees of
    freedom), in 0.0016 of binary ones with a tenth of ones. By default p-values are those of U over
    permutations of the feature (`permutation_p_values`), of which at most 0.0002 are that small;
    ``null=chi2`` is the published law.

    References
    ----------
    D. Cox 1972, Regression models and life tables, J. R. Statist. Soc. B 34:187–220. B. Efron 1977,
    The efficiency of Cox's likelihood function for censored data, JASA 72:557–565.

    Examples
    --------
    >>> data = Dataset.from_arrays([[3.0, 1], [2, 1], [1, 2], [0, 1]], [1, 2, 3, 4],
    ...                            event=[1, 1, 1, 0])
    >>> CoxScore(top=1).select(data).scores.round(3)
    array([4.154, 0.011])
    """

    univariate: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset({"survival"})
    takes_counts: ClassVar[bool] = True

    top: int | float | None = number_to_keep("10")
    alpha: float | None = level_of_tests()
    correction: str = correction_of_tests()
    ties: str = param("efron", choice("efron", "breslow"), help="Treatment of tied event times.")
    null: str = param(
        "permutation",
        choice("permutation", "chi2"),
        help="Law of the p-values: permutation (chi2, or moments over permutations of the feature "
        "where they give more; keeps its level), chi2 (published; too small for heavy tails and "
        "rare values).",
    )

    def top_only_cuts(self) -> bool:
        return True

    def cost(self, n: int, p: int) -> Cost:
        return Cost(seconds=5e-4 + 2e-5 * n + 3e-8 * n * p, formula="5e-4 + 2e-5 n + 3e-8 np")

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        data = self.independent_rows(data)
        weight = data.row_counts.astype(np.float64)
        times = Times.of(*times_and_events(data.y), weight, efron=self.ties == "efron")
        z, permuted = np.zeros(data.n_features), np.zeros(data.n_features)
        for start, stop in data.column_blocks(min(1 << 25, run.memory // 8)):
            block = np.asarray(data.columns(start, stop), dtype=np.float64)
            scale = np.abs(block - block.mean(axis=0)).max(axis=0, initial=0.0)
            block = block / np.where(scale > 0, scale, 1.0)
            U, V = score_tests(block, times)
            # For a column that is constant among the rows at risk only rounding remains.
            known = V > 1e-12
            z[start:stop] = np.divide(U, np.sqrt(V), out=np.zeros_like(U), where=known)
            if self.null == "permutation":
                permuted[start:stop] = permutation_p_values(block, times)
        p_values = np.maximum(2.0 * special.ndtr(-np.abs(z)), permuted)
        tested = self.significant_columns(z**2, p_values, data, DEFAULT_COUNT)
        return attrs.evolve(tested, tables={**tested.tables, "z_score": z})


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
    model, an error if it has no finite maximum. The risk of a row is βᵀ(x − x̄). Tied events are
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
        weight = data.row_counts.astype(np.float64)
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
