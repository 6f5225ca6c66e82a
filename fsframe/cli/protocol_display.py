"""A run that is one evaluation or one study of stability, shown as its own command shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsframe.errors import RequestError

if TYPE_CHECKING:
    from fsframe.storage import RunRecord

__all__ = ["protocol_csv", "protocol_lines", "protocol_object"]


def protocol_lines(record: RunRecord, path: Path | None) -> Iterator[str] | None:
    """The lines of `evaluate` or `stability`; None for any other run."""
    name = _protocol(record)
    if name == "cross-validation":
        from fsframe.cli.evaluate import evaluation_lines
        from fsframe.evaluation.recorded import recorded_evaluation

        return evaluation_lines(record, recorded_evaluation(record), path)
    if name == "stability-study":
        from fsframe.cli.stability import stability_lines

        return stability_lines(record, path)
    return None


def protocol_object(record: RunRecord, path: Path | None) -> dict[str, Any]:
    """The object of `evaluate --json` or `stability --json`; of `chain` for any other run."""
    name = _protocol(record)
    if name == "cross-validation":
        from fsframe.cli.evaluate import evaluation_object
        from fsframe.evaluation.recorded import recorded_evaluation

        return evaluation_object(record, recorded_evaluation(record), path)
    if name == "stability-study":
        from fsframe.cli.stability import stability_object

        return stability_object(record, path)
    from fsframe.cli.display import result_object

    return result_object(record, path)


def protocol_csv(record: RunRecord, path: Path, *, overwrite: bool) -> None:
    """Write what ``evaluate --csv`` writes.

    Raises
    ------
    RequestError
        If the run is no evaluation.
    StoreError
        If the file is there already, or cannot be written.
    """
    if _protocol(record) != "cross-validation":
        raise RequestError("--csv writes the folds of an evaluation, which this run is not")
    from fsframe.cli.evaluate import write_folds
    from fsframe.evaluation.recorded import recorded_evaluation

    write_folds(path, recorded_evaluation(record).found, overwrite=overwrite)


def _protocol(record: RunRecord) -> str:
    """The protocol that is the whole run; empty if it is another run."""
    from fsframe.evaluation.recorded import protocol_name

    return protocol_name(record) if len(record.stages) == 1 else ""
