"""Read and verify run files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import attrs
from numpy.typing import NDArray

from fsframe.errors import StoreError
from fsframe.method.pair_tests import PairTests
from fsframe.method.selection import Selection
from fsframe.storage import spec
from fsframe.storage.encoding import (
    FREE,
    TRIANGLE,
    is_packable,
    json_value,
    selection_of,
    square_of,
)
from fsframe.storage.guarded_hdf5 import GuardedGroup, open_image
from fsframe.storage.records import (
    DataRecord,
    PairTestRecord,
    RunRecord,
    StageRecord,
    last_selection,
)
from fsframe.storage.spec import Limits, check_seal, require
from fsframe.system import open_for_reading
from fsframe.table.files.hdf5 import no_hdf5_plugins
from fsframe.text import did_you_mean, printable

_STAGE_NAME = re.compile(r"([0-9]{2,3})-(.+)", re.DOTALL)


def load_run(path: str | os.PathLike[str], *, limits: Limits | None = None) -> RunRecord:
    """Read a run file after verifying that no byte of it has changed.

    Parameters
    ----------
    path : path
        The file. It may be untrusted: only what docs/file-format.md describes is read, within
        `limits`; no code is loaded and no other file opened. The plugins that made it need not be
        installed.
    limits : Limits, optional
        By default those of the format.

    Returns
    -------
    RunRecord

    Raises
    ------
    StoreError
        If there is no such file, it is not a run file, has a later version, is damaged, or violates
        the format.

    Notes
    -----
    The bytes that are checked are the bytes that are parsed: the file is read once, into memory.
    """
    bounds = limits or Limits()
    where = printable(os.fspath(path))
    return load_run_image(_content(Path(path), where, bounds), where, limits=bounds)


def load_run_image(content: bytes, where: str, *, limits: Limits | None = None) -> RunRecord:
    """The record in the bytes of a whole run file, called `where` in messages; as `load_run`."""
    bounds = limits or Limits()
    version = check_seal(content, where)
    try:
        return _record(content, bounds, version)
    except StoreError as error:
        raise StoreError(f"{where} is not a valid run file: {error}") from error
    except (ValueError, TypeError, IndexError, RecursionError, MemoryError) as error:
        # Raised by the classes of a record, for example for asymmetric pair weights.
        raise StoreError(f"{where} is not a valid run file: {printable(str(error))}") from error


def _content(path: Path, where: str, limits: Limits) -> bytes:
    try:
        # Opening a named pipe would block otherwise.
        with open(path, "rb", opener=lambda name, _: open_for_reading(name)) as file:
            status = os.fstat(file.fileno())
            size, most = status.st_size, limits.file_bytes
            regular = stat.S_ISREG(status.st_mode)
            require(regular, f"{where} is not a file; name a run file (NAME.h5)")
            require(size <= most, f"{where} is {size} bytes long; a run file has at most {most}")
            # Bounded, since a buffer of that size is allocated.
            content: bytes = file.read(size + 1)
            problem = f"{where} is being written by another program; read it when that is done"
            require(len(content) <= size, problem)
            return content
    except FileNotFoundError:
        raise StoreError(f"there is no run file {where}{_neighbours(path)}") from None
    except IsADirectoryError:
        raise StoreError(f"{where} is a folder; name a run file (NAME.h5)") from None
    except OSError as error:
        raise StoreError(f"cannot read {where}: {error.strerror or error}") from error


def _neighbours(path: Path) -> str:
    try:
        names = [file.name for file in path.parent.iterdir() if file.suffix == ".h5"]
    except OSError:
        return f": there is no folder {printable(str(path.parent))}"
    return did_you_mean(path.name, map(printable, names))


def _record(content: bytes, limits: Limits, version: int) -> RunRecord:
    with no_hdf5_plugins():
        handle, root = open_image(content, limits)
        try:
            record, stored = record_and_digests(root, limits, version)
        finally:
            handle.close()
    problems = record.problems()
    require(not problems, "; ".join(problems))
    computed = record.digests()
    if computed != stored:
        changed = min(path for path in computed if computed[path] != stored.get(path))
        raise StoreError(f"{printable(changed)} does not have the digest it declares")
    return record


def record_and_digests(
    root: GuardedGroup, limits: Limits, version: int
) -> tuple[RunRecord, dict[str, str]]:
    """The record of a file of that version, and the digests it declares, by path.

    Versions differ only in what `spec.SINCE` lists; one that differs in more needs its own reader.
    """
    top = _attributes(root, spec.ROOT_ATTRIBUTES, version)
    _check_root(top, version)
    optional = [name for name in spec.ROOT_OPTIONAL if spec.is_known(name, version)]
    names = root.check_members(spec.ROOT_MEMBERS, optional)
    data = _data(root.group("data"), limits, version)
    stages, stored = _stages(root.group("stages"), limits, version)
    result = root.group("result")
    stored["/result"] = result.attributes(spec.RESULT_ATTRIBUTES)["digest"]
    result.check_members(spec.RESULT_ARRAYS)
    arrays = {name: result.array(name, kind) for name, kind in spec.RESULT_ARRAYS.items()}
    tests = None
    if "pair_tests" in names:
        tests, stored["/pair_tests"] = _pair_tests(root.group("pair_tests"), version)
    record = RunRecord(
        **_fields(top, {"encoding-type", "encoding-version", "seed"}),
        pair_tests=tests,
        seed=int(top["seed"]) if top["seed"] else None,
        data=data,
        stages=stages,
        warnings=root.texts("warnings"),
        environment=_json(root, "environment", dict),
        **arrays,
    )
    return record, stored


def _attributes(group: GuardedGroup, kinds: Mapping[str, type], version: int) -> dict[str, Any]:
    known = {name: kind for name, kind in kinds.items() if spec.is_known(name, version)}
    return group.attributes(known)


def _fields(attributes: Mapping[str, Any], others: Collection[str]) -> dict[str, Any]:
    """The fields of a record with the values of attributes, without the `others`."""
    return {spec.field_name(n): value for n, value in attributes.items() if n not in others}


def _check_root(top: dict[str, Any], version: int) -> None:
    kind, status, seed = top["encoding-type"], top["status"], top["seed"]
    require(kind == spec.ENCODING_TYPE, f"encoding-type is {printable(kind)!r}")
    declared = top["encoding-version"]
    require(declared == version, f"encoding-version is {declared}, the seal says otherwise")
    done = status == spec.STATUS
    require(done, f"status is {printable(status)!r}: the run did not finish")
    is_number = not seed or re.fullmatch(r"[0-9]{1,1000}", seed)
    require(is_number, f"seed {printable(seed, 40)!r} is not a whole number")


def _data(group: GuardedGroup, limits: Limits, version: int) -> DataRecord:
    attributes = _attributes(group, spec.DATA_ATTRIBUTES, version)
    group.check_members(spec.DATA_MEMBERS)
    texts: dict[str, Any] = {name: group.texts(name) for name in spec.DATA_MEMBERS}
    for name, values in texts.items():
        short = all(len(value.encode()) <= limits.name_bytes for value in values)
        require(short, f"/data/{name} holds a name of more than {limits.name_bytes} bytes")
    sizes = (attributes["n_samples"], attributes["n_features"])
    require(min(sizes) >= 0, "/data declares a negative size")
    return DataRecord(**_fields(attributes, ()), **texts)


def _stages(
    group: GuardedGroup, limits: Limits, version: int
) -> tuple[list[StageRecord], dict[str, str]]:
    group.attributes({})
    names, most = group.members(), limits.stages
    require(len(names) <= most, f"/stages has {len(names)} stages; at most {most} are allowed")
    # Three digits from stage 100 on: sort by number, not by text.
    ordered = sorted(names, key=lambda name: (len(name.partition("-")[0]), name))
    stages: list[StageRecord] = []
    stored: dict[str, str] = {}
    for place, name in enumerate(ordered):
        match = _STAGE_NAME.fullmatch(name)
        if match is None or match[1] != f"{place:02d}":
            raise StoreError(f"/stages has a member {printable(name)!r}, not {place:02d}-NAME")
        inner = group.group(name)
        stage, stored[f"/stages/{name}"] = _stage(inner, version, last_selection(stages))
        named = stage.name.rpartition("/")[2] == match[2]
        require(named, f"{printable(inner.path)} says it is {printable(stage.name)!r}")
        stages.append(stage)
    return stages, stored


def _stage(group: GuardedGroup, version: int, before: Selection | None) -> tuple[StageRecord, str]:
    top = _attributes(group, spec.STAGE_ATTRIBUTES, version)
    members = [*spec.STAGE_ARRAYS, *spec.STAGE_GROUPS, *spec.STAGE_TEXTS]
    known = [name for name in members if spec.is_known(name, version)]
    names = group.check_members(spec.STAGE_REQUIRED, known)
    arrays = _stage_arrays(group, names)
    if "packing" in names:
        _unpack(group, arrays)
    folders = {path.partition("/")[0] for path in arrays}
    warnings = group.texts("warnings")
    selection = None
    if "selected" in arrays:
        require("scores" in arrays, f"{group.path} has selected columns but no scores")
        axes = _json(group, "model_columns", dict) if "model_columns" in names else None
        try:
            selection = selection_of(
                arrays, warnings=warnings, carried=top["carried"].split(), model_columns=axes
            )
        except StoreError as error:
            raise StoreError(f"{group.path}: {error}") from None
        if "donors" in selection.carried:
            if "donors" in folders or before is None or before.donors is None:
                raise StoreError(
                    f"{group.path} says that its donors come from an earlier stage, which has "
                    "none, or stores its own"
                )
            selection = attrs.evolve(selection, donors=before.donors)
    elif folders - {"features_in", *FREE} or top["carried"] or "model_columns" in names:
        raise StoreError(f"{group.path} has scores, weights or axes but no selected columns")
    stage = StageRecord(
        **_fields(top, {"carried", "digest", "seed"}),
        params=_json(group, "params", dict),
        features_in=arrays["features_in"],
        selection=selection,
        model=_members(arrays, "model"),
        tables=_members(arrays, "tables"),
        warnings=warnings,
        seed=_seed(top["seed"], group.path),
    )
    return stage, top["digest"]


def _stage_arrays(group: GuardedGroup, names: Collection[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a stage that has members of these names, by path."""
    arrays = {n: group.array(n, kind) for n, kind in spec.STAGE_ARRAYS.items() if n in names}
    for folder in FREE:
        if folder in names:
            free = _free_arrays(group, folder)
            arrays |= {f"{folder}/{name}": array for name, array in free.items()}
    for folder, kinds in spec.STAGE_FOLDERS.items():
        if folder in names:
            inner = group.group(folder)
            inner.attributes({})
            # Pair weights have one of two forms.
            required = ("columns",) if folder == "pair_weights" else kinds
            members = inner.check_members(required, kinds)
            arrays |= {f"{folder}/{name}": inner.array(name, kinds[name]) for name in members}
    return arrays


