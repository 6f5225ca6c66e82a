"""Stages of a chain, and the share of memory that each may take."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import attrs

from fsframe.errors import RequestError
from fsframe.grammar import StageText, format_stages
from fsframe.method.classifier import Classifier, FittedOnColumns
from fsframe.method.run import DEFAULT_MEMORY, Run
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.params import format_value
from fsframe.registry import Registry, classifiers, find_offer, selectors
from fsframe.system import CAN_SHARE_MEMORY, available_processors, physical_memory
from fsframe.table.dataset import Dataset
from fsframe.table.spelling.text_file import shown


@attrs.frozen
class Stage:
    """One stage: a method with its parameters, and the name it was requested by."""

    name: str
    method: Selector | Classifier

    @property
    def text(self) -> StageText:
        """The stage as text, without parameters at their defaults."""
        return StageText(self.name, {k: format_value(v) for k, v in self.method.changed().items()})

    def __str__(self) -> str:
        return format_stages([self.text])


StageResult = Selection | FittedOnColumns
"""Result of one stage: what a selector keeps, or a fitted classifier."""


class RunsInSteps(Protocol):
    """The interface of `fsframe.chains.chain.Chain` that recording needs."""

    @property
    def stages(self) -> tuple[Stage, ...]: ...

    def check_request(self, data: Dataset) -> None: ...

    def forewarnings(self, data: Dataset) -> Iterator[str]: ...

    def steps(
        self, data: Dataset, run: Run, upstream: Selection | None = None, start: int = 0
    ) -> Iterator[StageResult]: ...


def workers_hint(chain: RunsInSteps, option: str) -> str:
    """A hint that workers can divide the resamples of a chain; empty if it has none.

    Empty on a single processor too. `option` asks for workers, such as ``workers=``.
    """
    processors = available_processors()
    if processors < 2 or not resamples(chain):
        return ""
    return f"{option}{processors} divides the resamples among the processors"


def resamples(chain: RunsInSteps) -> bool:
    """Whether a stage resamples, so that workers have work."""
    return any(getattr(stage.method, "wrapping", False) for stage in chain.stages)


def find_method(name: str) -> type[Selector] | type[Classifier]:
    """The class of the selector or classifier called `name`.

    Raises
    ------
    RequestError, PluginError
        As raised by `fsframe.registry.find_offer`.
    """
    registry, offer = find_offer(name, selectors, classifiers)
    return registry[offer.name]  # type: ignore[no-any-return]


def registry_of_class(method: type[Selector] | type[Classifier]) -> Registry:
    """The registry in which a method's name is looked up."""
    return classifiers if issubclass(method, Classifier) else selectors


LEAST_SHARE = 1 << 20
"""Minimum memory of a fit besides its rows of the table."""

# Measured over whole commands (benchmarks/memory/peaks.py), rounded up.
_ROOM, _ROOM_PER_FEATURE, _ROOM_PER_SAMPLE = 48_000_000, 400, 100
_WORKER_ROOM, _WORKER_ROOM_PER_FEATURE = 32_000_000, 200


class LimitTooSmall(RequestError):
    """A memory limit is too small for a run.

    Parameters
    ----------
    needed : int
        Bytes that suffice.
    """

    def __init__(self, message: str, needed: int = 0) -> None:
        super().__init__(message)
        self.needed = needed


@attrs.frozen(kw_only=True)
class MemoryShares:
    """The memory limit of a run and how it is divided, in bytes.

    Parameters
    ----------
    bound : int
        The requested limit, without interpreters and libraries.
    table : int
        The table in this process (if it is in parts, only the facts about its columns), and other
        tables in memory.
    shared : int
        Copies of the table for workers.
    copied : int
        Rows and columns of the table that one resample copies.
    room : int
        Memory of the program itself, in this process and its workers: see `working_memory`.
    fits : int
        Number of concurrent fits, in separate processes; 1 without workers.
    one_fit : int
        Limit of one fit, besides the table and its copy.
    route : int
        The limit by which methods choose their algorithm: that of a single fit. It depends on the
        chain, the table and the bound, not on workers.
    """

    bound: int
    table: int
    shared: int
    copied: int
    room: int
    fits: int
    one_fit: int
    route: int


