"""Mutual information maximisation: each feature alone, the one that tells most first."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.dataset import Dataset
from fsframe.run import Run
from fsframe.selection import Selection
from fsframe_infotheory.bootstrap import draws_by_class, edges_of_each, relevance_sums
from fsframe_infotheory.discretise import Discretiser
from fsframe_infotheory.encode import encode, in_threads
from fsframe_infotheory.entropy import clogc_table, sum_clogc
from fsframe_infotheory.estimated import estimated_relevance
from fsframe_infotheory.estimator_parameters import (
    EstimatorParameters,
    estimation_note,
    sample_weights,
)
from fsframe_infotheory.pairs import PairParameters
from fsframe_infotheory.scored_filter import ScoredFilter

__all__ = ["Mim"]


@attrs.frozen(kw_only=True)
class Mim(PairParameters, EstimatorParameters, ScoredFilter):
    """Features ranked by their mutual information with the class, I(Xⱼ; Y).

    Without `top`, 10 features are kept.

    Notes
    -----
    Plug-in: I(X; Y) = Σ p(x, y) log₂ p(x, y) / (p(x) p(y)) with p = counts / n, no bias correction.
    O(n p) time; codes need not be kept, so memory is one group of columns at a time. With
    ``estimator=knn`` columns that would be binned are not: see `fsframe_infotheory.nearest`; then
    bootstrap counts and importance weight the mean over samples, and neighbours count once each.

    References
    ----------
    D. Lewis 1992, Feature selection and feature extraction for text categorization;
    G. Brown, A. Pocock, M.-J. Zhao, M. Luján 2012, Conditional likelihood maximisation, J. Mach.
    Learn. Res. 13:27–66, eq. 12 (MIM).

    Examples
    --------
    >>> data = Dataset.from_arrays([[0, 1], [0, 0], [1, 1], [1, 0]], ["a", "a", "b", "b"])
    >>> Mim(top=1).select(data).scores
    array([1., 0.])
    """

    def check_parameters(self) -> Iterator[str]:
        yield from super().check_parameters()
        if self.estimator == "knn" and self.missing == "level":
            yield "missing=level has no distances for estimator=knn; say missing=pairwise"
        if self.estimator == "knn" and self.pairs != "none":
            yield "pairs are counted, so they need estimator=plug-in"

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        if self.estimator == "knn":
            return self._estimate(data, upstream, run)
        encoded, bins = self.encode(data, upstream, run, keep=self.pairs != "none")
        notes = self.notes(data, bins, encoded)
        found = self.ranking(self.in_unit(encoded.relevance()), data, bins.tables(), notes)
        unit = np.log(2) if self.unit == "nats" else 1.0
        pairs = self.weigh_pairs(encoded, found.selected, run, unit)
        return attrs.evolve(found, pair_weights=pairs)

    def _estimate(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        weights = sample_weights(data, upstream)
        bits = estimated_relevance(
            data, self.discretiser(), weights, self.neighbours, run.threads
        )
        return self.ranking(self.in_unit(bits), data, {}, (estimation_note(bits),))

    def _select_many(
        self, data: Dataset, counts: NDArray[np.int64], upstream: Selection | None, run: Run
    ) -> list[Selection]:
        """One Selection per bootstrap, all counted in one pass over the table."""
        weighted = upstream is not None and upstream.instance_weights is not None
        alone = weighted or data.task == "regression" or self.missing == "pairwise"
        if alone or self.pairs != "none" or self.estimator == "knn":
            return [
                self._select_one(data, row, upstream, run.child(b)) for b, row in enumerate(counts)
            ]
        # Draws sorted by class, as short and as long integers, and scores: what a bootstrap holds.
        each = 10 * data.n_samples + 16 * data.n_features
        width = max(1, run.memory // 4 // each)
        found = []
        for first in range(0, len(counts), width):
            part = counts[first : first + width]
            bits = _bootstrap_relevance(data, part, self.discretiser(), run)
            found += [self.ranking(self.in_unit(row), data, {}, ()) for row in bits]
        return found

    def _select_one(
        self, data: Dataset, counts: NDArray[np.int64], upstream: Selection | None, run: Run
    ) -> Selection:
        rows = np.flatnonzero(counts)
        local = upstream
        if upstream is not None and upstream.instance_weights is not None:
            local = attrs.evolve(upstream, instance_weights=upstream.instance_weights[rows])
        return self._select(data.with_counts(counts).take_rows(rows), local, run)


def _bootstrap_relevance(
    data: Dataset, counts: NDArray[np.int64], discretiser: Discretiser, run: Run
) -> NDArray[np.float64]:
    """I(X_j; Y) in bits as (n_bootstraps, n_features), bins learned inside each bootstrap."""
    draws, order, starts = draws_by_class(counts, data.y, data.n_classes)
    totals = counts.sum(axis=1)
    table = clogc_table(int(totals.max()))
    class_sums = np.stack(
        [counts[:, data.y == c].sum(axis=1) for c in range(data.n_classes)]
    )
    sum_y = np.array([sum_clogc(sizes) for sizes in class_sums.T])
    bits = np.empty((len(counts), data.n_features))

    encoded, bins = encode(data, discretiser, run=run)

    y, drawn = data.y[order], counts[:, order]

    def work(bound: tuple[int, int]) -> None:
        start, stop = bound
        block = None
        if not bins.as_levels[start:stop].all():
            block = np.asarray(data.columns(start, stop), dtype=np.float64)[order].T
        for j in range(start, stop):
            if bins.as_levels[j]:
                # The same levels in every bootstrap: those not drawn have counts of zero, which
                # change nothing.
                codes, fine_edges = encoded.codes_of(j), bins.of(j)[1:]
                edges = np.tile(fine_edges, len(counts))
                edge_starts = np.arange(len(counts) + 1) * fine_edges.size
            else:
                values = np.ascontiguousarray(block[j - start])
                edges, edge_starts = edges_of_each(
                    values, y, bool(data.categorical[j]), drawn, discretiser
                )
                fine_edges = np.unique(edges)
                codes = np.searchsorted(fine_edges, values, side="right")
                codes[np.isnan(values)] = fine_edges.size + 1
            n_levels = fine_edges.size + 2
            kind = np.uint16 if n_levels <= 1 << 16 else np.uint32
            fine = np.empty((n_levels, data.n_classes, len(counts)), draws.dtype)
            sums_j, sums_jy = np.empty(len(counts)), np.empty(len(counts))
            relevance_sums(
                codes.astype(kind), n_levels, fine_edges, edges, edge_starts, draws, starts, table,
                fine, sums_j, sums_jy,
            )  # fmt: skip
            relevance = np.log2(totals) + (sums_jy - sums_j - sum_y) / totals
            bits[:, j] = np.maximum(relevance, 0.0)

    in_threads(run.threads, work, encoded.bounds)
    return bits
