"""Remarks that belong to no run: that kernels are compiled, or where they are kept."""

from __future__ import annotations

import contextlib
import json
import os
import sys

__all__ = ["REMARKS_VARIABLE", "remark"]

REMARKS_VARIABLE = "FSFRAME_REMARKS"
"""``json``: remarks are events; ``--events json`` sets it, for workers too."""


def remark(text: str) -> None:
    """Say something on stderr, in the form that the run's other talk there has.

    Nothing happens where nobody listens any more.
    """
    if sys.stderr is None:
        return
    line = f"fsframe: {text}"
    if os.environ.get(REMARKS_VARIABLE) == "json":
        line = json.dumps({"event": "note", "text": text}, ensure_ascii=False)
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)
