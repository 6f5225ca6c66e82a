"""Ten thousand mutated files of each format: read, or refused by a message; no traceback or hang.

    python benchmarks/tables/mutated.py [--files 10000] [FORM ...]

Bytes of a small valid file are replaced, inserted or deleted, or the file is cut; then it is read
and summarised in a separate process. Exceptions other than fsframe's own, crashes, and files that
take more than 10 seconds are counted, and the numbers of the files printed. The valid files are
those of the tests.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 10
FORMS = ("text", "packed", "npz", "hdf5", "parquet", "arrow", "excel", "arff", "npy", "csr", "csc",
         "mtx", "mat", "mat-sparse", "mat-7.3", "svmlight", "h5ad", "gct", "plink")  # fmt: skip


def sound(form: str, folder: Path) -> list[tuple[Path, list[bytes]]]:
    """The files of a valid table of that format, the one to read first, with their contents."""
    from tests.plugins.test_tables import write
    from tests.table.test_mutated import BASES
    from tests.table.test_other_formats import WRITERS

    if form in BASES:
        return [(folder / "table", list(BASES[form]))]
    if form in WRITERS:
        path = WRITERS[form](folder)
        files = [path, *sorted(f for f in folder.iterdir() if f != path)]
    else:
        path = folder / ("t.arff" if form == "arff" else "t")
        write(path, form)
        files = [path]
    return [(file, [file.read_bytes()]) for file in files]


def mutated(base: bytes, draw: np.random.Generator) -> bytes:
    """`base` with one to six edits."""
    content = bytearray(base)
    for _ in range(draw.integers(1, 7)):
        at, size = int(draw.integers(0, len(content) + 1)), int(draw.integers(1, 5))
        token = bytes(draw.integers(0, 256, size, dtype=np.uint8))
        if draw.random() < 0.5:
            # What a file holds already damages it less, and goes further.
            start = int(draw.integers(0, len(base)))
            token = base[start : start + size]
        kind = draw.integers(0, 8)
        if kind == 0:
            content[at:at] = token
        elif kind == 1:
            del content[at : at + size]
        elif kind == 2 and draw.random() < 0.3:
            del content[at:]
        else:
            content[at : at + size] = token[: len(content[at : at + size])]
    return bytes(content)


def work(form: str, first: int, last: int) -> None:
    """Read files `first` … `last` − 1, and print a line for each failure."""
    sys.path.insert(0, str(ROOT))
    from fsframe.errors import FsframeError
    from fsframe.table.read import contents, read
    from tests.table.test_other_formats import LABEL

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        parts = sound(form, Path(name))
        # What a reader imports is no part of the seconds of a file.
        for file, own in parts:
            file.write_bytes(own[0])
        read(parts[0][0], label=LABEL.get(form))
        for number in range(first, last):
            print("at", number, flush=True)
            draw = np.random.default_rng([number, FORMS.index(form)])
            target, bases = parts[number % len(parts)]
            for file, own in parts:
                file.write_bytes(own[number % len(own)])
            target.write_bytes(mutated(bases[number % len(bases)], draw))
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            started = time.perf_counter()
            told, wrong = "", False
            for call in (lambda path: read(path, label=LABEL.get(form)).sha256, contents):
                try:
                    call(parts[0][0])
                except FsframeError as error:
                    told = str(error) or "no word"
                    assert str(error)
                except BaseException:
                    wrong = True
                    print("bad", json.dumps([number, traceback.format_exc()[-600:]]), flush=True)
            faulthandler.cancel_dump_traceback_later()
            print("was", 2 if wrong else int(bool(told)), time.perf_counter() - started, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--worker", nargs=3)
    parser.add_argument("forms", nargs="*", metavar="FORM", help=", ".join(FORMS))
    asked = parser.parse_args()
    if asked.worker:
        work(asked.worker[0], int(asked.worker[1]), int(asked.worker[2]))
        return
    os.environ["FSFRAME_TABLE_MEMORY"] = "100MB"
    print("| format | read | refused | tracebacks | ended or hung | slowest | processor time |")
    unknown = sorted({*asked.forms} - {*FORMS})
    if unknown:
        parser.error(f"no such format: {', '.join(unknown)}")
    for form in asked.forms or FORMS:
        begin, counts, ended, slowest = 0, np.zeros(3, int), 0, 0.0
        used = os.times()
        while begin < asked.files:
            command = [sys.executable, __file__, "--worker", form, str(begin), str(asked.files)]
            done = subprocess.run(command, capture_output=True, text=True)
            lines = done.stdout.splitlines()
            at = [int(line.split()[1]) for line in lines if line.startswith("at ")]
            for line in lines:
                if line.startswith("bad "):
                    print(form, line, file=sys.stderr)
                elif line.startswith("was "):
                    _, refused, seconds = line.split()
                    counts[int(refused)] += 1
                    slowest = max(slowest, float(seconds))
            if done.returncode == 0:
                break
            if not at:
                raise SystemExit(done.stderr)
            ended += 1
            print(form, "ended at", at[-1], done.returncode, done.stderr[-800:], file=sys.stderr)
            begin = at[-1] + 1
        now = os.times()
        spent = now.children_user + now.children_system - used.children_user - used.children_system
        print(f"| {form} | {counts[0]} | {counts[1]} | {counts[2]} | {ended} | {slowest:.2f} s | "
              f"{spent:.0f} s |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
