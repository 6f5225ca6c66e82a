"""Levels or bin edges of each column, learned on the training rows."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.table.columns_seen import ColumnsSeen
from fsframe.table.dataset import Dataset
from fsframe_infotheory.engine.bins import LONGEST_TABLE, Bins, BinsBuilder, ByteLevels

MOST_BINS = 255
"""Most bins of the Freedman–Diaconis rule: an outlier could otherwise give millions."""


def default_bins(n_samples: int) -> int:
    """Default number of bins: 2 below 6 samples, 10 above 30, n // 3 between.

    Notes
    -----
    The rule of the R package praznik, so that results can be compared.

    >>> default_bins(5), default_bins(25), default_bins(1000)
    (2, 8, 10)
    """
    if n_samples < 6:
        return 2
    return 10 if n_samples > 30 else n_samples // 3


def equal_width_edges(
    low: NDArray[np.float64], high: NDArray[np.float64], bins: int
) -> NDArray[np.float64]:
    """The ``bins − 1`` inner edges of bins of equal width, of many columns at once.

    Parameters
    ----------
    low, high : (m,) float64, low < high
        Smallest and largest training value of each column.
    bins : int
        At least 1.

    Returns
    -------
    (m, bins − 1) float64, ascending along rows
        A value x lies in bin number ``sum(edges <= x)``. Edges may be equal in a column whose
        range has fewer doubles than bins.

    Notes
    -----
    The range is first widened as praznik does, so that the extremes are not on an edge:
    ``low −= (high − low) / 1000``, then ``high += (high − low) / 1000``; as there, only where both
    have a size above 1e-14, so that columns that begin or end at 0 keep their range.

    >>> equal_width_edges(np.array([0.0]), np.array([1.0]), 2).round(4).tolist()
    [[0.5]]
    """
    widened = np.minimum(np.abs(low), np.abs(high)) > 1e-14
    low = np.where(widened, low - (high / 2 - low / 2) / 500, low)
    high = np.where(widened, high + (high / 2 - low / 2) / 500, high)
    share = np.arange(1, bins) / bins
    return low[:, None] * (1 - share) + high[:, None] * share


def equal_frequency_edges(
    values: NDArray[np.float64], counts: NDArray[np.int64] | None, bins: int
) -> NDArray[np.float64]:
    """Inner edges of at most `bins` bins of about equally many samples.

    `values` (n,) are finite training values in any order, `counts` how often each row counts. At
    most bins − 1 midpoints between neighbouring distinct values, ascending (ties give fewer): for
    k = 1 … bins−1 the cut whose share of samples below is nearest to k/bins, the lower one of two
    equally near.

    >>> equal_frequency_edges(np.array([1.0, 2, 3, 4]), None, 2).tolist()
    [2.5]
    """
    distinct, inverse = np.unique(values, return_inverse=True)
    if distinct.size < 2:
        return np.empty(0)
    below = np.cumsum(np.bincount(inverse, weights=counts))
    total, cuts = below[-1], below[:-1]
    wanted = total * np.arange(1, bins) / bins
    right = np.searchsorted(cuts, wanted).clip(0, cuts.size - 1)
    left = (right - 1).clip(0)
    nearest = np.where(wanted - cuts[left] <= cuts[right] - wanted, left, right)
    chosen = np.unique(nearest)
    return midpoints(distinct[chosen], distinct[chosen + 1])


def freedman_diaconis_edges(
    values: NDArray[np.float64], counts: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Inner edges of equal-width bins of width 2·IQR·n^(−1/3).

    Arguments as for `equal_frequency_edges`. At most `MOST_BINS` − 1 edges, ascending; if the
    interquartile range is zero, those of `default_bins` bins.

    References
    ----------
    D. Freedman, P. Diaconis 1981, On the histogram as a density estimator: L2 theory.
    """
    sample = np.sort(values if counts is None else np.repeat(values, counts))
    if sample.size == 0:
        return np.empty(0)
    low, high = float(sample[0]), float(sample[-1])
    q1, q3 = np.quantile(sample, [0.25, 0.75])
    width = 2 * (q3 - q1) * sample.size ** (-1 / 3)
    # Half the samples tied at one value: the rule gives width zero.
    if not width > 0:
        bins = default_bins(sample.size)
    else:
        bins = int(max(1, min(MOST_BINS, np.ceil(high / width - low / width))))
    if not low < high:
        return np.empty(0)
    return np.unique(equal_width_edges(np.array([low]), np.array([high]), bins))


