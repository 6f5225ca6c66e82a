"""Prints to stdout when the class is imported, and when it selects."""

import attrs
import numpy as np

from fsframe.method.selection import Selection
from fsframe.method.selector import Selector

print("printed with the class")


@attrs.frozen(kw_only=True)
class Printing(Selector):
    """The first column."""

    def _select(self, data, upstream, run):
        print("printed while selecting")
        return Selection(selected=[0], scores=np.ones(data.n_features))
