"""Forks that need not import again what an earlier one has imported."""

from __future__ import annotations

import contextlib
import importlib
import sys
from pathlib import Path

_NAME = "imported"


def note_imported(folder: Path) -> None:
    """Leave word of what this process has imported."""
    (folder / _NAME).write_text("\n".join(sys.modules))


def import_noted(folder: Path) -> None:
    """Import what the fork before has, for those to come; none of it starts a thread."""
    for name in (folder / _NAME).read_text().splitlines():
        if name not in sys.modules and name != "__main__":
            # Names that only stand for something within another module.
            with contextlib.suppress(Exception):
                importlib.import_module(name)
