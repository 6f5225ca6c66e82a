"""Matrices: NPY, sparse NPZ, Matrix Market and MAT files, and svmlight's rows."""

from __future__ import annotations

import gzip
import math
import struct
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.arrays import as_table
from fsframe.table.files.array_files import NpzArrays
from fsframe.table.files.hdf5 import Hdf5Arrays
from fsframe.table.reader import ArrayTable, Reader
from fsframe.table.spelling.text_file import (
    check_expansion,
    check_size,
    decompressed_bound,
    load_bytes,
)


def sparse_table(matrix: Any, what: str) -> Any:
    """A sparse matrix of scipy, converted by `fsframe.table.arrays.as_table`.

    DataError if its indices are damaged, or its values are not real numbers.
    """
    n, p = matrix.shape
    if matrix.dtype.kind not in "fiub":
        raise DataError(f"{what} holds {matrix.dtype}, not real numbers")
    if 0 in (n, p):
        raise DataError(f"{what} of {n} × {p} holds no table")
    if matrix.format in ("csr", "csc"):
        # SciPy's loops trust the indices of a matrix: those of a damaged file crash the process.
        try:
            # One that decreases to 0 looks like an empty matrix, which SciPy does not check.
            if (np.diff(matrix.indptr) < 0).any():
                raise ValueError("its index pointer decreases")
            matrix.check_format(full_check=True)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise DataError(f"{what} is not a sparse matrix: {error}") from None
    try:
        return as_table(matrix)
    except DataError as error:
        raise DataError(f"{what}: {error}") from None


def compressed(kind: str, parts: Sequence[Any], shape: tuple[int, int], what: str) -> Any:
    """`sparse_table` of data, indices and indptr, by rows (``"csr"``) or columns (``"csc"``)."""
    from scipy import sparse

    if kind not in ("csr", "csc"):
        raise DataError(f"{what} is sparse in the form {kind!r}; csr and csc are read")
    if any(part is None for part in parts):
        raise DataError(f"{what} lacks one of data, indices and indptr; it is damaged")
    if any(size < 0 for size in shape) or max(shape) > np.iinfo(np.int32).max:
        raise DataError(f"{what} declares a shape of {shape}; it is damaged")
    # Columns have names and starts, however few values they have.
    check_size(100 * sum(shape), f"{what} of {shape[0]} rows × {shape[1]} columns")
    make = sparse.csr_matrix if kind == "csr" else sparse.csc_matrix
    try:
        matrix = make(tuple(parts), shape=shape)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataError(f"{what} is not a sparse matrix: {error}") from None
    return sparse_table(matrix, what)


_BLOCK = 1 << 22


class NpyReader(Reader):
    """One array, samples × columns; the label is one of the columns, or a file of its own."""

    def _read(self, path: Path) -> Any:
        # Mapping refuses a file that is shorter than its header declares, before allocating memory.
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if array.ndim == 1 and array.size and array.dtype.kind in "fiubU":
            import polars

            check_size(array.nbytes, f"{path} of shape {array.shape}")
            return polars.DataFrame({"f1": array.tolist()})
        if array.ndim != 2 or array.dtype.kind not in "fiub" or 0 in array.shape:
            raise DataError(
                f"{path} holds an array of {array.dtype} of shape {array.shape}, not a table of "
                "numbers, samples × columns"
            )
        check_size(8 * array.size, f"{path} of shape {array.shape}")
        return ArrayTable(path=path, X=np.array(array))


class SparseNpzReader(Reader):
    """A matrix as `scipy.sparse.save_npz` writes it, by rows or by columns."""

    def _read(self, path: Path) -> Any:
        with NpzArrays(path) as file:
            form, shape = file.array("format"), file.array("shape")
            if form is None or shape is None or shape.shape != (2,) or form.ndim:
                raise DataError(f"{path} is not a sparse matrix: it lacks its format or its shape")
            kind = form.item()
            X = compressed(
                kind.decode() if isinstance(kind, bytes) else str(kind),
                [file.array(name) for name in ("data", "indices", "indptr")],
                (int(shape[0]), int(shape[1])),
                str(path),
            )
        return ArrayTable(path=path, X=X)


