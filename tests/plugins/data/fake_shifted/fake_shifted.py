"""A null for time series: labels keep their order and are shifted circularly along the rows."""

import numpy as np

from fsframe.registry.entries import NullEntry
from fsframe.registry.hookspecs import hookimpl
from fsframe.resampling.resamples import RelabellingNull


class Shifted(RelabellingNull):
    """For rows in time order with autocorrelated labels, which a permutation would not preserve."""

    promise = (
        "A feature is relevant if the base prefers it to features under labels that are shifted "
        "circularly by a random number of rows. Approximate: the two ends of the series differ."
    )

    def _labels(self, data, generator):
        return np.roll(data.y, int(generator.integers(1, data.n_samples)))


@hookimpl
def fsframe_nulls():
    yield NullEntry(
        name="shifted", target="fake_shifted:Shifted", summary="Labels shifted along the rows"
    )
