"""Boosted IMMIGRATE (Algorithm 3): rounds of short descents on reweighted rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.prediction import class_distances, nearest_class, training_distances

__all__ = ["Boosted", "boost", "sigma_path", "vote"]

Floats = NDArray[np.float64]


@attrs.frozen(kw_only=True, eq=False)
class Boosted:
    """The rounds of a boosted IMMIGRATE.

    Parameters
    ----------
    weights : (n_kept, A, A) float64
        W of every kept round.
    sigma, alpha : (n_kept,) float64
        Their σ_t and votes α_t.
    every_sigma, every_error, every_kept : (n_rounds,) arrays
        σ_t, the weighted error ε_t, and whether the round was kept.
    starts : (n_rounds, A, A) float64
        W at which each round started; a single matrix if all are equal.
    fallback : bool
        Whether no round had an error strictly between 0 and the limit, so that only the best one
        votes.
    """

    weights: Floats
    sigma: Floats
    alpha: Floats
    every_sigma: Floats
    every_error: Floats
    every_kept: NDArray[np.bool_]
    starts: Floats
    fallback: bool

    def margins(self, space: PairSpace) -> Floats:
        """Expected margin per row of every kept round, rows weighted as in `space`, (n_kept,)."""
        rounds = zip(self.weights, self.sigma.tolist(), strict=True)
        return np.array([space.margin(space.point(W, sigma), sigma) for W, sigma in rounds])


def sigma_path(largest: float, smallest: float, rounds: int) -> Floats:
    """σ_t from `largest`, multiplied by (smallest/largest)^(1/rounds) in every round.

    >>> sigma_path(4.0, 1.0, 2)
    array([4., 2.])
    """
    return largest * (smallest / largest) ** (np.arange(rounds) / rounds)


def boost(
    space: PairSpace,
    sigmas: Floats,
    n_classes: int,
    start_of: Callable[[int], Floats],
    fit: Callable[[PairSpace, Floats, float], Floats],
    progress: Callable[[int], Any] = lambda done: None,
    unit: Callable[[int, Callable[[], dict[str, Any]]], dict[str, Any]] = lambda t, work: work(),
) -> Boosted:
    """Run Algorithm 3 over `sigmas`.

    Parameters
    ----------
    space : PairSpace
        The pairs; its outer weights are the initial D.
    sigmas : (T,) float64
        σ_t.
    n_classes : int
        Number of classes.
    start_of : callable
        Gives the W at which a round starts.
    fit : callable
        Gives W of a round by a short descent, from the pairs, its start and its σ.
    progress : callable
        Called with the number of finished rounds.
    unit : callable
        Gives the result of a round (W, and which rows it misclassifies): computes it, or returns
        the one kept by an earlier attempt.

    Notes
    -----
    Round t descends on the cost of eq. 3.19 with D_t, classifies every training row with the row
    itself left out (it would be its own neighbour at distance zero), and has the error
    ε_t = Σ D_t [wrong]. A round with ε_t = 0 or ε_t ≥ 1 − 1/C is discarded, and D is unchanged.
    Otherwise α_t = ½ (log((1 − ε_t)/ε_t) + log(C − 1)), which is SAMME's vote at the paper's scale
    and the paper's own for two classes; D is multiplied by exp(α_t) for misclassified rows.
    """
    own = space.outer
    weight = own / own.sum()
    limit = 1.0 - 1.0 / n_classes
    kept: list[tuple[Floats, float, float]] = []
    discarded: list[tuple[float, Floats, float]] = []
    errors, flags, starts = [], [], []
    try:
        for t, sigma in enumerate(sigmas):
            # Scaled as in the first round, so that an l1 penalty keeps its meaning.
            space.outer = weight * space.total
            start = start_of(t)
            starts.append(start)
            found = unit(t, partial(_round, space, start, float(sigma), n_classes, fit))
            W, wrong = found["W"], found["wrong"]
            error = float(weight[wrong].sum())
            errors.append(error)
            flags.append(0.0 < error < limit)
            if flags[-1]:
                alpha = 0.5 * (np.log((1.0 - error) / error) + np.log(n_classes - 1.0))
                kept.append((W, float(sigma), alpha))
                weight = weight * np.where(wrong, np.exp(alpha), 1.0)
                weight = weight / weight.sum()
            else:
                discarded.append((error, W, float(sigma)))
            progress(t + 1)
    finally:
        space.outer = own
    fallback = not kept
    if fallback:
        _, W, sigma = min(discarded, key=lambda round_: round_[0])
        kept = [(W, sigma, 1.0)]
    same = all(start is starts[0] for start in starts)
    return Boosted(
        weights=np.array([W for W, _, _ in kept]),
        sigma=np.array([sigma for _, sigma, _ in kept]),
        alpha=np.array([alpha for _, _, alpha in kept]),
        every_sigma=np.asarray(sigmas, dtype=float),
        every_error=np.array(errors),
        every_kept=np.array(flags, dtype=bool),
        starts=np.array(starts[:1] if same else starts),
        fallback=fallback,
    )


def _round(
    space: PairSpace,
    start: Floats,
    sigma: float,
    n_classes: int,
    fit: Callable[[PairSpace, Floats, float], Floats],
) -> dict[str, Any]:
    """W of one round, and the rows that it misclassifies, each left out of its neighbours."""
    W = fit(space, start, sigma)
    distances = training_distances(space, W, sigma, n_classes)[space.order]
    return {"W": W, "wrong": nearest_class(distances) != space.labels}


def vote(space: PairSpace, boosted: Boosted, rows: Floats | None, n_classes: int) -> Floats:
    """Σ α_t over the rounds that vote for each class, (m, n_classes).

    `rows` are new rows in the scale of the space; None means the training rows, each left out of
    its own neighbours.
    """
    votes = np.zeros((space.n_rows if rows is None else len(rows), n_classes))
    for W, sigma, alpha in zip(boosted.weights, boosted.sigma, boosted.alpha, strict=True):
        if rows is None:
            distances = training_distances(space, W, float(sigma), n_classes)
        else:
            distances = class_distances(space, W, float(sigma), rows, n_classes)
        votes[np.arange(len(votes)), nearest_class(distances)] += alpha
    return votes
