"""What is sent to a worker, what it does, and what it sends back."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe.errors import FsframeError, PluginError, RequestError
from fsframe.execution.shared_values import Parcel, Shared, ValueMissing, fetch
from fsframe.execution.worker_versions import refusal_here
from fsframe.storage.units.selection_bytes import pack_selections, reduced, unpack_selections

__all__ = [
    "Answer",
    "Call",
    "Draws",
    "Task",
    "column_fields",
    "compute",
    "portable",
    "row_fields",
    "rows_of",
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


_OF_COLUMNS = ("matrix", "feature_names", "categorical", "kinds", "keep", "feature_groups")
_OF_ROWS = (
    "y", "classes", "name", "label_name", "task", "groups", "group_name", "times", "covariates",
)  # fmt: skip


def column_fields(data: Dataset) -> dict[str, Any]:
    """The large part of `data`, which seldom changes: its columns, without the label.

    A table on disk goes as it is if it can, else as an array.
    """
    fields = {name: getattr(data, name) for name in _OF_COLUMNS}
    if not data.nbytes:
        try:
            pickle.dumps(data.matrix)
        except (TypeError, AttributeError, pickle.PicklingError):
            fields["matrix"] = data.X
    return fields


def row_fields(data: Dataset) -> dict[str, Any]:
    """The label of `data` and the roles of its rows, without their counts."""
    return {name: getattr(data, name) for name in _OF_ROWS}


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Call:
    """What all tasks of one call of `select_resamples` have in common, besides the table.

    A chain travels as its canonical text, and the worker looks its names up in its own registry;
    `software` are the versions of everything that it will find there, as they must be.
    """

    base: Any
    rows: Mapping[str, Any]
    run: Run
    parts: frozenset[str]
    draws: Any = None
    upstream: bytes | None = None
    software: Mapping[str, str] = attrs.field(factory=dict)

    @cached_property
    def refusal(self) -> str:
        """Why this process may not do the call's tasks; empty if it may."""
        return refusal_here(self.software)


@attrs.frozen(kw_only=True, eq=False)
class Task:
    """Resamples `start` … `stop` - 1 of a call; their counts, unless the call draws them."""

    start: int
    stop: int
    counts: NDArray[Any] | None


@attrs.frozen(kw_only=True, eq=False)
class Answer:
    """The packed results of a task, and the seconds they took; or why there are none.

    That is the tokens that were lacking, or the refusal of a worker with other versions.
    """

    content: bytes = b""
    seconds: float = 0.0
    lacking: tuple[str, ...] = ()
    refusal: str = ""


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


class Prepared:
    """A call as a worker keeps it: its base built, its table joined with its label."""

    def __init__(self, columns: Mapping[str, Any], call: Call) -> None:
        self._columns, self._call = columns, call

    @cached_property
    def base(self) -> Any:
        base = self._call.base
        return Chain.parse(base) if isinstance(base, str) else base

    @cached_property
    def data(self) -> Dataset:
        fields = {**self._columns, **self._call.rows}
        for array in fields.values():
            # Compiled kernels take frozen arrays as another type: as in the parent, so here.
            if isinstance(array, np.ndarray) and array.flags.writeable:
                array.setflags(write=False)
        return Dataset(**fields)

    @cached_property
    def upstream(self) -> Selection | None:
        if self._call.upstream is None:
            return None
        return unpack_selections(self._call.upstream)[0][0]


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
    if asked.refusal:
        return Answer(refusal=asked.refusal)
    prepared = _prepare(table, call)
    local = isinstance(table, Shared) and table.pid == os.getpid()
    return _sendable(lambda: _work(prepared, asked, task, one_thread=not local))


def _work(prepared: Prepared, call: Call, task: Task, *, one_thread: bool) -> Answer:
    if one_thread:
        _limit_threads()
    # Imports and look-ups are not the resamples' time.
    base, data, upstream = prepared.base, prepared.data, prepared.upstream
    began = time.perf_counter()
    run = call.run.batch(task.start)
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
