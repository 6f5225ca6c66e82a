"""The log file of a command: events of runs from Python's logging, one line each."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fsframe.errors import StoreError
from fsframe.text import printable

FIRST_LINE = "# fsframe log"
"""The first line of a log: later commands append only to a file that begins with it."""

LOG = logging.getLogger("fsframe.run")


def check_log(
    path: str | None,
    apart_from: Iterable[str | os.PathLike[str] | None] = (),
    folder: Path | None = None,
) -> Path | None:
    """The path of the log, checked: a new file, or one that is a log already.

    It may be neither a file in `apart_from` nor in `folder`, which the command writes.

    Raises
    ------
    StoreError
        If the log cannot be written there.
    """
    from fsframe.storage import check_destination

    if path is None:
        return None
    target = check_destination(path, overwrite=True, apart_from=apart_from)
    if folder is not None and Path(os.path.realpath(folder)) in target.parents:
        raise StoreError(
            f"cannot write the log {path}: {folder} is reserved for files that the command "
            "writes; name a file elsewhere"
        )
    if not target.exists():
        return target
    try:
        with open(target, "rb") as file:
            known = file.readline(80).rstrip(b"\r\n") == FIRST_LINE.encode()
    except OSError as error:
        raise StoreError(f"cannot write the log {path}: {error.strerror or error}") from error
    if not known:
        raise StoreError(
            f"cannot write the log {path}: it exists and is not a log of fsframe (its first line "
            f"is not {FIRST_LINE!r}), so it was left unchanged; name another file"
        )
    return target


class _LogFile(logging.FileHandler):
    """Appends lines to a file; an error while writing is reported once."""

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        from fsframe.storage import place_file

        if not path.exists() or not path.stat().st_size:
            # Atomically: with half of its first line the file would not be a log.
            place_file(path, f"{FIRST_LINE}\n".encode(), overwrite=True)
        super().__init__(path, mode="a", encoding="utf-8", errors="backslashreplace")
        self._tell: Callable[[str], None] | None = tell

    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        return f"{when} {record.levelname} {printable(record.getMessage())}"

    def handleError(self, record: logging.LogRecord) -> None:
        if self._tell is not None:
            tell, self._tell = self._tell, None
            tell(f"{self.baseFilename} can no longer be written; the run continues without its log")


@contextlib.contextmanager
def logging_to(path: Path | None, command: str, tell: Callable[[str], None]) -> Iterator[None]:
    """Write the log records of runs to the file at `path`, if there is one, the command first.

    `tell` is called with a note for the user if the file can no longer be written.

    Raises
    ------
    StoreError
        If the file cannot be opened.
    """
    if path is None:
        yield
        return
    try:
        handler = _LogFile(path, tell)
    except OSError as error:
        raise StoreError(f"cannot write the log {path}: {error.strerror or error}") from error
    before = LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(min(LOG.getEffectiveLevel(), logging.INFO))
    try:
        LOG.info("%s", command)
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(before)
        handler.close()
