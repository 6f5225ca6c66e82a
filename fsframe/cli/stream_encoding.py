"""Output to terminals that cannot show every character, without losing the result."""

from __future__ import annotations

import codecs
import io
import sys

__all__ = ["escape_unencodable"]

_PLAIN = {"█": "#", "×": "x", "—": "-", "–": "-", "…": "...", "±": "+-", "²": "^2", "−": "-"}


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """Our own signs as ASCII; anything else as JSON escapes it, so that --json stays JSON."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = []
    for sign in error.object[error.start : error.end]:
        units = sign.encode("utf-16-be", "surrogatepass").hex()
        escaped = "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
        found.append(_PLAIN.get(sign, escaped))
    return "".join(found), error.end


def escape_unencodable() -> None:
    """Let stdout and stderr write what their encoding lacks in other signs, in place of failing."""
    codecs.register_error("fsframe", _plainer)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="fsframe")
