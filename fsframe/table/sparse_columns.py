"""A sparse table: only the values other than zero are stored, by columns."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.frozen_arrays import freeze
from fsframe.table.magnitudes import too_large, too_large_in_words

__all__ = ["SparseColumns", "as_table", "is_sparse"]


@attrs.frozen(kw_only=True, eq=False)
class SparseColumns:
    """A sparse table with the listed values, as `fsframe.table.dataset.ColumnSource`.

    Parameters
    ----------
    values : (n_stored,) float32, float64, uint8, int8 or another type of whole numbers
        By column; NaN is a missing value. None is zero.
    rows : (n_stored,) int
        The row of each value, unique within a column.
    starts : (n_features + 1,) int
        Column j owns ``values[starts[j] : starts[j + 1]]``.
    n_samples : int

    Examples
    --------
    >>> from scipy import sparse
    >>> table = as_table(sparse.csr_array([[0, 5, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]]))
    >>> table.shape, table.read(0, 2).tolist()
    ((4, 3), [[0.0, 5.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    """

    values: NDArray[Any] = attrs.field(repr=False)
    rows: NDArray[Any] = attrs.field(repr=False)
    starts: NDArray[Any] = attrs.field(repr=False)
    n_samples: int

    @property
    def shape(self) -> tuple[int, int]:
        """Samples, features."""
        return self.n_samples, len(self.starts) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the result of `read`: bytes stay bytes, all else is float64."""
        small = self.values.dtype in (np.uint8, np.int8)
        return self.values.dtype if small else np.dtype(np.float64)

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return int(self.values.nbytes + self.rows.nbytes + self.starts.nbytes)

    @property
    def complete(self) -> bool:
        """Whether no value is missing."""
        # A sum is NaN if any term is.
        return self.values.dtype.kind != "f" or not np.isnan(self.values.sum())

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Columns ``start … stop-1`` as (n_samples, stop-start), zeros written out."""
        stop = max(start, stop)
        # In C order like a dense table, so that sums over a block have the same order of terms.
        found = np.zeros((self.n_samples, stop - start), dtype=self.dtype)
        first, last = int(self.starts[start]), int(self.starts[stop])
        column = np.repeat(np.arange(stop - start), np.diff(self.starts[start : stop + 1]))
        found[self.rows[first:last], column] = self.values[first:last]
        return found

    def take(self, columns: NDArray[np.intp]) -> SparseColumns:
        """Only these columns, in this order."""
        return _of(self._matrix()[:, columns])

    def take_rows(self, rows: NDArray[np.intp]) -> SparseColumns:
        """Only these rows, in this order; a row may occur twice."""
        return _of(self._matrix()[rows])

    def filled(self, fill: NDArray[np.float64]) -> SparseColumns:
        """With ``fill[j]`` in place of missing values in column j."""
        column = np.repeat(np.arange(self.shape[1]), np.diff(self.starts))
        values = np.where(np.isnan(self.values), fill[column], self.values)
        return _of(attrs.evolve(self, values=values)._matrix())

    def with_column(self, values: NDArray[Any]) -> SparseColumns:
        """With one column more, the last."""
        from scipy import sparse

        last = sparse.csc_array(np.asarray(values, dtype=self.dtype)[:, None])
        return _of(sparse.hstack([self._matrix(), last], format="csc"))

    def _matrix(self) -> Any:
        from scipy import sparse

        return sparse.csc_array((self.values, self.rows, self.starts), shape=self.shape)


def is_sparse(given: Any) -> bool:
    """Whether something is a scipy sparse matrix or array."""
    return hasattr(given, "toarray") and hasattr(given, "nnz")


def as_table(matrix: Any) -> SparseColumns | NDArray[Any]:
    """A scipy sparse matrix in the form a table stores it; dense if that takes less than twice the
    memory.

    Parameters
    ----------
    matrix : (n_samples, n_features) sparse array of real numbers
        NaN is a missing value.

    Returns
    -------
    SparseColumns, or array of that shape

    Raises
    ------
    DataError
        If it contains anything but real numbers, or numbers above `magnitudes.LARGEST`.
    """
    if matrix.dtype.kind not in "fiub" or len(matrix.shape) != 2:
        raise DataError(f"the features must be a table of real numbers, not of {matrix.dtype}")
    if 0 in matrix.shape:
        raise DataError(f"a matrix of shape {matrix.shape} holds no table")
    found = _of(matrix)
    wrong = too_large(found.values)
    if wrong is not None:
        place = int(np.flatnonzero(wrong)[0])
        column = int(np.searchsorted(found.starts, place, side="right")) - 1
        raise DataError(too_large_in_words(int(wrong.sum()), int(found.rows[place]), column))
    n, p = found.shape
    if 2 * found.nbytes <= found.dtype.itemsize * n * p:
        return found
    return np.ascontiguousarray(found.read(0, p))


def _of(matrix: Any) -> SparseColumns:
    """The columns of a sparse matrix, without stored zeros and duplicates."""
    by_column = matrix.tocsc()
    if by_column.dtype.kind == "b":
        by_column = by_column.astype(np.uint8)
    elif by_column.dtype.itemsize < 4 and by_column.dtype not in (np.uint8, np.int8):
        by_column = by_column.astype(np.float32)
    if not by_column.has_canonical_format or (by_column.data == 0).any():
        # Duplicates are summed as float64, as in the dense table.
        small = by_column.dtype in (np.uint8, np.int8)
        by_column = by_column.astype(by_column.dtype if small else np.float64, copy=True)
        by_column.sum_duplicates()
        by_column.eliminate_zeros()
    return SparseColumns(
        values=freeze(by_column.data),
        rows=freeze(by_column.indices),
        starts=freeze(by_column.indptr),
        n_samples=int(matrix.shape[0]),
    )
