"""Progress for people: one line on stderr that is rewritten in place, on a terminal only."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from fsframe.contracts.run import Progress

__all__ = ["ProgressLine"]

_WIDTH = 24


class ProgressLine:
    """A listener that shows done, rate and time left; silent unless `stream` is a terminal.

    Parameters
    ----------
    stream : text stream
        stderr by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._active = self._stream.isatty()
        self._started: dict[tuple[str, tuple[int, ...]], float] = {}
        self._drawn = 0.0
        self._length = 0

    def __call__(self, progress: Progress) -> None:
        if not self._active:
            return
        now = time.monotonic()
        started = self._started.setdefault((progress.label, progress.key), now)
        last = progress.done >= progress.total
        if now - self._drawn < 0.1 and not last:
            return
        self._drawn = now
        self._write(progress_text(progress.label, progress.done, progress.total, now - started))

    def _write(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._length))
        self._stream.flush()
        self._length = len(text)

    def close(self) -> None:
        """Wipe the line, so that what follows starts on a clean one."""
        if self._active and self._length:
            self._stream.write("\r" + " " * self._length + "\r")
            self._stream.flush()
            self._length = 0


def progress_text(label: str, done: int, total: int, seconds: float) -> str:
    """One line of progress.

    >>> progress_text("npfs", 25, 100, 5.0)
    'npfs [######··················] 25/100  5.0/s  15 s left'
    """
    share = done / total if total else 1.0
    bar = ("#" * round(share * _WIDTH)).ljust(_WIDTH, "·")
    line = f"{label} [{bar}] {done}/{total}"
    if done and seconds > 0:
        rate = done / seconds
        line += f"  {rate:.3g}/s" if rate < 1 else f"  {rate:.1f}/s"
        line += f"  {(total - done) / rate:.0f} s left"
    return line