class MatrixMarketReader(Reader):
    """A Matrix Market file, sparse or dense, also compressed by gzip; rows are samples.

    Notes
    -----
    Its numbers are parsed here by NumPy: the reader of SciPy 1.18 crashes the process at a line
    that lacks a number.
    """

    def _read(self, path: Path) -> Any:
        from scipy import sparse

        packed = path.name.lower().endswith(".gz")
        with gzip.open(path) if packed else path.open("rb") as file:
            banner = line = file.readline(1000)
            while line.startswith(b"%") or (line and not line.strip()):
                line = file.readline(1000)
            sizes = [int(word) for word in line.split()]
            if len(sizes) not in (2, 3) or min(sizes) < 0:
                raise DataError(f"{path}: the line of sizes holds {line[:40]!r}")
            dense, width, mirror = _kind(path, banner, len(sizes))
            entries = sizes[0] * sizes[1] if dense else sizes[2]
            # An entry takes at least two bytes, compressed a thousandth of that.
            stored = path.stat().st_size
            if entries > stored * (600 if packed else 1):
                raise DataError(f"{path} declares {entries} entries and is too short for them")
            check_expansion(entries, width, stored, str(path))
            check_size(8 * (2 * width + 1) * entries, f"{path} with {entries} entries")
            values = _numbers(path, file, entries, width)
        if dense:
            return ArrayTable(path=path, X=values.reshape(sizes[1], sizes[0]).T)
        n, p = sizes[:2]
        check_size(100 * (n + p), f"{path} of {n} rows × {p} columns")
        with np.errstate(invalid="ignore"):
            places = values[:, :2].astype(np.int64) - 1
        if ((places + 1 != values[:, :2]) | (places < 0) | (places >= (n, p))).any():
            raise DataError(f"{path} names a row or column that is not in {n} × {p}")
        cells = values[:, 2] if width == 3 else np.ones(entries)
        if mirror:
            below = places[:, 0] != places[:, 1]
            places = np.concatenate([places, places[below][:, ::-1]])
            cells = np.concatenate([cells, mirror * cells[below]])
        matrix = sparse.coo_matrix((cells, (places[:, 0], places[:, 1])), shape=(n, p))
        return ArrayTable(path=path, X=sparse_table(matrix.tocsr(), str(path)))


def _numbers(
    path: Path, file: IO[bytes] | gzip.GzipFile, entries: int, width: int
) -> NDArray[np.float64]:
    """The remaining numbers of a file, (entries, width), one line per entry."""
    values, done = np.empty((entries, width)), 0
    while text := file.read(_BLOCK):
        text += file.readline(1000)
        with warnings.catch_warnings():
            # NumPy before 2.3 only warns about text that is not a number.
            warnings.simplefilter("error", DeprecationWarning)
            numbers = np.fromstring(text, dtype=np.float64, sep=" ")
        rows = numbers.size // width
        if (_words_of_lines(text) != width).any() or done + rows > entries:
            done = -1
            break
        values[done : done + rows] = numbers.reshape(rows, width)
        done += rows
    if done != entries:
        raise DataError(
            f"{path} declares {entries} entries of {width} numbers, but its lines differ"
        )
    return values


def _words_of_lines(text: bytes) -> NDArray[np.int64]:
    """Number of words of each line, without blank lines."""
    signs = np.frombuffer(b"\n" + text + b"\n", dtype=np.uint8)
    begins = np.flatnonzero((signs[1:] > 32) & (signs[:-1] <= 32))
    words = np.diff(np.searchsorted(begins, np.flatnonzero(signs == 10)))
    return words[words > 0]


def _kind(path: Path, banner: bytes, sizes: int) -> tuple[bool, int, int]:
    """Whether values are dense, numbers per entry, and the factor of the other triangle.

    DataError if the first line declares a kind of matrix that is not supported.
    """
    words = banner.decode("latin-1").lower().split()
    _, thing, form, field, symmetry = [*words, "", "", "", "", ""][:5]
    triangle = {"general": 0, "symmetric": 1, "skew-symmetric": -1}
    dense = form == "array"
    if (
        thing != "matrix"
        or form not in ("array", "coordinate")
        or field not in ("real", "integer", "double", "unsigned-integer", "pattern")
        or symmetry not in triangle
        or sizes != (2 if dense else 3)
        or (dense and (triangle[symmetry] or field == "pattern"))
    ):
        raise DataError(
            f"{path} begins with {banner[:80].decode('latin-1').strip()!r}; fsframe reads "
            "coordinate matrices of real numbers, whole numbers or patterns, and general arrays"
        )
    return dense, 1 if dense else 2 + (field != "pattern"), triangle[symmetry]


class SvmlightReader(Reader):
    """Rows of ``label index:value …``, as svmlight and libsvm write them."""

    def _read(self, path: Path) -> Any:
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(str(path))
        return ArrayTable(path=path, X=sparse_table(X, str(path)), y=y, label_name="label")


_HEAD, _CELL, _CHAR, _SPARSE = 128, 1, 4, 5
_MATRIX, _PACKED = 14, 15
# Types of stored values, and the classes of arrays that hold numbers.
_TYPES = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
_TEXTS = {2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8",
            15: "u8"}  # fmt: skip


class _Damaged(Exception):
    """An impossible size or type."""


