"""The columns of data frames, with their names and kinds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, one_line
from fsframe.table.arrays import EXACT
from fsframe.table.column_kinds import level_text
from fsframe.table.roles import Layout
from fsframe.table.spelling.column_names import name_rows
from fsframe.table.spelling.dialect import quoted
from fsframe.table.spelling.number_spellings import plain_numbers
from fsframe.table.spelling.text_file import is_missing, is_number, known_texts
from fsframe.table.table_columns import BadColumn, Table, Taken


def frame_names(frame: Any) -> tuple[str, ...]:
    """The names of the columns of a frame."""
    # Columns of a pyarrow table are arrays: it has the names elsewhere.
    return tuple(map(str, getattr(frame, "column_names", frame.columns)))


def series_texts(series: Any) -> list[str]:
    """The cells of a column as text, empty where missing."""
    return ["" if value is None else str(value) for value in as_list(series)]


def frame_texts(frame: Any, column: int) -> list[str]:
    """The cells of a column of a frame as text, empty where missing."""
    frame = _without_arrow(frame)
    series = frame.iloc[:, column] if hasattr(frame, "iloc") else frame.to_series(column)
    return series_texts(series)


def columns_of(frame: Any) -> list[tuple[str, Any]]:
    """Names and columns; those of pyarrow become columns of polars."""
    frame = _without_arrow(frame)
    if not hasattr(frame, "iloc"):
        return [(series.name, series) for series in frame.get_columns()]
    return [(str(name), frame.iloc[:, k]) for k, name in enumerate(frame.columns)]


@contextlib.contextmanager
def reading_errors(what: str) -> Iterator[None]:
    """Turn errors of the libraries that read files into DataErrors about `what`."""
    try:
        yield
    except BaseException as error:
        library = type(error).__module__.partition(".")[0]
        # Panics in the Rust code of polars do not derive from `Exception`.
        if isinstance(error, OSError) or library in ("polars", "pyarrow", "pyo3_runtime"):
            raise DataError(f"{what} cannot be read: {one_line(error)}") from error
        raise


def _without_arrow(frame: Any) -> Any:
    """A pyarrow table as a polars frame; any other frame as it is."""
    if type(frame).__module__.partition(".")[0] != "pyarrow":
        return frame
    import polars

    names = frame.schema.names
    if len({*names}) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"column name {name!r} occurs twice in the pyarrow table: rename one of the "
            "columns (table.rename_columns)"
        )
    with reading_errors("the pyarrow table"):
        return polars.from_arrow(frame)


def appended(frame: Any, columns: Mapping[str, Any]) -> Any:
    """The frame with further columns, by their names; pyarrow becomes polars."""
    frame = _without_arrow(frame)
    if hasattr(frame, "iloc"):
        # Names of several levels cannot be joined by plain ones.
        return frame.set_axis(frame_names(frame), axis=1).assign(**columns)
    import polars

    return frame.with_columns(
        [polars.Series(name, values, strict=False) for name, values in columns.items()]
    )


def is_category(dtype: Any) -> bool:
    """Whether a column of that type is categorical."""
    kind = str(dtype)
    return kind == "category" or kind.startswith(("Categorical", "Enum", "dictionary"))


def cells_of(series: Any) -> NDArray[Any] | list[str]:
    """A column as numbers, NaN where missing, or as texts like those of `column_texts`.

    Truth values, durations (in seconds) and objects that are all numbers count as numbers.
    """
    kind = str(series.dtype)
    if kind.startswith("Sparse["):
        series = series.sparse.to_dense()
        kind = str(series.dtype)
    if (small := _byte_type(series)) is not None:
        return np.asarray(series.to_numpy().astype(small, copy=False))
    plain = kind.lower()
    if plain.startswith(("int", "uint", "float", "bool", "double", "decimal")):
        return _as_floats(series)
    if plain.startswith(("timedelta", "duration")):
        return _as_seconds(series)
    if plain.startswith("null"):
        return np.full(len(series), np.nan)
    values = as_list(series)
    if all(value is None or isinstance(value, (bool, int, float, np.number)) for value in values):
        return np.array([np.nan if value is None else float(value) for value in values])
    return _as_texts(values, series.dtype)


def column_texts(series: Any) -> list[str]:
    """The cells of a column as text, empty where missing.

    Outer blanks are stripped unless the column has a categorical type.
    """
    return _as_texts(as_list(series), series.dtype)


def _as_texts(values: list[Any], dtype: Any) -> list[str]:
    if is_category(dtype):
        return ["" if value is None else str(value) for value in values]
    return ["" if value is None else str(value).strip() for value in values]


def _has_missing(series: Any) -> bool:
    return bool(series.isna().any() if hasattr(series, "isna") else series.null_count())


def _as_floats(series: Any) -> NDArray[np.float64]:
    if hasattr(series, "isna"):
        values: NDArray[np.float64] = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return values
    import polars

    return np.asarray(series.cast(polars.Float64).fill_null(float("nan")).to_numpy())


def _as_seconds(series: Any) -> NDArray[np.float64]:
    """A column of durations as seconds."""
    if hasattr(series, "isna"):
        return np.asarray(series.dt.total_seconds(), dtype=np.float64)
    return _as_floats(series.dt.total_nanoseconds()) / 1e9


def as_list(series: Any) -> list[Any]:
    """The cells of a column, None where missing."""
    values: list[Any] = series.to_list()
    # NaN and pandas.NA, which equals nothing and has no truth value, are missing.
    return [None if type(value) is not str and _is_missing(value) else value for value in values]


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True
    except ValueError:
        # An array, which has no single truth value.
        return False


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


def is_annotated(given: Any) -> bool:
    """Whether something is an AnnData object."""
    return type(given).__module__.partition(".")[0] == "anndata" and hasattr(given, "obs")


def check_same_order(frame: Any, beside: Mapping[str, Any]) -> None:
    """Raise DataError if values given with a pandas frame have its index in another order, or a
    part of it.

    Rows are matched by position, so that values would go to the wrong rows. A part is no reason if
    either index only counts rows from 0, as after `reset_index` or a transformation.
    """
    ours: Any = getattr(frame, "index", None)
    for what, values in beside.items():
        theirs: Any = getattr(values, "index", None)
        if not (hasattr(ours, "equals") and hasattr(theirs, "equals")) or ours.equals(theirs):
            continue
        if len(ours) != len(theirs):
            continue
        if ours.sort_values().equals(theirs.sort_values()):
            raise DataError(
                f"the index of the {what} is that of the frame in another order, and rows are "
                "matched by position: give y.loc[X.index], or y.to_numpy() if the order is meant"
            )
        shared = int(theirs.isin(ours).sum())
        counted = values.reset_index(drop=True).index
        if shared and not (ours.equals(counted) or theirs.equals(counted)):
            raise DataError(
                f"the index of the {what} shares {shared} of {len(ours)} entries with that of the "
                "frame, and rows are matched by position: give both for the same rows "
                "(X, y = X.align(y, join='inner', axis=0)), or y.to_numpy() if the order is meant"
            )


def with_columns(frame: Any, beside: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
    """The data frame with further values as columns, and the names of these by role.

    The label is called ``class`` and others by their role, with underscores if the frame has such a
    column. pyarrow becomes polars. DataError if there are more or fewer values than rows.
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
            flat = array.shape == (len(frame), 1)
            raise DataError(
                f"{role} has shape {array.shape}, the table {len(frame)} rows; give "
                + ("numpy.ravel(y)" if flat else "one value for each row")
            )
    return appended(frame, arrays), names


