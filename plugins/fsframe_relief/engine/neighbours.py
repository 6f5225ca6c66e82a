"""Rules for the neighbours of a target and their weights."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

WEIGHTINGS = ("equal", "rank", "distance")
CLASSES = frozenset({"classes"})
EDGE = 1e-9


class ForKernels(NamedTuple):
    """The arrays of a `Target` for kernels; class c is the rows ``bounds[c] … bounds[c + 1]``."""

    y: NDArray[np.int64]
    bounds: NDArray[np.int64]
    counts: NDArray[np.float64]
    omega: NDArray[np.float64]
    prior: NDArray[np.float64]
    signed: bool


class NearestForKernels(NamedTuple):
    """The parameters of a `Nearest` for `neighbour_kernels.nearest_weights`."""

    k: int
    slots: int
    kind: int
    decay: float
    by_index: bool
    pooled: bool


@attrs.frozen(kw_only=True, eq=False)
class Target:
    """The label, and the weights of rows, which are in the order of `Columns`.

    Attributes
    ----------
    y : (n,) int64
        Class codes in ascending order; zeros in regression.
    prior : (n_classes,) float64
        P(c); one class in regression.
    counts : (n,) float64
        Multiplicities: places a row takes as a neighbour.
    omega : (n,) float64
        Weight of each row as a target; the sum over the targets used is one.
    value : (n,) float64 or None
        Numeric target divided by its range.
    ramp : (equal, different)
        Differences of the target up to `equal` count as 0, from `different` on as 1.
    alike : float, optional
        Instances whose `value` differs by less are hits, all others misses.
    """

    y: NDArray[np.int64]
    prior: NDArray[np.float64]
    counts: NDArray[np.float64]
    omega: NDArray[np.float64]
    value: NDArray[np.float64] | None = None
    ramp: tuple[float, ...] = (0.0, 1.0)
    alike: float | None = None
    bounds: NDArray[np.int64] = attrs.field(init=False)

    @bounds.default
    def _bounds(self) -> NDArray[np.int64]:
        return np.searchsorted(self.y, np.arange(len(self.prior) + 1)).astype(np.int64)

    @property
    def for_kernels(self) -> ForKernels:
        """The arrays that kernels take."""
        return ForKernels(
            self.y, self.bounds, self.counts, self.omega, self.prior, bool(self.signed)
        )

    def unlike(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        """How different two target values are, 0 to 1, as for a continuous feature."""
        equal, different = self.ramp
        return np.clip((np.abs(a - b) - equal) / (different - equal), 0.0, 1.0)

    @property
    def signed(self) -> bool:
        """Whether hits and misses have opposite signs: classification, or with `alike`."""
        return self.value is None or self.alike is not None

    def hits(self, rows: NDArray[np.int64], others: Any = slice(None)) -> NDArray[np.bool_]:
        """Whether each of `others` (of all) is a hit of each of `rows`, by their values."""
        from fsframe_relief.engine.neighbour_kernels import TIE

        assert self.value is not None and self.alike is not None
        unlike = np.abs(self.value[rows][:, None] - self.value[others])
        return unlike < self.alike * (1.0 - TIE)


class Rule:
    """A way to turn rows of distances into rows of weights.

    `uniform`: all neighbours of a target in one class have the same weight, apart from counts;
    `needs_mean`: the mean over all pairs is needed first; `uses`: what determines the neighbours,
    or their weights before these are scaled to the share of a class: ``"classes"``, ``"values"``
    (of a numeric target), both or nothing. Under other labels a rule that uses them has to be
    applied again.
    """

    uses: ClassVar[frozenset[str]] = frozenset()
    uniform: ClassVar[bool] = False

    @property
    def needs_mean(self) -> bool:
        return False

    def weigh(
        self, D: NDArray[np.float64], rows: NDArray[np.int64], target: Target, mean: float = 0.0
    ) -> None:
        """Overwrite the distances of the targets `rows` with weights."""
        raise NotImplementedError


@attrs.frozen(kw_only=True)
class Nearest(Rule):
    """The k nearest instances of each class (of all, in regression).

    Parameters
    ----------
    k : int
        Neighbours per class; all if there are fewer.
    weighting : {"equal", "rank", "distance"}
        1, exp(-(r / decay)^2) with r from 0, or 1 / distance; scaled to sum one.
    ties : {"share", "index"}
        Instances at the k-th distance share the remaining places, or are taken in row order.
    pooled : bool
        All other classes count as one.
    """

    k: int = 10
    weighting: str = "equal"
    decay: float = 20.0
    ties: str = "share"
    pooled: bool = False
    uses = CLASSES

    def weigh(
        self, D: NDArray[np.float64], rows: NDArray[np.int64], target: Target, mean: float = 0.0
    ) -> None:
        D[np.arange(len(rows)), rows] = np.nan
        bounds = np.tile(target.bounds, (len(rows), 1))
        self.weigh_listed(D, np.empty((0, 0), dtype=np.int32), rows, target, bounds)

    def weigh_listed(
        self,
        D: NDArray[np.float64],
        index: NDArray[np.int32],
        rows: NDArray[np.int64],
        target: Target,
        bounds: NDArray[np.int64],
    ) -> None:
        """As `weigh`, for distances to the instances ``index[r]``, or to all if `index` is empty.

        Those of class c are in places ``bounds[r, c] … bounds[r, c + 1]``; entries beyond the
        last class are left as they are.
        """
        from fsframe_relief.engine.neighbour_kernels import nearest_weights

        to = target.for_kernels
        if self.pooled:
            to = to._replace(prior=np.array([0.5, 0.5]))
        # k counts drawn copies, of which there may be more than rows.
        k = int(min(self.k, target.counts.sum()))
        rule = NearestForKernels(
            k, min(k, D.shape[1]), WEIGHTINGS.index(self.weighting), float(self.decay),
            self.ties == "index", self.pooled,
        )  # fmt: skip
        nearest_weights(D, index, bounds, rows, to, rule)


@attrs.frozen(kw_only=True)
class Radius(Rule):
    """All instances nearer than a bound; for the star forms, minus those beyond a second one.

    `own` false (SURF): both bounds are the mean T over all pairs. `own` true (MultiSURF): they are
    the target's mean distance minus, and plus, half its standard deviation.
    """

    own: bool = False
    star: bool = False
    uniform = True

    @property
    def needs_mean(self) -> bool:
        return not self.own

    def weigh(
        self, D: NDArray[np.float64], rows: NDArray[np.int64], target: Target, mean: float = 0.0
    ) -> None:
        from fsframe_relief.engine.neighbour_kernels import TIE, radius_weights, row_moments

        if self.own:
            _, _, middle, spread = row_moments(D, rows, target.counts)
            near, far = middle - spread / 2, middle + spread / 2
        else:
            near = far = np.full(len(rows), mean)
        if target.alike is not None:
            D[np.arange(len(rows)), rows] = np.nan
            close = near[:, None] * (1.0 - TIE) > D
            distant = (far[:, None] * (1.0 + TIE) < D) & self.star
            D[:] = _alike_weights(close * target.counts, rows, target)
            D -= _alike_weights(distant * target.counts, rows, target)
            return
        radius_weights(D, rows, target.for_kernels, near, far, self.star)


@attrs.frozen(kw_only=True)
class Sigmoid(Rule):
    """All instances, by a sigmoid of the distance: near ones are added, far ones subtracted."""

    def weigh(
        self, D: NDArray[np.float64], rows: NDArray[np.int64], target: Target, mean: float = 0.0
    ) -> None:
        from fsframe_relief.engine.neighbour_kernels import TIE, row_moments

        _, _, middle, spread = (m[:, None] for m in row_moments(D, rows, target.counts))
        # neither near nor far: NaN, at the middle, or all distances equal
        D -= middle
        with np.errstate(invalid="ignore", divide="ignore"):
            idle = ~(np.abs(D) > TIE * np.abs(middle)) | ~(spread > 0)
            D /= spread * -0.5
        # 2 / (1 + exp(-x)) - 1 = tanh(x / 2)
        np.tanh(D, out=D)
        D *= target.counts
        D[idle] = 0.0
        share = _class_weights if target.alike is None else _alike_weights
        near = share(np.maximum(D, 0.0), rows, target)
        far = share(np.maximum(-D, 0.0), rows, target)
        np.subtract(near, far, out=D)


@attrs.frozen(kw_only=True)
class Ball(Rule):
    """All instances within a ball that holds `least` hits and misses; nearer ones weigh more.

    The radius r_i is the larger of the distances to the `least`-th nearest hit and miss; the
    weight is max(0, 1 - (d / (r_i (1 + EDGE)))^2), so that the `least`-th counts a little, and at
    r_i = 0 all instances at distance zero count equally. Distances within a fraction TIE of r_i
    count as r_i: weights are scaled to sum one in a class, and if all of a class are on the edge,
    rounding would decide between them.
    """

    least: int = 10
    uses = CLASSES

    def weigh(
        self, D: NDArray[np.float64], rows: NDArray[np.int64], target: Target, mean: float = 0.0
    ) -> None:
        from fsframe_relief.engine.neighbour_kernels import TIE

        D[np.arange(len(rows)), rows] = np.nan
        for r, i in enumerate(rows):
            d, own_class = D[r], target.y[i]
            lo, hi = target.bounds[own_class], target.bounds[own_class + 1]
            radius = max(
                self._reach(d[lo:hi], target.counts[lo:hi]),
                self._reach(
                    np.concatenate([d[:lo], d[hi:]]),
                    np.concatenate([target.counts[:lo], target.counts[hi:]]),
                ),
            )
            with np.errstate(invalid="ignore"):
                if radius > 0:
                    near = d / radius
                    near[np.abs(near - 1.0) <= TIE] = 1.0
                    w = np.where(near <= 1.0, 1.0 - (near / (1.0 + EDGE)) ** 2, 0.0)
                else:
                    w = (d <= 0).astype(np.float64)
            D[r] = np.where(np.isnan(d), 0.0, w * target.counts)
        D[:] = _class_weights(D, rows, target)

    def _reach(self, d: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
        """Distance to the `least`-th nearest, copies counted, or to the farthest if fewer."""
        order = np.argsort(d, kind="stable")
        known = order[~np.isnan(d[order])]
        if not known.size:
            return 0.0
        place = int(np.searchsorted(np.cumsum(counts[known]), self.least))
        return float(d[known[min(place, known.size - 1)]])


def class_factors(
    sizes: NDArray[np.float64],
    is_own: NDArray[np.bool_],
    prior: NDArray[np.float64],
    signed: bool = True,
) -> NDArray[np.float64]:
    """Factors of neighbours' weights, with which the weights of a class sum to its share.

    Parameters
    ----------
    sizes : (…, n_classes) float64
        Sum of the weights of each target's neighbours in each class.
    is_own : bool, as `sizes`
        Whether the class is the target's own.
    prior : (n_classes,) float64
    signed : bool
        Whether hits are negative (classification).

    Returns
    -------
    float64, as `sizes`
        0 if a class has no usable neighbour. `neighbour_kernels.class_factors` is the same for one
        target, in compiled loops.
    """
    usable = np.where(is_own | (sizes <= 0), 0.0, prior)
    total = usable.sum(axis=-1, keepdims=True)
    worth = np.divide(usable, total, out=np.zeros_like(usable), where=total > 0)
    worth[is_own] = -1.0 if signed else 1.0
    return np.divide(worth, sizes, out=np.zeros_like(sizes), where=sizes > 0)


def _class_weights(
    W: NDArray[np.float64], rows: NDArray[np.int64], target: Target
) -> NDArray[np.float64]:
    """Scale weights of neighbours by class; hits become negative, except in regression."""
    padded = np.concatenate([W, np.zeros((len(W), 1))], axis=1)
    sizes = np.add.reduceat(padded, target.bounds[:-1], axis=1)
    is_own = target.y[rows][:, None] == np.arange(sizes.shape[1])
    factor = class_factors(sizes, is_own, target.prior, target.signed)
    factor *= target.omega[rows][:, None]
    return W * np.repeat(factor, np.diff(target.bounds), axis=1)


def _alike_weights(
    W: NDArray[np.float64], rows: NDArray[np.int64], target: Target
) -> NDArray[np.float64]:
    """Scale weights of neighbours among hits and among misses by value; hits become negative."""
    hit = target.hits(rows)
    out = np.zeros_like(W)
    for group, worth in ((W * hit, -1.0), (W * ~hit, 1.0)):
        size = group.sum(axis=1)
        share = np.divide(worth, size, out=np.zeros_like(size), where=size > 0)
        out += group * (share * target.omega[rows])[:, None]
    return out
