"""Frozen arrays, sparse columns, and numbers that are too large."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar, overload

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import DataError

LARGEST = 1e150
"""Largest magnitude of a feature or a numeric target.

Sums of squares, and differences, of values up to this are finite numbers of 64 bits.
"""

EXACT = 2**53
"""Largest magnitude up to which all whole numbers are numbers of 64 bits."""


def too_large(values: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Mask of values that are infinite or above `LARGEST` in magnitude, of the shape of `values`.

    None if there are none; NaN, a missing value, is none of them.

    Notes
    -----
    The sum of squares decides for tables without missing values, in one pass.

    Examples
    --------
    >>> too_large(np.array([1.0, np.nan, -1e200])).tolist()
    [False, False, True]
    """
    if values.dtype.kind != "f" or not values.size:
        return None
    if values.dtype == np.float64 and values.flags.c_contiguous:
        flat = values.reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            if np.dot(flat, flat) <= LARGEST**2:
                return None
    # Without a temporary array of the table's size.
    within = np.fmin.reduce(values, axis=None) >= -LARGEST
    if within and np.fmax.reduce(values, axis=None) <= LARGEST:
        return None
    found = np.abs(values) > LARGEST
    return found if found.any() else None


def too_large_in_words(many: int, row: int, column: int) -> str:
    """What is wrong with `many` such values, the first of them at this place, counted from 0."""
    return (
        f"{many} infinite values, or values above {LARGEST:g} in magnitude, whose squares are, the "
        f"first in row {row + 1}, column {column + 1}; divide the column by a constant, or leave "
        "them empty to mark them missing"
    )


def merged_column(given: NDArray[Any]) -> tuple[int, int, int] | None:
    """The first column of whole numbers of which two have the same float64, and two such numbers.

    Parameters
    ----------
    given : (n_samples, n_features) array of whole numbers

    Examples
    --------
    >>> merged_column(np.array([[1, 2**53], [1, 2**53 + 1]]))
    (1, 9007199254740992, 9007199254740993)
    """
    if given.dtype.itemsize < 8:
        return None
    large = (given.max(axis=0) > EXACT) | (given.min(axis=0) < -EXACT)
    for column in np.flatnonzero(large).tolist():
        levels = np.unique(given[:, column])
        same = np.flatnonzero(np.diff(levels.astype(np.float64)) == 0)
        if same.size:
            return column, int(levels[same[0]]), int(levels[same[0] + 1])
    return None


def check_whole(given: NDArray[Any], where: str = "") -> None:
    """Raise DataError if two whole numbers of a column would have the same float64.

    Parameters
    ----------
    given : (n_samples, n_features) array
        Other than whole numbers are not examined.
    where : str
        Which column this is, if there is only one.
    """
    merged = merged_column(given) if given.dtype.kind in "iu" and given.size else None
    if merged is not None:
        column, first, second = merged
        raise DataError(
            f"{where or f'column {column + 1}'} holds whole numbers above 2^53, of which 64-bit "
            f"numbers cannot tell {first} from {second}; leave it out if it is an identifier, give "
            "it as text if it is nominal, or subtract a constant"
        )


_V = TypeVar("_V")


@overload
def freeze(value: None, dtype: Any = None) -> None: ...
@overload
def freeze(value: ArrayLike, dtype: Any = None) -> NDArray[Any]: ...
def freeze(value: Any, dtype: Any = None) -> Any:
    """`value` as a read-only array, or None; the caller's array stays writable."""
    if value is None:
        return None
    # The usual case for thousands of resamples.
    ready = type(value) is np.ndarray and not value.flags.writeable
    if ready and (dtype is None or value.dtype == dtype):
        return value
    array = np.array(value, dtype=dtype, copy=None)
    if array.flags.writeable:
        array = array.view()
        array.setflags(write=False)
    return array


def indices(value: Any) -> Any:
    """Column numbers, frozen; ValueError unless they are integers."""
    kind = value.dtype.kind if isinstance(value, np.ndarray) else np.asarray(value).dtype.kind
    if kind not in "iu" and value is not None and np.size(value):
        # Rounding a column number would silently name another column.
        raise ValueError("column numbers must be whole numbers")
    return freeze(value, np.intp)


def floats(value: Any) -> Any:
    """Numbers as float64, frozen; ValueError for complex ones."""
    given = value if isinstance(value, np.ndarray) else np.asarray(value)
    if given.dtype.kind in "cmM":
        # A cast would keep the real part, with a warning at most.
        raise ValueError(f"numbers must be real, not {given.dtype}")
    return freeze(value, np.float64)


class _ReadOnly(Mapping[str, _V]):
    """Values by name; read-only, and unlike a mapping proxy it can be pickled."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = {str(key): self._frozen(value) for key, value in given.items()}

    @staticmethod
    def _frozen(value: Any) -> Any:
        raise NotImplementedError

    def __getitem__(self, key: str) -> _V:
        return self._given[key]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __repr__(self) -> str:
        return repr(self._given)

    def __reduce__(self) -> tuple[type[_ReadOnly[_V]], tuple[dict[str, Any]]]:
        # Through the constructor, since unpickled arrays are writable.
        return type(self), (self._given,)


class Arrays(_ReadOnly[NDArray[Any]]):
    """Read-only arrays by name."""

    _frozen = staticmethod(freeze)


_NO_ARRAYS = Arrays({})


def arrays(value: Any) -> Mapping[str, NDArray[Any]]:
    """Arrays by name, frozen."""
    if type(value) is Arrays:
        return value
    return Arrays(value) if value else _NO_ARRAYS


class Axes(_ReadOnly[tuple[int, ...]]):
    """Axes of arrays by the array's name."""

    @staticmethod
    def _frozen(value: Any) -> tuple[int, ...]:
        several = value if isinstance(value, (tuple, list)) else (value,)
        return tuple(operator.index(axis) for axis in several)


_NO_AXES = Axes({})
_MOST_AXES = 64  # as many as an array of NumPy may have


def axes_by_name(value: Any) -> Axes:
    """Axes by name, frozen; a single axis may stand without its tuple.

    Raises
    ------
    TypeError
        If an axis is not a whole number.

    Examples
    --------
    >>> axes_by_name({"w": 0, "W": (0, 1), "sigma": ()})
    {'w': (0,), 'W': (0, 1), 'sigma': ()}
    """
    if type(value) is Axes:
        return value
    return Axes(value) if value else _NO_AXES


def are_axes(value: Any, names: Collection[str]) -> bool:
    """Whether a JSON value, which may be untrusted, gives axes of arrays called `names`."""
    return isinstance(value, dict) and all(
        name in names
        and isinstance(several, list)
        and len(several) <= _MOST_AXES
        and all(type(axis) is int and 0 <= axis < _MOST_AXES for axis in several)
        for name, several in value.items()
    )


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
