"""Instance weights by margin profiles (MBIW), and Simba with steps scaled by them."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from fsframe.method.run import Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, integer, param
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.parallel import one_blas_thread
from fsframe_margin.methods.margin_selector import MarginSelector, feature_weights
from fsframe_margin.methods.simba import simba_selection

__all__ = ["Mbiw", "SimbaMbiw"]


@attrs.frozen(kw_only=True)
class Mbiw(MarginSelector):
    """Instance weights ω that favour rows whose margin profile is close to the others'.

    Parameters
    ----------
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    x′ = |x − miss| − |x − hit| per feature, nearest by Euclidean distance weighted by the upstream
    feature weights (‖z‖_w² = Σ w² z²; ones if there are none); ω ∝ 1 / mean distance between x′ and
    the other profiles (eq. 2), Σ ω = 1. The weights are returned as `instance_weights`.

    All columns are kept unless `top` is set; the score of a column is its mean margin Σ ω x′, as in
    a weighted Relief. Time 2 N² A; memory 8 N A bytes and blocks of 256 rows of length N.

    References
    ----------
    Prat, Belanche: Instance and feature weighted k-nearest-neighbours algorithm, ESANN 2016,
    eq. 2; Han, Yu: A variance reduction framework for stable feature selection, ICDM 2010.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [5.0]])
    >>> found = Mbiw().select(Dataset.from_arrays(X, [0, 0, 0, 1, 1, 1]))
    >>> int(np.argmin(found.instance_weights))
    5
    """

    natural_zero: ClassVar[bool] = False
    table_copies: ClassVar[float] = 3.0

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.nearest_kernels import instance_weights, margin_profiles

        training = self._training(data, upstream, margins=True)
        w = feature_weights(upstream, training.varying)
        XT = np.ascontiguousarray(training.X.T)
        training = training.released()
        profiles = margin_profiles(XT, training.y, w, training.steps)
        del XT
        omega = instance_weights(profiles, training.count)
        scores = training.spread((omega * training.count) @ profiles)
        return self._selection(training, scores, len(scores), instance_weights=omega)


_PAPER = "Prat, Belanche 2016"


@attrs.frozen(kw_only=True)
class SimbaMbiw(MarginSelector):
    """Simba feature weights whose steps are scaled by instance weights, for stability.

    Parameters
    ----------
    strategy : {"order", "normal", "sample"}
        Visit rows by decreasing ω, in random order, or drawn with probability ω.
    instance_scale : {"sum", "mean"}
        Steps are ω as printed (sum one), or N·ω (mean one).
    refresh : int ≥ 0
        Recompute ω with the current weights after this many visits; 0: never.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    Algorithm 1: ω by eq. 2, w = 1, N visits with w ← w + ω(x) Δ, Δ the Simba step, and at the end
    w ← w²/‖w²‖_∞. Σ ω = 1, so that, as printed, the N steps together are as large as one of
    Simba's, and weights stay near one. On eleven data sets this ranks as well as steps of Simba's
    size (N·ω) and more stably (benchmarks/margin/instance_scale.py: Kuncheva index 0.50 against
    0.37), but so do equal weights with steps of that size (0.48). If most columns are noise it
    fails (Madelon: 46 % error against 11 %); use "mean" then. `refresh` is the synergetic process
    of the paper's conclusions; with the strategy order the rows not yet visited are ordered again.

    Bootstrap counts multiply a row's step and its contribution to eq. 2. Upstream instance weights
    multiply ω. Kept as for `simba`. Time 3 N² A, plus 2 N² A per refresh; memory 8 N A bytes.

    References
    ----------
    Prat, Belanche: Instance and feature weighted k-nearest-neighbours algorithm, ESANN 2016,
    Algorithm 1, §5.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 5))
    >>> found = SimbaMbiw(top=1).select(Dataset.from_arrays(X, X[:, 2] > 0))
    >>> found.selected, found.instance_weights.shape
    (array([2]), (80,))
    """

    table_copies: ClassVar[float] = 3.0

    strategy: str = param(
        "order",
        choice("order", "normal", "sample"),
        help="Visit rows by decreasing weight, in random order, or sampled by weight.",
        source=f"{_PAPER}, Algorithm 1",
    )
    instance_scale: str = param(
        "sum",
        choice("sum", "mean"),
        help="Scale of the instance weights: sum one, as printed, or mean one, which keeps "
        "Simba's step size.",
        source=f"{_PAPER}, Algorithm 1, line 14",
    )
    refresh: int = param(
        0,
        integer(0),
        help="Update the instance weights after this many visits; 0: never.",
        source=f"{_PAPER}, §5 (synergetic process)",
    )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.nearest_kernels import (
            instance_weights,
            margin_profiles,
            simba_visits,
        )

        training = self._training(data, upstream, margins=True)
        XT, n = np.ascontiguousarray(training.X.T), len(training.y)
        steps = training.every_step
        training = training.released()
        generator = run.generator(0)
        w = np.ones(training.varying.size)
        scale = training.count.sum() if self.instance_scale == "mean" else 1.0
        random_order = generator.permutation(n)
        remaining = np.ones(n, dtype=bool)
        visited = 0
        while visited < n:
            omega = instance_weights(margin_profiles(XT, training.y, w, steps), training.count)
            batch = min(self.refresh or n, n - visited)
            if self.strategy == "order":
                # Ties by row; rows visited before a refresh are not visited again.
                ranked = rank_by_score(omega)
                order = ranked[remaining[ranked]][:batch]
            elif self.strategy == "sample":
                chance = omega * training.count
                order = generator.choice(n, size=batch, p=chance / chance.sum())
            else:
                order = random_order[visited : visited + batch]
            importance = omega * scale * training.outer
            if self.strategy == "sample":
                # Rows are already drawn in proportion to their counts.
                importance = importance / training.count
            simba_visits(XT, steps, training.y, importance, order, 0.0, w)
            remaining[order] = False
            visited += batch
        return simba_selection(self, training, XT, w, {"instance_weights": omega})