def _members(arrays: Mapping[str, NDArray[Any]], folder: str) -> dict[str, NDArray[Any]]:
    prefix = f"{folder}/"
    return {path.removeprefix(prefix): a for path, a in arrays.items() if path.startswith(prefix)}


def _free_arrays(group: GuardedGroup, folder: str) -> dict[str, NDArray[Any]]:
    inner = group.group(folder)
    inner.attributes({})
    return {member: inner.decoded(member) for member in inner.members()}


def _unpack(group: GuardedGroup, arrays: dict[str, NDArray[Any]]) -> None:
    """Add to `arrays` those that `packing` describes.

    Each counts as if it were written in full, since its digest is computed: a short text must not
    cause a hundred thousand such computations.
    """
    packing = _json(group, "packing", dict)
    where = f"{group.path}/packing"
    for path, how in packing.items():
        shown = repr(printable(path, 80))
        packable = is_packable(path) and path.partition("/")[2] and isinstance(how, str)
        require(packable, f"{where} names {shown}, which cannot be packed")
        fits = (how == TRIANGLE) == (path in arrays)
        require(fits, f"{where} does not fit what is at {shown}")
        if how == TRIANGLE:
            group.count_memory(2 * arrays[path].nbytes, where)
            arrays[path] = square_of(arrays[path])
    for path, how in packing.items():
        if how == TRIANGLE:
            continue
        is_unpacked = is_packable(how) and how in arrays and packing.get(how, TRIANGLE) == TRIANGLE
        problem = f"{where} refers {printable(path, 80)!r} to an array that does not exist"
        require(is_unpacked, problem)
        group.count_memory(arrays[how].nbytes, where)
        arrays[path] = arrays[how]


