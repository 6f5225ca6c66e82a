"""A study in one file: all its runs, sealed as they were written, and its plan."""

from __future__ import annotations

import io
import itertools
import json
import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from fsframe.atomic import as_store_errors, place_file
from fsframe.errors import StoreError
from fsframe.storage.read import load_run_image
from fsframe.storage.records import RunRecord
from fsframe.storage.spec import require
from fsframe.text import are_texts, printable

STUDY_FILE = "study.zip"
"""Name of the file of a finished study in its folder."""

_FORMAT = "fsframe-study"
_VERSION = 1
_PLAN = "study.json"
_SOURCE = "study.toml"
_MOST_CELLS = 100_000
_MOST_PLAN = 16_000_000
_MOST_CELL = 1 << 30
# Zip keeps the time of each member; a fixed one makes equal studies equal files.
_EPOCH = (1980, 1, 1, 0, 0, 0)


@attrs.frozen
class StudyCell:
    """Key of a run in a study: the numbers of its table, chain and seed.

    Parameters
    ----------
    table, seed : int
        Places in the study's lists, from 0.
    chain : int
        Index among the chains, followed by the classifiers on all features.
    """

    table: int
    chain: int
    seed: int

    @property
    def member(self) -> str:
        """Its name in the file."""
        return f"cells/{self.table:04d}-{self.chain:04d}-{self.seed:04d}.h5"


@attrs.frozen(kw_only=True, eq=False)
class StudyRecord:
    """A finished study.

    Parameters
    ----------
    name : str
    tables, chains, beside, measures : tuple of str
        Names of the tables, chains with their classifiers, classifiers evaluated on all features,
        and measures, the first of which is used for comparisons.
    seeds : tuple of int
    rope : float
    sha256 : tuple of str
        Digests of the tables.
    runs : mapping of StudyCell to RunRecord
        A classifier that does not accept a table with all its features has no run.
    source : str
        The text that the study was read from.
    """

    name: str
    tables: tuple[str, ...]
    chains: tuple[str, ...]
    beside: tuple[str, ...]
    measures: tuple[str, ...]
    seeds: tuple[int, ...]
    rope: float
    sha256: tuple[str, ...]
    runs: Mapping[StudyCell, RunRecord]
    source: str = ""

    def asked(self) -> dict[str, Any]:
        """The request of the study, as plain values."""
        asked = attrs.asdict(self, recurse=False)
        del asked["runs"], asked["source"]
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asked.items()}

    def first_runs(self) -> list[list[RunRecord]]:
        """The runs of the chains with the first seed, for each table."""
        chains = range(len(self.chains))
        tables = range(len(self.tables))
        return [[self.runs[StudyCell(table, chain, 0)] for chain in chains] for table in tables]

    def named(self, cell: StudyCell) -> tuple[str, str]:
        """The names of a cell's table and chain."""
        return self.tables[cell.table], (*self.chains, *self.beside)[cell.chain]

    def in_order(self) -> list[tuple[StudyCell, RunRecord]]:
        """The runs, by table, chain and seed."""
        return sorted(self.runs.items(), key=lambda item: attrs.astuple(item[0]))


def write_study(
    path: str | os.PathLike[str],
    asked: Mapping[str, Any],
    runs: Mapping[StudyCell, bytes],
    source: str,
    *,
    overwrite: bool,
) -> Path:
    """Write a study to a file and return its path.

    Parameters
    ----------
    path : path
    asked : mapping
        As `StudyRecord.asked` gives it.
    runs : mapping of StudyCell to bytes
        Whole run files.
    source : str
        The text that the study was read from.

    Raises
    ------
    StoreError
        If it cannot be written, or does not read back.
    """
    memory = io.BytesIO()
    plan = {"format": _FORMAT, "version": _VERSION, **asked}
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, _PLAN, json.dumps(plan, indent=1, allow_nan=False).encode())
        _add(archive, _SOURCE, source.encode())
        for cell in sorted(runs, key=attrs.astuple):
            _add(archive, cell.member, runs[cell])
    content = memory.getvalue()
    _read(content, printable(os.fspath(path)))
    return place_file(path, content, overwrite=overwrite)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = 0o644 << 16
    archive.writestr(info, content)


