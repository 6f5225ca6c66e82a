"""Margins to the nearest hit and miss: Simba, G-flip, instance weights, and a weighted vote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kinds import MOST_TIMES
from fsframe.method.classifier import Classifier
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.params import choice, either, integer, param, real, ties_of_neighbours
from fsframe.table.dataset import Dataset
from fsframe_margin.engine.training import Training, features_of, one_blas_thread, take_training
from fsframe_margin.methods.margin_selector import (
    MarginSelector,
    carried,
    feature_weights,
    standardize_parameter,
)

if TYPE_CHECKING:
    from fsframe_margin.engine.nearest_kernels import Rows

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

    def cost(self, n: int, p: int) -> Cost:
        # The passes, and one for the margins of the result.
        reads = self.passes + 1
        return Cost(
            seconds=2e-3 + reads * n * n * (3e-9 + 2.5e-10 * p),
            formula=f"0.002 + {reads} n² (3e-9 + 2.5e-10 p)",
        )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.nearest_kernels import Rows, simba_visits

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
        rows = Rows.of(training)
        training = training.released()
        slope = self.beta if self.utility == "sigmoid" else 0.0
        simba_visits(rows, training.outer * step, np.concatenate(orders), slope, w)
        return simba_selection(self, training, rows, w, {}, remedy="lower passes")


def simba_selection(
    method: MarginSelector,
    training: Training,
    rows: Rows,
    raw: Floats,
    extra: dict[str, Any],
    *,
    remedy: str,
) -> Selection:
    """The Selection for raw Simba weights: w²/‖w²‖_∞, keeping columns with w above one.

    Scores are the features' parts of the mean margin of the rows under these weights. `remedy` says
    what to do if the weights overflow.
    """
    from fsframe_margin.engine.nearest_kernels import margin_sum

    squares = raw * raw
    largest = float(squares.max())
    notes = []
    if not np.isfinite(largest):
        notes.append(f"the weights grew beyond all bounds: {remedy}")
        squares = np.where(np.isfinite(squares), 0.0, 1.0)
        largest = 1.0
    squares = squares / largest if largest > 0 else squares
    margin = margin_sum(rows, training.outer, squares)
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
    >>> selection = Gflip(utility="zero-one").select(Dataset.from_arrays(X, X[:, 2] > 0))
    >>> int(selection.selected[0])
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

    def cost(self, n: int, p: int) -> Cost:
        # Of about three passes, as most tables take.
        return Cost(seconds=5e-3 + 1e-8 * n * n * p, formula="0.005 + 1e-8 n²p")

    def bytes_for_rows(self, n_samples: int) -> int:
        """The distances between all rows and their change."""
        return 24 * n_samples**2

    def check_rows(self, n_samples: int, run: Run) -> None:
        run.must_hold(
            self.bytes_for_rows(n_samples),
            f"gflip, which is for fewer rows: a table of distances between all {n_samples}",
            "use simba, which keeps none",
        )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.nearest_kernels import flip_margins

        training = self._training(data, upstream, margins=True)
        n, size = training.X.shape
        self.check_rows(n, run)
        XT, steps = np.ascontiguousarray(training.X.T), training.steps
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
    """Write the squared distances in the columns `inside` into `squared`, (N, N); O(N² A)."""
    squared[...] = 0.0
    for feature in np.flatnonzero(inside):
        squared += _squares(XT[feature], steps[feature])


def _squares(row: Floats, step: float) -> Floats:
    """(x_i − x_j)² of one feature, (N, N)."""
    if step > 0:
        return np.where(np.not_equal.outer(row, row), step * step, 0.0)
    squares: Floats = np.subtract.outer(row, row) ** 2
    return squares


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
    >>> selection = Mbiw().select(Dataset.from_arrays(X, [0, 0, 0, 1, 1, 1]))
    >>> int(np.argmin(selection.instance_weights))
    5
    """

    natural_zero: ClassVar[bool] = False
    table_copies: ClassVar[float] = 3.0

    def cost(self, n: int, p: int) -> Cost:
        return Cost(
            seconds=5e-3 + n * n * (1.3e-8 + 3e-10 * p), formula="0.005 + n² (1.3e-8 + 3e-10 p)"
        )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.nearest_kernels import Rows, instance_weights, margin_profiles

        training = self._training(data, upstream, margins=True)
        w = feature_weights(upstream, training.varying)
        rows = Rows.of(training)
        training = training.released()
        profiles = margin_profiles(rows, w)
        del rows
        omega = instance_weights(profiles, training.count)
        scores = training.spread((omega * training.count) @ profiles)
        return self._selection(training, scores, len(scores), instance_weights=omega)


