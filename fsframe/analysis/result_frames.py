"""Tables of results as data frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.contracts.answer import AnswerTable
from fsframe.errors import RequestError

__all__ = ["bound_columns", "frame_of"]


def bound_columns(intervals: Sequence[tuple[float, float] | None]) -> dict[str, Any]:
    """Columns ``low`` and ``high``, NaN where there is no interval."""
    known = [interval or (float("nan"), float("nan")) for interval in intervals]
    return {"low": [float(low) for low, _ in known], "high": [float(high) for _, high in known]}


def frame_of(tables: Mapping[str, Callable[[], Mapping[str, Any]]], what: str, library: str) -> Any:
    """The table called `what` as a data frame; RequestError if there is none.

    `tables` maps names to functions that return columns.
    """
    if what not in tables:
        raise RequestError(f"there is no table {what!r}; there are {', '.join(tables)}")
    columns = {name: _column(values) for name, values in tables[what]().items()}
    return AnswerTable(columns).to_frame(library)


def _column(values: Any) -> NDArray[Any]:
    found = np.asarray(values)
    if found.dtype.kind in "US":
        return found.astype(object)
    if found.dtype.kind == "b":
        return found
    return found.astype(np.int64) if found.dtype.kind == "i" else found.astype(np.float64)
