"""The order in which samples are counted: sorted by class, rows drawn repeatedly are repeated."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe_infotheory.engine.entropy import clogc_table, sum_clogc

__all__ = ["MOST_REPEATED", "Layout"]

MOST_REPEATED = 4
"""Most samples per row up to which drawn rows are repeated, which keeps counts whole."""


@attrs.frozen(kw_only=True, eq=False)
class Layout:
    """The samples of one table in the order in which they are counted.

    Parameters
    ----------
    order : (n,) int64
        Row of the table of each sample; sorted by class, stable.
    starts : (n_classes + 1,) int64
        First sample of each class.
    words : (n_classes + 1,) int64
        First 64-bit word of each class.
    places : (n,) int64
        Bit position of each sample: ``64 · word + bit``.
    weights : (n,) float64, or None
        Weight of each sample; None where each counts once.
    total : float
        Sum of the weights.
    class_sizes : (n_classes,) float64
        Weight of each class.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    words: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    total: float
    class_sizes: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        y: NDArray[np.int64],
        n_classes: int,
        counts: NDArray[np.int64] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> Layout:
        """The layout of rows with classes `y`, bootstrap counts and importance weights.

        Notes
        -----
        A row drawn c times becomes c samples, so that counts are whole and equal those of a table
        with copied rows exactly. With importance weights, or counts that sum to more than four
        samples per row, each row is one weighted sample.
        """
        rows = np.argsort(y, kind="stable")
        repeated = counts is not None and counts.sum() <= MOST_REPEATED * len(y) + 1024
        carried: NDArray[np.float64] | None = None
        if weights is not None or (counts is not None and not repeated):
            carried = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
            if counts is not None:
                carried = carried * counts
            rows = rows[carried[rows] > 0]
            carried = carried[rows]
        elif counts is not None:
            rows = np.repeat(rows, counts[rows])
        sizes = np.bincount(y[rows], minlength=n_classes)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        words = np.concatenate([[0], np.cumsum((sizes + 63) // 64)]).astype(np.int64)
        within = np.arange(len(rows)) - np.repeat(starts[:-1], sizes)
        class_sizes = np.bincount(y[rows], weights=carried, minlength=n_classes)
        return cls(
            order=rows.astype(np.int64),
            starts=starts,
            words=words,
            places=np.repeat(words[:-1] * 64, sizes) + within,
            weights=carried,
            total=float(class_sizes.sum()),
            class_sizes=np.asarray(class_sizes, dtype=np.float64),
        )

    @classmethod
    def by_class(cls, sizes: NDArray[np.int64]) -> Layout:
        """The layout of samples that are sorted by class already, from the sizes of the classes."""
        return cls.of(np.repeat(np.arange(len(sizes)), sizes), len(sizes))

    @property
    def n(self) -> int:
        """Number of samples, repeated ones included."""
        return len(self.order)

    @property
    def n_classes(self) -> int:
        """Number of classes, empty ones included."""
        return len(self.starts) - 1

    @property
    def n_words(self) -> int:
        """Length of a bit row."""
        return int(self.words[-1])

    @property
    def short_order(self) -> NDArray[np.uint32]:
        """`order`, for kernels: unsigned indices avoid the test for negative ones."""
        return self.order.astype(np.uint32)

    @property
    def table(self) -> NDArray[np.float64]:
        """c·log₂c for every count that can occur; for whole counts only."""
        return clogc_table(self.n)

    @property
    def whole_table(self) -> NDArray[np.float64]:
        """`table`, or of length 1 where samples have weights and counts are not whole."""
        return self.table if self.weights is None else np.zeros(1)

    @property
    def sum_y(self) -> float:
        """Σ c·log₂c over the class sizes."""
        return sum_clogc(self.class_sizes)
