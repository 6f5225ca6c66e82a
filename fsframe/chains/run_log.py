"""Report runs to Python's logging, under the name ``fsframe.run``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fsframe.method.observer import Observer

__all__ = ["RunLog"]

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
