"""IM4E: feature weights that maximise the quantity and the quality of margins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

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

LOSSES = ("linear", "logistic", "hinge", "sigmoid")


@attrs.frozen(kw_only=True)
class Im4e(TunedSelector):
    """Feature weights w of a Manhattan distance that maximise margins and their stability.

    Parameters
    ----------
    sigma : float > 0 or "cv"
        Width σ of the neighbourhood; ``"cv"`` chooses among 1, ½, ¼ … ≥ 1e-4.
    penalty : float > 0, optional
        λ of eq. 3: step 2 then finds the minimiser of eq. 3 on the simplex.
    loss : {"linear", "logistic", "hinge", "sigmoid"}
        Loss ℓ of a row's margin m, in standard deviations of the columns: −m as printed,
        log(1 + e^{−m}), max(0, 1 − m) or 1/(1 + e^m).
    l1 : float > 0, optional
        λ of λ‖w‖₁ per row in place of the constraint ‖w‖₁ = 1, for a loss that is not linear.
    line_search : bool
        Move towards the w of step 2 only as far as the cost decreases.
    max_iter, tol : int, float
        Maximum number of updates; relative change of the cost at which it stops.
    start : {"uniform", "random", "upstream"}
        Start of w.
    threshold : float > 0
        Columns with a weight above threshold/A are kept; with `l1`, those with a weight above 0.
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

    With another `loss` (the paper names all three as future work) the cost is Σ_n ℓ(m_n), m_n the
    negated contribution of row n to eq. 3, its entropies relative to their largest values; eq. 5–6
    still hold, and in v each row is weighted by −ℓ′(m_n). With `l1` the cost is
    Σ_n ℓ(m_n) + λN‖w‖₁ over w ≥ 0, which is descended by projected gradient steps that never
    raise it; the loss must not be linear, because the cost would then have no minimum.
    The result is w/‖w‖₁ with σ/‖w‖₁, which have the same α and β.

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
    loss: str = param(
        "linear",
        choice(*LOSSES),
        help="Loss of a row's margin; linear as printed, the others its future work.",
        symbol="ℓ",
        source=f"{_PAPER}, §6",
    )
    l1: float | None = param(
        None,
        optional(real(above=0)),
        help="Weight λ of ‖w‖₁ per row, in place of the constraint ‖w‖₁ = 1; needs a loss that is "
        "not linear.",
        symbol="λ",
        source=f"{_PAPER}, §6",
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
        """Refuse penalty with another loss, l1 with a linear one, and margins of prototypes."""
        yield from super().check_parameters()
        if self.penalty is not None and (self.loss != "linear" or self.l1 is not None):
            yield (
                "penalty finds the minimiser for the linear loss on the simplex; use l1 with "
                "another loss, or leave penalty out"
            )
        if self.l1 is not None and self.loss == "linear":
            yield (
                "l1 takes the place of the constraint on the sum of weights, without which a "
                "linear loss has no minimum; use loss=logistic, hinge or sigmoid"
            )
        if self.l1 is not None and self.line_search:
            yield "l1 always searches along its line; leave line_search out"
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
        if self.l1 is not None:
            total = float(weights.sum())
            if total > 0:
                # The same α and β, with weights that sum to one as everywhere else.
                weights, sigma, margin = weights / total, sigma / total, margin / total
            else:
                notes.append(f"l1={self.l1:g} leaves no weight: use a smaller one")
        w = training.spread(weights)
        if self.margins:
            of_rows = row_margins(rows, weights, sigma)
            tables |= {
                "margins": of_rows.margin,
                "hit-entropy": of_rows.hit_entropy,
                "miss-entropy": of_rows.miss_entropy,
            }
        if descent.iterations == 0 and descent.converged and self.l1 is None:
            notes.append("no feature has a positive expected margin: w was left where it started")
        if not descent.converged:
            notes.append(f"no convergence: {descent.stopped}")
        return self._selection(
            training,
            w,
            int((w > (self.threshold / training.varying.size if self.l1 is None else 0.0)).sum()),
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
        if self.l1 is not None:
            return descend_sparse(
                space,
                start,
                sigma,
                loss_name=self.loss,
                l1=self.l1,
                max_iter=self.max_iter,
                tol=self.tol,
            )
        return descend_im4e(
            space,
            start,
            sigma,
            penalty=self.penalty,
            loss_name=self.loss,
            line_search=self.line_search,
            max_iter=self.max_iter,
            tol=self.tol,
        )


def loss(name: str, margin: Floats) -> tuple[Floats, Floats]:
    """The loss ℓ(m) of each margin, and −ℓ′(m), the weight of its row in the gradient.

    Parameters
    ----------
    name : {"linear", "logistic", "hinge", "sigmoid"}
        ℓ(m) = −m, log(1 + e^{−m}), max(0, 1 − m), or 1/(1 + e^m).
    margin : (n,) float64

    Returns
    -------
    tuple of two (n,) float64
        The second is never negative. For hinge it is 1 below m = 1, and 0 from there on.

    Examples
    --------
    >>> [value.tolist() for value in loss("hinge", np.array([-1.0, 0.5, 2.0]))]
    [[2.0, 0.5, 0.0], [1.0, 1.0, 0.0]]
    """
    if name == "linear":
        return -margin, np.ones_like(margin)
    if name == "logistic":
        return np.logaddexp(0.0, -margin), expit(-margin)
    if name == "hinge":
        return np.maximum(1.0 - margin, 0.0), (margin < 1.0).astype(float)
    value = expit(-margin)
    return value, value * (1.0 - value)


def soft_margins(space: PairSpace, point: Point, sigma: float) -> Floats:
    """The margin of each row with σ times its entropies, rows sorted by class; 0 without a hit.

    Parameters
    ----------
    space : PairSpace
    point : Point
        A point of `space`, at the same σ.
    sigma : float > 0

    Returns
    -------
    (n,) float64
        Σ_m β q − Σ_h α q − σ (E_miss − E_hit), the negated contribution of a row to eq. 3 after
        step (a), with each entropy relative to its largest value, log of the number of hits or of
        misses: otherwise the rows of a large class would have larger margins at any w.
    """
    sums = np.concatenate([[0.0], np.cumsum(space.count)])
    of_class = sums[space.rows.end] - sums[space.rows.begin]
    # A row alone in its class has no hits, and no weight in the sum over rows.
    hits = np.where(space.alone, 1.0, of_class - space.count)
    misses = np.maximum(sums[-1] - of_class, np.finfo(float).tiny)
    log_hits = np.where(space.alone, 0.0, point.log_hits)
    margins = sigma * (log_hits - np.log(hits) - point.log_misses + np.log(misses))
    return np.where(space.alone, 0.0, margins)


def cost_of_loss(space: PairSpace, point: Point, sigma: float, loss_name: str) -> float:
    """Σ_n o_n ℓ(m_n) at a point; for the linear loss G itself."""
    if loss_name == "linear":
        return point.cost
    values, _ = loss(loss_name, soft_margins(space, point, sigma))
    return float(space.outer @ values)


def gradient_of_loss(space: PairSpace, point: Point, sigma: float, loss_name: str) -> Floats:
    """The gradient of `cost_of_loss` in w: each row counts −ℓ′(m_n) times."""
    if loss_name == "linear":
        return space.gradient(point, sigma)
    _, pull = loss(loss_name, soft_margins(space, point, sigma))
    return space.gradient(point, sigma, space.outer * pull)


def descend_im4e(
    space: PairSpace,
    start: Floats,
    sigma: float,
    *,
    penalty: float | None = None,
    loss_name: str = "linear",
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
    loss_name : str
        As `loss` for `Im4e`.
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
        of_rows = cost_of_loss(space, point, sigma, loss_name)
        return of_rows + ridge * float(point.weights @ point.weights)

    state = DescentState(point, cost_at(point), max_iter=max_iter, tol=tol, keep_best=keep_best)
    while state.updates < max_iter:
        point = state.point
        here = cost_at(point)
        u = gradient_of_loss(space, point, sigma, loss_name)
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


def descend_sparse(
    space: PairSpace,
    start: Floats,
    sigma: float,
    *,
    loss_name: str,
    l1: float,
    max_iter: int = 50,
    tol: float = 1e-5,
) -> Descent:
    """Weights w ≥ 0 of any sum that minimise the mean of ℓ(m_n), plus λ‖w‖₁, from `start`.

    Parameters
    ----------
    space : PairSpace
        With ``linear=True``.
    start : (A,) float64
        Non-negative.
    sigma, l1, max_iter, tol
        As for `Im4e`.
    loss_name : {"logistic", "hinge", "sigmoid"}

    Returns
    -------
    Descent
        The weights are those of the last point.

    Notes
    -----
    Projected gradient steps w ← (w − t (u/N + λ))⁺, t halved until the cost falls by 1e-4 ‖Δw‖²/t
    (Bertsekas 1976, IEEE Trans. Automat. Control 21:174) and doubled after each step. As in the
    other descents the cost is a sum over rows, N times the function that is minimised. O(A) and one
    pass over all pairs of rows for each trial of a step.
    """
    from fsframe_margin.engine.descent import SMALLEST_STEP, DescentState

    def cost_at(point: Point) -> float:
        of_rows = cost_of_loss(space, point, sigma, loss_name)
        return of_rows + space.total * l1 * float(point.weights.sum())

    point = space.point(start, sigma)
    state = DescentState(point, cost_at(point), max_iter=max_iter, tol=tol)
    step = 1.0
    while state.updates < max_iter:
        point, here = state.point, state.costs[-1]
        slope = gradient_of_loss(space, point, sigma, loss_name) / space.total + l1
        while True:
            target = np.maximum(point.weights - step * slope, 0.0)
            change = target - point.weights
            trial = space.point(target, sigma)
            there = cost_at(trial)
            fall = 1e-4 * space.total * float(change @ change) / step
            if not change.any() or there <= here - fall or step < SMALLEST_STEP:
                break
            step /= 2
        if not change.any() or step < SMALLEST_STEP:
            state.stop("no step lowers the cost")
            break
        state.move(trial, there, step)
        step *= 2
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
