"""The run that a method is given: randomness, steps, memory, cost, progress."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np

from fsframe.errors import MemoryBoundError, RequestError, one_line
from fsframe.system import available_processors, physical_memory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fsframe.method.selection import Selection
    from fsframe.table.dataset import Dataset


@attrs.frozen(kw_only=True)
class Cost:
    """An estimate of processor time on one core of about 3 GHz, within a factor of three.

    Parameters
    ----------
    seconds : float ≥ 0
    formula : str
        Formula of the seconds, for n rows and p columns: ``"0.001 + 5e-11 n²p"``.
    remedy : str
        A way to reduce the cost on many rows, such as ``"relieff:m=1000, a sample of rows"``.
    """

    seconds: float
    formula: str
    remedy: str = ""


class Observer:
    """Base class of observers of runs; its methods do nothing unless overridden.

    One object is made for each run. Its methods are called in the process that runs the chain, one
    at a time, in the order of events. Their return values are not used. An exception becomes a
    warning of the run (an `FsframeWarning` in `run_ended`, when the record is complete) and ends
    further calls. Observers must not change the objects they are given.

    Examples
    --------
    >>> class Names(Observer):
    ...     def run_began(self, run):
    ...         print(run["chain"], run["seed"])
    >>> observers = Observers([Names()])
    >>> observers.notify("run_began", {"chain": "mim:top=3", "seed": 0})
    mim:top=3 0
    """

    def run_began(self, run: Mapping[str, Any]) -> None:
        """A run begins: `chain`, `data`, `sha256`, `n_samples`, `n_features`, `seed`, `out`."""

    def unit_kept(self, unit: Mapping[str, Any]) -> None:
        """Resamples `start` to `stop` (exclusive) of `call` have been written to disk.

        Not called for runs without a run file, which have no checkpoint.
        """

    def stage_ended(self, number: int, stage: Any) -> None:
        """Stage `number`, from 0, has finished, with its `StageRecord`.

        `stage.selection` is None for a classifier. `stage.digest()` reads all arrays, which takes
        time if they are large.
        """

    def run_ended(self, record: Any) -> None:
        """The run has finished, with its `RunRecord`, written to its file if there is one."""

    def run_failed(self, error: BaseException) -> None:
        """The run ended with an exception, possibly an interrupt."""


class Observers:
    """The observers of one run, called in turn.

    Parameters
    ----------
    observers : iterable of Observer
    """

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._active = list(observers)
        self.warnings: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._active)

    def notify(self, what: str, *about: Any) -> None:
        """Call the method `what` of each observer; one that raises is not called again."""
        for observer in tuple(self._active):
            try:
                getattr(observer, what)(*about)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self._active.remove(observer)
                name, reason = type(observer).__qualname__, one_line(error)
                if isinstance(error, SystemExit):
                    reason = f"it tried to end the program ({reason})"
                self.warnings.append(
                    f"the observer {name} failed in {what} and was disabled: {reason}"
                )


DEFAULT_MEMORY = 2 * 1024**3
"""Default limit of a method's temporary arrays, in bytes."""

_LEAST_MEMORY = 1 << 24


@attrs.frozen(kw_only=True)
class Progress:
    """Progress of a piece of work: `done` of `total` units of `label`, at stage path `key`."""

    label: str
    done: int
    total: int
    key: tuple[int, ...] = ()


def size_text(n_bytes: float) -> str:
    """A number of bytes as readable text.

    >>> size_text(64e6), size_text(3 << 30)
    ('61 MiB', '3.0 GiB')
    """
    return f"{n_bytes / 2**20:.0f} MiB" if n_bytes < 2**30 else f"{n_bytes / 2**30:.1f} GiB"


class Steps(Protocol):
    """Steps of one long fit, each computed once."""

    def get(
        self, number: int, compute: Callable[[], Mapping[str, ArrayLike]]
    ) -> dict[str, NDArray[Any]]:
        """The arrays of step `number`: those stored by an earlier attempt, else the result of
        `compute`.
        """
        ...


class _NotStored:
    """Steps that are not stored: each is computed when it is requested."""

    def get(
        self, number: int, compute: Callable[[], Mapping[str, ArrayLike]]
    ) -> dict[str, NDArray[Any]]:
        return {name: np.array(value, order="C") for name, value in compute().items()}


