"""Fields of a dataset and their derived values: facts, columns, rows, SHA-256."""

from __future__ import annotations

import hashlib
import json
import threading
import weakref
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.kernels import read_ahead
from fsframe.table.arrays import SparseColumns, as_counts, column_block, freeze
from fsframe.table.column_kinds import ColumnKind
from fsframe.table.roles import ROLES, side_roles
from fsframe.table.side_columns import SideColumns, time_blocks, times_and_events, times_of_groups
from fsframe.table.spelling.text_file import shown
from fsframe.text import html_block, html_table, listed, printable

if TYPE_CHECKING:
    # Compiles code that only tables in parts need.
    from fsframe.table.columns_seen import ColumnsSeen

_SHOWN_FEATURES = 20
_BYTES = (np.dtype(np.uint8), np.dtype(np.int8))

# The float64 form of arrays of bytes and of sparse tables, by identity, while these are in use:
# bootstraps and permuted labels share the array of their table, so that it is converted once.
_wide: dict[int, tuple[weakref.ref[Any], NDArray[np.float64]]] = {}
_lock = threading.Lock()


def _by_name(groups: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """Groups in the order of their names, as run files store them: their codes identify a table.

    The same object, if it has that order: workers recognise columns that they have by it.
    """
    names = sorted(groups)
    return groups if list(groups) == names else {name: groups[name] for name in names}


def _widened(matrix: Any) -> NDArray[np.float64]:
    key = id(matrix)
    with _lock:
        if key not in _wide:
            whole = column_block(matrix, 0, matrix.shape[1])
            loaded = freeze(np.ascontiguousarray(whole, dtype=np.float64))
            # Without the lock, since the array may be collected while this thread holds it.
            _wide[key] = weakref.ref(matrix, lambda _: _wide.pop(key, None)), loaded
        return _wide[key][1]


class ColumnSource(Protocol):
    """A table that is read by columns: one in parts, or in memory in a form of its own.

    `read(start, stop)` returns columns ``start … stop-1`` as (n_samples, stop-start); `take`
    selects columns. One in memory has `nbytes`, and `take_rows`, which selects rows.
    """

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...

    def read(self, start: int, stop: int) -> NDArray[Any]: ...
    def take(self, columns: NDArray[np.intp]) -> ColumnSource: ...


class RowSource(ColumnSource, Protocol):
    """A table in parts, which can also be read in blocks of rows.

    `blocks(rows)` yields all rows in order, at most `rows` at a time. One pass gives `facts`, the
    column statistics, and `rows_sha256`, a digest of the values row by row. `cache_folder` is for
    data derived from the table, and `most_bytes` is the largest size as float64 that may be loaded.
    `afresh` is the table without anything that an earlier run stored.
    """

    @property
    def facts(self) -> ColumnsSeen: ...
    @property
    def rows_sha256(self) -> str: ...
    @property
    def cache_folder(self) -> Path: ...
    @property
    def most_bytes(self) -> int: ...

    def blocks(self, rows: int | None = None) -> Iterator[NDArray[Any]]: ...
    def take(self, columns: NDArray[np.intp]) -> RowSource: ...
    def afresh(self) -> RowSource: ...


@attrs.frozen(kw_only=True, eq=False, repr=False)
class FrozenTable:
    """The fields of a `Dataset` (documented there), and values derived from them."""

    matrix: Any = attrs.field(repr=False)
    y: NDArray[Any] = attrs.field(repr=False)
    classes: tuple[Any, ...]
    feature_names: tuple[str, ...] = attrs.field(repr=False)
    categorical: NDArray[np.bool_] = attrs.field(repr=False)
    name: str = "data"
    label_name: str = "class"
    task: str = "classification"
    counts: NDArray[np.int64] | None = attrs.field(default=None, repr=False)
    groups: NDArray[np.int64] | None = attrs.field(default=None, repr=False)
    group_name: str = ""
    weight_name: str = ""
    warnings: tuple[str, ...] = attrs.field(default=(), repr=False)
    reading: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    kinds: Mapping[str, ColumnKind] = attrs.field(factory=dict, repr=False)
    keep: NDArray[np.bool_] | None = attrs.field(default=None, repr=False)
    feature_groups: Mapping[str, tuple[str, ...]] = attrs.field(
        factory=dict, repr=False, converter=_by_name
    )
    times: SideColumns | None = attrs.field(default=None, repr=False)
    covariates: SideColumns | None = attrs.field(default=None, repr=False)
    sides: Mapping[str, SideColumns] = attrs.field(factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"<Dataset {self.name!r}: {'; '.join(self._facts())}>"

    def _repr_html_(self) -> str:
        shown = min(self.n_features, _SHOWN_FEATURES)
        facts = self._facts()
        if shown < self.n_features:
            facts.append(f"the first {shown} features:")
        rows = [[name, self.kind_of(k)] for k, name in enumerate(self.feature_names[:shown])]
        return html_block(f"Dataset {self.name}", facts, html_table(["feature", "kind"], rows))

    def _facts(self) -> list[str]:
        """Shape, data type, label and groups, one phrase each."""
        where = ", in parts" if self.in_parts else ""
        if isinstance(self.matrix, SparseColumns):
            filled = len(self.matrix.values) / (self.n_samples * self.n_features)
            where = f", sparse: {100 * filled:.3g} % are not zero"
        facts = [
            f"{self.n_samples} samples × {self.n_features} features ({self.matrix.dtype}{where})"
        ]
        kinds = self.kinds_in_words()
        if kinds:
            facts[0] += f", {kinds}"
        if self.task == "classification":
            sizes = self.class_sizes()
            shown = [f"{c} {n}" for c, n in zip(self.classes, sizes, strict=True)]
            facts.append(f"label {printable(self.label_name)}: {listed(shown)}")
        elif self.task == "survival":
            times, events = times_and_events(self.y)
            facts.append(
                f"time {printable(self.label_name)}: {times.min():.6g} to {times.max():.6g}"
            )
            facts.append(f"{int(events.sum())} of {self.n_samples} events seen")
        else:
            low, high = np.nanmin(self.y), np.nanmax(self.y)
            facts.append(f"target {printable(self.label_name)}: {low:.6g} to {high:.6g}")
        if self.groups is not None:
            facts.append(f"{self.n_groups} groups ({printable(self.group_name)})")
        if (self.feature_sets >= 0).any():
            many = np.unique(self.feature_sets[self.feature_sets >= 0]).size
            facts.append(f"{many} group{'s' * (many > 1)} of features")
        for role, columns in self.side_columns().items():
            facts.append(ROLES[role].fact.format(", ".join(map(printable, columns.names))))
        if self.keep is not None:
            facts.append(f"{int(self.keep.sum())} columns always kept")
        if self.weight_name and self.counts is not None:
            total = int(self.counts.sum())
            facts.append(f"weights {printable(self.weight_name)}: {total} rows in all")
        elif self.weight_name:
            facts.append(f"each as often as {printable(self.weight_name)} says")
        elif self.counts is not None:
            facts.append(f"a resample of {int(self.counts.sum())} rows")
        return facts

    def side_columns(self) -> dict[str, SideColumns]:
        """The columns of side roles, by role: time, covariates (``adjust``), and further ones."""
        held = {"time": self.times, "adjust": self.covariates, **self.sides}
        every = {role.name: held.get(role.name) for role in side_roles()}
        return {name: columns for name, columns in every.items() if columns is not None}

    def kind_of(self, column: int) -> str:
        """The kind of a column: numeric, nominal, ordinal, boolean, date or indicator."""
        if self.categorical[column]:
            return "nominal"
        kind = self.kinds.get(self.feature_names[column])
        return "numeric" if kind is None else kind.kind

    @cached_property
    def ordinal(self) -> NDArray[np.bool_]:
        """Mask of ordinal columns, whose values are ranks, (n_features,)."""
        named = {name for name, kind in self.kinds.items() if kind.kind == "ordinal"}
        if not named:
            return np.zeros(self.n_features, dtype=bool)
        return np.array([name in named for name in self.feature_names], dtype=bool)

    @cached_property
    def feature_sets(self) -> NDArray[np.int64]:
        """The group of each feature, as codes (n_features,); −1 for none."""
        if not self.feature_groups:
            return np.full(self.n_features, -1)
        place = {name: k for k, members in enumerate(self.feature_groups.values())
                 for name in members}  # fmt: skip
        return np.array([place.get(name, -1) for name in self.feature_names], dtype=np.int64)

    @cached_property
    def together(self) -> NDArray[np.int64] | None:
        """Rows that a resample draws or leaves out together, as codes (n_samples,).

        These are groups, or blocks of time, which contain whole groups; None without either.
        """
        return self.groups if self.when is None else time_blocks(self.when)

    @cached_property
    def when(self) -> NDArray[np.float64] | None:
        """The times that rows are ordered by, (n_samples,); None if there are none.

        Groups that overlap in time all have the time at which the first of them began
        (`times_of_groups`), so that no cut between two times splits a group.
        """
        if self.times is None:
            return None
        times = self.times.values[:, 0]
        return times if self.groups is None else times_of_groups(times, self.groups)

    def kinds_in_words(self) -> str:
        """Number of columns of each kind other than numeric: ``2 nominal, 1 ordinal``."""
        many = {"nominal": int(np.count_nonzero(self.categorical))}
        if self.kinds:
            for name, nominal in zip(self.feature_names, self.categorical, strict=True):
                kind = None if nominal else self.kinds.get(name)
                if kind is not None:
                    many[kind.kind] = many.get(kind.kind, 0) + 1
        return ", ".join(f"{number} {kind}" for kind, number in many.items() if number)

    @property
    def n_samples(self) -> int:
        """Number of rows, including those with count zero."""
        return int(self.matrix.shape[0])

    @property
    def row_counts(self) -> NDArray[np.int64]:
        """How often each row counts, (n_samples,): `counts`, or ones."""
        return np.ones(self.n_samples, dtype=np.int64) if self.counts is None else self.counts

    @property
    def counted_rows(self) -> NDArray[np.intp]:
        """The numbers of the rows, ascending, each as often as it counts."""
        return np.repeat(np.arange(self.n_samples), self.row_counts)

    @property
    def n_features(self) -> int:
        """Number of feature columns."""
        return int(self.matrix.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regression."""
        return len(self.classes)

    @cached_property
    def n_groups(self) -> int:
        """Number of groups of rows that are kept together; 0 if none were named."""
        return 0 if self.groups is None else int(np.unique(self.groups).size)

    @property
    def in_memory(self) -> bool:
        """Whether the table is a dense array: neither sparse, packed, nor in parts."""
        return isinstance(self.matrix, np.ndarray)

    @property
    def nbytes(self) -> int:
        """Memory of the features as stored; 0 for a table in parts."""
        return int(getattr(self.matrix, "nbytes", 0))

    @property
    def in_parts(self) -> bool:
        """Whether the table is a `RowSource`, read in blocks of rows."""
        return hasattr(self.matrix, "blocks")

    def loaded(self) -> Self:
        """The same table in memory, if it is in parts.

        Raises
        ------
        DataError
            If it takes more memory than allowed.
        """
        if not self.in_parts:
            return self
        needed = 8 * self.n_samples * self.n_features
        if needed > self.matrix.most_bytes:
            raise DataError(
                f"{self.name}: {self.n_samples} × {self.n_features} values take "
                f"{shown(needed)} in memory, and {shown(self.matrix.most_bytes)} are allowed "
                "(FSFRAME_TABLE_MEMORY)"
            )
        return attrs.evolve(self, matrix=freeze(self.matrix.read(0, self.n_features)))

    @cached_property
    def X(self) -> NDArray[np.float64]:
        """The features as one (n_samples, n_features) float64 array; parts are read whole."""
        if self.in_memory and self.matrix.dtype == np.float64:
            return self.matrix  # type: ignore[no-any-return]
        if self.in_memory or self.nbytes:
            return _widened(self.matrix)
        whole = self.matrix.read(0, self.n_features)
        return freeze(np.ascontiguousarray(whole, dtype=np.float64))

    @property
    def values(self) -> NDArray[Any]:
        """All features, (n_samples, n_features): uint8 or int8 where kept as bytes or in bits, else
        `X`.
        """
        if self.matrix.dtype not in _BYTES:
            return self.X
        return np.ascontiguousarray(self.columns(0, self.n_features))

    @property
    def holds_bytes(self) -> bool:
        """Whether `byte_values` gives the features as bytes."""
        return self.matrix.dtype in _BYTES or hasattr(self.matrix, "codes")

    def byte_values(self) -> tuple[NDArray[np.uint8], NDArray[np.float64]] | None:
        """All features as one byte each, and the number that each byte stands for, NaN for a gap.

        None if they are not kept as bytes or in bits. A dense array is not copied.

        Returns
        -------
        (n_samples, n_features) uint8, (256,) float64, or None

        Examples
        --------
        >>> from fsframe.table.dataset import Dataset
        >>> data = Dataset.from_arrays(np.array([[-1, 2], [0, 3]], dtype=np.int8), [0, 1])
        >>> codes, numbers = data.byte_values()
        >>> codes[0].tolist(), numbers[codes[0]].tolist()
        ([255, 2], [-1.0, 2.0])
        """
        packed = getattr(self.matrix, "codes", None)
        if packed is not None:
            codes, numbers = packed()
            return codes, np.append(numbers, np.zeros(256 - len(numbers)))
        if not self.holds_bytes:
            return None
        every = np.arange(256, dtype=np.uint8).view(self.matrix.dtype)
        return self.values.view(np.uint8), every.astype(np.float64)

    def columns(self, start: int, stop: int) -> NDArray[Any]:
        """Columns ``start … stop-1`` as (n_samples, stop-start), in the dtype they are kept in."""
        return column_block(self.matrix, start, stop)

    def column_blocks(self, max_bytes: int = 1 << 24) -> Iterator[tuple[int, int]]:
        """Bounds (start, stop) of column blocks of at most `max_bytes` as float64, in order."""
        width = max(1, max_bytes // max(1, 8 * self.n_samples))
        for start in range(0, self.n_features, width):
            yield start, min(start + width, self.n_features)

    @cached_property
    def sha256(self) -> str:
        """Hex digest of values, labels and names: equal for equal data in any file format.

        Columns are hashed in order as little-endian float64, so that a table on disk need not be
        held in memory. A table in parts has another digest, of its rows, which does not depend on
        how they are divided. Bootstrap counts and `name` are not part of it; groups and weights
        are, if there are any.
        """
        digest = hashlib.sha256()
        header = declared_roles(self) | {
            "shape": [self.n_samples, self.n_features],
            "features": list(self.feature_names),
        }
        digest.update(json.dumps(header, sort_keys=True).encode())
        digest.update(np.ascontiguousarray(self.y).astype(self.y.dtype.newbyteorder("<")).tobytes())
        if self.in_parts:
            digest.update(b"rows" + self.matrix.rows_sha256.encode())

        def widened(bounds: tuple[int, int]) -> NDArray[np.float64]:
            return np.ascontiguousarray(self.columns(*bounds).T, dtype="<f8")

        # The next block is read and widened while one is hashed.
        blocks = () if self.in_parts else self.column_blocks()
        for block in read_ahead(map(widened, blocks), threads=2):
            digest.update(block)  # type: ignore[arg-type]
        if self.groups is not None:
            digest.update(b"groups" + self.groups.astype("<i8").tobytes())
        for role, columns in self.side_columns().items():
            digest.update(ROLES[role].digest.encode() + columns.tobytes())
        if self.weight_name and self.counts is not None:
            digest.update(b"weights" + self.counts.astype("<i8").tobytes())
        return digest.hexdigest()

    def take_columns(self, columns: NDArray[np.intp]) -> Self:
        """The same rows with only these columns, in this order."""
        columns = np.asarray(columns, dtype=np.intp)
        if len(columns) == self.n_features and np.array_equal(columns, np.arange(self.n_features)):
            return self
        if self.in_memory:
            matrix: Any = freeze(np.ascontiguousarray(self.matrix[:, columns]))
        else:
            matrix = self.matrix.take(columns)
        return attrs.evolve(
            self,
            matrix=matrix,
            feature_names=tuple(self.feature_names[c] for c in columns),
            categorical=self.categorical[columns],
            keep=None if self.keep is None else self.keep[columns],
        )

    @property
    def _kind(self) -> np.dtype[Any]:
        return self.matrix.dtype if self.matrix.dtype in _BYTES else np.dtype(np.float64)

    def take_rows(self, rows: NDArray[np.intp]) -> Self:
        """Only these rows, in this order; classes without rows remain."""
        rows, matrix = np.asarray(rows, dtype=np.intp), self.matrix
        if self.in_memory:
            matrix = freeze(np.ascontiguousarray(matrix[rows]))
        else:
            matrix = _rows_of(matrix, rows) if self.in_parts else matrix.take_rows(rows)
        counts = None if self.counts is None else self.counts[rows]
        groups = None if self.groups is None else self.groups[rows]
        return attrs.evolve(
            self, matrix=matrix, y=self.y[rows], counts=counts, groups=groups,
            times=None if self.times is None else self.times.take_rows(rows),
            covariates=None if self.covariates is None else self.covariates.take_rows(rows),
            sides={role: columns.take_rows(rows) for role, columns in self.sides.items()},
        )  # fmt: skip

    def with_counts(self, counts: NDArray[np.integer[Any]] | None) -> Self:
        """The same table as a bootstrap that drew row i `counts[i]` times.

        Raises
        ------
        DataError
            If the counts are negative, all zero, or not one per row.
        """
        if counts is None:
            return attrs.evolve(self, counts=None)
        taken = as_counts(counts, (self.n_samples,)).astype(np.int64)
        return attrs.evolve(self, counts=taken)

    def without_adjusting(self) -> Self:
        """The same table for methods inside a stage that adjusts for the covariates itself."""
        if self.covariates is None:
            return self
        return attrs.evolve(self, covariates=attrs.evolve(self.covariates, handled=True))

    def with_labels(self, y: NDArray[Any]) -> Self:
        """The same table with other codes (a permutation of the label, for a null distribution)."""
        return attrs.evolve(self, y=np.asarray(y, dtype=self.y.dtype))

    def class_sizes(self) -> NDArray[np.int64]:
        """Number of rows per class, (n_classes,), each as often as `counts` says."""
        sizes = np.bincount(self.y, weights=self.counts, minlength=self.n_classes)
        return np.round(sizes).astype(np.int64)


def declared_roles(table: FrozenTable) -> dict[str, Any]:
    """Task, classes and roles of columns as JSON values, for digests; only those that are set."""
    header: dict[str, Any] = {
        "classes": [str(label) for label in table.classes],
        "task": table.task,
        "categorical": np.flatnonzero(table.categorical).tolist(),
    }
    if table.ordinal.any():
        header["ordinal"] = np.flatnonzero(table.ordinal).tolist()
    if table.feature_groups:
        header["feature_groups"] = table.feature_sets.tolist()
    if table.keep is not None:
        header["keep"] = np.flatnonzero(table.keep).tolist()
    return header


def _rows_of(source: RowSource, rows: NDArray[np.intp]) -> NDArray[Any]:
    """Some rows of a table in parts, in that order, from one pass that ends at the last of them."""
    order = np.argsort(rows, kind="stable")
    ascending = rows[order]
    at, values = 0, None
    for block in source.blocks():
        if values is None:
            values = np.empty((len(rows), block.shape[1]), block.dtype)
        first, last = np.searchsorted(ascending, [at, at + len(block)])
        values[order[first:last]] = block[ascending[first:last] - at]
        at += len(block)
        if last == len(rows):
            break
    assert values is not None
    return freeze(values)