_PRAT = "Prat, Belanche 2016"


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
    size (N·ω) and more stably (benchmarks/margin/instance_scale.py: Kuncheva index 0.50 instead of
    0.37), but so do equal weights with steps of that size (0.48). If most columns are noise it
    fails (Madelon: 46 % error instead of 11 %); use "mean" then. `refresh` is the synergetic
    process of the paper's conclusions; with strategy="order", the rows not yet visited are ordered
    again.

    Bootstrap counts multiply a row's step and its contribution to eq. 2. Upstream instance weights
    multiply ω. Columns are kept as for `simba`. Time 3 N² A, plus 2 N² A per refresh; memory 8 N A
    bytes.

    References
    ----------
    Prat, Belanche: Instance and feature weighted k-nearest-neighbours algorithm, ESANN 2016,
    Algorithm 1, §5.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((80, 5))
    >>> selection = SimbaMbiw(top=1).select(Dataset.from_arrays(X, X[:, 2] > 0))
    >>> selection.selected, selection.instance_weights.shape
    (array([2]), (80,))
    """

    table_copies: ClassVar[float] = 3.0

    strategy: str = param(
        "order",
        choice("order", "normal", "sample"),
        help="Visit rows by decreasing weight, in random order, or sampled by weight.",
        source=f"{_PRAT}, Algorithm 1",
    )
    instance_scale: str = param(
        "sum",
        choice("sum", "mean"),
        help="Scale of the instance weights: sum one, as printed, or mean one, which keeps "
        "Simba's step size.",
        source=f"{_PRAT}, Algorithm 1, line 14",
    )
    refresh: int = param(
        0,
        integer(0),
        help="Update the instance weights after this many visits; 0: never.",
        source=f"{_PRAT}, §5 (synergetic process)",
    )

    def cost(self, n: int, p: int) -> Cost:
        # Each refresh takes as long as the first instance weights.
        updates = 1 + (n // self.refresh if self.refresh else 0)
        return Cost(
            seconds=5e-3 + n * n * (updates * (1.3e-8 + 3e-10 * p) + 5e-10 * p),
            formula=f"0.005 + n² ({updates} (1.3e-8 + 3e-10 p) + 5e-10 p)",
        )

    @one_blas_thread
    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        from fsframe_margin.engine.nearest_kernels import (
            Rows,
            instance_weights,
            margin_profiles,
            simba_visits,
        )

        training = self._training(data, upstream, margins=True)
        rows, n = Rows.of(training), len(training.y)
        training = training.released()
        generator = run.generator(0)
        w = np.ones(training.varying.size)
        scale = training.count.sum() if self.instance_scale == "mean" else 1.0
        random_order = generator.permutation(n)
        remaining = np.ones(n, dtype=bool)
        visited = 0
        while visited < n:
            omega = instance_weights(margin_profiles(rows, w), training.count)
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
            simba_visits(rows, importance, order, 0.0, w)
            remaining[order] = False
            visited += batch
        return simba_selection(
            self,
            training,
            rows,
            w,
            {"instance_weights": omega},
            remedy="instance_scale=sum takes smaller steps",
        )


@attrs.frozen(kw_only=True, eq=False)
class _FittedRows:
    """Training rows with the weights of features and rows."""

    training: Training
    squares: Floats
    ballots: Floats
    k: int
    ties: str

    def sums(self, X: Floats, place: NDArray[np.int64], amounts: Floats, width: int) -> Floats:
        """Sums of the nearest training rows' amounts for each new row, (m, width)."""
        from fsframe_margin.engine.nearest_kernels import add_nearest

        t = self.training
        sums = np.zeros((len(X), width))
        # Copies, since those of a stored model cannot be written to: another type, another kernel.
        steps, squares, place = t.steps.copy(), self.squares.copy(), place.copy()
        add_nearest(
            np.ascontiguousarray(t.X.T), steps, t.rows(X), squares, self.k, self.ties == "share",
            place, amounts, sums,
        )  # fmt: skip
        return sums


