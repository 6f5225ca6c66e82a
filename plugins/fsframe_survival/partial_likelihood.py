"""Cox's partial likelihood: univariate score tests, and penalised maximisation."""

from __future__ import annotations

from itertools import pairwise

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["Times", "fit_ridge", "score_tests"]

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
            found = _derivatives(rows, times, beta + size * step, penalty)
            if found[0] >= value:
                break
        else:
            converged = True
            break
        beta = beta + size * step
        value, slope, curvature = found
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
