"""Read tables in parts, and keep beside each table the facts from one pass over it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.kernels import in_threads
from fsframe.system import available_processors
from fsframe.table.arrays import LARGEST, whole_weights
from fsframe.table.assembly import read_label
from fsframe.table.column_kinds import ColumnKind, coded_note, coded_together
from fsframe.table.columns import check_columns, check_names, column_warnings
from fsframe.table.dataset import Dataset
from fsframe.table.files.cells import Missing
from fsframe.table.frames import cells_of, group_values, reading_errors
from fsframe.table.guesses.doubts import check_label_in_parts
from fsframe.table.kept_folders import (
    kept_arrays,
    kept_folder,
    made_whole,
    temporary_folder,
    write_index,
)
from fsframe.table.reader import IN_BLOCKS, Form, file_kind, table_name
from fsframe.table.reading_options import not_in_parts
from fsframe.table.roles import Layout, spelled_out
from fsframe.table.row_readers import (
    FrameRows,
    Hdf5Rows,
    NotAllBytes,
    RowReader,
    files_of,
    frame_rows,
    stamp_of,
)
from fsframe.table.spelling.text_file import check_expansion, memory_bound, shown
from fsframe.table.table_columns import cells_of_array
from fsframe.text import some_of

if TYPE_CHECKING:
    from fsframe.table.columns_seen import ColumnsSeen

CACHE_FOLDER = ".fsframe-parts"
"""The name of the folder beside a table; it may be removed."""

_OVERHEAD = 1 << 14
"""Upper bound of the bytes of headers in a file of facts."""

BLOCK_BYTES = 1 << 26
"""Bytes of a block of rows, within a factor of √2; at least one row is read."""

_ROWS_AT_A_TIME, _BYTES_AT_A_TIME = 512, 1 << 22

_TRUE_OF_PARTS = (("decimal", "."), ("in_memory", False))


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TableParts:
    """The features of a table in parts; a `fsframe.table.dataset.RowSource`.

    Parameters
    ----------
    reader : RowReader
    names : tuple of str
        Columns of the features.
    n_samples : int
    dtype : numpy dtype
        uint8 if all features are, else float64.
    facts : ColumnsSeen
        Statistics of the features.
    rows_sha256 : str
        Digest of all values, row after row.
    cache_folder : Path
        A folder for cached data derived from the table.
    most_bytes : int
        Limit on what may be loaded into memory as float64.
    small : bool
        Whether the features are declared as bytes.
    owner : object
        Keeps a temporary `cache_folder` alive.
    """

    reader: RowReader
    names: tuple[str, ...]
    n_samples: int
    dtype: np.dtype[Any]
    facts: ColumnsSeen
    rows_sha256: str
    cache_folder: Path
    most_bytes: int
    small: bool
    owner: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        """Samples, features."""
        return self.n_samples, len(self.names)

    def blocks(self, rows: int | None = None, most: int | None = None) -> Iterator[NDArray[Any]]:
        """All rows in order, (at most `rows`, n_features) at a time, as they are read.

        In C or Fortran order.

        Parameters
        ----------
        rows : int, optional
            Rows of a block, if other than the usual number.
        most : int, optional
            Most rows read at a time if rows are stored in groups, as in Parquet; rounded down to a
            power of two, as most groups have, since reading part of a group decodes all of it.

        Raises
        ------
        DataError
            If the table has changed meanwhile.
        """
        yield from _counted(self.reader, self.names, self.dtype, self.n_samples, rows, most)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Columns ``start … stop-1``, whole, as (n_samples, stop-start)."""
        names = self.names[start:stop]
        values = np.empty((self.n_samples, len(names)), dtype=self.dtype)
        if not names:
            return values
        at = 0
        for block in _counted(self.reader, names, self.dtype, self.n_samples):
            values[at : at + len(block)] = block
            at += len(block)
        return values

    def take(self, columns: NDArray[np.intp]) -> TableParts:
        """Only these of the features, in this order."""
        names = tuple(self.names[c] for c in columns)
        digest = hashlib.sha256(json.dumps([self.rows_sha256, *names]).encode()).hexdigest()
        return attrs.evolve(self, names=names, facts=self.facts.take(columns), rows_sha256=digest)

    def afresh(self) -> TableParts:
        """The table with facts from a new pass and an empty folder, so that nothing stored is used.

        The folder is temporary, and next to the kept one. Only for tables with all their columns.
        """
        parent = self.cache_folder.parent if self.owner is None else None
        found = _found_in_pass(self.reader, self.names, self.small)
        folder, owner = temporary_folder(parent)
        return attrs.evolve(self, **_as_fields(found), cache_folder=folder, owner=owner)


