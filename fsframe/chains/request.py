"""A request: a chain on a table, the limits of the computation, and the file for the result."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from fsframe.atomic import check_destination, existing_file
from fsframe.chains.recording import record_of
from fsframe.chains.stage import (
    MemoryShares,
    RunsInSteps,
    registry_of_class,
    route_of,
    shares_of,
)
from fsframe.errors import Forewarning, FsframeWarning, RequestError, StoreError, one_line
from fsframe.method.run import Observers, Run, as_number, as_seed, as_size
from fsframe.registry import observers
from fsframe.storage import RunRecord, load_run, write_run
from fsframe.storage.checkpoint import Checkpoint
from fsframe.storage.unit_files import SOFTWARE, Manifest, providers, software
from fsframe.storage.write import check_run_name
from fsframe.table.dataset import Dataset

if TYPE_CHECKING:
    from fsframe.execution import Engine
    from fsframe.method.run import Progress


def _threads(given: Any) -> int | None:
    return as_number(given, "threads")


def _run_file(given: str | os.PathLike[str] | None) -> str | os.PathLike[str] | None:
    if given is not None:
        check_run_name(given)
    return given


@attrs.frozen(kw_only=True, eq=False)
class Request:
    """A chain to run on a table, with the limits of the computation and the file for the result.

    Parameters
    ----------
    chain : Chain
    data : Dataset
    seed : int
    out : path, optional
        The run file; none is written by default.
    path : path
        File of the table, which must not be replaced; empty if there is none.
    source, command : str
        For the run file: where the table is, and the command or call that made the request.
    memory, threads : int, optional
        As for `Chain.run`.
    other_tables, route : int, optional
        As for `fsframe.chains.stage.shares_of`.
    overwrite, restart, mixed : bool
        As for `Chain.run`.
    details : mapping of str to str
        Further options that ``fsframe resume`` needs to continue the run.
    part : str
        Which of several runs this is, for progress bars, such as ``run 2 of 14``.
    """

    chain: RunsInSteps
    data: Dataset
    seed: int = attrs.field(default=0, converter=as_seed)
    out: str | os.PathLike[str] | None = attrs.field(default=None, converter=_run_file)
    path: str | os.PathLike[str] = ""
    source: str = ""
    command: str = ""
    memory: int | None = attrs.field(default=None, converter=attrs.converters.optional(as_size))
    other_tables: int = 0
    route: int | None = None
    threads: int | None = attrs.field(default=None, converter=_threads)
    overwrite: bool = False
    restart: bool = False
    mixed: bool = False
    details: Mapping[str, str] = attrs.field(factory=dict)
    part: str = ""

    def chosen_route(self) -> int:
        """Bytes by which methods choose their algorithm: part of what identifies the request."""
        return self.route or route_of(self.chain, self.data, self.memory, self.other_tables)

    def shares(self, executor: Engine | Executor | None = None) -> MemoryShares | None:
        """How the run divides its memory, from `fsframe.chains.stage.shares_of`."""
        return shares_of(
            self.chain, self.data, self.memory, executor,
            other_tables=self.other_tables, route=self.route,
        )  # fmt: skip

    def answer(self) -> RunRecord | None:
        """The result, if `out` holds it already; None if it has to be computed.

        Raises
        ------
        StoreError
            If `out` holds the result of another request; the message lists the differences.
        """
        if self.out is None or self.overwrite or self.restart:
            return None
        record = stored_answer(self.out, self.chain, self.seed, apart_from=self._tables())
        if record is None:
            return None
        asked = Manifest.of(self.chain, self.data, self.seed, memory=self.chosen_route())
        reasons = recorded_request(record).differences(attrs.evolve(asked, numerics={}))
        request = record.environment.get("request")
        if not isinstance(request, Mapping) or request.get("sha256") != asked.identity:
            reasons = reasons or ["it does not say that it is the result of this request"]
        if reasons:
            raise existing_file(self.out, reasons)
        return record

    def _tables(self) -> list[str | os.PathLike[str]]:
        """Files that must not be replaced."""
        return [self.path] if os.fspath(self.path) else []

    def checkpoint(self, *, overwrite: bool = False) -> Checkpoint | None:
        """Open the folder beside `out` for finished units; None if no file is written.

        With `overwrite`, `out` may exist.

        Raises
        ------
        RequestError, DataError
            As raised by `Chain.check_request`, before anything is written.
        StoreError
            As raised by `Checkpoint.open`.
        """
        if self.out is None:
            return None
        self.chain.check_request(self.data)
        overwrite = overwrite or self.overwrite
        # For `fsframe resume`.
        names = json.dumps(providers(str(self.chain)))
        asked = {"source": self.source, "command": self.command, **self.details, "providers": names}
        manifest = Manifest.of(self.chain, self.data, self.seed, asked, memory=self.chosen_route())
        return Checkpoint.open(
            self.out, manifest, restart=self.restart, overwrite=overwrite, mixed=self.mixed
        )

    def run(
        self,
        executor: Engine | Executor | None = None,
        listener: Callable[[Progress], None] | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> RunRecord:
        """Compute the result, and write it to `out`; arguments and errors as in `Chain.run`.

        Finished stages and resamples are stored beside `out` until it is written; those of an
        interrupted attempt are reused, or discarded with `restart`. A given `checkpoint` is used
        for this, and closed at the end.
        """
        run = self._context(executor, listener)
        _check_names(self.chain)
        for stage in self.chain.stages:
            stage.method.check_rows(self.data.n_samples, run)
        _admit_workers(self.chain, run, self.mixed)
        active = _observers()
        target, units = None, None
        if self.out is None:
            self.chain.check_request(self.data)
        else:
            # Made absolute now, since a plugin may change the working directory.
            used = [*self._tables(), self.source or None]
            target = check_destination(self.out, overwrite=self.overwrite, apart_from=used)
            units = checkpoint or attrs.evolve(self, out=target).checkpoint()
        for text in self.chain.forewarnings(self.data):
            warnings.warn(text, Forewarning, stacklevel=3)
        with units or contextlib.nullcontext(), self._observed(active, target):
            if active and units is not None:
                units.kept = lambda unit: active.notify("unit_kept", attrs.asdict(unit))
            run = attrs.evolve(run, checkpoint=units)
            record = record_of(self.chain, self.data, run, self.source, self.command, active)
            if units is not None and target is not None:
                known = len(units.notes)
                units.finish(lambda: write_run(target, record, overwrite=self.overwrite))
                for text in units.notes[known:]:
                    warnings.warn(text, FsframeWarning, stacklevel=3)
            # Failures of observers are only warnings now, as the record is complete.
            known = len(active.warnings)
            active.notify("run_ended", record)
            for text in active.warnings[known:]:
                warnings.warn(text, FsframeWarning, stacklevel=3)
        return record

    def _context(
        self, executor: Engine | Executor | None, listener: Callable[[Progress], None] | None
    ) -> Run:
        """The context of the stages, with the limits of the request."""
        shares = self.shares(executor)
        limits = {
            "threads": self.threads,
            "memory": None if shares is None else shares.one_fit,
            "route_memory": self.route if shares is None else shares.route,
        }
        given: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
        return Run(entropy=int(self.seed), listener=listener, executor=executor, **given)

    @contextlib.contextmanager
    def _observed(self, active: Observers, out: Path | None) -> Iterator[None]:
        """Notify the observers that a run begins, and of an exception that ends it."""
        about = {
            "chain": str(self.chain),
            "data": self.data.name,
            "sha256": self.data.sha256,
            "n_samples": self.data.n_samples,
            "n_features": self.data.n_features,
            "seed": self.seed,
            "out": None if out is None else str(out),
        }
        active.notify("run_began", about)
        try:
            yield
        except BaseException as error:
            active.notify("run_failed", error)
            raise


def _observers() -> Observers:
    """The observers of this run, with a warning for each that cannot be loaded."""
    usable, wrong = [], []
    for offer in observers.offers():
        try:
            usable.append(observers[f"{offer.provider}/{offer.entry.name}"]())
        except (Exception, SystemExit) as error:
            wrong.append(f"the observer {offer.entry.name!r} was not notified: {one_line(error)}")
    active = Observers(usable)
    active.warnings += wrong
    return active


def _check_names(chain: RunsInSteps) -> None:
    """Refuse stages whose name now refers to another class, since records refer to it by name."""
    for stage in chain.stages:
        registered = registry_of_class(type(stage.method))[stage.name]
        if registered is not type(stage.method):
            raise RequestError(
                f"the stage {stage.name!r} was built from a class that has been replaced since "
                f"({registered.__module__}.{registered.__name__}; was a notebook cell run again?): "
                "build the chain again"
            )


def _admit_workers(chain: RunsInSteps, run: Run, mixed: bool) -> None:
    """Refuse workers with other versions before the first stage, which may take hours by itself."""
    if run.executor is None:
        return
    from fsframe.execution.engine import engine_of

    with engine_of(run.executor) as engine:
        engine.mixed = engine.mixed or mixed
        engine.admit(software(chain))


def stored_answer(
    out: str | os.PathLike[str],
    chain: RunsInSteps,
    seed: int,
    *,
    apart_from: Iterable[str | os.PathLike[str] | None] = (),
) -> RunRecord | None:
    """The run at `out` if it has this chain, seed and versions; None if there is no file.

    Called before the table is read; `Request.answer` compares the rest.

    Raises
    ------
    StoreError
        If `out` holds the result of another request, or cannot be written.
    """
    if not os.path.lexists(out):
        check_destination(out, apart_from=apart_from)
        return None
    try:
        record = load_run(out)
    except StoreError:
        check_destination(out, apart_from=apart_from)
        return None
    there = recorded_request(record)
    asked = attrs.evolve(there, chain=str(chain), seed=seed, software=software(chain))
    reasons = there.differences(asked)
    if reasons:
        raise existing_file(out, reasons)
    return record


def recorded_request(record: RunRecord) -> Manifest:
    """The request that a run answered, as far as its file records it."""
    there = dict(record.environment)
    versions = {"python": ".".join(str(there.get("python", "")).split(".")[:2])}
    for name, version in there.items():
        if name in SOFTWARE or name.startswith(("plugin ", "class ")):
            versions[name] = str(version)
    return Manifest(
        chain=record.chain,
        seed=record.seed or 0,
        sha256=record.data.sha256,
        memory=memory_route(record) or 0,
        software=versions,
    )


def memory_route(record: RunRecord) -> int | None:
    """Bytes by which the methods of a run chose their algorithm; None if its file has none."""
    request = record.environment.get("request")
    memory = request.get("memory") if isinstance(request, Mapping) else None
    # The file may come from anybody, so its type is not certain.
    return memory if type(memory) is int and memory > 0 else None
