"""What IMMIGRATE returns: a Selection made from a fit, and what weakens it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.selection import PairWeights, Selection, rank_by_score

if TYPE_CHECKING:
    from fsframe_margin.engine.descent import Descent
    from fsframe_margin.engine.training import Training
    from fsframe_margin.methods.immigrate_fit import Fit

__all__ = ["descent_notes", "immigrate_result"]

Floats = NDArray[np.float64]


def immigrate_result(
    training: Training,
    fit: Fit,
    sigma: float,
    keep_count: Callable[[int, int], int],
    tables: Mapping[str, Any],
    notes: Iterable[str],
    *,
    whole: int,
) -> Selection:
    """The Selection of a fit, in the columns of the table that `training` was made from.

    Parameters
    ----------
    training : Training
    fit : Fit
        Dense, with W of shape (A, A) over the columns that vary, or implicit.
    sigma : float > 0
        The one that was used.
    keep_count : callable
        How many of so many columns to keep, by the published rule or as asked (`keep_count`).
    tables : mapping of str to array
        Beside cost, gap, step and main effects, which come from the fit.
    notes : iterable of str
        All warnings.
    whole : int
        Bytes that W may take with its temporaries, spread over all columns of the table; where it
        takes more it is returned over the columns that were fitted.

    Returns
    -------
    Selection
        Scores Σ_b W_ab², zero for constant columns; kept are those above 1/A, and at least one.
    """
    size = training.varying.size
    scores = np.zeros(training.n_features)
    scores[training.varying] = fit.scores
    main = np.zeros(training.n_features)
    main[training.varying] = fit.main
    above = int((scores > 1.0 / size).sum())
    kept = rank_by_score(scores, keep_count(len(scores), max(1, above)))
    model = {
        "sigma": np.float64(sigma),
        "centre": training.scaling.centre,
        "scale": training.scaling.scale,
    }
    from fsframe_margin.methods.immigrate_fit import fits_dense

    if fit.W is not None and not fits_dense(training.n_features, whole):
        pairs = PairWeights(training.varying, fit.W)
    elif fit.W is not None:
        model["W"] = training.spread(fit.W)
        pairs = PairWeights(np.arange(len(scores)), model["W"])
    else:
        place = np.full(training.n_features, -1)
        place[training.varying] = np.arange(size)
        inside = np.sort(place[kept])
        pairs = fit.pairs(inside[inside >= 0])
    return Selection(
        selected=kept,
        scores=scores,
        weights=np.sqrt(scores),
        pair_weights=pairs,
        model=model,
        model_columns={name: axes for name, axes in _MODEL_COLUMNS.items() if name in model},
        tables={
            "cost": fit.descent.cost,
            "gap": fit.descent.gap,
            "step": fit.descent.step,
            "main-effect": main**2,
            **tables,
        },
        warnings=notes,
    )


_MODEL_COLUMNS = {"sigma": (), "centre": (0,), "scale": (0,), "W": (0, 1)}


def descent_notes(found: Descent, line_search: bool) -> Iterator[str]:
    """What weakens the result of a descent: no step at all, or (with a line search) no end."""
    if found.iterations == 0 and found.stopped.startswith("no weights"):
        yield (
            "no pair of features separates hits from misses at this sigma, "
            "(−Σ)⁺ = 0: W was left where it started"
        )
    if not found.converged and line_search:
        yield (
            f"no convergence: {found.stopped}; "
            f"the last step changed the cost by {_last_change(found.cost):.1e} of itself"
        )


def _last_change(cost: Floats) -> float:
    if len(cost) < 2 or cost[-1] == 0:
        return 0.0
    return abs(float(cost[-1] - cost[-2]) / float(cost[-1]))