def _usual_rows(row_bytes: int) -> int:
    """Number of rows read at a time: the power of two that comes nearest to `BLOCK_BYTES`."""
    return 1 << max(0, round(math.log2(BLOCK_BYTES / max(1, row_bytes))))


def _counted(
    reader: RowReader, names: Sequence[str], dtype: Any, n_samples: int, rows: int | None = None,
    most: int | None = None,
) -> Iterator[NDArray[Any]]:  # fmt: skip
    """Blocks of exactly `rows` rows, except the last, however the parts are divided."""
    reader.check()
    rows = rows or _usual_rows(np.dtype(dtype).itemsize * len(names))
    left, held, kept = n_samples, np.empty((0, len(names)), dtype), 0
    step = 1 << most.bit_length() - 1 if most and reader.in_groups else rows
    for block in reader.blocks(names, step, dtype):
        left -= len(block)
        if left < 0:
            break
        at = 0
        if len(block) == rows and not kept:
            yield block
            at = rows
        while at < len(block):
            if not kept:
                held = np.empty_like(block, shape=(min(rows, left + len(block) - at), len(names)))
            taken = min(len(held) - kept, len(block) - at)
            held[kept : kept + taken] = block[at : at + taken]
            at, kept = at + taken, kept + taken
            if kept == len(held):
                yield held
                held, kept = np.empty((0, len(names)), dtype), 0
        # Free it before the next one is read.
        del block
    if left or kept:
        raise DataError(f"{reader.what} was changed while it was in use; start again")


def read_parts(given: Any, form: Form, roles: Mapping[str, Any], task: str | None) -> Dataset:
    """The Dataset of a table in parts, read in one pass.

    Parameters
    ----------
    given : str, path, list of paths, polars.LazyFrame, pyarrow dataset or dask frame
    form : Form
        Only `x`, `y` and `names` are supported, and `na` for HDF5 files.
    roles : mapping of str to argument
        The arguments of `fsframe.read` that concern columns. With weights, each row is repeated as
        often as its weight says.
    task : str, optional
        As in `fsframe.read`.

    Raises
    ------
    DataError
        If the parts do not make one table, or their content cannot be used.
    RequestError
        If an option is given that tables in parts do not support.
    """
    instead = not_in_parts()
    given_too = {key for key, value in roles.items() if value}
    given_too |= {key for key, said in form.said().items() if (key, said) not in _TRUE_OF_PARTS}
    wrong = [f"{key}: {instead[key]}" for key in sorted(given_too & instead.keys())]
    if wrong:
        raise RequestError("a table in parts does not support " + "; ".join(wrong))
    paths = files_of(given) if isinstance(given, (str, os.PathLike, list, tuple)) else []
    reader, cache = _reader(given, paths, form)
    y, label = form.y, roles["label"]
    everything = reader.names
    what = reader.what
    n = len(everything)
    own_label = isinstance(reader, Hdf5Rows) and (label is None or label == y.strip("/"))
    wanted = {role: roles[role] for role in ("drop", "groups", "weight", "keep", "categorical")}
    wanted["label"] = None if own_label else label
    wanted = spelled_out(wanted, everything)
    asked = check_columns(everything, n, what, wanted, label_among=0 if own_label else n)
    layout = Layout.of(asked, n, wanted)
    columns, place = layout.features, layout.label
    check_names(everything, columns, paths[0] if paths else Path(what))
    features = tuple(everything[k] for k in columns)
    if not features:
        raise DataError(f"{what} has no feature besides the label")
    mask = np.array(layout.categorical)
    names = everything
    if place is None:
        assert isinstance(reader, Hdf5Rows)
        place, names = n, (*everything, y.strip("/").rpartition("/")[2])
        cells = cells_of_array(reader.label())
    else:
        cells = _column(reader, names[place], cells_of)
        if label is None and task != "regression":
            free_names = [name for k, name in enumerate(everything) if k not in asked["drop"]]
            check_label_in_parts(free_names, names[place], cells, what)
    label_name = names[place]
    table = attrs.evolve(reader, names=names, own_label=n if own_label else None)
    guessed = label is None and not own_label
    label_read = read_label(table, place, label_name, cells, task, guessed=guessed)
    labels = label_read.values
    kinds, notes, small = _kinds(reader, features, mask)
    of_rows = layout.of_rows(
        lambda place: (everything[place], _column(reader, everything[place], group_values))
    )
    counted = reader
    weight_name = of_rows.pop("weight_name", "")
    if layout.weight is not None:
        weights = whole_weights(of_rows.pop("weights"), len(labels), weight_name)
        counted = attrs.evolve(reader, weights=weights)
        labels = np.repeat(labels, weights)
        if layout.groups is not None:
            of_rows["groups"] = np.repeat(of_rows["groups"], weights)
    source = _one_pass(counted, len(labels), features, small, cache, notes)
    data = Dataset.from_arrays(
        source,
        labels,
        features,
        categorical=mask,
        name=table_name(Path(what)) if paths else "data",
        label_name=label_name,
        task=label_read.task,
        kinds=kinds,
        keep=layout.keep,
        warnings=(*label_read.notes, *notes, *_warnings(source)),
        **of_rows,
    )
    return attrs.evolve(data, weight_name=weight_name)


