"""The columns of a table in stripes, for products over pairs of instances."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_relief.engine.columns import Columns

__all__ = ["PairTable", "pair_tables"]

STRIPE = 512
"""Columns per product; fixed, so that threads do not change the bits."""


@attrs.frozen(eq=False)
class PairTable:
    """Columns of one arithmetic as floats: numbers, values, how many are continuous, ramp, gaps."""

    numbers: NDArray[np.intp]
    values: NDArray[np.float64]
    n_real: int
    floor: float
    slope: float
    gaps: bool

    def differences(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.float64]:
        """Diffs of pairs (pairs, columns); NaN where a value is missing."""
        d = np.abs(self.values[first] - self.values[second])
        real, codes = d[:, : self.n_real], d[:, self.n_real :]
        if (self.floor, self.slope) != (0.0, 1.0):
            real -= self.floor
            real *= self.slope
        np.clip(real, 0.0, 1.0, out=real)
        # codes are 1 or more apart; NaN stays
        np.minimum(np.ceil(codes, out=codes), 1.0, out=codes)
        return d


def pair_tables(columns: Columns) -> Iterator[PairTable]:
    """All live columns in stripes."""
    n_whole = int((~columns.gaps).sum())
    for start in range(0, columns.plain.size, STRIPE):
        part = slice(start, start + STRIPE)
        values = np.ascontiguousarray(columns.scaled[:, part])
        yield PairTable(columns.plain[part], values, values.shape[1], 0.0, 1.0, False)
    for low, high, gaps in ((0, n_whole, False), (n_whole, columns.levelled.size, True)):
        for start in range(low, high, STRIPE):
            part = slice(start, min(start + STRIPE, high))
            codes = columns.codes[:, part]
            values = np.where(codes == columns.gap, np.nan, codes.astype(np.float64))
            yield PairTable(columns.levelled[part], values, 0, 0.0, 1.0, gaps)
    for start in range(0, columns.special.size, STRIPE):
        part = slice(start, start + STRIPE)
        values = np.ascontiguousarray(columns.values[:, part])
        real = int(np.clip(columns.n_real - start, 0, values.shape[1]))
        yield PairTable(columns.special[part], values, real, columns.floor, columns.slope, True)
