"""Work of workers on resamples: the data that are sent, and the computation."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator, Mapping
from functools import cache
from types import FunctionType
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain
from fsframe.errors import FsframeError, PluginError, RequestError
from fsframe.execution.engine import Parcel, Shared, fetch, found_here, refuse_here
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


def work(
    table: Shared | Parcel,
    call: Shared | Parcel,
    start: int,
    stop: int,
    counts: NDArray[Any] | None,
) -> tuple[bytes, float]:
    """The packed results of resamples `start` … `stop` - 1 of a call, and their time in seconds.

    Executors run this function. `counts` are those of the resamples, None if the call draws them.

    Raises
    ------
    ValueMissing
        If this process does not have the table or the call.
    EngineError
        If it has other versions than those that the call needs.
    """
    asked: Call = fetch(call)
    base, data, upstream = _prepared(asked, fetch(table))
    if not (isinstance(table, Shared) and table.pid == os.getpid()):
        _limit_threads()
    # Imports and look-ups do not count as time of the resamples.
    began = time.perf_counter()
    try:
        if counts is None:
            counts = rows_of(asked.draws, data, start, stop)
        selections = compute(base, data, counts, upstream, asked.run.batch(start), asked.parts)
        seconds = time.perf_counter() - began
        return pack_selections(selections, seconds), seconds
    except FsframeError:
        raise
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise PluginError(f"a worker failed: {type(error).__name__}: {error}") from None
        raise


def _prepared(call: Call, columns: Mapping[str, Any]) -> tuple[Any, Dataset, Selection | None]:
    """The base, the table and the upstream of a call in a worker with the right versions.

    Made once, and stored with the call, so that all are released together.
    """
    known: tuple[Any, Dataset, Selection | None] | None = vars(call).get("prepared")
    if known is not None:
        return known
    refuse_here(call.software)
    fields = {**columns, **call.rows}
    for array in fields.values():
        # Compiled kernels have another signature for frozen arrays: freeze as in the parent.
        if isinstance(array, np.ndarray) and array.flags.writeable:
            array.setflags(write=False)
    base = Chain.parse(call.base) if isinstance(call.base, str) else call.base
    upstream = None if call.upstream is None else unpack_selections(call.upstream)[0][0]
    prepared: tuple[Any, Dataset, Selection | None] = base, Dataset(**fields), upstream
    return vars(call).setdefault("prepared", prepared)


@cache
def _limit_threads() -> None:
    """Use one thread for linear algebra; the variables of `start_worker` may have come too late."""
    import threadpoolctl

    threadpoolctl.threadpool_limits(1)
