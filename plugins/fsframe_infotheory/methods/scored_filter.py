"""Base of filters that give every feature one score and keep the best."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.dataset import Dataset
from fsframe.contracts.ranking import TIE, rank_by_score
from fsframe.contracts.selection import Selection
from fsframe_infotheory.methods.filter import DEFAULT_COUNT, InformationFilter

__all__ = ["ScoredFilter"]


@attrs.frozen(kw_only=True)
class ScoredFilter(InformationFilter):
    """Features ranked by a univariate score; `given` come first, `exclude` are left out."""

    univariate: ClassVar[bool] = True

    def ranking(
        self,
        scores: NDArray[np.float64],
        data: Dataset,
        tables: dict[str, NDArray[Any]],
        notes: tuple[str, ...],
    ) -> Selection:
        """The Selection of the best scores: `top` of them, or 10."""
        first = self.columns_given(data)
        scores = scores.copy()
        scores[self.columns_named(self.exclude, data)] = np.nan
        candidates = scores.copy()
        candidates[first] = np.nan
        count = self.keep_count(data.n_features, DEFAULT_COUNT)
        kept = rank_by_score(candidates, count, least=TIE)
        return Selection(
            selected=np.concatenate([first, kept]), scores=scores, tables=tables, warnings=notes
        )
