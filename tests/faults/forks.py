"""Forks that need not import again what an earlier one has imported, and the table they read."""

from __future__ import annotations

import contextlib
import importlib
import random
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


def write_table(path: Path) -> None:
    """A table of 40 rows in which the first of eight features says the class."""
    chance = random.Random(3)
    lines = [",".join([*(f"g{k}" for k in range(8)), "class"])]
    for _ in range(40):
        row = [chance.gauss(0, 1) for _ in range(8)]
        lines.append(",".join([*map(repr, row), "ill" if row[0] > 0 else "well"]))
    path.write_text("\n".join(lines))
