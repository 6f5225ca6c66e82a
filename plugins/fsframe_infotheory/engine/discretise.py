"""Levels or bin edges of each column, learned on the training rows."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bins import LONGEST_TABLE, Bins, BinsBuilder, ByteLevels
from fsframe_infotheory.engine.column_kernels import as_flat, mark_present, scan_columns
from fsframe_infotheory.engine.edges import (
    default_bins,
    equal_frequency_edges,
    equal_width_edges,
    freedman_diaconis_edges,
    mdl_edges,
)

__all__ = ["RULES", "Bins", "Discretiser"]

RULES = (
    "auto",
    "equal-width",
    "equal-frequency",
    "mdl",
    "freedman-diaconis",
    "edges",
    "none",
)


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
        first: int = 0,
        seen: ByteLevels | None = None,
        facts: Any = None,
    ) -> Bins:
        """The bins of columns ``start … stop−1``.

        Columns that were read already begin at column `first` of `block`; `seen` has the levels of
        those that fit into bytes. For a table in parts `facts` of the whole table replace the
        values, except for rules that need all values of a column, which is then read whole.
        """
        categorical = data.categorical[start:stop]
        known_levels = np.zeros(stop - start, bool)
        if seen is not None:
            known_levels = seen.usable & self._keeps_levels(seen.distinct, categorical)
            if known_levels.all():
                return seen.as_bins()
        if data.in_parts:
            facts = data.matrix.facts
        if facts is not None:
            block = np.empty((1, 0))
        elif block is None and data.in_memory:
            block, first = data.matrix, start
        elif block is None:
            block = data.columns(start, stop)
        flat, by_row, by_column = as_flat(block)
        n_columns, n_rows = stop - start, data.n_samples
        n = n_rows if data.counts is None else int(data.counts.sum())
        low, high = np.empty(n_columns), np.empty(n_columns)
        whole, missing = np.empty(n_columns, bool), np.empty(n_columns, np.int64)
        builder = BinsBuilder(n_columns)
        if seen is not None:
            builder.add(
                np.flatnonzero(known_levels),
                seen.distinct[known_levels],
                seen.levels(known_levels),
                True,
            )
            missing[known_levels] = seen.missing[known_levels]
        rest = np.flatnonzero(~builder.done)
        if facts is not None:
            low, high, whole, missing = (
                values[start:stop].copy()
                for values in (facts.low, facts.high, facts.whole, facts.missing)
            )
        elif rest.size:
            scan = (np.empty(rest.size), np.empty(rest.size), np.empty(rest.size, bool))
            holes = np.empty(rest.size, np.int64)
            scan_columns(flat, by_row, by_column, rest + first, n_rows, *scan, holes)
            low[rest], high[rest], whole[rest] = scan
            missing[rest] = holes
        known = ~builder.done & (missing < n_rows)
        for j in rest[missing[rest] == n_rows].tolist():
            builder.add_one(j, True, np.empty(0))
        span = np.full(n_columns, np.inf)
        # Halves, because high − low overflows where a column spans more than the largest double.
        span[known] = high[known] / 2 - low[known] / 2
        short = np.flatnonzero(known & (span < LONGEST_TABLE / 2))
        short = short[whole[short]]
        if facts is not None and short.size:
            distinct, levels = facts.levels_of(start + short)
            kept = (distinct >= 0) & self._keeps_levels(distinct, categorical[short])
            levels = levels[np.repeat(kept, distinct.clip(0))]
            builder.add(short[kept], distinct[kept], levels, True)
        elif short.size:
            lengths = (high[short] - low[short]).astype(np.int64) + 1
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            present = np.zeros(offsets[-1], np.uint8)
            mark_present(
                flat, by_row, by_column, short + first, n_rows, low[short], offsets, present
            )
            distinct = np.add.reduceat(present, offsets[:-1], dtype=np.int64)
            kept = self._keeps_levels(distinct, categorical[short])
            at = np.flatnonzero(present & np.repeat(kept, lengths))
            owner = np.searchsorted(offsets, at, side="right") - 1
            builder.add(short[kept], distinct[kept], at - offsets[owner] + low[short[owner]], True)
        known &= ~builder.done
        live = np.flatnonzero(known)
        maybe_levels = categorical[live] | (self.rule == "none")
        maybe_levels |= whole[live] & (span[live] >= LONGEST_TABLE / 2)
        plain = live[~maybe_levels & (self.rule in ("auto", "equal-width"))]
        for j in plain[~(low[plain] < high[plain])]:
            builder.add_one(j, False, np.empty(0))
        columns = plain[low[plain] < high[plain]]
        if columns.size:
            edges = equal_width_edges(low[columns], high[columns], self.n_bins(n))
            ascending = np.all(edges[:, 1:] > edges[:, :-1], axis=1)
            sizes = np.full(columns.size, edges.shape[1])
            builder.add(columns[ascending], sizes[ascending], edges[ascending].ravel(), False)
            for k in np.flatnonzero(~ascending):
                builder.add_one(columns[k], False, np.unique(edges[k]))
        y = self.codes_of_target(data)[0] if self.rule == "mdl" else data.y
        for j in np.flatnonzero(~builder.done).tolist():
            if facts is not None:
                values = data.columns(start + j, start + j + 1)[:, 0].astype(np.float64)
            else:
                begin = (first + j) * by_column
                values = flat[begin : begin + (n_rows - 1) * by_row + 1 : by_row].astype(np.float64)
            builder.add_one(j, *self.learn_values(values, y, data.counts, bool(categorical[j])))
        return builder.bins(missing > 0, self.rule == "auto")

    def _keeps_levels(
        self, distinct: NDArray[np.int64], categorical: NDArray[np.bool_] | np.bool_
    ) -> NDArray[np.bool_]:
        """Which columns of whole numbers keep their values as levels."""
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

        `values` are NaN where missing, `counts` above zero; the class codes `y` are used by "mdl"
        only; `as_is` is true for categorical columns.
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

        A numeric target is binned by the rule of the features, except with "mdl" (which needs
        classes) and "edges" (which are in units of the features): then by equal frequency.
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
