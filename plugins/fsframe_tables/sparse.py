"""Sparse matrices of files as tables, checked before their indices are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fsframe.errors import DataError
from fsframe.table.sparse_columns import as_table
from fsframe.tables.size_limits import check_size

__all__ = ["compressed", "sparse_table"]


def sparse_table(matrix: Any, what: str) -> Any:
    """A sparse matrix of scipy as `fsframe.table.sparse_columns.as_table` gives it.

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
