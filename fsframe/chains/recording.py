"""A chain computed stage by stage, with its log and its run file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import platform
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from fsframe.atomic import existing_file
from fsframe.chains.pair_testing import answer_tests
from fsframe.chains.repeated_rows import repeated_rows
from fsframe.chains.stage import ChainResult, RunsInSteps, StageResult, registry_of_class
from fsframe.errors import Forewarning, FsframeWarning, RequestError, StoreError, one_line
from fsframe.grammar import format_stages
from fsframe.method.run import DEFAULT_MEMORY, Observer, Observers, Run
from fsframe.method.selection import Selection
from fsframe.registry import observers
from fsframe.storage import (
    DataRecord,
    RunRecord,
    StageRecord,
    check_destination,
    load_run,
    write_run,
)
from fsframe.storage.encoding import fingerprint, release
from fsframe.storage.units.checkpoint import Checkpoint
from fsframe.storage.units.unit_bytes import pack_selections, unpack_selections
from fsframe.storage.units.unit_files import SOFTWARE, Manifest, Unit, call_key, providers, software
from fsframe.table.column_kinds import ColumnKind, kinds_as_json
from fsframe.table.dataset import Dataset
from fsframe.table.roles import ROLES
from fsframe.text import storable_text

_LOG = logging.getLogger("fsframe.run")
# Without a handler, Python writes errors to stderr.
_LOG.addHandler(logging.NullHandler())


class RunLog(Observer):
    """Logs start, stages and end of each run as INFO, stored units as DEBUG, warnings as WARNING,
    failures as ERROR.

    Programs show them with ``logging.basicConfig(level=logging.INFO)``; commands write them to the
    file of ``--log``.
    """

    def run_began(self, run: Mapping[str, Any]) -> None:
        """Chain, table and seed."""
        _LOG.info(
            "%s on %s (%d × %d), seed %s", run["chain"], run["data"], run["n_samples"],
            run["n_features"], run["seed"],
        )  # fmt: skip

    def unit_kept(self, unit: Mapping[str, Any]) -> None:
        """The stored resamples."""
        _LOG.debug("kept %d to %d of %s", unit["start"], unit["stop"], unit["call"])

    def stage_ended(self, number: int, stage: Any) -> None:
        """Name, time and number of columns."""
        kept = "" if stage.selection is None else f": {len(stage.selection.selected)} columns"
        _LOG.info("%s%s, %.2f s", stage.name, kept, stage.seconds)
        for warning in stage.warnings:
            _LOG.warning("%s: %s", stage.name, warning)

    def run_ended(self, record: Any) -> None:
        """Number of columns, and the digest of the result."""
        for warning in record.warnings:
            _LOG.warning("%s", warning)
        # The digest reads every array of the record.
        if _LOG.isEnabledFor(logging.INFO):
            _LOG.info("kept %d columns, %s", len(record.selected), record.digests()["/result"])

    def run_failed(self, error: BaseException) -> None:
        """The exception that ended the run."""
        _LOG.error("%s: %s", type(error).__name__, error)


_LIBRARIES = ("fsframe", "numpy", "scipy", "numba", "h5py", "attrs", "click", "pluggy")


def record_run(
    chain: RunsInSteps,
    data: Dataset,
    run: Run,
    out: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    restart: bool = False,
    mixed: bool = False,
    source: str = "",
    command: str = "",
) -> RunRecord:
    """Run `chain` on `data`, and return its record, also written to `out` if given.

    With `out`, finished stages and resamples are kept beside it until it is written; those of an
    interrupted attempt are reused, or discarded with `restart`. `run.checkpoint` is used, and
    closed, if there is one.

    Raises
    ------
    StoreError
        Before any work starts if `out` exists, or an unfinished run of something else or of
        another process is there.
    DataError, PluginError, RequestError, EngineError
        As raised by the stages.
    """
    _check_names(chain)
    _admit_workers(chain, run, mixed)
    active = _observers()
    if out is None:
        chain.check_request(data)
        _forewarn(chain, data)
        with _observed(active, chain, data, run, None):
            record = _recorded(chain, data, run, source, command, active)
            _notify_end(active, record)
        return record
    # Resolved once, since a plugin may change the working directory.
    target = check_destination(out, overwrite=overwrite, apart_from=[source] if source else [])
    checkpoint = run.checkpoint or open_checkpoint(
        chain,
        data,
        run.entropy,
        target,
        overwrite=overwrite,
        restart=restart,
        mixed=mixed,
        memory=run.route,
        command=command,
    )
    _forewarn(chain, data)
    with checkpoint, _observed(active, chain, data, run, target):
        if active:
            checkpoint.kept = lambda unit: active.notify("unit_kept", attrs.asdict(unit))
        context = attrs.evolve(run, checkpoint=checkpoint)
        record = _recorded(chain, data, context, source, command, active)
        known = len(checkpoint.notes)
        checkpoint.finish(lambda: write_run(target, record, overwrite=overwrite))
        for text in checkpoint.notes[known:]:
            warnings.warn(text, FsframeWarning, stacklevel=3)
        _notify_end(active, record)
    return record


def _forewarn(chain: RunsInSteps, data: Dataset) -> None:
    """Warn before any work starts about weak results that are foreseeable."""
    for text in chain.forewarnings(data):
        warnings.warn(text, Forewarning, stacklevel=4)


def _observers() -> Observers:
    """The observers of this run; one that cannot be loaded gives a warning."""
    found, wrong = [], []
    for offer in observers.offers():
        try:
            found.append(observers[f"{offer.provider}/{offer.entry.name}"]())
        except Exception as error:
            wrong.append(f"the observer {offer.entry.name!r} was not notified: {one_line(error)}")
    active = Observers(found)
    active.warnings += wrong
    return active


def _notify_end(active: Observers, record: RunRecord) -> None:
    """Pass on the finished record; failures are warned of, since the record is complete."""
    known = len(active.warnings)
    active.notify("run_ended", record)
    for text in active.warnings[known:]:
        warnings.warn(text, FsframeWarning, stacklevel=3)


@contextlib.contextmanager
def _observed(
    active: Observers, chain: RunsInSteps, data: Dataset, run: Run, out: Path | None
) -> Iterator[None]:
    """Notify the observers that a run begins, and of an exception that ends it."""
    about = {
        "chain": str(chain),
        "data": data.name,
        "sha256": data.sha256,
        "n_samples": data.n_samples,
        "n_features": data.n_features,
        "seed": run.entropy,
        "out": None if out is None else str(out),
    }
    active.notify("run_began", about)
    with active.watching():
        yield


def _check_names(chain: RunsInSteps) -> None:
    """Refuse stages whose name no longer means their class, since records look it up by name."""
    for stage in chain.stages:
        found = registry_of_class(type(stage.method))[stage.name]
        if found is not type(stage.method):
            raise RequestError(
                f"the stage {stage.name!r} was built from a class that has been replaced since "
                f"({found.__module__}.{found.__name__}; was a notebook cell run again?): build "
                "the chain again"
            )


def _admit_workers(chain: RunsInSteps, run: Run, mixed: bool) -> None:
    """Refuse workers with other versions now: the first stage may take hours in this process."""
    if run.executor is None:
        return
    from fsframe.execution import as_engine

    engine = as_engine(run.executor)
    engine.mixed = engine.mixed or mixed
    try:
        engine.admit(software(chain))
    finally:
        if engine is not run.executor:
            engine.close()


def open_checkpoint(
    chain: RunsInSteps,
    data: Dataset,
    seed: int,
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    restart: bool = False,
    mixed: bool = False,
    memory: int = DEFAULT_MEMORY,
    **request: str,
) -> Checkpoint:
    """Open the checkpoint of the run that will be written to `out`.

    Parameters
    ----------
    mixed : bool
        As in `Checkpoint.open`.
    memory : int
        Bytes by which methods choose their algorithm (`Run.route`).
    request : str
        Options that `fsframe resume` needs to continue the run.

    Raises
    ------
    RequestError
        As raised by `Chain.check_request`, before anything is written.
    StoreError
        As raised by `Checkpoint.open`.
    """
    chain.check_request(data)
    if overwrite:
        request["overwrite"] = "yes"
    request["providers"] = json.dumps(providers(str(chain)))
    manifest = Manifest.of(chain, data, seed, request, memory=memory)
    return Checkpoint.open(out, manifest, restart=restart, overwrite=overwrite, mixed=mixed)


def _recorded(
    chain: RunsInSteps, data: Dataset, run: Run, source: str, command: str, active: Observers
) -> RunRecord:
    stages: list[StageRecord] = []
    selected, scores = np.arange(data.n_features), np.full(data.n_features, np.nan)
    for result in _results(chain, data, run):
        stages.append(stage_record(result))
        if active:
            active.notify("stage_ended", len(stages) - 1, stages[-1])
        if result.selection is not None:
            selected, scores = result.selection.selected, result.selection.scores
    parts = [] if run.checkpoint is None else list(run.checkpoint.mixed)
    # Executors of other libraries do not know their workers' fingerprints.
    others: tuple[str, ...] = getattr(run.executor, "other_numerics", tuple)()
    mixed = "; ".join([*parts, *(each for each in others if each not in parts)])
    differing = (f"computed in parts whose last bits may differ: {mixed}",) if mixed else ()
    tests, untested = answer_tests(chain.stages, stages, data, run.child(len(chain.stages)))
    # An evaluation says it itself, unless it keeps the rows of a column together.
    said = {warning for stage in stages for warning in stage.warnings}
    apart = any(stage.params.get("groups") is not None for stage in stages)
    repeated = [] if apart else [text for text in repeated_rows(data) if text not in said]
    return RunRecord(
        chain=str(chain),
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
            # Also of plugins in bases, and of classes registered in this process.
            **{k: v for k, v in software(chain).items() if k.startswith(("plugin ", "class "))},
            "providers": providers(str(chain)),
            "request": {
                "sha256": Manifest.of(chain, data, run.entropy, memory=run.route).identity,
                "memory": run.route,
            },
            **_facts_of_table(data),
            **({"mixed": mixed} if mixed else {}),
        },
    )


def _results(chain: RunsInSteps, data: Dataset, run: Run) -> Iterator[StageResult]:
    """The result of each stage: finished ones from the checkpoint, then the rest computed."""
    if run.checkpoint is None:
        yield from chain.steps(data, run)
        return
    upstream: Selection | None = None
    start = 0
    for start, stage in enumerate(chain.stages):
        known = run.checkpoint.units(_stage_call(chain, data, run, start, upstream))
        if not known:
            break
        shape = (data.n_features, data.n_samples)
        (upstream,), seconds = unpack_selections(run.checkpoint.load(known[0]), shape)
        key = run.child(start).key
        yield StageResult(stage=stage, key=key, seconds=float(seconds), selection=upstream)
    else:
        return
    for position, result in enumerate(chain.steps(data, run, upstream, start), start):
        if result.selection is not None:
            call = _stage_call(chain, data, run, position, upstream)
            run.checkpoint.commit(
                Unit(call, 0, 1), pack_selections([result.selection], result.seconds)
            )
            upstream = result.selection
        yield result


def _stage_call(
    chain: RunsInSteps, data: Dataset, run: Run, position: int, upstream: Selection | None
) -> str:
    assert run.checkpoint is not None
    text = format_stages(stage.text for stage in chain.stages[: position + 1])
    return call_key(run.checkpoint, "stage", text, data, run.child(position), upstream=upstream)


def stored_answer(
    out: str | os.PathLike[str],
    chain: RunsInSteps,
    seed: int,
    *,
    apart_from: Iterable[str | os.PathLike[str] | None] = (),
) -> RunRecord | None:
    """The run at `out` if it has this chain, seed and versions; None if there is no file.

    Called before the table is read; `check_answer` compares the rest.

    Raises
    ------
    StoreError
        If another file is there, or `out` cannot be written.
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


