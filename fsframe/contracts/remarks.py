"""Remarks that belong to no run: that kernels are compiled, or where they are kept."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

__all__ = [
    "REMARKS_VARIABLE",
    "make_room",
    "making_room",
    "remark",
    "ticking",
    "wait_shown",
]

REMARKS_VARIABLE = "FSFRAME_REMARKS"
"""``json``: remarks are events; ``--progress json`` sets it, for workers too."""


_rooms: list[Callable[[], None]] = []


@contextlib.contextmanager
def making_room(clear: Callable[[], None]) -> Iterator[None]:
    """Meanwhile, `clear` is called before a remark is said: it wipes what stands on the line."""
    _rooms.append(clear)
    try:
        yield
    finally:
        _rooms.remove(clear)


def make_room() -> None:
    """Have whatever stands on the line of stderr wiped."""
    for clear in _rooms:
        clear()


def remark(text: str) -> None:
    """Say something on stderr, in the form that the run's other talk there has.

    Nothing happens where nobody listens any more.
    """
    if sys.stderr is None:
        return
    make_room()
    line = f"fsframe: {text}"
    if os.environ.get(REMARKS_VARIABLE) == "json":
        line = json.dumps({"event": "note", "text": text}, ensure_ascii=False)
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)


_waits = 0
_TICK = 0.5
_ERASE = "\r\033[K"


def wait_shown() -> bool:
    """Whether a wait is being told on the last line: whoever draws there leaves it alone."""
    return _waits > 0


@contextlib.contextmanager
def ticking(text: str) -> Iterator[None]:
    """Meanwhile, `text` and the seconds gone stand on a line of their own; wiped at the end.

    On a terminal only, and not where remarks are events.
    """
    global _waits
    stream = sys.stderr
    if (
        stream is None
        or os.environ.get(REMARKS_VARIABLE) == "json"
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

    make_room()
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
