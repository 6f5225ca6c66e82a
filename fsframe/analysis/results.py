"""Choose the result class for a run."""

from __future__ import annotations

import os
from collections.abc import Mapping

import attrs

from fsframe.analysis.protocol_results import EvaluationResult, StabilityResult
from fsframe.analysis.selection_result import SelectionResult
from fsframe.evaluation.recorded import protocol_name
from fsframe.storage import RunRecord
from fsframe.storage import load_run as read_run

__all__ = ["as_result", "load_run"]

_KINDS: Mapping[str, type[SelectionResult]] = {
    "cross-validation": EvaluationResult,
    "stability-study": StabilityResult,
}


def as_result(record: RunRecord) -> SelectionResult:
    """A run as its result: of an evaluation, a stability study or a selection."""
    if isinstance(record, SelectionResult):
        return record
    # A run with other stages before an evaluation counts as a selection.
    name = protocol_name(record) if len(record.stages) == 1 else ""
    values = {field.name: getattr(record, field.name) for field in attrs.fields(RunRecord)}
    return _KINDS.get(name, SelectionResult)(**values)


def load_run(path: str | os.PathLike[str]) -> SelectionResult:
    """The result in the run file at `path`.

    Parameters
    ----------
    path : path
        Of a run file. It may be untrusted: nothing that it names is built or imported.

    Returns
    -------
    SelectionResult
        An `EvaluationResult` or a `StabilityResult` where it is one.

    Raises
    ------
    StoreError
        If there is no such file, it is not a run file, or it is damaged.
    """
    return as_result(read_run(path))
