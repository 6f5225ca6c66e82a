"""Write a run file: build it in memory, seal it, read it back, then move it into place."""

from __future__ import annotations

import io
import os
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
import h5py
import numpy as np
from numpy.typing import NDArray

from fsframe.atomic import check_destination, check_ending, place_file
from fsframe.errors import FsframeError, StoreError
from fsframe.storage import spec
from fsframe.storage.encoding import (
    TRIANGLE,
    compact,
    encode_array,
    result_digest,
    same_bits,
    stored_json,
)
from fsframe.storage.read import load_run
from fsframe.storage.records import (
    RunRecord,
    StageRecord,
    axes_text,
    pair_test_items,
    stage_items,
    stage_texts,
)
from fsframe.storage.spec import (
    SEAL_BYTES,
    TEXT_BYTES,
    Limits,
    field_name,
    make_seal,
    require,
)

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
    require(not problems, f"cannot write {target}: {'; '.join(problems)}")
    content = run_file_content(record)

    def check(sibling: Path) -> None:
        try:
            difference = first_difference(record, load_run(sibling))
        except StoreError as error:
            raise StoreError(f"{target} was not written: read back, {error}") from error
        require(not difference, f"{target} was not written: read back, it differs in {difference}")

    return place_file(target, content, overwrite=overwrite, check=check)


def first_difference(a: RunRecord, b: RunRecord) -> str:
    """The path in a file of the first part in which two records differ; empty if they are equal.

    Everything that files hold is compared, times too; arrays bit by bit.
    """
    mine, theirs = (
        {(group, name): value for group, name, value in _contents(record, packed=False).entries}
        for record in (a, b)
    )
    return next(("/".join(k) for k in mine | theirs if not _same(mine.get(k), theirs.get(k))), "")


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and same_bits(a, b)
    return type(a) is type(b) and bool(a == b)


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
    try:
        contents = _contents(record)
        image = _image(contents.entries)
        plain = _left_plain(contents, len(image))
        return _image(contents.entries, plain) if plain else image
    except FsframeError:
        raise
    except (OSError, ValueError, TypeError, RuntimeError, OverflowError, UnicodeError) as error:
        raise StoreError(f"cannot make a run file of this record: {error}") from error


@attrs.define
class _Contents:
    """What a run file holds, in the order in which it is written.

    An entry is a group, the name of a member, and its value: an array for a dataset, a text or a
    number for an attribute, None for the group itself. `n_unpacked` is the number of bytes that
    readers need for arrays that are packed.
    """

    entries: list[tuple[str, str, Any]] = attrs.field(factory=list)
    n_unpacked: int = 0

    def datasets(self, group: str, items: Mapping[str, Any]) -> None:
        """Add datasets by path; the part before a slash is the name of a group."""
        for path, value in items.items():
            folder, slash, inner = path.partition("/")
            owner, name = (f"{group}/{folder}", inner) if slash else (group, path)
            self.entries.append((owner, name, encode_array(value, name)))

    def attributes(
        self, group: str, names: Iterable[str], record: Any, special: Mapping[str, str | int]
    ) -> None:
        """Add attributes from the fields of a record, except those given in `special`."""
        for name in names:
            value = special[name] if name in special else getattr(record, field_name(name))
            self.entries.append((group, name, value))


def _contents(record: RunRecord, *, packed: bool = True) -> _Contents:
    """What the file of a record holds; without `packed`, every array in full."""
    contents = _Contents()
    names = {name: getattr(record.data, name) for name in ("feature_names", "class_names")}
    contents.datasets("/data", names)
    contents.attributes("/data", spec.DATA_ATTRIBUTES, record.data, {})
    contents.entries.append(("/stages", "", None))
    for path, stage in zip(record.stage_paths(), record.stages, strict=True):
        _add_stage(contents, path, stage, packed)
    contents.datasets("/result", {"selected": record.selected, "scores": record.scores})
    digest = result_digest(record.selected, record.scores)
    contents.attributes("/result", spec.RESULT_ATTRIBUTES, record, {"digest": digest})
    tested = record.pair_tests
    if tested is not None:
        contents.datasets("/pair_tests", dict(sorted(pair_test_items(tested.tests).items())))
        special: dict[str, str | int] = {
            "seed": stored_json(list(tested.seed), "seed of the tests of pairs"),
            "n_tested": tested.tests.n_tested,
            "n_chosen_from": tested.tests.n_chosen_from,
        }
        contents.attributes("/pair_tests", spec.PAIR_TEST_ATTRIBUTES, tested, special)
    environment = stored_json(dict(record.environment), "the environment")
    contents.datasets("", {"warnings": record.warnings, "environment": (environment,)})
    special = {
        "encoding-type": spec.ENCODING_TYPE,
        "encoding-version": spec.ENCODING_VERSION,
        "seed": "" if record.seed is None else str(record.seed),
    }
    contents.attributes("", spec.ROOT_ATTRIBUTES, record, special)
    return contents