@attrs.frozen(kw_only=True, eq=False)
class FittedMean(_FittedRows):
    """The mean target of the nearest rows, for a numeric target."""

    target: Floats

    @one_blas_thread
    def predict(self, X: Floats) -> Floats:
        """Mean target of the k nearest rows, weighted by their ballots, (m,)."""
        count = self.training.count
        amounts = np.array([self.ballots, self.ballots * self.target])
        total, weighed = self.sums(X, np.zeros(len(count), dtype=np.int64), amounts, 2).T
        # If all neighbours have weight zero, predict the mean of all rows.
        means = np.full(len(X), self.target @ count / count.sum())
        return np.divide(weighed, total, out=means, where=total > 0)


@attrs.frozen(kw_only=True, eq=False)
class FittedKnn(_FittedRows):
    """The vote of the nearest rows."""

    @one_blas_thread
    def predict_scores(self, X: Floats) -> Floats:
        """Share of the votes of the k nearest rows, (m, n_classes)."""
        n_classes = self.training.n_classes
        votes = self.sums(X, self.training.y, np.array([self.ballots]), n_classes)
        total = votes.sum(axis=1, keepdims=True)
        # If all neighbours have weight zero, all classes are equally likely.
        level = np.full_like(votes, 1.0 / n_classes)
        return np.divide(votes, total, out=level, where=total > 0)

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Class codes (m,), equal votes to the first class."""
        return np.argmax(self.predict_scores(X), axis=1).astype(np.int64)


@attrs.frozen(kw_only=True)
class WeightedKnn(Classifier):
    """k nearest neighbours under weighted distance, votes weighted by instance weights.

    Parameters
    ----------
    k : int ≥ 1
        Number of neighbours.
    standardize : bool
        Scale columns to mean 0 and standard deviation 1 first.
    ties : {"share", "index"}
        Whether rows tied at the k-th distance share the remaining places, or are taken in row
        order.

    Notes
    -----
    Algorithm 2: distance ‖z‖_w = √(Σ w² z²) with the upstream feature weights (ones if there are
    none), vote c ← c + ω_n with the upstream instance weights (ones if there are none). The paper's
    line 5 sorts in descending order and then takes the nearest; here the nearest are taken. A row
    drawn c times in a bootstrap is one neighbour with c votes. A numeric target is predicted as the
    mean of the neighbours' targets, weighted by their votes. Predicting m rows costs m n A.

    References
    ----------
    Prat, Belanche: Instance and feature weighted k-nearest-neighbours algorithm, ESANN 2016,
    Algorithm 2.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((90, 4))
    >>> data = Dataset.from_arrays(X, X[:, 1] > 0)
    >>> float((WeightedKnn(k=3).fit(data).predict(X) == data.y).mean()) > 0.85
    True
    """

    takes_nominal: ClassVar[bool] = True

    k: int = param(3, integer(1), help="Number of neighbours.", symbol="k", source="Algorithm 2")
    standardize: bool = standardize_parameter()
    ties: str = ties_of_neighbours()

    def predicts(self) -> frozenset[str]:
        return frozenset({"classification", "regression"})

    def score_kind(self) -> str:
        return "probabilities"

    def unlike_copies(self) -> str:
        return "a weighted row is one of the k neighbours, repeated rows are several"

    @one_blas_thread
    def _fit(self, data: Dataset, upstream: Selection | None, run: Run) -> FittedKnn | FittedMean:
        numbers = data.task == "regression"
        y = np.zeros(data.n_samples, dtype=np.int64) if numbers else data.y
        training = take_training(
            "weighted-knn", features_of(data), y, data.n_classes, data.counts, None,
            self.standardize, data.categorical,
        )  # fmt: skip
        w, ballots = feature_weights(upstream, training.varying), training.count
        if upstream is not None and upstream.instance_weights is not None:
            weighted = ballots * upstream.instance_weights
            ballots = weighted if weighted.any() else ballots
        parts: dict[str, Any] = {
            "squares": w * w, "ballots": ballots, "k": self.k, "ties": self.ties,
        }  # fmt: skip
        if numbers:
            return FittedMean(training=training, target=data.y, **parts)
        return FittedKnn(training=training, **parts)
