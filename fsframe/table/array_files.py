"""Arrays of NPZ and HDF5 files, and the tables that arrays with annotations make."""

from __future__ import annotations

import contextlib
import math
import zipfile
import zlib
from collections.abc import Mapping
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.table.arrays import column_block, unlabelled_left_out, without_codes
from fsframe.table.cells import Missing
from fsframe.table.columns import (
    check_columns,
    check_names,
    column_word,
    feature_warnings,
)
from fsframe.table.dataset import Dataset
from fsframe.table.labels import LabelColumn, cells_of_array, missing_cells
from fsframe.table.reader import ArrayTable, Form, table_name
from fsframe.table.roles import Layout, spelled_out
from fsframe.table.text_file import (
    VARIABLE,
    check_size,
    decompressed_bound,
    shown,
)

if TYPE_CHECKING:
    from fsframe.table.hdf5 import Hdf5Arrays


class NpzArrays(contextlib.AbstractContextManager["NpzArrays"]):
    """The named arrays of an NPZ file; DataError if it is not one, or is damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, NotImplementedError, UnicodeDecodeError) as error:
            raise DataError(f"{path} is not an NPZ file, or is damaged: {error}") from None

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def listing(self) -> str:
        """The names of the arrays, for messages."""
        names = [name.removesuffix(".npy") for name in self._zip.namelist()]
        return ", ".join(names[:10]) or "nothing"

    def array(self, name: str) -> NDArray[Any] | None:
        """The array of that name (a leading slash is ignored), text as str; None if absent.

        DataError if it holds Python objects, or is damaged.
        """
        member = f"{name.strip('/')}.npy"
        if member not in self._zip.namelist():
            return None
        try:
            self._check_header(member, name)
            with self._zip.open(member) as file:
                array = npy.read_array(file, allow_pickle=False)
        except (
            ValueError,
            TypeError,
            SyntaxError,
            EOFError,
            OverflowError,
            OSError,
            zipfile.BadZipFile,
            zlib.error,
            MemoryError,
        ) as error:
            raise DataError(f"{self._path}: array {name!r} is damaged: {error}") from None
        except (NotImplementedError, RuntimeError) as error:
            raise DataError(
                f"{self._path}: array {name!r} cannot be decompressed: {error}"
            ) from None
        if array.dtype.kind == "S":
            try:
                return np.char.decode(array, "utf-8")
            except UnicodeDecodeError as error:
                raise DataError(f"{self._path}: array {name!r} is not UTF-8: {error}") from None
        if array.dtype.kind == "U" and array.size:
            points = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("=")).view("u4")
            if points.max() > 0x10FFFF or ((points >> 11) == 0xD800 >> 11).any():
                raise DataError(
                    f"{self._path}: array {name!r} holds invalid text (unpaired surrogates, or "
                    "codes that are not characters)"
                )
        return array

    def _check_header(self, member: str, name: str) -> None:
        """Refuse objects and wrong sizes before memory is allocated."""
        with self._zip.open(member) as file:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = read(file)
            begin = file.tell()
        if dtype.hasobject:
            raise DataError(
                f"{self._path}: array {name!r} holds Python objects (a pickle), which fsframe "
                "never loads; save numbers, or text as a text array (np.array(values, dtype=str))"
            )
        if any(type(n) is not int or n < 0 for n in shape):
            raise DataError(f"{self._path}: array {name!r} has no shape: {shape}; it is damaged")
        size = dtype.itemsize * math.prod(shape)
        info = self._zip.getinfo(member)
        held = info.file_size - begin
        if size != held:
            raise DataError(
                f"{self._path}: array {name!r} declares {size} bytes and holds {held}; it is "
                "damaged"
            )
        bound = decompressed_bound(info.compress_size)
        if size > bound:
            raise DataError(
                f"{self._path}: array {name!r} would decompress to {shown(size)} from "
                f"{shown(info.compress_size)}, and {shown(bound)} are allowed; save it without "
                f"compression (np.savez), or set {VARIABLE}"
            )
        if dtype.kind in "fiub" and len(shape) == 2:
            check_size(8 * math.prod(shape), f"{self._path}: array {name!r} of shape {shape}")


LARGE = 2 * 1024**3
"""Bytes as float64 above which the features of an HDF5 file stay on disk."""


def load_arrays(path: Path, kind: str, form: Form) -> ArrayTable:
    """The arrays of an NPZ (``kind="npz"``) or HDF5 (``kind="hdf5"``) file.

    The features of an HDF5 file stay on disk if ``form.in_memory`` is False, or if it is None and
    they would take more than `LARGE` bytes as float64. Values equal to a code in ``form.na``
    become NaN.

    Raises
    ------
    DataError
        If the file is damaged, lacks the features, or contains Python objects or references to
        other files, which are not read.
    """
    x, y, names = form.x, form.y, form.names
    opened: type[NpzArrays] | type[Hdf5Arrays] = NpzArrays
    if kind == "hdf5":
        from fsframe.table.hdf5 import Hdf5Arrays

        opened = Hdf5Arrays
    with opened(path) as file:
        X = _left_on_disk(file, path, x, form.in_memory) if kind == "hdf5" else None
        if X is None:
            X = file.array(x)
        if X is None:
            raise DataError(
                f"{path} has no features {x!r}; it holds {file.listing()}: name one (x=…, --x)"
            )
        if len(X.shape) != 2 or X.dtype.kind not in "fiub" or 0 in X.shape:
            raise DataError(
                f"{path}: features {x!r} must be a table of numbers, samples × features, not "
                f"{X.dtype} of shape {X.shape}"
            )
        labels, texts = file.array(y), file.array(names)
        way = f"it holds {file.listing()}: name one (y=…, --y)"
    codes = Missing(form.na).numbers
    if codes:
        X = without_codes(X, codes) if isinstance(X, np.ndarray) else X.with_codes(tuple(codes))
    given = None if texts is None else _names(texts, names, X.shape[1], path)
    if labels is not None:
        labels = _label(labels, y, X.shape, path)
    label_name = y.strip("/").rpartition("/")[2]
    return ArrayTable(
        path=path, X=X, y=labels, names=given, label_name=label_name, without_label=way
    )


def _left_on_disk(file: Any, path: Path, name: str, in_memory: bool | None) -> Any:
    form = None if in_memory else file.table_form(name)
    if form is None or 0 in form[0]:
        return None
    if in_memory is None and 8 * form[0][0] * form[0][1] <= LARGE:
        return None
    from fsframe.table.hdf5 import Hdf5Columns

    return Hdf5Columns.of(path, name, *form)


def _names(array: NDArray[Any], where: str, n_features: int, path: Path) -> tuple[str, ...]:
    if array.ndim != 1 or len(array) != n_features:
        raise DataError(
            f"{path}: names {where!r} have shape {array.shape}, but there are {n_features} features"
        )
    return tuple(str(name).strip() for name in array.tolist())


def _label(array: NDArray[Any], where: str, shape: tuple[int, ...], path: Path) -> NDArray[Any]:
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.shape != shape[:1]:
        hint = ""
        if array.shape == shape[1:]:
            hint = "; the features look transposed: rows must be samples"
        raise DataError(
            f"{path}: label {where!r} has shape {array.shape}, the features {shape[0]} rows{hint}"
        )
    if array.dtype.kind not in "fiubUO":
        raise DataError(f"{path}: label {where!r} holds {array.dtype}, neither numbers nor text")
    return array


def dataset_from_arrays(table: ArrayTable, roles: Mapping[str, Any], task: str | None) -> Dataset:
    """Build a Dataset from arrays, with the roles of columns given to `fsframe.read`.

    DataError if the content cannot be used; the message names row and column, counted from 1.
    """
    path, p = table.path, table.X.shape[1]
    names, label = table.feature_names, roles["label"]
    # Annotations are numbered after the features; a feature hides one of the same name.
    others = [name for name in table.others if name not in names]
    named = table.label_name if label is None and table.y is not None else label
    wanted = spelled_out({**roles, "label": named}, names)
    asked = check_columns(names, p, path, wanted, beside=others)

    def column(place: int) -> tuple[str, Any]:
        """Name and values of a column: a feature, or an annotation of the rows."""
        if place >= p:
            return others[place - p], table.others[others[place - p]]
        return names[place], column_block(table.X, place, place + 1)[:, 0]

    # Its name means the label array, even if a feature has the same name.
    own_label = label is None or label == table.label_name
    asked = {**asked, "label": [] if own_label else asked["label"]}
    layout = Layout.of(asked, p, wanted)
    columns, place = layout.features, layout.label
    label_name, raw = (table.label_name, table.y) if place is None else column(place)
    if raw is None:
        raise DataError(table.no_label)
    if not columns:
        raise DataError(f"{path} has no feature besides the label")
    if table.names:
        check_names(names, columns, path)
    check_names([label_name], [0], path)
    of_label = LabelColumn(
        name=label_name,
        table=path,
        decimal=".",
        can_be_left_out=not own_label and isinstance(table.X, np.ndarray),
    )
    found = of_label.read(cells_of_array(raw), task)
    warnings = [*found.notes]
    kept = tuple(names[column] for column in columns)

    def where(row: int, place: int) -> str:
        return f"{path}, row {row + 1}, {column_word(columns[place], kept[place])}"

    X: Any = table.X
    if isinstance(X, np.ndarray):
        X = X if len(columns) == p else X[:, columns]
        small = X.dtype in (np.uint8, np.int8)
        X = np.ascontiguousarray(X, dtype=None if small else np.float64)
    elif len(columns) < p:
        X = X.take(np.array(columns))
    warnings += feature_warnings(X, kept, where=where)
    return Dataset.from_arrays(
        X,
        found.values,
        kept,
        categorical=layout.categorical,
        keep=layout.keep,
        name=table_name(path),
        label_name=label_name,
        task=found.task,
        warnings=(*table.notes, *warnings),
        **layout.of_rows(column),
    )


def labelled_rows(table: ArrayTable, label: str | int | None) -> ArrayTable:
    """The rows in which `label`, a feature or an annotation, has a value.

    RequestError if there is no such column, or the features stay in their file.
    """
    named = label in table.others or label in table.feature_names
    if not named or not isinstance(table.X, np.ndarray):
        raise cannot_leave_rows_out(f"the arrays of {table.path}")
    values = table.others.get(str(label))
    if values is None:
        values = table.X[:, table.feature_names.index(str(label))]
    known = ~missing_cells(cells_of_array(values))
    if known.all():
        return table
    return attrs.evolve(
        table,
        X=table.X[known],
        y=None if table.y is None else table.y[known],
        beside={key: cells[known] for key, cells in table.beside.items()},
        samples=table.samples and tuple(compress(table.samples, known)),
        notes=(*table.notes, unlabelled_left_out(int((~known).sum()))),
    )


def cannot_leave_rows_out(what: str) -> RequestError:
    """The error for `missing_label` with a table of which no rows can be left out."""
    return RequestError(
        f"missing_label is for text, workbooks and data frames, not for {what}: take the rows "
        "without a label out of it"
    )
