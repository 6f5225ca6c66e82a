"""Fast correlation-based filter: features that no better one makes redundant."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.params import count_or_fraction, optional, param, real
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe_infotheory.engine.encode import Encoded
from fsframe_infotheory.engine.part_counts import EncodedParts, counter_of, partner_of
from fsframe_infotheory.engine.ranking import TIE, ranked
from fsframe_infotheory.methods.filter import InformationFilter
from fsframe_infotheory.methods.symmetric_uncertainty import symmetric_uncertainties

__all__ = ["Fcbf"]


@attrs.frozen(kw_only=True)
class Fcbf(InformationFilter):
    """Features more strongly related to the class than to any better feature (predominant
    features).

    The number kept follows from the data; `top` limits it.

    Notes
    -----
    Features of SU(X, Y) > δ are taken from the best down; each kept one removes all worse ones with
    SU(X, X_kept) ≥ SU(X, Y). Ties within 1e-10: the lower column is the better one, and equal
    uncertainties remove. O(p n) per kept feature. Scores are SU(X, Y) of all features.

    References
    ----------
    L. Yu, H. Liu 2003, Feature selection for high-dimensional data: a fast correlation-based
    filter solution, ICML, Figure 2; L. Yu, H. Liu 2004, J. Mach. Learn. Res. 5:1205–1224.
    """

    unitless: ClassVar[bool] = True

    top: int | float | None = param(
        None,
        optional(count_or_fraction()),
        help="Number of features to keep: a count, or a fraction of the features it is given. "
        "By default all that no better one makes redundant.",
    )
    delta: float = param(
        0.0,
        real(0, below=1),
        help="Threshold on the symmetric uncertainty with the class.",
        symbol="δ",
    )

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        encoded, bins = self.encode(data, upstream, run)
        scores = symmetric_uncertainties(encoded)
        given = self.columns_given(data)
        scores[self.columns_named(self.exclude, data)] = np.nan
        left = np.where(scores > self.delta + TIE, scores, np.nan)
        left[given] = np.nan
        most = self.keep_count(data.n_features, data.n_features)
        kept: list[int] = []
        with counter_of(encoded, run) as counter:
            for feature in given:
                left[_redundant(counter, encoded, int(feature), scores)] = np.nan
            for feature in ranked(left):
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
    entropies = 2 * np.log2(terms.total) - (terms.j + terms.s) / terms.total
    with_feature = np.divide(
        2 * terms.redundancy, entropies, out=np.zeros_like(entropies), where=entropies > 1e-12
    )
    return with_feature >= scores - TIE
