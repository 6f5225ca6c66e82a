"""p-values of scores by permuting the labels, and their adjustment for many features.

Where neighbours do not depend on labels, the scores of all labellings are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fsframe.errors import RequestError
from fsframe.kernels import in_threads
from fsframe.method.run import size_text
from fsframe.resampling.groups import permuted_rows
from fsframe_relief.engine.columns import Columns
from fsframe_relief.engine.feature_scores import feature_scores, full_distances, mean_of, relevance
from fsframe_relief.engine.neighbours import Rule, Target, class_factors

Progress = Callable[[int, int, str], None]

SLACK = 1e-12
"""Tolerance below the observed score at which a permuted one reaches it: sums are rounded."""

LABELLINGS = 128
"""Labellings per product; fixed, so that results do not depend on threads."""

STRIPE = 512
"""Columns per product; fixed likewise."""


@attrs.frozen(eq=False)
class _PairTable:
    """Columns with the same arithmetic, as floats; the first `n_real` are continuous.

    `numbers` are their column numbers, `floor` and `slope` the ramp; with `gaps`, NaN is missing.
    """

    numbers: NDArray[np.intp]
    values: NDArray[np.float64]
    n_real: int
    floor: float
    slope: float
    gaps: bool

    def differences(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.float64]:
        """Diffs of pairs (pairs, columns); NaN where a value is missing."""
        d = np.abs(self.values[first] - self.values[second])
        real, codes = d[:, : self.n_real], d[:, self.n_real :]
        if (self.floor, self.slope) != (0.0, 1.0):
            real -= self.floor
            real *= self.slope
        np.clip(real, 0.0, 1.0, out=real)
        # codes are 1 or more apart; NaN stays
        np.minimum(np.ceil(codes, out=codes), 1.0, out=codes)
        return d


def _pair_tables(columns: Columns) -> Iterator[_PairTable]:
    """All live columns in stripes."""
    plain, levelled, special = columns.plain, columns.levelled, columns.special
    for start in range(0, plain.columns.size, STRIPE):
        part = slice(start, start + STRIPE)
        values = np.ascontiguousarray(plain.values[:, part])
        yield _PairTable(plain.columns[part], values, values.shape[1], 0.0, 1.0, False)
    n_whole = levelled.n_whole
    for low, high, gaps in ((0, n_whole, False), (n_whole, levelled.columns.size, True)):
        for start in range(low, high, STRIPE):
            part = slice(start, min(start + STRIPE, high))
            codes = levelled.codes[:, part]
            values = np.where(codes == levelled.gap, np.nan, codes.astype(np.float64))
            yield _PairTable(levelled.columns[part], values, 0, 0.0, 1.0, gaps)
    for start in range(0, special.columns.size, STRIPE):
        part = slice(start, start + STRIPE)
        values = np.ascontiguousarray(special.values[:, part])
        real = int(np.clip(special.n_real - start, 0, values.shape[1]))
        yield _PairTable(special.columns[part], values, real, special.floor, special.slope, True)


def _scores_by_products(
    columns: Columns,
    rule: Rule,
    target: Target,
    labellings: NDArray[np.int64],
    rows: NDArray[np.int64] | None,
    memory: int,
    threads: int,
) -> Iterator[NDArray[np.float64]]:
    """Scores (labellings, columns) of some labellings at a time, each batch one product."""
    A = _unsigned_weights(columns, rule, target, rows, memory, threads)
    omega, n = _only_drawn(target.omega.copy(), rows), columns.n
    kind = _ByClasses if target.signed else _ByValues
    tables = list(_pair_tables(columns))
    # A batch needs scores (and, for gaps, three more sums), class factors, and a block of pairs.
    n_classes = len(target.prior)
    each = 8 * (5 * columns.n_features + 4 * n * n_classes + 2048) + 1
    batch = int(np.clip(memory // (2 * each), 1, len(labellings)))
    for start in range(0, len(labellings), batch):
        moved = labellings[start : start + batch]
        scores = np.zeros((len(moved), columns.n_features))
        with threadpool_limits(1):
            labelled = kind(A, target, omega, moved, threads)
            for table in tables:
                scores[:, table.numbers] = labelled.scores(table)
        yield scores


def _unsigned_weights(
    columns: Columns,
    rule: Rule,
    target: Target,
    rows: NDArray[np.int64] | None,
    memory: int,
    threads: int,
) -> NDArray[np.float64]:
    """(n, n) weights of each target's neighbours without labels; zeros for targets not drawn."""
    n = columns.n
    if 8 * n * n > memory // 2:
        raise RequestError(
            f"permutation p-values keep an {n} × {n} matrix, more than half the memory bound "
            f"of {size_text(memory)}; use fewer rows or raise the bound"
        )
    blind = Target(
        y=np.zeros(n, dtype=np.int64),
        prior=np.ones(1),
        counts=target.counts,
        omega=np.ones(n),
        value=np.zeros(n),
    )
    D = full_distances(columns, threads)
    mean = mean_of(D, target) if rule.needs_mean else 0.0
    for i0 in range(0, n, 64):
        rule.weigh(D[i0 : i0 + 64], np.arange(i0, min(n, i0 + 64)), blind, mean)
    return _only_drawn(D, rows)


