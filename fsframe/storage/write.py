"""Write a run file: build it in memory, seal it, read it back, then move it into place."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
import h5py
import numpy as np
from numpy.typing import NDArray

from fsframe.atomic import check_destination, check_ending, place_file
from fsframe.errors import FsframeError, StoreError
from fsframe.storage import spec
from fsframe.storage.encoding import TRIANGLE, compact, encode_array, json_text, result_digest
from fsframe.storage.read import first_difference, load_run
from fsframe.storage.records import (
    PairTestRecord,
    RunRecord,
    StageRecord,
    axes_text,
    pair_test_items,
    stage_items,
    stage_texts,
)
from fsframe.storage.spec import SEAL_BYTES, TEXT_BYTES, Limits, field_name, make_seal

_CHUNK_BYTES = 1 << 20
_COMPRESS_FROM = 1 << 12


def write_run(path: str | os.PathLike[str], record: RunRecord, *, overwrite: bool = False) -> Path:
    """Write a run file and return its path.

    Parameters
    ----------
    path : path
        Path of the file.
    record : RunRecord
    overwrite : bool
        Whether an existing file may be replaced.

    Returns
    -------
    Path
        Absolute.

    Raises
    ------
    StoreError
        If the file exists or cannot be written, if the record is inconsistent, or if the written
        file, read back from disk, is not equal to the record.

    Notes
    -----
    docs/file-format.md, section 6. Memory: the file's size twice, besides the record.
    """
    check_run_name(path)
    target = check_destination(path, overwrite=overwrite)
    problems = record.problems()
    if problems:
        raise StoreError(f"cannot write {target}: {'; '.join(problems)}")
    content = run_file_content(record)

    def check(sibling: Path) -> None:
        try:
            difference = first_difference(record, load_run(sibling))
        except StoreError as error:
            raise StoreError(f"{target} was not written: read back, {error}") from error
        if difference:
            raise StoreError(f"{target} was not written: read back, it differs in {difference}")

    return place_file(target, content, overwrite=overwrite, check=check)


def check_run_name(path: str | os.PathLike[str]) -> None:
    """Raise StoreError if the name of a run file says that it is a table, a page or a picture."""
    check_ending(
        path, ".h5", holds="a run file, which is HDF5,",
        instead="fsframe table RUN.h5 -o {} writes its table, to_frame() gives it",
    )  # fmt: skip


def run_file_content(record: RunRecord) -> bytes:
    """The bytes of a whole run file, as `write_run` writes it; StoreError as in `run_image`."""
    image = run_image(record)
    return make_seal(image) + image


def run_image(record: RunRecord) -> bytes:
    """The HDF5 part of a run file, as bytes that depend on the record alone.

    StoreError if the format cannot represent the record. Readers accept only so much from a small
    file (`Limits.memory`). If arrays compress better than that, as a table of zeros does, the
    smallest one that makes the difference stays uncompressed.
    """
    written = _Written()
    image = _image(record, written)
    missing = _bytes_missing(written, len(image))
    if missing > 0:
        written = _Written(plain=_left_plain(written, missing))
        image = _image(record, written)
    return image


@attrs.define
class _Written:
    """The arrays of an image: which stay uncompressed, sizes, number of texts, bytes unpacked."""

    plain: frozenset[int] = frozenset()
    sizes: list[int] = attrs.field(factory=list)
    n_texts: int = 0
    n_unpacked: int = 0


def _bytes_missing(written: _Written, length: int) -> int:
    """How much longer the image must be for readers to take its arrays."""
    limits = Limits()
    declared = sum(written.sizes) + TEXT_BYTES * written.n_texts + written.n_unpacked
    needed = -(-(declared - limits.free_bytes) // limits.total_expansion)
    return needed - length


def _left_plain(written: _Written, missing: int) -> frozenset[int]:
    """Positions of arrays that together have at least `missing` bytes, few and small."""
    sizes = written.sizes
    order = sorted(range(len(sizes)), key=lambda k: sizes[k])
    enough = [position for position in order if sizes[position] >= missing]
    if enough:
        return frozenset(enough[:1])
    chosen: set[int] = set()
    while order and sum(sizes[k] for k in chosen) < missing:
        chosen.add(order.pop())
    return frozenset(chosen)


def _image(record: RunRecord, written: _Written) -> bytes:
    memory = io.BytesIO()
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    # The core driver's image of an open file has, before HDF5 2.0, a superblock whose checksum does
    # not fit; closing a file in a byte buffer leaves it sound.
    access.set_fileobj_driver(h5py.h5fd.fileobj_driver, memory)
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    # The layout of HDF5 1.10 (2016): its metadata carry checksums, and small chunked datasets are a
    # tenth of the size they have in older layouts.
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    creation.set_userblock(SEAL_BYTES)
    creation.set_obj_track_times(False)
    handle = h5py.h5f.create(repr(memory).encode(), h5py.h5f.ACC_TRUNC, creation, access)
    try:
        _write_root(h5py.h5g.open(handle, b"/"), record, written)
    except FsframeError:
        raise
    except (OSError, ValueError, TypeError, RuntimeError, OverflowError, UnicodeError) as error:
        raise StoreError(f"cannot make a run file of this record: {error}") from error
    finally:
        handle.close()
    return memory.getvalue()[SEAL_BYTES:]


def _write_root(root: Any, record: RunRecord, written: _Written) -> None:
    _data(root, record, written)
    stages = _group(root, "stages")
    for path, stage in zip(record.stage_paths(), record.stages, strict=True):
        _stage(stages, path.rpartition("/")[2], stage, written)
    result = _group(root, "result")
    _array(result, "selected", record.selected, written)
    _array(result, "scores", record.scores, written)
    _attribute(result, "digest", result_digest(record.selected, record.scores))
    if record.pair_tests is not None:
        _pair_tests(root, record.pair_tests, written)
    _array(root, "warnings", record.warnings, written)
    _array(root, "environment", (json_text(dict(record.environment), "the environment"),), written)
    special: dict[str, str | int] = {
        "encoding-type": spec.ENCODING_TYPE,
        "encoding-version": spec.ENCODING_VERSION,
        "seed": "" if record.seed is None else str(record.seed),
    }
    _attributes(root, spec.ROOT_ATTRIBUTES, record, special)


def _data(root: Any, record: RunRecord, written: _Written) -> None:
    group = _group(root, "data")
    _array(group, "feature_names", record.data.feature_names, written)
    _array(group, "class_names", record.data.class_names, written)
    _attributes(group, spec.DATA_ATTRIBUTES, record.data)


def _stage(stages: Any, member: str, stage: StageRecord, written: _Written) -> None:
    group = _group(stages, member)
    declared = axes_text(stage)
    whole = stage_items(stage)
    items, packing = compact(whole)
    if declared:
        items["model_columns"] = (declared,)
    if packing:
        items["packing"] = (json_text(packing, f"packing of stage {stage.name}"),)
        # Unpacked arrays count towards the memory of a reader.
        written.n_unpacked += sum(
            2 * items[path].nbytes if how == TRIANGLE else whole[path].nbytes
            for path, how in packing.items()
        )
    _items(group, items, written)
    special = stage_texts(stage) | {"digest": stage.digest()}
    _attributes(group, spec.STAGE_ATTRIBUTES, stage, special)


def _items(group: Any, items: dict[str, Any], written: _Written) -> None:
    """Write datasets by path; the part before a slash is the name of their group."""
    inner: dict[str, Any] = {}
    for path, value in sorted(items.items()):
        folder, slash, name = path.partition("/")
        if slash and folder not in inner:
            inner[folder] = _group(group, folder)
        _array(inner[folder] if slash else group, name if slash else path, value, written)


def _pair_tests(root: Any, record: PairTestRecord, written: _Written) -> None:
    group = _group(root, "pair_tests")
    _items(group, pair_test_items(record.tests), written)
    special: dict[str, str | int] = {
        "seed": json_text(list(record.seed), "seed of the tests of pairs"),
        "n_tested": record.tests.n_tested,
        "n_chosen_from": record.tests.n_chosen_from,
    }
    _attributes(group, spec.PAIR_TEST_ATTRIBUTES, record, special)


def _group(parent: Any, name: str) -> Any:
    creation = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    creation.set_obj_track_times(False)
    return h5py.h5g.create(parent, _member_name(name), gcpl=creation)


def _member_name(name: str) -> bytes:
    encoded = name.encode()
    if not name or "/" in name or "\0" in name or name == "." or len(encoded) > Limits().name_bytes:
        raise StoreError(
            f"cannot store an array named {name[:50]!r}: names are 1 to {Limits().name_bytes} "
            "bytes of UTF-8 without slash and NUL"
        )
    return encoded


def _attributes(
    owner: Any, names: Iterable[str], record: Any, special: Mapping[str, str | int] | None = None
) -> None:
    """Write attributes from the fields of a record, except those given in `special`."""
    given = special or {}
    for name in names:
        _attribute(owner, name, given[name] if name in given else getattr(record, field_name(name)))


def _attribute(owner: Any, name: str, value: str | int | float) -> None:
    if isinstance(value, str):
        encoded = value.encode()
        if len(encoded) > Limits().attribute_bytes or "\0" in value:
            raise StoreError(
                f"cannot store {name!r}: a text of {len(encoded)} bytes; "
                f"{Limits().attribute_bytes} bytes without NUL characters are allowed"
            )
        array = np.array(encoded, dtype=f"S{max(1, len(encoded))}")
    else:
        array = np.array(value, dtype="<f8" if isinstance(value, float) else "<i8")
    kind = _type(array.dtype)
    scalar = h5py.h5s.create(h5py.h5s.SCALAR)
    h5py.h5a.create(owner, name.encode(), kind, scalar).write(array, mtype=kind)


def _array(parent: Any, name: str, value: Any, written: _Written) -> None:
    array = encode_array(value, name)
    space = h5py.h5s.create_simple(array.shape)
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_obj_track_times(False)
    if array.size:
        creation.set_chunk(_chunks(array))
        if array.nbytes >= _COMPRESS_FROM and len(written.sizes) not in written.plain:
            creation.set_shuffle()
            creation.set_deflate(1)
        creation.set_fletcher32()
    written.sizes.append(array.nbytes)
    written.n_texts += array.size if array.dtype.kind == "S" else 0
    kind = _type(array.dtype)
    dataset = h5py.h5d.create(parent, _member_name(name), kind, space, creation)
    if array.size:
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, array, mtype=kind)


def _type(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "S":
        kind = h5py.h5t.C_S1.copy()
        kind.set_size(dtype.itemsize)
        kind.set_strpad(h5py.h5t.STR_NULLPAD)
        kind.set_cset(h5py.h5t.CSET_UTF8)
        return kind
    return h5py.h5t.py_create(dtype, logical=True)


def _chunks(array: NDArray[Any]) -> tuple[int, ...]:
    """Chunks of whole rows, at most 1 MiB, so that the shape alone decides them."""
    chunks = list(array.shape)
    size = array.nbytes
    for axis in range(array.ndim):
        if size <= _CHUNK_BYTES:
            break
        rest = size // chunks[axis]
        chunks[axis] = max(1, _CHUNK_BYTES // rest)
        size = rest * chunks[axis]
    return tuple(chunks)
