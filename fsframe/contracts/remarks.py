"""Remarks that belong to no run: that kernels are compiled, or where they are kept."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator

__all__ = ["REMARKS_VARIABLE", "make_room", "making_room", "remark"]

REMARKS_VARIABLE = "FSFRAME_REMARKS"
"""``json``: remarks are events; ``--events json`` sets it, for workers too."""


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