def check_answer(out: str | os.PathLike[str], record: RunRecord, asked: Manifest) -> None:
    """Check that `record`, read from `out`, is the result of the request `asked`.

    Raises
    ------
    StoreError
        Saying in what they differ.
    """
    reasons = recorded_request(record).differences(attrs.evolve(asked, numerics={}))
    found = record.environment.get("request")
    identities = (asked.identity, asked.former_identity)
    if not isinstance(found, Mapping) or found.get("sha256") not in identities:
        reasons = reasons or ["it does not say that it is the result of this request"]
    if reasons:
        raise existing_file(out, reasons)


def recorded_request(record: RunRecord) -> Manifest:
    """What a run was asked for, as far as its file says it."""
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
    """Bytes by which the methods of a run chose their algorithm; None if its file does not say."""
    found = record.environment.get("request")
    memory = found.get("memory") if isinstance(found, Mapping) else None
    # The file may come from anybody.
    return memory if type(memory) is int and memory > 0 else None


def stage_record(result: StageResult) -> StageRecord:
    """The record of a stage for the run file."""
    method = result.stage.method
    offer = registry_of_class(type(method)).offer(result.stage.name)
    common: dict[str, Any] = {
        "name": result.stage.name,
        "provider": offer.provider,
        "provider_version": offer.version,
        "params": {k: list(v) if isinstance(v, tuple) else v for k, v in method.values().items()},
        "seconds": result.seconds,
        "seed": result.key,
    }
    if result.selection is not None:
        return StageRecord(kind="selector", selection=result.selection, **common)
    assert result.fitted is not None
    arrays: dict[str, Any] = getattr(result.fitted.inner, "arrays", dict)()
    return StageRecord(kind="classifier", features_in=result.fitted.columns, model=arrays, **common)


