"""Counting sparse tables from their stored values only.

Levels, counts and sums are bit-identical to those of the dense table; the work is proportional to
the stored values, not to rows times columns. Features are counted with the class, and with one
other feature without the class.
"""

from __future__ import annotations

from itertools import pairwise

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.kernels.threads import in_threads
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset
from fsframe.table.sparse_columns import SparseColumns
from fsframe_infotheory.engine import sparse_kernels as kernels
from fsframe_infotheory.engine.bins import Bins
from fsframe_infotheory.engine.counting import MOST_CELLS, MOST_ROWS
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.encode import Sums
from fsframe_infotheory.engine.entropy import clogc_table, sum_clogc
from fsframe_infotheory.engine.information_terms import Terms
from fsframe_infotheory.engine.packing import MOST_BYTES, PACKED_LEVELS

__all__ = ["EncodedSparse", "SparseCounter", "SparsePartner", "encode_sparse"]

DENSEST = 64
"""Below one stored value in so many, counting those is faster than bit rows."""

_COLUMNS = 1 << 16


@attrs.frozen(kw_only=True, eq=False)
class EncodedSparse(Sums):
    """A sparse table, ready for counting.

    Parameters
    ----------
    matrix : SparseColumns
    codes : (n_stored,) uint8
        Level of each stored value.
    zero : (n_features,) uint8
        Level of zero in each column.
    """

    matrix: SparseColumns
    codes: NDArray[np.uint8]
    zero: NDArray[np.uint8]


@attrs.frozen(kw_only=True, eq=False)
class _SparseFacts:
    """Facts of columns, with the interface of `fsframe.table.columns_seen.ColumnsSeen`."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    whole: NDArray[np.bool_]
    missing: NDArray[np.int64]
    matrix: SparseColumns

    def levels_of(self, columns: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Number of distinct values of whole-numbered columns of a short range, and the values."""
        m = self.matrix
        given = m.values, m.starts, m.n_samples, columns, self.low, self.high
        sizes = np.zeros(len(columns), np.int64)
        kernels.list_levels(*given, sizes, np.zeros(len(columns), np.int64), np.empty(0))
        values = np.empty(int(sizes.sum()))
        kernels.list_levels(*given, sizes, np.cumsum(sizes) - sizes, values)
        return sizes, values


def encode_sparse(
    data: Dataset, discretiser: Discretiser, run: Run, pairs: bool
) -> tuple[EncodedSparse, Bins] | None:
    """A sparse table as codes of its stored values, and its bins; None if levels are too many.

    Rows count once each. Takes a byte per stored value, and the sums. With `pairs` to be counted,
    None too where bit rows are faster and fit into half of the memory.
    """
    matrix: SparseColumns = data.matrix
    y, n_classes = discretiser.codes_of_target(data)
    bins = _learned(data, discretiser, run)
    n_levels = bins.n_levels
    n, m = matrix.shape
    most = int(n_levels.max(initial=1))
    packed = min(most, PACKED_LEVELS)
    # Above these, a table in memory adds its counts in another order.
    if (
        (packed - 1) * (most - 1) > MOST_ROWS
        or packed * most * n_classes > 8 * MOST_CELLS
        or (most > PACKED_LEVELS and most * most * n_classes > MOST_CELLS)
        or most > MOST_BYTES
    ):
        return None
    rows_of_bits = int((n_levels.clip(1, PACKED_LEVELS) - 1).sum()) * n // 8
    if pairs and DENSEST * len(matrix.values) > n * m and rows_of_bits <= run.memory // 2:
        return None
    codes = np.empty(len(matrix.values), np.uint8)
    zero = np.empty(m, np.uint8)
    sum_j, sum_jy = np.empty(m), np.empty(m)
    sizes = np.bincount(y, minlength=n_classes)
    labels = y.astype(np.int32)
    table = clogc_table(n)

    def work(bound: tuple[int, int]) -> None:
        kernels.write_levels(
            matrix.values, matrix.starts, *bound, bins.as_levels, bins.offsets, bins.thresholds,
            bins.n_values, codes, zero,
        )  # fmt: skip
        kernels.class_sums(
            codes, matrix.rows, matrix.starts, *bound, zero, n_levels, labels, sizes, table,
            sum_j, sum_jy,
        )  # fmt: skip

    in_threads(run.threads, work, _shares(matrix, run.threads))
    found = EncodedSparse(
        n_levels=n_levels,
        class_sizes=sizes.astype(np.float64),
        totals=np.full(m, float(n)),
        sum_y=np.full(m, sum_clogc(sizes)),
        sum_j=sum_j,
        sum_jy=sum_jy,
        matrix=matrix,
        codes=codes,
        zero=zero,
    )
    return found, bins


