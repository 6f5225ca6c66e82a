"""A selector."""

from typing import ClassVar

import attrs
import numpy as np

from fsframe.method.selection import Selection, rank_by_score
from fsframe.method.selector import Selector
from fsframe.params import param, real


@attrs.frozen(kw_only=True)
class FakeSpread(Selector):
    """Columns by their range."""

    takes_counts: ClassVar[bool] = True

    power: float = param(1.0, real(above=0), help="Exponent of the range.")

    def _select(self, data, upstream, run):
        scores = np.ptp(data.X, axis=0) ** self.power
        kept = rank_by_score(scores)[: self.keep_count(data.n_features, 2)]
        return Selection(selected=kept, scores=scores)
