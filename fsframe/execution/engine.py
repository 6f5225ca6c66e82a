"""Engines, opened by name: executors, values sent to workers once, and the versions of workers;
worker processes on this machine, one thread each, replaced when they die.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import pickle
import signal
import socket
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from multiprocessing import connection
from typing import Any, ClassVar, TypeVar

import attrs

from fsframe.errors import EngineError, RequestError, refuse
from fsframe.execution.process_start import leave_unguarded_script, start_worker
from fsframe.method.run import as_number
from fsframe.registry import (
    OwnAndPlugins,
    default_manager,
    engines,
    local_class_version,
    unreachable_classes,
)
from fsframe.storage.encoding import NUMERIC_PARTS, fingerprint, release
from fsframe.system import (
    CAN_SHARE_MEMORY,
    STOPPING,
    available_processors,
    boot_id,
    open_shared_memory,
    process_status,
    shared_memory,
    signals_handled,
    terminal_signals_blocked,
    track_semaphores,
)
from fsframe.text import counted, printable, remark

_ALIGNMENT = 64
_KEPT = 8

# In the process that shares: the values by token, until they are released.
_shared: dict[str, Any] = {}
# In a worker: the values it has fetched, least recently used first.
_fetched: OrderedDict[str, Any] = OrderedDict()


class ValueMissing(Exception):
    """A worker does not have the value of a token and cannot map it."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.token = token


@attrs.frozen
class Shared:
    """The name of a value, and where on this machine its bytes can be mapped.

    `sizes` are the bytes of the token, the pickle and each buffer; `descriptor` is None if the
    value is not in mappable memory.
    """

    token: str
    pid: int
    machine: str
    descriptor: int | None = None
    sizes: tuple[int, ...] = ()


@attrs.frozen
class Parcel:
    """A value with its token, sent as a whole."""

    token: str
    value: Any


@attrs.frozen
class Scattered(Parcel):
    """A value that a cluster stores on each worker; it is not cached a second time."""


class SharedValue:
    """A value that tasks can refer to, until `release`.

    Parameters
    ----------
    value
        Any picklable object.
    mappable : bool
        Whether other processes of this machine can map it.
    """

    def __init__(self, value: Any, *, mappable: bool) -> None:
        self.value = value
        token = uuid.uuid4().hex
        self._memory: int | None = None
        sizes: tuple[int, ...] = ()
        if mappable and CAN_SHARE_MEMORY:
            self._memory, sizes = _in_memory(token, value)
        self.shared = Shared(token, os.getpid(), boot_id(), self._memory, sizes)
        _shared[token] = value

    @staticmethod
    def holds(token: str) -> bool:
        """Whether this process shares a value with that token."""
        return token in _shared

    def release(self) -> None:
        """Release the value; workers that have mapped it keep their mapping."""
        _shared.pop(self.shared.token, None)
        if self._memory is not None:
            os.close(self._memory)
            self._memory = None


def fetch(reference: Shared | Parcel) -> Any:
    """The referenced value; ValueMissing if it is not available here."""
    token = reference.token
    if isinstance(reference, Scattered):
        return reference.value
    if token in _shared:
        return _shared[token]
    if token in _fetched:
        _fetched.move_to_end(token)
        return _fetched[token]
    value = reference.value if isinstance(reference, Parcel) else _mapped(reference)
    _fetched[token] = value
    while len(_fetched) > _KEPT:
        _fetched.popitem(last=False)
    return value


def _padding(size: int) -> int:
    return -size % _ALIGNMENT


