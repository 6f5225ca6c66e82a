"""A request: a chain on a table, the limits of the computation, and the file for the result; how
its stages are run one by one, its pairs tested, and all of it recorded for the run file and the
log.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from fsframe.atomic import check_destination, existing_file
from fsframe.chains.repeated_rows import repeated_rows
from fsframe.chains.stage import (
    MemoryShares,
    RunsInSteps,
    Stage,
    StageResult,
    registry_of_class,
    route_of,
    shares_of,
)
from fsframe.errors import (
    DataError,
    Forewarning,
    FsframeError,
    FsframeWarning,
    PluginError,
    RequestError,
    StoreError,
    one_line,
)
from fsframe.grammar import format_stages
from fsframe.method.pair_tests import PAIR_TEST, PairTester, PairTests
from fsframe.method.run import Observer, Observers, Run, as_number, as_seed, as_size
from fsframe.method.selection import Selection
from fsframe.method.selector import Selector
from fsframe.registry import Offer, in_stage, observers, selectors
from fsframe.registry.registry import stage_words
from fsframe.storage import DataRecord, PairTestRecord, RunRecord, StageRecord, load_run, write_run
from fsframe.storage.checkpoint import Checkpoint
from fsframe.storage.encoding import NUMERIC_LIBRARIES, NUMERIC_PARTS, fingerprint, release
from fsframe.storage.unit_bytes import pack_selections, unpack_selections
from fsframe.storage.unit_files import SOFTWARE, Manifest, Unit, call_key, providers, software
from fsframe.storage.write import check_run_name
from fsframe.table.column_kinds import ColumnKind, kinds_as_json
from fsframe.table.dataset import Dataset
from fsframe.table.roles import ROLES
from fsframe.text import storable_text

if TYPE_CHECKING:
    from fsframe.execution import Engine
    from fsframe.method.run import Progress


_LOG = logging.getLogger("fsframe.run")
# Without a handler, Python writes errors to stderr.
_LOG.addHandler(logging.NullHandler())


class RunLog(Observer):
    """Log start, stages and end of each run as INFO, stored units as DEBUG, warnings as WARNING,
    failures as ERROR.

    Programs show the log with ``logging.basicConfig(level=logging.INFO)``; commands write it to the
    file of ``--log``.
    """

    def run_began(self, run: Mapping[str, Any]) -> None:
        """Log chain, table and seed."""
        _LOG.info(
            "%s on %s (%d × %d), seed %s", run["chain"], run["data"], run["n_samples"],
            run["n_features"], run["seed"],
        )  # fmt: skip

    def unit_kept(self, unit: Mapping[str, Any]) -> None:
        """Log the resamples that were stored."""
        _LOG.debug("kept %d to %d of %s", unit["start"], unit["stop"], unit["call"])

    def stage_ended(self, number: int, stage: Any) -> None:
        """Log name, time and number of kept columns, and the warnings of the stage."""
        kept = "" if stage.selection is None else f": {len(stage.selection.selected)} columns"
        _LOG.info("%s%s, %.2f s", stage.name, kept, stage.seconds)
        for warning in stage.warnings:
            _LOG.warning("%s: %s", stage.name, warning)

    def run_ended(self, record: Any) -> None:
        """Log the number of kept columns, the digest of the result, and the warnings of the run."""
        for warning in record.warnings:
            _LOG.warning("%s", warning)
        # The digest reads every array of the record.
        if _LOG.isEnabledFor(logging.INFO):
            _LOG.info("kept %d columns, %s", len(record.selected), record.digests()["/result"])

    def run_failed(self, error: BaseException) -> None:
        """Log the exception that ended the run."""
        _LOG.error("%s: %s", type(error).__name__, error)


_LIBRARIES = ("fsframe", "numpy", "scipy", "numba", "h5py", "attrs", "click", "pluggy")


def record_of(
    chain: RunsInSteps, data: Dataset, run: Run, source: str, command: str, active: Observers
) -> RunRecord:
    """Run `chain` on `data`, stage by stage, and return its record.

    With `run.checkpoint`, stages stored there are not computed, and others are added to it. The
    observers `active` are notified of each stage.
    """
    stages: list[StageRecord] = []
    selected, scores = np.arange(data.n_features), np.full(data.n_features, np.nan)
    for stage in _recorded_stages(chain, data, run):
        stages.append(stage)
        if active:
            active.notify("stage_ended", len(stages) - 1, stage)
        if stage.selection is not None:
            selected, scores = stage.selection.selected, stage.selection.scores
    parts = [] if run.checkpoint is None else list(run.checkpoint.mixed)
    # Executors of other libraries lack this method: they do not know their workers' fingerprints.
    others: tuple[str, ...] = getattr(run.executor, "other_numerics", tuple)()
    mixed = "; ".join([*parts, *(each for each in others if each not in parts)])
    differing = (f"computed in parts whose last bits may differ: {mixed}",) if mixed else ()
    tests, untested = answer_tests(chain.stages, stages, data, run.child(len(chain.stages)))
    # An evaluation, as a stage, gives this warning itself.
    said = {warning for stage in stages for warning in stage.warnings}
    repeated = [text for text in repeated_rows(data) if text not in said]
    asked = Manifest.of(chain, data, run.entropy, memory=run.route)
    return RunRecord(
        chain=asked.chain,
        data=DataRecord.from_dataset(data, source),
        stages=tuple(stages),
        selected=selected,
        scores=scores,
        pair_tests=tests,
        seed=run.entropy,
        command=storable_text(command),
        fsframe_version=release("fsframe"),
        warnings=(
            *data.warnings,
            *repeated,
            *chain.forewarnings(data),
            *differing,
            *([untested] if untested else []),
            *active.warnings,
        ),
        environment={
            **environment(),
            # Includes plugins in bases, and classes registered in this process.
            **{k: v for k, v in asked.software.items() if k.startswith(("plugin ", "class "))},
            "providers": providers(asked.chain),
            "request": {"sha256": asked.identity, "memory": run.route},
            **_facts_of_table(data),
            **({"mixed": mixed} if mixed else {}),
        },
    )


def _recorded_stages(chain: RunsInSteps, data: Dataset, run: Run) -> Iterator[StageRecord]:
    """The record of each stage: finished stages from the checkpoint, then computed ones."""
    keeper = run.checkpoint
    upstream: Selection | None = None
    start = 0
    while keeper is not None and start < len(chain.stages):
        known = keeper.units(_stage_call(chain, data, run, start, upstream))
        if not known:
            break
        shape = (data.n_features, data.n_samples)
        (upstream,), seconds = unpack_selections(keeper.load(known[0]), shape)
        yield stage_record(chain.stages[start], run.child(start), upstream, float(seconds))
        start += 1
    steps = chain.steps(data, run, upstream, start)
    for position in range(start, len(chain.stages)):
        began = time.perf_counter()
        result = next(steps)
        seconds = time.perf_counter() - began
        if isinstance(result, Selection):
            if keeper is not None:
                call = _stage_call(chain, data, run, position, upstream)
                keeper.commit(Unit(call, 0, 1), pack_selections([result], seconds))
            upstream = result
        yield stage_record(chain.stages[position], run.child(position), result, seconds)


def _stage_call(
    chain: RunsInSteps, data: Dataset, run: Run, position: int, upstream: Selection | None
) -> str:
    text = format_stages(stage.text for stage in chain.stages[: position + 1])
    return call_key("stage", text, data, run.child(position), upstream=upstream)


def stage_record(stage: Stage, run: Run, result: StageResult, seconds: float = 0.0) -> StageRecord:
    """The record of a stage for the run file; `run` is the context of the stage, and `seconds` may
    be left out by an audit, which compares results only."""
    offer = registry_of_class(type(stage.method)).offer(stage.name)
    values = stage.method.values()
    common: dict[str, Any] = {
        "name": stage.name,
        "provider": offer.provider,
        "provider_version": offer.version,
        "params": {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()},
        "seconds": seconds,
        "seed": run.key,
    }
    if isinstance(result, Selection):
        return StageRecord(kind="selector", selection=result, **common)
    arrays: dict[str, Any] = getattr(result.inner, "arrays", dict)()
    return StageRecord(kind="classifier", features_in=result.columns, model=arrays, **common)


_STRONGEST = 50
"""Number of pairs with the largest weights that are tested even if their features are not kept."""


def offer_of_tester() -> Offer | None:
    """The method that tests pairs: the bundled one, else the first by name, else None."""
    offers = [o for o in selectors.offers() if PAIR_TEST in getattr(o.entry, "gives", ())]
    bundled = [offer for offer in offers if offer.plugin.source.bundled]
    return next(iter(bundled or offers), None)


Selecting = tuple[Stage, StageRecord, Selection]


def answer_tests(
    stages: Sequence[Stage], records: Sequence[StageRecord], data: Dataset, run: Run
) -> tuple[PairTestRecord | None, str]:
    """Test the pairs of kept features, and the pairs with the largest weights.

    Parameters
    ----------
    stages : sequence of Stage
        The stages of the chain.
    records : sequence of StageRecord
        The results of the stages.
    data : Dataset
    run : Run
        Context of the tests, with a key that no stage has.

    Returns
    -------
    tests : PairTestRecord, optional
        None if there are no pair weights, or the pairs cannot be tested. If the weights come from a
        stage that tests pairs, its own tests.
    reason : str
        Why weighted pairs could not be tested; empty otherwise.
    """
    selecting = [
        (stage, record, record.selection)
        for stage, record in zip(stages, records, strict=True)
        if record.selection is not None
    ]
    weighed = [each for each in selecting if each[2].pair_weights is not None]
    if not weighed:
        return None, ""
    computed = [each for each in weighed if "pair_weights" not in each[2].carried]
    made, record, selection = (computed or weighed)[-1]
    kept = np.sort(selecting[-1][2].selected)
    if isinstance(made.method, PairTester):
        with in_stage(type(made.method), made.name):
            tests = made.method.tests_found(selection)
        offer = selectors.offer(made.name)
        return _tests_record(made, offer, record.seed, tests, data), ""
    testing = offer_of_tester()
    weights = weighed[-1][2].pair_weights
    assert weights is not None
    listed = [(a, b) for a, b, _ in weights.top(_STRONGEST)]
    if testing is None or not (listed or kept.size > 1):
        return None, ""
    pairs = np.array(listed, dtype=np.intp).reshape(-1, 2)
    chosen_from = _chosen_from(selecting, made)
    try:
        tester = selectors[testing.name]()
        _check_can_take(tester, data)
        with in_stage(type(tester), testing.name):
            tests = tester.test_pairs(data, kept, pairs, chosen_from, run)
        stage = Stage(testing.name, tester)
        return _tests_record(stage, testing, run.key, tests, data), ""
    except FsframeError as error:
        # The result of the run is valid without the tests.
        return None, f"pairs were not tested for interaction: {error}"


def _chosen_from(selecting: Sequence[Selecting], weighing: Stage) -> int:
    """Number of pairs in the widest input of a multivariate stage, or of the one with weights."""
    columns = max(
        0 if selection.features_in is None else selection.features_in.size
        for stage, _, selection in selecting
        if stage is weighing or not getattr(stage.method, "univariate", False)
    )
    return columns * (columns - 1) // 2


def _check_can_take(tester: Any, data: Dataset) -> None:
    if not isinstance(tester, PairTester) or not isinstance(tester, Selector):
        name = getattr(tester, "method_name", lambda: type(tester).__name__)()
        raise PluginError(f"{name} is declared to test pairs, but has no test_pairs")
    ignored = "" if data.groups is None else tester.ignores_groups()
    if ignored:
        raise DataError(f"rows of one {data.group_name!r} are alike, and {ignored}")
    for columns, relation in (
        (data.times, "come one after another"),
        (data.covariates, "depend on"),
    ):
        if columns is not None:
            names = ", ".join(columns.names)
            raise DataError(f"rows {relation} {names}, which tests of pairs do not support")
    tester.check_data(data)


def _tests_record(
    stage: Stage, offer: Offer, key: tuple[int, ...], tests: PairTests, data: Dataset
) -> PairTestRecord:
    problems = (
        tests.problems(data.n_features)
        if isinstance(tests, PairTests)
        else [f"{type(tests).__name__} is not a PairTests"]
    )
    if problems:
        said = stage_words(type(stage.method), stage.name)
        raise PluginError(f"{said} returned invalid tests of pairs: {'; '.join(problems)}")
    return PairTestRecord(
        name=stage.name,
        provider=offer.provider,
        provider_version=offer.version,
        seed=key,
        tests=tests,
    )


def _facts_of_table(data: Dataset) -> dict[str, Any]:
    """How the table was read, and the kinds and roles that were given to its columns and rows."""
    facts: dict[str, Any] = {"reading": dict(data.reading)} if data.reading else {}
    if data.groups is not None:
        # Without the names of the groups, which may be names of people.
        codes = hashlib.sha256(data.groups.astype("<i8").tobytes()).hexdigest()
        facts["groups"] = {"name": data.group_name, "number": data.n_groups, "sha256": codes}
    names = np.array(data.feature_names, dtype=object)
    kinds = {**dict.fromkeys(names[data.categorical], ColumnKind("nominal")), **data.kinds}
    if kinds:
        facts["kinds"] = kinds_as_json(kinds)
    if data.keep is not None:
        facts["keep"] = names[data.keep].tolist()
    if data.weight_name:
        # A table in parts repeats rows by weight.
        total = int(data.row_counts.sum())
        facts["weights"] = {"name": data.weight_name, "sum": total}
    if data.feature_groups:
        facts["feature_groups"] = {k: list(of) for k, of in data.feature_groups.items()}
    for role, columns in data.side_columns().items():
        one = ROLES[role].given == "name"
        facts[role] = columns.names[0] if one else list(columns.names)
    return facts


def environment() -> dict[str, Any]:
    """Versions of interpreter and libraries, platform and numeric fingerprint, for the run file."""
    interpreter = {"python": platform.python_version(), "platform": platform.platform()}
    return interpreter | {name: release(name) for name in _LIBRARIES} | dict(fingerprint())


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

    def within(self, options: Mapping[str, Any], command: str) -> Request:
        """The request with this command, and with those of the options that are limits.

        `options` may have memory, threads, overwrite, restart and mixed; others are ignored, and
        those that it lacks are set to their defaults.
        """
        limits: dict[str, Any] = {name: options.get(name) for name in ("memory", "threads")}
        limits |= {name: bool(options.get(name)) for name in ("overwrite", "restart", "mixed")}
        return attrs.evolve(self, command=command, **limits)

    def answer(self) -> RunRecord | None:
        """The result, if `out` holds it already; None if it has to be computed.

        That of one of several runs must come from the same kind of processor, unless `mixed`.

        Raises
        ------
        StoreError
            If `out` holds the result of another request; the message lists the differences.
        """
        if self.out is None or self.overwrite or self.restart:
            return None
        several = bool(self.part)
        record = _record_at(self.out, self._tables(), says_damage=several)
        if record is None:
            return None
        recorded = recorded_request(record)
        asked = Manifest.of(self.chain, self.data, self.seed, memory=self.chosen_route())
        if several:
            reasons = recorded.differences(asked, mixed=self.mixed)
            instead = "choose another folder (--out, out=)"
            if not recorded.differences(asked, mixed=True):
                instead += ", or accept results of both processors (--mixed, mixed=True)"
            if reasons:
                raise existing_file(self.out, reasons, instead)
            return record
        reasons = recorded.differences(attrs.evolve(asked, numerics={}))
        request = record.environment.get("request")
        if not isinstance(request, Mapping) or request.get("sha256") != asked.identity:
            reasons = reasons or ["it was not made by this request"]
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
    record = _record_at(out, apart_from)
    if record is not None:
        recorded = recorded_request(record)
        asked = attrs.evolve(
            recorded, chain=str(chain), seed=seed, software=software(chain), numerics={}
        )
        reasons = recorded.differences(asked)
        if reasons:
            raise existing_file(out, reasons)
    return record


def _record_at(
    out: str | os.PathLike[str],
    apart_from: Iterable[str | os.PathLike[str] | None],
    *,
    says_damage: bool = False,
) -> RunRecord | None:
    """The run at `out`; None if there is no file.

    StoreError if nothing can be written there, or what is there is no run: it says that the file
    exists or, if `says_damage`, what is wrong with it.
    """
    if not os.path.lexists(out):
        check_destination(out, apart_from=apart_from)
        return None
    try:
        return load_run(out)
    except StoreError:
        if not says_damage:
            check_destination(out, apart_from=apart_from)
        raise


def recorded_request(record: RunRecord) -> Manifest:
    """The request that a run answered, as far as its file records it."""
    environment = dict(record.environment)
    numerics = (*NUMERIC_PARTS, *NUMERIC_LIBRARIES)
    versions = {"python": ".".join(str(environment.get("python", "")).split(".")[:2])}
    for name, version in environment.items():
        if name in SOFTWARE or name.startswith(("plugin ", "class ")):
            versions[name] = str(version)
    return Manifest(
        chain=record.chain,
        seed=record.seed or 0,
        sha256=record.data.sha256,
        memory=memory_route(record) or 0,
        software=versions,
        numerics={name: environment[name] for name in numerics if name in environment},
    )


def memory_route(record: RunRecord) -> int | None:
    """Bytes by which the methods of a run chose their algorithm; None if its file has none."""
    request = record.environment.get("request")
    memory = request.get("memory") if isinstance(request, Mapping) else None
    # The file may come from anybody, so its type is not certain.
    return memory if type(memory) is int and memory > 0 else None