class MatVariables:
    """The variables of a MAT file of level 5, by name; DataError if it is damaged.

    References
    ----------
    MathWorks, MAT-File Format (level 5).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        raw = load_bytes(path)
        self._order = {b"IM": "<", b"MI": ">"}.get(raw[126:128], "")
        if not self._order:
            raise DataError(f"{path} is not a MAT file, or its beginning is damaged")
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._parts: dict[str, tuple[int, list[tuple[int, bytes]]]] = {}
        try:
            for name, shape, kind, parts in self._variables(raw):
                if kind in _CLASSES or kind in (_CELL, _SPARSE):
                    self.shapes[name] = shape
                    self._parts[name] = kind, parts
        except (_Damaged, ValueError, zlib.error, UnicodeDecodeError) as error:
            raise DataError(f"{path} is a MAT file that is damaged: {error}") from None

    def get(self, name: str) -> NDArray[Any]:
        """The variable of that name.

        Raises
        ------
        DataError
            If its parts do not form an array of its shape.
        """
        kind, parts = self._parts[name]
        shape = self.shapes[name]
        what = f"{self._path}: {name!r} of shape {shape}"
        if kind != _SPARSE:
            check_size(8 * math.prod(shape), what)
        try:
            if kind == _CELL:
                return self._cell(parts, shape)
            if kind == _SPARSE:
                arrays = [self._numbers(*part) for part in parts[:3]]
                if len(shape) != 2 or len(arrays) < 3:
                    raise _Damaged("a sparse matrix lacks a part")
                rows, columns, values = arrays
                return compressed("csc", [values, rows, columns], (shape[0], shape[1]), what)
            if len(parts) != 1:
                raise _Damaged("it holds complex numbers, or no numbers")
            values = self._numbers(*parts[0])
            if values.size != math.prod(shape):
                raise _Damaged(f"it holds {values.size} values")
            return values.reshape(shape, order="F").astype(_CLASSES[kind])
        except (_Damaged, ValueError, UnicodeDecodeError) as error:
            raise DataError(f"{what}: {error}") from None

    def _variables(
        self, raw: bytes
    ) -> Iterator[tuple[str, tuple[int, ...], int, list[tuple[int, bytes]]]]:
        left = decompressed_bound(len(raw))
        for kind, content in self._elements(raw[_HEAD:], padded=False):
            if kind == _PACKED:
                unpacker = zlib.decompressobj()
                content = unpacker.decompress(content, left + 1)
                if len(content) > left:
                    raise _Damaged("it would decompress to more than is allowed")
                left -= len(content)
                kind, content = next(self._elements(content), (0, b""))
            if kind == _MATRIX and content:
                yield self._matrix(content)

    def _matrix(self, content: bytes) -> tuple[str, tuple[int, ...], int, list[tuple[int, bytes]]]:
        elements = self._elements(content)
        flags, sizes, name = (next(elements, (0, b"")) for _ in range(3))
        parts = [*elements]
        numbers = self._numbers(*flags)
        shape = self._numbers(*sizes)
        if not numbers.size or not 2 <= shape.size <= 32 or shape.min() < 0:
            raise _Damaged("an array without class or shape")
        called = bytes(name[1]).decode("ascii", errors="replace")
        return called, tuple(int(size) for size in shape), int(numbers[0]) & 0xFF, parts

    def _elements(self, content: bytes, padded: bool = True) -> Iterator[tuple[int, bytes]]:
        """Types and contents of the elements of a file or of an array."""
        place, tag = 0, struct.Struct(f"{self._order}II")
        while place + tag.size <= len(content):
            kind, size = tag.unpack_from(content, place)
            if kind >> 16:
                kind, size, begin = kind & 0xFFFF, kind >> 16, place + 4
                if size > 4:
                    raise _Damaged(f"a small element of {size} bytes")
                place += 8
            else:
                begin = place + 8
                place = begin + (size if not padded and kind == _PACKED else -(-size // 8) * 8)
            if begin + size > len(content):
                raise _Damaged(f"an element of {size} bytes where {len(content) - begin} are left")
            yield kind, content[begin : begin + size]

    def _numbers(self, kind: int, content: bytes) -> NDArray[Any]:
        if kind not in _TYPES:
            raise _Damaged(f"values of type {kind}")
        return np.frombuffer(content, dtype=self._order + _TYPES[kind])

    def _cell(self, parts: list[tuple[int, bytes]], shape: tuple[int, ...]) -> NDArray[Any]:
        """A cell array of text, as (n,) str objects."""
        if len(parts) != math.prod(shape):
            raise _Damaged(f"{len(parts)} cells")
        texts = np.empty(len(parts), dtype=object)
        for place, (kind, content) in enumerate(parts):
            _, _, inner, values = self._matrix(content) if kind == _MATRIX else ("", (), 0, [])
            if inner != _CHAR or len(values) != 1 or values[0][0] not in _TEXTS:
                raise _Damaged("a cell that is not text")
            encoding = _TEXTS[values[0][0]]
            if encoding.startswith(("utf-16", "utf-32")):
                encoding += "-le" if self._order == "<" else "-be"
            texts[place] = values[0][1].decode(encoding).strip()
        return texts


_TABLES = ("X", "x", "data", "fea", "features")
_LABELS = ("y", "Y", "label", "labels", "class", "target", "gnd")
_NAMES = ("feature_names", "names")


class MatReader(Reader):
    """The matrix called X, or the only one; the vector called y, or the only one that fits it.

    Notes
    -----
    `x` and `y` name others. Samples are rows. Structures and objects are not read.
    """

    options = frozenset({"x", "y"})

    def _read(self, path: Path, x: str = "", y: str = "") -> Any:
        with path.open("rb") as file:
            new = file.read(10).startswith(b"MATLAB 7")
        variables = _Hdf5(path) if new else MatVariables(path)
        shapes = variables.shapes
        tables = [name for name, shape in shapes.items() if len(shape) == 2 and min(shape) > 1]
        table = _chosen(x, _TABLES, tables, f"{path}: features", "--x")
        if table is None:
            raise DataError(f"{path} holds no matrix of numbers; it has {', '.join(shapes) or '—'}")
        n, p = shapes[table]
        fitting = [name for name, s in shapes.items() if name != table and sorted(s) == [1, n]]
        turned = [name for name in (y, *_LABELS) if sorted(shapes.get(name, ())) == [1, p]]
        if turned and not fitting:
            raise DataError(
                f"{path}: {turned[0]!r} has {p} values, {table!r} {n} rows and {p} columns; the "
                "features look transposed: rows must be samples"
            )
        label = _chosen(y, _LABELS, fitting, f"{path}: label", "--y")
        X = variables.get(table)
        if len(X.shape) != 2 or X.dtype.kind not in "fiub":
            raise DataError(f"{path}: {table!r} holds {X.dtype} of shape {X.shape}, not numbers")
        names = None
        for name in _NAMES:
            if sorted(shapes.get(name, ())) == [1, X.shape[1]]:
                names = _vector(variables.get(name))
                break
        return ArrayTable(
            path=path,
            X=X,
            y=None if label is None else _vector(variables.get(label)),
            names=None if names is None else tuple(map(str, names.tolist())),
            label_name=label or "y",
            without_label=f"it holds {', '.join(list(shapes)[:10])}: name one (y=…, --y)",
        )


def _vector(matrix: Any) -> NDArray[Any]:
    """A matrix of one row or column, sparse or not, as (n,)."""
    values = matrix if isinstance(matrix, np.ndarray) else matrix.read(0, matrix.shape[1])
    return np.asarray(values.ravel())


def _chosen(
    said: str, usual: tuple[str, ...], fitting: list[str], what: str, option: str
) -> str | None:
    """The requested variable, else a usual or the only one that fits; None if none fits."""
    said = said.strip("/")
    if said:
        if said not in fitting:
            shown = ", ".join(fitting[:12]) or "none"
            raise DataError(f"{what}: {said!r} does not fit; these do: {shown}")
        return said
    called = [name for name in usual if name in fitting]
    if called:
        return called[0]
    if len(fitting) > 1:
        raise DataError(f"{what}: name one ({option}): {', '.join(fitting[:12])}")
    return fitting[0] if fitting else None


class _Hdf5:
    """Variables of a file of version 7.3, whose arrays are stored by columns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.shapes: dict[str, tuple[int, ...]] = {}
        with Hdf5Arrays(path) as file:
            for name in file.members(""):
                if file.is_group(name):
                    rows, jc = file.attribute(name, "MATLAB_sparse"), file.form(f"{name}/jc")
                    if rows is not None and jc is not None and len(jc[0]) == 1:
                        self.shapes[name] = (int(rows), jc[0][0] - 1)
                    continue
                form = file.form(name)
                if form is not None and form[1].kind in "fiub":
                    self.shapes[name] = form[0][::-1]

    def get(self, name: str) -> Any:
        what = f"{self._path}: {name!r} of shape {self.shapes[name]}"
        with Hdf5Arrays(self._path) as file:
            if not file.is_group(name):
                array = file.array(name)
                if array is None:
                    raise DataError(f"{what} is not there")
                return np.ascontiguousarray(array.T)
            parts = [file.array(f"{name}/{part}") for part in ("data", "ir", "jc")]
        n, p = self.shapes[name]
        return compressed("csc", parts, (n, p), what)
