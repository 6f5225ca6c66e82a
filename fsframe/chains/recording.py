"""Running a whole chain on a table and recording what every stage did."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from fsframe.chains.pair_testing import answer_tests
from fsframe.chains.result import ChainResult
from fsframe.chains.stage import RunsInSteps, StageResult, registry_of_class
from fsframe.contracts.column_kinds import ColumnKind, kinds_as_json
from fsframe.contracts.dataset import Dataset
from fsframe.contracts.grammar import format_stages
from fsframe.contracts.observer import Observers
from fsframe.contracts.run import Run
from fsframe.contracts.selection import Selection
from fsframe.errors import Forewarning, FsframeWarning, RequestError, one_line
from fsframe.escaping import storable_text
from fsframe.registry import observers
from fsframe.storage import DataRecord, RunRecord, StageRecord, check_destination, write_run
from fsframe.storage.numeric_fingerprint import fingerprint
from fsframe.storage.units.call_keys import call_key
from fsframe.storage.units.checkpoint import Checkpoint
from fsframe.storage.units.manifest import Manifest, providers, release, software
from fsframe.storage.units.selection_bytes import pack_selections, unpack_selections
from fsframe.storage.units.unit_files import Unit

__all__ = [
    "environment",
    "is_answer_to",
    "open_checkpoint",
    "presented",
    "record_run",
    "stage_record",
]

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
    """The record of `chain` run on `data`, also left at `out` if that is given.

    With `out`, finished stages and resamples are kept beside it until it is there; those of an
    interrupted attempt are taken over, or thrown away with `restart`. `run.checkpoint` is used, and
    closed, if there is one.

    Raises
    ------
    StoreError
        Before any work starts if `out` stands in the way, or an unfinished run of something else or
        of another process does.
    DataError, PluginError, RequestError, EngineError
        As the stages say.
    """
    _check_names(chain)
    _admit_workers(chain, run, mixed)
    heard = _observers()
    if out is None:
        chain.check_request(data)
        _forewarn(chain, data)
        with _heard(heard, chain, data, run, None):
            record = _recorded(chain, data, run, source, command, heard)
            _tell_the_end(heard, record)
        return record
    # Once and for all: a plugin may change the current folder.
    target = check_destination(out, overwrite=overwrite, apart_from=[source] if source else [])
    checkpoint = run.checkpoint or open_checkpoint(
        chain,
        data,
        run.entropy,
        target,
        overwrite=overwrite,
        restart=restart,
        mixed=mixed,
        command=command,
    )
    _forewarn(chain, data)
    with checkpoint, _heard(heard, chain, data, run, target):
        if heard:
            checkpoint.kept = lambda unit: heard.tell("unit_kept", attrs.asdict(unit))
        context = attrs.evolve(run, checkpoint=checkpoint)
        record = _recorded(chain, data, context, source, command, heard)
        told = len(checkpoint.notes)
        checkpoint.finish(lambda: write_run(target, record, overwrite=overwrite))
        for text in checkpoint.notes[told:]:
            warnings.warn(text, FsframeWarning, stacklevel=3)
        _tell_the_end(heard, record)
    return record


def _forewarn(chain: RunsInSteps, data: Dataset) -> None:
    """Say before any work starts what is known to come out weak."""
    for text in chain.forewarnings(data):
        warnings.warn(text, Forewarning, stacklevel=4)


def _observers() -> Observers:
    """What hears of this run; an observer that cannot be had costs only a warning."""
    found, wrong = [], []
    for offer in observers.offers():
        try:
            found.append(observers[f"{offer.provider}/{offer.entry.name}"]())
        except Exception as error:
            wrong.append(f"the observer {offer.entry.name!r} was not notified: {one_line(error)}")
    heard = Observers(found)
    heard.warnings += wrong
    return heard


def _tell_the_end(heard: Observers, record: RunRecord) -> None:
    """Hand the finished record over; what fails now is too late for the record's warnings."""
    known = len(heard.warnings)
    heard.tell("run_ended", record)
    for text in heard.warnings[known:]:
        warnings.warn(text, FsframeWarning, stacklevel=3)


