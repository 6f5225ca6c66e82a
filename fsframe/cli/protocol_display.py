"""A run that is one evaluation or one study of stability, shown as its own command shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsframe.errors import FsframeError, RequestError

if TYPE_CHECKING:
    from fsframe.store import RunRecord

__all__ = ["protocol_csv", "protocol_lines", "protocol_object"]


def protocol_lines(record: RunRecord, path: Path | None) -> Iterator[str] | None:
    """The lines of `evaluate` or `stability`; None for any other run."""
    name, method = _protocol(record)
    if name == "cross-validation":
        from fsframe.cli.evaluate import evaluation_lines
        from fsframe.evaluation.summary import summarise

        return evaluation_lines(record, summarise(_selection(record)), method, path)
    if name == "stability-study":
        from fsframe.cli.stability import stability_lines

        return stability_lines(record, method, path)
    return None


def protocol_object(record: RunRecord, path: Path | None) -> dict[str, Any]:
    """The object of `evaluate --json` or `stability --json`; of `chain` for any other run."""
    name, method = _protocol(record)
    if name == "cross-validation":
        from fsframe.cli.evaluate import evaluation_object
        from fsframe.evaluation.summary import summarise

        return evaluation_object(record, summarise(_selection(record)), method, path)
    if name == "stability-study":
        from fsframe.cli.stability import stability_object

        return stability_object(record, method, path)
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
    name, _ = _protocol(record)
    if name != "cross-validation":
        raise RequestError("--csv writes the folds of an evaluation, which this run is not")
    from fsframe.cli.evaluate import write_folds
    from fsframe.evaluation.summary import summarise

    write_folds(path, summarise(_selection(record)), overwrite=overwrite)


def _selection(record: RunRecord) -> Any:
    selection = record.stages[-1].selection
    assert selection is not None
    return selection


def _protocol(record: RunRecord) -> tuple[str, Any]:
    """The protocol that is the whole run, with its parameters; empty if it is another run."""
    from fsframe.registry import selectors

    stage = record.stages[-1]
    name = stage.name.rpartition("/")[2]
    if len(record.stages) != 1 or stage.provider != "protocols" or stage.selection is None:
        return "", None
    try:
        return name, selectors[stage.name](**stage.params)
    except (FsframeError, TypeError):
        # Parameters of another version, or a base whose plugin is not here: shown as any run.
        return "", None