def _only_drawn(values: NDArray[np.float64], rows: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """The values with zeros for all targets but `rows` (None: all are drawn), in the same array."""
    if rows is not None:
        idle = np.ones(len(values), dtype=bool)
        idle[rows] = False
        values[idle] = 0.0
    return values


class _ByClasses:
    """Scores in classification under several labellings, (labellings, columns of a table)."""

    def __init__(
        self,
        A: NDArray[np.float64],
        target: Target,
        omega: NDArray[np.float64],
        moved: NDArray[np.int64],
        threads: int,
    ) -> None:
        self.A, self.omega, self.prior, self.threads = A, omega, target.prior, threads
        # Labels are permuted, weights of targets are not.
        self.labels = target.y[moved]
        self.near = self._factors(np.maximum(A, 0.0))
        # A far weight is negative in A: a hit far away counts for the feature, a miss against it.
        self.far = self._factors(np.maximum(-A, 0.0))

    def _factors(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        """(labellings, n, classes): the factor of weights in each class for each target."""
        n_classes = len(self.prior)
        sizes = np.empty((*self.labels.shape, n_classes))
        for c in range(n_classes):
            sizes[:, :, c] = (self.labels == c).astype(np.float64) @ A.T
        is_own = self.labels[:, :, None] == np.arange(n_classes)
        return class_factors(sizes, is_own, self.prior) * self.omega[:, None]

    def scores(self, table: _PairTable) -> NDArray[np.float64]:
        return self._means(table) if table.gaps else self._product(table)

    def _product(self, table: _PairTable) -> NDArray[np.float64]:
        """K P for complete columns, over pairs that are neighbours in either direction."""
        from fsframe_relief.engine.score_kernels import pair_weights

        A = self.A
        first, second = np.nonzero(np.triu((A != 0) | (A.T != 0), 1))
        out = np.zeros((len(self.labels), table.numbers.size))
        block = 2048
        for start in range(0, first.size, block):
            i, j = first[start : start + block], second[start : start + block]
            P = table.differences(i, j)

            def add(at: int, i: Any = i, j: Any = j, P: NDArray[np.float64] = P) -> None:
                part = slice(at, at + LABELLINGS)
                K = np.empty((len(self.labels[part]), i.size))
                pair_weights(A, i, j, self.labels[part], self.near[part], self.far[part], K)
                out[part] += K @ P

            in_threads(self.threads, add, range(0, len(out), LABELLINGS))
        return out

    def _means(self, table: _PairTable) -> NDArray[np.float64]:
        """Columns with gaps: weighted means over known neighbours, target by target."""
        n_labels = len(self.labels)
        out = np.zeros((n_labels, table.numbers.size))
        for i, weights in enumerate(self.A):
            for side, factor in ((1.0, self.near), (-1.0, self.far)):
                near = np.flatnonzero(side * weights > 0)
                if not near.size:
                    continue
                P = table.differences(np.array([i]), near)
                known = ~np.isnan(P)
                observed = known.astype(np.float64)
                P[~known] = 0.0
                labels, size = self.labels[:, near], side * weights[near]
                hit = np.zeros_like(out)
                part, usable = np.zeros_like(out), np.zeros_like(out)
                all_misses = np.zeros(n_labels)
                for c in range(len(self.prior)):
                    w = (labels == c) * size
                    # the whole weight of the group: its factor times its size
                    total = factor[:, i, c] * w.sum(axis=1) * side
                    top, base = w @ P, w @ observed
                    mean = np.divide(top, base, out=np.zeros_like(top), where=base > 0)
                    is_own = (self.labels[:, i] == c)[:, None]
                    hit += np.where(is_own & (base > 0), total[:, None] * mean, 0.0)
                    other = ~is_own & (base > 0)
                    part += np.where(other, total[:, None] * mean, 0.0)
                    usable += np.where(other, total[:, None], 0.0)
                    all_misses += np.where(is_own[:, 0], 0.0, total)
                ratio = np.divide(
                    all_misses[:, None], usable, out=np.zeros_like(usable), where=usable != 0
                )
                out += hit + part * ratio
        return out


class _ByValues:
    """Scores in regression: N_CA and N_C are products with |dy|; N_A and m do not change."""

    def __init__(
        self,
        A: NDArray[np.float64],
        target: Target,
        omega: NDArray[np.float64],
        moved: NDArray[np.int64],
        threads: int,
    ) -> None:
        assert target.value is not None
        self.A, self.omega, self.target = A, omega, target
        self.values = target.value[moved]

    def scores(self, table: _PairTable) -> NDArray[np.float64]:
        """(labellings, columns of the table)."""
        values, p = self.values, table.numbers.size
        ca, c = np.zeros((len(values), p)), np.zeros((len(values), p))
        a, m = np.zeros(p), np.zeros(p)
        for i in np.flatnonzero(self.omega):
            # near and far are weighted means; the far one is subtracted
            for side in (1.0, -1.0):
                weights = side * self.A[i]
                near = np.flatnonzero(weights > 0)
                if not near.size:
                    continue
                P = table.differences(np.array([i]), near)
                known = ~np.isnan(P)
                w = np.where(known, weights[near][:, None], 0.0)
                base = w.sum(axis=0)
                share = np.divide(1.0, base, out=np.zeros_like(base), where=base > 0)
                w *= side * self.omega[i] * share
                P = np.where(known, P, 0.0) * w
                dy = self.target.unlike(values[:, near], values[:, [i]])
                ca += dy @ P
                c += dy @ w
                a += P.sum(axis=0)
                m += w.sum(axis=0)
        return relevance(a, ca, c, m)


def permutation_p_values(
    columns: Columns,
    rule: Rule,
    target: Target,
    permutations: int,
    generator: np.random.Generator,
    *,
    rows: NDArray[np.int64] | None = None,
    groups: NDArray[np.int64] | None = None,
    memory: int = 1 << 31,
    threads: int = 1,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """The share of labellings, the observed one included, whose score reaches the observed score.

    Parameters
    ----------
    columns, rule, target, rows
        As for `feature_scores`.
    permutations : int
        Number of random labellings R.
    generator : numpy Generator
        Draws the labellings.
    groups : (n,) int, optional
        Groups of rows: labels are permuted among groups of equal size, or within a group where its
        label varies (`fsframe.resampling.groups.permuted_rows`).
    memory, threads, progress
        Bound on temporaries, threads (the result does not depend on them), and a function called
        with the number of finished permutations.

    Returns
    -------
    (n_features,) float64
        p = (1 + #{r : W_r >= W}) / (R + 1); NaN for columns without a score, 1 for constant ones.

    Notes
    -----
    Where the neighbourhood does not depend on the labels (SURF, MultiSURF, their star forms,
    SWRF*; in regression all methods but the star forms), W_r is linear in the diffs of the
    neighbouring pairs with weights that only the labels change: with P the (pairs × features) diffs
    and K the (labellings × pairs) weights, all scores are the product K P, computed in blocks.
    O(R n^2 p) multiplications at the speed of a matrix product, and O(R p) memory besides the
    blocks. Nearest hits and misses depend on the labels (`Rule.uses`): there neighbours are found
    anew for each labelling from one matrix of distances.

    The labellings are exchangeable when features and labels are independent, so P(p <= a) <= a for
    any number of samples and any dependence between features or between overlapping pairs.
    """
    n = columns.n
    labellings = np.empty((permutations + 1, n), dtype=np.int64)
    labellings[0] = np.arange(n)
    labels = target.y if target.value is None else target.value
    for t in range(1, permutations + 1):
        labellings[t] = (
            generator.permutation(n) if groups is None else permuted_rows(labels, groups, generator)
        )
    refit = target.alike is not None or ("classes" if target.signed else "values") in rule.uses
    score = _scores_by_refitting if refit else _scores_by_products
    observed: NDArray[np.float64] | None = None
    reached, done = np.zeros(columns.n_features, dtype=np.int64), -1
    for scores in score(columns, rule, target, labellings, rows, memory, threads):
        done += len(scores)
        if observed is None:
            observed, scores = scores[0], scores[1:]
        reached += (scores >= observed - SLACK).sum(axis=0)
        if progress is not None:
            progress(done, permutations, "permutations")
    p_values = (1.0 + reached) / (permutations + 1)
    p_values[columns.constant] = 1.0
    p_values[columns.blank] = np.nan
    return p_values


def _scores_by_refitting(
    columns: Columns,
    rule: Rule,
    target: Target,
    labellings: NDArray[np.int64],
    rows: NDArray[np.int64] | None,
    memory: int,
    threads: int,
) -> Iterator[NDArray[np.float64]]:
    """Scores (1, columns) of every labelling, refitted.

    The rows of the table are permuted against the same target, which is equivalent to permuting
    the labels.
    """
    n = columns.n
    keep = 16 * n * n <= memory // 2
    distances = full_distances(columns, threads) if keep else None
    for t, moved in enumerate(labellings):
        table = columns if t == 0 else columns.take(moved)
        D = None
        if distances is not None and rows is None:
            D = np.ascontiguousarray(distances[np.ix_(moved, moved)])
        yield feature_scores(
            table, rule, target, rows=rows, memory=memory, threads=threads, distances=D
        )[None]
