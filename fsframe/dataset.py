"""The table a chain runs on: features, label, names; frozen, and identified by its SHA-256."""

from __future__ import annotations

import hashlib
import json
import numbers
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import DataError

__all__ = ["ColumnSource", "Dataset", "infer_task"]


class ColumnSource(Protocol):
    """A table that is read by columns, such as one on disk that does not fit in memory.

    `read(start, stop)` returns columns ``start … stop-1`` as (n_samples, stop-start).
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def read(self, start: int, stop: int) -> NDArray[Any]: ...


def infer_task(y: NDArray[Any]) -> str:
    """``"regression"`` for numbers of which at least one is not whole, else ``"classification"``.

    >>> infer_task(np.array([0, 1, 1])), infer_task(np.array([0.5, 1.0]))
    ('classification', 'regression')
    """
    if y.dtype.kind == "f" and not np.all(y == np.round(y)):
        return "regression"
    return "classification"


@attrs.frozen(kw_only=True, eq=False)
class Dataset:
    """A table of features with a label.

    Make one with `Dataset.from_arrays` or `fsframe.read`.

    Parameters
    ----------
    matrix : (n_samples, n_features) float64, C order, or a ColumnSource
        The features; NaN is a missing value.
    y : (n_samples,) int64 or float64
        Class codes ``0 … n_classes-1`` (position in `classes`), or the target when `task` is
        ``"regression"``.
    classes : tuple
        The labels behind the codes, sorted; empty for regression.
    feature_names : tuple of str
        Unique, one per column.
    categorical : (n_features,) bool
        Columns whose numbers are names of categories.
    counts : (n_samples,) int64, optional
        How often a bootstrap drew each row; zero leaves it out. None is once each.
    name, label_name, task : str
        What to call the table and its label; ``"classification"`` or ``"regression"``.
    warnings : tuple of str
        What reading had to say about the data.
    """

    matrix: Any = attrs.field(repr=False)
    y: NDArray[Any] = attrs.field(repr=False)
    classes: tuple[Any, ...]
    feature_names: tuple[str, ...] = attrs.field(repr=False)
    categorical: NDArray[np.bool_] = attrs.field(repr=False)
    name: str = "data"
    label_name: str = "class"
    task: str = "classification"
    counts: NDArray[np.int64] | None = attrs.field(default=None, repr=False)
    warnings: tuple[str, ...] = attrs.field(default=(), repr=False)

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike | ColumnSource,
        y: ArrayLike,
        feature_names: Sequence[str] | None = None,
        *,
        categorical: Sequence[int] | Sequence[bool] | NDArray[Any] | None = None,
        name: str = "data",
        label_name: str = "class",
        task: str | None = None,
        warnings: Sequence[str] = (),
    ) -> Dataset:
        """A Dataset from arrays, checked.

        Parameters
        ----------
        X : (n_samples, n_features) numbers, or a ColumnSource
            NaN is a missing value; infinite values are refused.
        y : (n_samples,)
            Labels of any sortable kind, or a numeric target.
        feature_names : sequence of str, optional
            ``f1, f2, …`` by default.
        categorical : (n_features,) bool or column indices, optional
            Columns whose numbers are names of categories; none by default.
        task : {"classification", "regression"}, optional
            By default regression if `y` holds numbers that are not whole, else classification.

        Returns
        -------
        Dataset

        Raises
        ------
        DataError
            If shapes disagree, names repeat, values are infinite or not numbers, a label is
            missing, or there are fewer than two classes.

        Examples
        --------
        >>> data = Dataset.from_arrays([[1.0, 0.0], [0.0, 1.0]], ["ill", "well"])
        >>> data.n_samples, data.classes, data.feature_names
        (2, ('ill', 'well'), ('f1', 'f2'))
        """
        matrix: Any = X if hasattr(X, "read") else _matrix(X)  # type: ignore[arg-type]
        n_samples, n_features = matrix.shape
        names = _names(feature_names, n_features)
        codes, classes, kind = _labels(y, n_samples, label_name, task)
        mask = _categorical(categorical, n_features)
        return cls(
            matrix=matrix,
            y=codes,
            classes=classes,
            feature_names=names,
            categorical=mask,
            name=name,
            label_name=label_name,
            task=kind,
            warnings=tuple(warnings),
        )

    @property
    def n_samples(self) -> int:
        """Number of rows, those with count zero included."""
        return int(self.matrix.shape[0])

    @property
    def n_features(self) -> int:
        """Number of feature columns."""
        return int(self.matrix.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regression."""
        return len(self.classes)

    @property
    def in_memory(self) -> bool:
        """Whether the table is an array, not a file read by columns."""
        return isinstance(self.matrix, np.ndarray)

    @cached_property
    def X(self) -> NDArray[np.float64]:
        """The features as one (n_samples, n_features) float64 array; a file is read whole."""
        if self.in_memory:
            return self.matrix  # type: ignore[no-any-return]
        loaded = np.ascontiguousarray(self.matrix.read(0, self.n_features), dtype=np.float64)
        loaded.setflags(write=False)
        return loaded

    def columns(self, start: int, stop: int) -> NDArray[Any]:
        """Columns ``start … stop-1`` as (n_samples, stop-start), in the dtype they are kept in."""
        if self.in_memory:
            return self.matrix[:, start:stop]  # type: ignore[no-any-return]
        return self.matrix.read(start, stop)  # type: ignore[no-any-return]

    def column_blocks(self, max_bytes: int = 1 << 24) -> Iterator[tuple[int, int]]:
        """Bounds (start, stop) of column blocks of at most `max_bytes` as float64, in order."""
        width = max(1, max_bytes // max(1, 8 * self.n_samples))
        for start in range(0, self.n_features, width):
            yield start, min(start + width, self.n_features)

    @cached_property
    def sha256(self) -> str:
        """Hex digest of values, labels and names: equal data in any file format, equal digest.

        Columns are hashed in order as little-endian float64, so that a table on disk need not be
        held in memory. Counts and `name` do not enter.
        """
        digest = hashlib.sha256()
        header = {
            "shape": [self.n_samples, self.n_features],
            "features": list(self.feature_names),
            "classes": [str(label) for label in self.classes],
            "task": self.task,
            "categorical": np.flatnonzero(self.categorical).tolist(),
        }
        digest.update(json.dumps(header, sort_keys=True).encode())
        digest.update(np.ascontiguousarray(self.y).astype(self.y.dtype.newbyteorder("<")).tobytes())
        for start, stop in self.column_blocks():
            digest.update(np.ascontiguousarray(self.columns(start, stop).T, dtype="<f8").tobytes())
        return digest.hexdigest()

    def take_columns(self, columns: NDArray[np.intp]) -> Dataset:
        """The same rows with only these columns, in this order."""
        columns = np.asarray(columns, dtype=np.intp)
        if len(columns) == self.n_features and np.array_equal(columns, np.arange(self.n_features)):
            return self
        if self.in_memory:
            matrix = np.ascontiguousarray(self.matrix[:, columns])
        else:
            matrix = np.empty((self.n_samples, len(columns)))
            for position, column in enumerate(columns):
                matrix[:, position] = self.matrix.read(column, column + 1)[:, 0]
        matrix.setflags(write=False)
        return attrs.evolve(
            self,
            matrix=matrix,
            feature_names=tuple(self.feature_names[c] for c in columns),
            categorical=self.categorical[columns],
        )

    def take_rows(self, rows: NDArray[np.intp]) -> Dataset:
        """Only these rows, in this order; the classes stay, even those that lose all members."""
        matrix = np.ascontiguousarray(self.X[rows])
        matrix.setflags(write=False)
        counts = None if self.counts is None else self.counts[rows]
        return attrs.evolve(self, matrix=matrix, y=self.y[rows], counts=counts)

    def with_counts(self, counts: NDArray[np.integer[Any]] | None) -> Dataset:
        """The same table as a bootstrap that drew row i `counts[i]` times.

        Raises
        ------
        DataError
            If the counts are negative, all zero, or not one per row.
        """
        if counts is None:
            return attrs.evolve(self, counts=None)
        given = np.asarray(counts)
        if given.dtype.kind not in "iu" and not np.array_equal(given, np.round(given)):
            raise DataError("counts must be whole numbers: how often each row was drawn")
        taken = given.astype(np.int64)
        if taken.shape != (self.n_samples,) or taken.min() < 0 or not taken.any():
            raise DataError(
                f"counts must be {self.n_samples} numbers ≥ 0, not all zero, one per row"
            )
        return attrs.evolve(self, counts=taken)

    def with_labels(self, y: NDArray[Any]) -> Dataset:
        """The same table with other codes (a permutation of the label, for a null distribution)."""
        return attrs.evolve(self, y=np.asarray(y, dtype=self.y.dtype))

    def class_sizes(self) -> NDArray[np.int64]:
        """Rows per class, counts included, as (n_classes,)."""
        weights = None if self.counts is None else self.counts
        sizes = np.bincount(self.y, weights=weights, minlength=self.n_classes)
        return np.round(sizes).astype(np.int64)


def _matrix(X: ArrayLike) -> NDArray[np.float64]:
    try:
        if np.asarray(X).dtype.kind in "cmM":
            raise TypeError(f"values of {np.asarray(X).dtype} are no real numbers")
        matrix = np.array(X, dtype=np.float64, order="C", copy=None)
    except (TypeError, ValueError) as error:
        raise DataError(f"the features must be a table of numbers: {error}") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError(
            f"the features must be a table of samples × features, not of shape {matrix.shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum has no infinite terms, and takes half the time of looking at each.
        infinite = np.isinf(matrix) if not np.isfinite(matrix.sum()) else None
    if infinite is not None and infinite.any():
        row, column = np.argwhere(infinite)[0]
        raise DataError(
            f"{int(infinite.sum())} infinite values, the first in row {row + 1}, column "
            f"{column + 1}; replace them, or leave them empty to mark them missing"
        )
    if matrix.flags.writeable:
        # A view: the caller's own array stays writable, ours is frozen.
        matrix = matrix.view()
        matrix.setflags(write=False)
    return matrix


def _categorical(given: Any, n_features: int) -> NDArray[np.bool_]:
    """The columns meant, as (n_features,) bool; `given` is such a mask, or column numbers."""
    mask = np.zeros(n_features, dtype=bool)
    if given is not None and np.size(given):
        columns = np.asarray(given)
        if columns.dtype == bool and columns.shape != (n_features,):
            raise DataError(
                f"the mask of categorical columns has shape {columns.shape}, not ({n_features},)"
            )
        if columns.dtype.kind not in "bui":
            raise DataError(f"categorical columns are given by number or mask, not {given!r}")
        if columns.dtype != bool and not (0 <= columns.min() <= columns.max() < n_features):
            raise DataError(
                f"categorical columns {columns.tolist()} are not all in 0 … {n_features - 1}"
            )
        mask[columns] = True
    mask.setflags(write=False)
    return mask


def _names(given: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    if given is None:
        return _numbered(n_features)
    names = tuple(str(name) for name in given)
    if len(names) != n_features:
        raise DataError(f"{len(names)} feature names for {n_features} features")
    if len(set(names)) != len(names):
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        raise DataError(f"feature names must differ; given more than once: {', '.join(twice[:5])}")
    return names


@lru_cache(maxsize=8)
def _numbered(n_features: int) -> tuple[str, ...]:
    """The names of columns without names."""
    return tuple(f"f{i + 1}" for i in range(n_features))


def _plain_labels(labels: NDArray[Any], label_name: str) -> NDArray[Any]:
    """Labels of Python objects as numbers where all are numbers, else as text."""
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return labels
    found = labels.tolist()
    for row, label in enumerate(found, start=1):
        # NaN is the one value that differs from itself.
        if label is None or label != label:
            raise DataError(f"label {label_name!r} is missing in row {row}")
    if all(isinstance(label, numbers.Real) for label in found):
        return np.array(found)
    return np.array([str(label) for label in found])


def _labels(
    y: ArrayLike, n_samples: int, label_name: str, task: str | None
) -> tuple[NDArray[Any], tuple[Any, ...], str]:
    labels = _plain_labels(np.asarray(y), label_name)
    if labels.shape != (n_samples,):
        raise DataError(
            f"label {label_name!r} has shape {labels.shape}, the table {n_samples} rows"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise DataError(f"label {label_name!r} is missing or infinite in row {row + 1}")
    kind = infer_task(labels) if task is None else task
    if kind == "regression":
        if labels.dtype.kind not in "fiub":
            raise DataError(f"label {label_name!r} holds text; regression needs numbers")
        target = labels.astype(np.float64)
        target.setflags(write=False)
        return target, (), kind
    if kind != "classification":
        raise DataError(f"task must be classification or regression, not {kind!r}")
    values, codes = np.unique(labels, return_inverse=True)
    if len(values) < 2:
        raise DataError(
            f"label {label_name!r} has one class only ({values[0]!s}); selection needs at least two"
        )
    if values.dtype.kind == "f":
        # From 2^63 on a whole number has no place among the integers, and stays what it is.
        whole = np.all(values == np.round(values)) and np.abs(values).max() < 2.0**63
        values = values.astype(np.int64) if whole else values
    codes = codes.astype(np.int64)
    codes.setflags(write=False)
    return codes, tuple(values.tolist()), kind
