"""The base of all methods of the family, and those that differ in one rule: which instances are
neighbours, and their weights.

The base scores, runs bootstraps in parallel, and makes the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels import fits_in_threads
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.stage_view import drawn_rows
from fsframe.method.statistics import adjusted_p_values
from fsframe.params import choice, integer, optional, param, ties_of_neighbours
from fsframe.table.dataset import Dataset
from fsframe.text import counted
from fsframe_relief.engine.columns import (
    ByteTable,
    Columns,
    content_order_over_parts,
    prepare_columns,
    summarise,
)
from fsframe_relief.engine.feature_scores import MAX_LEVELS, feature_scores, full_distances
from fsframe_relief.engine.neighbours import Nearest, Radius, Rule, Sigmoid, Target
from fsframe_relief.engine.part_scores import scores_over_parts
from fsframe_relief.engine.permutations import permutation_p_values
from fsframe_relief.methods.problem import (
    FEW_LEVELS,
    Labels,
    Problem,
    ReliefParameters,
    decay_parameter,
    discrete_columns,
    make_problem,
    make_target,
    row_order,
    table_values,
    with_target,
)

_SAMPLE = 1000
"""Number of target rows that is proposed if a run would take hours."""

FEWEST_SHARED = 500
"""Fewest columns for which bootstraps of codes share distances; for fewer it saves no time."""


def _workers(method: ReliefParameters, data: Dataset, run: Run) -> int:
    """Number of fits at a time; the memory bound of each is the same, and so are results."""
    if method.permutations:
        # permutations bound the threads of linear algebra for the whole process
        return 1
    n, p = data.n_samples, data.n_features
    each = min(8 * n * n, run.memory // 2) + 40 * n * p
    return int(max(1, min(run.threads, run.memory // each)))


@attrs.frozen(eq=False)
class _SharedCodes:
    """A complete table of few integer codes, whose distances are the same in every bootstrap.

    Differences of codes do not depend on the range of the rows drawn, and their sums are integers,
    without rounding that could depend on the rows left out.
    """

    data: Dataset
    X: NDArray[Any] | ByteTable
    columns: Columns
    mask: NDArray[np.bool_]
    notes: tuple[str, ...]
    distances: NDArray[np.float64]

    @classmethod
    def of(cls, method: ReliefParameters, data: Dataset, run: Run) -> _SharedCodes | None:
        """The codes that bootstraps of `data` share; None if they cannot."""
        n = data.n_samples
        if method.permutations or method.ramp is not None or 8 * n * n > run.memory // 4:
            return None
        if method.discrete_features == "none" or data.n_features < FEWEST_SHARED:
            return None
        X = table_values(data)
        summary = summarise(X)
        # With so few levels in the table no bootstrap has more, so the choice of discrete columns
        # and of the arithmetic is the same in all of them.
        span = summary.high - summary.low
        if (
            summary.missing.any()
            or not (summary.whole & (span < min(FEW_LEVELS, MAX_LEVELS))).all()
        ):
            return None
        mask, notes = discrete_columns(method, data, X, summary)
        if not mask.all():
            return None
        columns = prepare_columns(X, mask, summary=summary)
        return cls(data, X, columns, mask, notes, full_distances(columns, run.threads))

    def select(
        self,
        method: ReliefSelector,
        rows: NDArray[np.intp],
        drawn: NDArray[np.int64],
        upstream: Selection | None,
        run: Run,
    ) -> Selection:
        """The selection of `method` on `rows` with these counts."""
        labels = Labels.of(method, self.data, drawn, upstream, rows)
        order = row_order(method, self.X, labels, rows)
        places = rows[order]
        columns = self.columns.take(places)
        problem = with_target(method, columns, labels, order, run, (0,), self.mask, self.notes)
        # drawn targets are few, so their distances are computed as for a single bootstrap
        shared = None
        if problem.drawn is None:
            shared = np.take(self.distances[places], places, axis=1)
        return method.finish(problem, method.score(problem, run, distances=shared), run)


ROW_BYTES = 160
"""Bytes per row for sorting rows of a table in parts: labels, keys, and scratch."""


@attrs.frozen(kw_only=True)
class ReliefSelector(ReliefParameters):
    """Base of the family; a method gives its neighbourhood as `rule`.

    Notes
    -----
    diff(a, i, j) is 0 or 1 for a discrete feature and |x - x'| / range for a continuous one;
    distance is its sum over the features, the mean over shared features times their number where
    values are missing. The score is W_a = sum_i omega_i (mean miss diff - mean hit diff), with
    misses of class c weighted by P(c) / (1 - P(class of i)), and N_CA / N_C - (N_A - N_CA) / (m -
    N_C) for a numeric target. Rows are put in an order that depends on their content only, so
    shuffled rows give the same bits.
    """

    pace: ClassVar[float] = 1e-10
    """Seconds of processor time for each target row, other row and column; 0: not known."""

    def cost(self, n: int, p: int) -> Cost | None:
        if not self.pace:
            return None
        m = n if self.m is None else min(n, self.m)
        return Cost(
            seconds=1e-3 + self.pace * m * n * p,
            formula=f"0.001 + {self.pace:.0e} " + ("n²p" if m == n else f"np × {m}"),
            remedy=f"{self.method_name()}:m={_SAMPLE}, a sample of rows" if m > _SAMPLE else "",
        )

    def top_only_cuts(self) -> bool:
        return True

    def works_in_parts(self, data: Dataset) -> bool:
        """Whether drawn instances can be compared with all rows: for k nearest neighbours only."""
        return self.m is not None and self._can_draw_from_parts(data)

    def parts_problem(self, data: Dataset, n_features: int | None = None) -> str:
        problem = super().parts_problem(data, n_features)
        if problem and self.m is None and self._can_draw_from_parts(data):
            return f"{problem}, or use m=1000: a sample of instances is compared with all rows"
        return problem

    def _can_draw_from_parts(self, data: Dataset) -> bool:
        """Whether scores over parts are supported: k nearest per class, shared ties, no gaps."""
        rule = self.rule()
        return (
            self._only_scores()
            and isinstance(rule, Nearest)
            and rule.ties == "share"
            and self.ramp is None
            and not self.permutations
            and self.task != "regression"
            and data.task == "classification"
            and not data.matrix.facts.missing.any()
        )

    def _only_scores(self) -> bool:
        """Whether the method scores and finishes, and does nothing else."""
        return type(self)._select is ReliefSelector._select

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        if data.in_parts:
            return self._select_from_parts(data, upstream, run)
        problem = make_problem(self, data, upstream, run)
        if data.groups is not None:
            problem = attrs.evolve(problem, groups=data.groups[problem.order])
        scores = self.score(problem, run)
        return self.finish(problem, scores, run)

    def _select_many(
        self, data: Dataset, counts: NDArray[np.int64], upstream: Selection | None, run: Run
    ) -> list[Selection]:
        """The selection on every bootstrap, a row of `counts` (n_resamples, n_samples).

        Bit-identical to one bootstrap after the other: ranges, discrete columns, probabilities and
        class shares are those of the rows drawn (count 0: absent), and bootstrap b draws from
        ``run.child(b)``. `run.threads` of them are fitted at a time, as memory allows.
        """
        shared, workers = None, 1
        if len(counts) > 1:
            shared = _SharedCodes.of(self, data, run) if self._only_scores() else None
            workers = _workers(self, data, run)

        def one(b: int) -> Selection:
            rows, local, local_upstream = drawn_rows(data, counts[b], upstream)
            surroundings = run.child(b).quiet()
            if workers > 1:
                surroundings = attrs.evolve(surroundings, threads=1)
            if shared is not None:
                return shared.select(self, rows, counts[b, rows], local_upstream, surroundings)
            return self._select(local, local_upstream, surroundings)

        return fits_in_threads(workers, one, range(len(counts)))

    def _select_from_parts(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        """The result for instances drawn from a table in parts, each compared with all of its rows.

        The same instances are drawn as from the table in memory, with the same neighbours and
        weights.
        """
        rule, n = self.rule(), data.n_samples
        assert isinstance(rule, Nearest)
        run.must_hold(
            ROW_BYTES * n,
            f"{self.method_name()}: {ROW_BYTES} bytes for each of {n} rows, to put them in order,",
            "put a filter such as mim:top=100 before",
        )
        discrete, notes = discrete_columns(self, data)
        labels = Labels.of(self, data, data.counts, upstream)
        order = content_order_over_parts(data.matrix, run.memory // 4, *labels.keys)
        order = order[np.argsort(labels.y[order], kind="stable")]
        target, drawn, more = make_target(self, labels, order, run, (0,))
        targets = np.arange(n) if drawn is None else drawn
        scores = scores_over_parts(data.matrix, discrete, rule, target, order, targets, run)
        return self.kept(scores, {}, [*notes, *more, *_neighbour_notes(target, drawn, rule)])

    def score(
        self,
        problem: Problem,
        run: Run,
        *,
        distances: NDArray[np.float64] | None = None,
        metric: Columns | None = None,
    ) -> NDArray[np.float64]:
        """The score of every feature; `distances` and `metric` as for `feature_scores`."""
        return feature_scores(
            problem.columns,
            self.rule(),
            problem.target,
            rows=problem.drawn,
            memory=run.memory,
            route=run.route,
            threads=problem.threads,
            distances=distances,
            metric=metric,
        )

    def finish(self, problem: Problem, scores: NDArray[np.float64], run: Run) -> Selection:
        """The Selection for given scores: kept columns, p-values if requested, warnings."""
        rule = self.rule()
        notes = [*problem.notes, *_neighbour_notes(problem.target, problem.drawn, rule)]
        tables: dict[str, NDArray[Any]] = {}
        if self.permutations:
            p_values = permutation_p_values(
                problem.columns,
                rule,
                problem.target,
                self.permutations,
                run.generator(1),
                rows=problem.drawn,
                groups=problem.groups,
                memory=run.memory,
                threads=problem.threads,
                progress=run.progress,
            )
            tables["p_values"] = p_values
            correction = "none" if self.correction == "none" else "bh"
            tables["p_adjusted"] = adjusted_p_values(p_values, correction)
        return self.kept(scores, tables, notes)

    def kept(
        self, scores: NDArray[np.float64], tables: dict[str, NDArray[Any]], notes: list[str]
    ) -> Selection:
        """The Selection for given scores, p-values if there are any, and warnings."""
        if self.level is not None and self.top is None:
            ranked = rank_by_score(scores)
            kept = ranked[tables["p_adjusted"][ranked] <= self.level]
            if not kept.size:
                notes.append(f"no feature has an adjusted p-value of at most {self.level:g}")
        else:
            above = int((scores > self.threshold).sum())
            kept = rank_by_score(scores, self.keep_count(len(scores), max(1, above)))
            if not above and self.top is None:
                notes.append(
                    f"no score is above {self.threshold:g}; the best column was kept all the same"
                )
        return Selection(
            selected=kept,
            scores=scores,
            weights=np.maximum(np.nan_to_num(scores), 0.0),
            tables=tables,
            warnings=tuple(notes),
        )


def _neighbour_notes(target: Target, drawn: NDArray[np.int64] | None, rule: Rule) -> Iterator[str]:
    """Warnings about classes with too few members for k neighbours."""
    sizes = np.bincount(target.y, weights=target.counts, minlength=len(target.prior))
    targets = slice(None) if drawn is None else drawn
    apart = ", copies of the instance itself left out" if (target.counts > 1).any() else ""
    # A row's own copies are no neighbours of it.
    others = (sizes[target.y] - target.counts)[targets]
    alone = np.unique(target.y[targets][others <= 0])
    if target.signed and alone.size:
        yield f"{counted(alone.size, 'class')} with a single member, which has no hit"
    k = getattr(rule, "k", None)
    if k is None:
        return
    least = min(others.min(), sizes.min()) if target.signed else others.min()
    if k > least:
        yield (
            f"k={k} is more than the {int(least)} other members of a class{apart}; there, all of "
            "them were used"
            if target.signed
            else f"k={k} is more than the {int(least)} other instances{apart}; all of them were "
            "used"
        )


@attrs.frozen(kw_only=True)
class Relief(ReliefSelector):
    """Relief scores over the nearest hit and the nearest miss of each target.

    Notes
    -----
    Every target adds (diff miss - diff hit) / m to the score W.

    Kira & Rendell 1992, Figure 1, with these departures: all instances are targets unless `m` is
    given (the paper draws m); diff is not squared, as in all later members of the family;
    instances equally near share their place; with more than two classes the miss is the nearest
    instance of any other class. O(n^2 p) time.

    References
    ----------
    Kira & Rendell 1992, A practical approach to feature selection, ICML, Figure 1.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> data = Dataset.from_arrays([[0, 5], [1, 5], [8, 4], [9, 6]], ["a", "a", "b", "b"])
    >>> Relief(discrete_features="none").select(data).scores.round(3).tolist()
    [0.722, 0.0]
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})

    ties: str = param(
        "share",
        choice("share", "index"),
        help="Instances tied for the nearest share the place, or the first row takes it.",
    )

    def rule(self) -> Rule:
        return Nearest(k=1, ties=self.ties, pooled=True)


