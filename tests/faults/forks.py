"""What the harnesses share: forks that run a command and need not import again what an earlier one
has imported, the table they read, and the counts of what came of them."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

_NAME = "imported"
_EXAMPLES = 8


class Counts:
    """What the trials came to: numbers by name, and examples of what is bad, some of each name."""

    def __init__(self, *names: str) -> None:
        self.numbers = Counter(dict.fromkeys(names, 0))
        self.examples: list[str] = []

    def note(self, name: str, example: str, number: int = 1) -> None:
        self.numbers[name] += number
        noted = sum(each.startswith(f"{name}: ") for each in self.examples)
        if number and noted < _EXAMPLES:
            self.examples.append(f"{name}: {example}")


def tell(line: dict[str, Any], add: Path | None) -> None:
    """Print a line of JSON, and add it to a file of such lines if there is one."""
    print(json.dumps(line), flush=True)
    if add:
        with add.open("a") as file:
            file.write(json.dumps(line) + "\n")


def folder_in_memory(name: str) -> Path:
    """A new folder: on a disk of memory, if there is one, which is faster and shows the same."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix=f"fsframe-{name}-", dir=memory))


def forked(
    folder: Path, words: list[str], out: Path, err: Path, ready: Callable[[], object], note: bool
) -> int:
    """The process of a command in `folder` that says what it says into two files, or into one.

    `ready` is called before the command; with `note` the fork leaves word of what it has imported.
    """
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        new = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(out, new), 1)
        os.dup2(1 if err == out else os.open(err, new), 2)
        os.chdir(folder)
        sys.stdout, sys.stderr = (open(k, "w", closefd=False) for k in (1, 2))  # noqa: SIM115
        sys.argv = ["fsframe", *words]
        from fsframe.cli import main

        ready()
        try:
            main(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        if note:
            note_imported(folder.parent)
    finally:
        os._exit(code)


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


def write_table(path: Path, names: str = "g0,g1,g2,g3,g4,g5,g6,g7,class") -> None:
    """A table of 40 rows in which the first of the features says the class."""
    chance = random.Random(3)
    lines = [names]
    for _ in range(40):
        row = [chance.gauss(0, 1) for _ in range(names.count(","))]
        lines.append(",".join([*map(repr, row), "ill" if row[0] > 0 else "well"]))
    path.write_text("\n".join(lines), encoding="utf-8")