@contextlib.contextmanager
def _heard(
    heard: Observers, chain: RunsInSteps, data: Dataset, run: Run, out: Path | None
) -> Iterator[None]:
    """Tell the observers of a run that it begins, and of what ends it before it is there."""
    about = {
        "chain": str(chain),
        "data": data.name,
        "sha256": data.sha256,
        "n_samples": data.n_samples,
        "n_features": data.n_features,
        "seed": run.entropy,
        "out": None if out is None else str(out),
    }
    heard.tell("run_began", about)
    with heard.watching():
        yield


def _check_names(chain: RunsInSteps) -> None:
    """Refuse objects whose stage names mean another class, or none: what the record says of a
    stage is looked up by its name."""
    for stage in chain.stages:
        found = registry_of_class(type(stage.method))[stage.name]
        if found is not type(stage.method):
            raise RequestError(
                f"the stage {stage.name!r} was built from a class that has been replaced since "
                f"({found.__module__}.{found.__name__}; was a notebook cell run again?): build "
                "the chain again"
            )


def _admit_workers(chain: RunsInSteps, run: Run, mixed: bool) -> None:
    """Have workers that differ told before work starts: the first stage may take hours here."""
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
    **request: str,
) -> Checkpoint:
    """The open checkpoint of the run that shall end in `out`.

    Parameters
    ----------
    mixed : bool
        As in `Checkpoint.open`.
    request : str
        What `fsframe resume` needs to go on without being told again.

    Raises
    ------
    RequestError
        As `Chain.check_request` says: nothing is left behind then.
    StoreError
        As `Checkpoint.open` says.
    """
    chain.check_request(data)
    if overwrite:
        request["overwrite"] = "yes"
    request["providers"] = json.dumps(providers(str(chain)))
    manifest = Manifest.of(chain, data, seed, request)
    return Checkpoint.open(out, manifest, restart=restart, overwrite=overwrite, mixed=mixed)


def _recorded(
    chain: RunsInSteps, data: Dataset, run: Run, source: str, command: str, heard: Observers
) -> RunRecord:
    stages: list[StageRecord] = []
    results: list[StageResult] = []
    selected, scores = np.arange(data.n_features), np.full(data.n_features, np.nan)
    for result in _results(chain, data, run):
        results.append(result)
        stages.append(stage_record(result))
        if heard:
            heard.tell("stage_ended", len(stages) - 1, stages[-1])
        if result.selection is not None:
            selected, scores = result.selection.selected, result.selection.scores
    parts = [] if run.checkpoint is None else list(run.checkpoint.mixed)
    # What else is an executor has no fingerprint to tell.
    told: tuple[str, ...] = getattr(run.executor, "other_numerics", tuple)()
    mixed = "; ".join([*parts, *(each for each in told if each not in parts)])
    said = (f"computed in parts whose last bits may differ: {mixed}",) if mixed else ()
    tests, untested = answer_tests(results, data, run.child(len(chain.stages)))
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
            *chain.forewarnings(data),
            *said,
            *([untested] if untested else []),
            *heard.warnings,
        ),
        environment={
            **environment(),
            **_plugins(chain),
            "providers": providers(str(chain)),
            **({"reading": dict(data.reading)} if data.reading else {}),
            **_groups(data),
            **_kinds(data),
            **_kept(data),
            **_weights(data),
            **_other_roles(data),
            **({"mixed": mixed} if mixed else {}),
        },
    )


def _results(chain: RunsInSteps, data: Dataset, run: Run) -> Iterator[StageResult]:
    """What each stage did: the finished ones at the front from the checkpoint, then the rest."""
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


