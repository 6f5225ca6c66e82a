"""Running a whole chain on a table and recording what every stage did."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from fsframe.chain import Chain, StageResult, registry_of_class
from fsframe.dataset import Dataset
from fsframe.run import Run
from fsframe.store import DataRecord, RunRecord, StageRecord, check_destination, write_run

__all__ = ["environment", "record_run"]

_LIBRARIES = ("fsframe", "numpy", "scipy", "numba", "h5py", "attrs", "click", "pluggy")


def record_run(
    chain: Chain,
    data: Dataset,
    run: Run,
    out: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    source: str = "",
    command: str = "",
) -> RunRecord:
    """The record of `chain` run on `data`, also left at `out` if that is given.

    Raises
    ------
    StoreError
        Before any work starts if `out` stands in the way.
    DataError, PluginError, RequestError
        As the stages say.
    """
    if out is not None:
        check_destination(out, overwrite=overwrite)
    stages: list[StageRecord] = []
    selected, scores = np.arange(data.n_features), np.full(data.n_features, np.nan)
    for result in chain.steps(data, run):
        stages.append(_stage_record(result))
        if result.selection is not None:
            selected, scores = result.selection.selected, result.selection.scores
    record = RunRecord(
        chain=str(chain),
        data=DataRecord.from_dataset(data, source),
        stages=tuple(stages),
        selected=selected,
        scores=scores,
        seed=run.entropy,
        command=command,
        fsframe_version=version("fsframe"),
        warnings=data.warnings,
        environment=environment(),
    )
    if out is not None:
        write_run(out, record, overwrite=overwrite)
    return record


def _stage_record(result: StageResult) -> StageRecord:
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


def environment() -> dict[str, str]:
    """Versions of the interpreter and the libraries, and the platform, for the run file."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found
