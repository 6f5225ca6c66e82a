"""Tables of level × class counts of every feature."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.bit_counts import LANES
from fsframe_infotheory.engine.encode import Encoded
from fsframe_infotheory.engine.packing import block_of
from fsframe_infotheory.engine.part_counts import EncodedParts

__all__ = ["contingency_tables"]


def contingency_tables(
    encoded: Encoded | EncodedParts,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Groups of features: their columns (m,), and their counts (n_levels, n_classes, m).

    Features with fewer levels than others of the group have rows of zeros. Counts are weighted if
    samples are; with pairwise deletion, samples without the value are left out.
    """
    if isinstance(encoded, EncodedParts):
        yield from encoded.tables()
        return
    layout = encoded.layout
    n_classes = layout.n_classes
    labels = np.repeat(np.arange(n_classes), np.diff(layout.starts))
    for k in range(len(encoded.bounds)):
        chunk = encoded.chunk(k)
        for b in range(len(chunk.block_levels)):
            counts = block_of(chunk, b, layout)[1]
            columns = chunk.packed[b * LANES : (b + 1) * LANES]
            live = columns >= 0
            yield columns[live], counts[:, :, live].astype(np.float64)
        for column, codes in zip(chunk.listed, chunk.codes, strict=True):
            levels = int(encoded.n_levels[column])
            cells = codes.astype(np.int64) * n_classes + labels
            size = levels * n_classes
            sizes = np.bincount(cells, weights=layout.weights, minlength=size)
            table = np.asarray(sizes, dtype=np.float64).reshape(levels, n_classes)
            if encoded.dropped[column] >= 0:
                table[encoded.dropped[column]] = 0.0
            yield np.array([column]), table[:, :, None]
