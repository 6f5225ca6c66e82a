"""Fits of `immigrate` over all pairs or with a diagonal rest, and their results.

`descend` is Algorithm 2 (`immigrate.descend`) with its parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.method.run import Run, size_text
from fsframe.method.selection import PairWeights, Selection, rank_by_score
from fsframe_margin.engine.training import Training
from fsframe_margin.methods.margin_selector import (
    MarginSelector,
    carried,
    upstream_matrix,
)

if TYPE_CHECKING:
    from fsframe_margin.engine.descent import Descent

Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True, eq=False)
class Fit:
    """A fit over the columns of `Training.X`.

    `shares` are Σ_b W_ab², `main` the diagonal, `margin` is <W, −Σ − λN>/N. With a diagonal rest
    the pair weights are `pairs`, and `W` is None.
    """

    shares: Floats
    main: Floats
    margin: float
    descent: Any
    W: Floats | None = None
    pairs: PairWeights | None = None


def dense_bytes(size: int) -> int:
    """Bytes of W, U, Σ, the result and their temporaries: 64 A²."""
    return 64 * size * size


def dense_start(
    training: Training, upstream: Selection | None, how: str, run: Run, key: int = 0
) -> Floats:
    """Start value of W, (A, A), Frobenius norm one; `key` is that of the random stream."""
    size = training.varying.size
    if how == "random":
        W = run.generator(key).random((size, size))
        W = W + W.T
        return W / np.linalg.norm(W)
    if how == "upstream" and upstream is not None:
        arrived = upstream_matrix(upstream, training.varying, training.n_features)
        if arrived is not None:
            return arrived
    return np.eye(size) / np.sqrt(size)


def fit_dense(training: Training, start: Floats, run: Run, descend: partial[Descent]) -> Fit:
    """Descend with W as a matrix."""
    from fsframe_margin.engine.margins import PairSpace

    space = PairSpace.of(training, run)
    descent = descend(space, start)
    W = descent.weights
    margin = space.margin(descent.point, descend.keywords["sigma"])
    return Fit(
        shares=(W**2).sum(axis=1),
        main=np.diag(W).copy(),
        margin=margin - descend.keywords["penalty"] * float(W.sum()),
        descent=descent,
        W=W,
    )


def fit_with_diagonal_rest(
    training: Training,
    weights: Floats,
    kept: NDArray[np.intp],
    run: Run,
    descend: partial[Descent],
) -> Fit:
    """Descend with pairs among `kept` columns and main effects of all, from diag(`weights`)."""
    from fsframe_margin.engine.margins import DiagonalRestSpace

    n, size = training.X.shape
    needed_bytes = dense_bytes(len(kept)) + 24 * n * n
    run.must_hold(needed_bytes, f"immigrate: W over {len(kept)} screened columns")
    if 24 * n * n > run.memory:
        raise DataError(
            f"immigrate: screened=diagonal holds distances between {n} rows, "
            f"{size_text(24 * n * n)}, more than the {size_text(run.memory)} allowed; "
            "use screened=drop, prototypes, or raise the memory bound"
        )
    rest = np.setdiff1d(np.arange(size), kept)
    space = DiagonalRestSpace(
        np.ascontiguousarray(training.X[:, kept]),
        np.ascontiguousarray(training.X[:, rest]),
        training.y,
        training.outer,
        training.count,
        threads=run.threads,
        memory=run.route,
        steps=(training.steps[kept], training.steps[rest]),
    )
    start = np.concatenate([np.diag(weights[kept]).ravel(), weights[rest]])
    descent = descend(space, start / np.linalg.norm(start))
    inner, v = space.split(descent.weights)
    shares, main = np.empty(size), np.empty(size)
    shares[kept], shares[rest] = (inner**2).sum(axis=1), v**2
    main[kept], main[rest] = np.diag(inner), v

    i, j = np.triu_indices(len(kept), 1)
    low, high = np.minimum(kept[i], kept[j]), np.maximum(kept[i], kept[j])
    margin = space.margin(descent.point, descend.keywords["sigma"])
    return Fit(
        shares=shares,
        main=main,
        margin=margin - descend.keywords["penalty"] * float(descent.weights.sum()),
        descent=descent,
        pairs=PairWeights.from_triplets(training.varying, low, high, inner[i, j], main),
    )


def immigrate_result(
    method: MarginSelector,
    training: Training,
    fit: Fit,
    sigma: float,
    tables: Mapping[str, Any],
    notes: Iterable[str],
    whole: int,
) -> Selection:
    """The Selection of a fit, in the columns of the table that `training` was made from.

    Scores are the margins that the features carry (`carried`), zero for constant columns. Features
    with more than 1/A of the total are kept, and at least one, or as many as `method` says. `sigma`
    is the value that was used; `tables` are added to cost, gap, step, margin and main effects. If W
    over all columns of the table takes more than `whole` bytes with its temporaries, it is returned
    over the fitted columns.
    """
    size = training.varying.size
    shares, main = np.zeros((2, training.n_features))
    shares[training.varying] = fit.shares
    main[training.varying] = fit.main
    above = int((shares > 1.0 / size).sum())
    kept = rank_by_score(shares, method.keep_count(len(shares), max(1, above)))
    model: dict[str, Any] = {"sigma": np.float64(sigma)}
    pairs = fit.pairs
    if fit.W is not None and dense_bytes(training.n_features) > whole:
        pairs = PairWeights(training.varying, fit.W)
    elif fit.W is not None:
        model["W"] = training.spread(fit.W)
        pairs = PairWeights(np.arange(len(shares)), model["W"])
    return method._selection(
        training,
        shares,
        above,
        scores=carried(shares, fit.margin),
        selected=kept,
        weights=np.sqrt(shares),
        pair_weights=pairs,
        model=model,
        tables={
            "cost": fit.descent.cost,
            "gap": fit.descent.gap,
            "step": fit.descent.step,
            "main-effect": main**2,
            "margin": np.array([fit.margin]),
            **tables,
        },
        notes=notes,
    )


def descent_notes(descent: Descent, line_search: bool) -> Iterator[str]:
    """Warnings about a descent: no step at all, or (with a line search) no convergence."""
    if descent.iterations == 0 and descent.stopped.startswith("no weights"):
        yield (
            "no pair of features separates hits from misses at this sigma, "
            "(−Σ)⁺ = 0: W was left where it started"
        )
    if not descent.converged and line_search:
        yield (
            f"no convergence: {descent.stopped}; "
            f"the last step changed the cost by a fraction of {_last_change(descent.cost):.1e}"
        )


def _last_change(cost: Floats) -> float:
    if len(cost) < 2 or cost[-1] == 0:
        return 0.0
    return abs(float(cost[-1] - cost[-2]) / float(cost[-1]))
