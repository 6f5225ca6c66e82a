"""Matrix products whose bits do not depend on the number of threads."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

__all__ = ["one_thread_product", "whole_gram"]


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread_product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """left @ right on one thread, so that no number of threads changes a bit.

    >>> import numpy as np
    >>> one_thread_product(np.array([[2.0, 1.0]]), np.array([[1.0], [3.0]]))
    array([[5.]])
    """
    with _controller().limit(limits=1, user_api="blas"):
        return np.asarray(left @ right)


def whole_gram(rows: NDArray[Any], width: int, dtype: Any = np.float64) -> NDArray[np.float64]:
    """rows @ rows.T of whole numbers, in blocks of columns whose sums are exact.

    Parameters
    ----------
    rows : (m, p) array
        Whole numbers, of any type.
    width : int
        Columns per block, so few that every sum of products of a block is exact in `dtype`:
        below 2²⁴ in single, 2⁵³ in double precision.
    dtype : float type
        What a block is multiplied in.

    Returns
    -------
    (m, m) float64
        The product.

    Notes
    -----
    Exact sums do not depend on the order of adding, so no number of threads changes a bit. One
    thread is used nevertheless: the products are small, and a thread that waits for a busy core
    costs a hundred times what it saves. O(m²p) time, O(m·width + m²) memory.

    Examples
    --------
    >>> import numpy as np
    >>> whole_gram(np.array([[1, 0, 1], [1, 1, 0]]), width=2)
    array([[2., 1.],
           [1., 2.]])
    """
    total = np.zeros((len(rows), len(rows)))
    for start in range(0, rows.shape[1], width):
        block = rows[:, start : start + width].astype(dtype, copy=False)
        total += one_thread_product(block, block.T)
    return total
