"""Pearson's chi-squared test of independence between each feature's levels and the class."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
import scipy

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import choice, param
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe_infotheory.engine.contingency import contingency_tables
from fsframe_infotheory.engine.strata import labels_with_strata
from fsframe_infotheory.methods.scored_filter import ScoredFilter

__all__ = ["Chi2"]


@attrs.frozen(kw_only=True)
class Chi2(ScoredFilter):
    """Features ranked by the chi-squared statistic of their levels against the class.

    Without `top`, 10 features are kept. Tables ``p_values`` and ``degrees_of_freedom`` are stored.

    Notes
    -----
    χ² = Σ (o − e)²/e over the cells of the level × class table, e the product of the margins over
    n; degrees of freedom count the levels and classes that occur. This is the test of
    independence, as `scipy.stats.chi2_contingency` without correction; scikit-learn's `chi2` sums a
    feature's *values* per class instead and differs except for columns of 0 and 1 (there it counts
    the ones only). More levels give larger χ² by chance: ``rank_by=p-value`` ranks by −log₁₀ p.
    With covariates (``--adjust``) statistics and degrees of freedom are sums over their strata.

    References
    ----------
    K. Pearson 1900, On the criterion …, Philos. Mag. 50:157–175.
    """

    unitless: ClassVar[bool] = True

    rank_by: str = param(
        "statistic",
        choice("statistic", "p-value"),
        help="Rank by the statistic, or by −log₁₀ of its p-value.",
    )

    def adjusts(self) -> bool:
        return self.discretise != "mdl"

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        strata, seen = 1, data
        if data.covariates is not None:
            # Classes of one stratum are adjacent.
            seen = labels_with_strata(data, self.discretiser())[0]
            strata = int(data.covariates.strata().max()) + 1
        # Codes are kept, because the tables of listed features need them.
        encoded, bins = self.encode(seen, upstream, run)
        statistic, freedom = np.zeros(data.n_features), np.zeros(data.n_features)
        for columns, table in contingency_tables(encoded):
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
        scores = np.where(live, statistic, 0.0)
        if self.rank_by == "p-value":
            scores = -np.maximum(log_p, -np.finfo(float).max) / np.log(10)
        tables = {"p_values": np.exp(log_p), "degrees_of_freedom": freedom, **bins.tables()}
        return self.ranking(scores, data, tables, self.notes(data, bins, encoded))