def _in_memory(token: str, value: Any) -> tuple[int, tuple[int, ...]]:
    """A descriptor of memory that holds the token, the pickle and each buffer, aligned."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    pieces: list[memoryview] = [memoryview(token.encode()), memoryview(head)]
    pieces += [buffer.raw() for buffer in buffers]
    descriptor = shared_memory()
    try:
        for piece in pieces:
            view = piece
            while view:
                view = view[os.write(descriptor, view) :]
            os.write(descriptor, bytes(_padding(len(piece))))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, tuple(map(len, pieces))


def _mapped(shared: Shared) -> Any:
    """The value, with its arrays mapped read-only from the process that shares it."""
    if shared.descriptor is None or shared.machine != boot_id():
        raise ValueMissing(shared.token)
    try:
        descriptor = open_shared_memory(shared.pid, shared.descriptor)
    except OSError:
        raise ValueMissing(shared.token) from None
    try:
        memory = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        raise ValueMissing(shared.token) from None
    finally:
        os.close(descriptor)
    pieces, place = [], 0
    for size in shared.sizes:
        pieces.append(memory[place : place + size])
        place += size + _padding(size)
    # In another PID namespace the number may belong to another process: check the token.
    if bytes(pieces[0]) != shared.token.encode():
        raise ValueMissing(shared.token)
    return pickle.loads(pieces[1], buffers=pieces[2:])


_ABSENT = "absent"


def found_here(names: Iterable[str]) -> dict[str, str]:
    """The versions of `names` in this process, with the reason if a plugin cannot be used.

    "absent" if there is none. `names` may include parts of the numeric fingerprint
    (`fsframe.storage.encoding.NUMERIC_PARTS`).
    """
    return {name: _found(name) for name in names}


def _found(name: str) -> str:
    if name in NUMERIC_PARTS:
        return fingerprint()[name]
    kind, _, plugin = name.partition(" ")
    if kind == "class":
        return local_class_version(plugin) or _ABSENT
    if kind != "plugin":
        return release(name)
    for loaded in default_manager().plugins():
        if loaded.provider == plugin:
            if loaded.status == "loaded":
                return loaded.source.version
            return f"{loaded.source.version}, which is {loaded.status} ({loaded.reason})"
    return _ABSENT


def differences(needed: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Differences of `found` from the versions needed, one phrase each.

    >>> differences({"numpy": "2.4.6", "plugin tiny": "1.0"}, {"numpy": "2.3.0"})
    ['numpy 2.3.0, not 2.4.6', 'no plugin tiny (here 1.0)']
    """
    return [
        _missing(name, version)
        if found.get(name, _ABSENT) == _ABSENT
        else f"{name} {printable(found[name])}, not {version}"
        for name, version in sorted(needed.items())
        if found.get(name, _ABSENT) != version
    ]


def _missing(name: str, version: str) -> str:
    kind, _, rest = name.partition(" ")
    if kind == "class":
        module = rest.partition(":")[0]
        return f"no {rest} (a class of this program; its module {module} cannot be imported there)"
    return f"no {name} (here {version})"


def check_classes(needed: Mapping[str, str], *, program: bool) -> None:
    """Refuse classes of this process that workers cannot import.

    Parameters
    ----------
    needed : mapping of str to str
        As for `differences`.
    program : bool
        Whether workers also import the main program of this process.

    Raises
    ------
    RequestError
        If there are any; the message says what to do instead.
    """
    references = (name.removeprefix("class ") for name in needed if name.startswith("class "))
    refuse(RequestError, unreachable_classes(references, program=program))


def refusal(worker: str, phrases: Iterable[str]) -> str:
    """The message about a worker with these differences."""
    phrases = list(phrases)
    if all(each.startswith(NUMERIC_PARTS) for each in phrases):
        return (
            f"the worker {worker} has {', '.join(phrases)}: its results could differ in the last "
            "bits; stop it, or accept results of both in one run, which records this (--mixed, "
            "mixed=True)"
        )
    return (
        f"the worker {worker} has {', '.join(phrases)}: its results could differ; install the same "
        "version there and restart it, or stop it"
    )


def refuse_here(needed: Mapping[str, str]) -> None:
    """Raise EngineError if this process differs from the versions needed."""
    phrases = differences(needed, found_here(needed))
    if phrases:
        raise EngineError(refusal(f"process {os.getpid()} on {socket.gethostname()}", phrases))


T = TypeVar("T")


def call_in_thread(function: Callable[..., T], *arguments: Any, **options: Any) -> Future[T]:
    """Call `function` in a thread that does not keep the program alive; return a future.

    >>> call_in_thread(int, "7").result(60)
    7
    """
    future: Future[T] = Future()

    def ask() -> None:
        try:
            future.set_result(function(*arguments, **options))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    return future


def call_with_timeout(
    seconds: float, function: Callable[..., T], *arguments: Any, **options: Any
) -> T:
    """The result or error of `function`; TimeoutError if it takes longer than `seconds`.

    It then continues in its thread, which does not keep the program alive.

    >>> import time
    >>> call_with_timeout(60, int, "7")
    7
    >>> call_with_timeout(0.01, time.sleep, 60)
    Traceback (most recent call last):
    TimeoutError: no answer within 0.01 s
    """
    future = call_in_thread(function, *arguments, **options)
    wait([future], seconds)
    if not future.done():
        raise TimeoutError(f"no answer within {seconds:g} s")
    return future.result()


PATIENCE = 60.0
"""Default number of seconds after which a silent worker is replaced."""


