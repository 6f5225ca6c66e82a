"""Reuse the result of an earlier, identical command."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsframe.errors import FsframeError, StoreError

if TYPE_CHECKING:
    from fsframe.chains.chain import Chain
    from fsframe.cli.running import Reporter
    from fsframe.contracts.dataset import Dataset
    from fsframe.storage import RunRecord

__all__ = ["confirmed_result", "existing_result"]


def existing_result(
    out: Path, chain: Chain, options: Mapping[str, Any], table: Path
) -> RunRecord | None:
    """The record at `out` if it matches this command, the table aside; None if there is no file.

    Raises
    ------
    StoreError
        If the file does not match, `out` cannot be written, or it is `table`.
    """
    from fsframe.storage import check_destination, load_run

    if options["overwrite"] or options["restart"] or not out.is_file():
        check_destination(out, overwrite=options["overwrite"], apart_from=[table])
        return None
    try:
        record = load_run(out)
    except FsframeError:
        record = None
    if record is None or not _same_request(record, chain, options):
        check_destination(out, apart_from=[table])
    return record


def confirmed_result(
    record: RunRecord | None, out: Path | None, chain: Chain, table: Dataset, reporter: Reporter
) -> RunRecord | None:
    """`record`, if it was made from `table`; leftovers of an interrupted attempt are removed.

    Raises
    ------
    StoreError
        If it was made from another table.
    """
    from fsframe.chains.recording import open_checkpoint
    from fsframe.storage import check_destination

    if record is None or out is None:
        return None
    if record.data.sha256 != table.sha256:
        check_destination(out)
    with contextlib.suppress(StoreError):
        open_checkpoint(chain, table, record.seed or 0, out, overwrite=True).finish()
    reporter.note(
        f"{out} already holds the result of this request, which is shown; --overwrite computes it "
        "again"
    )
    return record


def _same_request(record: RunRecord, chain: Chain, options: Mapping[str, Any]) -> bool:
    """Whether chain, seed, memory limit and everything else that affects results are equal."""
    from fsframe.chains.recording import is_result_of
    from fsframe.cli.running import this_command

    same_memory = _memory(record.command) == _memory(this_command())
    return same_memory and is_result_of(record, chain, options["seed"])


def _memory(command: str) -> list[str]:
    """The values of ``--memory`` in a command.

    >>> _memory("fsframe chain mim on t.csv --memory 2GB"), _memory("fsframe chain --memory=1GB")
    (['2GB'], ['1GB'])
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    split = [part for word in words for part in (word.split("=", 1) if "--" in word else [word])]
    return [after for word, after in pairwise(split) if word == "--memory"]
