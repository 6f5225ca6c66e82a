"""Training rows as the loops need them: scaled, weighted, drawn as prototypes, and processed in
chunks by threads, whose number changes no bit.

Scales of columns are learned from training rows only. Loops over pairs compute |x_i − x_j| of
numbers. For them a nominal column is expanded into a block of columns, one per level, which hold
half a step for rows of that level: two rows of different levels differ by half a step in two
columns, that is, by one step in the block. All columns of a block share one weight, so that the
block acts as a single column with that difference.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ContextDecorator
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from fsframe.errors import DataError
from fsframe.kernels import in_threads
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.params import integer, optional, param
from fsframe.table.dataset import Dataset
from fsframe.table.standardising import level_places, unequal_share


@cache
def _controller() -> Any:
    import scipy.linalg.blas  # noqa: F401  SciPy's own library, found only once it is loaded

    return ThreadpoolController().select(user_api="blas")


class OneBlasThread(ContextDecorator):
    """Limits the linear algebra libraries to one thread while any caller is inside.

    The limit applies to the process. It is set by the first caller to enter and removed by the last
    one to leave, so that concurrent resamples share it.
    """

    _lock = threading.Lock()
    _inside = 0
    _limit: Any = None

    def __enter__(self) -> OneBlasThread:
        cls = OneBlasThread
        with cls._lock:
            if cls._inside == 0:
                cls._limit = _controller().limit(limits=1)
            cls._inside += 1
        return self

    def __exit__(self, *_: object) -> None:
        cls = OneBlasThread
        with cls._lock:
            cls._inside -= 1
            if cls._inside == 0:
                cls._limit.restore_original_limits()


one_blas_thread = OneBlasThread()
"""Context manager, and decorator for functions whose bits must not depend on threads."""


STORED_ROWS = 4096
"""Above this many rows distances are recomputed in every pass (3 N² doubles are 400 MB)."""

Floats = NDArray[np.float64]
T = TypeVar("T")


class RowChunks:
    """Chunks of rows with about the same number of pairs (i, j > i), and threads to process them.

    Parameters
    ----------
    n : int
        Number of rows.
    pairs : int
        Approximate number of pairs in a chunk.
    most : int, optional
        Maximum number of chunks.
    threads : int
        Number of threads; sums are divided by chunks, never by threads.

    Notes
    -----
    While `summed` runs, no more than two arrays per thread are held besides the sum.
    """

    def __init__(self, n: int, pairs: int, most: int | None, threads: int) -> None:
        self.threads = max(1, threads)
        before = np.concatenate([[0], np.cumsum(np.arange(n - 1, -1, -1))])
        pieces = max(1, round(before[-1] / pairs))
        pieces = pieces if most is None else min(pieces, most)
        cuts = np.searchsorted(before, before[-1] * np.arange(pieces + 1) / pieces)
        cuts[0], cuts[-1] = 0, n
        self.chunks = [(int(a), int(b)) for a, b in pairwise(np.unique(cuts))]

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """The threads, which live as long as this object: starting them costs as much as a pass."""
        return ThreadPoolExecutor(self.threads)

    def __getstate__(self) -> dict[str, Any]:
        """Everything except the threads, so that fitted objects can be pickled."""
        return {name: value for name, value in vars(self).items() if name != "pool"}

    def each(self, work: Callable[[T], None], items: Sequence[T]) -> None:
        """Call `work` with every item."""
        if self.threads == 1 or len(items) <= 1:
            for item in items:
                work(item)
        else:
            list(self.pool.map(work, items))

    def each_chunk(self, work: Callable[[int, int], None]) -> None:
        """Call `work` with the first row of every chunk and the one after its last."""
        self.each(lambda chunk: work(*chunk), self.chunks)

    def summed(self, shape: tuple[int, ...], add: Callable[[Floats, int, int], None]) -> Floats:
        """The sum of arrays of `shape` that `add` fills for every chunk, in the order of chunks."""

        def part(chunk: tuple[int, int]) -> Floats:
            held = np.zeros(shape)
            add(held, *chunk)
            return held

        if len(self.chunks) == 1:
            return part(self.chunks[0])
        total = np.zeros(shape)
        if self.threads == 1:
            for chunk in self.chunks:
                total += part(chunk)
            return total
        waiting: deque[Future[Floats]] = deque()
        for chunk in self.chunks:
            if len(waiting) > self.threads:  # Otherwise all arrays might be in memory at once.
                total += waiting.popleft().result()
            waiting.append(self.pool.submit(part, chunk))
        for held in waiting:
            total += held.result()
        return total


def workers_within(run: Run, n_samples: int, n_features: int) -> int:
    """Number of fits that may run at a time: `run.threads`, or fewer if memory requires it.

    A fit holds up to three N × N arrays (none above 4096 rows), a few copies of the table, and
    eight A × A arrays if W is stored as a matrix. Only the number of concurrent fits is bounded
    here, so that results do not depend on it.
    """
    rows = min(n_samples, STORED_ROWS)
    each = 24 * rows * rows + 32 * n_samples * n_features
    each += min(64 * n_features * n_features, run.memory // 2)
    return int(max(1, min(run.threads, run.memory // max(1, each))))


def nominal_steps(
    X: Floats, nominal: NDArray[np.bool_], counts: Floats, standardize: bool
) -> Floats:
    """The step between different levels of every nominal column; 0 for columns of numbers.

    Parameters
    ----------
    X : (n, A) float64
        Nominal columns hold codes of levels, and none is constant.
    nominal : (A,) bool
    counts : (n,) float64
        How often each row was drawn.
    standardize : bool
        If false, the step is 1.

    Returns
    -------
    (A,) float64

    Notes
    -----
    In a column of mean 0 and standard deviation 1 the mean squared difference of two rows is 2, as
    it is in a nominal one with the step √(2 (n − 1) / (n (1 − Σ p²))), p the shares of its levels;
    for two levels this is the difference in the standardised column of numbers.

    Examples
    --------
    >>> X = np.array([[3.0], [7.0], [7.0], [7.0]])
    >>> step = nominal_steps(X, np.array([True]), np.ones(4), True)
    >>> bool(np.isclose(step[0], np.ptp(X) / X.std(ddof=1)))
    True
    """
    steps = np.zeros(X.shape[1])
    total = float(counts.sum())
    for a in np.flatnonzero(nominal):
        sizes = np.bincount(level_places(X[:, a])[0], weights=counts).astype(np.float64)
        steps[a] = step_of_levels(sizes, total) if standardize else 1.0
    return steps


def step_of_levels(sizes: Floats, total: float) -> float:
    """The step of a nominal column whose levels have `sizes` rows, of `total` rows.

    >>> round(step_of_levels(np.array([2.0, 2.0]), 4.0), 9)
    1.732050808
    """
    return float(np.sqrt(2.0 * max(total - 1.0, 1.0) / (total * unequal_share(sizes))))


def differences(X: Floats, Y: Floats, steps: Floats) -> Floats:
    """X − Y, (n, A) each, with the step where levels differ.

    >>> differences(np.array([[1.0, 4.0]]), np.array([[3.0, 9.0]]), np.array([0.0, 1.5]))
    array([[-2. ,  1.5]])
    """
    D = X - Y
    for a in np.flatnonzero(steps):
        D[:, a] = np.where(D[:, a] != 0.0, steps[a], 0.0)
    return D


@attrs.frozen(eq=False)
class Indicators:
    """The expansion of columns into blocks: one column for numbers, one per level for nominal ones.

    Parameters
    ----------
    steps : (A,) float64
        Steps of nominal columns; 0 for numbers.
    levels : tuple of A arrays
        Levels of nominal columns in the training rows; empty for numbers.
    block : (B,) int
        The original column of each expanded column, ascending.
    """

    steps: Floats
    levels: tuple[Floats, ...]
    block: NDArray[np.intp]

    @classmethod
    def of(cls, X: Floats, steps: Floats | None) -> Indicators | None:
        """The expansion for training rows `X`, (n, A); None if no column is nominal."""
        if steps is None or not steps.any():
            return None
        none = np.empty(0)
        levels = tuple(
            level_places(X[:, a])[1] if step > 0 else none for a, step in enumerate(steps.tolist())
        )
        sizes = [max(1, len(of_column)) for of_column in levels]
        return cls(steps, levels, np.repeat(np.arange(len(sizes)), sizes))

    def expand(self, X: Floats) -> Floats:
        """Rows (m, A) as (m, B). A level that is not in the training rows is one step from all."""
        out = np.zeros((len(X), len(self.block)))
        first = np.searchsorted(self.block, np.arange(len(self.steps)))
        for a, levels in enumerate(self.levels):
            place, k = first[a], len(levels)
            if not k:
                out[:, place] = X[:, a]
                continue
            has = X[:, a, None] == levels
            out[:, place : place + k] = np.where(has, 0.5 * self.steps[a], 0.0)
            # The same value u in every column of the block, with |u − ½| + (k − 1) u = 1 step.
            unseen = 1.5 / k if k < 4 else 0.5 / (k - 2)
            out[~has.any(axis=1), place : place + k] = unseen * self.steps[a]
        return out

    def expand_weights(self, weights: Floats) -> Floats:
        """Weights (A,) or (A, A) as those of the expanded columns."""
        return weights[np.ix_(*[self.block] * weights.ndim)]

    def sum_blocks(self, values: Floats, axes: tuple[int, ...]) -> Floats:
        """Sums over the columns of each block, along the given axes."""
        first = np.searchsorted(self.block, np.arange(len(self.steps)))
        for axis in axes:
            values = np.add.reduceat(values, first, axis=axis)
        return values


_BLOCK_BYTES, _BLOCK_COLUMNS, _LEAST_COLUMNS = 1 << 25, 64, 16
_ROWS = 256
"""Rows of a table in parts that are processed at a time, to stay in the processor's cache."""


