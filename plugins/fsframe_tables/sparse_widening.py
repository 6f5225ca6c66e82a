"""Sparse matrices as tables: widened, within the bound on memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.tables.bounds import check_size

__all__ = ["compressed", "widened"]


def widened(matrix: Any, what: str) -> NDArray[Any]:
    """A sparse matrix of scipy as an array; bytes stay bytes.

    Raises
    ------
    DataError
        If that would take more memory than a table may, or the values are no real numbers.
    """
    n, p = matrix.shape
    if matrix.dtype.kind not in "fiub":
        raise DataError(f"{what} holds {matrix.dtype}, not real numbers")
    if 0 in (n, p):
        raise DataError(f"{what} of {n} × {p} holds no table")
    if matrix.format in ("csr", "csc"):
        # SciPy's loops trust the indices of a matrix: those of a damaged file end the process.
        try:
            matrix.check_format(full_check=True)
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            raise DataError(f"{what} is no sparse matrix: {error}") from None
    small = matrix.dtype in (np.uint8, np.int8)
    check_size(
        (1 if small else 8) * n * p,
        f"{what} of {n} rows × {p} columns is sparse, and methods work on whole tables; widened it",
        "take fewer columns, such as the most variable ones, or ",
    )
    found: NDArray[Any] = matrix.astype(matrix.dtype if small else np.float64).toarray(order="C")
    return found


def compressed(kind: str, parts: Sequence[Any], shape: tuple[int, int], what: str) -> Any:
    """The matrix of data, indices and indptr, by rows (``"csr"``) or columns (``"csc"``).

    Raises
    ------
    DataError
        If the arrays do not make one.
    """
    from scipy import sparse

    if kind not in ("csr", "csc"):
        raise DataError(f"{what} is sparse in the form {kind!r}; csr and csc are read")
    if any(part is None for part in parts):
        raise DataError(f"{what} lacks one of data, indices and indptr; it is damaged")
    if any(size < 0 for size in shape) or max(shape) > np.iinfo(np.int32).max:
        raise DataError(f"{what} declares a shape of {shape}; it is damaged")
    make = sparse.csr_matrix if kind == "csr" else sparse.csc_matrix
    try:
        matrix = make(tuple(parts), shape=shape)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataError(f"{what} is no sparse matrix: {error}") from None
    return matrix
