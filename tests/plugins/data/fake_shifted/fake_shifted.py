"""A null for series: labels keep their order and are moved along the rows as a whole."""

import numpy as np

from fsframe.registry.entries import NullEntry
from fsframe.registry.hookspecs import hookimpl
from fsframe.resampling.null import RelabellingNull


class Shifted(RelabellingNull):
    """Rows are in the order of time, and neighbours are alike: permuted labels would not be."""

    promise = (
        "A feature is relevant if the base prefers it to how features stand when the series of "
        "labels is moved along by a random number of rows. Approximate: the ends do not meet."
    )

    def _labels(self, data, generator):
        return np.roll(data.y, int(generator.integers(1, data.n_samples)))


@hookimpl
def fsframe_nulls():
    yield NullEntry(
        name="shifted", target="fake_shifted:Shifted", summary="Labels moved along the rows"
    )
