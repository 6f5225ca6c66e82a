"""Bare matrices: NPY, sparse NPZ and Matrix Market files, and svmlight's rows."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from fsframe.errors import DataError
from fsframe.tables.array_table import ArrayTable
from fsframe.tables.bounds import check_size
from fsframe.tables.npz import NpzArrays
from fsframe.tables.reader import Reader
from fsframe_tables.sparse import compressed, sparse_table

__all__ = ["MatrixMarketReader", "NpyReader", "SparseNpzReader", "SvmlightReader"]


class NpyReader(Reader):
    """One array, samples × columns; the label is one of the columns."""

    def _read(self, path: Path) -> Any:
        # The map refuses a file that is shorter than its head declares, before memory is taken.
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
                raise DataError(f"{path} is no sparse matrix: it lacks its format or its shape")
            kind = form.item()
            matrix = compressed(
                kind.decode() if isinstance(kind, bytes) else str(kind),
                [file.array(name) for name in ("data", "indices", "indptr")],
                (int(shape[0]), int(shape[1])),
                str(path),
            )
        return ArrayTable(path=path, X=sparse_table(matrix, str(path)))


class MatrixMarketReader(Reader):
    """A Matrix Market file, sparse or dense, also packed by gzip; rows are samples."""

    def _read(self, path: Path) -> Any:
        from scipy import io, sparse

        packed = path.name.lower().endswith(".gz")
        with gzip.open(path) if packed else path.open("rb") as file:
            line = file.readline(1000)
            while line.startswith(b"%"):
                line = file.readline(1000)
            sizes = [int(word) for word in line.split()]
        if len(sizes) not in (2, 3) or min(sizes) < 0:
            raise DataError(f"{path}: the line of sizes holds {line[:40]!r}")
        entries = sizes[2] if len(sizes) == 3 else sizes[0] * sizes[1]
        # An entry takes two bytes at least, packed a thousandth of that.
        if entries > path.stat().st_size * (600 if packed else 1):
            raise DataError(f"{path} declares {entries} entries and is too short for them")
        check_size(16 * entries, f"{path} with {entries} entries")
        matrix = io.mmread(path)
        if sparse.issparse(matrix):
            return ArrayTable(path=path, X=sparse_table(matrix.tocsr(), str(path)))
        return ArrayTable(path=path, X=np.asarray(matrix))


class SvmlightReader(Reader):
    """Rows of ``label index:value …``, as svmlight and libsvm write them."""

    def _read(self, path: Path) -> Any:
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(str(path))
        return ArrayTable(path=path, X=sparse_table(X, str(path)), y=y, label_name="label")