@attrs.frozen(eq=False)
class Scaling:
    """Centre and scale of every column; constant columns have scale zero.

    Parameters
    ----------
    centre, scale : (A,) float64
        A scaled value is (x − centre) / scale.
    """

    centre: Floats
    scale: Floats

    @property
    def varying(self) -> NDArray[np.intp]:
        """Columns that are not constant."""
        return np.flatnonzero(self.scale > 0)

    def leaving(self, columns: NDArray[np.bool_]) -> Scaling:
        """The same scaling, except that these columns stay as they are."""
        kept = columns & (self.scale > 0)
        return Scaling(np.where(columns, 0.0, self.centre), np.where(kept, 1.0, self.scale))

    def apply_to_varying(self, X: Floats | Dataset) -> Floats:
        """The columns that are not constant in the learned scale, in row-major order.

        A Dataset is read some columns at a time.
        """
        varying = self.varying
        if isinstance(X, Dataset):
            out = np.empty((X.n_samples, varying.size))
            for a, b in X.column_blocks(_BLOCK_BYTES):
                i, j = np.searchsorted(varying, [a, b])
                out[:, i:j] = X.columns(a, b)[:, varying[i:j] - a]
        else:
            out = np.take(X, varying, axis=1)
        out -= self.centre[varying]
        out /= self.scale[varying]
        return out


