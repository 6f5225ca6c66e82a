"""Resamples under several labellings: draw them, run the base on all, and collect its results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain
from fsframe.errors import DataError
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.method.statistics import normal_scores
from fsframe.registry import nulls
from fsframe.resampling.dispatch import portable
from fsframe.resampling.groups import require_two, varied_strata
from fsframe.resampling.resamples import Base, Recurring, WrappingSelector, select_resamples
from fsframe.table.dataset import Dataset
from fsframe_npfs.engine.draws import BootstrapSampler
from fsframe_npfs.engine.nulls import strata_of_covariates

# A column in which d rows differ from the mode is constant in a bootstrap with probability about
# exp(-d); above this d that never happens in practice.
_FRAGILE_ROWS = 40
# More than twice as many, so that the mode of a fragile column is the median of so many rows.
_CHECKED_ROWS = 128


@attrs.frozen(eq=False)
class FragileColumns:
    """Columns that are constant in a table, and those that may be constant in a resample.

    Parameters
    ----------
    usable : (p,) bool
        Columns with at least two different values.
    columns : (m,) int
        Usable columns in which few rows differ from the mode.
    rows : (r,) int
        The rows that differ from the mode, column by column.
    starts : (m,) int
        First position of each column's rows in `rows`.
    """

    usable: NDArray[np.bool_]
    columns: NDArray[np.intp]
    rows: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def find(cls, data: Dataset) -> FragileColumns:
        """Find constant and fragile columns of a table, block by block; a gap equals any value.

        Notes
        -----
        A value that more than half of the rows have is the median. If at most 40 rows of a column
        differ from its mode, the mode is also the median of any 128 rows, and at most 40 of those
        differ from it. Columns that fail this check on the first 128 rows are not fragile; the
        others are read whole, O(n) each.
        """
        usable = np.ones(data.n_features, dtype=bool)
        columns: list[int] = []
        rows: list[NDArray[np.intp]] = []
        for start, stop in data.column_blocks():
            block = np.asarray(data.columns(start, stop), dtype=np.float64)
            close = _candidate_columns(block)
            other = _differs_from_median(block[:, close])
            apart = other.sum(axis=0)
            usable[start + close[apart == 0]] = False
            for place in np.flatnonzero((apart > 0) & (apart <= _FRAGILE_ROWS)):
                columns.append(start + int(close[place]))
                rows.append(np.flatnonzero(other[:, place]))
        sizes = np.array([r.size for r in rows], dtype=np.intp)
        return cls(
            usable,
            np.array(columns, dtype=np.intp),
            np.concatenate(rows) if rows else np.zeros(0, dtype=np.intp),
            np.concatenate(([0], np.cumsum(sizes)))[:-1].astype(np.intp),
        )

    @property
    def n_usable(self) -> int:
        """K: number of columns that are not constant in the table, which are tested."""
        return int(self.usable.sum())

    def usable_in(self, counts: NDArray[np.integer[Any]] | None) -> NDArray[np.bool_]:
        """Columns with at least two different values in a resample.

        `counts` may be None if no column is fragile.
        """
        if not self.columns.size:
            return self.usable
        assert counts is not None
        varying = np.logical_or.reduceat(counts[self.rows] > 0, self.starts)
        usable = self.usable.copy()
        usable[self.columns[~varying]] = False
        return usable


def _candidate_columns(block: NDArray[np.float64]) -> NDArray[np.intp]:
    """Columns that may be fragile, judged by their first rows."""
    some = block[:_CHECKED_ROWS]
    apart = _differs_from_median(some).sum(axis=0)
    unclear = (apart <= _FRAGILE_ROWS) | np.isnan(some).any(axis=0)
    return np.flatnonzero(unclear)


def _differs_from_median(block: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of the values that are neither missing nor equal to their column's median, (n, p)."""
    if not np.isnan(block.sum()):
        middle = block.shape[0] // 2
        return np.asarray(block != np.partition(block, middle, axis=0)[middle])
    known = ~np.isnan(block)
    # Sorting puts NaN last; a column without any value has none in the middle.
    middles = np.maximum(known.sum(axis=0), 1) // 2
    medians = np.sort(block, axis=0)[middles, np.arange(block.shape[1])]
    return (block != medians) & known


