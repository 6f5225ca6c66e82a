"""Descents over weights: the target of step 2 for each interpretation of the constraint, state,
convergence, and the line search for W, stored or implicit.

Implicit is W over all pairs of very many features. Under the element-wise rule every iterate W is a
combination of matrices (−Dᵀ diag(c) D − λ)⁺, with D the differences of the P pairs of rows. Any
tile of W can be computed from the coefficients c (P numbers per term).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels import in_threads
from fsframe_margin.engine import neighbour_shares, pair_blocks
from fsframe_margin.engine.margins import PairSpace, Point
from fsframe_margin.engine.neighbour_shares import SMALLEST_STEP, Arc, descends, factors, first_step

Floats = NDArray[np.float64]


def gain(gradient: Floats, penalty: float = 0.0) -> Floats:
    """(−Σ − λ)⁺, the element-wise rule before its norm: for W or w whole, or for a tile of W.

    Every route of `immigrate` takes the rule from here.
    """
    return np.maximum(-gradient - penalty, 0.0)


def elementwise(gradient: Floats, penalty: float = 0.0) -> Floats | None:
    """The exact minimiser of <Σ, W> + λ Σ W over W ≥ 0, ‖W‖_F = 1: (−Σ − λ)⁺ / ‖(−Σ − λ)⁺‖_F.

    Parameters
    ----------
    gradient : (A, A) or (A,) float64
        Σ, symmetric.
    penalty : float
        λ ≥ 0.

    Returns
    -------
    ndarray or None
        None if no entry of −Σ − λ is positive, so that no weights lower the cost.

    Notes
    -----
    At fixed norm the linear form is smallest along its negative gradient, projected onto the cone
    W ≥ 0; the same argument as eq. 3.17, entry by entry.

    Examples
    --------
    >>> elementwise(np.array([[-3.0, 1.0], [1.0, -4.0]]))
    array([[0.6, 0. ],
           [0. , 0.8]])
    """
    positive = gain(gradient, penalty)
    norm = math.sqrt(np.vdot(positive, positive))
    return positive / norm if 0 < norm < math.inf else None


def positive_semidefinite(gradient: Floats, clip: bool = False) -> Floats | None:
    """W = ΦΦᵀ of Theorem 3.1 (eq. 3.8): the minimiser of <Σ, W> over W ⪰ 0, ‖W‖_F = 1.

    Parameters
    ----------
    gradient : (A, A) float64
        Σ, symmetric.
    clip : bool
        Set negative entries to zero and renormalise, as the authors' program does: ΦΦᵀ may have
        negative entries, contrary to W ≥ 0 of eq. 3.5. The result is then not a minimiser.

    Returns
    -------
    (A, A) float64 or None
        None if Σ has no negative eigenvalue.
    """
    values, vectors = np.linalg.eigh(gradient)
    positive = np.maximum(-values, 0.0)
    if not positive.any():
        return None
    W = (vectors * (positive / np.linalg.norm(positive))) @ vectors.T
    W = (W + W.T) / 2
    if not clip:
        return W
    W = np.maximum(W, 0.0)
    return W / np.linalg.norm(W)


def update(gradient: Floats, rule: str, penalty: float = 0.0) -> Floats | None:
    """The minimiser of step 2 under `rule`, or None if no weights lower the cost."""
    if rule == "elementwise":
        return elementwise(gradient, penalty)
    return positive_semidefinite(gradient, clip=rule == "psd-clip")


def prune(W: Floats, threshold: float) -> Floats:
    """W with entries below `threshold` set to zero, renormalised (§3.4.3).

    If every entry is below it, the largest are kept.

    Examples
    --------
    >>> prune(np.array([[0.8, 0.1], [0.1, 0.583]]), 0.5).round(3)
    array([[0.808, 0.   ],
           [0.   , 0.589]])
    """
    kept = np.where(min(threshold, W.max()) > W, 0.0, W)
    return kept / np.linalg.norm(kept)


_Pairs = tuple[NDArray[np.intp], NDArray[np.intp], Floats]

_ROWS, _COLUMNS = 512, 1024
_PAIRS = 4096

THREAD_BYTES = 160 << 20
"""Memory of one thread: tiles, and differences of pairs in their columns."""


def tile_bytes(features: int) -> int:
    """Bytes of the upper tiles of two matrices over pairs of features."""
    return 8 * features * (features + _COLUMNS)


def column_tiles(features: int, width: int) -> list[tuple[int, int]]:
    """Ranges of columns, the same for any number of threads.

    >>> column_tiles(1100, 512)
    [(0, 512), (512, 1024), (1024, 1100)]
    """
    return list(pairwise([*range(0, features, width), features]))


@attrs.frozen(eq=False)
class ImplicitWeights:
    """W = diag(main) + Σ_k factor_k (−Σ(c_k) − λ)⁺.

    Parameters
    ----------
    main : (A,) float64
        Added to the diagonal of the terms.
    factors, coefficients : sequences
        One number and one (P,) vector of pair coefficients per term.
    """

    main: Floats
    factors: tuple[float, ...] = ()
    coefficients: tuple[Floats, ...] = ()

    def mixed(self, a: float, other: ImplicitWeights, b: float) -> ImplicitWeights:
        """a·self + b·other."""
        kept = [
            (a * f, c) for f, c in zip(self.factors, self.coefficients, strict=True) if a * f > 0
        ] + [(b * f, c) for f, c in zip(other.factors, other.coefficients, strict=True)]
        return ImplicitWeights(
            a * self.main + b * other.main, tuple(f for f, _ in kept), tuple(c for _, c in kept)
        )


@attrs.define(eq=False)
class Direction:
    """The minimiser U of step 2, with the quantities that the line search needs.

    `measured` is q_U over all pairs of rows (n, n); `overlap` is <W, U>; `total` is Σ U.
    """

    weights: ImplicitWeights
    measured: Floats
    overlap: float
    total: float


@attrs.frozen(eq=False)
class WeightSummary:
    """Summary of W: row sums of squares, the diagonal (A,), and the largest pairs.

    Pairs (i < j) are sorted by weight, best first, ties by column.
    """

    squares: Floats
    main: Floats
    i: NDArray[np.intp]
    j: NDArray[np.intp]
    weight: Floats


class ImplicitPairs:
    """Passes over all pairs of features in tiles, for a `PairSpace` whose W does not fit.

    Notes
    -----
    If the upper tiles of W and U together (8 A² bytes) fit into `memory`, they are stored, and one
    direction costs P A² multiply-adds for P pairs of rows. Otherwise no memory grows with A², and
    the tiles of W are recomputed from its m terms: (1 + m/2) P A², with m = 1 after a full step. In
    addition each thread holds tiles of 512 × 1024 and differences of 4096 pairs × 1536 columns,
    about 150 MB.
    """

    def __init__(
        self,
        space: PairSpace,
        memory: int = 0,
        *,
        rows: Floats | None = None,
        steps: Floats | None = None,
    ) -> None:
        self.space = space
        self.steps = np.zeros(space.features) if steps is None else steps
        features = space.features
        self.stores_tiles = tile_bytes(features) <= memory
        self._held: tuple[ImplicitWeights | None, dict[tuple[int, int], Floats]] = (None, {})
        self._target: dict[tuple[int, int], Floats] = {}
        if rows is None:
            self.X = np.ascontiguousarray(space.XT[: space.features].T)
        else:
            self.X = np.ascontiguousarray(rows[space.order])
        n = space.n_rows
        first, second = np.triu_indices(n, 1)
        self.first, self.second = first, second
        self.pairs = len(first)

    def _differences(self, pairs: NDArray[np.intp] | slice, a: int, b: int) -> Floats:
        """|x_i − x_j| of some pairs in a range of columns."""
        D = self.X[self.first[pairs], a:b]
        D -= self.X[self.second[pairs], a:b]
        return self._stepped(np.abs(D, out=D), slice(a, b))

    def _stepped(self, D: Floats, columns: slice | NDArray[np.intp]) -> Floats:
        """Replace nonzero differences (m, k) in nominal columns with the step."""
        steps = self.steps[columns]
        for a in np.flatnonzero(steps):
            D[:, a] = np.where(D[:, a] > 0.0, steps[a], 0.0)
        return D

    def _chunks(self) -> list[tuple[int, int]]:
        return column_tiles(self.pairs, _PAIRS)

    def _scatter_tiles(
        self, coefficients: tuple[Floats, ...], a: int, b: int, c: int, d: int
    ) -> list[Floats]:
        """One tile of Dᵀ diag(c_k) D per term, over the pairs with a nonzero coefficient."""
        out = [np.zeros((b - a, d - c)) for _ in coefficients]
        live = np.flatnonzero(np.any(coefficients, axis=0))
        for start, stop in column_tiles(live.size, _PAIRS):
            pairs = live[start:stop]
            left = self._differences(pairs, a, b)
            right = left if (a, b) == (c, d) else self._differences(pairs, c, d)
            for tile, weights in zip(out, coefficients, strict=True):
                tile += (left * weights[pairs, None]).T @ right
        return out

    def _weight_tile(
        self, weights: ImplicitWeights, penalty: float, a: int, b: int, c: int, d: int
    ) -> Floats:
        """W[a:b, c:d]."""
        if self._held[0] is weights:
            return self._held[1][a, c]
        tile = np.zeros((b - a, d - c))
        scatters = self._scatter_tiles(weights.coefficients, a, b, c, d)
        for factor, scatter in zip(weights.factors, scatters, strict=True):
            tile += factor * gain(scatter, penalty)
        rows = np.arange(max(a, c), min(b, d))
        tile[rows - a, rows - c] += weights.main[rows]
        return tile

    def _blocks(self, a: int, b: int) -> Iterator[tuple[int, int, float]]:
        """Column ranges of the upper triangle for rows a … b−1, with their multiplicity."""
        yield a, b, 1.0
        for c in range(b, self.space.features, _COLUMNS):
            yield c, min(c + _COLUMNS, self.space.features), 2.0

    def _each_row_tile(self, work: Callable[[int, int], Any]) -> list[Any]:
        tiles = column_tiles(self.space.features, _ROWS)
        return in_threads(self.space.threads, lambda tile: work(*tile), tiles)

    def _square(self, values: Floats) -> Floats:
        q = np.zeros((self.space.n_rows,) * 2)
        pair_blocks.spread(q, 0, 1, values.size, values)
        return q

    def measure(self, weights: ImplicitWeights, penalty: float = 0.0) -> Floats:
        """q over all pairs of rows (n, n) under `weights`."""

        def part(a: int, b: int) -> Floats:
            q = np.zeros(self.pairs)
            if not weights.factors:
                for start, stop in self._chunks():
                    q[start:stop] = (
                        self._differences(slice(start, stop), a, b) ** 2 @ weights.main[a:b]
                    )
                return q
            for c, d, often in self._blocks(a, b):
                tile = self._weight_tile(weights, penalty, a, b, c, d)
                self._add_products(tile, a, b, c, d, often, q)
            return q

        return self._square(_sum_in_order(self._each_row_tile(part), self.pairs))

    def _add_products(
        self, tile: Floats, a: int, b: int, c: int, d: int, often: float, q: Floats
    ) -> None:
        for start, stop in self._chunks():
            left = self._differences(slice(start, stop), a, b)
            right = left if (a, b) == (c, d) else self._differences(slice(start, stop), c, d)
            q[start:stop] += often * pair_blocks.row_products(left @ tile, right)

    def direction(
        self, coefficients: Floats, current: ImplicitWeights, penalty: float
    ) -> Direction | None:
        """U = (−Σ − λ)⁺ / ‖·‖_F for Σ = Dᵀ diag(coefficients) D, or None if it is zero."""
        coefficients = np.where(np.abs(coefficients) > self.space.negligible, coefficients, 0.0)

        def part(a: int, b: int) -> tuple[Floats, float, float, float]:
            q, norm, overlap, total = np.zeros(self.pairs), 0.0, 0.0, 0.0
            for c, d, often in self._blocks(a, b):
                (scatter,) = self._scatter_tiles((coefficients,), a, b, c, d)
                tile = gain(scatter, penalty)
                if self.stores_tiles:
                    self._target[a, c] = tile
                norm += often * float((tile**2).sum())
                total += often * float(tile.sum())
                if current.factors:
                    held = self._weight_tile(current, penalty, a, b, c, d)
                    overlap += often * float((held * tile).sum())
                elif often == 1.0:
                    overlap += float(np.diagonal(tile) @ current.main[a:b])
                self._add_products(tile, a, b, c, d, often, q)
            return q, norm, overlap, total

        parts = self._each_row_tile(part)
        size = float(np.sqrt(sum(p[1] for p in parts)))
        if not size > 0:
            return None
        q = self._square(_sum_in_order([p[0] for p in parts], self.pairs) / size)
        weights = ImplicitWeights(
            np.zeros(self.space.features), (1.0 / size,), (np.asarray(coefficients),)
        )
        overlap, total = (sum(p[k] for p in parts) / size for k in (2, 3))
        return Direction(weights, q, overlap, total)

    def moved(
        self, current: ImplicitWeights, a: float, target: Direction, b: float
    ) -> ImplicitWeights:
        """a·current + b·target, with the tiles if they are stored."""
        mixture = current.mixed(a, target.weights, b)
        if not self.stores_tiles:
            return mixture
        factor = b * target.weights.factors[0]
        old = self._held[1] if self._held[0] is current else {}

        def move(start: int, stop: int) -> None:
            for c, d, _ in self._blocks(start, stop):
                tile = self._target[start, c]
                tile *= factor
                if (start, c) in old:
                    old[start, c] *= a
                    tile += old[start, c]
                elif a > 0:
                    tile += a * self._weight_tile(current, 0.0, start, stop, c, d)

        self._each_row_tile(move)
        self._held, self._target = (mixture, self._target), {}
        return mixture

    def summary(self, weights: ImplicitWeights, penalty: float, n_pairs: int) -> WeightSummary:
        """Row sums of squares, main effects and the `n_pairs` largest pairs of W; one pass."""
        features = self.space.features

        def part(a: int, b: int) -> tuple[Floats, Floats, _Pairs]:
            squares = np.zeros(features)
            best = (np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
            for c, d, _ in self._blocks(a, b):
                tile = self._weight_tile(weights, penalty, a, b, c, d)
                squares[a:b] += (tile**2).sum(axis=1)
                if c != a:
                    squares[c:d] += (tile**2).sum(axis=0)
                else:
                    main = np.diagonal(tile).copy()
                    tile = np.triu(tile, 1)
                best = _largest(tile, a, c, best, n_pairs)
            return squares, main, best

        parts = self._each_row_tile(part)
        i, j, weight = (np.concatenate([p[2][k] for p in parts]) for k in range(3))
        order = np.lexsort((j, i, -weight))[:n_pairs]
        return WeightSummary(
            squares=_sum_in_order([p[0] for p in parts], features),
            main=np.concatenate([p[1] for p in parts]),
            i=i[order],
            j=j[order],
            weight=weight[order],
        )

    def among(self, weights: ImplicitWeights, penalty: float, columns: NDArray[np.intp]) -> Floats:
        """W restricted to some columns, (m, m)."""
        m = len(columns)
        scatters = [np.zeros((m, m)) for _ in weights.coefficients]
        for start, stop in self._chunks():
            D = self.X[self.first[start:stop]][:, columns]
            D = self._stepped(np.abs(D - self.X[self.second[start:stop]][:, columns]), columns)
            for scatter, c in zip(scatters, weights.coefficients, strict=True):
                scatter += (D * c[start:stop, None]).T @ D
        W = np.diag(weights.main[columns])
        for factor, scatter in zip(weights.factors, scatters, strict=True):
            W += factor * gain((scatter + scatter.T) / 2, penalty)
        return W


def _sum_in_order(parts: list[Floats], size: int) -> Floats:
    total = np.zeros(size)
    for part in parts:
        total += part
    return total


def _largest(tile: Floats, a: int, c: int, best: _Pairs, n: int) -> _Pairs:
    """The n largest positive entries of `best` and of a tile, by column numbers."""
    flat = tile.ravel()
    if len(best[2]) == n:
        candidates = np.flatnonzero(flat > best[2].min())
    else:
        candidates = np.flatnonzero(flat > 0)
    if len(candidates) > n:
        cut = np.partition(flat[candidates], -n)[-n]
        candidates = candidates[flat[candidates] >= cut]
    i = np.concatenate([best[0], a + candidates // tile.shape[1]])
    j = np.concatenate([best[1], c + candidates % tile.shape[1]])
    weight = np.concatenate([best[2], flat[candidates]])
    order = np.lexsort((j, i, -weight))[:n]
    return i[order], j[order], weight[order]


_SMALLEST_PRUNED_STEP = 2.0**-8


@attrs.frozen(kw_only=True, eq=False)
class Descent:
    """The result of a descent, with its history.

    Parameters
    ----------
    weights : (A, A) or (A,) float64
        W with Frobenius norm one (or its implicit form, if it is not stored), or w.
    point : Point
        The point at these weights, from which their margin is computed.
    cost, gap, step : (n_points,) float64
        At the start and after every update: the cost (NaN if the method has none); the gap
        <Σ, W − U>, with U the target of the step (zero at a stationary point); the step, or the
        change of w, to the next point.
    iterations : int
        Number of updates.
    converged : bool
        Whether it stopped before the limit of updates.
    stopped : str
        Why it stopped, for messages.
    """

    weights: Any
    point: Any
    cost: Floats
    gap: Floats
    step: Floats
    iterations: int
    converged: bool
    stopped: str


class DescentState:
    """The state of a descent: its current and best points, its history, and why it ended.

    It has converged when the relative change of the cost is at most `tol`; 0: never. With
    `keep_best` the result is the point of the lowest cost instead of the last one.
    """

    def __init__(
        self, point: Any, cost: float, *, max_iter: int, tol: float = 0.0, keep_best: bool = False
    ) -> None:
        self.point = self.best = point
        self._here = self._before = self.best_cost = cost
        self.costs = [cost]
        self.gaps: list[float] = []
        self.steps: list[float] = []
        self._tol, self._keep_best = tol, keep_best
        self.converged, self.stopped = (
            False,
            f"the limit of {max_iter} updates (max_iter) was reached",
        )

    @property
    def updates(self) -> int:
        """Number of updates."""
        return len(self.costs) - 1

    def move(self, point: Any, cost: float, step: float) -> None:
        """Record an update that led to `point`."""
        self.point = point
        self._before, self._here = self._here, cost
        self.costs.append(cost)
        self.steps.append(step)
        if cost < self.best_cost or not self._keep_best:
            self.best, self.best_cost = point, cost

    def restart(self, objective: Objective, threshold: float, *, moved: bool) -> None:
        """Restart the search for the best point at the pruned point.

        With `moved` the descent continues from the pruned point instead of the current one.
        """
        self.best = objective.pruned(self.point, threshold)
        self.best_cost = objective.cost(self.best)
        if moved:
            self.point, self._here = self.best, self.best_cost
            if not self.updates:
                self.costs[-1] = self.best_cost

    def has_converged(self) -> bool:
        """Whether the last update changed the cost by no more than the tolerance."""
        least = self._tol * max(abs(self._here), sys.float_info.min)
        return bool(self._tol) and abs(self._before - self._here) <= least

    def stop(self, why: str = "") -> None:
        """Mark the descent as converged, for the given reason."""
        self.converged = True
        self.stopped = why or f"the cost changed by less than a fraction of {self._tol:g}"

    def result(self) -> Descent:
        """The result: the best point, or the last."""
        points = len(self.costs)
        pad = [np.nan] * points
        return Descent(
            weights=self.best.weights,
            point=self.best,
            cost=np.array(self.costs),
            gap=np.array((self.gaps + pad)[:points]),
            step=np.array((self.steps + pad)[:points]),
            iterations=self.updates,
            converged=self.converged,
            stopped=self.stopped,
        )


class _DenseObjective:
    """The cost as a function of W stored as a matrix, at one σ: the operations of Algorithm 2.

    `_ImplicitObjective` has the same operations.

    Notes
    -----
    With the line search every point is on an `Arc`; q is linear in W, so a trial costs only
    exponentials. The first t, from 1 on (`neighbour_shares.shorter`), that lowers the cost by 1e-4
    of the predicted decrease is taken. With a `threshold` above zero, a trial point is pruned
    before its cost is computed.
    """

    def __init__(self, space: PairSpace, sigma: float, rule: str, penalty: float) -> None:
        self.space, self.sigma, self.rule = space, sigma, rule
        self.penalty = penalty * space.total

    def at(self, weights: Floats) -> Point:
        """The point at `weights`."""
        return self.space.point(weights, self.sigma)

    def cost(self, point: Point) -> float:
        """The cost G at a point, with the penalty."""
        if not self.penalty:
            return point.cost
        return point.cost + self.penalty * float(point.weights.sum())

    def pruned(self, point: Point, threshold: float) -> Point:
        """The point at the pruned weights."""
        return self.at(prune(point.weights, threshold))

    def gradient(self, point: Point) -> Floats:
        """Σ, from the α and β of step 1."""
        return self.space.gradient(point, self.sigma)

    def minimiser(self, point: Point, gradient: Floats, threshold: float) -> Floats | None:
        """The minimiser U of step 2, or None if no weights lower the cost."""
        target = update(gradient, self.rule, self.penalty)
        return prune(target, threshold) if threshold and target is not None else target

    def arc(self, point: Point, gradient: Floats, target: Floats) -> Arc:
        """The arc from the weights W of the point to U; <Σ + λ, W − U> is the gap."""
        W = point.weights
        forward = gradient + self.penalty if self.penalty else gradient
        return Arc(
            float(np.vdot(forward, W)), float(np.vdot(forward, target)), float(np.vdot(W, target))
        )

    def step(
        self, point: Point, arc: Arc, target: Floats, threshold: float, search: bool
    ) -> tuple[Point | None, float]:
        """The next point and the step to it; None if the line search finds none."""
        if not search:
            return self.at(target), 1.0
        W = point.weights
        if not descends(arc):
            return None, 0.0

        def weights_at(t: float) -> Floats:
            if t == 1.0:
                return target
            a, b = factors(arc, t)
            return a * W + b * target

        start = self.cost(point)
        if point.measured is None or threshold:

            def trial(t: float) -> tuple[float, Point]:
                weights = weights_at(t)
                point = self.at(prune(weights, threshold) if threshold else weights)
                return self.cost(point), point

            # A pruned trial costs a pass over all pairs, and pruning would undo a small step.
            least = _SMALLEST_PRUNED_STEP if threshold else SMALLEST_STEP
            t, reached = first_step(arc, trial, start, least)
            return reached, t
        penalties = (0.0, 0.0)
        if self.penalty:
            penalties = self.penalty * float(W.sum()), self.penalty * float(target.sum())
        second = self.space.measure(target)
        t, reached = self.space.search(arc, point.measured, second, penalties, start, self.sigma)
        if reached is not None:
            reached.weights = weights_at(t)
        return reached, t


class _ImplicitObjective:
    """The cost as a function of implicit W with the element-wise rule, at one σ.

    <Σ, W> is Σ_p c_p q_p(W), so only <W, U> needs tiles of W, and only if W is a mixture. Pruning
    is not supported. The `total` of a `Point` is Σ W.
    """

    def __init__(self, pairs: ImplicitPairs, sigma: float, penalty: float) -> None:
        self.pairs, self.sigma = pairs, sigma
        self.rate = penalty * pairs.space.total

    def at(self, weights: ImplicitWeights) -> Point:
        """The starting point, with a diagonal W."""
        point = self.pairs.space.point_at(weights, self.pairs.measure(weights), self.sigma)
        point.total = float(weights.main.sum())
        return point

    def cost(self, point: Point) -> float:
        return point.cost + self.rate * point.total

    def pruned(self, point: Point, threshold: float) -> Point:
        raise NotImplementedError("pruning needs W as a matrix")

    def gradient(self, point: Point) -> Floats:
        """The pair coefficients c, with Σ = Dᵀ diag(c) D."""
        assert point.measured is not None
        c = np.empty(self.pairs.pairs)
        shares = self.pairs.space.shares(point, self.sigma)
        neighbour_shares.pair_coefficients(point.measured, shares, 0, 1, c)
        return c

    def minimiser(self, point: Point, gradient: Floats, threshold: float) -> Direction | None:
        return self.pairs.direction(gradient, point.weights, self.rate)

    def arc(self, point: Point, gradient: Floats, target: Direction) -> Arc:
        upper = self.pairs.first, self.pairs.second
        assert point.measured is not None
        here, along = (
            float((gradient * q[upper]).sum()) + self.rate * total
            for q, total in ((point.measured, point.total), (target.measured, target.total))
        )
        return Arc(here, along, target.overlap)

    def step(
        self, point: Point, arc: Arc, target: Direction, threshold: float, search: bool
    ) -> tuple[Point | None, float]:
        measured, space = point.measured, self.pairs.space
        assert measured is not None
        t, reached = 1.0, None
        if not search:
            reached = space.point_at(point.weights, target.measured, self.sigma)
        elif descends(arc):
            penalties = self.rate * point.total, self.rate * target.total
            start = self.cost(point)
            t, reached = space.search(arc, measured, target.measured, penalties, start, self.sigma)
        if reached is None:
            return None, 0.0
        a, b = factors(arc, t)
        reached.total = a * point.total + b * target.total
        reached.weights = self.pairs.moved(point.weights, a, target, b)
        return reached, t


Objective = _DenseObjective | _ImplicitObjective


def objective_of(
    space: PairSpace | ImplicitPairs, sigma: float, rule: str, penalty: float
) -> Objective:
    """The operations of a descent for the representation of W that `space` uses."""
    if isinstance(space, ImplicitPairs):
        return _ImplicitObjective(space, sigma, penalty)
    return _DenseObjective(space, sigma, rule, penalty)