def is_answer_to(record: RunRecord, chain: RunsInSteps, seed: int) -> bool:
    """Whether `record` is what `chain` gives with this seed, computed by what is installed here.

    The table is not looked at, nor what the record's command says of memory.
    """
    there = dict(record.environment)
    there["python"] = ".".join(str(there.get("python", "")).split(".")[:2])
    installed = software(chain).items()
    return (record.chain, record.seed) == (str(chain), seed) and all(
        there.get(name) == version for name, version in installed
    )


def stage_record(result: StageResult) -> StageRecord:
    """What a run file keeps of a stage."""
    method = result.stage.method
    offer = registry_of_class(type(method)).offer(result.stage.name)
    common: dict[str, Any] = {
        "name": result.stage.name,
        "provider": offer.provider,
        "provider_version": offer.version,
        "params": {k: _plain(v) for k, v in method.values().items()},
        "seconds": result.seconds,
        "seed": result.key,
    }
    if result.selection is not None:
        return StageRecord(kind="selector", selection=result.selection, **common)
    assert result.fitted is not None
    arrays: dict[str, Any] = getattr(result.fitted.inner, "arrays", dict)()
    return StageRecord(kind="classifier", features_in=result.fitted.columns, model=arrays, **common)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _plugins(chain: RunsInSteps) -> dict[str, str]:
    """Versions of the plugins of all stages, those within a base too, by ``plugin NAME``.

    Of classes that this process has registered, by ``class MODULE:CLASS as NAME``.
    """
    used = software(chain)
    kinds = ("plugin ", "class ")
    return {name: version for name, version in used.items() if name.startswith(kinds)}


def _kinds(data: Dataset) -> dict[str, Any]:
    """Kinds of columns as the run file keeps them; nothing where all are numbers."""
    kinds = {
        name: ColumnKind("nominal")
        for name, nominal in zip(data.feature_names, data.categorical, strict=True)
        if nominal
    }
    kinds |= data.kinds
    return {"kinds": kinds_as_json(kinds)} if kinds else {}


def _kept(data: Dataset) -> dict[str, Any]:
    """Columns that every stage kept, by name; nothing without."""
    if data.keep is None:
        return {}
    return {"keep": [data.feature_names[place] for place in np.flatnonzero(data.keep)]}


def _other_roles(data: Dataset) -> dict[str, Any]:
    """Groups of features, the time and what was adjusted for, by name; nothing without."""
    found: dict[str, Any] = {}
    if data.feature_groups:
        found["feature_groups"] = {k: list(names) for k, names in data.feature_groups.items()}
    if data.times is not None:
        found["time"] = data.times.names[0]
    if data.covariates is not None:
        found["adjust"] = list(data.covariates.names)
    return found


def _weights(data: Dataset) -> dict[str, Any]:
    """What is kept of weights of rows: their name and their sum; nothing without."""
    if not data.weight_name:
        return {}
    # A table in parts holds each row as often as it counts.
    total = data.n_samples if data.counts is None else int(data.counts.sum())
    return {"weights": {"name": data.weight_name, "sum": total}}


def _groups(data: Dataset) -> dict[str, Any]:
    """Which rows were kept together, as far as the run file says: not what they are called."""
    if data.groups is None:
        return {}
    codes = hashlib.sha256(data.groups.astype("<i8").tobytes()).hexdigest()
    return {"groups": {"name": data.group_name, "number": data.n_groups, "sha256": codes}}


def environment() -> dict[str, Any]:
    """Versions of interpreter and libraries, platform and numeric fingerprint, for the run file."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    return found | {name: release(name) for name in _LIBRARIES} | dict(fingerprint())


_PRESENTATION = "fsframe.analysis.results:as_result"
"""What makes a record one that shows, draws and saves itself. It stands above the chains, so that
it is named, as plugins name what they offer, and not imported before there is something to show."""


def presented(record: RunRecord) -> ChainResult:
    """The record as the result that it is, for programs and notebooks."""
    home, _, name = _PRESENTATION.partition(":")
    found: ChainResult = getattr(import_module(home), name)(record)
    return found
