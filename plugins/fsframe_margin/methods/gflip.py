"""G-flip: a feature set by greedy flips that raise the evaluation of all margins."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.method.run import Run, size_text
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, integer, param, real
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.parallel import one_blas_thread
from fsframe_margin.methods.margin_selector import MarginSelector

__all__ = ["Gflip"]

Floats = NDArray[np.float64]

_PAPER = "Gilad-Bachrach, Navot, Tishby 2004"


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