@attrs.frozen(kw_only=True)
class EngineOptions:
    """The user's options for an engine.

    Parameters
    ----------
    workers : int, optional
        Number of worker processes to start.
    scheduler : str, optional
        The address of a scheduler.
    patience : float
        Seconds for which a worker or scheduler may be silent.
    mixed : bool
        Whether workers may have another numeric fingerprint.
    """

    workers: int | None = None
    scheduler: str | None = None
    patience: float = PATIENCE
    mixed: bool = False


class Engine:
    """Any `concurrent.futures.Executor`, with workers that get each table once.

    Parameters
    ----------
    executor : Executor
        Threads, processes, or anything with that interface. It belongs to the caller: `close`
        leaves it open.
    workers : int, optional
        Number of tasks it runs at a time; by default that of the executor.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool, Engine(pool) as engine:
    ...     engine.workers
    2
    """

    takes: ClassVar[frozenset[str]] = frozenset()
    """Options that `open` supports: "workers", "scheduler"."""
    mappable = True
    least_seconds = 0.05
    """Minimum duration of a task, if enough work is left."""

    def __init__(self, executor: Executor, workers: int | None = None) -> None:
        self.executor = executor
        self._workers = workers
        self.tell: Callable[[str], None] = lambda _: None
        """Called with messages about workers, for users."""
        # The objects are kept, too, so that their ids are not used again.
        self._tables: dict[tuple[int, ...], tuple[Any, SharedValue]] = {}

    @classmethod
    def open(cls, options: EngineOptions) -> Engine:
        """Open an engine with the user's options; authors of named engines write this.

        Raises
        ------
        RequestError
            If an option is missing; options it does not support (`takes`) raise an error before.
        EngineError
            If the scheduler cannot be reached.
        """
        raise NotImplementedError(f"{cls.__name__} cannot be opened by name")

    @property
    def workers(self) -> int:
        """Number of tasks that run at a time."""
        workers = self._workers or getattr(self.executor, "_max_workers", None)
        return max(1, int(workers or os.cpu_count() or 1))

    def share(self, value: Any) -> SharedValue:
        """Share a value that many tasks use; the caller releases it."""
        return SharedValue(value, mappable=self.mappable)

    def share_table(self, parts: tuple[Any, ...], value: Any) -> SharedValue:
        """The shared `value` of a table that consists of these objects; cached for later calls."""
        key = tuple(map(id, parts))
        entry = self._tables.get(key)
        if entry is None:
            # Two, so that a temporary table does not evict the main one.
            while len(self._tables) >= 2:
                self._tables.pop(next(iter(self._tables)))[1].release()
            entry = self._tables[key] = (parts, self.share(value))
        return entry[1]

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        """A future of ``function(*arguments)``, as the executor gives it."""
        return self.executor.submit(function, *arguments)

    def reference(self, held: SharedValue, *, whole: bool) -> Any:
        """The reference to a shared value in a task; `whole` if the worker reported it missing."""
        return Parcel(held.shared.token, held.value) if whole else held.shared

    mixed = False
    """Whether workers with another numeric fingerprint are accepted."""

    def other_numerics(self) -> tuple[str, ...]:
        """Differences of the workers' numeric fingerprints from that of this process."""
        return ()

    def admit(self, needed: Mapping[str, str]) -> None:
        """Ensure that no worker has other versions than `needed`, before work starts.

        Engines that cannot ask beforehand leave the check to the first task.

        Raises
        ------
        EngineError
            If workers differ; all are listed, with their differences.
        """

    @property
    def ready(self) -> bool:
        """Whether a worker is available now."""
        return True

    def replace_lost(self) -> bool:
        """Replace dead workers; False if the engine does not manage them."""
        return False

    def died(self, error: BaseException) -> bool:
        """Whether an error means that a worker was lost, not that the task failed."""
        return isinstance(error, (BrokenExecutor, CancelledError))

    def stalled(self, seconds: float) -> bool:
        """Whether submitted tasks will never finish, after `seconds` without an answer, or because
        a shared table was lost."""
        return False

    def cancel(self, futures: Iterable[Future[Any]]) -> None:
        """Cancel submitted tasks that have not started."""
        for future in futures:
            future.cancel()

    def check(self) -> None:
        """Raise EngineError if the engine as a whole is lost."""

    def kill(self) -> None:
        """Stop all computation immediately."""

    def close(self) -> None:
        """Release shared tables, and whatever the engine itself started."""
        while self._tables:
            self._tables.popitem()[1][1].release()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


SERIAL = "serial"
"""No engine: this process computes everything."""

