"""Data frames, AnnData and arrays of xarray as columns, with their names and kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, UntidyTableError
from fsframe.table.arrays import EXACT, check_whole, is_sparse
from fsframe.table.column_kinds import (
    ColumnKind,
    WordsRead,
    check_readings,
    coded_together,
    level_text,
)
from fsframe.table.labels import LabelColumn
from fsframe.table.number_spellings import plain_numbers
from fsframe.table.roles import ROLES, AskedColumns, Keys, Layout, check_asked
from fsframe.text import counted, did_you_mean, some_of


def frame_names(frame: Any) -> tuple[str, ...]:
    """The names of the columns of a frame."""
    # Columns of a pyarrow table are arrays: it has the names elsewhere.
    return tuple(map(str, getattr(frame, "column_names", frame.columns)))


def series_texts(series: Any) -> list[str]:
    """The cells of a column as text, empty where missing."""
    return ["" if value is None else str(value) for value in as_list(series)]


def frame_texts(frame: Any, column: int) -> list[str]:
    """The cells of a column of a frame as text, empty where missing."""
    return series_texts(columns_of(frame)[column][1])


def series_values(series: Any) -> NDArray[np.float64] | list[str | None]:
    """A column as numbers, NaN where missing, or as texts, None where missing."""
    values, _ = values_of(series)
    if values is None:
        return [None if value is None else str(value) for value in as_list(series)]
    return values if isinstance(values, list) else np.asarray(values, dtype=np.float64)


def columns_of(frame: Any) -> list[tuple[str, Any]]:
    """Names and columns; pyarrow columns with the interface of pandas or polars."""
    frame = _without_arrow(frame)
    if not hasattr(frame, "iloc"):
        return [(series.name, series) for series in frame.get_columns()]
    return [(str(name), frame.iloc[:, k]) for k, name in enumerate(frame.columns)]


def _without_arrow(frame: Any) -> Any:
    """A frame of pyarrow as one of polars, another as it is."""
    if type(frame).__module__.partition(".")[0] != "pyarrow":
        return frame
    import polars

    return polars.from_arrow(frame)


def appended(frame: Any, columns: Mapping[str, Any]) -> Any:
    """The frame with further columns, by their names; pyarrow becomes polars."""
    frame = _without_arrow(frame)
    if hasattr(frame, "iloc"):
        return frame.assign(**columns)
    import polars

    return frame.with_columns(
        [polars.Series(name, values, strict=False) for name, values in columns.items()]
    )


def is_category(dtype: Any) -> bool:
    """Whether a column of that type is categorical."""
    kind = str(dtype)
    return kind == "category" or kind.startswith(("Categorical", "Enum", "dictionary"))


def values_of(series: Any) -> tuple[NDArray[Any] | list[Any] | None, bool]:
    """Numbers, a list of texts (None where missing), or None for other types; and whether the
    column has a categorical type."""
    kind = str(series.dtype)
    if kind.startswith("Sparse["):
        series = series.sparse.to_dense()
        kind = str(series.dtype)
    if is_category(series.dtype):
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
    if kind.lower().startswith(("timedelta", "duration")):
        return _as_seconds(series), False
    if kind.lower().startswith("null"):
        return np.full(len(series), np.nan), False
    return None, False


def _has_missing(series: Any) -> bool:
    return bool(series.isna().any() if hasattr(series, "isna") else series.null_count())


def _as_floats(series: Any) -> NDArray[np.float64]:
    if hasattr(series, "isna"):
        values: NDArray[np.float64] = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return values
    import polars

    return np.asarray(series.cast(polars.Float64).fill_null(float("nan")).to_numpy())


def _as_seconds(series: Any) -> NDArray[np.float64]:
    """A column of durations."""
    if hasattr(series, "isna"):
        return np.asarray(series.dt.total_seconds(), dtype=np.float64)
    return _as_floats(series.dt.total_nanoseconds()) / 1e9


def _as_whole(series: Any) -> NDArray[np.float64]:
    """A column of whole numbers; DataError if two of them would become equal."""
    values = _as_floats(series)
    if (np.abs(values) > EXACT).any():
        known = [value for value in as_list(series) if value is not None]
        check_whole(np.array(known)[:, None], f"column {series.name!r}")
    return values


def as_list(series: Any) -> list[Any]:
    values: list[Any] = series.to_list()
    # NaN and pandas.NA, which equals nothing and has no truth value, are missing.
    return [None if _is_missing(value) else value for value in values]


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


@attrs.frozen(kw_only=True, eq=False)
class FrameParts:
    """The contents of a data frame, called as the arguments of `Dataset.from_arrays`.

    Parameters
    ----------
    X : (n_samples, n_features) float64, uint8 or int8, or a sparse array of scipy
    feature_names : tuple of str
    categorical : (n_features,) bool
    y : (n_samples,) numbers or list of text, or None
    label_name : str
    warnings : tuple of str
    groups : (n_samples,) object, or None
    group_name : str
    kinds : mapping of str to ColumnKind
        Kinds of columns that do not simply hold numbers.
    keep : (n_features,) bool, optional
        Columns that every stage keeps.
    weights : (n_samples,) object, or None
    weight_name : str
    """

    X: Any
    feature_names: tuple[str, ...]
    categorical: NDArray[np.bool_]
    y: NDArray[Any] | list[str] | None
    label_name: str
    warnings: tuple[str, ...]
    groups: NDArray[Any] | None = None
    group_name: str = ""
    kinds: Mapping[str, ColumnKind] = attrs.field(factory=dict)
    keep: Sequence[bool] | None = None
    weights: NDArray[Any] | None = None
    weight_name: str = "weight"


def row_word(frame: Any) -> Callable[[int], str]:
    """What messages call the rows of a frame: by number from 1, and by an index of their own."""
    index: Any = getattr(frame, "index", None)
    if not hasattr(frame, "iloc") or type(index).__name__ == "RangeIndex":
        return lambda row: f"row {row + 1}"
    return lambda row: f"row {row + 1} ({index[row]!s:.40})"


def with_label(
    parts: FrameParts, label: LabelColumn, task: str | None, *, leave_out: bool
) -> tuple[FrameParts, str]:
    """The parts with the label read, of the rows that have one if others are to be left out, and
    the task."""
    assert parts.y is not None
    found = label.read(parts.y, task, leave_out=leave_out)

    def rows(values: Any) -> Any:
        return values if values is None or found.known is None else values[found.known]

    read = attrs.evolve(
        parts,
        X=rows(parts.X),
        y=found.values,
        groups=rows(parts.groups),
        weights=rows(parts.weights),
        warnings=(*found.notes, *parts.warnings),
    )
    return read, found.task


def is_frame(given: Any) -> bool:
    """Whether something is a pandas or polars data frame, or a pyarrow table.

    >>> is_frame([[1, 2]]), is_frame(np.zeros((2, 2)))
    (False, False)
    """
    home = type(given).__module__.partition(".")[0]
    return home in ("pandas", "polars", "pyarrow") and type(given).__name__ in (
        "DataFrame",
        "Table",
        "RecordBatch",
    )


def check_same_order(frame: Any, beside: Mapping[str, Any]) -> None:
    """Raise DataError if values beside a pandas frame have its index in another order.

    Rows are matched by position, so that each value would be given to the row of another.
    """
    ours: Any = getattr(frame, "index", None)
    for what, values in beside.items():
        theirs: Any = getattr(values, "index", None)
        if not (hasattr(ours, "equals") and hasattr(theirs, "equals")) or ours.equals(theirs):
            continue
        if len(ours) == len(theirs) and ours.sort_values().equals(theirs.sort_values()):
            raise DataError(
                f"the {what} have the index of the frame in another order, and rows are matched by "
                "position: give y.loc[X.index], or y.to_numpy() if the order is meant"
            )


def with_columns(frame: Any, beside: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
    """The data frame with values beside it as columns, and their names: ``class`` for the label,
    or another that the frame does not have. pyarrow becomes polars.

    DataError if there are more or fewer than rows.
    """
    taken = {name for name, _ in columns_of(frame)}
    check_same_order(frame, beside)
    names: dict[str, str] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for role, values in beside.items():
        name = "class" if role == "label" else role
        while name in taken:
            name += "_"
        names[role] = name
        arrays[name] = array = np.asarray(values)
        if array.shape != (len(frame),):
            raise DataError(
                f"{role} has shape {array.shape}, the table {len(frame)} rows; give one value for "
                "each row"
            )
    return appended(frame, arrays), names


def take_frame(
    frame: Any,
    layout: Layout | None = None,
    *,
    dates: str | None = None,
    worded: Sequence[str] = (),
) -> FrameParts:
    """The features and the label of a frame.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        Missing values (NaN, NA, null) become NaN; an index is not a column.
    layout : Layout, optional
        By default all columns are features, and there is no label. Columns of a categorical type
        (category, Categorical, Enum, dictionary) are categorical besides.
    dates
        As in `Dataset.from_frame`.
    worded : sequence of str
        Columns that are categorical if they hold text.

    Raises
    ------
    DataError
        Listing all columns that hold neither numbers nor categories.
    """
    columns = columns_of(frame)
    names = [name for name, _ in columns]
    check_readings(dates=dates)
    layout = layout or Layout.of({}, len(names), {})
    features, place = layout.features, layout.label
    if not features:
        usable = counted(int(place is not None), "usable column")
        raise DataError(f"the frame has {usable}; a table needs at least one feature")
    mask = np.array(layout.categorical)
    kept: list[NDArray[Any]] = []
    words = WordsRead(dates=dates, tells_booleans=False)
    for position, column in enumerate(features):
        name, series = columns[column]
        values, nominal = values_of(series)
        order = layout.orders.get(column, _own_order(series))
        nominal = nominal or (name in worded and isinstance(values, list))
        mask[position] = order is None and (nominal or mask[position])
        numbers = _numbers(values, series, name, order, position, bool(mask[position]), words)
        if numbers is not None:
            kept.append(numbers)
    _check_usable(words, [names[column] for column in features], features_only=place is None)
    forms = {values.dtype for values in kept}
    small = len(forms) == 1 and forms <= {np.dtype(np.uint8), np.dtype(np.int8)}
    X = np.empty((len(kept[0]), len(kept)), dtype=kept[0].dtype if small else np.float64)
    for position, values in enumerate(kept):
        X[:, position] = values
    y: NDArray[Any] | list[str] | None = None
    label_name = "class"
    if place is not None:
        label_name = names[place]
        y = label_cells(columns[place][1], label_name)
    return FrameParts(
        X=X,
        feature_names=tuple(names[column] for column in features),
        categorical=mask,
        y=y,
        label_name=label_name,
        warnings=tuple(coded_together(words.notes)),
        kinds=words.kinds,
        keep=layout.keep,
        **layout.of_rows(lambda k: (names[k], group_values(columns[k][1]))),
    )


def _check_usable(words: WordsRead, names: Sequence[str], *, features_only: bool) -> None:
    """Raise DataError listing the columns that cannot be used, by problem.

    What it proposes for a frame of features only is done to the frame; there are no options.
    """
    if features_only:
        categories = "make them categories (X.astype({'NAME': 'category'}))"
        ways = (
            f"drop them from the frame, or {categories}",
            "drop them from the frame, or make them numbers",
        )
    else:
        ways = (
            "drop them (--drop, drop=), declare them categorical (--categorical, "
            "categorical=), or ordinal (--ordinal, ordinal=)",
            "drop them (--drop, drop=), or convert them to days (--dates days, dates='days')",
        )
    held = ((words.texts, "neither numbers nor categories"), (words.dated, "dates"))
    problems = [
        f"column{'s' * (len(places) > 1)} {some_of([repr(names[k]) for k in places], 10)} "
        f"hold{'s' * (len(places) == 1)} {what}: {way}"
        for (places, what), way in zip(held, ways, strict=True)
        if places
    ]
    problems += [
        f"these levels are missing from the order of column {names[k]!r}: "
        f"{', '.join(levels[:10])} (--ordinal '{names[k]}=low<high', ordinal={{{names[k]!r}: "
        "['low', 'high']})"
        if levels
        else f"column {names[k]!r} is of a type without levels"
        for k, levels in words.unknown
    ]
    if problems:
        kind = UntidyTableError if words.texts or words.dated else DataError
        raise kind("the frame: " + "; ".join(problems))


def _own_order(series: Any) -> tuple[str, ...] | None:
    """The order of levels of an ordered categorical column of pandas."""
    kind = series.dtype
    if not getattr(kind, "ordered", False) or not hasattr(kind, "categories"):
        return None
    return tuple(level_text(level) for level in kind.categories)


def _numbers(
    values: NDArray[Any] | list[Any] | None,
    series: Any,
    name: str,
    order: tuple[str, ...] | None,
    place: int,
    nominal: bool,
    words: WordsRead,
) -> NDArray[Any] | None:
    """The `values_of` a column as numbers; None if it cannot be used, which `words` records."""
    kind = str(series.dtype).lower()
    if values is None and order is not None:
        words.unknown.append((place, ()))
    elif values is None and kind.startswith(("date", "timestamp")):
        return words.days(place, name, series_texts(series))
    elif values is None:
        words.texts.append(place)
    if values is None:
        return None
    if not isinstance(values, list) and not order:
        if order is not None:
            return words.ranked(name, values)
        if kind.startswith("bool"):
            words.kinds[name] = ColumnKind("boolean")
        return values
    cells = values if isinstance(values, list) else values.tolist()
    if order is not None:
        cells = [None if cell is None or cell != cell else level_text(cell) for cell in cells]
    if not nominal:
        cells = [cell or None for cell in cells]
    numbers = None if order is not None or nominal else plain_numbers(cells)
    if numbers is not None:
        words.notes.append(f"column {name!r} holds text, and was read as numbers")
        return numbers
    return words.numbers(place, name, cells, order=order, nominal=nominal)


def find_named(names: Sequence[str], keys: Keys, what: str) -> list[int]:
    """Positions of columns by name or number; DataError lists keys that name none, or several."""
    positions: list[int] = []
    wrong: list[str] = []
    for key in [keys] if isinstance(keys, (str, int)) else keys:
        if isinstance(key, str):
            places = [place for place, name in enumerate(names) if name == key]
        else:
            places = [key % len(names)] if -len(names) <= key < len(names) else []
        if len(places) == 1:
            positions += places
        else:
            hint = did_you_mean(key, list(names)) if isinstance(key, str) and not places else ""
            wrong.append(f"{key!r}" + (" (several)" if places else hint))
    if wrong:
        raise DataError(f"{what}: the frame has no column {', '.join(wrong)}")
    return positions


def group_values(series: Any) -> NDArray[Any]:
    """The names of groups in a column, None where missing."""
    names = np.empty(len(series), dtype=object)
    names[:] = as_list(series)
    return names


def label_cells(series: Any, name: str) -> NDArray[Any] | list[str]:
    """The label in a column as numbers, NaN where missing, or texts without outer blanks, empty
    where missing."""
    values, _ = values_of(series)
    if values is None:
        raise DataError(f"label {name!r} holds {series.dtype}, neither numbers nor text")
    if isinstance(values, list):
        return ["" if value is None else value.strip() for value in values]
    return values


def is_annotated(given: Any) -> bool:
    """Whether something is an AnnData object."""
    return type(given).__module__.partition(".")[0] == "anndata" and hasattr(given, "obs")


def is_labelled(given: Any) -> bool:
    """Whether something is an xarray DataArray or Dataset."""
    home = type(given).__module__.partition(".")[0]
    return home == "xarray" and type(given).__name__ in ("DataArray", "Dataset")


def of_labelled(given: Any, beside: Iterable[Any]) -> Any:
    """An xarray DataArray or Dataset as a pandas data frame.

    Parameters
    ----------
    given : DataArray of samples × features, or Dataset of variables over samples
        The second dimension's coordinate names the features; f1, f2, … without one.
    beside : iterable
        Names of coordinates along the samples that become columns: label, groups, ….

    Raises
    ------
    DataError
        If it has another number of dimensions, or there is no coordinate along the samples, or
        column, of a name in `beside`.
    """
    array = type(given).__name__ == "DataArray"
    if len(given.dims) != 1 + array:
        shape = ", ".join(f"{name}: {given.sizes[name]}" for name in given.dims)
        raise DataError(
            f"a DataArray must have two dimensions, samples × features, not ({shape})"
            if array
            else "all variables of an xarray Dataset must have the samples as their only "
            f"dimension, not ({shape}): give the DataArray of the features, with the label "
            "as a coordinate (.assign_coords)"
        )
    samples = next(iter(given.dims))
    others = {str(n): c for n, c in given.coords.items() if c.dims == (samples,)}
    if array:
        frame = given.reset_coords(drop=True).to_pandas()
        if given.dims[1] not in given.coords:
            frame.columns = [f"f{k + 1}" for k in range(frame.shape[1])]
    else:
        frame = given.reset_coords(drop=True).to_dataframe()
    problems = []
    for name in dict.fromkeys(n for n in beside if isinstance(n, str)):
        if name in others:
            frame[name] = others[name].to_numpy()
        elif name in given.coords and given[name].dims:
            problems.append(
                f"coordinate {name!r} runs over {', '.join(map(repr, given[name].dims))}, the "
                f"samples are {samples!r}, the first dimension: transpose the array if they are not"
            )
        elif name not in frame.columns:
            hint = did_you_mean(name, [*others, *map(str, frame.columns)])
            problems.append(f"there is no coordinate along {samples!r}, or column, {name!r}{hint}")
    if problems:
        raise DataError("\n".join(problems))
    return frame


def features_of_frame(frame: Any) -> list[str]:
    """The names of all columns of a frame, or of the features of an AnnData."""
    return [str(name) for name in (frame.var_names if is_annotated(frame) else frame_names(frame))]


def check_asked_of_frame(frame: Any, **roles: Any) -> AskedColumns:
    """`check_asked` of the columns of a frame, or of an AnnData and its `obs`."""
    annotated = is_annotated(frame)
    obs_columns: list[str] = []
    names = features_of_frame(frame)
    if annotated:
        obs_columns = [str(name) for name in frame.obs.columns]
        if not isinstance(roles["label"], str):
            raise DataError(
                "name the column of obs that is the label (label=): "
                f"{', '.join(obs_columns[:12]) or '—'}"
            )
    every = [*names, *obs_columns]

    def find(role: str, keys: Sequence[str | int]) -> list[int]:
        if annotated and role in ("label", "groups", "weight"):
            return [len(names) + place for place in find_named(obs_columns, keys, ROLES[role].word)]
        known = every if ROLES[role].side else names
        return find_named(known, keys, ROLES[role].word)

    n_columns = 0 if annotated else len(names)
    return check_asked(find, lambda k: f"column {every[k]!r}", n_columns, **roles)


def take_annotated(
    given: Any,
    layout: Layout,
    layer: str | None,
    *,
    dates: str | None = None,
) -> FrameParts:
    """The features of an AnnData, or one of its layers, and columns of `obs` as label and groups.

    Places of columns of `obs` follow those of the features. Sparse values stay sparse if that saves
    memory.

    Raises
    ------
    DataError
        If there is no such layer, or a role does not apply to numbers.
    """
    if layout.orders or dates:
        raise DataError(
            "features of an AnnData are numbers: ordinal and dates do not apply to them"
        )
    names = [str(name) for name in given.var_names]

    annotations = dict(enumerate(columns_of(given.obs), start=len(names)))
    assert layout.label is not None
    label_name, label = annotations[layout.label]
    kept = layout.features
    if layer is not None and layer not in given.layers:
        known_layers = list(given.layers)
        raise DataError(
            f"the AnnData has no layer {layer!r}{did_you_mean(layer, known_layers)}; it has "
            f"{', '.join(known_layers) or 'none'}"
        )
    X = given.X if layer is None else given.layers[layer]
    X = X.tocsc() if is_sparse(X) else np.asarray(X)
    return FrameParts(
        X=X if len(kept) == len(names) else X[:, kept],
        feature_names=tuple(names[k] for k in kept),
        categorical=np.array(layout.categorical, dtype=bool),
        keep=layout.keep,
        y=label_cells(label, label_name),
        label_name=label_name,
        warnings=(),
        **layout.of_rows(lambda k: (annotations[k][0], group_values(annotations[k][1]))),
    )