@attrs.frozen(kw_only=True)
class RelievedF(ReliefSelector):
    """Relief scores over all nearest hits and all nearest misses of each other class.

    Notes
    -----
    All instances are targets. For every target the hits at the smallest hit distance are averaged,
    and so are the misses of each class at that class's smallest distance; misses are weighted by
    P(c) / (1 - P(y_i)). The result is the limit of Relief's score for many targets drawn and ties
    broken at random.

    Departure from John, Kohavi & Pfleger 1994: `m` may draw targets, for tables with too many rows;
    with missing=probability missing values follow P(value | class), as in the paper, and by default
    they are left out as in the rest of the family. O(n^2 p) time.

    References
    ----------
    John, Kohavi & Pfleger 1994, Irrelevant features and the subset selection problem, ICML,
    section 4. Kohavi & John 1997, Artificial Intelligence 97:273, section 3.2.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> data = Dataset.from_arrays([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> RelievedF(discrete_features="all").select(data).scores.tolist()
    [-0.5, -0.5]
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})

    def rule(self) -> Rule:
        return Nearest(k=1)


@attrs.frozen(kw_only=True)
class Relieff(ReliefSelector):
    """Relief scores over the k nearest hits and misses; misses weighted by P(c) / (1 - P(class)).

    Notes
    -----
    W_a = 1/m sum_i [ sum_c P(c) / (1 - P(y_i)) mean_{j in M_c(i)} diff(a, i, j)
    - mean_{j in H(i)} diff(a, i, j) ].

    Departures from Kononenko 1994: instances at the k-th distance share the places left, so that
    the order of rows does not matter; the priors are renormalised over the classes that have a
    usable miss; if a class has fewer than k members, all of them are used, with a warning. With a
    numeric target it is RReliefF with equal weights. O(n^2 p) time, 8 n^2 bytes or, beyond the
    memory bound, blocks of rows.

    References
    ----------
    Kononenko 1994, Estimating attributes: analysis and extensions of RELIEF, ECML.
    Robnik-Šikonja & Kononenko 2003, Machine Learning 53:23, Figure 2 and section 2.7 (weighting).

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> data = Dataset.from_arrays([[0, 0], [1, 1], [0, 1], [1, 0]] * 6, [0, 0, 1, 1] * 6)
    >>> Relieff(k=5, discrete_features="all").select(data).scores.round(6).tolist()
    [0.5, 0.5]
    """

    pace: ClassVar[float] = 5e-11

    k: int | None = param(
        None,
        optional(integer(1)),
        help="Neighbours per class; by default 10, with weighting by rank or distance 70.",
        symbol="k",
        source="Robnik-Šikonja & Kononenko 2003, section 3.5",
    )
    weighting: str = param(
        "equal",
        choice("equal", "rank", "distance"),
        help="Weights of neighbours: equal, exp(-(rank/decay)^2), or 1/distance.",
        source="Robnik-Šikonja & Kononenko 2003, eq. 11-13",
    )
    decay: float = decay_parameter()
    ties: str = ties_of_neighbours()

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        if self.decay != 20.0 and self.weighting != "rank":
            yield f"decay={self.decay:g} has an effect with weighting=rank only"

    def rule(self) -> Rule:
        k = self.k if self.k is not None else (10 if self.weighting == "equal" else 70)
        return Nearest(k=k, weighting=self.weighting, decay=self.decay, ties=self.ties)


@attrs.frozen(kw_only=True)
class Rrelieff(ReliefSelector):
    """Scores N_CA / N_C - (N_A - N_CA) / (m - N_C) for a numeric target.

    Notes
    -----
    For target i the k nearest instances j, of any target value, have weights w_ij that sum to one
    (by default exp(-(rank / 20)^2), rank from 0, k = 70). With dy = |y_i - y_j| / range(y): N_C =
    sum w dy, N_A = sum w diff, N_CA = sum w dy diff.

    Departures: equal distances share rank and places; pairs with a missing value are left out of
    all four sums of that feature, weights renormalised. O(n^2 p) time.

    References
    ----------
    Robnik-Šikonja & Kononenko 1997, An adaptation of Relief for attribute estimation in
    regression, ICML. Robnik-Šikonja & Kononenko 2003, Machine Learning 53:23, Figure 3, eq. 8 and
    11-12.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> data = Dataset.from_arrays([[i, i % 3] for i in range(12)], [i / 2 for i in range(12)])
    >>> Rrelieff(k=3, weighting="equal", discrete_features=[1]).select(data, seed=0).selected
    array([0])
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"regression"})

    k: int = param(
        70,
        integer(1),
        help="Neighbours per target instance.",
        symbol="k",
        source="Robnik-Šikonja & Kononenko 2003, section 3.5",
    )
    weighting: str = param(
        "rank",
        choice("rank", "equal", "distance"),
        help="Weights of neighbours: exp(-(rank/decay)^2), equal, or 1/distance.",
        source="Robnik-Šikonja & Kononenko 2003, eq. 11-13",
    )
    decay: float = decay_parameter()
    ties: str = ties_of_neighbours()

    def rule(self) -> Rule:
        return Nearest(k=self.k, weighting=self.weighting, decay=self.decay, ties=self.ties)