def learn_scaling(
    X: Floats | Dataset, counts: Floats | None = None, standardize: bool = True
) -> Scaling:
    """The scaling of the columns of `X`; a row drawn c times counts c times.

    Parameters
    ----------
    X : (n, A) float64, finite, or a Dataset, which is read some columns at a time
    counts : (n,) float64, optional
        Bootstrap counts; 1 by default.
    standardize : bool
        If false, centre 0 and scale 1, or scale 0 for constant columns.

    Notes
    -----
    The denominator of the variance is Σc − 1, as in the papers' programs. A column whose spread is
    within rounding of its values is constant: its differences are rounding noise. Temporaries hold
    64 columns, or more if 32 MB allow it.

    Examples
    --------
    >>> learn_scaling(np.array([[1.0, 5.0], [3.0, 5.0]])).scale.round(3)
    array([1.414, 0.   ])
    """
    read = X.columns if isinstance(X, Dataset) else lambda a, b: X[:, a:b]
    n, features = X.matrix.shape if isinstance(X, Dataset) else X.shape
    weight = np.ones(n) if counts is None else np.asarray(counts, dtype=float)
    total = weight.sum()
    size, centre, spread = np.empty(features), np.empty(features), np.empty(features)
    constant = np.empty(features, dtype=bool)
    for a, b in _column_blocks(n, features):
        block = np.ascontiguousarray(read(a, b), dtype=np.float64)
        # Columns of the order 1e200 are scaled to 1 first, since their squares would overflow.
        size[a:b] = np.maximum(block.max(axis=0), -block.min(axis=0))
        size[a:b][size[a:b] == 0] = 1.0
        scaled = block / size[a:b]
        centre[a:b] = weight @ scaled / total
        scaled -= centre[a:b]
        scaled *= scaled
        spread[a:b] = np.sqrt(weight @ scaled / max(total - 1, 1.0))
        constant[a:b] = (block[0] == block).all(axis=0)
    return _scaling(size, centre, spread, constant, standardize)


