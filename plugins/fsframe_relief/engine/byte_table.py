"""A table with one byte per value, from which numbers are read."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

__all__ = ["ByteTable"]


@attrs.frozen(eq=False)
class ByteTable:
    """Codes of a byte each, indexed like an array of the numbers that they stand for.

    Parameters
    ----------
    codes : (n_samples, n_features) uint8
    numbers : (256,) float64
        Whole numbers, NaN for a missing value.

    Examples
    --------
    >>> numbers = np.append([0.0, 1.0, np.nan], np.zeros(253))
    >>> ByteTable(np.array([[0, 2], [1, 1]], dtype=np.uint8), numbers)[:, 1].tolist()
    [nan, 1.0]
    """

    codes: NDArray[np.uint8]
    numbers: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int]:
        """Samples, features."""
        return self.codes.shape[0], self.codes.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the numbers."""
        return self.numbers.dtype

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, place: Any) -> NDArray[np.float64]:
        return self.numbers[self.codes[place]]
