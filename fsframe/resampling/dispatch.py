"""Work on the resamples of a run: what is sent to workers and computed there, the batches that an
engine is given, and their results.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import sys
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.chains.chain import Chain
from fsframe.errors import EngineError, FsframeError, PluginError, RequestError
from fsframe.execution.engine import (
    Engine,
    Parcel,
    Shared,
    ValueMissing,
    engine_of,
    fetch,
    found_here,
    refuse_here,
)
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


_AIM_SECONDS = 0.5
_GROWTH = 32
# The second batch may take this long if a call has no fixed cost.
_TRIAL_SECONDS = 1.5
_TRIAL = 16
# Times vary by chance: a resample is assumed to cost at least the mean divided by this.
_NOISE = 64


class Batches:
    """Sizes of the next batches, from the seconds that earlier ones took.

    Parameters
    ----------
    pace : dict
        Seconds per resample, by what is resampled; updated here.
    what : str
        The key in `pace` of what is resampled here.
    borders : sequence of int, ascending
        Resamples at which a batch should begin, since the method restarts there.
    most : int
        Maximum number of resamples in a batch.

    Notes
    -----
    Time changes the sizes of batches, never a result. A size grows at most 32-fold at a time, since
    the first resamples may be untypical. A method with a fast algorithm for many resamples has a
    cost per call and one per resample: intercept and slope of a straight line through all
    measurements, by least squares. The slope determines the size. With the mean instead, a call
    with a fixed cost of half a second would never get more than one resample.

    Examples
    --------
    >>> batches = Batches({}, "mim")
    >>> batches.size(100)
    1
    >>> batches.record(1, 0.01); batches.size(100)
    16
    >>> batches.record(16, 0.16); batches.size(100), batches.size(100, workers=2)
    (50, 25)
    >>> slow_start = Batches({}, "mim of a wide table")
    >>> slow_start.record(1, 0.61); slow_start.size(500)
    2
    >>> slow_start.record(2, 0.615); slow_start.size(500)
    64
    """

    def __init__(
        self,
        pace: dict[str, float],
        what: str,
        borders: Sequence[int] = (),
        most: int = 1 << 30,
    ) -> None:
        self._pace, self._what = pace, what
        self._borders, self._most = borders, max(1, most)
        self._largest = 1 if what not in pace else 1 << 30
        self._per_call = 0.0
        # Number of batches seen, and sums over them of size, seconds, size², size·seconds.
        self._seen = 0
        self._sums = [0.0, 0.0, 0.0, 0.0]

    def size(self, left: int, workers: int = 1, least_seconds: float = 0.0) -> int:
        """Size of the next batch, out of `left` resamples, for one of `workers`.

        The batch takes at least `least_seconds`, if enough resamples are left.
        """
        seconds = self._pace.get(self._what)
        if seconds is None:
            return 1
        size = min(_AIM_SECONDS / seconds, _GROWTH * self._largest)
        if self._largest == 1:
            # Only a second size separates the cost of a call from that of a resample.
            size = max(min(size, _TRIAL), 2, min(_TRIAL, _TRIAL_SECONDS / seconds))
        if workers > 1:
            # Towards the end batches become smaller, so that no worker waits long for the last; but
            # the fixed cost of a call must not exceed a quarter.
            share, dear = left / workers, min(4 * self._per_call, _AIM_SECONDS) / seconds
            size = min(size, max(share / 2, min(share, dear), least_seconds / seconds))
        return max(1, min(left, self._most, math.floor(size)))

    def stop(
        self,
        start: int,
        end: int,
        workers: int = 1,
        left: int | None = None,
        least_seconds: float = 0.0,
    ) -> int:
        """The end of the batch that begins at `start`, at most `end`.

        It ends at a border if that makes it between half and twice the size that it would have.

        >>> Batches({"mim": 0.01}, "mim", borders=[40, 80, 120]).stop(0, 200)
        40
        """
        left = end - start if left is None else left
        size = min(end - start, self.size(left, workers, least_seconds))
        place = bisect_left(self._borders, start + size)
        near = [
            border
            for border in self._borders[max(0, place - 1) : place + 1]
            if size <= 2 * (border - start) < 4 * size and border <= min(end, start + self._most)
        ]
        return min(near, key=lambda border: abs(border - start - size), default=start + size)

    @property
    def known(self) -> bool:
        """Whether the time of a resample is known, so that tasks can be submitted in advance."""
        return self._what in self._pace and self._largest > 1

    def record(self, resamples: int, seconds: float) -> None:
        """Record the time of a batch."""
        seconds = max(seconds, 1e-9)
        new = (resamples, seconds, resamples**2, resamples * seconds)
        self._seen += 1
        self._sums = [a + b for a, b in zip(self._sums, new, strict=True)]
        x, y, xx, xy = self._sums
        mean = seconds / resamples if resamples > self._largest else y / x
        spread = xx - x * x / self._seen
        slope = (xy - x * y / self._seen) / spread if spread > 0 else mean
        each = min(mean, max(slope, mean / _NOISE))
        self._per_call = max(0.0, (y - each * x) / self._seen)
        self._pace[self._what] = each
        self._largest = max(self._largest, resamples)


_TICK = 0.25
_MOST_DEATHS = 3


@attrs.define(eq=False)
class Job:
    """A piece of work, how often workers died over it, and the values that its worker lacked."""

    what: Any
    deaths: int = 0
    lacking: set[str] = attrs.field(factory=set)

    @property
    def suspect(self) -> bool:
        """Whether one more death of a worker would end the run."""
        return self.deaths >= _MOST_DEATHS - 1


@attrs.define(eq=False)
class Jobs:
    """Pieces of work that an engine does, each again if its worker dies.

    Parameters
    ----------
    engine : Engine
    waiting : deque
        What has not begun; `take` removes from it.
    take : callable
        Returns the next piece of work, or None if it may not begin yet.
    call : callable
        Returns what a worker calls for a job: a function and its arguments.
    doing : callable
        Returns, for messages, what workers did when they died over some pieces of work.
    ahead : callable
        Returns how many jobs may be submitted for each worker.
    """

    _engine: Engine
    _waiting: deque[Any]
    _take: Callable[[], Any]
    _call: Callable[[Job], tuple[Any, ...]]
    _doing: Callable[[Sequence[Any]], str]
    _ahead: Callable[[], int]
    _pending: dict[Future[Any], Job] = attrs.field(factory=dict, init=False)
    _again: deque[Job] = attrs.field(factory=deque, init=False)
    _last: float = attrs.field(factory=time.monotonic, init=False)

    def results(self) -> Generator[tuple[Any, Any], None, None]:
        """Each piece of work and its result, in the order of completion.

        Raises
        ------
        EngineError
            If workers died three times over the same job, or the engine is lost.
        Exception
            As raised in a worker.
        """
        try:
            while self._waiting or self._again or self._pending:
                while self._has_capacity():
                    job = self._next()
                    if job is None:
                        break
                    self._submit(job)
                yield from self._answers()
        finally:
            self._engine.cancel(self._pending)

    def _has_capacity(self) -> bool:
        if not self._engine.ready or len(self._pending) >= self._ahead() * self._engine.workers:
            return False
        # A job that may kill its worker is submitted alone, so that no other is lost with it.
        return not self._pending or not any(
            job.suspect for job in (*self._again, *self._pending.values())
        )

    def _next(self) -> Job | None:
        """The job to submit next: a lost one first, and a suspect one before all others."""
        if self._again:
            job = next((job for job in self._again if job.suspect), self._again[0])
            self._again.remove(job)
            return job
        what = self._take() if self._waiting else None
        return None if what is None else Job(what)

    def _submit(self, job: Job) -> None:
        try:
            self._pending[self._engine.submit(*self._call(job))] = job
        except BrokenExecutor as error:
            self._lost([job], error)
        except RuntimeError as error:
            # An executor that was shut down says so in this way.
            self._lost([job], BrokenExecutor(*error.args))

    def _answers(self) -> Iterator[tuple[Any, Any]]:
        """Wait a moment, and yield the pieces of work that are done, with their results."""
        engine = self._engine
        if not self._pending:
            # No worker is available; `stalled` says when to give up.
            time.sleep(_TICK)
        done, _ = wait(self._pending, timeout=_TICK, return_when=FIRST_COMPLETED)
        engine.check()
        dead: list[Job] = []
        reason: BaseException | None = None
        for future in done:
            job = self._pending.pop(future)
            try:
                answer = future.result()
            except ValueMissing as error:
                job.lacking.add(error.token)
                self._again.append(job)
                continue
            except (Exception, CancelledError) as error:
                if not engine.died(error):
                    raise
                dead.append(job)
                reason = error
                continue
            yield job.what, answer
        if reason is not None:
            self._lost(dead, reason)
        if done:
            self._last = time.monotonic()
        if engine.stalled(0 if done else time.monotonic() - self._last):
            jobs = list(self._pending.values())
            engine.cancel(self._pending)
            self._pending.clear()
            self._lost(jobs, CancelledError())
            self._last = time.monotonic()

    def _lost(self, dead: list[Job], reason: BaseException) -> None:
        """Workers died: replace them, and queue their jobs again."""
        self._engine.check()
        if isinstance(reason, BrokenExecutor):
            # The whole pool is lost: only futures that have finished still give a result.
            dead = dead + [self._pending.pop(f) for f in list(self._pending) if not _has_result(f)]
            if not self._engine.replace_lost():
                raise EngineError(
                    f"the executor broke ({reason}); run again with a new one"
                ) from reason
        for job in dead:
            job.deaths += 1
        unlucky = [job.what for job in dead if job.deaths >= _MOST_DEATHS]
        if unlucky:
            raise EngineError(
                f"worker processes died {_MOST_DEATHS} times while they {self._doing(unlucky)}; "
                + (
                    "they import the script that asks for them: put its actions under "
                    '`if __name__ == "__main__":`'
                    if _is_unguarded_script(sys.modules.get("__main__"))
                    else "usually for lack of memory: use fewer workers (--workers), or a smaller "
                    "--memory"
                )
            ) from reason
        self._again.extend(dead)


def _is_unguarded_script(main: object) -> bool:
    """Whether the main module is a file that never mentions ``__name__``."""
    with contextlib.suppress(OSError, UnicodeError, TypeError):
        return "__name__" not in Path(getattr(main, "__file__", None) or "").read_text("utf-8")
    return False


def _has_result(future: Future[Any]) -> bool:
    """Whether a future has a result (or an error of the work itself) that can still be taken."""
    if not future.done() or future.cancelled():
        return False
    return not isinstance(future.exception(), BrokenExecutor)


def over_resamples(
    engine: Engine,
    data: Dataset,
    call: Call,
    counts: NDArray[np.integer[Any]] | Draws,
    batches: Batches,
    gaps: Iterable[tuple[int, int]],
    may_start: Callable[[int], bool],
) -> Iterator[tuple[int, int, bytes]]:
    """Start, stop and packed results of the batches of a call, in the order of completion.

    Parameters
    ----------
    engine : Engine
    data : Dataset
        The table, to whose rows the counts refer.
    call : Call
    counts : (n_resamples, n_samples) int, or Draws
    batches : Batches
    gaps : iterable of (start, stop)
        The resamples to compute, in order.
    may_start : callable
        Whether the resamples from a given number on may be started now.

    Raises
    ------
    EngineError
        If workers died three times over the same resamples, a worker has other versions than this
        process, or the engine is lost.
    FsframeError, Exception
        As raised in a worker.
    """
    engine.admit(call.software)
    fields = column_fields(data)
    # Two tables with different kinds or roles of columns may share one matrix.
    parts = (data.matrix, *(fields[name] for name in fields if name != "matrix"))
    shared = (engine.share_table(parts, fields), engine.share(call))
    waiting = deque(gaps)

    def take() -> tuple[int, int] | None:
        start, end = waiting[0]
        if not may_start(start):
            return None
        left = sum(stop - begin for begin, stop in waiting)
        stop = batches.stop(start, end, engine.workers, left, engine.least_seconds)
        waiting.popleft()
        if stop < end:
            waiting.appendleft((stop, end))
        return start, stop

    def calling(job: Job) -> tuple[Any, ...]:
        start, stop = job.what
        given = None
        if isinstance(counts, np.ndarray):
            given = counts[start:stop]
            # Small numbers are sent as one byte instead of eight.
            given = given.astype(np.min_scalar_type(int(given.max(initial=0))))
        references = (
            engine.reference(held, whole=held.shared.token in job.lacking) for held in shared
        )
        return (work, *references, start, stop, given)

    # Every worker is kept busy, with one task ready for each.
    jobs = Jobs(engine, waiting, take, calling, _resamples, lambda: 2 if batches.known else 1)
    try:
        with contextlib.closing(jobs.results()) as results:
            for (start, stop), (content, seconds) in results:
                batches.record(stop - start, seconds)
                yield start, stop, content
    finally:
        shared[1].release()


def _resamples(unlucky: Sequence[tuple[int, int]]) -> str:
    return "computed resamples " + ", ".join(f"{start + 1}–{stop}" for start, stop in unlucky)


_SHARED_EVENLY = 4
"""The number of parts is a multiple of this, so that two or four workers get equal shares."""

_MANY = 24
"""Number of parts above which shares are nearly equal anyway: they differ by one part at most."""

_LEAST_ROWS = 1 << 14
"""Number of rows below which parts are not made smaller for equal shares."""


def equal_parts(n: int, most: int) -> int:
    """Rows of each part of a table, so that parts have nearly equal sizes and are shared evenly.

    Parameters
    ----------
    n : int ≥ 1
        Rows of the table.
    most : int ≥ 1
        Maximum number of rows of a part.

    Returns
    -------
    int
        At most `most`; the last part may be smaller.

    Examples
    --------
    >>> equal_parts(400_000, 1 << 17), equal_parts(6_400_000, 1 << 17), equal_parts(1000, 300)
    (100000, 131072, 250)
    """
    parts = -(-n // most)
    if parts > _MANY:
        return most
    if n >= _SHARED_EVENLY * _LEAST_ROWS:
        parts += -parts % _SHARED_EVENLY
    return -(-n // parts)


def over_parts(
    run: Run,
    work: Callable[[Any, list[Any], int], Any],
    ask: Any,
    parts: Sequence[Any],
    threads: int,
) -> Iterator[Any]:
    """The results of `work` for shares of the parts, in the order of completion.

    Parameters
    ----------
    run : Run
        The workers of its executor do the work, if it has one; else this process.
    work : callable
        ``work(ask, parts, threads)``, from a module that workers can import.
    ask : object
        Description of the work to be done; small, since it is sent with every share.
    parts : sequence
        A small object that identifies each part.
    threads : int
        Number of threads in this process; a worker uses one.

    Raises
    ------
    EngineError
        If workers died three times over the same share, one has other versions than this process,
        or the engine is lost.

    Examples
    --------
    >>> sorted(over_parts(Run(), lambda ask, parts, threads: ask * sum(parts), 10, [1, 2, 3], 1))
    [60]
    """
    if run.executor is None:
        yield work(ask, list(parts), threads)
        return
    software = needed_by(work)
    with engine_of(run.executor) as engine:
        engine.admit(software)
        # Two shares for each worker, so that others do not wait long for a slow one.
        many = min(len(parts), 2 * engine.workers)
        waiting = deque(list(parts[k::many]) for k in range(many))
        jobs = Jobs(
            engine,
            waiting,
            take=waiting.popleft,
            call=lambda job: (_in_worker, software, work, ask, job.what),
            doing=lambda shares: "counted the same parts of the table",
            ahead=lambda: 2,
        )
        with contextlib.closing(jobs.results()) as results:
            yield from (answer for _, answer in results)


def _in_worker(
    software: Mapping[str, str], work: Callable[..., Any], ask: Any, parts: list[Any]
) -> Any:
    """The result of `work`; EngineError if this process has other versions than those needed."""
    refuse_here(software)
    return work(ask, parts, 1)
