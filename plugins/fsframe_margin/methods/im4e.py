"""IM4E: feature weights that maximise the quantity and the quality of margins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection
from fsframe.params import choice, either, flag, integer, optional, param, real
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.training import Training, one_blas_thread
from fsframe_margin.methods.margin_selector import SAMPLE, TunedSelector, carried

if TYPE_CHECKING:
    from fsframe_margin.engine.descent import Descent
    from fsframe_margin.engine.margins import PairSpace, Point

Floats = NDArray[np.float64]

_PAPER = "Bei, Hong 2015"


@attrs.frozen(kw_only=True)
class Im4e(TunedSelector):
    """Feature weights w of a Manhattan distance that maximise margins and their stability.

    Parameters
    ----------
    sigma : float > 0 or "cv"
        Width σ of the neighbourhood; ``"cv"`` chooses among 1, ½, ¼ … ≥ 1e-4.
    penalty : float > 0, optional
        λ of eq. 3: step 2 then finds the minimiser of eq. 3 on the simplex.
    line_search : bool
        Move towards the w of step 2 only as far as the cost decreases.
    max_iter, tol : int, float
        Maximum number of updates; relative change of the cost at which it stops.
    start : {"uniform", "random", "upstream"}
        Start of w.
    threshold : float > 0
        Columns with a weight above threshold/A are kept.
    margins : bool
        Also store each row's margin and entropies.
    standardize, folds, prototypes
        As in `immigrate`.

    Notes
    -----
    Alternates eq. 5–6 (α, β at fixed w) and eq. 9 (w = v⁺/‖v⁺‖₁), from which λ of eq. 3 drops out.
    With `penalty`, step 2 is exact instead: eq. 3 at fixed α, β is quadratic, and its minimiser
    over w ≥ 0, ‖w‖₁ = 1 is the projection of v/2λ on the simplex (§3.2 says that it can be found
    and prefers eq. 9). The iterate of the lowest cost is returned, because the alternation need
    not lower the cost in every step: β is a maximum of eq. 3, not a minimum (eq. 8). The score of a
    column is the margin that it carries, w_a v_a / N at the solution: w_a² / ‖w‖² of the margin.

    Time per iteration 2 N² A multiply-adds and 2 N² exponentials; memory 8 N² bytes up to 4096
    rows, a few rows of length N above.

    References
    ----------
    Bei, Hong: Maximizing margin quality and quantity, MLSP 2015, Algorithm 1, eq. 3–10.
    IMMIGRATE paper, §3.6 and §4.2, for the threshold 2/A of the pre-screening.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 5))
    >>> selection = Im4e().select(Dataset.from_arrays(X, X[:, 2] > 0))
    >>> selection.selected, bool(abs(selection.weights.sum() - 1) < 1e-12)
    (array([2]), True)
    """

    sigma: float | str = param(
        1.0,
        either(real(above=0), choice("cv")),
        help="Width of the neighbourhood; cv: chosen by inner cross-validation.",
        symbol="σ",
        source=f"{_PAPER}, eq. 5; path in §5.2",
    )
    penalty: float | None = param(
        None,
        optional(real(above=0)),
        help="Weight λ of ‖w‖² in the cost, with step 2 by its minimiser on the simplex; by "
        "default the closed form as printed, in which λ cancels.",
        symbol="λ",
        source=f"{_PAPER}, eq. 3; §3.2",
    )
    line_search: bool = param(
        False,
        flag(),
        help="Line search: step towards the update only as far as the cost decreases.",
    )
    max_iter: int = param(
        50, integer(0), help="Maximum number of updates.", source=f"{_PAPER}, Algorithm 1"
    )
    tol: float = param(
        1e-5, real(0), help="Stop when the relative change of the cost is at most this."
    )
    start: str = param(
        "uniform",
        choice("uniform", "random", "upstream"),
        help="Start of w; random in the paper.",
        source=f"{_PAPER}, Algorithm 1",
    )
    threshold: float = param(
        2.0,
        real(above=0),
        help="Without top: keep features with a weight above threshold/A, at least one.",
        source="IMMIGRATE, §4.2 (1/A in its earlier version)",
    )

    margins: bool = param(
        False,
        flag(),
        help="Also store each row's expected margin and the entropies of its hits and misses.",
        source=f"{_PAPER}, §2.1–2.2",
    )

    def check_parameters(self) -> Iterator[str]:
        """Refuse margins of prototypes."""
        yield from super().check_parameters()
        if self.margins and self.prototypes is not None:
            yield (
                "margins reports on every row, but prototypes learns from a sample; use one of them"
            )

    def cost(self, n: int, p: int) -> Cost:
        m = n if self.prototypes is None else min(n, self.prototypes)
        # Fourteen widths in each fold; narrow ones take several times as many updates.
        fits = 1 + 80 * self.folds * (self.sigma == "cv")
        return Cost(
            seconds=5e-3 + fits * m * m * (2e-8 + 1.3e-9 * p),
            formula=f"0.005 + {f'{fits} × ' * (fits > 1)}{'n' if m == n else m}² (2e-8 + 1.3e-9 p)",
            remedy=f"im4e:prototypes={SAMPLE}, a sample of rows" if m > SAMPLE else "",
        )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.margins import PairSpace, row_margins

        training = self._drawn(data, upstream, run)
        start = self._start(training, upstream, run)
        sigma, tables = self._sigma(training, start, run)
        space = PairSpace.of(training, run, linear=True)
        rows = training
        training = training.released()
        if not self.margins:
            del rows
        descent = self._descend(space, start, sigma)
        weights, margin = descent.weights, space.margin(descent.point, sigma)
        notes = []
        w = training.spread(weights)
        if self.margins:
            of_rows = row_margins(rows, weights, sigma)
            tables |= {
                "margins": of_rows.margin,
                "hit-entropy": of_rows.hit_entropy,
                "miss-entropy": of_rows.miss_entropy,
            }
        if descent.iterations == 0 and descent.converged:
            notes.append("no feature has a positive expected margin: w was left where it started")
        if not descent.converged:
            notes.append(f"no convergence: {descent.stopped}")
        return self._selection(
            training,
            w,
            int((w > self.threshold / training.varying.size).sum()),
            scores=carried(w**2, margin),
            weights=w,
            model={"w": w, "sigma": np.float64(sigma)},
            tables={
                "cost": descent.cost,
                "step": descent.step,
                "sigma": np.array([sigma]),
                **tables,
            },
            notes=notes,
        )

    def _start(self, training: Training, upstream: Selection | None, run: Run) -> Floats:
        size = training.varying.size
        if self.start == "random":
            w = 1.0 - run.generator(0).random(size)  # in (0, 1]: the paper has w > 0
            return w / w.sum()
        if self.start == "upstream" and upstream is not None and upstream.weights is not None:
            w = upstream.weights[training.varying]
            if w.sum() > 0:
                return w / w.sum()
        return np.full(size, 1.0 / size)

    def _sigma(self, training: Training, start: Floats, run: Run) -> tuple[float, dict[str, Any]]:
        if self.sigma != "cv":
            return float(self.sigma), {}
        from fsframe_margin.engine.prediction import IM4E_PATH

        def fit(space: PairSpace, start: Floats, setting: tuple[float, Any]) -> Floats:
            weights: Floats = self._descend(space, start, setting[0]).weights
            return weights

        tuned = self._tune(training, start, [(sigma, None) for sigma in IM4E_PATH], fit, run)
        return IM4E_PATH[tuned.best], {
            "tuning-sigma": np.array(IM4E_PATH),
            "tuning-accuracy": tuned.accuracy,
        }

    def _descend(self, space: PairSpace, start: Floats, sigma: float) -> Descent:
        return descend_im4e(
            space,
            start,
            sigma,
            penalty=self.penalty,
            line_search=self.line_search,
            max_iter=self.max_iter,
            tol=self.tol,
        )


def descend_im4e(
    space: PairSpace,
    start: Floats,
    sigma: float,
    *,
    penalty: float | None = None,
    line_search: bool = False,
    max_iter: int = 50,
    tol: float = 1e-5,
    keep_best: bool = True,
) -> Descent:
    """IM4E's w = v⁺/‖v⁺‖₁ (Algorithm 1, eq. 5, 6, 9) from `start`.

    Parameters
    ----------
    space : PairSpace
        With ``linear=True``.
    start : (A,) float64
        Non-negative, sum one.
    sigma, penalty, line_search, max_iter, tol
        As for `Im4e`.
    keep_best : bool
        Return the iterate of the lowest cost, not the last.

    Notes
    -----
    The cost is the G of `engine.margins` with q = wᵀ|x_i − x_j|, which is eq. 3 after step (a),
    plus λ‖w‖² with a `penalty`; eq. 9 does not depend on λ. v⁺/‖v⁺‖₁ is not the minimiser of the
    linear form over the simplex, so the plain iteration need not lower the cost; the line search
    stops if its direction is not a descent direction.
    """
    from fsframe_margin.engine.descent import SMALLEST_STEP, DescentState, gain

    ridge = 0.0 if penalty is None else penalty
    point = space.point(start, sigma)

    def cost_at(point: Point) -> float:
        return point.cost + ridge * float(point.weights @ point.weights)

    state = DescentState(point, cost_at(point), max_iter=max_iter, tol=tol, keep_best=keep_best)
    while state.updates < max_iter:
        point = state.point
        here = cost_at(point)
        u = space.gradient(point, sigma)
        if penalty is not None:
            target = on_the_simplex(-u / (2.0 * penalty))
        else:
            positive = gain(u)
            if not positive.any():
                state.stop("no weights lower the cost: v⁺ is zero")
                break
            target = positive / positive.sum()
        step, trial = 1.0, space.point(target, sigma)
        if line_search:
            slope = float((u + 2.0 * ridge * point.weights) @ (target - point.weights))
            while not (cost_at(trial) <= here + 1e-4 * step * slope and slope < 0):
                step /= 2
                if step < SMALLEST_STEP or not slope < 0:
                    break
                trial = space.point((1 - step) * point.weights + step * target, sigma)
            if step < SMALLEST_STEP or not slope < 0:
                state.stop("no step lowers the cost")
                break
        state.move(trial, cost_at(trial), step)
        if state.has_converged():
            state.stop()
            break
    return state.result()


def on_the_simplex(v: Floats) -> Floats:
    """Euclidean projection of v onto the simplex {w ≥ 0, Σ w = 1}.

    Parameters
    ----------
    v : (A,) float64

    Returns
    -------
    (A,) float64
        max(0, v − τ), τ such that the sum is one. O(A log A).

    References
    ----------
    Held, Wolfe, Crowder 1974, Validation of subgradient optimization, Math. Programming 6:62.

    Examples
    --------
    >>> on_the_simplex(np.array([0.9, 0.5, -3.0])).round(9).tolist()
    [0.7, 0.3, 0.0]
    """
    # The largest is subtracted, because with large values the 1 would be lost to rounding.
    v = v - v.max()
    ordered = np.sort(v)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, v.size + 1)
    w = np.maximum(v - excess[np.flatnonzero(ordered > excess)[-1]], 0.0)
    return w / w.sum()  # type: ignore[no-any-return]
