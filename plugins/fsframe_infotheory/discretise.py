"""Levels of columns, learned on the training rows and kept for new data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.dataset import Dataset
from fsframe.errors import DataError
from fsframe_infotheory.columns import as_flat, mark_present, scan_columns
from fsframe_infotheory.edges import (
    default_bins,
    equal_frequency_edges,
    equal_width_edges,
    freedman_diaconis_edges,
)
from fsframe_infotheory.mdl import mdl_edges

__all__ = ["MISSING_BYTE", "RULES", "Bins", "Discretiser", "SeenBytes"]

RULES = (
    "auto",
    "equal-width",
    "equal-frequency",
    "mdl",
    "freedman-diaconis",
    "edges",
    "none",
)

MISSING_BYTE = 254
"""Byte of a missing value; 255 is left for padding."""

LONGEST_TABLE = 4096
"""Longest range of whole numbers that is coded by a table; longer ones are searched."""


@attrs.frozen(kw_only=True, eq=False)
class Bins:
    """How each column's values become codes 0, 1, 2, …

    Parameters
    ----------
    as_levels : (n_features,) bool
        Whether the thresholds of a column are its levels themselves (code = position among them)
        or edges of bins (code = number of edges ≤ value).
    offsets : (n_features + 1,) int64
        Column j owns ``thresholds[offsets[j] : offsets[j + 1]]``.
    thresholds : float64
        Ascending within a column.
    missing : (n_features,) bool
        Columns with missing values in training; the last level of such a column is "missing".
    binned_by_default : tuple of int
        Columns of numbers that were binned because no rule was named.
    """

    as_levels: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    missing: NDArray[np.bool_]
    binned_by_default: tuple[int, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.as_levels)

    @property
    def n_values(self) -> NDArray[np.int64]:
        """Levels of each column without the one for missing values, as (n_features,)."""
        return np.diff(self.offsets) + ~self.as_levels

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """Levels of each column, the one for missing values included, as (n_features,)."""
        return self.n_values + self.missing

    def of(self, column: int) -> NDArray[np.float64]:
        """Levels or edges of one column."""
        return self.thresholds[self.offsets[column] : self.offsets[column + 1]]

    def apply(self, X: ArrayLike) -> NDArray[np.int64]:
        """Codes of new rows.

        Parameters
        ----------
        X : (n, n_features) float64
            NaN is a missing value.

        Returns
        -------
        (n, n_features) int64
            ``0 … n_values − 1`` for known values, ``n_values`` for missing ones, and
            ``n_values + 1`` for a value that is none of the training levels of a column kept as
            levels. A number beyond the training range falls into the first or last bin.
        """
        table = np.asarray(X, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != self.n_features:
            raise DataError(
                f"rows of {self.n_features} columns are needed to apply these bins, "
                f"not an array of shape {table.shape}"
            )
        codes = np.empty(table.shape, dtype=np.int64)
        for j in range(self.n_features):
            x, bounds = table[:, j], self.of(j)
            if self.as_levels[j]:
                found = np.searchsorted(bounds, x)
                known = np.append(bounds, np.nan)[found] == x
                codes[:, j] = np.where(known, found, bounds.size + 1)
                codes[np.isnan(x), j] = bounds.size
            else:
                codes[:, j] = np.searchsorted(bounds, x, side="right")
                codes[np.isnan(x), j] = bounds.size + 1
        return codes

    def tables(self) -> dict[str, NDArray[Any]]:
        """The arrays that `from_tables` reads, named for a run file."""
        return {
            "bins_as_levels": self.as_levels,
            "bins_offsets": self.offsets,
            "bins_thresholds": self.thresholds,
            "bins_missing": self.missing,
        }

    @classmethod
    def from_tables(cls, tables: Mapping[str, NDArray[Any]]) -> Bins:
        """The bins that a run stored, from its tables."""
        return cls(
            as_levels=np.asarray(tables["bins_as_levels"], dtype=bool),
            offsets=np.asarray(tables["bins_offsets"], dtype=np.int64),
            thresholds=np.asarray(tables["bins_thresholds"], dtype=np.float64),
            missing=np.asarray(tables["bins_missing"], dtype=bool),
        )

    @classmethod
    def joined(cls, parts: Sequence[Bins]) -> Bins:
        """Bins of neighbouring groups of columns as one."""
        starts = np.cumsum([0, *(part.n_features for part in parts)])
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(
            as_levels=np.concatenate([part.as_levels for part in parts]),
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            thresholds=np.concatenate([part.thresholds for part in parts]),
            missing=np.concatenate([part.missing for part in parts]),
            binned_by_default=tuple(
                int(start) + column
                for start, part in zip(starts, parts, strict=False)
                for column in part.binned_by_default
            ),
        )


@attrs.frozen(kw_only=True, eq=False)
class SeenBytes:
    """Columns of whole numbers in a short range, as bytes: what occurs in each.

    Parameters
    ----------
    base : (m,) float64
        What byte 0 stands for.
    marks : (m, 256) uint8
        Which bytes occur; `MISSING_BYTE` stands for a missing value.
    usable : (m,) bool
        Columns that are such; nothing is known of the others.
    """

    base: NDArray[np.float64]
    marks: NDArray[np.uint8]
    usable: NDArray[np.bool_]


@attrs.frozen(kw_only=True)
class Discretiser:
    """A rule that turns columns into levels; `learn` applies it to training rows.

    Parameters
    ----------
    rule : str
        ``"auto"``: categorical columns, and columns of whole numbers with at most `max_levels`
        distinct values, as they are; all others in bins of equal width. ``"equal-width"``,
        ``"equal-frequency"``, ``"mdl"``, ``"freedman-diaconis"``: those others by that rule.
        ``"edges"``: those others cut at `edges`. ``"none"``: every distinct value is a level.
    bins : int or "auto"
        Number of bins of equal width or frequency; "auto" is 2 below 6 samples, 10 above 30, and
        a third of the samples between.
    edges : tuple of float
        Inner edges for ``"edges"``, the same for every column.
    max_levels : int
        See `rule`; 0 bins whole numbers too.

    Examples
    --------
    >>> data = Dataset.from_arrays([[0.1, 7], [0.2, 7], [0.9, -3]], [0, 0, 1])
    >>> bins = Discretiser(bins=2).learn(data)
    >>> bins.apply(data.X).tolist()
    [[0, 1], [0, 1], [1, 0]]
    """

    rule: str = attrs.field(default="auto", validator=attrs.validators.in_(RULES))
    bins: int | str = "auto"
    edges: tuple[float, ...] = ()
    max_levels: int = 32

    def learn(self, data: Dataset) -> Bins:
        """The bins of all columns of a training table; a column without any value has no levels."""
        return Bins.joined(
            [self.learn_columns(data, start, stop) for start, stop in data.column_blocks()]
        )

    def learn_columns(
        self,
        data: Dataset,
        start: int,
        stop: int,
        block: NDArray[Any] | None = None,
        seen: SeenBytes | None = None,
    ) -> Bins:
        """The bins of columns ``start … stop−1``.

        `block` is their values if already read, `seen` what is known of those that fit into bytes.
        """
        first = 0
        if block is None and data.in_memory:
            block, first = data.matrix, start
        elif block is None:
            block = data.columns(start, stop)
        flat, by_row, by_column = as_flat(block)
        n_columns, n_rows = stop - start, data.n_samples
        n = n_rows if data.counts is None else int(data.counts.sum())
        categorical = data.categorical[start:stop]
        low, high = np.empty(n_columns), np.empty(n_columns)
        whole, missing = np.empty(n_columns, bool), np.empty(n_columns, np.int64)
        parts = _Parts(n_columns)
        if seen is not None:
            distinct = seen.marks[:, :MISSING_BYTE].sum(axis=1, dtype=np.int64)
            kept = seen.usable & self._stay(distinct, categorical)
            columns = np.flatnonzero(kept)
            owner, value = np.divmod(np.flatnonzero(seen.marks[columns].view(np.bool_)), 256)
            owner, value = owner[value < MISSING_BYTE], value[value < MISSING_BYTE]
            parts.add(columns, distinct[kept], seen.base[columns[owner]] + value, True)
            missing[columns] = seen.marks[columns, MISSING_BYTE]
        rest = np.flatnonzero(~parts.done)
        if rest.size:
            scan = (np.empty(rest.size), np.empty(rest.size), np.empty(rest.size, bool))
            holes = np.empty(rest.size, np.int64)
            scan_columns(flat, by_row, by_column, rest + first, n_rows, *scan, holes)
            low[rest], high[rest], whole[rest] = scan
            missing[rest] = holes
        known = ~parts.done & (missing < n_rows)
        for j in rest[missing[rest] == n_rows]:
            parts.add_one(j, True, np.empty(0))
        span = np.full(n_columns, np.inf)
        # Halves, because high − low overflows where a column spans more than the largest double.
        span[known] = high[known] / 2 - low[known] / 2
        short = np.flatnonzero(known & (span < LONGEST_TABLE / 2))
        short = short[whole[short]]
        if short.size:
            lengths = (high[short] - low[short]).astype(np.int64) + 1
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            present = np.zeros(offsets[-1], np.uint8)
            mark_present(
                flat, by_row, by_column, short + first, n_rows, low[short], offsets, present
            )
            distinct = np.add.reduceat(present, offsets[:-1], dtype=np.int64)
            kept = self._stay(distinct, categorical[short])
            at = np.flatnonzero(present & np.repeat(kept, lengths))
            owner = np.searchsorted(offsets, at, side="right") - 1
            parts.add(short[kept], distinct[kept], at - offsets[owner] + low[short[owner]], True)
        known &= ~parts.done
        live = np.flatnonzero(known)
        maybe_levels = categorical[live] | (self.rule == "none")
        maybe_levels |= whole[live] & (span[live] >= LONGEST_TABLE / 2)
        plain = live[~maybe_levels & (self.rule in ("auto", "equal-width"))]
        for j in plain[~(low[plain] < high[plain])]:
            parts.add_one(j, False, np.empty(0))
        columns = plain[low[plain] < high[plain]]
        if columns.size:
            edges = equal_width_edges(low[columns], high[columns], self.n_bins(n))
            ascending = np.all(edges[:, 1:] > edges[:, :-1], axis=1)
            sizes = np.full(columns.size, edges.shape[1])
            parts.add(columns[ascending], sizes[ascending], edges[ascending].ravel(), False)
            for k in np.flatnonzero(~ascending):
                parts.add_one(columns[k], False, np.unique(edges[k]))
        y = self.codes_of_target(data)[0] if self.rule == "mdl" else data.y
        for j in np.flatnonzero(~parts.done):
            values = _column(flat, by_row, by_column, first + j, n_rows)
            parts.add_one(j, *self.learn_values(values, y, data.counts, bool(categorical[j])))
        return parts.bins(missing > 0, self.rule == "auto")

    def _stay(
        self, distinct: NDArray[np.int64], categorical: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Which columns of whole numbers stay as they are."""
        return categorical | (self.rule == "none") | (distinct <= self.max_levels)

    def n_bins(self, n: int) -> int:
        """Bins of equal width or frequency for n samples."""
        return default_bins(n) if self.bins == "auto" else int(self.bins)

    def learn_values(
        self,
        values: NDArray[np.float64],
        y: NDArray[np.int64],
        counts: NDArray[np.int64] | None,
        as_is: bool = False,
    ) -> tuple[bool, NDArray[np.float64]]:
        """Whether one column stays as levels, and its levels or edges.

        Parameters
        ----------
        values : (n,) float64
            NaN is a missing value.
        y : (n,) int64
            Class codes, which only "mdl" looks at.
        counts : (n,) int64, or None
            How often each row counts; all above zero.
        as_is : bool
            Whether the column is categorical.
        """
        n = values.size if counts is None else int(counts.sum())
        known = ~np.isnan(values)
        present = values[known]
        counts = None if counts is None else counts[known]
        if not present.size:
            return True, np.empty(0)
        as_is = as_is or self.rule == "none"
        if as_is or np.all(present == np.floor(present)):
            levels = np.unique(present)
            if as_is or levels.size <= self.max_levels:
                # -0.0 and 0.0 are one level; + 0.0 makes its sign plain.
                return True, levels + 0.0
        match self.rule:
            case "equal-frequency":
                return False, equal_frequency_edges(present, counts, self.n_bins(n))
            case "freedman-diaconis":
                return False, freedman_diaconis_edges(present, counts)
            case "mdl":
                return False, mdl_edges(present, y[known], counts)
            case "edges":
                return False, np.unique(np.asarray(self.edges, dtype=np.float64))
        low, high = present.min(keepdims=True), present.max(keepdims=True)
        if not low < high:
            return False, np.empty(0)
        return False, np.unique(equal_width_edges(low, high, self.n_bins(n)))

    def codes_of_target(self, data: Dataset) -> tuple[NDArray[np.int64], int]:
        """Class codes, or a numeric target cut into bins, and how many codes there are.

        A numeric target is treated as a column by the same rule, but for "mdl" (which needs
        classes) and "edges" (which are the features'): there by equal frequency.
        """
        if data.task == "classification":
            return data.y, data.n_classes
        rule = "equal-frequency" if self.rule in ("mdl", "edges") else self.rule
        column = Dataset(
            matrix=data.y[:, None],
            y=np.zeros(data.n_samples, np.int64),
            classes=(0,),
            feature_names=(data.label_name,),
            categorical=np.zeros(1, bool),
            counts=data.counts,
        )
        bins = attrs.evolve(self, rule=rule).learn(column)
        return bins.apply(data.y[:, None])[:, 0], int(bins.n_values[0])