def _pair_tests(group: GuardedGroup, version: int) -> tuple[PairTestRecord, str]:
    top = _attributes(group, spec.PAIR_TEST_ATTRIBUTES, version)
    names = group.check_members(spec.PAIR_TEST_ARRAYS, spec.PAIR_TEST_GROUPS)
    arrays = {name: group.array(name, kind) for name, kind in spec.PAIR_TEST_ARRAYS.items()}
    tests = PairTestRecord(
        **_fields(top, {"digest", "n_chosen_from", "n_tested", "seed"}),
        seed=_seed(top["seed"], group.path),
        tests=PairTests(
            **arrays,
            n_tested=top["n_tested"],
            n_chosen_from=top["n_chosen_from"],
            tables=_free_arrays(group, "tables") if "tables" in names else {},
        ),
    )
    return tests, top["digest"]


def _seed(text: str, where: str) -> list[int]:
    key = _parsed(text, f"{where} seed", list)
    are_numbers = all(type(part) is int and part >= 0 for part in key)
    require(are_numbers, f"{where} seed is not a list of whole numbers")
    return key  # type: ignore[no-any-return]


def _json(group: GuardedGroup, name: str, kind: type) -> Any:
    texts = group.texts(name)
    require(len(texts) == 1, f"{group.path}/{name} holds {len(texts)} texts, not one")
    return _parsed(texts[0], f"{group.path}/{name}", kind)


def _parsed(text: str, where: str, kind: type) -> Any:
    short = len(text) <= spec.JSON_CHARACTERS
    require(short, f"{where} is JSON of {len(text)} characters, too long")
    try:
        value = json_value(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{where} is not JSON: {error}") from None
    word = "object" if kind is dict else "list"
    require(isinstance(value, kind), f"{where} is not a JSON {word}")
    return value