def _shares(matrix: SparseColumns, parts: int) -> list[tuple[int, int]]:
    """Bounds of shares of adjacent columns with about equally many values."""
    # Each column has a fixed cost.
    done = np.asarray(matrix.starts, dtype=np.int64) + 16 * np.arange(len(matrix.starts))
    cuts = np.searchsorted(done, done[-1] * np.arange(1, parts) / parts)
    bounds = np.unique([0, *cuts, len(matrix.starts) - 1])
    return [(int(a), int(b)) for a, b in pairwise(bounds)]


def _learned(data: Dataset, discretiser: Discretiser, run: Run) -> Bins:
    """The bins of all columns, group by group to bound the memory of edges."""
    matrix: SparseColumns = data.matrix
    m = matrix.shape[1]
    low, high = np.empty(m), np.empty(m)
    whole, missing = np.empty(m, bool), np.empty(m, np.int64)

    def scan(bound: tuple[int, int]) -> None:
        kernels.scan_sparse(
            matrix.values, matrix.starts, matrix.n_samples, *bound, low, high, whole, missing
        )

    in_threads(run.threads, scan, _shares(matrix, run.threads))
    facts = _SparseFacts(low=low, high=high, whole=whole, missing=missing, matrix=matrix)
    return Bins.joined(
        [
            discretiser.learn_columns(data, start, min(start + _COLUMNS, m), facts=facts)
            for start in range(0, m, _COLUMNS)
        ]
    )


class SparsePartner:
    """One feature as a partner.

    Attributes
    ----------
    levels : (n_samples,) uint8
        Level of each row.
    margins : (n_levels,) int64
    sum_s : float
        Σ c·log₂c over levels.
    """

    def __init__(self, encoded: EncodedSparse, feature: int) -> None:
        matrix = encoded.matrix
        self.n_levels = int(encoded.n_levels[feature])
        first, last = int(matrix.starts[feature]), int(matrix.starts[feature + 1])
        self.levels = np.full(matrix.n_samples, encoded.zero[feature], np.uint8)
        self.levels[matrix.rows[first:last]] = encoded.codes[first:last]
        self.margins = np.bincount(self.levels, minlength=self.n_levels)
        packed = self.n_levels <= PACKED_LEVELS
        self.sum_s = float(encoded.sum_j[feature]) if packed else sum_clogc(self.margins)


class SparseCounter:
    """Counts all features of a sparse table with partners: `Counter` for sparse tables."""

    def __init__(self, encoded: EncodedSparse, run: Run) -> None:
        self.encoded = encoded
        self.run = run
        # Computed once, because it is a pass over all columns, and `terms` is called per feature.
        self._shares = _shares(encoded.matrix, run.threads)

    def terms(self, partner: SparsePartner, per_class: bool = False) -> Terms:
        """Terms of every feature with `partner`, without those with Y."""
        if per_class:
            raise NotImplementedError("sparse tables are counted without the class")
        encoded = self.encoded
        matrix, n = encoded.matrix, encoded.matrix.n_samples
        js = np.empty(encoded.n_features)

        def work(bound: tuple[int, int]) -> None:
            kernels.joint_sparse(
                encoded.codes, matrix.rows, matrix.starts, *bound, encoded.zero, encoded.n_levels,
                partner.levels, partner.margins, clogc_table(n), PACKED_LEVELS, js,
            )  # fmt: skip

        in_threads(self.run.threads, work, self._shares)
        return Terms(
            total=float(n),
            j=encoded.sum_j,
            jy=encoded.sum_jy,
            s=partner.sum_s,
            sy=np.nan,
            y=float(encoded.sum_y[0]),
            js=js,
            jsy=np.full(encoded.n_features, np.nan),
        )
