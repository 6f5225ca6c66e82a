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

from fsframe.kernels import in_threads
from fsframe.kernels.compiled import njit
from fsframe.method.run import Run
from fsframe.table.arrays import SparseColumns
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bins import Bins
from fsframe_infotheory.engine.discretise import Discretiser
from fsframe_infotheory.engine.encode import MOST_CELLS, MOST_ROWS, Sums
from fsframe_infotheory.engine.entropy import Terms, clogc_table, sum_clogc
from fsframe_infotheory.engine.packing import MOST_BYTES, PACKED_LEVELS, class_terms, sum_of


@njit()
def scan_sparse(values, starts, n_rows, start, stop, low, high, whole, missing):
    """Write least and greatest value of columns, whether all are whole, and how many are NaN.

    Zero is included for columns with fewer stored values than rows.
    """
    for j in range(start, stop):
        first, last = starts[j], starts[j + 1]
        zeros = last - first < n_rows
        low[j] = 0.0 if zeros else np.inf
        high[j] = 0.0 if zeros else -np.inf
        whole[j] = True
        missing[j] = 0
        for i in range(first, last):
            x = np.float64(values[i])
            if x != x:
                missing[j] += 1
                continue
            low[j] = min(low[j], x)
            high[j] = max(high[j], x)
            if x != np.floor(x):
                whole[j] = False


@njit()
def list_levels(values, starts, n_rows, columns, low, high, sizes, places, levels):
    """Write the number of distinct values of columns of whole numbers, and optionally the values.

    Parameters
    ----------
    columns : (k,) int64
        Columns of a short range.
    sizes, places : (k,) int64
        The number, and the offset of each column's values in `levels`.
    levels : float64
        Ascending in each column; of length 0 to count only.
    """
    present = np.zeros(1, np.uint8)
    for k in range(columns.size):
        j = columns[k]
        width = np.int64(high[j] - low[j]) + 1
        if width > present.size:
            present = np.zeros(width, np.uint8)
        if starts[j + 1] - starts[j] < n_rows:
            present[np.int64(-low[j])] = 1
        for i in range(starts[j], starts[j + 1]):
            x = np.float64(values[i])
            if x == x:
                present[np.int64(x - low[j])] = 1
        size = 0
        for v in range(width):
            if present[v]:
                if levels.size:
                    levels[places[k] + size] = low[j] + v
                size += 1
                present[v] = 0
        sizes[k] = size


@njit()
def write_levels(
    values, starts, start, stop, as_levels, offsets, thresholds, n_values, codes, zero
):
    """Write the level of each stored value, and that of zero; NaN is the last."""
    for j in range(start, stop):
        first, last = offsets[j], offsets[j + 1]
        # A level's code is the number of levels at or below it, less one.
        less = 1 if as_levels[j] else 0
        for i in range(starts[j] - 1, starts[j + 1]):
            x = 0.0 if i < starts[j] else np.float64(values[i])
            if x != x:
                codes[i] = n_values[j]
                continue
            code = -less
            for t in range(first, last):
                code += thresholds[t] <= x
            if i < starts[j]:
                zero[j] = max(0, code)
            else:
                codes[i] = code


@njit()
def class_sums(
    codes, rows, starts, start, stop, zero, n_levels, labels, sizes, table, sum_j, sum_jy
):
    """Write Σ c·log₂c over the levels of columns, and over levels and classes."""
    n_classes = sizes.size
    counts = np.zeros((256, n_classes), np.int64)
    for j in range(start, stop):
        left = counts[zero[j]]
        left[:] = sizes
        for i in range(starts[j], starts[j + 1]):
            c = labels[rows[i]]
            left[c] -= 1
            counts[codes[i], c] += 1
        sum_j[j], sum_jy[j] = class_terms(counts, n_levels[j], table)
        counts[: max(n_levels[j], zero[j] + 1)] = 0


