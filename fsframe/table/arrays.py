"""The arrays of a table, dense or sparse: checked, converted to the stored form and read-only."""

from __future__ import annotations

import numbers
import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, TypeVar, overload

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import DataError
from fsframe.text import counted

LARGEST = 1e150
"""Largest magnitude of a feature or a numeric target.

Differences of such values, and sums of their squares, are finite in float64.
"""

EXACT = 2**53
"""Magnitude up to which every whole number is exact in float64."""


def too_large(values: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Mask, shaped like `values`, of those that are infinite or above `LARGEST` in magnitude.

    None if there are none. NaN is a missing value and never in the mask.

    Notes
    -----
    In tables without missing values, the sum of squares usually decides in one pass.

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
    # Extremes first, which need no temporary array of the table's size.
    within = np.fmin.reduce(values, axis=None) >= -LARGEST
    if within and np.fmax.reduce(values, axis=None) <= LARGEST:
        return None
    mask = np.abs(values) > LARGEST
    return mask if mask.any() else None


def too_large_in_words(many: int, row: int, column: int) -> str:
    """The message about `many` values that are too large; the place of the first counts from 0."""
    return (
        f"{counted(many, 'value')} too large to be squared (above {LARGEST:g} in magnitude, or "
        f"infinite), the first in row {row + 1}, column {column + 1}; divide the column by a "
        "constant, or leave such cells empty to mark them missing"
    )


def check_whole(given: NDArray[Any], where: str = "") -> None:
    """Raise DataError if two whole numbers of a column would have the same float64.

    Parameters
    ----------
    given : (n_samples, n_features) array
        Examined only if its type is an integer.
    where : str
        The column in words, if there is only one.

    Examples
    --------
    >>> check_whole(np.array([[1, 2**53], [1, 2**53 + 1]]))
    Traceback (most recent call last):
    fsframe.errors.DataError: column 2 holds whole numbers above 2^53, of which 64-bit numbers \
cannot tell 9007199254740992 from 9007199254740993; leave it out if it is an identifier, give it \
as text if it is nominal, or subtract a constant
    """
    if given.dtype.kind not in "iu" or given.dtype.itemsize < 8 or not given.size:
        return
    large = (given.max(axis=0) > EXACT) | (given.min(axis=0) < -EXACT)
    for column in np.flatnonzero(large).tolist():
        _check_levels(np.unique(given[:, column]), where or f"column {column + 1}")


def _check_levels(levels: NDArray[Any], where: str) -> None:
    """Raise DataError if two of these whole numbers, in ascending order, have the same float64."""
    same = np.flatnonzero(np.diff(levels.astype(np.float64)) == 0)
    if same.size:
        raise DataError(
            f"{where} holds whole numbers above 2^53, of which 64-bit numbers cannot tell "
            f"{levels[same[0]]} from {levels[same[0] + 1]}; leave it out if it is an identifier, "
            "give it as text if it is nominal, or subtract a constant"
        )


# More digits make no finite float64.
_WHOLE = re.compile(r"[+-]?[0-9]{16,308}")


def check_spelled(texts: Iterable[str], where: str) -> None:
    """Refuse a column in which two whole numbers, as spelled, become the same float64."""
    whole = {int(text) for text in texts if _WHOLE.fullmatch(text)}
    _check_levels(np.array(sorted(whole), dtype=object), where)


def as_whole(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as int64 if all are whole and below `EXACT` in magnitude, else as they are.

    >>> as_whole(np.array([1.0, 3.0])), as_whole(np.array([0.5]))
    (array([1, 3]), array([0.5]))
    """
    whole = values.dtype.kind == "f" and bool(np.all(values == np.round(values)))
    return values.astype(np.int64) if whole and np.abs(values).max(initial=0) < EXACT else values


_V = TypeVar("_V")


@overload
def freeze(value: None, dtype: Any = None) -> None: ...
@overload
def freeze(value: ArrayLike, dtype: Any = None) -> NDArray[Any]: ...
def freeze(value: Any, dtype: Any = None) -> Any:
    """`value` as a read-only array, or None; the caller's array stays writable."""
    if value is None:
        return None
    # The usual case, in thousands of resamples: nothing to do.
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
    kind = value.dtype if isinstance(value, np.ndarray) else np.asarray(value).dtype
    if kind.kind not in "iu" and value is not None and np.size(value):
        # Rounding a column number would silently name another column.
        raise ValueError(
            f"column numbers must be whole numbers, not {kind}"
            + "; numpy.flatnonzero gives those of a mask" * (kind.kind == "b")
        )
    return freeze(value, np.intp)


def are_columns(numbers: NDArray[Any], n: int) -> bool:
    """Whether an array lists different columns of `n` by their numbers, in any order.

    >>> are_columns(np.array([4, 0]), 5), are_columns(np.array([5]), 5), are_columns(np.ones(1), 5)
    (True, False, False)
    """
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        return False
    inside = not numbers.size or (numbers.min() >= 0 and numbers.max() < n)
    return bool(inside and np.unique(numbers).size == numbers.size)


def places_among(numbers: NDArray[np.intp], wanted: NDArray[np.intp]) -> NDArray[np.intp]:
    """The position of each wanted number among distinct others, −1 where it is absent.

    >>> places_among(np.array([7, 2, 5]), np.array([5, 6, 7]))
    array([ 2, -1,  0])
    """
    order = np.argsort(numbers, kind="stable")
    at = np.searchsorted(numbers, wanted, sorter=order)
    known = at < numbers.size
    known[known] = numbers[order[at[known]]] == wanted[known]
    places = np.full(len(wanted), -1)
    places[known] = order[at[known]]
    return places


def floats(value: Any) -> Any:
    """Numbers as float64, frozen; ValueError for complex ones."""
    given = value if isinstance(value, np.ndarray) else np.asarray(value)
    if given.dtype.kind in "cmM":
        # A cast would keep the real part, with a warning at most.
        raise ValueError(f"numbers must be real, not {given.dtype}")
    return freeze(value, np.float64)


def _as_given(value: Any) -> Any:
    return value


class ReadOnly(Mapping[str, _V]):
    """Values by name, each as `frozen` returns it; unlike a mapping proxy it can be pickled."""

    def __init__(self, given: Mapping[str, Any], frozen: Callable[[Any], Any] = _as_given) -> None:
        self.frozen = frozen
        self._given = {str(key): frozen(value) for key, value in given.items()}

    def __getitem__(self, key: str) -> _V:
        return self._given[key]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __repr__(self) -> str:
        return repr(self._given)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, since unpickled arrays are writable.
        return ReadOnly, (self._given, self.frozen)


def _read_only(value: Any, frozen: Callable[[Any], Any]) -> ReadOnly[Any]:
    """Values by name, frozen; the same object if they are already."""
    ready = type(value) is ReadOnly and value.frozen is frozen
    return value if ready else ReadOnly(value or {}, frozen)


def arrays(value: Any) -> Mapping[str, NDArray[Any]]:
    """Arrays by name, frozen."""
    return _read_only(value, freeze)


def _axes(value: Any) -> tuple[int, ...]:
    several = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(operator.index(axis) for axis in several)


_MOST_AXES = 64  # as many as an array of NumPy may have


def axes_by_name(value: Any) -> Mapping[str, tuple[int, ...]]:
    """Axes by name, frozen; a single axis may be given without a tuple.

    Raises
    ------
    TypeError
        If an axis is not a whole number.

    Examples
    --------
    >>> axes_by_name({"w": 0, "W": (0, 1), "sigma": ()})
    {'w': (0,), 'W': (0, 1), 'sigma': ()}
    """
    return _read_only(value, _axes)


def are_axes(value: Any, names: Collection[str]) -> bool:
    """Whether a JSON value, which may be untrusted, maps some of `names` to axes."""
    return isinstance(value, dict) and all(
        name in names
        and isinstance(several, list)
        and len(several) <= _MOST_AXES
        and all(type(axis) is int and 0 <= axis < _MOST_AXES for axis in several)
        for name, several in value.items()
    )


@attrs.frozen(kw_only=True, eq=False)
class SparseColumns:
    """A sparse table, stored by column; a `fsframe.table.dataset.ColumnSource`.

    Parameters
    ----------
    values : (n_stored,) float32, float64, uint8, int8 or another type of whole numbers
        Column after column, without zeros; NaN is a missing value.
    rows : (n_stored,) int
        The row of each value, unique within a column.
    starts : (n_features + 1,) int
        Column j is ``values[starts[j] : starts[j + 1]]``.
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
        """Type of the result of `read`: bytes stay bytes, everything else becomes float64."""
        small = self.values.dtype in (np.uint8, np.int8)
        return self.values.dtype if small else np.dtype(np.float64)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
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
        block = np.zeros((self.n_samples, stop - start), dtype=self.dtype)
        first, last = int(self.starts[start]), int(self.starts[stop])
        column = np.repeat(np.arange(stop - start), np.diff(self.starts[start : stop + 1]))
        block[self.rows[first:last], column] = self.values[first:last]
        return block

    def take(self, columns: NDArray[np.intp]) -> SparseColumns:
        """Only these columns, in this order."""
        return _as_sparse_columns(self._matrix()[:, columns])

    def take_rows(self, rows: NDArray[np.intp]) -> SparseColumns:
        """Only these rows, in this order; a row may occur twice."""
        return _as_sparse_columns(self._matrix()[rows])

    def filled(self, fill: NDArray[np.float64]) -> SparseColumns:
        """A copy with ``fill[j]`` in place of missing values in column j."""
        column = np.repeat(np.arange(self.shape[1]), np.diff(self.starts))
        values = np.where(np.isnan(self.values), fill[column], self.values)
        return _as_sparse_columns(attrs.evolve(self, values=values)._matrix())

    def with_column(self, values: NDArray[Any]) -> SparseColumns:
        """A copy with these values as one more column, the last."""
        from scipy import sparse

        last = sparse.csc_array(np.asarray(values, dtype=self.dtype)[:, None])
        return _as_sparse_columns(sparse.hstack([self._matrix(), last], format="csc"))

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
        If it contains anything but real numbers, or numbers above `LARGEST`.
    """
    if matrix.dtype.kind not in "fiub" or len(matrix.shape) != 2:
        raise DataError(f"the features must be a table of real numbers, not of {matrix.dtype}")
    if 0 in matrix.shape:
        raise DataError(f"a matrix of shape {matrix.shape} holds no table")
    sparse = _as_sparse_columns(matrix)
    wrong = too_large(sparse.values)
    if wrong is not None:
        place = int(np.flatnonzero(wrong)[0])
        column = int(np.searchsorted(sparse.starts, place, side="right")) - 1
        raise DataError(too_large_in_words(int(wrong.sum()), int(sparse.rows[place]), column))
    n, p = sparse.shape
    if 2 * sparse.nbytes <= sparse.dtype.itemsize * n * p:
        return sparse
    return np.ascontiguousarray(sparse.read(0, p))


def _as_sparse_columns(matrix: Any) -> SparseColumns:
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


def column_block(table: Any, start: int, stop: int) -> NDArray[Any]:
    """Columns ``start … stop-1`` of an array or a ColumnSource, (n_samples, stop-start)."""
    block: NDArray[Any] = (
        table[:, start:stop] if isinstance(table, np.ndarray) else table.read(start, stop)
    )
    return block


def infer_task(y: NDArray[Any]) -> str:
    """``"regression"`` for numbers of which at least one is not whole, else ``"classification"``.

    >>> infer_task(np.array([0, 1, 1])), infer_task(np.array([0.5, 1.0]))
    ('classification', 'regression')
    """
    if y.dtype.kind == "f" and not np.all(y == np.round(y)):
        return "regression"
    return "classification"


MANY_CLASSES = 20
"""A label with more different numbers than this is unlikely to hold classes."""


def check_numbers_as_classes(
    classes: NDArray[Any], counts: NDArray[np.integer], name: str
) -> list[str]:
    """Warnings about a label of numbers that are taken as classes without having been declared.

    Parameters
    ----------
    classes : (n_classes,) array
        The different values of the label.
    counts : (n_classes,) int
        How many rows have each value.
    name : str
        Name of the label, for messages.

    Raises
    ------
    DataError
        If there are more than `MANY_CLASSES` numbers, one of them in a single row.

    >>> check_numbers_as_classes(np.arange(21), np.full(21, 2), "age")
    ["label 'age' has 21 different numbers, taken as classes; if it is a number to predict, say \
so (task='regression')"]
    """
    if classes.dtype.kind not in "iuf" or len(classes) <= MANY_CLASSES:
        return []
    said = f"label {name!r} has {len(classes)} different numbers"
    single = int((counts == 1).sum())
    if single:
        raise DataError(
            f"{said}, {single} of them once: say whether it is a number to predict "
            "(task='regression') or holds classes (task='classification')"
        )
    return [f"{said}, taken as classes; if it is a number to predict, say so (task='regression')"]


def unmasked(given: Any) -> Any:
    """A masked array of numbers with NaN for those it hides; anything else as it is.

    >>> unmasked(np.ma.masked_greater([[1, 9], [2, 3]], 8))
    array([[ 1., nan],
           [ 2.,  3.]])
    """
    if not isinstance(given, np.ma.MaskedArray) or given.dtype.kind not in "fiub":
        return given
    return (
        np.where(np.ma.getmaskarray(given), np.nan, given.data) if given.mask.any() else given.data
    )


def without_codes(X: NDArray[Any], codes: Sequence[float]) -> NDArray[Any]:
    """`X` with NaN in place of the codes of missing values; `X` itself if it holds none."""
    coded = np.isin(X, codes) if codes else None
    return X if coded is None or not coded.any() else np.where(coded, np.nan, X)


def _what_is_no_number(X: Any) -> str:
    """The first cell that is not a number, in words, with advice; empty if there is none."""
    try:
        cells = np.asarray(X, dtype=object)
    except ValueError:
        return "its rows differ in length"
    for place, cell in np.ndenumerate(cells):
        try:
            float(cell)
        except (TypeError, ValueError):
            if len(place) < 2 or isinstance(cell, (list, tuple)):
                return "its rows differ in length"
            where = f"row {place[0] + 1} of column {place[1] + 1} holds {cell!r}"
            if isinstance(cell, (str, date)):
                where += "; give a data frame, whose columns of text and dates are read, or numbers"
            return where
    return ""


def as_matrix(X: ArrayLike) -> NDArray[Any] | SparseColumns:
    """The features in the form a table stores them, read-only; copied only if necessary.

    (n_samples, n_features) float64 in C order, NaN where missing. Arrays of bytes (uint8, int8)
    stay bytes, and scipy's sparse ones stay sparse if that saves half of the memory. DataError if
    `X` is empty or not two-dimensional, holds anything but NaN and real numbers up to `LARGEST`, or
    two whole numbers of a column would become equal.
    """
    if is_sparse(X):
        table = as_table(X)
        return freeze(table) if isinstance(table, np.ndarray) else table
    X = unmasked(X)
    try:
        given = np.asarray(X)
        if given.dtype.kind in "cmM":
            raise TypeError(f"values of {given.dtype} are not real numbers")
        kept = given.dtype if given.dtype in (np.uint8, np.int8) else np.float64
        matrix = np.array(given, dtype=kept, order="C", copy=None)
    except (TypeError, ValueError) as error:
        where = _what_is_no_number(X) or str(error)
        raise DataError(f"the features must be a table of numbers: {where}") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError(
            f"the features must be a table of samples × features, not of shape {matrix.shape}"
        )
    if matrix.dtype.kind != "f":
        return freeze(matrix)
    check_whole(given)
    wrong = too_large(matrix)
    if wrong is not None:
        raise DataError(too_large_in_words(int(wrong.sum()), *np.argwhere(wrong)[0].tolist()))
    return freeze(matrix)


def as_mask(given: Any, n_features: int, what: str = "categorical columns") -> NDArray[np.bool_]:
    """A read-only mask (n_features,) of columns given by number or as a mask; None selects none.

    DataError, which calls the columns `what`, if `given` is neither, or a column does not exist.
    """
    mask = np.zeros(n_features, dtype=bool)
    if given is not None and np.size(given):
        columns = np.asarray(given)
        if columns.dtype == bool and columns.shape != (n_features,):
            raise DataError(f"the mask of {what} has shape {columns.shape}, not ({n_features},)")
        if columns.dtype.kind not in "bui":
            raise DataError(f"{what} are given by number or mask, not {given!r}")
        if columns.dtype != bool and not (0 <= columns.min() <= columns.max() < n_features):
            raise DataError(f"{what} {columns.tolist()} are not all in 0 … {n_features - 1}")
        mask[columns] = True
    return freeze(mask)


def as_counts(given: Any, shape: tuple[int, ...]) -> NDArray[np.integer[Any]]:
    """How often each row is drawn, in one resample or in each of several, as integers.

    `given` holds whole numbers, (n_samples,) or (n_resamples, n_samples), and is returned as it is
    if its type is an integer. DataError if a number is negative or fractional, the shape differs,
    or a resample draws no row at all.
    """
    counts = np.asarray(given)
    if counts.dtype.kind not in "iu":
        if not np.array_equal(counts, np.round(counts)):
            raise DataError("counts must be whole numbers: how often each row was drawn")
        counts = counts.astype(np.int64)
    below_zero = counts.dtype.kind == "i" and counts.min(initial=0) < 0
    if counts.shape != shape or below_zero or not (counts.max(axis=-1) > 0).all():
        raise DataError(f"counts must be {shape[-1]} numbers ≥ 0, not all zero, one per row")
    return counts


def as_names(given: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    """One unique name per column; ``f1, f2, …`` by default. DataError if they do not fit."""
    if given is None:
        return _numbered(n_features)
    names = tuple(str(name) for name in given)
    if len(names) != n_features:
        raise DataError(f"{len(names)} feature names for {n_features} features")
    if len(set(names)) != len(names):
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        raise DataError(f"feature names must differ; given more than once: {', '.join(twice[:5])}")
    check_text(names, "the feature name")
    return names


def check_text(texts: Sequence[str], what: str, renamed: str = "it") -> None:
    """Raise DataError naming the first text with an unpaired surrogate: files cannot hold it."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        wrong = next(text for text in texts if any("\ud800" <= sign <= "\udfff" for sign in text))
        raise DataError(
            f"{what} {wrong[:30]!r} holds an unpaired surrogate character; rename {renamed}"
        ) from None


@lru_cache(maxsize=8)
def _numbered(n_features: int) -> tuple[str, ...]:
    """Default names of columns: f1, f2, …"""
    return tuple(f"f{i + 1}" for i in range(n_features))


def _plain_labels(labels: NDArray[Any], label_name: str) -> NDArray[Any]:
    """Labels of Python objects as numbers if all are numbers, else as text."""
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return labels
    listed = labels.tolist()
    for row, label in enumerate(listed, start=1):
        # NaN is the one value that differs from itself.
        if label is None or label != label:
            raise DataError(f"label {label_name!r} is missing in row {row}; leave such rows out")
    if all(isinstance(label, numbers.Real) for label in listed):
        return np.array(listed)
    return text_array([str(label) for label in listed])


_LONG = 200


def text_array(texts: Sequence[str]) -> NDArray[Any]:
    """Texts as an array of NumPy's text type, or of objects if one is long.

    In the former every text takes the space of the longest.
    """
    long = max(map(len, texts), default=0) > _LONG
    return np.array(texts, dtype=object if long else None)


def unlabelled_left_out(rows: int) -> str:
    """The warning about rows without a label that were left out."""
    return f"{counted(rows, 'row')} without a label left out (--missing-label drop)"


def as_labels(
    y: ArrayLike, n_samples: int, label_name: str, task: str | None
) -> tuple[NDArray[Any], tuple[Any, ...], str]:
    """The label in the form a table stores it, its classes, and the task.

    Parameters
    ----------
    y : array_like of shape (n_samples,)
        Classes (numbers or text), or a numeric target.
    task : str or None
        ``"survival"`` is for signed times (`fsframe.table.side_columns`); None means the one that
        the values suggest (`infer_task`).

    Returns
    -------
    y : read-only array of shape (n_samples,)
        int64 codes 0 … n_classes - 1, or the target as float64.
    classes : tuple
        The labels of the codes, in ascending order; empty for a target.
    task : str

    Raises
    ------
    DataError
        If a label is missing or infinite, the shape is wrong, there is only one class, or the task
        is unknown or does not fit the values.
    """
    labels = _plain_labels(np.asarray(unmasked(y)), label_name)
    if labels.shape != (n_samples,):
        way = ""
        if labels.ndim == 2:
            flat = labels.shape[1] == 1
            way = "; give y.ravel()" if flat else "; give one class or number for each row"
        raise DataError(
            f"label {label_name!r} has shape {labels.shape}, the table {n_samples} rows{way}"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise DataError(
            f"label {label_name!r} is missing or infinite in row {row + 1}; leave such rows out"
        )
    kind = infer_task(labels) if task is None else task
    if kind in ("regression", "survival"):
        if labels.dtype.kind not in "fiub":
            raise DataError(f"label {label_name!r} holds text; {kind} needs numbers")
        large = np.flatnonzero(np.abs(labels.astype(np.float64)) > LARGEST)
        if large.size:
            raise DataError(
                f"label {label_name!r} is {labels[large[0]]:g} in row {large[0] + 1}, and the "
                f"square of a number above {LARGEST:g} is infinite; divide the label by a constant"
            )
        return freeze(labels.astype(np.float64)), (), kind
    if kind != "classification":
        raise DataError(f"task must be classification or regression, not {kind!r}")
    values, codes = np.unique(labels, return_inverse=True)
    if len(values) < 2:
        raise DataError(
            f"label {label_name!r} has one class only ({values[0]!s}); selection needs at least two"
        )
    if values.dtype.kind in "UO":
        check_text(values.tolist(), f"the class of {label_name!r}")
    elif values.dtype.kind == "f":
        # Whole numbers from 2^63 on do not fit into int64.
        whole = np.all(values == np.round(values)) and np.abs(values).max() < 2.0**63
        values = values.astype(np.int64) if whole else values
    return freeze(codes, np.int64), tuple(values.tolist()), kind


def as_groups(groups: ArrayLike, n_samples: int, group_name: str) -> NDArray[np.int64]:
    """Groups of rows, numbers or text, as codes 0 … n_groups - 1 in the order of sorted names.

    DataError if one is missing, the shape is wrong, or there is a single group.

    >>> as_groups(["Ann", "Bob", "Ann"], 3, "person").tolist()
    [0, 1, 0]
    """
    given = np.asarray(groups)
    if given.shape != (n_samples,):
        raise DataError(
            f"groups {group_name!r} have shape {given.shape}, the table {n_samples} rows"
        )
    if given.dtype.kind == "O":
        for row, value in enumerate(given.tolist(), start=1):
            if value is None or value != value or value == "":
                raise DataError(f"group {group_name!r} is missing in row {row}; name one for each")
        given = np.array([str(value) for value in given.tolist()])
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given))[0])
        raise DataError(
            f"group {group_name!r} is missing or infinite in row {row + 1}; name one for every row"
        )
    names, codes = np.unique(given, return_inverse=True)
    if len(names) < 2:
        raise DataError(
            f"{group_name!r} has one value only, {names[0]!s}: a single group cannot be split; "
            "leave the groups out, or name another column"
        )
    return freeze(codes, np.int64)


def kept_columns(given: Any, n_features: int) -> NDArray[np.bool_] | None:
    """The mask of columns that every stage keeps; None if there are none, DataError if all are."""
    if given is None or not np.size(given):
        return None
    mask = as_mask(given, n_features, "columns to keep")
    if not mask.any():
        return None
    if mask.all():
        raise DataError("all columns are always kept: there is nothing left to select")
    return mask


def whole_weights(given: Any, n_samples: int, name: str) -> NDArray[np.int64]:
    """Weights of rows as counts.

    DataError if they are not one whole number ≥ 0 for each row, or all zero, or add up to 2³¹ or
    more.
    """
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"weights {name!r} are not numbers") from None
    if weights.shape != (n_samples,):
        raise DataError(f"weights {name!r} have shape {weights.shape}, not ({n_samples},)")
    wrong = np.flatnonzero(
        ~(np.isfinite(weights) & (weights >= 0) & (weights == np.floor(weights)))
    )
    if len(wrong):
        raise DataError(
            f"weights {name!r} must be whole numbers ≥ 0, the number of rows that each row stands "
            f"for; row {wrong[0] + 1} has {weights[wrong[0]]:g}. Scale fractions to counts"
        )
    if not 0 < weights.sum() < 2**31:
        raise DataError(f"weights {name!r} add up to {weights.sum():g}; they must be from 1 to 2³¹")
    return freeze(weights.astype(np.int64))