@attrs.frozen(kw_only=True)
class Surf(ReliefSelector):
    """Relief scores over all hits and misses nearer than T, the mean distance over all pairs.

    Notes
    -----
    H_i and M_i are the instances with d_ij < T, T = 2 / (N (N - 1)) sum_{i<j} d_ij, strictly; a
    distance within a fraction 1e-12 of T counts as equal to it. No parameter to choose; the
    neighbourhood does not depend on the labels, so label permutations are one matrix product.

    Departures from Greene et al. 2009: misses of more than two classes are weighted by P(c) / (1 -
    P(y_i)); with a numeric target the same neighbourhood enters the RReliefF sums. O(n^2 p) time.

    References
    ----------
    Greene, Penrod, Kiralis & Moore 2009, BioData Mining 2:5.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Surf(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    def rule(self) -> Rule:
        return Radius()


@attrs.frozen(kw_only=True)
class Surfstar(ReliefSelector):
    """Relief scores over instances nearer than T, minus those over instances farther than T.

    Notes
    -----
    T is the mean distance over all pairs; W = S(d_ij < T) - S(d_ij > T), S being the mean miss diff
    minus the mean hit diff. Distant instances sharpen pure interactions and cancel main effects: a
    feature with a main effect loses as much at a distance as it gains nearby.

    Departure from Greene et al. 2010: misses of more than two classes are weighted by
    P(c) / (1 - P(y_i)). With a numeric target, hits are the instances whose value differs by less
    than its standard deviation (divisor N - 1), as in the authors' program ReBATE. O(n^2 p) time.

    References
    ----------
    Greene, Himmelstein, Kiralis & Moore 2010, EvoBIO, LNCS 6023:182.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Surfstar(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    splits_values: ClassVar[bool] = True

    def rule(self) -> Rule:
        return Radius(star=True)


@attrs.frozen(kw_only=True)
class Multisurf(ReliefSelector):
    """Relief scores over all hits and misses within a radius adapted to each target.

    Notes
    -----
    Neighbours have d_ij < mean_i - sd_i / 2, strictly, within a tie band of 1e-12. The mean and the
    standard deviation (divisor N - 1 instances, the target itself left out) are taken over the
    distances from target i.

    Departures from Urbanowicz et al. 2018: misses of more than two classes are weighted by
    P(c) / (1 - P(y_i)); with a numeric target the same neighbourhood enters the RReliefF sums.
    O(n^2 p) time.

    References
    ----------
    Urbanowicz, Olson, Schmitt, Meeker & Moore 2018, J. Biomedical Informatics 85:168, section 2.4.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Multisurf(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    def rule(self) -> Rule:
        return Radius(own=True)


@attrs.frozen(kw_only=True)
class Multisurfstar(ReliefSelector):
    """Relief scores over near instances minus those over far ones, by thresholds of each target.

    Notes
    -----
    Instances nearer than mean_i - sd_i / 2 are near, those beyond mean_i + sd_i / 2 are far, and
    those between are ignored. S(far) is subtracted as it is; the paper scores far instances by
    1 - diff, which is the same unless a target has no far hit or no far miss.

    Departure from Granizo-Mackenzie & Moore 2013: misses of more than two classes are weighted by
    P(c) / (1 - P(y_i)). With a numeric target, hits are the instances whose value differs by less
    than its standard deviation (divisor N - 1), as in the authors' program ReBATE. O(n^2 p) time.

    References
    ----------
    Granizo-Mackenzie & Moore 2013, EvoBIO, LNCS 7833:1.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Multisurfstar(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    splits_values: ClassVar[bool] = True

    def rule(self) -> Rule:
        return Radius(own=True, star=True)


@attrs.frozen(kw_only=True)
class Swrfstar(ReliefSelector):
    """Relief scores over all instances by a sigmoid of distance; distant ones are subtracted.

    Notes
    -----
    The weight of j for target i is s_ij = 2 / (1 + exp(-(t_i - d_ij) / u_i)) - 1, t_i the mean and
    4 u_i the standard deviation of the distances from i. Instances with s > 0 are near, those with
    s < 0 far; W = S(near, s) - S(far, |s|), S being weighted means with divisor sum |s|.

    Departures from Stokes & Visweswaran 2012: t and u are those of the target, for hits and misses,
    and means are divided by the sum of weights. Numeric targets as in `surfstar`. O(n^2 p) time,
    and an exponential per pair.

    References
    ----------
    Stokes & Visweswaran 2012, BioData Mining 5:20.

    Examples
    --------
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (80, 6))
    >>> data = Dataset.from_arrays(X, X[:, 1] ^ X[:, 4])
    >>> Swrfstar(discrete_features="all", top=2).select(data).selected.tolist()
    [4, 1]
    """

    splits_values: ClassVar[bool] = True

    def rule(self) -> Rule:
        return Sigmoid()