DATA_FRAME = "data frame"
"""`Table.form` of a data frame."""


@attrs.frozen(eq=False)
class FrameColumns(Table):
    """The columns of a data frame.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        Missing values (NaN, NA, null) become NaN; an index is not a column. Words for a missing
        value mean one in text, but are levels of a categorical type.
    what : object
        Name of the frame in messages.
    form : str
        The format, if a plugin's reader has returned it.
    """

    frame: Any
    what: object = "the frame"
    form: str = DATA_FRAME
    _columns: list[tuple[str, Any]] = attrs.field(init=False, repr=False)
    names: tuple[str, ...] = attrs.field(kw_only=True, repr=False)

    @_columns.default
    def _columns_of_frame(self) -> list[tuple[str, Any]]:
        return columns_of(self.frame)

    @names.default
    def _names_in_frame(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self._columns)

    @property
    def path(self) -> Path:
        """The file, or the name in messages."""
        return Path(str(self.what))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def row(self, row: int) -> str:
        """The name of a row, for messages: its number from 1, and its index if it has one."""
        index: Any = getattr(self.frame, "index", None)
        if not hasattr(self.frame, "iloc") or type(index).__name__ == "RangeIndex":
            return f"row {row + 1}"
        return f"row {row + 1} ({index[row]!s:.40})"

    def word(self, column: int) -> str:
        """The name of a column, for messages."""
        return f"column {self.names[column]!r}"

    @cached_property
    def has_row_names(self) -> bool:
        """Whether the first column, which has no name, names or counts the rows."""
        if self.n_fields < 3 or self.names[0]:
            return False
        return name_rows(series_texts(self._columns[0][1]), is_missing)

    def is_typed(self, column: int) -> bool:
        """Whether a column has a categorical type."""
        return is_category(self._columns[column][1].dtype)

    def by_type(self, layout: Layout) -> Layout:
        """The layout with columns of a categorical type as nominal, or ordinal if pandas says so.

        Orders that the layout has already take precedence.
        """
        own = {column: _own_order(self._columns[column][1]) for column in layout.features}
        ordered = {column: order for column, order in own.items() if order is not None}
        return attrs.evolve(
            layout,
            orders={**ordered, **layout.orders},
            categorical=[
                column not in ordered
                and column not in layout.orders
                and (nominal or self.is_typed(column))
                for column, nominal in zip(layout.features, layout.categorical, strict=True)
            ],
        )

    def texts(self, columns: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
        """The cells of some columns as text, empty where missing, one after the other."""
        for column in columns:
            yield column, column_texts(self._columns[column][1])

    def take(
        self, columns: Sequence[int], texts: Sequence[int] = (), label: int | None = None
    ) -> Taken:
        """Some columns (ascending) as numbers, the label as numbers or texts, others as texts.

        Columns of text that are all numbers count as numbers. The result holds bytes if all columns
        are of one type of bytes.
        """
        forms = {_byte_type(self._columns[column][1]) for column in columns}
        kind = forms.pop() if len(forms) == 1 else None
        taken = Taken(np.empty((self.n_rows, len(columns)), kind or np.float64), {})
        for place, column in enumerate(columns):
            series = self._columns[column][1]
            cells = cells_of(series)
            if isinstance(cells, np.ndarray):
                taken.X[:, place] = cells
                if str(series.dtype).lower().startswith("bool"):
                    taken.truths.append(column)
                continue
            taken.X[:, place] = np.nan
            typed = self.is_typed(column)
            told = {*cells} - {""}
            odd = {text for text in told if typed or not (is_number(text) or is_missing(text))}
            if odd:
                row = next(row for row, text in enumerate(cells) if text in odd)
                many = sum(map(odd.__contains__, cells))
                taken.bad[column] = BadColumn(column, row, cells[row], many)
            elif (numbers := plain_numbers(known_texts(cells))) is not None:
                taken.X[:, place] = numbers
                taken.spelled.append(column)
        taken.texts.update(self.texts(texts))
        if label is not None:
            series = self._columns[label][1]
            cells = cells_of(series)
            # Beyond `EXACT`, only texts tell whether two numbers become the same float64.
            large = isinstance(cells, np.ndarray) and bool((np.abs(cells) > EXACT).any())
            cells = column_texts(series) if large else cells
            if isinstance(cells, list):
                cells = [text.strip() for text in cells]
            taken.texts[label] = cells
        return taken

    def _spelled(self, columns: Sequence[int]) -> Iterator[list[str]]:
        lists = [series_texts(self._columns[column][1]) for column in columns]
        yield from ([quoted(text, ",") for text in row] for row in zip(*lists, strict=True))


def _byte_type(series: Any) -> Any:
    """The type of a column of bytes without missing values; None for others."""
    kind = str(series.dtype)
    small = kind in ("uint8", "int8", "UInt8", "Int8") and not _has_missing(series)
    return np.dtype(kind.lower()) if small else None


def _own_order(series: Any) -> tuple[str, ...] | None:
    """The levels of an ordered categorical column of pandas, in order; None for others."""
    kind = series.dtype
    if not getattr(kind, "ordered", False) or not hasattr(kind, "categories"):
        return None
    return tuple(level_text(level) for level in kind.categories)


def group_values(series: Any) -> NDArray[Any]:
    """The names of groups in a column, None where missing."""
    names = np.empty(len(series), dtype=object)
    names[:] = as_list(series)
    return names
