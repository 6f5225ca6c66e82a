"""Mutual information divided by the mean of both entropies: a ranking by it, and FCBF."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.method.ranking import TIE, rank_by_score
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import number_to_keep, param, real
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.encode import Encoded, Sums
from fsframe_infotheory.engine.part_counts import EncodedParts, counter_of, partner_of
from fsframe_infotheory.methods.filter import InformationFilter, ScoredFilter

__all__ = ["Fcbf", "SymmetricUncertainty"]


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
