"""Small sealed files that would cost much, and files as large as they must be: bounded, or read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import h5py
import numpy as np
import pytest

from fsframe.errors import StoreError
from fsframe.storage import StageRecord, load_run, write_run
from fsframe.storage.spec import Limits

ROOT = Path(__file__).resolve().parents[2]
STAGE = "stages/01-immigrate"
TABLES = f"{STAGE}/tables"
Edit = Callable[[h5py.File], None]


def filled(name: str, shape: tuple[int, ...], chunks: tuple[int, ...], **options: object) -> Edit:
    """A table of zeros with the checksum, in chunks, gzip by default."""

    def edit(file: h5py.File) -> None:
        given = {"dtype": "u1", "compression": "gzip", "fletcher32": True, **options}
        data = file.create_dataset(f"{TABLES}/{name}", shape, chunks=chunks, **given)
        block = np.zeros(chunks, dtype=data.dtype)
        for first in range(0, shape[0], chunks[0]):
            data[first : first + chunks[0]] = block[: shape[0] - first]

    return edit


def twice_packed(file: h5py.File) -> None:
    """256 MiB of zeros in a few hundred bytes: gzip upon gzip."""
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk((1 << 24,))
    plan.set_deflate(9)
    plan.set_deflate(9)
    plan.set_fletcher32()
    space = h5py.h5s.create_simple((1 << 28,))
    group = file[TABLES].id
    h5py.h5d.create(group, b"x", h5py.h5t.STD_U8LE, space, plan)
    file[f"{TABLES}/x"][: 1 << 24] = 0


def swollen_chunk(file: h5py.File) -> None:
    """A chunk that declares 1 MiB and unpacks to 128 MiB."""
    import zlib

    data = file.create_dataset(
        f"{TABLES}/x", (1 << 20,), "u1", chunks=(1 << 20,), compression="gzip", fletcher32=True
    )
    packing = zlib.compressobj(9)
    raw = b"".join(packing.compress(bytes(1 << 20)) for _ in range(128)) + packing.flush()
    data.id.write_direct_chunk((0,), raw + b"\0\0\0\0")


def without_checksum(file: h5py.File) -> None:
    data = file.create_dataset(f"{TABLES}/x", (4,), "u1", chunks=(4,), fletcher32=True)
    data.id.write_direct_chunk((0,), b"\0\1\2\3", filter_mask=1)


def one_byte_texts(file: h5py.File) -> None:
    file.create_dataset(
        f"{TABLES}/x", data=np.zeros(3_000_000, dtype="S1"), chunks=(1 << 20,),
        compression="gzip", fletcher32=True,
    )  # fmt: skip


def one_long_text(file: h5py.File) -> None:
    texts = np.array([b"a"] * 9_999 + [b"b" * 4_000])
    file.create_dataset(
        f"{TABLES}/x", data=texts, chunks=(1_000,), compression="gzip", fletcher32=True
    )


def long_json(file: h5py.File) -> None:
    del file[f"{STAGE}/params"]
    text = b'{"a":' + b"[" * 4 + b"[]," * 3_000_000 + b"[]" + b"]" * 4 + b"}"
    file.create_dataset(
        f"{STAGE}/params", data=np.array([text]), chunks=(1,), compression="gzip", fletcher32=True
    )


def infinite_json(file: h5py.File) -> None:
    del file[f"{STAGE}/params"]
    data = np.array([b'{"sigma":1e999}'])
    file.create_dataset(f"{STAGE}/params", data=data, chunks=(1,), fletcher32=True)


def half_written(file: h5py.File) -> None:
    data = file.create_dataset(f"{TABLES}/x", (400_000,), "u1", chunks=(100_000,), fletcher32=True)
    data[:300_000] = 1


CASES: dict[str, tuple[Edit, str]] = {
    "96 MiB of zeros": (filled("x", (3 << 25,), (1 << 22,), shuffle=True), "bytes in all"),
    "gzip upon gzip": (twice_packed, "no filter besides"),
    "a chunk that swells": (swollen_chunk, "does not decompress to its declared size"),
    "a chunk without its checksum": (without_checksum, "without its checksum"),
    "chunks of one element": (filled("x", (300,), (1,)), "too many for its size"),
    "chunks that are missing": (half_written, "has 3 chunks, not 4"),
    "texts of one byte": (one_byte_texts, "bytes in all"),
    "texts as wide as the longest": (one_long_text, "bytes in all"),
    "JSON of nine megabytes": (long_json, "too long"),
    "an infinite parameter": (infinite_json, "not a JSON number here"),
    "filters in another order": (
        filled("x", (4096,), (4096,), shuffle=True, compression="lzf"), "no filter besides"),
}  # fmt: skip

OPENING = """
import json, resource, sys, time
import fsframe.storage.read
from fsframe.errors import StoreError
from fsframe.storage import load_run
with open("/proc/self/statm") as statm:
    taken = int(statm.read().split()[0]) * resource.getpagesize()