def working_memory(n_samples: int, n_features: int, workers: int = 0) -> int:
    """Bytes that any run needs besides the imported program and the table.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the table.
    workers : int
        Number of worker processes; 0 if this process computes.

    Notes
    -----
    This covers buffers of libraries, memory that Python's allocator keeps, the names of features,
    the results and the image of the run file. It does not depend on the limit.

    Examples
    --------
    >>> working_memory(100, 60_000) // 10**6, working_memory(100, 60_000, workers=2) // 10**6
    (72, 160)
    """
    here = _ROOM + _ROOM_PER_FEATURE * n_features + _ROOM_PER_SAMPLE * n_samples
    return here + workers * (_WORKER_ROOM + _WORKER_ROOM_PER_FEATURE * n_features)


def shares_of(
    chain: RunsInSteps,
    data: Dataset,
    bound: int | None,
    executor: Any = None,
    *,
    other_tables: int = 0,
    route: int | None = None,
) -> MemoryShares | None:
    """How a run of `chain` on `data` divides its memory; None without a limit.

    Parameters
    ----------
    chain : Chain
    data : Dataset
    bound : int, optional
        Memory limit of all processes of the run together, in bytes; on a cluster, of each process.
    executor : Engine or Executor, optional
        Where resamples are computed.
    other_tables : int
        Bytes of other tables in memory.
    route : int, optional
        The `MemoryShares.route` that the run was started with, if it is continued with another
        limit: methods must keep choosing their algorithm by it.

    Raises
    ------
    RequestError
        If the limit is too small for the table, its copies and the minimum of a fit; the message
        names a sufficient limit.

    Notes
    -----
    The run counts the table in this process; one mapped copy of it for worker processes on this
    machine, or one per worker elsewhere; a copy of the rows for each concurrent fit if a stage
    resamples (two for nested folds); and the program itself (`working_memory`). The rest is divided
    equally among fits. Interpreters and libraries are not counted (see `docs/executors.md`).

    Examples
    --------
    >>> from fsframe.chains.chain import Chain
    >>> from fsframe.table.dataset import Dataset
    >>> import numpy as np
    >>> data = Dataset.from_arrays(np.zeros((50, 1000)), np.arange(50) % 2)
    >>> shares = shares_of(Chain.parse("mim npfs"), data, 100_000_000)
    >>> shares.table, shares.copied, shares.room, shares.one_fit
    (400000, 400000, 48405000, 50795000)
    """
    if bound is None:
        return None
    values = 8 * data.n_samples * data.n_features
    table = _table_bytes(data)
    fits, here = _workers(executor)
    shared = 0 if executor is None else table
    if here and executor is not None and not CAN_SHARE_MEMORY:
        shared = fits * table  # Without mapping, each worker is sent a copy.
    if not here:
        # Each worker has its own table and limit.
        fits, other_tables = 1, 0
    methods = [stage.method for stage in chain.stages]
    copied = _copied_bytes(chain, data)
    tables_here = table + other_tables if here else 0
    n, p = data.n_samples, data.n_features
    room = working_memory(n, p, 0 if executor is None else fits)
    if not here:
        room -= working_memory(n, p)
    one_fit = (bound - tables_here - shared - room) // fits - copied
    shares = MemoryShares(
        bound=bound, table=tables_here, shared=shared, copied=copied, room=room, fits=fits,
        one_fit=one_fit, route=route or route_of(chain, data, bound, other_tables),
    )  # fmt: skip
    for_rows = max(method.bytes_for_rows(n) for method in methods)
    least = max(LEAST_SHARE, int(values * most_tables_held(methods, p)) + for_rows)
    if one_fit < least:
        needed = tables_here + shared + room + fits * (copied + least)
        ways = ["use fewer workers (--workers)"] * (fits > 1)
        # A stage on the left with a number to keep is a filter already.
        filtered = len(methods) > 1 and isinstance(getattr(methods[0], "top", None), int)
        if 2 * for_rows >= least:
            ways.append("use fewer rows or another method")
        elif p > _FILTERED and least > LEAST_SHARE and not filtered:
            ways.append(f"put a filter such as mim:top={_FILTERED} first")
        if not here or needed < (physical_memory() or math.inf) or not ways:
            # Rounded up to a MB, so that the limit in the message suffices.
            ways.append(f"allow --memory {-(-needed // 10**6)}MB")
        copies = "" if executor is None else " with the workers' copy"
        where = "" if here else "in each worker, "
        message = _too_little(shares, data, least, needed, ways, copies, where)
        raise LimitTooSmall(message, needed)
    return shares


