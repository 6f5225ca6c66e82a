"""Output of characters that the encoding of a stream lacks."""

from __future__ import annotations

import codecs
import io
import sys

__all__ = ["escape_unencodable"]

_PLAIN = {"█": "#", "×": "x", "—": "-", "–": "-", "…": "...", "±": "+-", "²": "^2", "−": "-"}


def _replacement(error: UnicodeError) -> tuple[str, int]:
    """Replace our own symbols by ASCII, others by JSON escapes, which keep --json valid."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = []
    for sign in error.object[error.start : error.end]:
        units = sign.encode("utf-16-be", "surrogatepass").hex()
        escaped = "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
        found.append(_PLAIN.get(sign, escaped))
    return "".join(found), error.end


def escape_unencodable() -> None:
    """Make stdout and stderr replace characters that their encoding lacks."""
    codecs.register_error("fsframe", _replacement)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="fsframe")
