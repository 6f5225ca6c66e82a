"""Mutual information maximisation: features ranked by mutual information with the class."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.cost import Cost
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bootstraps import bootstrap_relevance
from fsframe_infotheory.engine.encode import Sums
from fsframe_infotheory.engine.strata import labels_with_strata
from fsframe_infotheory.methods.estimator import PairParameters, estimation_note
from fsframe_infotheory.methods.filter import ScoredFilter

__all__ = ["Mim"]


@attrs.frozen(kw_only=True)
class Mim(PairParameters, ScoredFilter):
    """Features ranked by their mutual information with the class, I(Xⱼ; Y).

    Without `top`, 10 features are kept.

    Notes
    -----
    With covariates to adjust for (``--adjust``) relevance is I(X; Y | Z), Z their strata.

    Plug-in: I(X; Y) = Σ p(x, y) log₂ p(x, y) / (p(x) p(y)) with p = counts / n, no bias correction.
    O(n p) time; codes need not be kept, so memory is one group of columns at a time. With
    ``estimator=knn`` columns that would be binned are not: see `neighbours`; then
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

    takes_short_counts: ClassVar[bool] = True

    def cost(self, n: int, p: int) -> Cost:
        return Cost(seconds=3e-6 * p + 2.5e-9 * n * p, formula="3e-6 p + 2.5e-9 np")

    @classmethod
    def proposal(cls, data: Dataset, gaps: bool) -> str:
        # Above 200 features npfs has a corrected test, and a screen has to go before it.
        parts = ["top=100"] * (data.n_features > 200) + ["missing=pairwise"] * gaps
        return f"mim:{','.join(parts)}" if parts else "mim"

    def adjusts(self) -> bool:
        # Bins by mdl follow the label, and the two labels of the difference have other bins.
        plain = self.estimator == "plug-in" and self.pairs == "none"
        return plain and self.discretise != "mdl"

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        if self.estimator == "knn":
            bits = self.estimates(data, upstream, run).relevance
            relevance = self.in_unit(bits)
            return self.ranking(relevance, data, {"relevance": relevance}, (estimation_note(bits),))
        encoded: Any
        if self.pairs == "none":
            encoded, bins = self.encode_for_pairs(data, upstream, run, keep="sums")
        else:
            encoded, bins = self.encode(data, upstream, run)
        notes = self.notes(data, bins, encoded)
        relevance = self.in_unit(self._bits(data, encoded, upstream, run))
        tables = {"relevance": relevance, **bins.tables()}
        found = self.ranking(relevance, data, tables, notes)
        return attrs.evolve(found, pair_weights=self.pair_weights(encoded, found.selected, run))

    def _bits(
        self, data: Dataset, encoded: Sums, upstream: Selection | None, run: Run
    ) -> NDArray[np.float64]:
        """I(X; Y), or given covariates I(X; Y | Z) = I(X; (Y, Z)) − I(X; Z), in bits."""
        if data.covariates is None or not self.adjusts():
            return encoded.relevance
        both, strata = labels_with_strata(data, self.discretiser())
        parts = [self.encode(part, upstream, run, keep="sums")[0] for part in (both, strata)]
        return np.maximum(parts[0].relevance - parts[1].relevance, 0.0)

    def _select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None,
        run: Run,
    ) -> list[Selection]:
        """One Selection per bootstrap, all counted in one pass over the table."""
        counted = self.estimator == "plug-in" and self.pairs == "none"
        counted = counted and data.covariates is None
        if not counted or not self.counts_are_whole(data, upstream):
            return self.one_by_one(data, counts, upstream, run)
        # Draws sorted by class, as short and as long integers, and scores: what a bootstrap holds.
        each = 10 * data.n_samples + 16 * data.n_features
        width = max(1, run.memory // 4 // each)
        found = []
        for first in range(0, len(counts), width):
            part = counts[first : first + width]
            bits = bootstrap_relevance(data, part, self.discretiser(), run)
            found += [self.ranking(self.in_unit(row), data, {}, ()) for row in bits]
        return found