class _Parts:
    """Thresholds of a group of columns, put together in any order."""

    def __init__(self, n_columns: int) -> None:
        self.done = np.zeros(n_columns, dtype=bool)
        self.as_levels = np.zeros(n_columns, dtype=bool)
        self.sizes = np.zeros(n_columns, dtype=np.int64)
        self.pieces: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = []

    def add(
        self,
        columns: NDArray[np.intp],
        sizes: NDArray[np.int64],
        thresholds: NDArray[np.float64],
        as_levels: bool,
    ) -> None:
        self.done[columns] = True
        self.as_levels[columns] = as_levels
        self.sizes[columns] = sizes
        self.pieces.append((columns, thresholds))

    def add_one(self, column: int, as_levels: bool, thresholds: NDArray[np.float64]) -> None:
        self.add(np.array([column]), np.array([thresholds.size]), thresholds, as_levels)

    def bins(self, missing: NDArray[np.bool_], default: bool) -> Bins:
        offsets = np.concatenate([[0], np.cumsum(self.sizes)])
        thresholds = np.empty(offsets[-1])
        for columns, values in self.pieces:
            sizes = self.sizes[columns]
            within = np.arange(values.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            thresholds[np.repeat(offsets[columns], sizes) + within] = values
        binned = np.flatnonzero(~self.as_levels & (self.sizes > 0)) if default else ()
        return Bins(
            as_levels=self.as_levels,
            offsets=offsets,
            thresholds=thresholds,
            missing=missing,
            binned_by_default=tuple(int(j) for j in binned),
        )


def _column(
    flat: NDArray[Any], by_row: int, by_column: int, column: int, n_rows: int
) -> NDArray[np.float64]:
    start = column * by_column
    return flat[start : start + (n_rows - 1) * by_row + 1 : by_row].astype(np.float64)
