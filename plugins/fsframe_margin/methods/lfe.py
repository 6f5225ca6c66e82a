"""LFE: the positive part of the scatter of misses minus that of hits."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.method.run import Run, size_text
from fsframe.method.selection import PairWeights, Selection
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.indicators import differences
from fsframe_margin.engine.parallel import one_blas_thread
from fsframe_margin.engine.training import Training
from fsframe_margin.methods.margin_selector import MarginSelector, carried

__all__ = ["Lfe"]


@attrs.frozen(kw_only=True)
class Lfe(MarginSelector):
    """A positive semi-definite W over signed differences that maximises the 1-NN margin.

    Parameters
    ----------
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.

    Notes
    -----
    maximise Σ_n (m_nᵀ W m_n − h_nᵀ W h_n) over W ⪰ 0, ‖W‖_F = 1, with m_n = x_n −
    NM(x_n) and h_n = x_n − NH(x_n), signed, nearest by Euclidean distance. The solution is the
    positive part of Σ_n (m_n m_nᵀ − h_n h_nᵀ) by its eigenvalues, scaled to norm one. W is a
    projection for feature extraction; here the score of a feature is the part of the mean margin
    that it carries, its share Σ_b W_ab², as for `immigrate`, and pairs are weighted by W_ab, which
    may be negative.

    Time N² A + A³; memory 16 A² bytes and two rows of length N.

    References
    ----------
    Sun, Wu: A RELIEF based feature extraction algorithm, SDM 2008.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 5))
    >>> Lfe(top=1).select(Dataset.from_arrays(X, X[:, 2] > 0)).selected
    array([2])
    """

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.updates import positive_semidefinite

        training = self._training(data, upstream, margins=True)
        size = training.varying.size
        if 32 * size * size > run.memory:
            raise DataError(
                f"lfe: the eigenvectors of {size} × {size} pairs need "
                f"{size_text(32 * size * size)}, more than the {size_text(run.memory)} "
                "allowed; screen first (such as `im4e lfe`) or raise the memory bound"
            )
        scatter = _scatter(training)
        W = positive_semidefinite(-scatter)
        notes, margin = [], 0.0
        if W is not None:
            margin = float(np.vdot(W, scatter)) / float(training.outer.sum())
        else:
            W = np.eye(size) / np.sqrt(size)
            notes.append("no direction has a positive margin: W was left at the identity")
        W = training.spread(W)
        shares = (W**2).sum(axis=1)
        return self._selection(
            training,
            shares,
            int((shares > 1 / size).sum()),
            scores=carried(shares, margin),
            weights=np.sqrt(shares),
            pair_weights=PairWeights(np.arange(len(shares)), W),
            model={"W": W},
            tables={"main-effect": np.diag(W) ** 2},
            notes=notes,
        )


def _scatter(training: Training) -> NDArray[np.float64]:
    """Σ_n o_n (m_n m_nᵀ − h_n h_nᵀ)."""
    from fsframe_margin.engine.nearest_kernels import margin_vectors

    X, y = training.X, training.y
    n, A = X.shape
    XT = np.ascontiguousarray(X.T)
    hits, misses = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    out, steps = np.empty((n, A)), training.every_step
    margin_vectors(XT, steps, y, np.ones(A), out, hits, misses)
    rows = np.flatnonzero((hits >= 0) & (misses >= 0))
    h = differences(X[rows], X[hits[rows]], training.steps)
    m = differences(X[rows], X[misses[rows]], training.steps)
    o = training.outer[rows, None]
    return (m * o).T @ m - (h * o).T @ h
