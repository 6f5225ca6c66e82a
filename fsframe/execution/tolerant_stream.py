"""An output stream that ignores errors once its reader has gone."""

from __future__ import annotations

import contextlib
import os
from typing import Any, TextIO

__all__ = ["TolerantStream", "occupy_standard_streams"]


class TolerantStream:
    """Wraps a stream; text that can no longer be written is discarded.

    Examples
    --------
    >>> import os
    >>> reading, writing = os.pipe()
    >>> os.close(reading)
    >>> stream = TolerantStream(open(writing, "w", buffering=1))
    >>> print("nobody reads this", file=stream)
    >>> stream.close()
    """

    def __init__(self, stream: TextIO | None) -> None:
        # Python has none where the shell has closed it.
        self._stream = open(os.devnull, "w") if stream is None else stream  # noqa: SIM115

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write `text`; discarded if the reader has gone."""
        try:
            return self._stream.write(text)
        except (OSError, ValueError):
            self._discard()
            return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts in the same way."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush; no error if the reader has gone."""
        try:
            self._stream.flush()
        except (OSError, ValueError):
            self._discard()

    def _discard(self) -> None:
        # Compiled code, worker processes and the interpreter's shutdown write there too.
        with contextlib.suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)


def occupy_standard_streams() -> None:
    """Open the null device in the place of standard streams that the shell has closed.

    The next file opened would take their number, and what compiled code says on stderr would be
    written into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with contextlib.suppress(OSError):
                # The lowest free number is this one.
                os.open(os.devnull, os.O_RDWR)