ENGINES = OwnAndPlugins(
    {
        "dask": (
            "fsframe.execution.dask:ClusterEngine",
            "A cluster of machines through dask.distributed.",
        ),
        "processes": (
            "fsframe.execution.engine:ProcessEngine",
            "Worker processes on this machine, one thread each, replaced when they die.",
        ),
    },
    engines,
)


def as_engine(executor: Engine | Executor) -> Engine:
    """The engine itself, or one around an executor.

    Raises
    ------
    RequestError
        If it is neither.
    """
    if isinstance(executor, Engine):
        return executor
    if hasattr(executor, "submit"):
        client = getattr(executor, "_client", None)
        if client is not None and type(executor).__module__.startswith("distributed"):
            cluster: Any = ENGINES.get("dask")
            return cluster(client, owned=False)  # type: ignore[no-any-return]
        return Engine(executor)
    if isinstance(executor, contextlib.AbstractContextManager):
        raise RequestError(
            "executor must be an opened engine: with open_engine(…) as engine, and executor=engine"
        )
    raise RequestError(
        f"executor must be a concurrent.futures.Executor, not {type(executor).__name__}; a dask "
        "client gives one: client.get_executor()"
    )


@contextlib.contextmanager
def engine_of(executor: Engine | Executor) -> Iterator[Engine]:
    """Context manager of `as_engine`, which closes an engine that it made around an executor."""
    engine = as_engine(executor)
    try:
        yield engine
    finally:
        if engine is not executor:
            engine.close()


@contextlib.contextmanager
def open_engine(
    kind: str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    patience: float | None = None,
    *,
    mixed: bool = False,
) -> Iterator[Engine | None]:
    """Context manager of the requested engine; None for computing in this process.

    Parameters
    ----------
    kind : str, optional
        "serial", "processes", "dask", or one that a plugin offers. By default dask if `scheduler`
        is given, processes if `workers` is given, else serial.
    workers : int, optional
        Processes to start; by default one for each processor that this process may use.
    scheduler : str, optional
        Address of a scheduler, such as ``tcp://10.0.0.1:8786``.
    patience : float, optional
        Seconds for which a worker or a scheduler may be silent before the run goes on without it;
        60 by default.
    mixed : bool
        Whether workers of a cluster may have another numeric fingerprint (another kind of
        processor, or other BLAS kernels); the run then says so.

    Raises
    ------
    RequestError
        If the options contradict each other, or `workers` is no whole number ≥ 1.
    EngineError
        If the scheduler cannot be reached.
    """
    workers = as_number(workers, "workers")
    chosen = kind or ("dask" if scheduler else "processes" if workers else SERIAL)
    engine_class: type[Engine] | None = None if chosen == SERIAL else ENGINES.get(chosen)
    if engine_class is None and chosen != SERIAL:
        raise ENGINES.unknown(chosen)
    takes = frozenset() if engine_class is None else engine_class.takes
    for name, value, of in (
        ("scheduler", scheduler, "dask"),
        ("number of workers", workers, "processes"),
    ):
        if value and name.rpartition(" ")[2] not in takes:
            raise RequestError(f"a {name} is for engines such as {of}, not for {chosen}")
    if patience is not None and not 0 < patience < float("inf"):
        raise RequestError(f"patience must be a number of seconds above 0, not {patience!r}")
    if engine_class is None:
        yield None
        return
    seconds = PATIENCE if patience is None else float(patience)
    engine = engine_class.open(
        EngineOptions(workers=workers, scheduler=scheduler, patience=seconds, mixed=mixed)
    )
    try:
        with engine:
            yield engine
    except BaseException:
        engine.kill()
        raise


_LOOK_SECONDS = 1.0
# Time for the standard library to notice that processes of a pool are dead.
_SEEN_SECONDS = 2.0
_END_SECONDS = 5.0
# Started on any machine: runs with several workers can be tried, and tested, on one processor.
_FEW = 4


