"""Tables made to exhaust memory, and folders beside tables made to change answers.

    python benchmarks/trust/strange_tables.py bombs          # one line per format
    python benchmarks/trust/strange_tables.py forged 500     # mutated files beside a table in parts

`bombs` writes one small file of each format that stands for a large table, opens it by ``fsframe
inspect``, and prints size of the file, exit code, processor time and the largest resident set.
`forged` mutates what is kept beside a table in parts: bytes as they are, and content under the
user's own seal, which no stranger has. Each must give the same answer, or for content under the
user's own seal an answer at all, without a traceback.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import traceback
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import polars
from numpy.lib import format as npy

import fsframe
from fsframe.errors import FsframeError
from fsframe.table import kept_folders
from fsframe.table.kept_folders import arrays_as_bytes, arrays_in_bytes, seal
from fsframe.table.parts import CACHE_FOLDER

LARGE = 200_000_000
"""Values of the tables that bombs stand for: 1.6 GB as float64."""


def parquet(path: Path) -> None:
    zeros = polars.repeat(0, LARGE // 2, dtype=polars.UInt8, eager=True)
    polars.DataFrame({"a": zeros, "y": zeros}).write_parquet(path)


def arrow(path: Path) -> None:
    zeros = polars.repeat(0, LARGE // 2, dtype=polars.UInt8, eager=True)
    polars.DataFrame({"a": zeros, "y": zeros}).write_ipc(path, compression="zstd")


def npz(path: Path) -> None:
    head = io.BytesIO()
    form = {"shape": (LARGE // 20, 20), "fortran_order": False, "descr": "<f8"}
    npy.write_array_header_1_0(head, form)
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w", force_zip64=True) as member,
    ):
        member.write(head.getvalue())
        for _ in range(LARGE // 20 // 50_000):
            member.write(bytes(50_000 * 160))


def xlsx(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as member:
            for _ in range(1000):
                member.write(b"<c/>" * 250_000)


def h5(path: Path, name: str = "X") -> None:
    with h5py.File(path, "w") as file:
        shape = (LARGE // 20, 20)
        X = file.create_dataset(name, shape, "u1", chunks=(100_000, 20), compression="gzip")
        packed = zlib.compress(bytes(2_000_000), 9)
        for start in range(0, shape[0], 100_000):
            X.id.write_direct_chunk((start, 0), packed)
        file.create_dataset("y", shape[:1], "u1", chunks=(100_000,), compression="gzip")[:] = 1


def h5ad(path: Path) -> None:
    """A sparse matrix that declares many cells."""
    with h5py.File(path, "w") as file:
        for name, many in (("var", 20), ("obs", 5)):
            file[f"{name}/_index"] = [f"{name}{k}" for k in range(many)]
        file["X/data"], file["X/indices"] = np.ones(3), np.array([0, 1, 2**31 - 1])
        file["X/indptr"] = np.array([0, 3, 3, 3, 3, 3])
        file["X"].attrs.update({"encoding-type": "csr_matrix", "shape": [5, 20]})


def mtx(path: Path) -> None:
    path.write_text(f"%%MatrixMarket matrix array real general\n{LARGE // 20} 20\n1\n2\n")


def wide_mtx(path: Path) -> None:
    path.write_text("%%MatrixMarket matrix coordinate real general\n2000000000 2000000000 1\n1 1 5")


def packed_mtx(path: Path) -> None:
    head = f"%%MatrixMarket matrix array real general\n{LARGE // 20} 20\n".encode()
    with gzip.open(path, "wb") as file:
        file.write(head)
        for _ in range(LARGE // 1_000_000):
            file.write(b"1\n" * 1_000_000)


def plink(path: Path) -> None:
    """Fewer genotypes than persons and variants need."""
    path.write_bytes(b"\x6c\x1b\x01" + bytes(1000))
    path.with_suffix(".fam").write_text("f p 0 0 1 2\n" * 20_000)
    path.with_suffix(".bim").write_text("1 . 0 5 A C\n" * 20_000)


def mat(path: Path) -> None:
    """A compressed element that stands for a gigabyte of zeros."""
    packer = zlib.compressobj(9)
    inner = (14).to_bytes(4, "little") + (1 << 30).to_bytes(4, "little")
    packed = packer.compress(inner)
    packed += b"".join(packer.compress(bytes(1 << 20)) for _ in range(1024)) + packer.flush()
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    path.write_bytes(head + (15).to_bytes(4, "little") + len(packed).to_bytes(4, "little") + packed)


def csv(path: Path) -> None:
    with gzip.open(path, "wb") as file:
        for _ in range(LARGE // 1_000_000):
            file.write(b"1,0\n" * 500_000)


BOMBS: dict[str, Callable[[Path], None]] = {
    "t.parquet": parquet,
    "t.arrow": arrow,
    "t.npz": npz,
    "t.xlsx": xlsx,
    "t.h5": h5,
    "t.h5ad": h5ad,
    "short.mtx": mtx,
    "wide.mtx": wide_mtx,
    "t.mtx.gz": packed_mtx,
    "t.bed": plink,
    "t.mat": mat,
    "t.csv.gz": csv,
}


def bombs() -> None:
    """Open one file of each format in a process of its own."""
    with tempfile.TemporaryDirectory() as home:
        for name, make in BOMBS.items():
            path = Path(home) / name
            make(path)
            with subprocess.Popen(
                [sys.executable, "-m", "fsframe", "inspect", str(path)],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            ) as child:  # fmt: skip
                assert child.stderr is not None
                said = child.stderr.read().decode()
                _, status, used = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            line = {
                "what": f"a table to exhaust memory, {name}",
                "kB": round(path.stat().st_size / 1000, 1),
                "exit": child.returncode,
                "processor_s": round(used.ru_utime + used.ru_stime, 1),
                "MB": round(used.ru_maxrss / 1000),
                "traceback": int("Traceback" in said),
            }
            print(json.dumps(line), said.strip()[:160].replace(str(home), ""), flush=True)
            path.unlink()


def forged(many: int) -> None:
    """Mutate the files that are kept beside a small table in parts."""
    draw = random.Random(0)
    generator = np.random.default_rng(0)
    X = generator.integers(0, 5, (400, 5), dtype=np.uint8)
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_CACHE_HOME"] = home
        folder = Path(home) / "parts"
        folder.mkdir()
        frame = polars.DataFrame({f"f{k}": X[:, k] for k in range(5)})
        frame.with_columns(y=(X[:, 0] > 2).astype(int)).write_parquet(folder / "0.parquet")

        def answer() -> bytes:
            return fsframe.select("mim:top=2", fsframe.read(folder)).scores.tobytes()

        purposes: dict[Path, str] = {}
        real = kept_folders.open_sealed

        def opened(path: Path, purpose: str, most: int) -> bytes | None:
            purposes[path] = purpose
            return real(path, purpose, most)

        expected = answer()
        kept_folders.open_sealed = opened
        assert answer() == expected
        files = [path for path in (folder / CACHE_FOLDER).rglob("*") if path.is_file()]
        sound = {path: path.read_bytes() for path in files}
        for _ in range(many):
            path = draw.choice(files)
            content = bytearray(sound[path])
            own = path in purposes and draw.random() < 0.6
            if own:
                mutated = with_other_arrays(bytes(content).split(b"\n", 1)[1], draw)
                content = bytearray(seal(mutated, purposes[path]))
            else:
                for _ in range(draw.choice((1, 1, 5, 50))):
                    content[draw.randrange(len(content))] = draw.randrange(256)
                if draw.random() < 0.3:
                    del content[draw.randrange(len(content)) :]
            path.write_bytes(content)
            kept_folders._note.cache_clear()
            said = io.StringIO()
            try:
                with contextlib.redirect_stderr(said):
                    same = answer() == expected
                noted = "with a note" if "computed again" in said.getvalue() else "without a note"
                outcome = f"{'same' if same else 'ANOTHER'} answer {noted}"
            except FsframeError as error:
                outcome = f"refused: {str(error)[:80]}"
            except Exception:
                outcome = "TRACEBACK " + traceback.format_exc().strip().splitlines()[-1][:120]
            outcomes[f"{'own seal' if own else 'bytes'}: {outcome}"] += 1
            for other, bytes_ in sound.items():
                other.parent.mkdir(exist_ok=True)
                other.write_bytes(bytes_)
    for outcome, times in sorted(outcomes.items()):
        print(json.dumps({"what": f"files beside a table in parts, {outcome}", "times": times}))


def with_other_arrays(body: bytes, draw: random.Random) -> bytes:
    """The content of a sealed file with one array, or the list of files, changed."""
    listing, packed = body.split(b"\n", 1)
    arrays = arrays_in_bytes(packed)
    if draw.random() < 0.2:
        files = json.loads(listing)
        key = draw.choice(["/dev/zero", "../index", "000000.shard", "a" * 300, "000007.shard"])
        files[key] = draw.choice([[-1, ""], [10**18, "0" * 64], 5, None, [[]]])
        listing = json.dumps(files).encode()
    else:
        key = draw.choice(sorted(arrays))
        values = arrays[key]
        numeric = values.dtype.kind in "iufb"
        arrays[key] = draw.choice(
            [
                lambda: values[None],
                lambda: values.ravel()[: max(0, values.size - 1)],
                lambda: np.concatenate([values.ravel()] * 3),
                lambda: values.astype("f4") if numeric else np.array(5),
                lambda: -values.astype(np.int64) - 1 if numeric else np.array("x" * 1000),
                lambda: values.astype(np.int64) * 10**12 if numeric else values[None],
                lambda: np.empty((0, 3)),
                lambda: np.full(values.shape, np.nan),
            ]
        )()
    return listing + b"\n" + arrays_as_bytes(arrays)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.argv[1:2] == ["bombs"]:
        bombs()
    elif sys.argv[1:2] == ["forged"]:
        forged(int(sys.argv[2]))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