def route_of(chain: RunsInSteps, data: Dataset, bound: int | None, other_tables: int = 0) -> int:
    """Bytes by which methods choose their algorithm: those of a single fit within `bound`.

    Parameters as in `shares_of`. The number depends on the chain, the table and the bound, not on
    workers, and is part of what identifies a request.
    """
    if bound is None:
        return DEFAULT_MEMORY
    alone = (
        2 * _table_bytes(data) + other_tables + working_memory(data.n_samples, data.n_features, 1)
    )
    return max(LEAST_SHARE, bound - alone - _copied_bytes(chain, data))


def _table_bytes(data: Dataset) -> int:
    # The values of a table in parts stay in its files; the facts about its columns do not.
    return int(data.matrix.facts.nbytes if data.in_parts else data.nbytes)


def _copied_bytes(chain: RunsInSteps, data: Dataset) -> int:
    """Bytes of rows that one resample copies."""
    values = 8 * data.n_samples * data.n_features
    return int(values * max(stage.method.rows_copied() for stage in chain.stages))


def most_tables_held(methods: Sequence[Any], n_features: int) -> float:
    """The largest number of copies of the whole table that any stage holds, as far as it is known.

    Parameters
    ----------
    methods : sequence of Selector or Classifier
        The stages of the chain, in order.
    n_features : int
        Number of columns of the table.

    Notes
    -----
    The number of columns that a stage keeps is known if `top` is an integer. The next stage holds a
    copy of these columns; if their number is not known, it counts only if it resamples, with all
    columns.
    """
    # `known` is the number of columns that the next stage gets; 0 if not known.
    most, known = 0.0, n_features
    for place, method in enumerate(methods):
        if known:
            copies = method.tables_held(known) + (place > 0)
            most = max(most, copies * known / n_features)
        elif method.rows_copied():
            most = max(most, method.tables_held(n_features))
        top = getattr(method, "top", None)
        known = min(top, known or n_features) if isinstance(top, int) else 0
    return most


def _workers(executor: Any) -> tuple[int, bool]:
    """The number of concurrent fits of an executor, and whether they run on this machine."""
    if executor is None:
        return 1, True
    # An Engine has both attributes; other executors are recognized by their module.
    here = getattr(executor, "mappable", not type(executor).__module__.startswith("distributed"))
    workers = getattr(executor, "workers", None) or getattr(executor, "_max_workers", None)
    return max(1, int(workers or os.cpu_count() or 1)), bool(here)


_FILTERED = 1000
"""Columns kept by the filter that `shares_of` advises."""


def _too_little(
    shares: MemoryShares,
    data: Dataset,
    least: int,
    needed: int,
    ways: Sequence[str],
    copies: str,
    where: str,
) -> str:
    """The message for a limit that is too small: what is needed, and the ways out."""
    parts = [
        f"the table {shown(shares.table + shares.shared)}{copies}",
        f"the program itself {shown(shares.room)}",
    ]
    if shares.copied:
        parts.append(f"a resample's rows {shown(shares.copied)}")
    times = f" for each of {shares.fits} workers" if shares.fits > 1 else ""
    *before, last = ways
    advice = ", ".join([*before, f"or {last}" if before else last])
    return (
        f"{shown(shares.bound)} of memory is not enough for {data.n_samples} × "
        f"{data.n_features} values: {where}{', '.join(parts)} and a fit at least {shown(least)}"
        f"{times} add up to {shown(needed)}; {advice}"
    )