def rows_of_parts(given: str | os.PathLike[str], form: Form) -> RowReader:
    """The rows of a folder, a pattern or a file of parts; raises as `read_parts` does."""
    return _reader(given, files_of(given), form)[0]


def _reader(given: Any, paths: list[Path], form: Form) -> tuple[RowReader, tuple[Path | None, str]]:
    """The reader of rows, and the cache folder with the stamp of the files."""
    if not paths:
        return frame_rows(given, f"the {type(given).__name__}"), (None, "")
    kinds = sorted({file_kind(path) for path in paths})
    if len(kinds) > 1 or kinds[0] not in IN_BLOCKS:
        raise DataError(
            f"{paths[0].parent}: parts are Parquet, Arrow or HDF5 files, all of one kind, not "
            f"{' and '.join(kinds)}; text becomes Parquet by "
            "polars.scan_csv('parts/*.csv').sink_parquet('table.parquet')"
        )
    home = paths[0].parent / CACHE_FOLDER
    if kinds[0] == "hdf5":
        rows = Hdf5Rows.of(paths, form.x, form.y, form.names, Missing(form.na).numbers)
        return rows, (home, stamp_of(paths))
    if form.na:
        raise RequestError("codes of missing values (na) are for parts in HDF5 files only")
    import polars

    arrow = kinds[0] == "arrow"
    pieces = [polars.scan_ipc(p) if arrow else polars.scan_parquet(p, glob=False) for p in paths]
    what = str(paths[0] if len(paths) == 1 else paths[0].parent)
    with reading_errors(what):
        many = sum(int(piece.select(polars.len()).collect().item()) for piece in pieces)
        width = len(pieces[0].collect_schema())
    check_expansion(many, width, sum(path.stat().st_size for path in paths), what)
    return frame_rows(pieces[0], what, paths, pieces), (home, stamp_of(paths))


def _kinds(
    reader: RowReader, features: tuple[str, ...], mask: NDArray[np.bool_]
) -> tuple[dict[str, ColumnKind], list[str], bool]:
    """Kinds of the columns that are not numeric, notes, and whether all are bytes.

    Sets `mask` for nominal columns.
    """
    if isinstance(reader, Hdf5Rows):
        return {}, [], reader.dtype == np.uint8 and not reader.codes
    assert isinstance(reader, FrameRows)
    import polars

    kinds: dict[str, ColumnKind] = {}
    notes, refused = [], []
    small = True
    for place, name in enumerate(features):
        kind = reader.schema[name]
        small = small and kind == polars.UInt8
        if kind.is_numeric():
            continue
        if kind == polars.Boolean:
            kinds[name] = ColumnKind("boolean")
        elif kind in (polars.Categorical, polars.Enum) or (mask[place] and kind == polars.String):
            mask[place] = True
            categories = reader.categories(name)
            reader.levels[name] = categories
            kinds[name] = ColumnKind("nominal", categories)
            notes.append(coded_note(categories, name))
        else:
            refused.append(f"{name!r} ({kind})")
    if refused:
        raise DataError(
            f"{reader.what}: columns {some_of(refused)} hold neither numbers nor categories: drop "
            "them (--drop, drop=), or declare them categorical (--categorical, categorical=)"
        )
    return kinds, coded_together(notes), small


def _column(reader: RowReader, name: str, take: Any) -> Any:
    if isinstance(reader, FrameRows):
        return take(reader.series(name))
    blocks = reader.blocks([name], 1 << 20, np.float64)
    values = np.concatenate([block[:, 0] for block in blocks])
    whole = bool(np.all(values == np.round(values)))
    return values.astype(np.int64) if whole else values


