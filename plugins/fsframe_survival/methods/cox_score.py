"""Cox's univariate score test of each feature, for survival times."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from scipy import stats

from fsframe.method.cost import Cost
from fsframe.method.ranking import rank_by_score
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.params import choice, number_to_keep, param
from fsframe.table.dataset import Dataset
from fsframe.table.survival import times_and_events
from fsframe_survival.partial_likelihood import Times, score_tests

__all__ = ["CoxScore"]

DEFAULT_COUNT = 10


@attrs.frozen(kw_only=True)
class CoxScore(Selector):
    """Features ranked by the score test of Cox's model, each alone.

    Without `top`, 10 features are kept. Tables ``p_values`` and ``z_score`` are stored; z is
    positive where larger values go with earlier events.

    Notes
    -----
    With risk sets R(t) of the rows whose time is at least t, U = Σ_events (x − x̄_R(t)) and
    V = Σ_events var_R(t)(x), the derivatives of the log partial likelihood at β = 0 (Cox 1972,
    eqs. 14 – 16); the score is U²/V, under the null χ² with one degree of freedom, and z = U/√V.
    For a binary column without ties it is the log-rank test. A feature that is constant in every
    risk set scores 0. Bootstrap counts and weights of rows act as copies. O(n p).

    Departures: none; tied events are treated by Efron's (1977) or Breslow's method (`ties`).

    References
    ----------
    D. Cox 1972, Regression models and life tables, J. R. Statist. Soc. B 34:187–220. B. Efron 1977,
    The efficiency of Cox's likelihood function for censored data, JASA 72:557–565.

    Examples
    --------
    >>> data = Dataset.from_arrays([[3.0, 1], [2, 1], [1, 2], [0, 1]], [1, 2, 3, 4],
    ...                            event=[1, 1, 1, 0])
    >>> CoxScore(top=1).select(data).scores.round(3)
    array([4.154, 0.011])
    """

    univariate: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset({"survival"})
    takes_counts: ClassVar[bool] = True

    top: int | float | None = number_to_keep("10")
    ties: str = param("efron", choice("efron", "breslow"), help="Treatment of tied event times.")

    def cost(self, n: int, p: int) -> Cost:
        return Cost(seconds=5e-4 + 1e-5 * n + 2e-8 * n * p, formula="5e-4 + 1e-5 n + 2e-8 np")

    @classmethod
    def proposal(cls, data: Dataset, gaps: bool) -> str:
        return "cox-score"

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        weight = np.ones(data.n_samples) if data.counts is None else data.counts.astype(np.float64)
        times = Times.of(*times_and_events(data.y), weight, efron=self.ties == "efron")
        z = np.zeros(data.n_features)
        for start, stop in data.column_blocks(min(1 << 25, run.memory // 8)):
            block = np.asarray(data.columns(start, stop), dtype=np.float64)
            scale = np.abs(block - block.mean(axis=0)).max(axis=0, initial=0.0)
            U, V = score_tests(block / np.where(scale > 0, scale, 1.0), times)
            # For a column that is constant among the rows at risk only rounding remains.
            known = V > 1e-12
            z[start:stop] = np.divide(U, np.sqrt(V), out=np.zeros_like(U), where=known)
        kept = rank_by_score(z**2, self.keep_count(data.n_features, DEFAULT_COUNT))
        p_values = 2.0 * stats.norm.sf(np.abs(z))
        return Selection(selected=kept, scores=z**2, tables={"p_values": p_values, "z_score": z})
