"""Coverage-guided fuzzing of what reads bytes and texts from strangers, with Atheris.

    pip install atheris                                     # Python 3.11, Linux
    python benchmarks/trust/fuzz.py chain  -max_total_time=300
    python benchmarks/trust/fuzz.py csv    -max_total_time=300 CORPUS
    python benchmarks/trust/fuzz.py run    -max_total_time=300

`chain` parses text as a chain, `csv` reads a text table, `run` opens a run file whose seal is
recomputed (otherwise a flipped bit would be refused at once). Anything but a result or an
FsframeError is a crash; the input is left in the current folder, and the library prints how many
were tried (`--add FILE` adds a line with that). Each input has 10 s and 3 GB.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", POLARS_MAX_THREADS="1")

with atheris.instrument_imports(include=["fsframe"]):
    from fsframe.chains.chain import Chain
    from fsframe.errors import FsframeError
    from fsframe.storage import load_run, write_run
    from fsframe.storage.spec import SEAL_BYTES, make_seal
    from fsframe.table.dataset import Dataset
    from fsframe.table.read import read

FOLDER = Path(tempfile.mkdtemp(prefix="fsframe-fuzz-"))


def chain(data: bytes) -> None:
    """Parse a chain; if it is accepted, its text must give the same chain."""
    text = data.decode("utf-8", "surrogateescape")
    with contextlib.suppress(FsframeError):
        parsed = Chain.parse(text)
        assert str(Chain.parse(str(parsed))) == str(parsed)


def csv(data: bytes) -> None:
    """Read a text table; it may be refused."""
    path = FOLDER / "table.csv"
    path.write_bytes(data)
    with contextlib.suppress(FsframeError):
        read(path)


def run(data: bytes) -> None:
    """Read a run file with a recomputed seal; it may be refused."""
    path = FOLDER / "run.h5"
    path.write_bytes(make_seal(data[SEAL_BYTES:]) + data[SEAL_BYTES:])
    with contextlib.suppress(FsframeError):
        load_run(path)


def seeds(kind: str) -> Path:
    """A folder with inputs to start from."""
    folder = FOLDER / "seeds"
    folder.mkdir()
    if kind == "chain":
        for k, text in enumerate(
            ("mim:top=5 immigrate npfs:n=10", "ensemble:base=(mim relieff:k=3),n=2 knn",
             "mim:top={1,2},bins=[1,2] im4e:sigma=cv margin", "sklearn:estimator=sklearn.svm.SVC")
        ):  # fmt: skip
            (folder / str(k)).write_text(text)
    elif kind == "csv":
        for k, text in enumerate(
            ("a,b,class\n1,2,x\n3,4.5e3,y\n", "a;b;y\n1,5;;0\n2,5;nan;1\n")
        ):  # fmt: skip
            (folder / str(k)).write_text(text)
    elif kind == "run":
        data = Dataset.from_arrays([[0.0, 1.0], [1.0, 0.0], [2.0, 0.5], [3.0, 0.1]], [0, 1, 0, 1])
        record = Chain.parse("mim:top=1 ensemble:n=2").run(data)
        write_run(folder / "run.h5", getattr(record, "record", record))
    return folder


def main() -> None:
    kinds: dict[str, Callable[[bytes], None]] = {
        "chain": chain,
        "csv": csv,
        "run": run,
    }
    if len(sys.argv) < 2 or sys.argv[1] not in kinds:
        raise SystemExit(__doc__)
    kind = sys.argv.pop(1)
    if "--add" in sys.argv:
        place = sys.argv.index("--add")
        add, sys.argv[place : place + 2] = sys.argv[place + 1], []
        done = subprocess.run(
            [sys.executable, __file__, kind, *sys.argv[1:]], stderr=subprocess.PIPE, text=True
        )
        found = re.search(r"Done (\d+) runs in (\d+) second", done.stderr)
        covered = re.findall(r"cov: (\d+)", done.stderr)
        line = {
            "what": f"coverage-guided fuzzing (Atheris), {kind}",
            "inputs": int(found[1]) if found else "ended early",
            "seconds": int(found[2]) if found else None,
            "branches": int(covered[-1]) if covered else None,
            "crashes_and_hangs": int(done.returncode != 0),
        }
        print(json.dumps(line), done.stderr[-1500:] if done.returncode else "")
        with open(add, "a") as file:
            file.write(json.dumps(line) + "\n")
        return
    atheris.Setup([*sys.argv, "-timeout=10", "-rss_limit_mb=3000", str(seeds(kind))], kinds[kind])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