def _one_pass(
    reader: RowReader,
    n_rows: int,
    features: tuple[str, ...],
    small: bool,
    cache: tuple[Path | None, str],
    notes: list[str],
) -> TableParts:
    """The features after one pass over them, or with the cached results of an earlier one."""
    from fsframe.table.columns_seen import ColumnsSeen

    home, stamp = cache
    identity = [stamp, features, small, getattr(reader, "x", ""), getattr(reader, "codes", ())]
    if reader.weights is not None:
        identity.append(hashlib.sha256(reader.weights.astype("<i8").tobytes()).hexdigest())
    folder, owner = kept_folder(home, json.dumps(identity), notes.append)

    def make(kept: Path, digest: str) -> dict[str, NDArray[Any]]:
        arrays = _found_in_pass(reader, features, small)
        # Without room to keep them, they are computed again next time.
        with contextlib.suppress(OSError), made_whole(kept) as made:
            write_index(made, digest, arrays, {})
        return arrays

    def check(arrays: Mapping[str, NDArray[Any]], files: Sequence[str]) -> bool:
        kept = _as_fields(arrays)
        seen = kept["facts"].arrays()
        empty = ColumnsSeen(len(features), kept["dtype"] == np.uint8).arrays()
        alike = _forms(seen) == _forms(empty) and kept["n_samples"] == n_rows
        return alike and min(seen["missing"].min(), seen["infinite"].min()) >= 0 and not files

    most = ColumnsSeen(len(features), False).nbytes + _OVERHEAD
    _, arrays = kept_arrays(
        folder, "facts", identity, make, check, most=most, threads=1, what="facts",
        table=reader.what, size=shown(most),
    )  # fmt: skip
    result = _as_fields(arrays)
    facts = result["facts"]
    wrong = (facts.infinite > 0) | (facts.high > LARGEST) | (facts.low < -LARGEST)
    # In a column without values, low and high are infinite.
    wrong &= facts.missing < result["n_samples"]
    if wrong.any():
        raise DataError(
            f"{reader.what}: feature {features[int(np.flatnonzero(wrong)[0])]!r} holds "
            f"values too large to be squared (above {LARGEST:g}, or infinite); correct them, "
            "divide the column by a constant, or leave them empty if missing"
        )
    return TableParts(
        reader=reader,
        names=features,
        **result,
        cache_folder=folder,
        most_bytes=memory_bound(),
        small=small,
        owner=owner,
    )


def _forms(arrays: Mapping[str, NDArray[Any]]) -> dict[str, tuple[Any, ...]]:
    return {name: (values.shape, values.dtype) for name, values in arrays.items()}


def _found_in_pass(
    reader: RowReader, features: tuple[str, ...], small: bool
) -> dict[str, NDArray[Any]]:
    """What one pass finds, as arrays that can be kept; if `small`, bytes are tried first."""
    if small:
        with contextlib.suppress(NotAllBytes):
            return _pass(reader, features, np.dtype(np.uint8))
    return _pass(reader, features, np.dtype(np.float64))


def _as_fields(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """What a pass found as fields of `TableParts`."""
    from fsframe.table.columns_seen import ColumnsSeen

    seen = {**arrays}
    about = {key: seen.pop(key).item() for key in ("n_samples", "rows_sha256", "dtype")}
    facts = ColumnsSeen.from_arrays(seen)
    return {**about, "dtype": np.dtype(about["dtype"]), "facts": facts}


def _pass(
    reader: RowReader, features: tuple[str, ...], dtype: np.dtype[Any]
) -> dict[str, NDArray[Any]]:
    from fsframe.table.columns_seen import ColumnsSeen, copy_transposed

    facts = ColumnsSeen(len(features), dtype == np.uint8)
    digest, n_samples = hashlib.sha256(), 0
    threads = available_processors()
    side_by_side = partial(in_threads, threads)
    rows = _usual_rows(dtype.itemsize * len(features))
    fitting = max(1, _BYTES_AT_A_TIME // (dtype.itemsize * len(features)))
    together = min(rows, _ROWS_AT_A_TIME, fitting)
    in_rows = np.empty((together, len(features)), dtype)

    def add_to_digest(block: NDArray[Any]) -> None:
        if block.flags.c_contiguous:
            digest.update(block.data)
            return
        # Converted to C order in pieces that fit the processor cache.
        for start in range(0, len(block), together):
            columns = block[start : start + together].T
            copy_transposed(columns, in_rows)
            digest.update(in_rows[: columns.shape[1]].data)

    with ThreadPoolExecutor(1) as pool:
        # A block is digested while its columns are examined and the next one is read.
        digested = pool.submit(lambda: None)
        for block in reader.blocks(features, rows, dtype):
            digested.result()
            digested = pool.submit(add_to_digest, block)
            facts.add(block, side_by_side, threads)
            n_samples += len(block)
            del block
        digested.result()
    if not n_samples:
        raise DataError(f"{reader.what} has no rows")
    about = {"n_samples": n_samples, "rows_sha256": digest.hexdigest(), "dtype": str(dtype)}
    return {key: np.array(value) for key, value in about.items()} | facts.arrays()


def _warnings(source: TableParts) -> list[str]:
    """Warnings about columns without a value, or with a single one."""
    facts, names = source.facts, np.array(source.names, dtype=object)
    empty, constant = facts.missing == source.n_samples, facts.low == facts.high
    return column_warnings({"empty": names[empty].tolist(), "constant": names[constant].tolist()})
