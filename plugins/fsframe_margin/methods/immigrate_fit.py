"""Fits of `immigrate` for each way of storing W, chosen by size, and their results.

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
    upstream_pairs,
)

if TYPE_CHECKING:
    from fsframe_margin.engine.descent import Descent

Floats = NDArray[np.float64]

TOP_PAIRS = 100_000
"""Number of pairs reported if W is not stored as a matrix."""

DENSE_KEPT = 2048
"""In that case, maximum number of kept features for which all their pairs are returned."""


@attrs.frozen(kw_only=True, eq=False)
class Fit:
    """A fit over the columns of `Training.X`.

    `shares` are Σ_b W_ab², `main` the diagonal, `margin` is <W, −Σ − λN>/N; `W` is the matrix, or
    None if it is not stored, and then `pairs(kept)` gives the pair weights to report.
    """

    shares: Floats
    main: Floats
    margin: float
    descent: Any
    W: Floats | None = None
    pairs: Any = None


def dense_bytes(size: int) -> int:
    """Bytes of W, U, Σ, the result and their temporaries: 64 A²."""
    return 64 * size * size


def fits_dense(size: int, memory: int) -> bool:
    """Whether W, U, Σ, the result and their temporaries fit into `memory`."""
    return dense_bytes(size) <= memory


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


def fit_implicit(
    training: Training,
    upstream: Selection | None,
    how: str,
    run: Run,
    descend: partial[Descent],
) -> Fit:
    """Descend with W by tiles, never as a whole matrix.

    Raises
    ------
    DataError
        If the settings need the whole matrix, or even the tiles do not fit the memory bound.
    """
    from fsframe_margin.engine.descent import (
        THREAD_BYTES,
        ImplicitPairs,
        ImplicitWeights,
        tile_bytes,
    )
    from fsframe_margin.engine.margins import PairSpace

    n, size = training.X.shape
    settings = descend.keywords
    needed = [
        text
        for text, wanted in (
            (f"update={settings['rule']}", settings["rule"] != "elementwise"),
            ("pruning", settings["prune_below"] > 0),
            ("start=random", how == "random"),
            ("pair weights to start from", how == "upstream" and upstream_pairs(upstream)),
        )
        if wanted
    ]
    floor = THREAD_BYTES + 48 * n * n + 24 * n * size
    if needed or floor > run.route:
        verb = "needs" if len(needed) == 1 else "need"
        why = (
            f"{' and '.join(needed)} {verb} the whole matrix"
            if needed
            else "not even its tiles fit"
        )
        raise DataError(
            f"immigrate: W over {size} columns takes {size_text(64 * size * size)} with its "
            f"temporaries, more than the {size_text(run.route)} allowed, and {why}; screen "
            "first (`im4e immigrate`), or raise the memory bound"
        )
    available = run.route - floor
    needed_bytes = floor + (tile_bytes(size) if tile_bytes(size) <= available else 0)
    run.must_hold(needed_bytes, f"immigrate: W over {size} columns, by tiles,")
    # If memory is short, fewer threads instead of other tiles, so that bits do not change.
    threads = max(1, min(run.threads, (run.memory - needed_bytes) // THREAD_BYTES + 1))
    space = PairSpace(
        training.X, training.y, training.outer, training.count,
        threads=int(threads), memory=run.route, steps=training.steps,
    )  # fmt: skip
    rows = training.X if training.steps.any() else None
    pairs = ImplicitPairs(space, available, rows=rows, steps=training.steps)
    main = np.full(size, 1 / np.sqrt(size))
    if how == "upstream" and upstream is not None and upstream.weights is not None:
        arrived = upstream.weights[training.varying]
        main = arrived / np.linalg.norm(arrived) if arrived.any() else main
    descent = descend(
        pairs,
        ImplicitWeights(main),
        progress=lambda done: run.progress(done, settings["max_iter"], "updates at most"),
    )
    rate = settings["penalty"] * space.total
    summary = pairs.summary(descent.weights, rate, TOP_PAIRS)

    def pairs_of(kept: NDArray[np.intp]) -> PairWeights:
        if len(kept) <= DENSE_KEPT:
            return PairWeights(training.varying[kept], pairs.among(descent.weights, rate, kept))
        return PairWeights.from_triplets(
            training.varying, summary.i, summary.j, summary.weight, summary.main
        )

    margin = space.margin(descent.point, settings["sigma"])
    return Fit(
        shares=summary.squares,
        main=summary.main,
        margin=margin - settings["penalty"] * descent.point.total,
        descent=descent,
        pairs=pairs_of,
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

    def pairs_of(_: NDArray[np.intp]) -> PairWeights:
        i, j = np.triu_indices(len(kept), 1)
        low, high = np.minimum(kept[i], kept[j]), np.maximum(kept[i], kept[j])
        return PairWeights.from_triplets(training.varying, low, high, inner[i, j], main)

    margin = space.margin(descent.point, descend.keywords["sigma"])
    return Fit(
        shares=shares,
        main=main,
        margin=margin - descend.keywords["penalty"] * float(descent.weights.sum()),
        descent=descent,
        pairs=pairs_of,
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
    if fit.W is not None and not fits_dense(training.n_features, whole):
        pairs = PairWeights(training.varying, fit.W)
    elif fit.W is not None:
        model["W"] = training.spread(fit.W)
        pairs = PairWeights(np.arange(len(shares)), model["W"])
    else:
        place = np.full(training.n_features, -1)
        place[training.varying] = np.arange(size)
        inside = np.sort(place[kept])
        pairs = fit.pairs(inside[inside >= 0])
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
