"""IMMIGRATE: weights of features and of pairs of features from stable margins (Algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.run import DEFAULT_MEMORY, Cost, Run, size_text
from fsframe.method.selection import PairWeights, Selection
from fsframe.params import choice, either, flag, integer, optional, param, real
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.training import Training, one_blas_thread
from fsframe_margin.methods.im4e import descend_im4e
from fsframe_margin.methods.margin_selector import (
    SAMPLE,
    TunedSelector,
    carried,
    upstream_matrix,
)

if TYPE_CHECKING:
    from fsframe_margin.engine.descent import Descent
    from fsframe_margin.engine.margins import PairSpace

Floats = NDArray[np.float64]

_PAPER = "Zhao, Hong, Liu"

RULES = ("elementwise", "psd", "psd-clip")
"""Interpretations of the constraint on W, by which `engine.descent.update` makes its target."""

_PUBLISHED_SCREEN = 2.0
"""The paper's threshold of an IM4E weight, in units of 1/A (§3.6)."""

TOLERANCE = 1e-4
"""Relative change of the cost at which a descent with a line search stops by default."""

_MOMENTUM = 0.3
"""Share of the running average of Σ that an update leaves in it."""


@attrs.frozen(kw_only=True)
class Immigrate(TunedSelector):
    """Weights W of features and of pairs of features that maximise stable hypothesis-margins.

    Parameters
    ----------
    sigma : float > 0 or "cv"
        Width σ of the neighbourhood; ``"cv"`` chooses among 4, 2, 1, ½, ¼, ⅛ by inner
        cross-validation.
    update : {"elementwise", "psd", "psd-clip"}
        Update rule of step 2: the exact minimiser under W ≥ 0 as printed below eq. 3.5, Theorem 3.1
        as printed, or Theorem 3.1 with negative entries clipped, as in the authors' program.
    line_search : bool
        Line search, so that the cost never increases; otherwise full steps.
    max_iter : int ≥ 0
        Maximum number of updates.
    tol : float ≥ 0, optional
        Stop when the relative change of the cost is at most this.
    keep : {"auto", "best", "last"}
        Which iterate is returned.
    start : {"upstream", "identity", "random"}
        Start of W.
    prune : bool or "auto"
        Set entries below 1/A to zero (§3.4.3).
    l1 : float ≥ 0
        λ of a penalty λ Σ_ab W_ab per row, instead of pruning.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first, learned from these rows.
    folds : int ≥ 2
        Inner folds for ``sigma="cv"``.
    screen : float > 0, optional
        Only features with an IM4E weight above screen/A form pairs. By default 2, as in the
        paper, if W over all features does not fit the memory bound, with a warning; else no screen.
    prototypes : int ≥ 4, optional
        If there are more rows, learn from a sample of about this many.

    Notes
    -----
    Cost (eq. 3.5) after step 1 (eq. 3.6), with outer weights o and neighbour counts c:
    G(W) = σ Σ_n o_n [log Σ_m c_m e^{−q_nm/σ} − log Σ_h c_h e^{−q_nh/σ}],
    q(x_i, x_j) = |x_i − x_j|ᵀ W |x_i − x_j|; its gradient is Σ of Theorem 3.1.

    Time per iteration N² A² / 2 multiply-adds and N² exponentials; memory 24 N² bytes up to
    4096 rows, a few rows of length N above; and 64 A² bytes.

    The score of a feature is the part of the expected margin that it carries, Σ_b W_ab (−Σ)_ab / N
    at the solution, which is its share Σ_b W_ab² of ‖W‖² times the margin. Features with a share
    above 1/A are kept, with A the number of columns that vary, and at least one.

    Departures from the paper: the line search (the plain alternation does not lower the cost in
    every step), with a running average of Σ in step 2 (fewer updates), W ≥ 0 element by element as
    the constraint says, and the start at I/√A instead of a random one.
    ``update="psd-clip", line_search=false`` is the authors' R program, number for number.

    References
    ----------
    Zhao, Hong, Liu: IMMIGRATE, eq. 3.3–3.8, 3.18, 3.19, Algorithm 2, §3.4.3.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 4))
    >>> data = Dataset.from_arrays(X, X[:, 1] * X[:, 3] > 0)
    >>> selection = Immigrate().select(data)
    >>> selection.selected.tolist(), selection.pair_weights.top(1)[0][:2]
    ([1, 3], (1, 3))
    """

    sigma: float | str = param(
        1.0,
        either(real(above=0), choice("cv")),
        help="Width of the neighbourhood; cv: chosen by inner cross-validation.",
        symbol="σ",
        source=f"{_PAPER}, eq. 3.6; path in §4.2",
    )
    update: str = param(
        "elementwise",
        choice(*RULES),
        help="Update rule of step 2: the exact minimiser with W ≥ 0, Theorem 3.1, or Theorem "
        "3.1 with negative entries clipped.",
        source=f"{_PAPER}, eq. 3.8",
    )
    line_search: bool = param(True, flag(), help="Line search, so that the cost never increases.")
    max_iter: int = param(
        50,
        integer(0),
        help="Maximum number of updates (the authors' program makes 10).",
        source=f"{_PAPER}, §4.2",
    )
    tol: float | None = param(
        None,
        optional(real(0)),
        help="Stop when the relative change of the cost is at most this; by default 1e-4 with "
        "the line search, and never without it.",
        symbol="ε",
        source=f"{_PAPER}, Figure 1",
    )
    keep: str = param(
        "auto",
        choice("auto", "best", "last"),
        help="Return the iterate with the lowest cost, or the last; auto: the last for "
        "psd-clip without line search, otherwise the best.",
    )
    start: str = param(
        "upstream",
        choice("upstream", "identity", "random"),
        help="Start of W: the upstream weights (the identity where there are none), I/√A, or "
        "random.",
        source=f"{_PAPER}, Algorithm 2; §3.6",
    )
    prune: bool | str = param(
        "auto",
        either(flag(), choice("auto")),
        help="Set entries of W below 1/A to zero; auto: no, or tuned together with sigma=cv.",
        source=f"{_PAPER}, §3.4.3",
    )
    l1: float = param(
        0.0,
        real(0),
        help="ℓ₁ penalty on the rows of W, instead of pruning.",
        symbol="λ",
        source=f"{_PAPER}, §6, first direction",
    )
    screen: float | None = param(
        None,
        optional(real(above=0)),
        help="Screen with IM4E first: only features with a weight above screen/A form pairs. "
        "`im4e immigrate` does the same in two stages. By default 2, as in the paper, where W over "
        "all features does not fit the memory bound, else no screen.",
        source=f"{_PAPER}, §3.6",
    )

    def check_parameters(self) -> Iterator[str]:
        if self.l1 > 0 and self.update != "elementwise":
            yield "l1 has a closed-form update for update=elementwise only"
        if self.l1 > 0 and self.prune is True:
            yield "l1 takes the place of pruning: set one of l1 and prune"

    def cost(self, n: int, p: int) -> Cost:
        m = n if self.prototypes is None else min(n, self.prototypes)
        # About a sixth of columns of noise pass the screen of those that do not fit; 70 × 7,000 and
        # 70 × 20,000 take 15 and 89 s, 200 × 7,000 takes 74.
        screened = self.screen is None and _bytes_of_weights(p) > DEFAULT_MEMORY
        each = 4e-11 if screened else 5e-10
        return Cost(
            seconds=8e-3 + each * m * m * p * p,
            formula=f"0.008 + {each:g} n²p²" if m == n else f"0.008 + {each:g} p² × {m}²",
            remedy=f"immigrate:prototypes={SAMPLE}, a sample of rows" if m > SAMPLE else "",
        )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.margins import PairSpace

        training = self._drawn(data, upstream, run)
        notes = []
        size = training.varying.size
        screen = self.screen
        if screen is None and _bytes_of_weights(size) > run.route:
            screen = _PUBLISHED_SCREEN
        if screen is not None:
            training, upstream = self._screened(training, screen, run)
            if self.screen is None:
                notes.append(_said_of_screen(size, training.varying.size, run.route))
            size = training.varying.size
        run.must_hold(
            _bytes_of_weights(size),
            f"immigrate: W over {size} columns",
            f"screen first (`im4e:top={math.isqrt(int(run.memory) // 64)} immigrate`, or a larger "
            "screen)",
        )
        start = start_of_weights(training, upstream, self.start, run)
        sigma, pruned, tables = self._tuned(training, start, run)
        space = PairSpace.of(training, run)
        descent = self._descent(sigma, pruned, size)(space, start)
        W = descent.weights
        margin = space.margin(descent.point, sigma) - self.l1 * float(W.sum())
        shares, main = np.zeros((2, training.n_features))
        shares[training.varying] = (W**2).sum(axis=1)
        main[training.varying] = np.diag(W)
        model: dict[str, Any] = {"sigma": np.float64(sigma)}
        if _bytes_of_weights(training.n_features) > run.route:
            # Of screened columns W fits, over all columns of the table it does not.
            pairs = PairWeights(training.varying, W)
        else:
            model["W"] = training.spread(W)
            pairs = PairWeights(np.arange(len(shares)), model["W"])
        return self._selection(
            training,
            shares,
            int((shares > 1.0 / size).sum()),
            scores=carried(shares, margin),
            weights=np.sqrt(shares),
            pair_weights=pairs,
            model=model,
            tables={
                "cost": descent.cost,
                "gap": descent.gap,
                "step": descent.step,
                "main-effect": main**2,
                "margin": np.array([margin]),
                "sigma": np.array([sigma]),
                "pruned": np.array([pruned]),
                **tables,
            },
            notes=[*notes, *_notes(descent, self.line_search)],
        )

    def _screened(self, training: Training, screen: float, run: Run) -> tuple[Training, Selection]:
        """The rows with the columns that IM4E weighs above screen/A (at least the best one), and
        these weights, to start from.
        """
        from fsframe_margin.engine.margins import PairSpace

        space = PairSpace.of(training, run, linear=True)
        size = training.varying.size
        sigma = 1.0 if self.sigma == "cv" else float(self.sigma)
        w = descend_im4e(space, np.full(size, 1.0 / size), sigma).weights
        kept = np.flatnonzero(w > min(screen / size, w.max() * (1 - 1e-12)))
        training = attrs.evolve(
            training,
            X=np.ascontiguousarray(training.X[:, kept]),
            varying=training.varying[kept],
            steps=training.steps[kept],
        )
        weights = training.spread(w[kept])
        return training, Selection(selected=[], scores=np.empty(0), weights=weights)

    def _tuned(
        self, training: Training, start: Floats, run: Run
    ) -> tuple[float, bool, dict[str, Floats]]:
        """σ, whether W is pruned, and the tables of inner cross-validation."""
        if self.sigma != "cv":
            return float(self.sigma), self.prune is True, {}
        from fsframe_margin.engine.prediction import IMMIGRATE_PATH

        choices = (False, True) if self.prune == "auto" and not self.l1 else (self.prune is True,)
        settings = [(sigma, pruned) for sigma in IMMIGRATE_PATH for pruned in choices]

        def fit(space: PairSpace, start: Floats, setting: tuple[float, bool]) -> Floats:
            weights: Floats = self._descent(*setting, len(start))(space, start).weights
            return weights

        tuned = self._tune(training, start, settings, fit, run)
        tables = {
            "tuning-sigma": np.array([sigma for sigma, _ in settings]),
            "tuning-prune": np.array([pruned for _, pruned in settings]),
            "tuning-accuracy": tuned.accuracy,
        }
        return *settings[tuned.best], tables

    def _descent(self, sigma: float, pruned: bool, size: int) -> partial[Descent]:
        """`descend` with the parameters of this method, for W over `size` columns."""
        tol = self.tol if self.tol is not None else (TOLERANCE if self.line_search else 0.0)
        package = self.update == "psd-clip" and not self.line_search
        return partial(
            descend,
            sigma=sigma,
            rule=self.update,
            line_search=self.line_search,
            max_iter=self.max_iter,
            tol=tol,
            prune_below=1.0 / size if pruned else 0.0,
            penalty=self.l1,
            keep_best=self.keep == "best" or (self.keep == "auto" and not package),
        )


