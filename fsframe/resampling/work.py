"""Tasks of workers: the data that are sent, the computation, and the answer."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import FunctionType
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError, PluginError, RequestError
from fsframe.execution.engine import Parcel, Shared, ValueMissing, fetch, found_here, refusal_here
from fsframe.method.run import Run
from fsframe.method.selection import Selection
from fsframe.registry import default_manager, nulls
from fsframe.storage.unit_bytes import pack_selections, reduced, unpack_selections
from fsframe.storage.unit_files import software
from fsframe.table.dataset import Dataset


class Draws(Protocol):
    """Counts that are drawn in the process that uses them.

    They depend on the number of the resample only. The object must be picklable, and its text must
    state everything that the counts depend on besides the table: it is part of checkpoint keys.
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
    """The large part of `data`, which rarely changes: the columns without the label.

    A table on disk is sent as it is if it is picklable, else as an array.
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
    """The data that all tasks of one call of `select_resamples` share, besides the table.

    A chain is sent as its canonical text, whose names the worker looks up in its own registry;
    `software` are the versions that it must find there.
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
    """Resamples `start` … `stop` - 1 of a call, with their counts unless the call draws them."""

    start: int
    stop: int
    counts: NDArray[Any] | None


@attrs.frozen(kw_only=True, eq=False)
class Answer:
    """The packed results of a task and their time in seconds, or the reason why there are none.

    The reason is either `lacking`, the tokens of values that the worker does not have, or the
    `refusal` of a worker with other versions.
    """

    content: bytes = b""
    seconds: float = 0.0
    lacking: tuple[str, ...] = ()
    refusal: str = ""


def portable(base: Any) -> Any:
    """The representation of `base` that is sent to workers.

    Its text if that is complete; else the object, whose class the worker must be able to import.

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


def needed_by(*parts: Any) -> dict[str, str]:
    """Versions, in this process, of everything that may change a bit of the results of `parts`.

    Parameters
    ----------
    parts
        Bases as they are sent: chains or their text, or objects that hold chains, such as the task
        of a fold; objects that draw counts; functions that workers call.

    Returns
    -------
    dict of str to str
        Python (major and minor), fsframe, NumPy, SciPy, numba, ``plugin NAME`` for each plugin
        whose stages or classes are used, and ``class MODULE:CLASS as NAME`` for classes registered
        in this process.

    Examples
    --------
    >>> sorted(needed_by("mim:top=3"))
    ['fsframe', 'numba', 'numpy', 'plugin infotheory', 'python', 'scipy']
    """
    versions = found_here(["python", "fsframe", "numpy", "scipy", "numba"])
    for part in parts:
        versions |= _versions_of(part)
    return versions


def _versions_of(part: Any) -> dict[str, str]:
    if isinstance(part, (str, Chain)):
        try:
            return software(part)
        except FsframeError:
            # A text that is not a chain is reported when it is run.
            return {}
    if isinstance(part, FunctionType):
        return dict(_owners(part))
    versions = dict(_owners(type(part)))
    if attrs.has(type(part)):
        for field in attrs.fields(type(part)):
            value = getattr(part, field.name, None)
            chain = field.name in ("base", "classifier") and value
            if chain or isinstance(value, Chain):
                versions |= _versions_of(value)
            if field.name == "null" and isinstance(value, str):
                versions |= {o.plugin.software: o.version for o in nulls.matching(value)}
    return versions


def _owners(kind: type | FunctionType) -> Iterator[tuple[str, str]]:
    """Names and versions of the plugins whose packages define `kind`, or of a registered class."""
    package = kind.__module__.partition(".")[0]
    for plugin in default_manager().plugins():
        source = plugin.source
        if plugin.registered is not None:
            if plugin.registered is kind:
                yield plugin.software, source.version
            continue
        if package != "fsframe" and source.target.partition(":")[0].partition(".")[0] == package:
            yield plugin.software, source.version


class Prepared:
    """A call in a worker: its base is built, and its table joined with its label."""

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
            # Compiled kernels have another signature for frozen arrays: freeze as in the parent.
            if isinstance(array, np.ndarray) and array.flags.writeable:
                array.setflags(write=False)
        return Dataset(**fields)

    @cached_property
    def upstream(self) -> Selection | None:
        if self._call.upstream is None:
            return None
        return unpack_selections(self._call.upstream)[0][0]


def _prepare(table: Shared | Parcel, call: Shared | Parcel) -> Prepared:
    """The prepared call, stored with the call, so that both are released together."""
    fetched: Call = fetch(call)
    prepared: Prepared = vars(fetched).setdefault("prepared", Prepared(fetch(table), fetched))
    return prepared


def rows_of(counts: Any, data: Dataset, start: int, stop: int) -> NDArray[np.integer[Any]]:
    """The counts of resamples `start` … `stop` − 1, looked up or drawn."""
    if isinstance(counts, np.ndarray):
        return counts[start:stop]
    drawn: NDArray[np.integer[Any]] = counts.rows(data, start, stop)
    return drawn


def compute(base: Any, data: Dataset, counts: NDArray[Any], upstream: Selection | None, run: Run,
            parts: frozenset[str]) -> list[Selection]:  # fmt: skip
    """The selection of `base` on each resample, without the parts that were not requested."""
    selections = base.select_many(data, counts, upstream, run.quiet())
    return [reduced(selection, parts) for selection in selections]


def work(table: Shared | Parcel, call: Shared | Parcel, task: Task) -> Answer:
    """Do a task; executors run this function."""
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
    # Imports and look-ups do not count as time of the resamples.
    base, data, upstream = prepared.base, prepared.data, prepared.upstream
    began = time.perf_counter()
    run = call.run.batch(task.start)
    if task.counts is None:
        counts = rows_of(call.draws, data, task.start, task.stop)
    else:
        counts = task.counts
    selections = compute(base, data, counts, upstream, run, call.parts)
    seconds = time.perf_counter() - began
    return Answer(content=pack_selections(selections, seconds), seconds=seconds)


_limited = False


def _limit_threads() -> None:
    """Use one thread for linear algebra; the variables of `start_worker` may have come too late."""
    global _limited
    if not _limited:
        import threadpoolctl

        threadpoolctl.threadpool_limits(1)
        _limited = True


def _sendable(function: Callable[[], Answer]) -> Answer:
    """The function's answer; an exception that cannot be pickled becomes a PluginError."""
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
