"""Pearson's chi-squared of each feature's levels and the class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
import scipy
from numpy.typing import NDArray

from fsframe.kernels.bit_counts import LANES
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection
from fsframe.params import (
    choice,
    correction_of_tests,
    level_of_tests,
    param,
)
from fsframe.resampling.groups import FilterWithTests
from fsframe.table.dataset import Dataset
from fsframe_filters.exact_tests import with_fisher_p
from fsframe_infotheory.engine.encode import Encoded
from fsframe_infotheory.engine.packing import block_of
from fsframe_infotheory.engine.part_counts import EncodedParts
from fsframe_infotheory.methods.filter import DEFAULT_COUNT, ScoredFilter, labels_with_strata


@attrs.frozen(kw_only=True)
class Chi2(FilterWithTests, ScoredFilter):
    """Features ranked by the chi-squared statistic of their levels against the class.

    Without `top`, 10 features are kept; with `alpha` those with q ≤ `alpha`. Tables ``p_values``,
    ``q_values`` (with `alpha`) and ``degrees_of_freedom`` are stored.

    Notes
    -----
    χ² = Σ (o − e)²/e over the cells of the level × class table, e the product of the margins over
    n; degrees of freedom count the levels and classes that occur. This is the test of
    independence, as `scipy.stats.chi2_contingency` without correction; scikit-learn's `chi2` sums a
    feature's *values* per class instead and differs except for columns of 0 and 1 (there it counts
    the ones only). More levels give larger χ² by chance: ``rank_by=p-value`` ranks by −log₁₀ p.
    With covariates (``--adjust``) statistics and degrees of freedom are sums over their strata.
    Importance weights of rows are scaled to a sum of n. For `alpha` and what it promises see
    `anova-f`; besides, χ² is approximate with few rows a cell. With `alpha`, p of 2 × 2 tables in
    which a cell is expected to hold fewer than 10 rows is that of Fisher's exact test, as there.

    References
    ----------
    K. Pearson 1900, On the criterion …, Philos. Mag. 50:157–175. R. Fisher 1935, The logic of
    inductive inference, J. R. Stat. Soc. 98:39–82.
    """

    unitless: ClassVar[bool] = True

    alpha: float | None = level_of_tests()
    correction: str = correction_of_tests()
    rank_by: str = param(
        "statistic",
        choice("statistic", "p-value"),
        help="Rank by the statistic, or by −log₁₀ of its p-value.",
    )

    def adjusts(self) -> bool:
        return self.discretise != "mdl"

    def cost(self, n: int, p: int) -> Cost:
        seconds = 1.3e-3 + 7e-6 * p + 2.2e-8 * n * p
        return Cost(seconds=seconds, formula="0.0013 + 7e-6 p + 2.2e-8 np")

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        data = self.independent_rows(data)
        strata, seen = 1, data
        if data.covariates is not None:
            # Classes of one stratum are adjacent.
            seen = labels_with_strata(data, self.discretiser())[0]
            strata = int(data.covariates.strata().max()) + 1
        if upstream is not None and upstream.instance_weights is not None:
            # χ² grows with the sum of the weights, which is the number of rows for any scale.
            given = upstream.instance_weights
            scale = data.n_samples / max(given.sum(), 1e-300)
            upstream = attrs.evolve(upstream, instance_weights=given * scale)
        # Codes are kept, because the tables of listed features need them.
        encoded, bins = self.encode(seen, upstream, run)
        statistic, freedom = np.zeros(data.n_features), np.zeros(data.n_features)
        fisher = np.full(data.n_features, np.nan)
        weighted = upstream is not None and upstream.instance_weights is not None
        exact = self.alpha is not None and strata == 1 and not weighted
        for columns, table in contingency_tables(encoded):
            if exact:
                fisher[columns] = _fisher_of_tables(table)
            for observed in np.split(table, strata, axis=1):
                of_level, of_class = observed.sum(axis=1), observed.sum(axis=0)
                total = of_level.sum(axis=0)
                products = of_level[:, None, :] * of_class[None, :, :]
                shares = np.divide(
                    observed**2, products, out=np.zeros_like(observed), where=products > 0
                )
                statistic[columns] += np.maximum(0.0, total * (shares.sum(axis=(0, 1)) - 1))
                levels = np.maximum((of_level > 0).sum(axis=0) - 1, 0)
                freedom[columns] += levels * np.maximum((of_class > 0).sum(axis=0) - 1, 0)
        live = freedom > 0
        # logsf, because p underflows to zero while features still differ.
        log_p = np.zeros(data.n_features)
        log_p[live] = scipy.stats.chi2.logsf(statistic[live], freedom[live])
        log_p = np.where(np.isnan(fisher), log_p, fisher)
        scores = np.where(live, statistic, 0.0)
        if self.rank_by == "p-value":
            scores = -np.maximum(log_p, -np.finfo(float).max) / np.log(10)
        tested = self.significant_columns(scores, np.exp(log_p), data, DEFAULT_COUNT)
        tables = {**tested.tables, "degrees_of_freedom": freedom, **bins.tables()}
        ranked = self.ranking(scores, data, tables, self.notes(data, bins, encoded))
        if self.alpha is None:
            return ranked
        # Given features always come first, and excluded ones have no score.
        first = self.columns_given(data)
        others = tested.selected[~np.isin(tested.selected, first)]
        kept = np.concatenate([first, others[~np.isnan(ranked.scores[others])]])
        return attrs.evolve(ranked, selected=kept, warnings=(*ranked.warnings, *tested.warnings))


def _fisher_of_tables(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log p (m,) of 2 × 2 tables with a cell that is expected to hold few rows (`with_fisher_p`).

    `table` (n_levels, n_classes, m) holds whole counts. NaN for other features, such as those with
    more than two levels that occur.
    """
    of_level, of_class = table.sum(axis=1), table.sum(axis=0)
    found = np.full(table.shape[2], np.nan)
    two = np.flatnonzero(((of_level > 0).sum(axis=0) == 2) & ((of_class > 0).sum(axis=0) == 2))
    level, label = (np.argmax(sums[:, two] > 0, axis=0) for sums in (of_level, of_class))
    found[two] = with_fisher_p(
        found[two], table[level, label, two], of_level[level, two], of_class[label, two],
        of_class[:, two].sum(axis=0),
    )  # fmt: skip
    return found


def contingency_tables(
    encoded: Encoded | EncodedParts,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Tables of groups of features: columns (m,) and counts (n_levels, n_classes, m).

    Features with fewer levels than others of the group have rows of zeros. Counts are weighted if
    samples are; with pairwise deletion, samples without the value are left out.
    """
    if isinstance(encoded, EncodedParts):
        yield from encoded.tables()
        return
    layout = encoded.layout
    n_classes, labels = layout.n_classes, layout.labels
    for k in range(len(encoded.bounds)):
        chunk = encoded.chunk(k)
        for b in range(len(chunk.blocks.levels)):
            counts = block_of(chunk.blocks, b, layout)[1]
            columns = chunk.packed[b * LANES : (b + 1) * LANES]
            live = columns >= 0
            yield columns[live], counts[:, :, live].astype(np.float64)
        for column, codes in zip(chunk.listed, chunk.codes, strict=True):
            levels = int(encoded.n_levels[column])
            cells = codes.astype(np.int64) * n_classes + labels
            size = levels * n_classes
            sizes = np.bincount(cells, weights=layout.weights, minlength=size)
            table = np.asarray(sizes, dtype=np.float64).reshape(levels, n_classes)
            if encoded.dropped[column] >= 0:
                table[encoded.dropped[column]] = 0.0
            yield np.array([column]), table[:, :, None]
