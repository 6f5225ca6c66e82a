"""Data frames of pandas, polars and pyarrow as columns of numbers, with their names and kinds.

None of these libraries is imported: a frame is asked through its own methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError
from fsframe.suggest import did_you_mean

__all__ = [
    "FrameParts",
    "frame_column",
    "frame_names",
    "frame_texts",
    "is_annotated",
    "is_frame",
    "take_annotated",
    "take_frame",
]

Keys = str | int | Iterable[str | int]


@attrs.frozen(kw_only=True, eq=False)
class FrameParts:
    """What a frame holds.

    Parameters
    ----------
    X : (n_samples, n_features) float64, uint8 or int8
    names : tuple of str
    categorical : (n_features,) bool
    y : (n_samples,) numbers or text, or None
    label_name : str
    warnings : tuple of str
    groups : (n_samples,) object, or None
    group_name : str
    """

    X: NDArray[Any]
    names: tuple[str, ...]
    categorical: NDArray[np.bool_]
    y: NDArray[Any] | None
    label_name: str
    warnings: tuple[str, ...]
    groups: NDArray[Any] | None = None
    group_name: str = ""


def is_frame(given: Any) -> bool:
    """Whether something is a data frame of pandas or polars, or a table of pyarrow.

    >>> is_frame([[1, 2]]), is_frame(np.zeros((2, 2)))
    (False, False)
    """
    home = type(given).__module__.partition(".")[0]
    return home in ("pandas", "polars", "pyarrow") and type(given).__name__ in (
        "DataFrame",
        "Table",
        "RecordBatch",
    )


def is_annotated(given: Any) -> bool:
    """Whether something is an AnnData: samples × features with what is known of both."""
    return type(given).__module__.partition(".")[0] == "anndata" and hasattr(given, "obs")


def take_annotated(
    given: Any,
    label: str | int | None,
    *,
    drop: Keys = (),
    categorical: Keys | bool | None = None,
    groups: str | int | None = None,
) -> FrameParts:
    """The features of an AnnData, and columns of its `obs` as label and groups.

    Sparse values are widened.

    Raises
    ------
    DataError
        If there is no such column.
    """
    names = [str(name) for name in given.var_names]
    known = {str(name): given.obs[name] for name in given.obs.columns}
    if not isinstance(label, str):
        raise DataError(
            f"say which column of obs is the label (label=): {', '.join(list(known)[:12]) or '—'}"
        )
    place = _find(list(known), [label], "label")
    grouping = None if groups is None else _find(list(known), [groups], "column of groups")
    if grouping == place:
        raise DataError(f"column {label!r} is the label and cannot name groups")
    dropped = set(_find(names, drop, "column to drop"))
    kept = [k for k in range(len(names)) if k not in dropped]
    mask = np.full(len(names), categorical is True)
    if categorical is not None and not isinstance(categorical, bool):
        mask[_find(names, categorical, "categorical column")] = True
    X = given.X
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    return FrameParts(
        X=X if len(kept) == len(names) else X[:, kept],
        names=tuple(names[k] for k in kept),
        categorical=mask[kept],
        y=_label(known[label], label),
        label_name=label,
        warnings=(),
        groups=None if groups is None else _group_names(known[str(groups)]),
        group_name="" if groups is None else str(groups),
    )


def take_frame(
    frame: Any,
    label: str | int | None,
    *,
    drop: Keys = (),
    categorical: Keys | bool | None = None,
    groups: str | int | None = None,
    with_label: bool = True,
) -> FrameParts:
    """The features and the label of a frame.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        Missing values (NaN, NA, null) become NaN; an index is no column.
    label : str or int, optional
        By default the last column that is not dropped.
    drop : str, int or several
    categorical : str, int, several, or True, optional
        Beside the columns whose kind says it (category, Categorical, Enum, dictionary).
    groups : str or int, optional
        The column that names rows which belong together; no feature.
    with_label : bool
        Whether there is one.

    Raises
    ------
    DataError
        Listing all columns that cannot be found, or that hold neither numbers nor categories.
    """
    columns = _columns(frame)
    names = [name for name, _ in columns]
    everything = range(len(names))
    dropped = set(_find(names, drop, "column to drop"))
    marked = set(everything) if categorical is True else set()
    if categorical is not None and not isinstance(categorical, bool):
        marked |= set(_find(names, categorical, "categorical column"))
    grouping = None if groups is None else _find(names, [groups], "column of groups")[0]
    left = [place for place in everything if place not in dropped and place != grouping]
    if len(left) < 1 + with_label:
        raise DataError(f"the frame has {len(left)} columns to use; a table needs features")
    place = None
    if with_label:
        place = left[-1] if label is None else _find(names, [label], "label")[0]
        if place in dropped:
            raise DataError(f"column {names[place]!r} is the label and cannot be dropped")
        if place == grouping:
            raise DataError(f"column {names[place]!r} is the label and cannot name groups")
    features = [column for column in left if column != place]
    mask = np.zeros(len(features), dtype=bool)
    kept: list[NDArray[Any]] = []
    notes, wrong = [], []
    for position, column in enumerate(features):
        values, is_category = _values(columns[column][1])
        mask[position] = is_category or column in marked
        if isinstance(values, list):
            if not mask[position]:
                wrong.append(names[column])
                continue
            values, note = _coded(values, names[column])
            notes += note
        elif values is None:
            wrong.append(names[column])
            continue
        kept.append(values)
    if wrong:
        shown = ", ".join(map(repr, wrong[:10])) + (" and more" if len(wrong) > 10 else "")
        raise DataError(
            f"{len(wrong)} columns hold neither numbers nor categories: {shown}; drop them "
            "(drop=), or declare text categorical (categorical=)"
        )
    kinds = {values.dtype for values in kept}
    small = len(kinds) == 1 and kinds <= {np.dtype(np.uint8), np.dtype(np.int8)}
    X = np.empty((len(kept[0]), len(kept)), dtype=kept[0].dtype if small else np.float64)
    for position, values in enumerate(kept):
        X[:, position] = values
    y, label_name = None, "class"
    if place is not None:
        label_name = names[place]
        y = _label(columns[place][1], label_name)
    return FrameParts(
        X=X,
        names=tuple(names[column] for column in features),
        categorical=mask,
        y=y,
        label_name=label_name,
        groups=None if grouping is None else _group_names(columns[grouping][1]),
        group_name="" if grouping is None else names[grouping],
        warnings=tuple(notes),
    )


def frame_names(frame: Any) -> tuple[str, ...]:
    """The names of the columns of a frame."""
    return tuple(name for name, _ in _columns(frame))


def frame_texts(frame: Any, column: int) -> list[str]:
    """The cells of a column as text, empty where missing."""
    found = _as_list(_columns(frame)[column][1])
    return ["" if value is None else str(value) for value in found]


def frame_column(frame: Any, column: int) -> NDArray[np.float64] | list[str | None]:
    """A column as numbers, NaN where missing, or as texts, None where missing."""
    series = _columns(frame)[column][1]
    values, _ = _values(series)
    if values is None:
        return [None if value is None else str(value) for value in _as_list(series)]
    return values if isinstance(values, list) else np.asarray(values, dtype=np.float64)


def _columns(frame: Any) -> list[tuple[str, Any]]:
    """Names and columns; those of pyarrow as columns of pandas or polars would be."""
    home = type(frame).__module__.partition(".")[0]
    if home == "pyarrow":
        import polars

        frame = polars.from_arrow(frame)
        home = "polars"
    if home == "polars":
        return [(series.name, series) for series in frame.get_columns()]
    return [(str(name), frame.iloc[:, k]) for k, name in enumerate(frame.columns)]


def _find(names: Sequence[str], keys: Keys, what: str) -> list[int]:
    found: list[int] = []
    wrong: list[str] = []
    for key in [keys] if isinstance(keys, (str, int)) else keys:
        if isinstance(key, str):
            places = [place for place, name in enumerate(names) if name == key]
        else:
            places = [key % len(names)] if -len(names) <= key < len(names) else []
        if len(places) == 1:
            found += places
        else:
            hint = did_you_mean(key, list(names)) if isinstance(key, str) and not places else ""
            wrong.append(f"{key!r}" + (" (several)" if places else hint))
    if wrong:
        raise DataError(f"{what}: the frame has no column {', '.join(wrong)}")
    return found


def _values(series: Any) -> tuple[NDArray[Any] | list[Any] | None, bool]:
    """Numbers, or a list of texts (None where missing), or None for what is neither; and whether
    the kind of the column says that it is of categories."""
    kind = str(series.dtype)
    is_category = kind == "category" or kind.startswith(("Categorical", "Enum"))
    if is_category:
        return _plain(_as_list(series)), True
    if kind in ("uint8", "int8", "UInt8", "Int8") and not _has_missing(series):
        return series.to_numpy().astype(kind.lower(), copy=False), False
    if kind.lower().startswith(("int", "uint", "float", "bool", "double")):
        return _as_floats(series), False
    if kind.startswith(("object", "str", "String", "large_string")):
        return _plain(_as_list(series)), False
    if kind.startswith("Decimal"):
        return _as_floats(series), False
    return None, False


def _has_missing(series: Any) -> bool:
    return bool(series.isna().any() if hasattr(series, "isna") else series.null_count())


def _as_floats(series: Any) -> NDArray[np.float64]:
    if hasattr(series, "isna"):
        found: NDArray[np.float64] = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return found
    import polars

    return np.asarray(series.cast(polars.Float64).fill_null(float("nan")).to_numpy())


def _as_list(series: Any) -> list[Any]:
    found: list[Any] = series.to_list()
    # NaN and pandas.NA, which is equal to nothing and has no truth, are missing.
    return [None if _is_missing(value) else value for value in found]


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


def _plain(values: list[Any]) -> NDArray[np.float64] | list[Any]:
    """Numbers where all are, else text."""
    if all(value is None or isinstance(value, (bool, int, float, np.number)) for value in values):
        return np.array([np.nan if value is None else float(value) for value in values])
    return [None if value is None else str(value) for value in values]


def _coded(values: list[Any], name: str) -> tuple[NDArray[np.float64], list[str]]:
    categories = sorted({value for value in values if value is not None})
    code = {text: float(place) for place, text in enumerate(categories)}
    spelled = ", ".join(f"{text}={place}" for place, text in enumerate(categories[:10]))
    more = f" and {len(categories) - 10} more" if len(categories) > 10 else ""
    note = f"text in column {name!r} was coded: {spelled}{more}"
    return np.array([np.nan if v is None else code[v] for v in values]), [note]


def _group_names(series: Any) -> NDArray[Any]:
    found = np.empty(len(series), dtype=object)
    found[:] = _as_list(series)
    return found


def _label(series: Any, name: str) -> NDArray[Any]:
    values, _ = _values(series)
    if values is None:
        raise DataError(f"label {name!r} holds {series.dtype}, neither numbers nor text")
    if isinstance(values, list):
        return np.array(values, dtype=object)
    if values.dtype.kind == "f" and np.all(values == np.round(values)):
        return values if np.abs(values).max(initial=0) >= 2**53 else values.astype(np.int64)
    return values
