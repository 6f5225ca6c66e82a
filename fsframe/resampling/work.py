"""What is sent to a worker, what it does, and what it sends back."""

from __future__ import annotations

import os
import pickle
import socket
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain
from fsframe.contracts.column_kinds import ColumnKind
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.roles import SideColumns
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe.errors import FsframeError, PluginError, RequestError
from fsframe.execution.shared_values import Parcel, Shared, ValueMissing, fetch
from fsframe.execution.worker_versions import differences, found_here, refusal
from fsframe.storage.units.selection_bytes import pack_selections, reduced, unpack_selections

__all__ = [
    "Answer",
    "Call",
    "Draws",
    "Table",
    "Task",
    "compute",
    "portable",
    "rows_of",
    "split",
    "work",
]


class Draws(Protocol):
    """Counts that are drawn where they are needed, which may be in another process.

    What is drawn depends on the number of the resample alone. It has to be picklable, and its text
    has to say all that the counts depend on besides the table, since checkpoints go by it.
    """

    def __len__(self) -> int: ...

    def rows(self, data: Dataset, start: int, stop: int) -> NDArray[np.integer[Any]]:
        """The counts of resamples `start` … `stop` − 1, (stop − start, n_samples)."""
        ...


@attrs.frozen(kw_only=True, eq=False)
class Table:
    """The part of a Dataset that is large and seldom changes: columns and names, not the label."""

    matrix: Any
    feature_names: tuple[str, ...]
    categorical: NDArray[np.bool_]
    kinds: Mapping[str, ColumnKind]
    keep: NDArray[np.bool_] | None = None
    feature_groups: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Call:
    """What all tasks of one call of `select_resamples` have in common, besides the table.

    A chain travels as its canonical text, and the worker looks its names up in its own registry;
    `software` are the versions of everything that it will find there, as they must be.
    """

    base: Any
    y: NDArray[Any]
    classes: tuple[Any, ...]
    name: str
    label_name: str
    task: str
    entropy: int
    key: tuple[int, ...]
    first: int
    memory: int
    route_memory: int | None
    parts: frozenset[str]
    groups: NDArray[Any] | None = None
    group_name: str = ""
    times: SideColumns | None = None
    covariates: SideColumns | None = None
    draws: Any = None
    upstream: bytes | None = None
    software: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True, eq=False)
class Task:
    """Resamples `start` … `stop` - 1 of a call; their counts, unless the call draws them."""

    start: int
    stop: int
    counts: NDArray[Any] | None


@attrs.frozen(kw_only=True, eq=False)
class Answer:
    """The packed results of a task, and the seconds they took; or why there are none.

    That is the tokens that were lacking, or a sentence about versions that differ.
    """

    content: bytes = b""
    seconds: float = 0.0
    lacking: tuple[str, ...] = ()
    differing: str = ""


def portable(base: Any) -> Any:
    """What stands for `base` on the way to a worker.

    Its text where that says everything; else the object, which works where the worker can import
    its class.

    Raises
    ------
    RequestError
        If neither is possible.
    """
    if isinstance(base, Chain):
        try:
            if Chain.parse(str(base)) == base:
                return str(base)
        except FsframeError:
            pass
    try:
        pickle.dumps(base)
    except Exception as error:
        raise RequestError(
            f"`{base}` cannot be sent to other processes ({error}): publish the method as a "
            "plugin, or define it in a module, or run without an executor"
        ) from None
    return base


def split(data: Dataset) -> Table:
    """The large part of `data`; a table on disk goes as it is if it can, else as an array."""
    matrix = data.matrix
    if not data.nbytes:
        try:
            pickle.dumps(matrix)
        except (TypeError, AttributeError, pickle.PicklingError):
            matrix = data.X
    return Table(
        matrix=matrix,
        feature_names=data.feature_names,
        categorical=data.categorical,
        kinds=data.kinds,
        keep=data.keep,
        feature_groups=data.feature_groups,
    )


