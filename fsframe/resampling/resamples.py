"""Stages that resample another selector or a chain: their base class, selections on many resamples,
computed or from a checkpoint, and null hypotheses for them.
"""

from __future__ import annotations

import re
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from typing import Any, ClassVar, final

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain
from fsframe.chains.stage import most_tables_held
from fsframe.errors import PluginError, RequestError
from fsframe.execution.engine import engine_of
from fsframe.kinds import MOST_TIMES
from fsframe.method.run import Run, size_text
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.method.stage_view import Base, in_whole_table, local_upstream
from fsframe.params import optional, param, stages
from fsframe.registry import in_stage
from fsframe.resampling.dispatch import (
    Batches,
    Call,
    Draws,
    compute,
    needed_by,
    over_resamples,
    portable,
    row_fields,
    rows_of,
)
from fsframe.resampling.groups import FEWEST_GROUPS
from fsframe.storage.unit_bytes import pack_selections, unpack_selections
from fsframe.storage.unit_files import Unit, call_key
from fsframe.table.dataset import Dataset
from fsframe.table.side_columns import time_blocks

__all__ = ["Base", "WrappingSelector"]


@attrs.frozen(kw_only=True)
class WrappingSelector(Selector):
    """Base of stages that resample another selector; authors write `_select_wrapped`.

    Without `base`, everything on the left in the chain is wrapped, screening included, so that all
    steps that use labels are inside the resample. With `base`, it is an ordinary stage.

    Attributes
    ----------
    reads_own_base : bool
        Whether `base` may be more than a chain that selects (one with a classifier, or with sets of
        values) and is checked by the class itself; otherwise the chain that holds the stage parses
        it when it is built.
    tasks_of_base : bool
        Whether, besides `tasks`, those of the first stage of `base` are supported, because the
        method uses labels through its base alone.
    takes_kept : bool
        False: counting how often columns are selected makes no sense for those that always are. A
        method that does not count sets True.
    takes_weights : bool
        False: a resample draws single rows, whatever their weight.
    reads_columns : bool
        True: the base decides.
    takes_nominal : bool
        True: the base decides.
    takes_time : bool
        False unless the resamples draw blocks of time (`Dataset.together`).
    takes_groups : bool
        False unless the resamples keep groups of rows together (`fsframe.resampling.groups`):
        otherwise a table with groups raises an error.
    """

    wrapping: ClassVar[bool] = True
    reads_own_base: ClassVar[bool] = False
    tasks_of_base: ClassVar[bool] = False
    takes_counts: ClassVar[bool] = True
    reads_columns: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = False
    takes_nominal: ClassVar[bool] = True
    takes_kept: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = False
    takes_time: ClassVar[bool] = False

    base: str | None = param(
        None,
        optional(stages()),
        help="Selector or chain to resample; by default everything on its left.",
    )

    def chains_of_base(self) -> tuple[Chain, ...]:
        """The chains that `base` stands for: one, or none without it.

        A class that reads its own base gives those that it makes from it.
        """
        return () if self.base is None else (Chain.parse(self.base),)

    def _texts_of_base(self, told: Callable[[Chain], Iterator[str]]) -> Iterator[str]:
        """The texts that `told` yields for the chains of `base`, each once."""
        yield from dict.fromkeys(text for chain in self.chains_of_base() for text in told(chain))

    def check_request(self, data: Dataset) -> Iterator[str]:
        """Problems of stages of `base` with the table; authors who override this include them."""
        yield from self._texts_of_base(lambda chain: chain.request_problems(data))

    def first_problems(self) -> Iterator[str]:
        """Problems of the first stages of `base` without a stage on their left."""
        yield from self._texts_of_base(lambda chain: chain.first_problems())

    def role_problems(self, data: Dataset) -> Iterator[str]:
        """Problems of this stage, and of stages of `base`."""
        yield from super().role_problems(data)
        seen = self.seen_by_base(data.without_adjusting() if self.adjusts_base() else data)
        yield from self._texts_of_base(lambda chain: chain.role_problems(seen))

    def missing_problems(self, data: Dataset) -> Iterator[str]:
        """Problem of this stage, or of the first stages of `base`, with missing values."""
        yield from super().missing_problems(data)
        yield from self._texts_of_base(lambda c: c.stages[0].method.missing_problems(data))

    def seen_by_base(self, data: Dataset) -> Dataset:
        """A table with the columns and roles of the tables that `base` receives.

        Authors whose stage passes parts of a table in parts, each in memory, override this.
        """
        return data

    def stretch_problems(self, data: Dataset) -> Iterator[str]:
        """Problem with too few blocks to draw from, if groups are kept whole in the order of time.

        Authors whose resamples draw blocks of time include it in `role_problems`.
        """
        if data.when is None or data.groups is None:
            return
        assert data.times is not None
        many = np.unique(time_blocks(data.when)).size
        if many < FEWEST_GROUPS:
            time = data.times.names[0]
            yield (
                f"{self.method_name()} resamples blocks of {time!r} that hold whole groups "
                f"({data.group_name!r}), and groups that overlap in time share a block: "
                f"{data.n_groups} groups make {many} blocks, and at least {FEWEST_GROUPS} are "
                f"needed; leave out the time (--drop {time}) or the groups"
            )

    def adjusts(self) -> bool:
        """True: the base decides, unless `adjusts_base`."""
        return True

    def forewarnings(self, data: Dataset, n_tests: int | None) -> Iterator[str]:
        """Warnings of this stage, and of the stages of `base`."""
        yield from super().forewarnings(data, n_tests)
        yield from self._texts_of_base(lambda chain: chain.forewarnings(data))
        if not self.reads_own_base:
            own = f"{self.method_name()}: "
            for text in self._texts_of_base(lambda base: self.said_of_base(base, data, n_tests)):
                yield text.removeprefix(own)

    def tasks_taken(self) -> frozenset[str]:
        """`tasks`, and with `tasks_of_base` also those of the first stage of `base`."""
        if self.base is None or not self.tasks_of_base:
            return self.tasks
        first = Chain.parse(self.base).stages[0].method
        return self.tasks | first.tasks if isinstance(first, Selector) else self.tasks

    def tables_held(self, n_features: int) -> float:
        """The largest number of copies that a stage of `base` holds."""
        if self.base is None:
            return 0.0
        methods = [stage.method for stage in Chain.parse(self.base).stages]
        return most_tables_held(methods, n_features)

    def bytes_for_rows(self, n_samples: int) -> int:
        """The largest number of bytes of a stage of the chains of `base`."""
        stages = [stage for chain in self.chains_of_base() for stage in chain.stages]
        return max((stage.method.bytes_for_rows(n_samples) for stage in stages), default=0)

    def rows_copied(self) -> float:
        """One copy: the rows of a resample."""
        return 1.0

    def _select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        """The author's part: resample `base` on `data`, and select among the columns of `data`.

        `upstream` is the selection of the wrapped chain on the whole table or, with `base`, that of
        the stage on the left.
        """
        raise NotImplementedError

    def _select(self, data: Dataset, upstream: Selection | None, run: Run) -> Selection:
        if self.base is None:
            raise RequestError(
                f"{self.method_name()} resamples another selector: put one on its left "
                f"(`immigrate {self.method_name()}`) or name it (`{self.method_name()}:base=mim`)"
            )
        return self._select_wrapped(Chain.parse(self.base), data, upstream, run)

    def select_wrapped(
        self, base: Base, data: Dataset, upstream: Selection | None, run: Run
    ) -> Selection:
        """The selection of this stage on the whole table `data`, resampling `base`."""
        self.check_roles(data)
        every = np.arange(data.n_features)
        local, rows, notes = self._localise(data)
        arrived = local_upstream(upstream, every, rows)
        with in_stage(type(self), self.method_name()):
            selection = self._select_wrapped(base, local, arrived, run)
        self._check(selection, local)
        return in_whole_table(selection, local, data, every, rows, upstream, notes)