def _whole(value: Any, least: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise RequestError(f"{what} must be a whole number ≥ {least}, not {value!r}")
    return int(value)


def as_seed(value: Any) -> int:
    """The seed of a run; RequestError unless it is a whole number ≥ 0."""
    return _whole(value, 0, "the seed")


def as_number(value: Any, of: str) -> int | None:
    """A number of threads or workers (`of`), None if not given.

    Raises
    ------
    RequestError
        Unless it is a whole number ≥ 1.
    """
    return None if value is None else _whole(value, 1, of)


def as_size(value: Any) -> int:
    """A memory limit in bytes, from a number or a text such as 2GB or 500MiB.

    Raises
    ------
    RequestError
        Unless it is a size of at least 16 MiB.

    Examples
    --------
    >>> as_size("2GB"), as_size("2GiB"), as_size(64_000_000)
    (2000000000, 2147483648, 64000000)
    """
    amount = 0
    if isinstance(value, str):
        written = re.fullmatch(r"([0-9.]+)\s*([KMGT]?)(I)?B?", value.strip().upper())
        with suppress(ValueError, OverflowError):
            number, unit, binary = written.groups() if written else ("", "", "")
            amount = int(float(number) * (1024 if binary else 1000) ** " KMGT".index(unit or " "))
    elif isinstance(value, (int, float, np.number)) and np.isfinite(value):
        amount = int(value)
    if amount < _LEAST_MEMORY:
        raise RequestError(f"{value!r} is not a size of at least 16 MiB, such as 500MB or 2GB")
    return amount


@attrs.frozen(kw_only=True)
class Run:
    """The context of one piece of work: random stream, limits, executor, checkpoint.

    Parameters
    ----------
    entropy : int
        The seed of the whole run.
    key : tuple of int
        Position of this piece of work in the run: stage, then unit, then inner stage, …
    memory : int
        Memory limit in bytes of one fit, in addition to the table it is given.
    route_memory : int, optional
        The limit by which a method chooses between algorithms whose results differ in rounding or
        in what they return; `memory` by default. It is the same for any number of workers, while
        `memory` is the share of each.
    threads : int
        Number of threads a method may use; results do not depend on it.
    first : int
        Number of the first part in a batch of parts: in a batch that starts at 40, `child(2)` is
        part 42, so that the division of work into batches changes nothing.
    listener : callable, optional
        Called with a Progress from time to time.
    executor : Engine or concurrent.futures.Executor, optional
        Where resamples are computed; by default in this process, one after the other. Results do
        not depend on it.
    checkpoint : Checkpoint, optional
        Where finished units are stored, so that a killed run can be continued.
    pace : dict
        Seconds per resample so far, by resampled chain; shared by all parts of a run. It affects
        only the sizes of batches.

    Examples
    --------
    >>> a = Run(entropy=7).child(0, 3).generator().random()
    >>> b = Run(entropy=7, key=(0, 3)).generator().random()
    >>> a == b
    True
    >>> Run(key=(0,)).batch(40).child(2).key
    (0, 42)
    """

    entropy: int = attrs.field(default=0, converter=as_seed)
    key: tuple[int, ...] = ()
    memory: int = DEFAULT_MEMORY
    route_memory: int | None = None
    threads: int = attrs.field(factory=available_processors)
    first: int = 0
    listener: Callable[[Progress], None] | None = attrs.field(default=None, eq=False, repr=False)
    # Of types in higher layers: fsframe.execution.Engine, fsframe.storage.Checkpoint.
    executor: Any = attrs.field(default=None, eq=False, repr=False)
    checkpoint: Any = attrs.field(default=None, eq=False, repr=False)
    pace: dict[str, float] = attrs.field(factory=dict, eq=False, repr=False)

    @property
    def route(self) -> int:
        """The limit by which algorithms are chosen: `route_memory`, or `memory` if that is not set.

        >>> Run(memory=100, route_memory=400).route, Run(memory=100).route
        (400, 100)
        """
        return self.memory if self.route_memory is None else self.route_memory

    def must_hold(self, n_bytes: float, what: str, instead: str = "screen first") -> None:
        """Raise an error, before any allocation, for work that exceeds the memory limit.

        Parameters
        ----------
        n_bytes : float
            Bytes that would be held at a time.
        what : str
            What needs the memory, for the message: "im4e: the table in two orders".
        instead : str
            Advice besides allowing more memory.

        Raises
        ------
        MemoryBoundError
            With both sizes.

        Examples
        --------
        >>> from fsframe.errors import RequestError
        >>> try:
        ...     Run(memory=1 << 20).must_hold(5 << 20, "im4e: two copies")
        ... except RequestError as error:
        ...     print(str(error)[:39])
        im4e: two copies takes 5 MiB besides th
        """
        if n_bytes > self.memory:
            ways = [instead]
            if self.route > self.memory:
                ways.append("use fewer workers (--workers)")
            if n_bytes < (physical_memory() or math.inf):
                ways.append("or allow more (--memory)")
            needed, held = size_text(n_bytes), size_text(self.memory)
            if needed == held:
                needed, held = f"{n_bytes:,.0f} bytes", f"{self.memory:,} bytes"
            raise MemoryBoundError(
                f"{what} takes {needed} besides the table, more than the {held} of memory that one "
                f"fit may hold; {', '.join(ways)}"
            )

    def child(self, *key: int) -> Run:
        """The context of a part; its stream does not depend on which process runs it, or when."""
        return attrs.evolve(self, key=self._path(key), first=0)

    def batch(self, first: int) -> Run:
        """The same context for a batch of parts that starts at part `first`."""
        return attrs.evolve(self, first=self.first + first)

    def stage(self, position: int) -> Run:
        """The context of one stage of a chain that runs on a batch of parts.

        In the key, the stage comes before the part, to which the start of the batch still applies.
        """
        return attrs.evolve(self, key=(*self.key, position))

    def _path(self, key: tuple[int, ...]) -> tuple[int, ...]:
        return (*self.key, key[0] + self.first, *key[1:]) if key else self.key

    def quiet(self) -> Run:
        """The same context for work inside a unit: without progress reports, executor and
        checkpoint.
        """
        return attrs.evolve(self, listener=None, executor=None, checkpoint=None)

    def units(self, what: str, data: Dataset, upstream: Selection | None = None) -> Steps:
        """Steps of one long fit that are stored with the run, so that it can continue after a kill.

        Parameters
        ----------
        what : str
            Text that identifies everything a step depends on besides `data`, `upstream` and this
            run: method, parameters.
        data, upstream
            As passed to the method.

        Returns
        -------
        Steps
            ``units.get(t, compute)`` gives the arrays of step t; `compute` is called only if they
            are not stored already. Within a resample nothing is stored: the resample is the unit.

        Examples
        --------
        >>> import numpy as np
        >>> from fsframe.table.dataset import Dataset
        >>> data = Dataset.from_arrays([[0.0], [1.0]], ["a", "b"])
        >>> units = Run().units("doubling from 1", data)
        >>> x = np.ones(1)
        >>> for t in range(3):
        ...     x = units.get(t, lambda: {"x": 2 * x})["x"]
        >>> x
        array([8.])
        """
        if self.checkpoint is None:
            return _NotStored()
        steps: Steps = self.checkpoint.fit_steps(what, data, self, upstream)
        return steps

    def generator(self, *key: int) -> np.random.Generator:
        """The random generator of this work, or of a part of it.

        Notes
        -----
        ``SeedSequence(entropy, spawn_key=key)``: two keys give independent streams, and a stream is
        the same on every worker and after every interruption.
        """
        sequence = np.random.SeedSequence(self.entropy, spawn_key=self._path(key))
        return np.random.Generator(np.random.PCG64(sequence))

    def progress(self, done: int, total: int, label: str) -> None:
        """Report that `done` of `total` units are finished."""
        if self.listener is None:
            return
        try:
            self.listener(Progress(label=label, done=done, total=total, key=self.key))
        except BaseException as error:
            # Not an error of the reporting stage.
            error.from_outside = True  # type: ignore[attr-defined]
            raise


def make_run(run: Run | None, seed: int | None, **options: Any) -> Run:
    """`run` itself, or a new one with `seed` (0 by default) if there is none."""
    if run is not None:
        return run
    return Run(entropy=0 if seed is None else seed, **options)