class Prepared:
    """A call as a worker keeps it: its base built, its table joined with its label."""

    def __init__(self, table: Table, call: Call) -> None:
        self._table, self._call = table, call

    @cached_property
    def base(self) -> Any:
        base = self._call.base
        return Chain.parse(base) if isinstance(base, str) else base

    @cached_property
    def data(self) -> Dataset:
        table, call = self._table, self._call
        for array in (table.matrix, table.categorical, call.y, call.groups):
            # Compiled kernels take frozen arrays as another type: as in the parent, so here.
            if isinstance(array, np.ndarray) and array.flags.writeable:
                array.setflags(write=False)
        return Dataset(
            matrix=table.matrix,
            y=call.y,
            classes=call.classes,
            feature_names=table.feature_names,
            categorical=table.categorical,
            kinds=table.kinds,
            keep=table.keep,
            feature_groups=table.feature_groups,
            times=call.times,
            covariates=call.covariates,
            name=call.name,
            label_name=call.label_name,
            task=call.task,
            groups=call.groups,
            group_name=call.group_name,
        )

    @cached_property
    def upstream(self) -> Selection | None:
        if self._call.upstream is None:
            return None
        return unpack_selections(self._call.upstream)[0][0]

    @cached_property
    def run(self) -> Run:
        call = self._call
        return Run(
            entropy=call.entropy,
            key=call.key,
            first=call.first,
            memory=call.memory,
            route_memory=call.route_memory,
            threads=1,
        )


def _prepare(table: Shared | Parcel, call: Shared | Parcel) -> Prepared:
    """The prepared call; kept with the call, so that both go together."""
    found: Call = fetch(call)
    prepared: Prepared = vars(found).setdefault("prepared", Prepared(fetch(table), found))
    return prepared


def rows_of(counts: Any, data: Dataset, start: int, stop: int) -> NDArray[np.integer[Any]]:
    """The counts of some resamples, looked up or drawn."""
    if isinstance(counts, np.ndarray):
        return counts[start:stop]
    drawn: NDArray[np.integer[Any]] = counts.rows(data, start, stop)
    return drawn


def compute(base: Any, data: Dataset, counts: NDArray[Any], upstream: Selection | None, run: Run,
            parts: frozenset[str]) -> list[Selection]:  # fmt: skip
    """What `base` keeps of each resample, without the parts that nobody asked for."""
    found = base.select_many(data, counts, upstream, run.quiet())
    return [reduced(selection, parts) for selection in found]


def work(table: Shared | Parcel, call: Shared | Parcel, task: Task) -> Answer:
    """Do a task; this is what executors are handed."""
    lacking = []
    for reference in (table, call):
        try:
            fetch(reference)
        except ValueMissing as error:
            lacking.append(error.token)
    if lacking:
        return Answer(lacking=tuple(lacking))
    asked: Call = fetch(call)
    differing = _differing(asked)
    if differing:
        return Answer(differing=differing)
    prepared = _prepare(table, call)
    local = isinstance(table, Shared) and table.pid == os.getpid()
    return _sendable(lambda: _work(prepared, asked, task, one_thread=not local))


def _differing(call: Call) -> str:
    """What is wrong with the versions here; nothing in most cases. Looked at once for each call."""
    told: str | None = vars(call).get("differing")
    if told is None:
        found = differences(call.software, found_here(call.software))
        told = refusal(f"process {os.getpid()} on {socket.gethostname()}", found) if found else ""
        vars(call)["differing"] = told
    return told


def _work(prepared: Prepared, call: Call, task: Task, *, one_thread: bool) -> Answer:
    if one_thread:
        _limit_threads()
    # Imports and look-ups are not the resamples' time.
    base, data, upstream = prepared.base, prepared.data, prepared.upstream
    began = time.perf_counter()
    run = prepared.run.batch(task.start)
    if task.counts is None:
        counts = rows_of(call.draws, data, task.start, task.stop)
    else:
        counts = task.counts
    found = compute(base, data, counts, upstream, run, call.parts)
    seconds = time.perf_counter() - began
    return Answer(content=pack_selections(found, seconds), seconds=seconds)


_limited = False


def _limit_threads() -> None:
    """One thread for linear algebra here; what `start_worker` set may have come too late."""
    global _limited
    if not _limited:
        import threadpoolctl

        threadpoolctl.threadpool_limits(1)
        _limited = True


def _sendable(function: Callable[[], Answer]) -> Answer:
    """The function's answer; what it raises is made such that it can travel."""
    try:
        return function()
    except FsframeError:
        raise
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise PluginError(f"a worker failed: {type(error).__name__}: {error}") from None
        raise
