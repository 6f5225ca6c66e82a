"""Matrices: NPY, sparse NPZ and Matrix Market files, and svmlight's rows."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.table.array_files import NpzArrays
from fsframe.table.arrays import as_table
from fsframe.table.reader import ArrayTable, Reader
from fsframe.table.text_file import check_expansion, check_size


def sparse_table(matrix: Any, what: str) -> Any:
    """A sparse matrix of scipy as `fsframe.table.arrays.as_table` gives it.

    DataError if its indices are damaged, or the values are no real numbers.
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
    """The matrix of data, indices and indptr, by rows (``"csr"``) or columns (``"csc"``)."""
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
    return matrix


_BLOCK = 1 << 22


class NpyReader(Reader):
    """One array, samples × columns; the label is one of the columns."""

    def _read(self, path: Path) -> Any:
        # Mapping refuses a file that is shorter than its header declares, before allocating memory.
        array = np.load(path, mmap_mode="r", allow_pickle=False)
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
            matrix = compressed(
                kind.decode() if isinstance(kind, bytes) else str(kind),
                [file.array(name) for name in ("data", "indices", "indptr")],
                (int(shape[0]), int(shape[1])),
                str(path),
            )
        return ArrayTable(path=path, X=sparse_table(matrix, str(path)))


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
    found, done = np.empty((entries, width)), 0
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
        found[done : done + rows] = numbers.reshape(rows, width)
        done += rows
    if done != entries:
        raise DataError(
            f"{path} declares {entries} entries of {width} numbers, but its lines differ"
        )
    return found


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
