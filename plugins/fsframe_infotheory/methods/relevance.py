"""Rankings by the information with the class: MIM, symmetric uncertainty, and FCBF."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.ranking import TIE, rank_by_score
from fsframe.method.run import Cost, Run
from fsframe.method.selection import Selection
from fsframe.params import number_to_keep, param, real
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bootstraps import bootstrap_relevance
from fsframe_infotheory.engine.encode import Encoded, Sums
from fsframe_infotheory.engine.part_counts import EncodedParts, counter_of, partner_of
from fsframe_infotheory.methods.filter import InformationFilter, ScoredFilter, labels_with_strata
from fsframe_infotheory.methods.greedy_filter import PairParameters, estimation_note


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
        seconds = 1e-3 + 3e-6 * p + 2.5e-9 * n * p
        return Cost(seconds=seconds, formula="0.001 + 3e-6 p + 2.5e-9 np")

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


def _uncertainties(
    information: NDArray[np.float64], total: NDArray[np.float64] | float, sums: NDArray[np.float64]
) -> NDArray[np.float64]:
    """2 I(X; Z) / (H(X) + H(Z)), (n_features,) in [0, 1]; zero where both are constant.

    `sums` are those of c·log₂c over the levels of X and over those of Z, added; `total` is the
    weight of the samples.
    """
    entropies = 2 * np.log2(total) - sums / total
    return np.divide(
        2 * information, entropies, out=np.zeros_like(entropies), where=entropies > 1e-12
    )


def _with_class(encoded: Sums) -> NDArray[np.float64]:
    """SU(X_j, Y) of every feature."""
    # Features without samples: all sums are zero, and so is the result.
    totals = np.maximum(encoded.totals, 1e-300)
    return _uncertainties(encoded.relevance, totals, encoded.sum_j + encoded.sum_y)


@attrs.frozen(kw_only=True)
class SymmetricUncertainty(ScoredFilter):
    """Features ranked by symmetric uncertainty with the class, between 0 and 1.

    Without `top`, 10 features are kept.

    Notes
    -----
    SU(X, Y) = 2 I(X; Y) / (H(X) + H(Y)): unlike plain mutual information, it does not favour
    features with many levels.

    References
    ----------
    W. Press et al. 1988, Numerical recipes in C; L. Yu, H. Liu 2004, Efficient feature selection
    via analysis of relevance and redundancy, J. Mach. Learn. Res. 5:1205–1224, eq. 3.

    Examples
    --------
    >>> data = Dataset.from_arrays([[0, 1], [0, 0], [1, 1], [1, 0]], ["a", "a", "b", "b"])
    >>> SymmetricUncertainty(top=1).select(data).scores
    array([1., 0.])
    """

    unitless: ClassVar[bool] = True

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        encoded, bins = self.encode_for_pairs(data, upstream, run, keep="sums")
        notes = self.notes(data, bins, encoded)
        return self.ranking(_with_class(encoded), data, bins.tables(), notes)


@attrs.frozen(kw_only=True)
class Fcbf(InformationFilter):
    """Features more strongly related to the class than to any better feature (predominant
    features).

    The number kept follows from the data; `top` limits it.

    Notes
    -----
    Features of SU(X, Y) > δ are taken from the best down; each kept one removes all worse ones with
    SU(X, X_kept) ≥ SU(X, Y); so do columns that are always kept or `given`. Ties within 1e-10: the
    lower column is the better one, and equal uncertainties remove. O(p n) per kept feature. Scores
    are SU(X, Y) of all features.

    References
    ----------
    L. Yu, H. Liu 2003, Feature selection for high-dimensional data: a fast correlation-based
    filter solution, ICML, Figure 2; L. Yu, H. Liu 2004, J. Mach. Learn. Res. 5:1205–1224.
    """

    unitless: ClassVar[bool] = True

    top: int | float | None = number_to_keep("all that no better one makes redundant")
    delta: float = param(
        0.0,
        real(0, below=1),
        help="Threshold on the symmetric uncertainty with the class.",
        symbol="δ",
    )

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        encoded, bins = self.encode(data, upstream, run)
        scores = _with_class(encoded)
        given = self.columns_given(data)
        scores[self.columns_named(self.exclude, data)] = np.nan
        left = np.where(scores > self.delta + TIE, scores, np.nan)
        left[given] = np.nan
        most = self.keep_count(data.n_features, data.n_features)
        kept: list[int] = []
        with counter_of(encoded, run) as counter:
            for feature in given:
                redundant = _redundant(counter, encoded, int(feature), scores)
                # A column that is always kept may be worse than those that share with it.
                left[redundant & (scores <= scores[feature] + TIE)] = np.nan
            for feature in rank_by_score(left, least=TIE):
                if len(kept) == most:
                    break
                if np.isnan(left[feature]):
                    continue
                kept.append(int(feature))
                left[feature] = np.nan
                left[_redundant(counter, encoded, int(feature), scores)] = np.nan
        notes = self.notes(data, bins, encoded)
        if not kept:
            notes += (f"no feature has a symmetric uncertainty above {self.delta:g}",)
        return Selection(
            selected=np.concatenate([given, np.array(kept, dtype=np.intp)]),
            scores=scores,
            tables=bins.tables(),
            warnings=notes,
        )


def _redundant(
    counter: Any, encoded: Encoded | EncodedParts, feature: int, scores: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Features whose symmetric uncertainty with `feature` is at least that with the class."""
    terms = counter.terms(partner_of(encoded, feature), per_class=False)
    return _uncertainties(terms.redundancy, terms.total, terms.j + terms.s) >= scores - TIE
