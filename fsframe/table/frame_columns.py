"""Columns of pandas, polars and pyarrow data frames as arrays or lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsframe.table.arrays import EXACT, check_whole


def frame_names(frame: Any) -> tuple[str, ...]:
    """The names of the columns of a frame."""
    # Columns of a pyarrow table are arrays: it has the names elsewhere.
    return tuple(map(str, getattr(frame, "column_names", frame.columns)))


def frame_texts(frame: Any, column: int) -> list[str]:
    """The cells of a column as text, empty where missing."""
    found = as_list(columns_of(frame)[column][1])
    return ["" if value is None else str(value) for value in found]


def frame_column(frame: Any, column: int) -> NDArray[np.float64] | list[str | None]:
    """A column as numbers, NaN where missing, or as texts, None where missing."""
    series = columns_of(frame)[column][1]
    values, _ = values_of(series)
    if values is None:
        return [None if value is None else str(value) for value in as_list(series)]
    return values if isinstance(values, list) else np.asarray(values, dtype=np.float64)


def columns_of(frame: Any) -> list[tuple[str, Any]]:
    """Names and columns; pyarrow columns with the interface of pandas or polars."""
    home = type(frame).__module__.partition(".")[0]
    if home == "pyarrow":
        import polars

        frame = polars.from_arrow(frame)
        home = "polars"
    if home == "polars":
        return [(series.name, series) for series in frame.get_columns()]
    return [(str(name), frame.iloc[:, k]) for k, name in enumerate(frame.columns)]


def values_of(series: Any) -> tuple[NDArray[Any] | list[Any] | None, bool]:
    """Numbers, a list of texts (None where missing), or None for other types; and whether the
    column has a categorical type."""
    kind = str(series.dtype)
    if kind.startswith("Sparse["):
        series = series.sparse.to_dense()
        kind = str(series.dtype)
    is_category = kind == "category" or kind.startswith(("Categorical", "Enum", "dictionary"))
    if is_category:
        return _plain(as_list(series)), True
    if kind in ("uint8", "int8", "UInt8", "Int8") and not _has_missing(series):
        return series.to_numpy().astype(kind.lower(), copy=False), False
    if kind.lower().startswith(("int", "uint")):
        return _as_whole(series), False
    if kind.lower().startswith(("float", "bool", "double")):
        return _as_floats(series), False
    if kind.startswith(("object", "str", "String", "large_string")):
        return _plain(as_list(series)), False
    if kind.startswith("Decimal"):
        return _as_floats(series), False
    if kind.lower().startswith("null"):
        return np.full(len(series), np.nan), False
    return None, False


def _has_missing(series: Any) -> bool:
    return bool(series.isna().any() if hasattr(series, "isna") else series.null_count())


def _as_floats(series: Any) -> NDArray[np.float64]:
    if hasattr(series, "isna"):
        found: NDArray[np.float64] = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return found
    import polars

    return np.asarray(series.cast(polars.Float64).fill_null(float("nan")).to_numpy())


def _as_whole(series: Any) -> NDArray[np.float64]:
    """A column of whole numbers; DataError if two of them would become equal."""
    found = _as_floats(series)
    if (np.abs(found) > EXACT).any():
        known = [value for value in as_list(series) if value is not None]
        check_whole(np.array(known)[:, None], f"column {series.name!r}")
    return found


def as_list(series: Any) -> list[Any]:
    found: list[Any] = series.to_list()
    # NaN and pandas.NA, which equals nothing and has no truth value, are missing.
    return [None if _is_missing(value) else value for value in found]


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


def _plain(values: list[Any]) -> NDArray[np.float64] | list[Any]:
    """Numbers if all values are numbers, else text."""
    if all(value is None or isinstance(value, (bool, int, float, np.number)) for value in values):
        return np.array([np.nan if value is None else float(value) for value in values])
    return [None if value is None else str(value) for value in values]
