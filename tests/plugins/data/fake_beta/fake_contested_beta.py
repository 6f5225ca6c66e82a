"""One of two classes under one name."""

import attrs
import numpy as np

from fsframe.method.selection import Selection
from fsframe.method.selector import Selector


@attrs.frozen(kw_only=True)
class Contested(Selector):
    """What beta means by it."""

    def _select(self, data, upstream, run):
        return Selection(selected=[1], scores=np.ones(data.n_features))
