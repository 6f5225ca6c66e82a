"""Files as large as they must be are read; damage under a fitting seal, and foreign filters."""

from __future__ import annotations

import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from fsframe.errors import StoreError
from fsframe.storage import RunRecord, StageRecord, load_run, write_run
from fsframe.storage.spec import SEAL_BYTES, Limits
from fsframe.storage.write import first_difference
from tests.command_line import python
from tests.storage.run_files import (
    ROOT,
    STAGE,
    build_record,
    flipped,
    needs_statm,
    opened,
    sealed,
    tampered,
    zeros,
)

TABLES = f"{STAGE}/tables"


def test_a_table_that_compresses_better_than_readers_take_is_written_so_that_they_take_it(tmp_path):
    """Ninety million zeros are ninety kilobytes of gzip; the file is made longer than that."""
    zeros, other = np.zeros((900, 100_000), dtype=bool), np.zeros(700_000, dtype=bool)
    stage = StageRecord(name="x", features_in=[], tables={"boot": zeros, "other": other})
    path = write_run(tmp_path / "r.h5", build_record(stages=[stage]))
    length = path.stat().st_size
    assert Limits().memory(length) >= zeros.nbytes + other.nbytes
    # The smaller one makes the difference and is left as it is; the other stays packed.
    assert length < 2_000_000
    assert np.array_equal(load_run(path).stages[0].tables["boot"], zeros)


def test_a_file_beyond_the_bounds_can_be_read_by_who_trusts_it(tmp_path, run_file):
    path = tampered(run_file, tmp_path / "x.h5", zeros((3 << 25,), (1 << 22,)))
    with pytest.raises(StoreError, match="total_expansion"):
        load_run(path)
    with pytest.raises(StoreError, match="digest"):
        load_run(path, limits=Limits(total_expansion=1100))


def truncated(run_file: Path, folder: Path, count: int, seed: int, *, seal: bool) -> list[str]:
    """Copies of a run file that end anywhere, sealed again or not."""
    whole = run_file.read_bytes()
    least = SEAL_BYTES if seal else 0
    paths = []
    for number, length in enumerate(
        np.random.default_rng(seed).integers(least, len(whole), size=count)
    ):
        path = folder / f"cut-{seal}-{number}.h5"
        if seal:
            sealed(path, whole[SEAL_BYTES:length])
        else:
            path.write_bytes(whole[:length])
        paths.append(str(path))
    return paths


def judged(paths: list[str], record: RunRecord) -> tuple[int, float]:
    """How many of damaged files are refused, and the longest that one took; others read right.

    What differs may only be a free text that no digest covers.
    """
    result = opened(paths)
    assert len(result) == len(paths)
    read = [path for path, (outcome, _) in result.items() if outcome == "read"]
    assert not any("cut" in Path(path).name for path in read)
    assert not any(first_difference(record, load_run(path)) for path in read)
    return len(result) - len(read), max(seconds for _, seconds in result.values())


@needs_statm
def test_damage_that_the_seal_does_not_see_is_seen_by_checksums_and_digests(
    run_file, record, tmp_path
):
    assert judged(flipped(run_file, tmp_path, 80, seed=1), record)[0] > 40


@needs_statm
@pytest.mark.slow
def test_damage_that_the_seal_does_not_see_at_length(run_file, record, tmp_path):
    for seed in range(10):
        judged(flipped(run_file, tmp_path, 4000, seed), record)


@needs_statm
@pytest.mark.slow
def test_flips_and_truncations_under_a_fitting_seal_are_refused_or_read_right(
    run_file, record, tmp_path, count
):
    """2,400 single flips and 300 truncations sealed again, 300 truncations as they are."""
    paths = flipped(run_file, tmp_path, 2_400, 7)
    paths += truncated(run_file, tmp_path, 300, 8, seal=True)
    paths += truncated(run_file, tmp_path, 300, 9, seal=False)
    refused, slowest = judged(paths, record)
    count(
        "2,400 flips and 300 truncations sealed again, 300 as they are, opened in 256 MiB",
        files=len(paths), refused=refused, read_right=len(paths) - refused,
        slowest_s=round(slowest, 2),
    )  # fmt: skip


READING = """
import sys
import h5py
from fsframe.errors import DataError, StoreError
from fsframe.storage import load_run
from fsframe.table.files.hdf5 import Hdf5Arrays
run_file, table, member, *ways = sys.argv[1:]
for way in ways:
    try:
        if way == "hdf5":
            with h5py.File(run_file) as file:
                file[member][...]
        elif way == "table":
            with Hdf5Arrays(table) as file:
                file.array(member)
        else:
            load_run(run_file)
    except (DataError, KeyError, OSError, StoreError) as error:
        print(error)
"""

# A filter of the writer's own; h5py gives groups none, HDF5 does.
WRITING = """
import ctypes, re, sys
import h5py
what, name, *paths = sys.argv[1:]
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
for path in paths:
    with h5py.File(path, "a", libver="latest") as file:
        if what == "dataset":
            checked = plan.copy()
            checked.set_fletcher32()
            space = h5py.h5s.create_simple((8,))
            h5py.h5d.create(file[name].id, b"x", h5py.h5t.STD_U8LE, space, checked)
            file[name]["x"][...] = 1
        else:
            assert library.H5Pset_link_phase_change(number, ctypes.c_uint(0), ctypes.c_uint(0)) >= 0
            file.pop(name)
            h5py.Group(h5py.h5g.create(file.id, name.encode(), gcpl=plan))["x"] = range(8)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the loader of Linux")
@pytest.mark.parametrize("what", ["dataset", "group"])
def test_no_filter_of_a_file_is_loaded_from_disk(run_file, tmp_path, what):
    """HDF5 looks for a filter that it lacks in a folder of plugins, and runs what it finds.

    For groups, whose links can be packed too, it did so before anything could be refused.
    """
    name = TABLES if what == "dataset" else "stages"
    table = tmp_path / "table.h5"
    with h5py.File(table, "w") as file:
        file.create_group(name)

    path = tmp_path / "foreign.h5"
    path.write_bytes(run_file.read_bytes())
    python("-c", WRITING, what, name, path, table, cwd=ROOT)
    tampered(path, path, lambda file: None)
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "libevil.so").write_bytes(b"\x7fELF, or not")
    said = {
        "hdf5": "",
        "run": "no filter besides" if what == "dataset" else "HDF5 cannot read it",
        "table": "HDF5 filter",
    }

    def loaded(*ways: str) -> bool:
        environ = {"HDF5_PLUGIN_PATH": str(plugins), "LD_DEBUG": "files"}
        done = python("-c", READING, path, table, f"{name}/x", *ways, env=environ, cwd=ROOT)
        assert all(said[way] in done.out for way in ways)
        return "libevil.so" in done.err

    if not loaded("hdf5"):
        pytest.skip("this loader does not tell what it opens")
    assert not loaded("run", "table")
