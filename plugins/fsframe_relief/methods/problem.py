"""The parameters that all methods share, and the preparation of a table, its label and weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.method.ranking import RELEVANT, Statement
from fsframe.method.run import Run, size_text
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.method.statistics import PermutationTest
from fsframe.params import choice, either, integer, listing, optional, param, real, text
from fsframe.resampling.resamples import too_many
from fsframe.table.dataset import Dataset
from fsframe.text import counted
from fsframe_relief.engine.columns import (
    SMALL,
    ByteTable,
    Columns,
    content_order,
    few_levels,
    prepare_columns,
    row_blocks,
    summarise,
)
from fsframe_relief.engine.neighbours import Rule, Target

if TYPE_CHECKING:
    from fsframe.table.columns_seen import ColumnsSeen


def decay_parameter() -> Any:
    """The parameter `decay` of methods that can weight neighbours by rank."""
    return param(
        20.0,
        real(above=0),
        help="Decay of the weight with the neighbour's rank.",
        symbol="σ",
        source="Robnik-Šikonja & Kononenko 2003, eq. 12",
    )


@attrs.frozen(kw_only=True)
class ReliefParameters(Selector):
    """Parameters of scoring and of neighbourhoods, used by `ReliefSelector`."""

    takes_missing: ClassVar[bool] = True
    takes_nominal: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    table_copies: ClassVar[float] = 1.0
    reads_bytes: ClassVar[bool] = True
    uses_upstream_weights: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset({"classification", "regression"})
    splits_values: ClassVar[bool] = False
    """Whether there are hits and misses for a numeric target too: hits are instances whose values
    differ by less than its standard deviation."""

    threshold: float = param(
        0.0,
        real(),
        help="Without top: keep features with a score above this, at least the best one.",
        symbol="τ",
        source="Kira & Rendell 1992",
    )
    discrete_features: str | tuple[int | str, ...] = param(
        "auto",
        either(choice("auto", "all", "none"), listing(either(integer(0), text("a feature name")))),
        help="Features compared as equal or different: all, none, or a list of names or "
        "numbers from 0. auto: those the data mark as nominal; if none is marked nominal "
        "or ordinal, those with at most 10 distinct values (a warning says which).",
    )
    task: str = param(
        "data",
        choice("data", "classification", "regression"),
        help="Whether the label is classes or a number; data: as the table declares.",
    )
    m: int | None = param(
        None,
        optional(integer(1)),
        help="Number of target instances, drawn without replacement; by default all.",
        symbol="m",
        source="Kira & Rendell 1992",
    )
    missing: str = param(
        "skip",
        choice("skip", "probability"),
        help="Missing values: left out of distances and scores, or counted as different with "
        "probability 1 - P(value | class).",
        source="Kononenko 1994",
    )
    ramp: tuple[float, ...] | None = param(
        None,
        optional(listing(real(0, 1), 2)),
        help="[equal,different]: differences up to the first fraction of the range count as 0, "
        "from the second on as 1, linear in between; by default |difference| / range.",
        source="Hong 1997; Robnik-Šikonja & Kononenko 2003, eq. 15",
    )
    permutations: int = param(
        0,
        integer(0),
        help="Number of label permutations for a p-value per feature; 0: no p-values.",
    )
    level: float | None = param(
        None,
        optional(real(above=0, most=1)),
        help="Keep features with adjusted p at or below this (needs permutations).",
    )
    correction: str = param(
        "benjamini-hochberg",
        choice("benjamini-hochberg", "none"),
        help="Correction of the p-values for the number of features.",
    )

    def check_request(self, data: Dataset) -> Iterator[str]:
        named = () if isinstance(self.discrete_features, str) else self.discrete_features
        for item in named:
            known = not isinstance(item, int) or item < data.n_features
            if not known and str(item) not in data.feature_names:
                yield no_such_column(int(item), data.n_features)

    def tables_held(self, n_features: int) -> float:
        """Copies of the table held: one scaled, bytes to screen by, and blocks of distances.

        Gaps under the probability rule take values, levels and states.
        """
        if not self.table_copies:
            return 0.0  # only a few columns at a time
        if self.missing == "probability":
            return 3.0
        return 1.75

    def rule(self) -> Rule:
        """Neighbours and their weights."""
        raise NotImplementedError

    def permutation_test(self) -> PermutationTest | None:
        if not self.permutations:
            return None
        # Without a level, adjusted p-values are reported, which readers compare with 5 %.
        level = 0.05 if self.level is None else self.level
        return PermutationTest(
            permutations=self.permutations, level=level, correction=self.correction
        )

    def statement(self, base: Selector | None = None) -> Statement | None:
        return RELEVANT if self.permutations else None

    def check_parameters(self) -> Iterator[str]:
        if self.ramp is not None and (len(self.ramp) != 2 or not self.ramp[0] < self.ramp[1]):
            yield f"ramp must be [equal,different] with equal < different, not {list(self.ramp)}"
        yield from too_many(self.permutations, f"permutations={self.permutations}")
        if self.permutations and self.missing == "probability":
            yield "permutations need missing=skip: P(value | class) changes with the labels"
        if self.level is not None and not self.permutations:
            yield "level needs permutations, such as permutations=999"
        elif self.level is not None and 1 / (self.permutations + 1) > self.level:
            yield (
                f"level={self.level:g} cannot be reached with permutations={self.permutations}; "
                f"at least {int(np.ceil(1 / self.level)) - 1} are needed"
            )

    def _without_p_values(self, repeated: str) -> Iterator[str]:
        """Problems of a method without p-values, as each would need all `repeated` again."""
        if self.permutations:
            yield (
                "permutations are not supported here: every permuted label would need all "
                f"{repeated} again"
            )
        if self.correction != "benjamini-hochberg":
            yield "correction is for p-values, which this method does not give"


FEW_LEVELS = 10


@attrs.frozen(kw_only=True, eq=False)
class Problem:
    """A prepared table with its label.

    `order` holds the rows of the dataset in the order used, `drawn` the targets as positions in it
    (None: all), `discrete` marks the columns with diff 0 or 1, `notes` are the warnings, and
    `groups` the groups of rows, in that order.
    """

    columns: Columns
    target: Target
    order: NDArray[np.intp]
    drawn: NDArray[np.int64] | None
    threads: int
    discrete: NDArray[np.bool_]
    notes: tuple[str, ...]
    groups: NDArray[np.int64] | None = None


def make_problem(
    method: ReliefParameters,
    data: Dataset,
    upstream: Selection | None,
    run: Run,
    *,
    columns: NDArray[np.intp] | None = None,
    discrete: tuple[NDArray[np.bool_], tuple[str, ...]] | None = None,
    draw: tuple[int, ...] = (0,),
) -> Problem:
    """The table of `data` (or some `columns` of it) prepared for `method`.

    `discrete` is the result of `discrete_columns`, if known; `draw` is the key of the random stream
    that draws the targets.
    """
    X = table_values(data, columns)
    threads = threads_for(len(X), X.shape[1], run)
    summary = summarise(X, threads)
    if discrete is None:
        discrete = discrete_columns(method, data, X, summary)
    mask, notes = discrete
    if columns is not None:
        mask = mask[columns]
    labels = Labels.of(method, data, data.counts, upstream)
    order = row_order(method, X, labels)
    prepared = prepare_columns(
        X,
        mask,
        order=order,
        ramp=method.ramp,
        classes=labels.y if method.missing == "probability" else None,
        counts=labels.counts,
        summary=summary,
        threads=threads,
    )
    blank = prepared.blank if columns is None else columns[prepared.blank]
    notes = (*notes, *without_scores(blank, data))
    return with_target(method, prepared, labels, order, run, draw, mask, notes)


def without_scores(columns: NDArray[np.intp], data: Dataset) -> tuple[str, ...]:
    """The warning about columns that have no value, and so no score; none if there are none."""
    if not columns.size:
        return ()
    first = data.feature_names[columns[0]]
    return (f"no score for {counted(columns.size, 'column')} without any value, first {first!r}",)


def table_values(
    data: Dataset, columns: NDArray[np.intp] | None = None
) -> NDArray[Any] | ByteTable:
    """All or some columns of a table: uint8 as it is, other bytes and bits as a `ByteTable`."""
    seen = data if columns is None else data.take_columns(columns)
    if seen.matrix.dtype == np.uint8:
        return seen.values
    byte_values = seen.byte_values()
    return seen.X if byte_values is None else ByteTable(*byte_values)


def threads_for(n: int, p: int, run: Run) -> int:
    """Number of threads for a table of that size."""
    return 1 if float(n) ** 2 * p < SMALL else run.threads


def row_order(
    method: ReliefParameters,
    X: NDArray[Any] | ByteTable,
    labels: Labels,
    drawn: NDArray[np.intp] | None = None,
) -> NDArray[np.intp]:
    """The order of rows, by class and then by content; `drawn` as for `content_order`."""
    y = labels.y
    # Ties may be broken by the order of rows, which must then be kept.
    if getattr(method, "ties", "share") == "index":
        order = np.arange(len(y))
    else:
        order = content_order(X, *labels.keys, drawn=drawn)
    # Rows are sorted by class, so that loops over one class need no labels.
    return order[np.argsort(y[order], kind="stable")]


def with_target(
    method: ReliefParameters,
    prepared: Columns,
    labels: Labels,
    order: NDArray[np.intp],
    run: Run,
    draw: tuple[int, ...],
    mask: NDArray[np.bool_],
    notes: tuple[str, ...],
) -> Problem:
    """The Problem of columns prepared in `order`; the labels are not yet in that order."""
    n = len(labels.y)
    labellings = 8 * (method.permutations + 1) * n
    if method.permutations and labellings > run.memory // 2:
        raise RequestError(
            f"{method.method_name()}: permutations={method.permutations} keeps "
            f"{size_text(labellings)} of row numbers, more than half of the "
            f"{size_text(run.memory)} that a fit may hold; ask for at most "
            f"{max(0, run.memory // 16 // n - 1)}, or allow more memory (--memory)"
        )
    target, drawn, more = make_target(method, labels, order, run, draw)
    return Problem(
        columns=prepared,
        target=target,
        order=order,
        drawn=drawn,
        threads=threads_for(n, prepared.n_features, run),
        discrete=mask,
        notes=(*notes, *more),
    )


def make_target(
    method: ReliefParameters,
    labels: Labels,
    order: NDArray[np.intp],
    run: Run,
    draw: tuple[int, ...],
) -> tuple[Target, NDArray[np.int64] | None, tuple[str, ...]]:
    """The target of rows in `order`, the targets drawn (None: all), and warnings."""
    y, value, counts, importance = labels.y, labels.value, labels.counts, labels.importance
    sizes = np.bincount(y, weights=counts)
    omega = (counts * importance)[order]
    drawn = None
    notes: tuple[str, ...] = ()
    if method.m is not None and method.m < counts.sum():
        copies = counts[order].astype(np.int64)
        times = run.generator(*draw).multivariate_hypergeometric(
            copies, method.m, method="marginals"
        )
        drawn = np.flatnonzero(times).astype(np.int64)
        omega = times * importance[order]
    elif method.m is not None and method.m > counts.sum():
        all_used = f"m={method.m} is more than the {int(counts.sum())} instances: all were used"
        notes = (all_used,)
    if not omega.sum() > 0:
        raise DataError("all target instances that were drawn have weight zero; draw more (m)")
    target = Target(
        y=y[order],
        prior=sizes / sizes.sum(),
        counts=counts[order],
        omega=omega / omega.sum(),
        value=None if value is None else value[order],
        ramp=method.ramp or (0.0, 1.0),
        alike=None if value is None or not method.splits_values else _deviation(value, counts),
    )
    return target, drawn, notes


def _deviation(value: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    """The standard deviation of rows drawn `counts` times, with divisor Σ counts − 1."""
    centred = value - np.average(value, weights=counts)
    return float(np.sqrt(counts @ centred**2 / max(counts.sum() - 1.0, 1.0)))


@attrs.frozen(eq=False)
class Labels:
    """The label and the weights of rows.

    `y` are class codes (zeros in regression), `value` the numeric target divided by its range (None
    in classification), `counts` how often each row counts, `importance` its weight as a target.
    """

    y: NDArray[np.int64]
    value: NDArray[np.float64] | None
    counts: NDArray[np.float64]
    importance: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        method: ReliefParameters,
        data: Dataset,
        counts: NDArray[np.int64] | None,
        upstream: Selection | None,
        rows: NDArray[np.intp] | None = None,
    ) -> Labels:
        """Those of a table, or of some `rows`, to which `counts` and `upstream` then belong."""
        y, value = _label_codes(method, data, data.y if rows is None else data.y[rows])
        importance = np.ones(len(y))
        if upstream is not None and upstream.instance_weights is not None:
            importance = upstream.instance_weights
        drawn = np.ones(len(y)) if counts is None else counts.astype(np.float64)
        if not (drawn * importance).sum() > 0:
            raise DataError("all instance weights from the stage on the left are zero")
        return cls(y, value, drawn, importance)

    @property
    def keys(self) -> tuple[NDArray[np.generic], ...]:
        """What orders rows of equal columns: target, counts, importance."""
        return self.y if self.value is None else self.value, self.counts, self.importance


def _label_codes(
    method: ReliefParameters, data: Dataset, y: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """`Labels.y` and `Labels.value` of rows with the label y."""
    task = data.task if method.task == "data" else method.task
    if task not in method.tasks:
        raise RequestError(
            f"{method.method_name()}: task={task} is not supported; it is made for "
            f"{' and '.join(sorted(method.tasks))}"
        )
    if task == "classification":
        codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
        if codes.max(initial=0) < 1:
            raise DataError(f"label {data.label_name!r} has one class only; two are needed")
        return codes, None
    value = y.astype(np.float64)
    if data.task == "classification":
        try:
            value = np.asarray(data.classes, dtype=np.float64)[y]
        except (TypeError, ValueError):
            raise RequestError(
                f"{method.method_name()}: task=regression needs numbers, and label "
                f"{data.label_name!r} has classes such as {data.classes[0]!r}"
            ) from None
    spread = float(np.ptp(value))
    if not spread > 0:
        raise DataError(f"label {data.label_name!r} has the same value everywhere")
    return np.zeros(len(value), dtype=np.int64), value / spread


def no_such_column(item: int, n_features: int) -> str:
    """What is wrong with a number in `discrete_features`."""
    return f"discrete_features names column {item}, and there are {n_features}, numbered from 0"


def discrete_columns(
    method: ReliefParameters,
    data: Dataset,
    X: NDArray[Any] | ByteTable | None = None,
    summary: ColumnsSeen | None = None,
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Mask of discrete columns, and a warning about that choice.

    `X` and `summary` are those of all columns, if known.
    """
    wanted = method.discrete_features
    p = data.n_features
    if wanted == "all":
        return np.ones(p, dtype=bool), ()
    if wanted == "none":
        return np.zeros(p, dtype=bool), ()
    if wanted == "auto":
        if data.categorical.any() or data.ordinal.any():
            return np.asarray(data.categorical), ()
        if data.in_parts:
            X, summary = data.matrix, data.matrix.facts
        elif X is None or summary is None:
            X = table_values(data)
            summary = summarise(X)
        mask = few_levels(row_blocks(X, 4 * FEW_LEVELS), summary, FEW_LEVELS)
        if not mask.any():
            return mask, ()
        note = (
            f"columns with at most {FEW_LEVELS} distinct values were taken as discrete "
            f"({int(mask.sum())} of {p}), the others as continuous; set discrete_features to "
            "decide this yourself"
        )
        return mask, (note,)
    mask, absent = np.zeros(p, dtype=bool), []
    place = {name: k for k, name in enumerate(data.feature_names)}
    for item in wanted:
        if isinstance(item, int) and item < p:
            mask[item] = True
        elif str(item) in place:
            mask[place[str(item)]] = True
        elif isinstance(item, int):
            raise RequestError(f"{method.method_name()}: {no_such_column(item, p)}")
        else:
            absent.append(str(item))
    if absent:
        # An earlier stage may have dropped the column, so this is no error.
        return mask, (f"discrete_features names columns that are not here: {', '.join(absent)}",)
    return mask, ()