def descend(
    space: PairSpace,
    start: Floats,
    sigma: float,
    *,
    rule: str = "elementwise",
    line_search: bool = True,
    max_iter: int = 50,
    tol: float = TOLERANCE,
    prune_below: float = 0.0,
    penalty: float = 0.0,
    keep_best: bool = True,
) -> Descent:
    """Algorithm 2: minimise the cost of eq. 3.5 over W from `start`.

    Parameters
    ----------
    space : PairSpace
        The pairs of rows.
    start : (A, A) float64
        Symmetric, Frobenius norm one.
    sigma, rule, line_search, max_iter, tol
        As for `Immigrate`, where `rule` is called `update`; with tol = 0 it never stops early.
    prune_below : float
        Entries below this are set to zero, at the start and in every target; 0: nothing is pruned.
    penalty : float
        λ of the l₁ penalty λ Σ_n o_n Σ_ab W_ab.
    keep_best : bool
        Return the iterate of the lowest cost, not the last.

    Returns
    -------
    Descent

    Notes
    -----
    `engine.descent.Objective` describes the operations on W. With pruning, the cost decreases
    from the pruned start on. With the line search, step 2 minimises <H, W>, where H is a
    running average of Σ (three tenths of the H before), because U of Σ alone tends to swing from
    one side of the minimum to the other; where that lowers the cost no more, Σ is used.
    """
    from fsframe_margin.engine.descent import DescentState, Objective

    objective = Objective(space, sigma, rule, penalty)
    point = objective.at(start)
    state = DescentState(
        point, objective.cost(point), max_iter=max_iter, tol=tol, keep_best=keep_best
    )
    if prune_below and max_iter:
        state.restart(objective, prune_below, moved=line_search)
    average: Any = None
    while state.updates < max_iter:
        point = state.point
        # Step 1, eq. 3.6: α and β of every row at W, and with them Σ of Theorem 3.1.
        gradient = objective.gradient(point)
        averaged = line_search and average is not None
        average = (1.0 - _MOMENTUM) * gradient + _MOMENTUM * average if averaged else gradient
        # Step 2, eq. 3.8: the W of norm one that minimises <Σ, W>, or <H, W> with the average H.
        target = objective.minimiser(average, prune_below)
        reached = None
        if target is not None:
            arc = objective.arc(point, gradient, target)
            # As printed, W is replaced; the line search steps only as far as the cost decreases.
            reached, step = objective.step(point, arc, target, prune_below, line_search)
        if reached is None and averaged:
            # The minimiser for the average does not lower the cost, but that for Σ alone may.
            average = None
            continue
        if target is None:
            state.stop("no weights lower the cost: (−Σ)⁺ is zero")
            break
        state.gaps.append(arc.here - arc.along)
        if reached is None:
            state.stop("no step lowers the cost")
            state.steps.append(0.0)
            break
        state.move(reached, objective.cost(reached), step)
        if state.has_converged():
            state.stop()
            break
    return state.result()


def _bytes_of_weights(size: int) -> int:
    """Bytes of W, U, Σ, the result and their temporaries: 64 A²."""
    return 64 * size * size


def _said_of_screen(size: int, kept: int, memory: int) -> str:
    """The warning that only some columns form pairs, since W over all does not fit."""
    return (
        f"W over {size} columns takes {size_text(_bytes_of_weights(size))}, more than the "
        f"{size_text(memory)} of memory that one fit may hold: only the {kept} with an IM4E weight "
        f"above {_PUBLISHED_SCREEN:g}/{size} form pairs, as in the paper "
        f"(screen={_PUBLISHED_SCREEN:g}); more memory (--memory) takes all"
    )


def start_of_weights(
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


def _notes(descent: Descent, line_search: bool) -> Iterator[str]:
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