def _facts_of_table(data: Dataset) -> dict[str, Any]:
    """How the table was read, and the kinds and roles of its columns and rows, as far as given."""
    found: dict[str, Any] = {"reading": dict(data.reading)} if data.reading else {}
    if data.groups is not None:
        # Without the names of the groups, which may be those of people.
        codes = hashlib.sha256(data.groups.astype("<i8").tobytes()).hexdigest()
        found["groups"] = {"name": data.group_name, "number": data.n_groups, "sha256": codes}
    names = np.array(data.feature_names, dtype=object)
    kinds = {**dict.fromkeys(names[data.categorical], ColumnKind("nominal")), **data.kinds}
    if kinds:
        found["kinds"] = kinds_as_json(kinds)
    if data.keep is not None:
        found["keep"] = names[data.keep].tolist()
    if data.weight_name:
        # A table in parts repeats rows by weight.
        total = data.n_samples if data.counts is None else int(data.counts.sum())
        found["weights"] = {"name": data.weight_name, "sum": total}
    if data.feature_groups:
        found["feature_groups"] = {k: list(of) for k, of in data.feature_groups.items()}
    for role, columns in data.side_columns().items():
        one = ROLES[role].given == "name"
        found[role] = columns.names[0] if one else list(columns.names)
    return found


def environment() -> dict[str, Any]:
    """Versions of interpreter and libraries, platform and numeric fingerprint, for the run file."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    return found | {name: release(name) for name in _LIBRARIES} | dict(fingerprint())


_PRESENTATION = "fsframe.show.results:as_result"
"""The function that makes a record a result object; named rather than imported, since it is in a
higher layer."""


def as_chain_result(record: RunRecord) -> ChainResult:
    """The record as a result object, for programs and notebooks."""
    home, _, name = _PRESENTATION.partition(":")
    found: ChainResult = getattr(import_module(home), name)(record)
    return found