def load_study(path: str | os.PathLike[str]) -> StudyRecord:
    """The study in a file, with every run verified as by `load_run`.

    Raises
    ------
    StoreError
        If there is no such file, it is not a study, or a run in it is invalid.
    """
    where = printable(os.fspath(path))
    # Reading a named pipe would block.
    regular = Path(path).is_file() or not Path(path).exists()
    require(regular, f"{where} is not a file; name a study (NAME.zip)")
    with as_store_errors(f"cannot read {where}"):
        content = Path(path).read_bytes()
    return _read(content, where)


def _read(content: bytes, where: str) -> StudyRecord:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _of_archive(archive, where)
    except (
        zipfile.BadZipFile,
        KeyError,
        ValueError,
        NotImplementedError,
        OSError,
        RecursionError,
    ) as error:
        raise StoreError(f"{where} is not a valid study: {printable(str(error))}") from error


def _of_archive(archive: zipfile.ZipFile, where: str) -> StudyRecord:
    members = {info.filename: info for info in archive.infolist()}
    whole = len(members) <= _MOST_CELLS + 2 and _PLAN in members and _SOURCE in members
    require(whole, f"{where} is not a study: it lacks {_PLAN} or holds too much")
    plan = json.loads(_content(archive, members[_PLAN], _MOST_PLAN, where))
    is_study = isinstance(plan, dict) and plan.get("format") == _FORMAT
    require(is_study, f"{where} is not a study of fsframe")
    version = plan.get("version")
    said = f"{where} has version {version!r}; this fsframe reads version {_VERSION}"
    require(version == _VERSION, said)
    lists = {name: _texts(plan, name, where) for name in ("tables", "chains", "beside", "measures")}
    seeds, rope = plan.get("seeds"), plan.get("rope")
    whole = isinstance(seeds, list) and all(type(s) is int and s >= 0 for s in seeds)
    require(whole, f"{where}: its seeds are not whole numbers")
    known = isinstance(rope, float) and 0 <= rope < 1e300 and lists["measures"]
    require(known, f"{where}: it has no measure, or no region of equivalence")
    n_chosen, runs = len(lists["chains"]), {}
    sizes = (len(lists["tables"]), n_chosen + len(lists["beside"]), len(seeds))
    require(math.prod(sizes) <= _MOST_CELLS, f"{where} declares more than {_MOST_CELLS} runs")
    for cell in itertools.starmap(StudyCell, itertools.product(*map(range, sizes))):
        info = members.pop(cell.member, None)
        present_or_optional = info is not None or cell.chain >= n_chosen
        require(present_or_optional, f"{where} lacks the run {cell.member}")
        if info is not None:
            image = _content(archive, info, _MOST_CELL, where)
            runs[cell] = load_run_image(image, f"{where}/{cell.member}")
    strange = sorted(set(members) - {_PLAN, _SOURCE})
    if strange:
        raise StoreError(f"{where} holds {printable(strange[0])}, which is not part of a study")
    return StudyRecord(
        name=str(plan.get("name", "")),
        **lists,
        seeds=tuple(seeds),
        rope=rope,
        sha256=_texts(plan, "sha256", where),
        runs=runs,
        source=_content(archive, members[_SOURCE], _MOST_PLAN, where).decode(),
    )


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int, where: str) -> bytes:
    # Uncompressed only: a small file cannot expand.
    plain = info.compress_type == zipfile.ZIP_STORED and info.file_size <= most
    require(plain, f"{where}: {printable(info.filename)} is compressed or too large")
    return archive.read(info)


def _texts(plan: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    texts: Any = plan.get(name)
    require(are_texts(texts), f"{where}: {name} is not a list of texts")
    return tuple(texts)