most = taken + (256 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for path in json.load(sys.stdin):
    start = time.process_time()
    try:
        load_run(path)
        outcome = "read"
    except StoreError as error:
        outcome = str(error)
    print(json.dumps([path, outcome, time.process_time() - start]), flush=True)
"""

needs_statm = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the address space is read there"
)


def opened(paths: list[str], timeout: int = 600) -> dict[str, tuple[str, float]]:
    """What opening each came to in 256 MiB beyond the libraries', and the processor seconds."""
    done = subprocess.run(
        [sys.executable, "-c", OPENING],
        input=json.dumps(paths),
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=ROOT,
    )
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-1000:]}"
    lines = map(json.loads, done.stdout.splitlines())
    return {path: (outcome, seconds) for path, outcome, seconds in lines}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory, make, tamper) -> dict[str, tuple[str, float]]:
    folder = tmp_path_factory.mktemp("costs")
    sound = write_run(folder / "sound.h5", make())
    paths = {"sound": str(sound)}
    for number, (name, (edit, _)) in enumerate(CASES.items()):
        paths[name] = str(tamper(sound, folder / f"{number}.h5", edit))
    found = opened(list(paths.values()))
    slowest = max(seconds for _, seconds in found.values())
    print(f"{len(paths)} costly files: the slowest took {slowest:.2f} s of the processor")
    return {name: found[path] for name, path in paths.items()}


@needs_statm
def test_a_sound_file_is_read_in_256_mib(outcomes):
    assert outcomes["sound"][0] == "read"


@needs_statm
@pytest.mark.parametrize("name", CASES)
def test_a_small_file_that_would_cost_much_is_refused_within_256_mib(outcomes, name):
    assert CASES[name][1] in outcomes[name][0]


def test_a_table_that_compresses_better_than_readers_take_is_written_so_that_they_take_it(
    tmp_path, make
):
    """Ninety million zeros are ninety kilobytes of gzip; the file is made longer than that."""
    zeros, other = np.zeros((900, 100_000), dtype=bool), np.zeros(700_000, dtype=bool)
    stage = StageRecord(name="x", features_in=[], tables={"boot": zeros, "other": other})
    path = write_run(tmp_path / "r.h5", make(stages=[stage]))
    length = path.stat().st_size
    assert Limits().memory(length) >= zeros.nbytes + other.nbytes
    # The smaller one makes the difference and is left as it is; the other stays packed.
    assert length < 2_000_000
    assert np.array_equal(load_run(path).stages[0].tables["boot"], zeros)


def test_a_file_beyond_the_bounds_can_be_read_by_who_trusts_it(tmp_path, run_file, tamper):
    path = tamper(run_file, tmp_path / "x.h5", filled("x", (3 << 25,), (1 << 22,)))
    with pytest.raises(StoreError, match="total_expansion"):
        load_run(path)
    with pytest.raises(StoreError, match="digest"):
        load_run(path, limits=Limits(total_expansion=1100))


def sealed_flips(run_file: Path, folder: Path, count: int, seed: int) -> list[str]:
    from fsframe.storage.spec import SEAL_BYTES, make_seal

    image = bytearray(run_file.read_bytes()[SEAL_BYTES:])
    rng = np.random.default_rng(seed)
    paths = []
    for number, place in enumerate(rng.integers(len(image), size=count).tolist()):
        bit = 1 << int(rng.integers(8))
        image[place] ^= bit
        path = folder / f"flip-{number}.h5"
        path.write_bytes(make_seal(bytes(image)) + bytes(image))
        paths.append(str(path))
        image[place] ^= bit
    return paths


def truncations(run_file: Path, folder: Path, count: int, seed: int, *, seal: bool) -> list[str]:
    from fsframe.storage.spec import SEAL_BYTES, make_seal

    whole = run_file.read_bytes()
    paths = []
    for number, length in enumerate(
        np.random.default_rng(seed).integers(SEAL_BYTES if seal else 0, len(whole), size=count)
    ):
        part = whole[:length]
        path = folder / f"cut-{seal}-{number}.h5"
        path.write_bytes(make_seal(part[SEAL_BYTES:]) + part[SEAL_BYTES:] if seal else part)
        paths.append(str(path))
    return paths


