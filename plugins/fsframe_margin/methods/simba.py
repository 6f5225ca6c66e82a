"""Simba: feature weights by stochastic ascent on the sum of hypothesis-margins."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kinds import MOST_TIMES
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import choice, either, integer, param, real
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.parallel import one_blas_thread
from fsframe_margin.engine.training import Training
from fsframe_margin.methods.margin_selector import MarginSelector, carried

__all__ = ["Simba", "simba_selection"]

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
