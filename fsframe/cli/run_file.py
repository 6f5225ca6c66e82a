"""Finding the run file that is meant on the command line."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from fsframe.cli.saying import say
from fsframe.errors import StoreError
from fsframe.suggest import did_you_mean

__all__ = ["find_run", "is_stdout", "run_path"]

_LONGEST = 100


def find_run(text: str) -> Path:
    """The path of the run file that `text` names.

    A bare name that is not in this folder is looked for one folder down, since a run file is left
    beside its data; it is taken where exactly one matches, and said on stderr.

    Raises
    ------
    StoreError
        If there is no such file, or several match.
    """
    path = Path(text)
    if path.is_file():
        return path
    if path.is_dir():
        raise StoreError(f"{text} is a folder; name a run file in it")
    if path.name == text:
        below = sorted(found for found in Path().glob(f"*/{_escaped(text)}") if found.is_file())
        if len(below) == 1:
            say(f"note: reading {below[0]}", err=True)
            return below[0]
        if below:
            several = ", ".join(map(str, below))
            raise StoreError(f"there is no {text} here, but several below: {several}; say which")
    folder = path.parent
    near = [str(found) for found in folder.glob("*.h5")] if folder.is_dir() else []
    raise StoreError(f"there is no run file {text!r}{did_you_mean(text, near)}")


def is_stdout(path: str) -> bool:
    """Whether a text table shall go to standard output.

    >>> is_stdout("-"), is_stdout("/dev/stdout"), is_stdout("-.csv")
    (True, True, False)
    """
    return path in ("-", "/dev/stdout", "/dev/fd/1")


def run_path(data: Path, stages: Sequence[str]) -> Path:
    """Where a run file goes by itself: beside the data, named for data and stages.

    >>> str(run_path(Path("examples/parkinsons.csv.gz"), ["immigrate", "npfs/npfs"]))
    'examples/parkinsons.immigrate-npfs.h5'
    """
    from fsframe.tables.locate import table_name

    row = "-".join(stage.rpartition("/")[2] for stage in stages)
    if len(row) > _LONGEST:
        # A file system takes names of 255 bytes; the digest keeps long chains apart.
        row = f"{row[: _LONGEST - 9]}-{hashlib.sha256(row.encode()).hexdigest()[:8]}"
    return data.with_name(f"{table_name(data)}.{row}.h5")


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
