"""Classes by expected distance (eq. 3.18), the σ that classifies best, and Algorithm 3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels import in_threads
from fsframe.method.run import Run
from fsframe.resampling.groups import deal_groups, deal_rows, require_two
from fsframe_margin.engine import linear_kernels
from fsframe_margin.engine.margins import PairSpace
from fsframe_margin.engine.training import Training, take_training, workers_within

Floats = NDArray[np.float64]

_ROWS = 256
_MOST_BYTES = 1 << 25
"""Bytes of the distances between a block of rows and all training rows."""


def class_distances(
    space: PairSpace, weights: Floats, sigma: float, rows: Floats, n_classes: int
) -> Floats:
    """Ψ_c(x′) = Σ_n α_n^c(x′) q(x′, x_n) of eq. 3.18 for new rows.

    Parameters
    ----------
    space : PairSpace
        The training rows.
    weights : (A, A) or (A,) float64
        W of the quadratic measurement, or w of the linear one.
    sigma : float
        σ > 0.
    rows : (m, A) float64
        New rows in the same scale.
    n_classes : int
        Number of classes.

    Returns
    -------
    (m, n_classes) float64
        Smaller is nearer; inf for a class without training rows.

    Notes
    -----
    m · n pairs, in blocks of at most 256 rows and 32 MiB.
    """
    nobody = np.full(len(rows), -1)
    return _distances(space, weights, sigma, space.new_rows(rows), nobody, n_classes)


def training_distances(space: PairSpace, weights: Floats, sigma: float, n_classes: int) -> Floats:
    """Ψ_c of eq. 3.18 for the training rows, each left out of its own neighbours.

    Returns
    -------
    (n, n_classes) float64
        In the order of the table; inf for a class that has no other member.
    """
    sorted_rows, themselves = np.ascontiguousarray(space.XT.T), np.arange(space.n_rows)
    unsorted = np.empty((space.n_rows, n_classes))
    unsorted[space.order] = _distances(space, weights, sigma, sorted_rows, themselves, n_classes)
    return unsorted


def _distances(
    space: PairSpace,
    weights: Floats,
    sigma: float,
    rows: Floats,
    skip: NDArray[np.intp],
    n_classes: int,
) -> Floats:
    """Ψ_c of rows (m, len(XT)), without the training row `skip` of each (−1: with all)."""
    out = np.empty((len(rows), n_classes))
    measure = space.whole_measure(weights)
    bounds = np.searchsorted(space.labels, np.arange(n_classes + 1), side="left")
    # No bit depends on how many rows are processed at a time.
    step = min(_ROWS, max(1, _MOST_BYTES // (8 * max(1, space.n_rows))))
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        q = np.empty((len(rows[some]), space.n_rows))
        linear_kernels.cross_measures(rows[some], measure, q)
        linear_kernels.expectations(q, 1.0 / sigma, space.count, bounds, skip[some], out[some])
    return out


def nearest_class(distances: Floats) -> NDArray[np.int64]:
    """The class of the smallest distance in each row, ties to the first class.

    >>> nearest_class(np.array([[2.0, 1.0], [3.0, 3.0]])).tolist()
    [1, 0]
    """
    return np.argmin(distances, axis=1).astype(np.int64)


def relative_scores(distances: Floats) -> Floats:
    """Minus each row's distances as shares of their sum: larger is nearer, comparable across rows.

    A class without training rows has the score −1, the lowest possible.

    >>> relative_scores(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[-0.25, -0.75],
           [-0.5 , -0.5 ]])
    """
    finite = np.isfinite(distances)
    held = np.where(finite, distances, 0.0)
    total = held.sum(axis=1, keepdims=True)
    # If a row coincides with members of every class, all distances are zero.
    shares = np.divide(held, total, out=np.full_like(held, 1.0 / held.shape[1]), where=total > 0)
    return -np.where(finite, shares, 1.0)


Setting = tuple[float, Any]
"""σ, and anything that a method tunes together with it."""

IMMIGRATE_PATH = (4.0, 2.0, 1.0, 0.5, 0.25, 0.125)
"""σ from 4, halved until it is not larger than 0.2 (IMMIGRATE paper, §4.2)."""

IM4E_PATH = tuple(2.0**-i for i in range(14))
"""σ from 1, halved while it is at least 1e-4 (IM4E paper, §5.2)."""


class Tuned(NamedTuple):
    """The position of the setting with the best cross-validated accuracy, and all accuracies.

    An accuracy is the weighted share of held-out rows that were classified correctly.
    """

    best: int
    accuracy: Floats


def stratified_folds(
    y: NDArray[np.integer],
    n_folds: int,
    generator: np.random.Generator,
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.intp]:
    """The fold of every row, stratified by class (`deal_rows`).

    Rows of one group are in the same fold; there are at most as many folds as groups.

    Raises
    ------
    DataError
        If a class occurs in one group only, so that it cannot be learned without that group.
    """
    if groups is not None:
        require_two(groups, y.astype(np.int64, copy=False), "tuning")
        return deal_groups(y, groups, min(n_folds, np.unique(groups).size), generator)
    return deal_rows(y, n_folds, generator)


def tune(
    training: Training,
    start: Floats,
    settings: Sequence[Setting],
    fit: Callable[[PairSpace, Floats, Setting], Floats],
    folds: NDArray[np.intp],
    standardize: bool,
    run: Run,
) -> Tuned:
    """The setting with the best accuracy over folds.

    Parameters
    ----------
    training : Training
        All rows; their outer weights are those of the accuracy.
    start : (A, A) or (A,) float64
        W, or w of the linear measure, at which every fit starts.
    settings : sequence
        Pairs of σ and anything else that `fit` uses.
    fit : callable
        Returns the weights, given the pairs of a fold's training rows, the start in their columns,
        and a setting.
    folds : (n,) int
        Fold of each row.
    standardize : bool
        Whether columns are scaled; the scale is learned from the training rows of a fold.
    run : Run
        Every fit has one thread, and as many run at a time as memory allows; results do not depend
        on that number.

    Notes
    -----
    Ties go to the earlier setting. A fold whose training rows have only one class is left out. The
    pairs and the scaled table of a fold are shared by all settings.
    """
    y, weight = training.y, training.outer
    right, seen = np.zeros(len(settings)), 0.0
    jobs: list[tuple[NDArray[np.intp], int, Callable[[], NDArray[np.int64]]]] = []
    for fold in range(int(folds.max()) + 1):
        held_out, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        _, members = np.unique(y[train], return_counts=True)
        if not held_out.size or members.size < 2 or members.max() < 2:
            continue
        seen += weight[held_out].sum()
        predict = _predictions(training, start, train, held_out, fit, standardize, run)
        jobs += [(held_out, k, partial(predict, setting)) for k, setting in enumerate(settings)]
    workers = workers_within(run, *training.X.shape)
    predictions = in_threads(workers, lambda job: job[-1](), jobs)
    for (held_out, k, _), predicted in zip(jobs, predictions, strict=True):
        right[k] += weight[held_out][predicted == y[held_out]].sum()
    if not seen:
        return Tuned(0, np.full(len(settings), np.nan))
    accuracy = right / seen
    return Tuned(int(np.argmax(accuracy)), accuracy)


def _predictions(
    training: Training,
    start: Floats,
    train: NDArray[np.intp],
    held_out: NDArray[np.intp],
    fit: Callable[[PairSpace, Floats, Setting], Floats],
    standardize: bool,
    run: Run,
) -> Callable[[Setting], NDArray[np.int64]]:
    """Return a function of a setting: the classes that a fit on `train` predicts for `held_out`."""
    linear = start.ndim == 1
    inner = take_training(
        "tuning",
        training.X[train],
        training.y[train],
        training.n_classes,
        training.count[train],
        training.outer[train] / training.count[train],
        standardize,
        training.steps > 0,
    )
    space = PairSpace(
        inner.X, inner.y, inner.outer, inner.count,
        memory=run.route, linear=linear, steps=inner.steps,
    )  # fmt: skip
    rows = inner.rows(training.X[held_out])
    first = start[np.ix_(*[inner.varying] * start.ndim)]
    norm = first.sum() if linear else np.linalg.norm(first)
    if not norm > 0:  # All columns with a starting weight are constant in this fold.
        first = np.ones(len(first)) if linear else np.eye(len(first))
        norm = len(first) if linear else np.sqrt(len(first))
    first = first / norm

    def predict(setting: Setting) -> NDArray[np.int64]:
        weights = fit(space, first, setting)
        return nearest_class(class_distances(space, weights, setting[0], rows, training.n_classes))

    return predict


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
    progress: Callable[[int], Any],
    unit: Callable[[int, Callable[[], dict[str, Any]]], dict[str, Any]],
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
        Returns the W at which a round starts.
    fit : callable
        Returns W of a round by a short descent, given the pairs, the start and σ.
    progress : callable
        Called with the number of finished rounds.
    unit : callable
        Returns the result of a round (W, and which rows it misclassifies), computed now or stored
        by an earlier attempt.

    Notes
    -----
    Round t descends on the cost of eq. 3.19 with D_t, classifies every training row with the row
    itself left out (it would be its own neighbour at distance zero), and has the error
    ε_t = Σ D_t [wrong]. A round with ε_t = 0 or ε_t ≥ 1 − 1/C is discarded, and D is unchanged.
    Otherwise α_t = ½ (log((1 − ε_t)/ε_t) + log(C − 1)), which is SAMME's vote at the paper's scale
    and the paper's own for two classes; D is multiplied by exp(α_t) for misclassified rows.
    """
    outer = space.outer
    weight = outer / outer.sum()
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
            fitted = unit(t, partial(_round, space, start, float(sigma), n_classes, fit))
            W, wrong = fitted["W"], fitted["wrong"]
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
        space.outer = outer
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


def vote(space: PairSpace, boosted: Boosted, rows: Floats, n_classes: int) -> Floats:
    """Σ α_t over the rounds that vote for each class of `rows` in the scale of the space."""
    votes = np.zeros((len(rows), n_classes))
    for W, sigma, alpha in zip(boosted.weights, boosted.sigma, boosted.alpha, strict=True):
        distances = class_distances(space, W, float(sigma), rows, n_classes)
        votes[np.arange(len(votes)), nearest_class(distances)] += alpha
    return votes
