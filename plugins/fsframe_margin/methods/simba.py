"""Simba and G-flip: ascent on margins to the nearest hit and miss."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.kinds import MOST_TIMES
from fsframe.method.run import Run, size_text
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, either, integer, param, real
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.parallel import one_blas_thread
from fsframe_margin.engine.training import Training
from fsframe_margin.methods.margin_selector import MarginSelector, carried

Floats = NDArray[np.float64]

_PAPER = "Gilad-Bachrach, Navot, Tishby 2004"


@attrs.frozen(kw_only=True)
class Simba(MarginSelector):
    """Feature weights that make hypothesis-margins large, by stochastic gradient ascent.

    Parameters
    ----------
    passes : int ≥ 1
        Number of passes over the rows.
    order : {"random", "given"}
        Visit rows in a new random order in every pass, or in the order of the table.
    utility : {"linear", "sigmoid"}
        Utility of a margin: the margin itself, or 1/(1 + exp(−β·margin)).
    step : float > 0 or "1/n"
        Step size; 1/n is one over the number of rows drawn, which equals SimbaMBIW with equal
        instance weights.
    beta : float > 0
        β of the sigmoid.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    Starts at w = 1; a visit of x adds u′(θ) ½ ((x−miss)²/‖x−miss‖_w − (x−hit)²/‖x−hit‖_w) w,
    nearest under ‖z‖_w² = Σ w² z²; at the end w ← w²/‖w²‖_∞. Bootstrap counts and upstream instance
    weights multiply the step. A neighbour at distance zero contributes nothing. The paper draws
    rows with replacement; passes over permutations visit each row equally often (as the SimbaMBIW
    paper does).

    Without `top`, columns whose weight rose above its start of one before the final squaring (so
    that their contribution to margins was positive) are kept, at least one; the papers only rank.
    The score of a column is its share w²/Σw² of the mean margin θ under the returned weights.
    Time N² A per pass; memory one row of length N.

    References
    ----------
    Gilad-Bachrach, Navot, Tishby: Margin based feature selection - theory and algorithms,
    ICML 2004, Algorithm 2; Prat, Belanche, ESANN 2016, Algorithm 1 with strategy "normal".

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 5))
    >>> Simba(top=1).select(Dataset.from_arrays(X, X[:, 2] > 0)).selected
    array([2])
    """

    passes: int = param(
        1, integer(1, MOST_TIMES), help="Number of passes over the rows.", symbol="T"
    )
    order: str = param(
        "random",
        choice("random", "given"),
        help="Visit rows in random order, or in the order given.",
    )
    utility: str = param(
        "linear", choice("linear", "sigmoid"), help="Utility function of the margin.", source=_PAPER
    )
    step: float | str = param(
        1.0,
        either(real(above=0), choice("1/n")),
        help="Step size: 1 as published, or 1/n, so that the steps of a pass sum to one.",
    )
    beta: float = param(
        1.0, real(above=0), help="Slope of the sigmoid utility function.", symbol="β"
    )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.nearest_kernels import simba_visits

        training = self._training(data, upstream, margins=True)
        generator, n = run.generator(0), len(training.y)
        run.must_hold(
            16 * n * self.passes, f"simba: {self.passes} orders of {n} rows", "lower passes"
        )
        orders = [
            generator.permutation(n) if self.order == "random" else np.arange(n)
            for _ in range(self.passes)
        ]
        step = 1.0 / training.count.sum() if isinstance(self.step, str) else self.step
        w = np.ones(training.varying.size)
        XT, steps = np.ascontiguousarray(training.X.T), training.every_step
        training = training.released()
        simba_visits(
            XT,
            steps,
            training.y,
            training.outer * step,
            np.concatenate(orders),
            self.beta if self.utility == "sigmoid" else 0.0,
            w,
        )
        return simba_selection(self, training, XT, w, {})


def simba_selection(
    method: MarginSelector, training: Training, XT: Floats, raw: Floats, extra: dict[str, Any]
) -> Selection:
    """The Selection for raw Simba weights: w²/‖w²‖_∞, keeping columns with w above one.

    `XT` (A, n) holds the rows; scores are the parts of their mean margin under these weights.
    """
    from fsframe_margin.engine.nearest_kernels import margin_sum

    squares = raw * raw
    largest = float(squares.max())
    notes = []
    if not np.isfinite(largest):
        notes.append("the weights grew beyond all bounds: lower passes or instance_scale")
        squares = np.where(np.isfinite(squares), 0.0, 1.0)
        largest = 1.0
    squares = squares / largest if largest > 0 else squares
    margin = margin_sum(XT, training.every_step, training.y, training.outer, squares)
    w = training.spread(squares)
    return method._selection(
        training,
        w,
        int((raw > 1.0).sum()),
        scores=carried(w, margin / float(training.outer.sum())),
        weights=w,
        model={"w": w},
        tables={"raw-weights": training.spread(raw)},
        notes=notes,
        **extra,
    )


@attrs.frozen(kw_only=True)
class Gflip(MarginSelector):
    """A feature set that no single addition or removal improves.

    Parameters
    ----------
    utility : {"linear", "zero-one", "sigmoid"}
        Utility u of a margin θ: θ; one where θ > 0, else zero; or 1/(1 + exp(−βθ)).
    beta : float > 0
        β of the sigmoid.
    max_passes : int ≥ 1
        Maximum number of passes over the features.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    The evaluation of a set F is e(F) = Σ_n o_n u(θ_n), θ_n = ½(‖x_n − miss‖ − ‖x_n − hit‖),
    distances and neighbours in the columns of F. From F = ∅, every pass takes the features in a
    random order, and adds one that is out if that raises e, removes one that is in if that raises
    e; it ends when a pass changes nothing. The paper's step compares e with and without the
    feature, which is the same.

    The method gives a set; the score that ranks it is the loss of e without the feature (for those
    left out: the gain with it), per unit of weight. With `top` the best by this score are kept,
    whether or not they are in the set.

    Time N² per feature and pass; memory 24 N² bytes for the distances in F and their change,
    which must fit the bound.

    References
    ----------
    Gilad-Bachrach, Navot, Tishby: Margin based feature selection - theory and algorithms,
    ICML 2004, Algorithm 1.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 5))
    >>> found = Gflip(utility="zero-one").select(Dataset.from_arrays(X, X[:, 2] > 0))
    >>> int(found.selected[0])
    2
    """

    natural_zero: ClassVar[bool] = False

    utility: str = param(
        "linear",
        choice("linear", "zero-one", "sigmoid"),
        help="Utility function of the margin.",
        source=f"{_PAPER}, §3.1",
    )
    beta: float = param(
        1.0, real(above=0), help="Slope of the sigmoid utility function.", symbol="β"
    )
    max_passes: int = param(20, integer(1), help="Maximum number of passes over the features.")

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.nearest_kernels import flip_margins

        training = self._training(data, upstream, margins=True)
        n, size = training.X.shape
        if 24 * n * n > run.memory:
            raise DataError(
                f"gflip: the distances between {n} rows need {size_text(24 * n * n)}, more "
                f"than the {size_text(run.memory)} allowed; raise the memory bound, or use "
                "simba"
            )
        XT, steps = np.ascontiguousarray(training.X.T), training.every_step
        squared = np.zeros((n, n))
        margins = np.empty(n)

        def evaluation(feature: int, sign: float) -> float:
            flip_margins(squared, XT[feature], steps[feature], sign, training.y, margins)
            return self._utility(margins, training.outer)

        generator = run.generator(0)
        inside = np.zeros(size, dtype=bool)
        value, passes, changed = evaluation(0, 0.0), 0, True
        while changed and passes < self.max_passes:
            changed = False
            for feature in generator.permutation(size):
                sign = -1.0 if inside[feature] else 1.0
                other = evaluation(feature, sign)
                if not _above(other, value):
                    continue
                inside[feature] = not inside[feature]
                if sign > 0:
                    squared += _squares(XT[feature], steps[feature])
                else:
                    # Subtracting a column leaves rounding errors, so the sums are recomputed.
                    _form(squared, XT, steps, inside)
                    other = evaluation(feature, 0.0)
                    if not _above(other, value):
                        inside[feature] = True
                        _form(squared, XT, steps, inside)
                        continue
                value, changed = other, True
            passes += 1
            run.progress(passes, self.max_passes, "passes")
        # Recomputed, so that results do not depend on the order of flips.
        _form(squared, XT, steps, inside)
        value = evaluation(0, 0.0)
        total = float(training.outer.sum())
        gain = np.array([evaluation(f, -1.0 if inside[f] else 1.0) for f in range(size)])
        loss = np.where(inside, value - gain, gain - value) / total
        scores = training.spread(loss)
        kept = None
        if self.top is None and inside.any():
            chosen = training.varying[inside]
            kept = chosen[rank_by_score(scores[chosen])]
        notes = []
        if not inside.any():
            notes.append("no single feature raises the evaluation: the best one is kept")
        if changed:
            notes.append(f"no convergence: {self.max_passes} passes still changed the set")
        weights = np.zeros(len(scores))
        weights[training.varying] = inside
        return self._selection(
            training,
            scores,
            1,
            selected=kept,
            weights=weights if inside.any() else None,
            model={},
            tables={
                "inside": weights,
                "evaluation": np.array([value]),
                "passes": np.array([passes]),
            },
            notes=notes,
        )

    def _utility(self, margins: Floats, outer: Floats) -> float:
        live = ~np.isnan(margins)
        theta, weight = margins[live], outer[live]
        if self.utility == "zero-one":
            return float(weight @ (theta > 0))
        if self.utility == "sigmoid":
            from scipy.special import expit

            return float(weight @ expit(self.beta * theta))
        return float(weight @ theta)


def _above(other: float, value: float) -> bool:
    """Whether `other` is a gain beyond rounding, which could cause endless flips."""
    return other > value + 1e-12 * (abs(value) + abs(other))


def _form(squared: Floats, XT: Floats, steps: Floats, inside: NDArray[np.bool_]) -> None:
    """Compute the squared distances in the columns `inside` in `squared` (N, N). O(N² A)."""
    squared[...] = 0.0
    for feature in np.flatnonzero(inside):
        squared += _squares(XT[feature], steps[feature])


def _squares(row: Floats, step: float) -> Floats:
    """(x_i − x_j)² of one feature, (N, N)."""
    if step > 0:
        return np.where(np.not_equal.outer(row, row), step * step, 0.0)
    squares: Floats = np.subtract.outer(row, row) ** 2
    return squares
