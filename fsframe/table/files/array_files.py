"""Arrays of NPZ and HDF5 files and of AnnData, and the tables that they make."""

from __future__ import annotations

import contextlib
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from fsframe.errors import DataError, RequestError
from fsframe.table.arrays import is_sparse, without_codes
from fsframe.table.files.cells import Missing
from fsframe.table.frames import cells_of, column_texts, columns_of, is_category
from fsframe.table.reader import ArrayTable, Form
from fsframe.table.spelling.text_file import (
    VARIABLE,
    check_size,
    decompressed_bound,
    shown,
)
from fsframe.text import did_you_mean

if TYPE_CHECKING:
    from fsframe.table.files.hdf5 import Hdf5Arrays


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


def load_arrays(path: Path, kind: str, form: Form) -> ArrayTable:
    """The arrays of an NPZ (``kind="npz"``) or HDF5 (``kind="hdf5"``) file.

    Values equal to a code in ``form.na`` become NaN.

    Raises
    ------
    DataError
        If the file is damaged, lacks the features, or contains Python objects or references to
        other files, which are not read.
    """
    x, y, names = form.x, form.y, form.names
    opened: type[NpzArrays] | type[Hdf5Arrays] = NpzArrays
    if kind == "hdf5":
        from fsframe.table.files.hdf5 import Hdf5Arrays

        opened = Hdf5Arrays
    with opened(path) as file:
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
    X = without_codes(X, Missing(form.na).numbers)
    given = None if texts is None else _names(texts, names, X.shape[1], path)
    if labels is not None:
        labels = _label(labels, y, X.shape, path)
    label_name = y.strip("/").rpartition("/")[2]
    return ArrayTable(
        path=path, X=X, y=labels, names=given, label_name=label_name, without_label=way
    )


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


def annotated_columns(given: Any, layer: str | None, roles: Mapping[str, Any]) -> ArrayTable:
    """The features of an AnnData, from a layer or from `X` if it is None, and the columns of `obs`.

    Sparse values stay sparse if that saves memory.

    Raises
    ------
    DataError
        If there is no such layer, no label is named, or a role does not apply to numbers.
    RequestError
        If rows without a label are to be left out.
    """
    label = roles["label"]
    if not isinstance(label, str):
        raise DataError(
            "name the column of obs that is the label (label=): "
            f"{', '.join([str(name) for name in given.obs.columns][:12]) or '—'}"
        )
    if roles["ordinal"] or roles["dates"]:
        raise DataError(
            "features of an AnnData are numbers: ordinal and dates do not apply to them"
        )
    if roles["missing_label"] is not None:
        raise RequestError("missing_label is for data frames: select the rows of the AnnData")
    if layer is not None and layer not in given.layers:
        known_layers = list(given.layers)
        raise DataError(
            f"the AnnData has no layer {layer!r}{did_you_mean(layer, known_layers)}; it has "
            f"{', '.join(known_layers) or 'none'}"
        )
    X = given.X if layer is None else given.layers[layer]
    obs = columns_of(given.obs)
    return ArrayTable(
        path=Path("the AnnData"),
        X=X.tocsc() if is_sparse(X) else np.asarray(X),
        names=tuple(map(str, given.var_names)),
        beside={
            name: np.asarray(cells_of(column) if name == label else column_texts(column))
            for name, column in obs
        },
        typed=frozenset(name for name, column in obs if is_category(column.dtype)),
        takes_codes=False,
    )