@njit()
def joint_sparse(
    codes, rows, starts, start, stop, zero, n_levels, partner, margins, table, packed, js
):
    """Write Σ c·log₂c over the joint levels of columns and a partner.

    Parameters
    ----------
    partner : (n_rows,) uint8
        The partner's level in each row.
    margins : (partner levels,) int64
        How often each occurs.
    packed : int
        Most levels of columns that are summed in the order of bit rows, level by level; others
        are summed in the order of dense tables.
    js : (n_features,) float64
        Result.

    Notes
    -----
    Rows without a stored value have the level of zero, whose counts are the partner's minus those
    of the other levels. One step for each stored value, and one for each cell.
    """
    width = margins.size
    most = np.int64(1)
    for j in range(start, stop):
        most = max(most, n_levels[j], zero[j] + 1)
    counts = np.zeros(most * width, np.int64)
    for j in range(start, stop):
        at_zero = zero[j] * width
        for b in range(width):
            counts[at_zero + b] = margins[b]
        for i in range(starts[j], starts[j + 1]):
            at = np.int64(partner[rows[i]])
            counts[at_zero + at] -= 1
            counts[np.int64(codes[i]) * width + at] += 1
        size = n_levels[j] * width
        if n_levels[j] <= packed:
            total = 0.0
            for cell in range(size):
                count = counts[cell]
                if count:
                    total += table[count]
        else:
            total = sum_of(counts, size, table)
        js[j] = total
        counts[: max(size, at_zero + width)] = 0


DENSEST = 64
"""If at most one value in so many is stored, counting stored values is faster than bit rows."""

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

    def partner(self, feature: int) -> SparsePartner:
        """One feature as a partner."""
        return SparsePartner(self, feature)


@attrs.frozen(kw_only=True, eq=False)
class _SparseFacts:
    """Facts of columns, with the interface of `fsframe.table.columns_seen.ColumnsSeen`."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    whole: NDArray[np.bool_]
    missing: NDArray[np.int64]
    matrix: SparseColumns

    def n_levels_of(self, columns: NDArray[np.intp]) -> NDArray[np.int64]:
        """Number of distinct values of columns of whole numbers in a short range."""
        sizes = np.zeros(len(columns), np.int64)
        self._list(columns, sizes, np.empty(0))
        return sizes

    def levels_of(self, columns: NDArray[np.intp]) -> NDArray[np.float64]:
        """The distinct values of such columns, ascending in each."""
        sizes = self.n_levels_of(columns)
        values = np.empty(int(sizes.sum()))
        self._list(columns, sizes, values)
        return values

    def _list(
        self, columns: NDArray[np.intp], sizes: NDArray[np.int64], values: NDArray[np.float64]
    ) -> None:
        m = self.matrix
        places = np.cumsum(sizes) - sizes
        list_levels(
            m.values, m.starts, m.n_samples, columns, self.low, self.high, sizes, places, values
        )


def encode_sparse(
    data: Dataset, discretiser: Discretiser, run: Run, pairs: bool
) -> tuple[EncodedSparse, Bins] | None:
    """A sparse table as codes of its stored values, and its bins; None if levels are too many.

    Rows count once each. The result takes a byte per stored value, and the sums. With `pairs` to be
    counted, it is also None if bit rows are faster and fit into half of the memory.
    """
    matrix: SparseColumns = data.matrix
    y, n_classes = discretiser.codes_of_target(data)
    bins = _learned(data, discretiser, run)
    n_levels = bins.n_levels
    n, m = matrix.shape
    most = int(n_levels.max(initial=1))
    packed = min(most, PACKED_LEVELS)
    # Above these limits, a table in memory adds its counts in another order.
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
        write_levels(
            matrix.values, matrix.starts, *bound, bins.as_levels, bins.offsets, bins.thresholds,
            bins.n_values, codes, zero,
        )  # fmt: skip
        class_sums(
            codes, matrix.rows, matrix.starts, *bound, zero, n_levels, labels, sizes, table,
            sum_j, sum_jy,
        )  # fmt: skip

    in_threads(run.threads, work, _shares(matrix, run.threads))
    encoded = EncodedSparse(
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
    return encoded, bins


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
        scan_sparse(
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
        """Terms of every feature with `partner`, without those with Y (`per_class`)."""
        encoded = self.encoded
        matrix, n = encoded.matrix, encoded.matrix.n_samples
        js = np.empty(encoded.n_features)

        def work(bound: tuple[int, int]) -> None:
            joint_sparse(
                encoded.codes, matrix.rows, matrix.starts, *bound, encoded.zero, encoded.n_levels,
                partner.levels, partner.margins, clogc_table(n), PACKED_LEVELS, js,
            )  # fmt: skip

        in_threads(self.run.threads, work, self._shares)
        return encoded.terms(partner.sum_s, np.nan, js, np.full(encoded.n_features, np.nan))