def _add_stage(contents: _Contents, path: str, stage: StageRecord, packed: bool) -> None:
    unpacked = stage_items(stage)
    items, packing = compact(unpacked) if packed else (unpacked, {})
    declared = axes_text(stage)
    if declared:
        items["model_columns"] = (declared,)
    if packing:
        items["packing"] = (stored_json(packing, f"packing of stage {stage.name}"),)
        # Unpacked arrays count towards the memory of a reader.
        contents.n_unpacked += sum(
            2 * items[name].nbytes if how == TRIANGLE else unpacked[name].nbytes
            for name, how in packing.items()
        )
    contents.datasets(path, dict(sorted(items.items())))
    special = stage_texts(stage) | {"digest": stage.digest()}
    contents.attributes(path, spec.STAGE_ATTRIBUTES, stage, special)


def _left_plain(contents: _Contents, length: int) -> frozenset[int]:
    """Places of arrays, few and small, that stay uncompressed: as long as the image has `length`
    bytes, readers would not take its arrays. Empty if they do."""
    values = (value for *_, value in contents.entries)
    arrays = {k: value for k, value in enumerate(values) if isinstance(value, np.ndarray)}
    n_texts = sum(array.size for array in arrays.values() if array.dtype.kind == "S")
    sizes, limits = {k: array.nbytes for k, array in arrays.items()}, Limits()
    declared = sum(sizes.values()) + TEXT_BYTES * n_texts + contents.n_unpacked
    missing = -(-(declared - limits.free_bytes) // limits.total_expansion) - length
    if missing <= 0:
        return frozenset()
    order = sorted(sizes, key=sizes.__getitem__)
    enough = [place for place in order if sizes[place] >= missing]
    if enough:
        return frozenset(enough[:1])
    chosen: set[int] = set()
    while order and sum(sizes[k] for k in chosen) < missing:
        chosen.add(order.pop())
    return frozenset(chosen)


def _image(entries: Iterable[tuple[str, str, Any]], plain: Container[int] = ()) -> bytes:
    """The HDF5 image of the entries; the arrays at the places `plain` stay uncompressed."""
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
        groups = {"": h5py.h5g.open(handle, b"/")}
        for place, (path, name, value) in enumerate(entries):
            group = _group(groups, path)
            if isinstance(value, np.ndarray):
                _array(group, name, value, compressed=place not in plain)
            elif value is not None:
                _attribute(group, name, value)
    finally:
        handle.close()
    return memory.getvalue()[SEAL_BYTES:]


def _group(groups: dict[str, Any], path: str) -> Any:
    """The group at a path, made if it is not there."""
    if path not in groups:
        parent, _, name = path.rpartition("/")
        creation = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
        creation.set_obj_track_times(False)
        owner = _group(groups, parent)
        groups[path] = h5py.h5g.create(owner, _member_name(name), gcpl=creation)
    return groups[path]


def _member_name(name: str) -> bytes:
    encoded = name.encode()
    if not name or "/" in name or "\0" in name or name == "." or len(encoded) > Limits().name_bytes:
        raise StoreError(
            f"cannot store an array named {name[:50]!r}: names are 1 to {Limits().name_bytes} "
            "bytes of UTF-8 without slash and NUL"
        )
    return encoded


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


def _array(parent: Any, name: str, array: NDArray[Any], *, compressed: bool) -> None:
    space = h5py.h5s.create_simple(array.shape)
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_obj_track_times(False)
    if array.size:
        creation.set_chunk(_chunks(array))
        if array.nbytes >= _COMPRESS_FROM and compressed:
            creation.set_shuffle()
            creation.set_deflate(1)
        creation.set_fletcher32()
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