@needs_statm
@pytest.mark.slow
def test_flips_and_truncations_under_a_fitting_seal_are_refused_or_read_right(
    run_file, tmp_path, make, count
):
    """2,400 single flips and 300 truncations sealed again, 300 truncations as they are."""
    paths = sealed_flips(run_file, tmp_path, 2_400, 7)
    paths += truncations(run_file, tmp_path, 300, 8, seal=True)
    paths += truncations(run_file, tmp_path, 300, 9, seal=False)
    found = opened(paths)
    read = [path for path, (outcome, _) in found.items() if outcome == "read"]
    slowest = max(seconds for _, seconds in found.values())
    count(
        "2,400 flips and 300 truncations sealed again, 300 as they are, opened in 256 MiB",
        files=len(paths), refused=len(found) - len(read), read_right=len(read),
        slowest_s=round(slowest, 2),
    )  # fmt: skip
    assert len(found) == len(paths)
    truth = make()
    for path in read:
        assert "cut" not in Path(path).name
        assert load_run(path).digests() == truth.digests()
        assert attrs.asdict(load_run(path).data) == attrs.asdict(truth.data)


READING = """
import sys
import h5py
from fsframe.errors import DataError, StoreError
from fsframe.storage import load_run
from fsframe.table.hdf5 import Hdf5Arrays
way, path, member = sys.argv[1:]
try:
    if way == "hdf5":
        with h5py.File(path) as file:
            file[member][...]
    elif way == "table":
        with Hdf5Arrays(path) as file:
            file.array(member)
    else:
        load_run(path)
except (DataError, KeyError, OSError, StoreError) as error:
    print(error)
"""

# A filter of the writer's own; h5py gives groups none, HDF5 does.
WRITING = """
import ctypes, re, sys
import h5py
what, path, name = sys.argv[1:]
own = h5py.h5f.__file__, *re.findall(r"/\\S+libhdf5[-.]\\S*", open("/proc/self/maps").read())
library = next(lib for lib in map(ctypes.CDLL, own) if hasattr(lib, "H5Zregister"))
Size, Identifier = ctypes.c_size_t, ctypes.c_int64
Pack = ctypes.CFUNCTYPE(Size, ctypes.c_uint, Size, ctypes.c_void_p, Size, ctypes.c_void_p,
                        ctypes.c_void_p)
class Filter(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("id", ctypes.c_int), ("encode", ctypes.c_uint),
                ("decode", ctypes.c_uint), ("name", ctypes.c_char_p), ("can", ctypes.c_void_p),
                ("set", ctypes.c_void_p), ("pack", Pack)]
same = Pack(lambda flags, values, value, size, held, buffer: size)
assert library.H5Zregister(ctypes.byref(Filter(1, 32015, 1, 1, b"evil", None, None, same))) >= 0
plans = h5py.h5p.GROUP_CREATE, h5py.h5p.DATASET_CREATE
plan = h5py.h5p.create(plans[what == "dataset"])
if what == "dataset":
    plan.set_chunk((8,))
number = Identifier(plan.id)
assert library.H5Pset_filter(number, 32015, ctypes.c_uint(0), Size(0), None) >= 0
with h5py.File(path, "a", libver="latest") as file:
    if what == "dataset":
        plan.set_fletcher32()
        space = h5py.h5s.create_simple((8,))
        h5py.h5d.create(file[name].id, b"x", h5py.h5t.STD_U8LE, space, plan)
        file[name]["x"][...] = 1
    else:
        assert library.H5Pset_link_phase_change(number, ctypes.c_uint(0), ctypes.c_uint(0)) >= 0
        file.pop(name)
        h5py.Group(h5py.h5g.create(file.id, name.encode(), gcpl=plan))["x"] = range(8)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the loader of Linux")
@pytest.mark.parametrize("what", ["dataset", "group"])
def test_no_filter_of_a_file_is_loaded_from_disk(run_file, tmp_path, tamper, what):
    """HDF5 looks for a filter that it lacks in a folder of plugins, and runs what it finds.

    For groups, whose links can be packed too, it did so before anything could be refused.
    """
    name = TABLES if what == "dataset" else "stages"
    table = tmp_path / "table.h5"
    with h5py.File(table, "w") as file:
        file.create_group(name)

    def python(program: str, *words: object, **environ: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, words)],
            capture_output=True, text=True, errors="replace", timeout=60, cwd=ROOT,
            env={**os.environ, **environ},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-500:]
        return done

    path = tmp_path / "foreign.h5"
    path.write_bytes(run_file.read_bytes())
    for one in (path, table):
        python(WRITING, what, one, name)
    tamper(path, path, lambda file: None)
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "libevil.so").write_bytes(b"\x7fELF, or not")
    seen = {}
    for way, one in (("hdf5", path), ("run", path), ("table", table)):
        done = python(
            READING, way, one, f"{name}/x", HDF5_PLUGIN_PATH=str(plugins), LD_DEBUG="files"
        )
        seen[way] = "libevil.so" in done.stderr
        said = {
            "hdf5": "",
            "run": "no filter besides" if what == "dataset" else "HDF5 cannot read it",
            "table": "HDF5 filter",
        }
        assert said[way] in done.stdout
    if not seen["hdf5"]:
        pytest.skip("this loader does not tell what it opens")
    assert not seen["run"] and not seen["table"]