class Null:
    """The null hypothesis that a feature is selected by chance; it has no parameters.

    Derive from `RelabellingNull` or `CountNull`.

    Attributes
    ----------
    promise : str
        Guarantee of the test about a selected feature and the rate of false selections; stored with
        every run and shown in its report.
    holds_level : bool
        Whether at most a share alpha of the features is selected if the label carries no
        information. If not, every run has a warning.
    """

    promise: ClassVar[str] = ""
    holds_level: ClassVar[bool] = True


class RelabellingNull(Null):
    """A null with permuted labels, on which the base is run as on the true ones.

    The test is exact if these labels are exchangeable with the true ones when no feature is
    relevant.
    """

    @final
    def labels(self, data: Dataset, generator: np.random.Generator) -> NDArray:
        """Labels under the null hypothesis.

        Returns
        -------
        (n_samples,) as ``data.y``

        Raises
        ------
        PluginError
            If the author's code fails, or returns labels that this table cannot have.
        """
        with in_stage(type(self), type(self).__name__, "null"):
            labels = np.asarray(self._labels(data, generator))
        name = f"null {type(self).__name__}"
        if labels.shape != data.y.shape or labels.dtype != data.y.dtype:
            raise PluginError(
                f"{name} returned labels of shape {labels.shape} of {labels.dtype}; the table has "
                f"{data.y.shape} of {data.y.dtype}"
            )
        if not np.isin(labels, data.y).all():
            raise PluginError(f"{name} returned labels that the table does not have")
        return labels

    @abstractmethod
    def _labels(self, data: Dataset, generator: np.random.Generator) -> NDArray:
        """New labels for the rows of `data`, of the same shape and type.

        Draw from `generator` only; do not change `data`. If ``data.groups`` is given, rows of one
        group belong together: see `fsframe.resampling.groups.permuted_labels`.
        """