def equal_columns(data: Dataset, wanted: NDArray[np.intp]) -> list[list[int]]:
    """Groups of identical columns that contain at least one of `wanted`.

    One pass over the table compares the bytes of the first rows, and those of all rows only where
    the first equal those of a column in `wanted`.
    """
    columns = (data.columns(column, column + 1)[:_CHECKED_ROWS, 0] for column in wanted.tolist())
    first = {_bytes(np.asarray(column, dtype=np.float64)) for column in columns}
    groups: dict[bytes, list[int]] = {}
    for start, stop in data.column_blocks():
        block = np.asarray(data.columns(start, stop), dtype=np.float64)
        for offset, column in enumerate(block.T):
            if _bytes(column[:_CHECKED_ROWS]) in first:
                digest = blake2b(_bytes(column), digest_size=16).digest()
                groups.setdefault(digest, []).append(start + offset)
    required = set(wanted.tolist())
    return [group for group in groups.values() if len(group) > 1 and required & set(group)]


def _bytes(column: NDArray[np.float64]) -> bytes:
    return (column + 0.0).tobytes()  # -0.0 and 0.0 are one value


DRAWS, LABELS, BASE = range(3)
"""First keys of random streams: of bootstraps, of permuted labels, and of the base."""

PERMUTATION = "permutation"
"""The default null."""


@attrs.frozen(kw_only=True)
class ResamplingSelector(WrappingSelector):
    """Base of methods that run another selector on resamples of any table it accepts."""

    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    tasks_of_base: ClassVar[bool] = True
    takes_missing: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True
    takes_time: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True

    def top_only_cuts(self) -> bool:
        return True

    def role_problems(self, data: Dataset) -> Iterator[str]:
        yield from super().role_problems(data)
        yield from self.stretch_problems(data)
        if data.together is not None and data.n_classes:
            try:
                require_two(data.together, data.y, self.method_name(), data.classes)
            except DataError as error:
                yield str(error)

    def results(
        self,
        base: Base,
        data: Dataset,
        counts: NDArray[np.int64],
        upstream: Selection | None,
        run: Run,
        *parts: str,
        first: int = 0,
    ) -> Iterator[Selection]:
        """Results of the base on resamples, given as `counts` (resamples, rows).

        `parts` are the parts needed of each result; `first` is the number of the first resample in
        the run.
        """
        # The wrapped chain's result on the whole table must not leak into its resamples.
        before = upstream if self.base is not None else None
        rows = data.with_counts(None)
        yield from select_resamples(
            base, rows, counts, run.child(BASE).batch(first), upstream=before, parts=parts
        )


def permuted(data: Dataset, run: Run, labelling: int, null: str = PERMUTATION) -> Dataset:
    """The table with labels permuted by a null; labelling 0 is the true one."""
    if labelling == 0:
        return data
    return data.with_labels(nulls[null]().labels(data, run.generator(LABELS, labelling)))


def strata_problems(data: Dataset, who: str) -> Iterator[str]:
    """Problems of permuting labels within the strata of covariates, for messages about `who`."""
    if data.covariates is None:
        return
    strata = ", ".join(data.covariates.names)
    for column, role in ((data.groups, "groups"), (data.times, "a time")):
        if column is not None:
            yield (
                f"{who} permutes labels within the strata of {strata} or respects {role}, not "
                "both: omit one of them"
            )
    try:
        varied_strata(data.y, strata_of_covariates(data))
    except DataError as error:
        yield f"{who}: {error}"