def _scaling(
    size: Floats, centre: Floats, spread: Floats, constant: NDArray[np.bool_], standardize: bool
) -> Scaling:
    """The scaling of columns whose values divided by `size` have this centre and spread."""
    constant = constant | (spread <= 4 * np.finfo(float).eps)
    if standardize:
        return Scaling(centre * size, np.where(constant, 0.0, spread * size))
    return Scaling(np.zeros(len(size)), np.where(constant, 0.0, 1.0))


def _column_blocks(n: int, features: int) -> Iterator[tuple[int, int]]:
    """Ranges of columns of bounded size; results do not depend on the size.

    Matrix products process four or more columns at once, and the remaining few with other rounding.
    So ranges begin at multiples of 64, and if there are several, none has fewer than 16 columns.
    """
    width = max(1, _BLOCK_BYTES // (8 * n) // _BLOCK_COLUMNS) * _BLOCK_COLUMNS
    starts = list(range(0, features, width))
    if len(starts) > 1 and features - starts[-1] < _LEAST_COLUMNS:
        starts.pop()
    yield from pairwise([*starts, features])


def scaling_over_parts(
    data: Dataset, standardize: bool, memory: int, threads: int
) -> tuple[Scaling, Floats]:
    """The results of `learn_scaling` and `nominal_steps` for all rows of a table in parts.

    The table has no missing values, and nominal columns are not scaled. `memory` bounds the bytes
    of the rows that are read at a time.

    Notes
    -----
    Mean and variance are updated row by row (Welford), in the order of the rows: bits depend
    neither on how rows are divided, nor on memory or threads. They differ from those of a table in
    memory by rounding: less than 10⁻¹³ of a mean or of a standard deviation in the tests, 10⁻⁸ of
    that of a column whose spread is 10⁻⁹ of its values. O(n p) time; memory `memory`, and the
    levels of nominal columns.

    References
    ----------
    Welford 1962, Note on a method for calculating corrected sums of squares and products,
    Technometrics 4:419.
    """
    from fsframe_margin.engine.linear_kernels import add_rows

    n, p = data.n_samples, data.n_features
    facts = data.matrix.facts
    size = np.maximum(np.abs(facts.low), np.abs(facts.high))
    size[size == 0] = 1.0
    mean, squares = np.zeros(p), np.zeros(p)
    nominal = np.flatnonzero(data.categorical)
    levels: list[tuple[Floats, Floats]] = [(np.empty(0), np.empty(0))] * nominal.size
    cuts = np.linspace(0, p, min(threads, p) + 1).astype(int)
    shares = [slice(*bound) for bound in pairwise(cuts.tolist())]
    most = max(_ROWS, memory // (3 * data.matrix.dtype.itemsize * p))
    done = 0
    for block in data.matrix.blocks(most):

        def add(some: slice, block: NDArray[Any] = block, done: int = done) -> None:
            for first in range(0, len(block), _ROWS):
                rows = np.ascontiguousarray(block[first : first + _ROWS, some])
                add_rows(rows, size[some], done + first, mean[some], squares[some])

        in_threads(len(shares), add, shares)
        for k, column in enumerate(nominal):
            levels[k] = _with_levels(*levels[k], block[:, column])
        done += len(block)
    spread = np.sqrt(squares / max(n - 1, 1))
    scaling = _scaling(size, mean, spread, facts.low == facts.high, standardize)
    steps = np.zeros(p)
    for k, column in enumerate(nominal):
        if scaling.scale[column] > 0:
            steps[column] = step_of_levels(levels[k][1], float(n)) if standardize else 1.0
    return scaling.leaving(data.categorical), steps


def _with_levels(levels: Floats, sizes: Floats, values: NDArray[Any]) -> tuple[Floats, Floats]:
    """Levels in ascending order and their numbers of rows, updated with the values of more rows."""
    new_levels, more = np.unique(values, return_counts=True)
    both, place = np.unique(np.concatenate([levels, new_levels]), return_inverse=True)
    return both, np.bincount(place, weights=np.concatenate([sizes, more])).astype(np.float64)


@attrs.frozen(eq=False)
class Training:
    """The training data of a margin method.

    Parameters
    ----------
    X : (n, A) float64
        Scaled columns, without constant ones; nominal columns hold codes of their levels.
    y : (n,) int
        Class codes.
    outer : (n,) float64
        Weight of each row in the outer sum: bootstrap count times upstream instance weight
        (scaled to mean one over the draws).
    count : (n,) float64
        Bootstrap count: weight of each row as a neighbour.
    scaling : Scaling
        Scaling of all columns of the table.
    varying : (A,) int
        The columns of the table that X holds.
    n_features, n_classes : int
        Numbers of features and classes of the table.
    steps : (A,) float64
        The step between different levels of each nominal column, 0 for columns of numbers.
    groups : (n,) int, optional
        Rows of equal code stay together in inner folds.
    drawn_from : int
        Number of rows that prototypes were drawn from; zero if these are not prototypes.
    """

    X: Floats
    y: NDArray[np.int64]
    outer: Floats
    count: Floats
    scaling: Scaling
    varying: NDArray[np.intp]
    n_features: int
    n_classes: int
    steps: Floats
    groups: NDArray[np.int64] | None = None
    drawn_from: int = 0

    def spread(self, values: Floats) -> Floats:
        """Values of the varying columns, with zeros for constant ones; matrices likewise."""
        if len(self.varying) == self.n_features:
            return values
        out = np.zeros((self.n_features,) * values.ndim)
        out[np.ix_(*[self.varying] * values.ndim)] = values
        return out

    def rows(self, X: Floats) -> Floats:
        """New rows of the table in the learned scale, varying columns only."""
        return self.scaling.apply_to_varying(X)

    def released(self) -> Training:
        """A copy without the rows, to free their memory once they are held in another form."""
        return attrs.evolve(self, X=np.empty((0, self.X.shape[1])))


def take_training(
    name: str,
    X: Floats | Dataset,
    y: NDArray[Any],
    n_classes: int,
    counts: NDArray[Any] | None = None,
    importance: Floats | None = None,
    standardize: bool = True,
    nominal: NDArray[np.bool_] | None = None,
) -> Training:
    """The training rows of a table; `nominal` marks the columns that hold codes of levels.

    Raises
    ------
    DataError
        If every column is constant, or the importance of all rows is zero.
    """
    count, outer = row_weights(name, len(y), counts, importance)
    scaling = learn_scaling(X, count, standardize)
    nominal = np.zeros(len(scaling.scale), dtype=bool) if nominal is None else nominal
    if nominal.any():
        scaling = scaling.leaving(nominal)
    varying = varying_columns(name, scaling, len(y))
    kept = scaling.apply_to_varying(X)
    steps = nominal_steps(kept, nominal[varying], count, standardize)
    return Training(kept, y, outer, count, scaling, varying, len(scaling.scale), n_classes, steps)


def row_weights(
    name: str, n: int, counts: NDArray[Any] | None, importance: Floats | None
) -> tuple[Floats, Floats]:
    """Weights of n rows as neighbours and in the outer sum, `count` and `outer` of `Training`."""
    count = np.ones(n) if counts is None else np.asarray(counts, dtype=np.float64)
    if importance is None:
        return count, count
    mean = float(importance @ count) / count.sum()
    if not mean > 0:
        raise DataError(f"{name}: all upstream instance weights are zero")
    return count, count * (importance / mean)


def varying_columns(name: str, scaling: Scaling, n: int) -> NDArray[np.intp]:
    """The columns that are not constant in the n rows; refused if there are none."""
    varying = scaling.varying
    if not varying.size:
        raise DataError(
            f"{name}: all {len(scaling.scale)} columns are constant in the {n} rows; there is "
            "nothing to select from"
        )
    return varying


def features_of(data: Dataset) -> Floats | Dataset:
    """The features if they are in memory as float64, else the table itself.

    The table is read some columns at a time, so only the scaled copy takes eight bytes per value.
    """
    return data.X if data.in_memory and data.matrix.dtype == np.float64 else data


def training_of(
    name: str, data: Dataset, upstream: Selection | None, standardize: bool = True
) -> Training:
    """The training rows of a Dataset, weighted by the upstream instance weights."""
    importance = None if upstream is None else upstream.instance_weights
    taken = take_training(
        name, features_of(data), data.y, data.n_classes, data.counts, importance, standardize,
        data.categorical,
    )  # fmt: skip
    return taken if data.groups is None else attrs.evolve(taken, groups=data.groups)


def require_margins(name: str, training: Training) -> None:
    """Refuse rows none of which has both a hit and a miss.

    Raises
    ------
    DataError
        If only one class is present, or no class has a second member.
    """
    _, members = np.unique(training.y, return_counts=True)
    if members.size < 2 or members.max() < 2:
        raise DataError(
            f"{name}: {members.size} class{'es' * (members.size > 1)} of at most {members.max()} "
            "rows: no row has both another member of its class and a row of another class, so "
            "there is no margin"
        )


def row_notes(training: Training) -> Iterator[str]:
    """Warnings about the rows: classes with a single member, and prototypes."""
    labels, members = np.unique(training.y, return_counts=True)
    lonely = labels[members == 1]
    if lonely.size:
        yield (
            f"{lonely.size} of {labels.size} classes have one member, which has no hit: "
            "such rows have no margin and count as neighbours of others only"
        )
    if training.drawn_from:
        yield (
            f"learned from {len(training.y)} of {training.drawn_from} rows, weighted for their "
            "classes (prototypes); another seed draws others"
        )


ROW_BYTES = 80
"""Bytes per row for drawing: labels, two weights, and temporaries."""


def prototypes_parameter() -> Any:
    """The parameter `prototypes` of methods that can learn from a sample of the rows."""
    return param(
        None,
        optional(integer(4)),
        help="With more rows than this, learn from a sample of this many, weighted by class.",
        source="Zhao, Hong, Liu, §6, second direction",
    )


def drawn_prototypes(
    y: NDArray[np.integer], n: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """About `n` rows drawn without replacement, each class with its share and at least two rows.

    Examples
    --------
    >>> y = np.repeat([0, 1], [90, 10])
    >>> rows = drawn_prototypes(y, 20, np.random.default_rng(0))
    >>> np.bincount(y[rows]).tolist()
    [18, 2]
    """
    chosen = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        share = min(members.size, max(2, round(n * members.size / len(y))))
        chosen.append(generator.choice(members, size=share, replace=False))
    return np.sort(np.concatenate(chosen))


def with_prototypes(training: Training, n: int | None, generator: np.random.Generator) -> Training:
    """`training` with about `n` of its rows, weighted to represent those of their class.

    The rows keep their order; all are taken if `n` is None or not below their number. Row weights
    are scaled within each class, in the outer sum and as neighbours, so that each class counts as
    much as before: sums over rows and over neighbours keep their expectations, and the cost and Σ
    differ from those of all rows by sampling error of the order 1/√n.
    """
    if n is None or n >= len(training.y):
        return training
    rows = drawn_prototypes(training.y, n, generator)
    outer, count = _scaled_weights(rows, training.y, training.outer, training.count)
    return attrs.evolve(
        training,
        X=np.ascontiguousarray(training.X[rows]),
        y=training.y[rows],
        outer=outer,
        count=count,
        groups=None if training.groups is None else training.groups[rows],
        drawn_from=len(training.y),
    )


def prototypes_over_parts(
    name: str,
    data: Dataset,
    upstream: Selection | None,
    standardize: bool,
    n: int,
    generator: np.random.Generator,
    run: Run,
) -> Training:
    """The training rows of `with_prototypes` for a table in parts.

    Two passes over the rows: the first learns the scale of the columns from all rows, the second
    reads the drawn rows, which are the same as for the table in memory.

    Raises
    ------
    RequestError
        If the arrays per row do not fit in memory.
    DataError
        If every column is constant, or the importance of all rows is zero.
    """
    run.must_hold(
        ROW_BYTES * data.n_samples + 8 * min(n, data.n_samples) * data.n_features,
        f"{name}: {ROW_BYTES} bytes for each of {data.n_samples} rows, and {n} prototypes,",
        "draw fewer, or put a filter such as mim:top=100 before",
    )
    importance = None if upstream is None else upstream.instance_weights
    count, outer = row_weights(name, data.n_samples, data.counts, importance)
    scaling, steps = scaling_over_parts(data, standardize, run.memory // 4, run.threads)
    varying = varying_columns(name, scaling, data.n_samples)
    rows = drawn_prototypes(data.y, n, generator)
    outer, count = _scaled_weights(rows, data.y, outer, count)
    drawn = data.take_rows(rows)
    return Training(
        X=scaling.apply_to_varying(drawn.X),
        y=drawn.y,
        outer=outer,
        count=count,
        scaling=scaling,
        varying=varying,
        n_features=data.n_features,
        n_classes=data.n_classes,
        groups=drawn.groups,
        drawn_from=data.n_samples,
        steps=steps[varying],
    )


def _scaled_weights(
    rows: NDArray[np.intp], y: NDArray[np.int64], *weights: Floats
) -> Iterator[Floats]:
    """Weights of the drawn rows, scaled to the total weight of each class."""
    for of_rows in weights:
        sample = of_rows[rows].copy()
        for label in np.unique(y):
            in_class = y[rows] == label
            total = sample[in_class].sum()
            # Instance weights may be zero for a class, or for all its drawn rows.
            if total > 0:
                sample[in_class] *= of_rows[y == label].sum() / total
        yield sample
