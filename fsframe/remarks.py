"""Remarks on stderr that belong to no run, such as that kernels are being compiled."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

REMARKS_VARIABLE = "FSFRAME_REMARKS"
"""Environment variable, inherited by workers: ``json`` prints remarks as events (as ``--progress
json`` does), ``none`` prints none (``--quiet``)."""


_clearing: list[Callable[[], None]] = []


@contextlib.contextmanager
def clearing_progress(clear: Callable[[], None]) -> Iterator[None]:
    """Within this context, call `clear` before printing a remark, to erase the progress line."""
    _clearing.append(clear)
    try:
        yield
    finally:
        _clearing.remove(clear)


def clear_progress() -> None:
    """Erase the current line of stderr."""
    for clear in _clearing:
        clear()


def remark(text: str) -> None:
    """Print a remark on stderr, in the format of the run's other output there.

    Does nothing if stderr is closed, or remarks are not wanted.
    """
    if sys.stderr is None or os.environ.get(REMARKS_VARIABLE) == "none":
        return
    clear_progress()
    line = f"fsframe: {text}"
    if os.environ.get(REMARKS_VARIABLE) == "json":
        line = json.dumps({"event": "note", "text": text}, ensure_ascii=False)
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)


_waits = 0
_TICK = 0.5
_ERASE = "\r\033[K"


def wait_shown() -> bool:
    """Whether a wait is shown on the last line, which must then not be overwritten."""
    return _waits > 0


@contextlib.contextmanager
def ticking(text: str) -> Iterator[None]:
    """Within this context, `text` and the elapsed seconds are shown on a line, erased at the end.

    Only on a terminal, and only if remarks are printed as plain text.
    """
    global _waits
    stream = sys.stderr
    if (
        stream is None
        or os.environ.get(REMARKS_VARIABLE) in ("json", "none")
        or not getattr(stream, "isatty", bool)()
    ):
        yield
        return
    begun, done = time.monotonic(), threading.Event()

    def tick() -> None:
        while not done.wait(_TICK):
            with contextlib.suppress(OSError, ValueError):
                print(
                    f"{_ERASE}fsframe: {text}, {time.monotonic() - begun:.0f} s",
                    end="",
                    file=stream,
                    flush=True,
                )

    clear_progress()
    clock = threading.Thread(target=tick, name="fsframe-wait", daemon=True)
    _waits += 1
    clock.start()
    try:
        yield
    finally:
        done.set()
        clock.join()
        _waits -= 1
        with contextlib.suppress(OSError, ValueError):
            print(_ERASE, end="", file=stream, flush=True)