def constant_runs(labellings: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Begin and end of each run of equal labellings.

    >>> list(constant_runs(np.array([0, 0, 3])))
    [(0, 2), (2, 3)]
    """
    borders = (np.flatnonzero(np.diff(labellings)) + 1).tolist()
    yield from zip([0, *borders], [*borders, len(labellings)], strict=True)


def class_codes(data: Dataset) -> NDArray[np.int64] | None:
    """Class codes, or None where the target is numeric."""
    return data.y if data.task == "classification" else None


@attrs.frozen(kw_only=True, eq=False)
class BootstrapDraws:
    """Bootstraps as counts per row, each with its own labelling; a `resamples.Draws`.

    Bootstrap b of a labelling draws its rows from stream (DRAWS, labelling, b), so the first
    bootstraps of a longer run equal those of a shorter one, in whichever process they are drawn.

    Parameters
    ----------
    streams : Run
        The source of random streams; only its seed and key are used.
    labellings, numbers : (m,) int
        Labelling of each resample (0 for the true label), and its number b within it.
    fraction, stratify, times
        As in `fsframe_npfs.engine.draws.BootstrapSampler`.
    null : str
        Name of the null that permutes the labels.
    """

    streams: Run
    labellings: NDArray[np.int64]
    numbers: NDArray[np.int64]
    fraction: float
    stratify: bool
    times: NDArray[np.int64] | None = None
    null: str = PERMUTATION

    @classmethod
    def of(
        cls,
        run: Run,
        labellings: range,
        numbers: range,
        fraction: float,
        stratify: bool,
        times: NDArray[np.int64] | None,
        null: str = PERMUTATION,
    ) -> BootstrapDraws:
        """Bootstraps `numbers` of each of `labellings`, labelling by labelling."""
        return cls(
            streams=Run(entropy=run.entropy, key=run.key),
            labellings=np.repeat(labellings, len(numbers)),
            numbers=np.tile(numbers, len(labellings)),
            fraction=fraction,
            stratify=stratify,
            times=times,
            null=null,
        )

    def concatenate(self, others: BootstrapDraws) -> BootstrapDraws:
        """These bootstraps, followed by `others`."""
        return attrs.evolve(
            self,
            labellings=np.concatenate((self.labellings, others.labellings)),
            numbers=np.concatenate((self.numbers, others.numbers)),
        )

    def __len__(self) -> int:
        return len(self.labellings)

    def __str__(self) -> str:
        """The key of these counts in a checkpoint."""
        times = "" if self.times is None else blake2b(self.times.tobytes()).hexdigest()[:16]
        null = "" if self.null == PERMUTATION else f" by {self.null}"
        parts = [
            f"{int(self.labellings[begin])}:{int(self.numbers[begin])}x{end - begin}"
            for begin, end in constant_runs(self.labellings)
        ]
        return (
            f"bootstraps {','.join(parts)} of {self.streams.entropy} {self.streams.key} "
            f"fraction={self.fraction!r} stratify={self.stratify} {times}{null}"
        )

    def rows(self, data: Dataset, start: int, stop: int) -> NDArray[np.integer[Any]]:
        """Bootstraps `start` … `stop` − 1 as counts per row, (stop − start, n_samples).

        uint16 as long as no count can exceed its range: a thousand bootstraps of many rows do not
        fit in the cache, and moving them then costs more than drawing them.
        """
        drawn_from = data.n_samples if self.times is None else int(self.times.sum())
        # A class may be drawn two rows more often than its share.
        short = data.together is None and drawn_from + 2 * data.n_classes < 1 << 16
        counts = np.empty((stop - start, data.n_samples), dtype=np.uint16 if short else np.int64)
        for begin, end in constant_runs(self.labellings[start:stop]):
            labelling = int(self.labellings[start + begin])
            codes = class_codes(permuted(data, self.streams, labelling, self.null))
            sampler = BootstrapSampler(
                data.n_samples, codes, self.fraction, self.stratify, self.times, data.together
            )
            for place in range(begin, end):
                number = int(self.numbers[start + place])
                counts[place] = sampler.draw(self.streams.generator(DRAWS, labelling, number))
        return counts

    def one_by_one(self, data: Dataset) -> Iterator[NDArray[np.integer[Any]]]:
        """All bootstraps in order, 32 at a time in memory."""
        for start in range(0, len(self), 32):
            yield from self.rows(data, start, min(len(self), start + 32))


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Relabelled:
    """`base` on resamples, each with its own labelling.

    One call over all labellings keeps every worker busy and sends the table once; labels are
    permuted in the process that uses them.

    Parameters
    ----------
    base : str, or an object with `select_many`
        A chain as text, or its representation for another process.
    labels : Run
        The source of the random streams that permute labels.
    labellings : (n_parts,) int
        The labelling of each resample.
    first : int
        Number of the first of these resamples among the units of the run.
    null : str
        Name of the null that permutes the labels.
    """

    base: Any
    labels: Run
    labellings: NDArray[np.int64]
    first: int
    null: str = PERMUTATION

    @classmethod
    def of(
        cls, base: Base, run: Run, labellings: NDArray[np.int64], first: int, null: str
    ) -> Relabelled:
        """`base` with labels from the streams of `run`; portable if `run` has an executor."""
        return cls(
            base=base if run.executor is None else portable(base),
            labels=Run(entropy=run.entropy, key=run.key),
            labellings=labellings,
            first=first,
            null=null,
        )

    def __str__(self) -> str:
        """The key of this work in a checkpoint, together with the resamples."""
        runs = [f"{self.labellings[a]}x{b - a}" for a, b in constant_runs(self.labellings)]
        null = "" if self.null == PERMUTATION else f" by {self.null}"
        return f"{self.base} under labellings {','.join(runs)} of {self.labels.key}{null}"

    @property
    def kind(self) -> str:
        """The key under which its speed is recorded: that of the base."""
        return f"{self.base} under labellings"

    @property
    def borders(self) -> list[int]:
        """First resamples of the labellings, where a base with its own `select_many` restarts."""
        return [begin for begin, _ in constant_runs(self.labellings)]

    @cached_property
    def _base(self) -> Any:
        return Chain.parse(self.base) if isinstance(self.base, str) else self.base

    def select_many(
        self,
        data: Dataset,
        counts: NDArray[np.integer[Any]],
        upstream: Selection | None = None,
        run: Run | None = None,
    ) -> list[Selection]:
        """One Selection per row of `counts`, labelling by labelling."""
        assert run is not None
        start = run.first - self.first
        labelling_of = self.labellings[start : start + len(counts)]
        selections: list[Selection] = []
        for begin, end in constant_runs(labelling_of):
            table = permuted(data, self.labels, int(labelling_of[begin]), self.null)
            selections += self._base.select_many(
                table, counts[begin:end], upstream, run.batch(begin)
            )
        return selections


Floats = NDArray[np.float64]

# Relative rounding error allowed in a sum of up to 100,000 scores.
_TOLERANCE = 1e-9


@attrs.define(eq=False)
class SelectionCounts:
    """The columns that each resample of one labelling selected, in order.

    Parameters
    ----------
    columns : FragileColumns
        Those that are not constant can be selected.
    selected : list of (k_l,) int64
        Sorted columns per resample.
    warnings : Recurring
        Warnings of the base.

    Notes
    -----
    A column that is constant in the resample carries no information there. A base that keeps it has
    filled up its list with ties, lowest column first, and counting it would make noise look stable.
    """

    columns: FragileColumns
    selected: list[NDArray[np.int64]] = attrs.field(factory=list)
    warnings: Recurring = attrs.field(factory=Recurring)

    def add(self, selection: Selection, counts: NDArray[np.integer[Any]] | None) -> None:
        """Record the result of the base on one resample."""
        kept = np.sort(selection.selected.astype(np.int64))
        self.selected.append(kept[self.columns.usable_in(counts)[kept]])
        self.warnings.add(selection.warnings)

    @property
    def kept(self) -> NDArray[np.int64]:
        """k_l: number of columns selected per resample."""
        return np.array([columns.size for columns in self.selected], dtype=np.int64)

    @property
    def counts(self) -> NDArray[np.int64]:
        """z: number of resamples that selected each usable column, (K,)."""
        every = np.concatenate([*self.selected, np.zeros(0, np.int64)])
        return np.bincount(every, minlength=self.columns.usable.size)[self.columns.usable]

    def matrix(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The bootstrap matrix Z, (n, len(codes)): whether resample l selected code i."""
        Z = np.zeros((len(self.selected), codes.size), dtype=bool)
        for row, selected in zip(Z, self.selected, strict=True):
            row[np.searchsorted(codes, selected)] = True
        return Z


@attrs.define(eq=False)
class MeanScores:
    """Running means of scores, and of the normal scores of their ranks, for one labelling.

    Parameters
    ----------
    columns : FragileColumns
        Columns that are constant, in the table or in a resample, have no score there.
    ranked : bool
        Whether ranks are averaged; a corrected test needs those of the true label only.
    squares : (1 or 2, K) float64, optional
        Array that accumulates squares; shared by labellings whose variances are pooled.
    natural_zero : bool
        As in `filled_scores`.

    Notes
    -----
    The rank R of a score among the K of one resample (ties share their mean rank) becomes its
    normal score Φ⁻¹((R − ½)/K) (van der Waerden). Only sums are kept: O(K) memory, and one number
    per resample.
    """

    columns: FragileColumns
    ranked: bool = True
    squares: Floats | None = None
    natural_zero: bool = False
    n: int = 0
    unscored: int = 0
    totals: list[float] = attrs.field(factory=list)
    _sums: Floats = attrs.field(init=False)
    _squares: Floats = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._sums = np.zeros((1 + self.ranked, int(self.columns.usable.sum())))
        self._squares = np.zeros_like(self._sums) if self.squares is None else self.squares

    def add(self, selection: Selection, counts: NDArray[np.integer[Any]] | None) -> None:
        """Add the result of the base on one resample."""
        live = self.columns.usable_in(counts)
        scores, scored = filled_scores(selection, live, self.natural_zero)
        scores = scores[self.columns.usable]
        values = scores[None]
        if self.ranked:
            ranks = normal_scores(scores)
            values = np.vstack((scores, ranks))
        self.n += 1
        self.unscored += not scored
        unfilled = np.asarray(selection.scores, dtype=np.float64)
        self.totals.append(float(unfilled[np.isfinite(unfilled)].sum()))
        self._sums += values
        self._squares += values**2

    @property
    def constant_total(self) -> bool:
        """Whether the scores have the same sum in every resample.

        Then their size carries no information: the best columns score as high under any label.
        """
        totals = np.array(self.totals)
        if self.n < 2 or self.unscored:
            return False
        return bool(totals[0] > 0 and np.ptp(totals) <= _TOLERANCE * totals[0])

    @property
    def means(self) -> Floats:
        """Mean score and, where ranked, mean normal score of the rank, (1 or 2, K)."""
        return self._sums / self.n

    @property
    def mean_errors(self) -> Floats:
        """Standard errors of `means` over bootstraps, same shape; 0 for a single bootstrap."""
        if self.n < 2:
            return np.zeros_like(self._sums)
        return np.sqrt(variance_within([self]) / self.n)


def variance_within(labellings: Sequence[MeanScores]) -> Floats:
    """Pooled variances over bootstraps within labellings of equal n ≥ 2, (1 or 2, K).

    Several labellings must be all those that share one array of `squares`.
    """
    n = labellings[0].n
    squares = labellings[0]._squares.copy()
    for each in labellings:
        squares -= each._sums**2 / n
    return np.maximum(squares / (len(labellings) * (n - 1)), 0.0)


def filled_scores(
    selection: Selection, live: NDArray[np.bool_], natural_zero: bool = False
) -> tuple[Floats, bool]:
    """Finite scores of all columns, and whether the base returned any.

    Parameters
    ----------
    selection : Selection
        Result on one resample.
    live : (p,) bool
        Columns that are not constant in the resample.
    natural_zero : bool
        Whether a score of 0 means that a column carries nothing (`Selector.natural_zero`).

    Returns
    -------
    scores : (p,) float64, finite
        A column without a score (constant, or dropped by an earlier stage) gets 0 if that is the
        score of a column that carries nothing, otherwise the lowest of the resample; an infinite
        score becomes the largest or smallest finite one. Without any scores, 1 for columns that
        the base kept and 0 for the others.
    scored : bool

    Examples
    --------
    >>> selection = Selection(selected=[2], scores=np.array([np.nan, 0.5, np.inf, 0.2]))
    >>> filled_scores(selection, np.array([True, True, True, True]))[0]
    array([0.2, 0.5, 0.5, 0.2])
    >>> filled_scores(selection, np.array([True, True, True, True]), natural_zero=True)[0]
    array([0. , 0.5, 0.5, 0.2])
    """
    scores = np.asarray(selection.scores, dtype=np.float64)
    scored = live & ~np.isnan(scores) if scores.size == live.size else np.zeros_like(live)
    finite = scores[scored & np.isfinite(scores)] if scored.any() else np.zeros(0)
    if not finite.size:
        kept = np.zeros(live.size)
        kept[selection.selected] = 1.0
        return kept * live, False
    low, high = float(finite.min()), float(finite.max())
    nothing = 0.0 if natural_zero else low
    return np.where(scored, np.clip(np.where(scored, scores, low), low, high), nothing), True