def midpoints(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points between pairs of doubles, left < point ≤ right also for neighbouring doubles."""
    middle = left / 2 + right / 2
    return np.where(middle > left, middle, right)


def mdl_edges(
    values: NDArray[np.float64],
    y: NDArray[np.int64],
    counts: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Inner edges that Fayyad and Irani's criterion accepts; none if the labels justify no cut.

    Midpoints between neighbouring distinct values, ascending; `y` are class codes of the training
    rows, the other arguments those of `equal_frequency_edges`.

    Notes
    -----
    A set S of N samples and k classes is split at the cut of least class entropy if

        Gain > (log₂(N − 1) + log₂(3ᵏ − 2) − [k·H(S) − k₁·H(S₁) − k₂·H(S₂)]) / N,

    and both parts are treated likewise. Of several best cuts the lowest is taken. O(n log n) for
    sorting and O(m·C) per level of splitting over m distinct values.

    References
    ----------
    U. Fayyad, K. Irani 1993, Multi-interval discretization of continuous-valued attributes,
    section 3 (the criterion) and theorem 1.

    Examples
    --------
    >>> mdl_edges(np.arange(20.0), np.repeat([0, 1], 10)).tolist()
    [9.5]
    """
    distinct, place = np.unique(values, return_inverse=True)
    if distinct.size < 2:
        return np.empty(0)
    n_classes = int(y.max()) + 1
    table = np.bincount(place * n_classes + y, weights=counts, minlength=distinct.size * n_classes)
    below = np.vstack([np.zeros(n_classes), np.cumsum(table.reshape(-1, n_classes), axis=0)])
    cuts: list[int] = []
    waiting = [(0, distinct.size)]
    while waiting:
        start, stop = waiting.pop()
        cut = _best_cut(below, start, stop)
        if cut is not None:
            cuts.append(cut)
            waiting += [(start, cut), (cut, stop)]
    chosen = np.sort(np.array(cuts, dtype=np.intp))
    return midpoints(distinct[chosen - 1], distinct[chosen])


def _best_cut(below: NDArray[np.float64], start: int, stop: int) -> int | None:
    """First value to the right of the cut accepted in values start … stop−1; None without a cut."""
    if stop - start < 2:
        return None
    left = below[start + 1 : stop] - below[start]
    right = below[stop] - below[start + 1 : stop]
    n_left, n_right = left.sum(axis=1), right.sum(axis=1)
    n = n_left[0] + n_right[0]
    h_left, h_right = _entropies(left, n_left), _entropies(right, n_right)
    after = (n_left * h_left + n_right * h_right) / n
    # 1e-12: cuts equal but for rounding are ties, and the lower one is taken.
    at = int(np.flatnonzero(after <= after.min() + 1e-12)[0])
    counts = below[stop] - below[start]
    entropy = float(_entropies(counts[None], np.array([n]))[0])
    k, k_left, k_right = (int((part > 0).sum()) for part in (counts, left[at], right[at]))
    # log₂(3ᵏ − 2) without the power: k may be in the hundreds.
    delta = k * np.log2(3) + np.log1p(-2 * 3.0**-k) / np.log(2)
    delta -= k * entropy - k_left * h_left[at] - k_right * h_right[at]
    gain = entropy - after[at]
    return start + 1 + at if n > 1 and gain > (np.log2(n - 1) + delta) / n else None


def _entropies(counts: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    share = counts / sizes[:, None]
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return -(share * logs).sum(axis=1)


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
        distinct values, keep their values; all others are cut into bins of equal width.
        ``"equal-width"``, ``"equal-frequency"``, ``"mdl"``, ``"freedman-diaconis"``: those others
        are cut by that rule. ``"edges"``: those others are cut at `edges`. ``"none"``: every
        distinct value is a level.
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
        those that fit into bytes, `facts` range and levels of all columns of the table. The values
        themselves are read only if a rule needs them.
        """
        categorical, n_rows = data.categorical[start:stop], data.n_samples
        n = int(data.row_counts.sum())
        builder = BinsBuilder(stop - start)
        missing = np.zeros(stop - start, np.int64)
        if seen is not None:
            known_levels = seen.usable & self._keeps_levels(seen.distinct, categorical)
            builder.add(
                np.flatnonzero(known_levels),
                seen.distinct[known_levels],
                seen.levels(known_levels),
                True,
            )
            missing[known_levels] = seen.missing[known_levels]
        # From here on the columns whose bins are not known yet, and their places in `facts`.
        rest = np.flatnonzero(~builder.done)
        places = start + rest
        if data.in_parts:
            facts = data.matrix.facts
        elif facts is None:
            if block is None:
                in_memory = data.in_memory
                block, first = (data.matrix, start) if in_memory else (data.columns(start, stop), 0)
            read = block if rest.size == block.shape[1] else block[:, first + rest]
            facts, places = ColumnsSeen.of(read), np.arange(rest.size)
        low, high, whole = facts.low[places], facts.high[places], facts.whole[places]
        missing[rest] = facts.missing[places]
        open_ = missing[rest] < n_rows
        for j in rest[~open_].tolist():
            builder.add_one(j, True, np.empty(0))
        short = high - low < LONGEST_TABLE
        listed = np.flatnonzero(open_ & whole & short)
        distinct = facts.n_levels_of(places[listed])
        kept = (distinct >= 0) & self._keeps_levels(distinct, categorical[rest[listed]])
        few = listed[kept]
        builder.add(rest[few], distinct[kept], facts.levels_of(places[few]), True)
        open_[few] = False
        maybe_levels = categorical[rest] | (self.rule == "none") | (whole & ~short)
        # In wide tables only values near the first one are listed.
        maybe_levels[listed[distinct < 0]] = True
        plain = open_ & ~maybe_levels & (self.rule in ("auto", "equal-width"))
        for j in rest[plain & ~(low < high)]:
            builder.add_one(j, False, np.empty(0))
        plain &= low < high
        if plain.any():
            columns = rest[plain]
            edges = equal_width_edges(low[plain], high[plain], self.n_bins(n))
            ascending = np.all(edges[:, 1:] > edges[:, :-1], axis=1)
            sizes = np.full(columns.size, edges.shape[1])
            builder.add(columns[ascending], sizes[ascending], edges[ascending].ravel(), False)
            for k in np.flatnonzero(~ascending):
                builder.add_one(columns[k], False, np.unique(edges[k]))
        y = self.codes_of_target(data)[0] if self.rule == "mdl" else data.y
        for j in np.flatnonzero(~builder.done).tolist():
            values = (
                data.columns(start + j, start + j + 1)[:, 0]
                if block is None
                else block[:, first + j]
            ).astype(np.float64)
            builder.add_one(j, *self.learn_values(values, y, data.counts, bool(categorical[j])))
        return builder.bins(missing > 0, self.rule == "auto")

    def _keeps_levels(
        self, distinct: NDArray[np.int64], categorical: NDArray[np.bool_] | np.bool_
    ) -> NDArray[np.bool_]:
        """Mask of the columns of whole numbers that keep their values as levels."""
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
                # -0.0 and 0.0 are one level; adding 0.0 removes its sign.
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