class ProcessEngine(Engine):
    """Worker processes, started by spawn, all at once and in the background.

    Parameters
    ----------
    workers : int, optional
        Their number; by default that of the available processors, which is also the largest that
        is started, except that four always are.
    patience : float
        Seconds for which a worker may be stopped (SIGSTOP) before it is replaced; detected on
        Linux only.

    Notes
    -----
    Nothing waits for a worker to end by itself. A worker that is killed while it holds a lock of
    the pool's queues, or half-way through an answer, would leave all others, and the pool's own
    thread, waiting forever.
    """

    takes = frozenset({"workers"})

    @classmethod
    def open(cls, options: EngineOptions) -> ProcessEngine:
        """A pool with the number of workers in the options."""
        return cls(options.workers, options.patience)

    def __init__(self, workers: int | None = None, patience: float = PATIENCE) -> None:
        leave_unguarded_script()
        count, most = workers or available_processors(), max(available_processors(), _FEW)
        if count > most:
            remark(
                f"{counted(most, 'worker')} started, not {count}: more than there are "
                "processors make no run faster"
            )
            count = most
        super().__init__(_pool(count), count)
        self._patience = patience
        self._looked = time.monotonic()
        self._looks_dead = 0
        self._stopped: dict[int, float] = {}
        self._ended = False
        self._starting = threading.Lock()
        for _ in range(count):
            # The pool starts a process when a task finds none idle.
            self.submit(int)

    def admit(self, needed: Mapping[str, str]) -> None:
        """Refuse classes that workers cannot import; they have this process's own versions."""
        check_classes(needed, program=True)

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        """As in the base class; processes started here never receive Ctrl-C or SIGHUP."""
        with _deferred_signals(), self._starting, terminal_signals_blocked():
            return self.executor.submit(function, *arguments)

    def replace_lost(self) -> bool:
        """Make a new pool: one dead process breaks a pool of the standard library."""
        _end(self.executor)
        if self._ended:
            return False
        self.executor = _pool(self.workers)
        if self._ended:
            # Another thread has called `kill` meanwhile.
            self.kill()
            return False
        self._looks_dead = 0
        self._stopped.clear()
        return True

    def stalled(self, seconds: float) -> bool:
        """Kill what blocks the pool, so that its tasks are submitted again; always False."""
        now = time.monotonic()
        passed = now - self._looked
        if passed < _LOOK_SECONDS:
            return False
        self._looked = now
        processes = _processes(self.executor)
        dead = connection.wait([process.sentinel for process in processes], 0)
        self._looks_dead = self._looks_dead + 1 if dead else 0
        if self._looks_dead * _LOOK_SECONDS > _SEEN_SECONDS:
            # The pool's thread is reading an answer from a dead process; end it, and the pool.
            _kill(self.executor)
        # Bounded, since this process may have been stopped too.
        passed = min(passed, 2 * _LOOK_SECONDS)
        self._stopped = {
            process.pid: self._stopped.get(process.pid, 0.0) + passed
            for process in processes
            if process_status(process.pid)[:1] == ["T"]
        }
        for process in processes:
            if self._stopped.get(process.pid, 0.0) > self._patience:
                process.kill()
        return False

    def kill(self) -> None:
        """Kill the processes immediately; they are not replaced."""
        self._ended = True
        # A process that is just starting is not in the pool's list yet.
        started = self._starting.acquire(timeout=_END_SECONDS)
        try:
            pool, self.executor = self.executor, _Ended()
            _end(pool)
        finally:
            if started:
                self._starting.release()

    def close(self) -> None:
        """Kill the processes: all answers have arrived, or are not wanted."""
        self.kill()
        super().close()


class _Ended(Executor):
    """Replaces a pool that has been shut down."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise BrokenExecutor("the worker processes were terminated")


def _pool(workers: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    with terminal_signals_blocked():
        # It tracks the pool's semaphores. Signals of the terminal would end it, and its successor
        # would warn about each semaphore.
        track_semaphores()
        return ProcessPoolExecutor(workers, mp_context=context, initializer=start_worker)


def _processes(pool: Executor) -> list[Any]:
    # There is no public interface before Python 3.14.
    return list((getattr(pool, "_processes", None) or {}).values())


def _kill(pool: Executor) -> None:
    """Kill the processes of a pool, and wake its own thread."""
    for process in _processes(pool):
        process.kill()
    answers = getattr(getattr(pool, "_result_queue", None), "_writer", None)
    if answers is not None:
        # Reading half an answer ends only when no writer is left.
        with contextlib.suppress(OSError):
            answers.close()


def _end(pool: Executor) -> None:
    _kill(pool)
    with contextlib.suppress(TimeoutError):
        # Returns once the pool has noticed that they are dead and released its semaphores.
        call_with_timeout(_END_SECONDS, pool.shutdown, wait=True, cancel_futures=True)


@contextlib.contextmanager
def _deferred_signals() -> Iterator[None]:
    """Defer signals that would end this process.

    A process that is being started reads its setup from this one, and prints a traceback if that is
    cut off.
    """
    came: list[int] = []
    try:
        with signals_handled(STOPPING, lambda number, _: came.append(number)):
            yield
    finally:
        for number in came:
            signal.raise_signal(number)