class CountNull(Null):
    """The distribution of a count under the null; the base runs on resamples of the true label
    only.

    Attributes
    ----------
    fraction : float
        Default number of rows per bootstrap, as a share of all rows.
    at_least : bool
        Whether a count that equals the critical value is relevant.
    own_resamples : bool
        Whether `_resamples` gives the rows of each resample, instead of bootstraps.
    """

    fraction: ClassVar[float] = 1.0
    at_least: ClassVar[bool] = False
    own_resamples: ClassVar[bool] = False

    @final
    def tail(self, kept: NDArray[np.int64], cells: int, bias: float) -> NDArray[np.float64]:
        """P(Z ≥ z) of a count Z under the null, for z = 0 … n + 1 with n resamples.

        Raises
        ------
        PluginError
            If the author's code fails, or returns another array.
        ValueError
            If the author's code raises it, such as for a bias that makes a probability exceed one.
        """
        with in_stage(type(self), type(self).__name__, "null"):
            try:
                tail = np.asarray(self._tail(kept, cells, bias), dtype=np.float64)
            except ValueError as error:
                # A refusal of the author's, for the caller to report.
                error.from_outside = True  # type: ignore[attr-defined]
                raise
        falls = tail.shape == (kept.size + 2,) and (np.diff(tail) <= 1e-12).all()
        if not falls or abs(tail[0] - 1) > 1e-9 or tail[-1] != 0:
            raise PluginError(
                f"null {type(self).__name__} gave no valid tail: it must be {kept.size + 2} "
                "numbers that fall from 1 to 0, P(Z ≥ z) for z = 0 … n + 1"
            )
        return tail

    @final
    def resamples(self, data: Dataset, n: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """How often each row is in each of n resamples, (n, n_samples)."""
        with in_stage(type(self), type(self).__name__, "null"):
            counts = np.asarray(self._resamples(data, n, generator))
        if counts.shape != (n, data.n_samples) or counts.dtype.kind not in "iu" or counts.min() < 0:
            raise PluginError(
                f"null {type(self).__name__} gave no counts of {data.n_samples} rows in {n} "
                "resamples"
            )
        return counts

    @abstractmethod
    def _tail(self, kept: NDArray[np.int64], cells: int, bias: float) -> NDArray[np.float64]:
        """The tail of the null distribution of a count.

        Parameters
        ----------
        kept : (n,) int64
            Number of features (pairs) that each resample selects.
        cells : int
            Number of features (pairs) that can be selected.
        bias : float
            β, added to the probability of being selected.
        """

    def _resamples(
        self, data: Dataset, n: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """How often each row is in each resample; called only with `own_resamples`."""
        raise NotImplementedError


_NUMBER = re.compile(r"\d[\d.]*(e[+-]?\d+)?")
_LIST = re.compile(r"'?#'?(?:, '?#'?)*(?: and # more)?")

# Least memory per resample: its number, its labelling, its result and their objects.
_LEAST_BYTES = 200

# Results that are finished out of order and not yet consumed: above this size, later work waits.
_AHEAD_BYTES = 1 << 28


def select_resamples(
    base: Base,
    data: Dataset,
    counts: NDArray[np.integer[Any]] | Draws,
    run: Run,
    *,
    upstream: Selection | None = None,
    label: str = "resamples",
    parts: Collection[str] = ("scores", "weights", "pair_weights", "instance_weights", "tables"),
) -> Iterator[Selection]:
    """The selection of `base` on each resample of `data`, in order.

    Parameters
    ----------
    base : Base
        A chain, a selector, or anything with their `select_many`. It may have ``borders``,
        numbers of resamples at which a batch should begin, and ``kind``, the text under which its
        pace is stored (its own text by default).
    data : Dataset
        The table that the counts refer to; its own counts are ignored.
    counts : (n_resamples, n_samples) int, or Draws
        How often each resample draws each row. `Draws` need no memory for all of them, and are not
        sent to other processes.
    run : Run
        Resample b draws from part b of `run`, however the work is divided into batches. With
        `run.executor` resamples are computed there; with `run.checkpoint` finished ones are stored,
        and those stored by an earlier attempt are not computed again.
    upstream : Selection, optional
        The selection of the stage on the left of `base`.
    label : str
        Name of the resamples in progress reports.
    parts : collection of str
        Requested parts of each Selection besides the kept columns and the warnings: of "scores",
        "weights", "pair_weights", "instance_weights", "tables" and "model". The others are empty
        (scores: NaN). Request little: it is sent between processes and stored on disk.

    Yields
    ------
    Selection
        One for each resample.

    Raises
    ------
    EngineError
        If the workers are lost.
    StoreError
        If a finished unit cannot be stored.
    RequestError
        If `base` cannot be sent to other processes.

    Notes
    -----
    Batches grow until one takes about half a second, so that progress is reported often, sending a
    task costs little compared with doing it, and a method with a fast algorithm for many resamples
    can use it. Results do not depend on the batches, on who computed them, or on interruptions.
    Results that are finished out of order wait in memory, at most 256 MB of them.
    """
    resampling = _Resampling(base, data, counts, run, upstream, frozenset(parts))
    total, done = len(counts), 0
    run.progress(0, total, label)
    for selections in resampling.batches():
        yield from selections
        done += len(selections)
        run.progress(done, total, label)


def too_many(resamples: int, how: str) -> Iterator[str]:
    """The problem with a request for too many resamples, for `Parameterised.check_parameters`.

    Parameters
    ----------
    resamples : int
        Number of fits requested.
    how : str
        The parameters that determine it, such as ``"n=50 with permutations=4294967296"``.

    Examples
    --------
    >>> next(too_many(10**12, "n=10^12"))
    'n=10^12 means 1e+12 fits, and 186264.5 GiB to keep track of them; at most 1e+08 are allowed'
    """
    if resamples > MOST_TIMES:
        yield (
            f"{how} means {resamples:.6g} fits, and {size_text(_LEAST_BYTES * resamples)} to keep "
            f"track of them; at most {MOST_TIMES:g} are allowed"
        )


class Recurring:
    """Counts of warnings; those that differ only in numbers, or in lists of `names`, count as one.

    Examples
    --------
    >>> notes = Recurring()
    >>> for step in ("1.4e-05", "0.002"):
    ...     notes.add([f"the last step was {step}", "few rows"])
    >>> list(notes.lines(3, "resamples"))
    ['in 2 of 3 resamples, such as: the last step was 1.4e-05', 'in 2 of 3 resamples: few rows']
    >>> notes = Recurring(["age", "age at death", "sex"])
    >>> for text in ("no values in age, sex", "no values in age at death, age and 2 more"):
    ...     notes.add([text])
    >>> list(notes.lines(2, "copies"))
    ['in 2 of 2 copies, such as: no values in age, sex']
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        # Longer names first, since a name may begin with another.
        listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        self._names = re.compile(rf"(?<!\w)(?:{listed})(?!\w)") if listed else None
        self._times: dict[str, int] = {}
        self._first: dict[str, str] = {}
        self._vary: set[str] = set()

    def add(self, warnings: Iterable[str]) -> None:
        """Count the warnings of one resample."""
        kinds = set()
        for text in warnings:
            kind = text if self._names is None else self._names.sub("#", text)
            kind = _LIST.sub("#", _NUMBER.sub("#", kind))
            if self._first.setdefault(kind, text) != text:
                self._vary.add(kind)
            kinds.add(kind)
        for kind in sorted(kinds):
            self._times[kind] = self._times.get(kind, 0) + 1

    def lines(self, total: int, resamples: str) -> Iterator[str]:
        """One line for each kind of warning, in the order of first occurrence."""
        for kind, text in self._first.items():
            varies = ", such as" if kind in self._vary else ""
            yield f"in {self._times[kind]} of {total} {resamples}{varies}: {text}"


@attrs.frozen(eq=False)
class _Resampling:
    """One call of `select_resamples`."""

    base: Base
    data: Dataset
    counts: NDArray[np.integer[Any]] | Draws
    run: Run
    upstream: Selection | None
    parts: frozenset[str]

    def batches(self) -> Iterator[list[Selection]]:
        """The results in order, a list at a time, from the checkpoint or computed."""
        data = self.data
        batches = Batches(
            self.run.pace,
            f"{getattr(self.base, 'kind', self.base)} {data.n_samples}x{data.n_features}",
            borders=getattr(self.base, "borders", ()),
            most=self.run.memory // 4 // (8 * data.n_samples),
        )
        call, known = self._known()
        total = len(self.counts)
        stops = [0, *(unit.stop for unit in known.values())]
        gaps = [gap for gap in zip(stops, [*known, total], strict=True) if gap[0] < gap[1]]
        shape = (data.n_features, data.n_samples)
        ready: dict[int, tuple[int, list[Selection] | bytes]] = {}
        place = 0

        def may_start(start: int) -> bool:
            held = sum(len(found) for _, found in ready.values())
            return start == place or held < _AHEAD_BYTES

        fresh = self._fresh(gaps, batches, may_start)
        try:
            while place < total:
                if place in known:
                    # Checked, since a unit on disk may hold anything; new results were checked.
                    selections, _ = unpack_selections(self.run.checkpoint.load(known[place]), shape)
                    place = known[place].stop
                elif place in ready:
                    place, found = ready.pop(place)
                    selections = unpack_selections(found)[0] if isinstance(found, bytes) else found
                else:
                    start, stop, found = next(fresh)
                    if self.run.checkpoint is not None:
                        content = found if isinstance(found, bytes) else pack_selections(found)
                        self.run.checkpoint.commit(Unit(call, start, stop), content)
                    ready[start] = (stop, found)
                    continue
                yield selections
        finally:
            fresh.close()

    def _here(
        self, gaps: list[tuple[int, int]], batches: Batches
    ) -> Iterator[tuple[int, int, list[Selection]]]:
        """Start, stop and results of batches that this process computes."""
        for start, end in gaps:
            while start < end:
                stop = batches.stop(start, end)
                began = time.perf_counter()
                run = self.run.batch(start)
                rows = rows_of(self.counts, self.data, start, stop)
                selections = compute(self.base, self.data, rows, self.upstream, run, self.parts)
                batches.record(stop - start, time.perf_counter() - began)
                yield start, stop, selections
                start = stop

    def _known(self) -> tuple[str, dict[int, Any]]:
        """The key of this call in the checkpoint, and its finished units, ordered, by start."""
        checkpoint = self.run.checkpoint
        if checkpoint is None:
            return "", {}
        given = self.counts if isinstance(self.counts, np.ndarray) else None
        call = call_key(
            "select",
            f"{self.base} on {self.counts}" if given is None else str(self.base),
            self.data.with_counts(None),
            self.run,
            upstream=self.upstream,
            counts=given,
            parts=self.parts,
        )
        units = checkpoint.units(call)
        return call, {unit.start: unit for unit in units if unit.stop <= len(self.counts)}

    def _fresh(
        self, gaps: list[tuple[int, int]], batches: Batches, may_start: Callable[[int], bool]
    ) -> Generator[tuple[int, int, list[Selection] | bytes], None, None]:
        """Start, stop and results of missing resamples, in the order of completion; packed if they
        come from a worker."""
        data, run = self.data, self.run
        if run.executor is None:
            yield from self._here(gaps, batches)
            return
        base = portable(self.base)
        call = Call(
            base=base,
            rows=row_fields(data),
            run=attrs.evolve(run.quiet(), threads=1, pace={}),
            parts=self.parts,
            draws=None if isinstance(self.counts, np.ndarray) else self.counts,
            upstream=None if self.upstream is None else pack_selections([self.upstream]),
            software=needed_by(base, self.counts),
        )
        with engine_of(run.executor) as engine:
            yield from over_resamples(engine, data, call, self.counts, batches, gaps, may_start)
