"""The table of a selector's result by feature, and the statistics in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from fsframe.errors import DataError, PluginError, RequestError
from fsframe.method.ranking import rank_by_score
from fsframe.method.statistics import adjusted_p_values
from fsframe.table.arrays import are_columns
from fsframe.table.dataset import Dataset


def class_means(data: Dataset) -> list[tuple[str, NDArray[Any]]]:
    """Direction of association of each feature with the label, and its mean in every class.

    Rows are weighted. Missing values are left out; nominal columns have no mean.
    """
    if data.task == "survival":
        return []
    direction = np.full(data.n_features, None, dtype=object)
    if data.task == "regression":
        r = _correlations(data)
        direction[r > 0] = f"rises with {data.label_name}"
        direction[r < 0] = f"falls with {data.label_name}"
        return [("direction", direction), ("correlation", np.clip(r, -1.0, 1.0))]
    means = np.full((data.n_classes, data.n_features), np.nan)
    rows = [np.flatnonzero(data.y == code) for code in range(data.n_classes)]
    for place, values, weight in _weighted_blocks(data):
        for code, members in enumerate(rows):
            means[code, place] = _means(values[members], weight[members])
    means[:, data.categorical] = np.nan
    complete = np.flatnonzero(~np.isnan(means).any(axis=0))
    word = "higher" if data.n_classes == 2 else "highest"
    for column in complete:
        best = int(np.argmax(means[:, column]))
        if means[:, column].min() < means[best, column]:
            direction[column] = f"{word} in {data.classes[best]}"
    of_classes = [(f"mean_{label}", means[code]) for code, label in enumerate(data.classes)]
    return [("direction", direction), *of_classes]


def _weighted_blocks(
    data: Dataset,
) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.float64]]]:
    """Blocks of columns: their place, their values, and the weights of these, 0 where missing."""
    counts = data.row_counts.astype(np.float64)
    for start, stop in data.column_blocks():
        block = np.asarray(data.columns(start, stop), dtype=np.float64)
        known = ~np.isnan(block)
        yield slice(start, stop), np.where(known, block, 0.0), known * counts[:, None]


def _means(values: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weighted means of columns; NaN without a known value."""
    total, count = (values * weight).sum(axis=0), weight.sum(axis=0)
    return np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0)


def _correlations(data: Dataset) -> NDArray[np.float64]:
    """Correlation of each numeric column with a numeric target."""
    r, target = np.full(data.n_features, np.nan), data.y[:, None]
    for place, values, weight in _weighted_blocks(data):
        x, y = values - _means(values, weight), target - _means(target, weight)
        size = np.sqrt((weight * x**2).sum(axis=0) * (weight * y**2).sum(axis=0))
        product = (weight * x * y).sum(axis=0)
        r[place] = np.divide(product, size, out=np.full(size.size, np.nan), where=size > 0)
    r[data.categorical] = np.nan
    return r


Floats = NDArray[np.float64]
_Q_NAMES = ("adjusted_p_values", "q_values", "p_adjusted")
# Two-sided 95 %.
_NORMAL = 1.959963984540054


class SelectionLike(Protocol):
    """The result of one stage, such as `Selection`."""

    @property
    def selected(self) -> NDArray[np.intp]: ...
    @property
    def scores(self) -> Floats: ...
    @property
    def tables(self) -> Mapping[str, NDArray[Any]]: ...
    @property
    def features_in(self) -> NDArray[np.intp] | None: ...


def by_common_names(tables: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """`tables` with ``_`` in place of ``-`` in their names."""
    return {name.replace("-", "_"): np.asarray(array) for name, array in tables.items()}


def columns_seen(selection: SelectionLike, n: int) -> NDArray[np.intp]:
    """The columns, of n, that the stage considered."""
    return np.arange(n) if selection.features_in is None else selection.features_in


def full_ranking(selection: SelectionLike) -> NDArray[np.intp]:
    """All ranked columns, best first: the kept ones, then the others that have a score."""
    ranked = rank_by_score(selection.scores)
    return np.concatenate([selection.selected, ranked[~np.isin(ranked, selection.selected)]])


def _shares(tables: Mapping[str, NDArray[Any]], names: Sequence[str], m: int) -> Floats | None:
    """The first table among `names` with m numbers from 0 to 1, or NaN; None if there is none."""
    for name in names:
        array = tables.get(name)
        if array is None or array.shape != (m,) or array.dtype.kind not in "fiu":
            continue
        values = array.astype(np.float64)
        known = values[~np.isnan(values)]
        if not known.size or (known.min() >= 0 and known.max() <= 1):
            return values
    return None


def feature_statistics(n: int, selection: SelectionLike) -> dict[str, NDArray[Any]]:
    """p, q and frequency of every column of the table that the stage tested, NaN elsewhere."""
    tables, seen = by_common_names(selection.tables), columns_seen(selection, n)
    if "pairs" in tables:
        # The statistics are those of pairs.
        return {}
    where = seen
    if "columns" in tables:
        if not are_columns(tables["columns"], seen.size):
            return {}
        where = seen[tables["columns"]]
    spread = {}
    for name, values in statistics(tables, where.size).items():
        spread[name] = np.full(n, np.nan)
        spread[name][where] = values
    return {name: spread[name] for name in spread if name not in ("G2", "F", "df", "effect", "se")}


def statistics(tables: Mapping[str, NDArray[Any]], m: int) -> dict[str, NDArray[Any]]:
    """Statistics of each of the m features or pairs that a stage tested, from its tables."""
    columns: dict[str, NDArray[Any]] = {}
    for name, title in (
        ("g2", "G2"),
        ("f", "F"),
        ("freedom", "df"),
        ("effect", "effect"),
        ("standard_error", "se"),
    ):
        array = tables.get(name)
        if array is not None and array.shape == (m,) and array.dtype.kind in "fiu":
            is_integer = title == "df" and array.dtype.kind in "iu"
            columns[title] = array.astype(np.int64 if is_integer else np.float64)
    p, q = _shares(tables, ("p_values",), m), _shares(tables, _Q_NAMES, m)
    if p is None and q is not None:
        # Of stages that bound the share of false features without a test of each.
        columns["q"] = q
    elif p is not None:
        columns["p"] = p
        columns["q"] = (
            adjusted_p_values(p) if q is None or np.array_equal(q, p, equal_nan=True) else q
        )
    return columns | _frequency(tables, m)


def _frequency(tables: Mapping[str, NDArray[Any]], m: int) -> dict[str, NDArray[Any]]:
    """Frequency of selection, with bounds unless the resamples are folds."""
    share = _shares(tables, ("frequency",), m)
    kept = tables.get("kept")
    n = 0 if kept is None or kept.ndim not in (1, 2) else len(kept)
    if share is None and kept is not None and n and kept.shape == (n, m) and kept.dtype.kind == "b":
        share = kept.mean(axis=0)
    elif share is None and n and "z" in tables:
        z = tables["z"]
        if z.shape == (m,) and z.dtype.kind in "iu" and (z >= 0).all() and (z <= n).all():
            share = z / n
    if share is None:
        return {}
    low, high = _shares(tables, ("lower",), m), _shares(tables, ("upper",), m)
    if low is None or high is None:
        if not n or "fold" in tables:
            return {"frequency": share}
        low, high = _wilson(share, n)
    return {"frequency": share, "frequency_low": low, "frequency_high": high}


def _wilson(share: Floats, n: int) -> tuple[Floats, Floats]:
    square = _NORMAL**2 / n
    middle = (share + square / 2) / (1 + square)
    half = _NORMAL * np.sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    # At 0 and 1 an end equals the share up to rounding.
    return np.clip(middle - half, 0.0, share), np.clip(middle + half, share, 1.0)


# In columns of whole numbers.
MISSING = -1


@attrs.frozen(eq=False)
class AnswerTable:
    """Columns of equal length, in order, with unique names.

    Parameters
    ----------
    columns : mapping of str to (n,) array
        Texts (object; None is missing), truth values, float64 (NaN is missing), or int64 (−1 is
        missing).
    """

    columns: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return next((len(column) for column in self.columns.values()), 0)

    def head(self, n: int | None) -> AnswerTable:
        """The first n rows; all for None."""
        return AnswerTable({name: column[:n] for name, column in self.columns.items()})

    def where(self, mask: NDArray[np.bool_]) -> AnswerTable:
        """The rows selected by `mask`."""
        return AnswerTable({name: column[mask] for name, column in self.columns.items()})

    def cells(self, name: str) -> list[Any]:
        """The values of a column as Python objects, None where missing."""
        column = self.columns[name]
        values = column.tolist()
        if column.dtype.kind == "f":
            return [None if value != value else value for value in values]
        if column.dtype.kind == "i":
            return [None if value == MISSING else value for value in values]
        return list(values)

    def to_frame(self, library: str = "polars") -> Any:
        """A data frame with the same columns.

        Parameters
        ----------
        library : {"polars", "pandas"}

        Raises
        ------
        RequestError
            If `library` is neither.
        PluginError
            If it is not installed.
        """
        if library not in ("polars", "pandas"):
            raise RequestError(f"library {library!r} is neither polars nor pandas")
        cells = {name: self.cells(name) for name in self.columns}
        if library == "pandas":
            try:
                import pandas
            except ImportError:
                raise PluginError(
                    "pandas is not installed; install it, or use a polars data frame: to_frame()"
                ) from None
            kinds: dict[str, Any] = {"i": "Int64", "f": "float64", "b": "bool", "O": "object"}
            return pandas.DataFrame(
                {
                    name: pandas.Series(cells[name], dtype=kinds[column.dtype.kind])
                    for name, column in self.columns.items()
                }
            )
        import polars

        types = {"i": polars.Int64, "f": polars.Float64, "b": polars.Boolean, "O": polars.String}
        return polars.DataFrame(
            cells, schema={name: types[c.dtype.kind] for name, c in self.columns.items()}
        )


def feature_table(
    names: Sequence[str],
    stages: Sequence[tuple[str, SelectionLike]],
    data: Dataset | None = None,
) -> AnswerTable:
    """One row per feature: the kept ones in rank order, then the others, best first.

    Parameters
    ----------
    names : sequence of str
        Names of all columns of the table.
    stages : sequence of (str, Selection)
        Names and results of the stages, left to right; the last one is that of the chain.
    data : Dataset, optional
        The table, for `direction` and the means.

    Returns
    -------
    AnswerTable
        ``rank`` (from 1, of those with a score), ``feature``, ``kept``, ``score``; if the last
        stage gives them ``p``, ``q``, ``frequency``, ``frequency_low``, ``frequency_high``; with
        `data`, ``direction`` and ``mean_CLASS`` for each class (``correlation`` for a numeric
        target); then for each earlier stage ``STAGE_rank``, ``STAGE_score``, ``STAGE_kept``, and
        its p, q and frequency.

    Raises
    ------
    DataError
        If `data` has other columns than `names`.
    RequestError
        If there is no stage.

    Notes
    -----
    q is the adjusted p-value of the stage, or else that of Benjamini and Hochberg over the features
    it tested (1995, J. R. Stat. Soc. B 57:289). The interval of a frequency is that of the stage,
    or else Wilson's 95 % interval over its resamples (1927, J. Am. Stat. Assoc. 22:209) for the
    share of resamples *of this table* that keep the feature. Folds of a cross-validation share
    rows, so they have none. O(p log p) per stage, and one pass over `data`.

    Examples
    --------
    >>> from fsframe.method.selection import Selection
    >>> selection = Selection(selected=[1], scores=[0.1, 0.9], tables={"p_values": [0.2, 0.01]})
    >>> table = feature_table("ab", [("f", selection)])
    >>> {name: column.tolist() for name, column in table.columns.items()}
    {'rank': [1, 2], 'feature': ['b', 'a'], 'kept': [True, False], 'score': [0.9, 0.1],
     'p': [0.01, 0.2], 'q': [0.02, 0.2]}
    """
    if data is not None and tuple(data.feature_names) != tuple(names):
        raise DataError(f"the columns of {data.name!r} are not those of this result")
    if not stages:
        raise RequestError("the chain has no stage that selects, so its result has no features")
    n = len(names)
    *earlier, (_, last) = stages
    order, place = _order(n, [selection for _, selection in stages])
    columns: list[tuple[str, NDArray[Any]]] = [
        ("rank", place),
        ("feature", texts_of(names)),
        ("kept", marked(n, last.selected)),
        ("score", np.asarray(last.scores, dtype=np.float64)),
        *feature_statistics(n, last).items(),
    ]
    if data is not None:
        columns += class_means(data)
    for label, selection in _labelled(earlier):
        columns += [
            (f"{label}_rank", _order(n, [selection])[1]),
            (f"{label}_score", np.asarray(selection.scores, dtype=np.float64)),
            (f"{label}_kept", marked(n, selection.selected)),
            *(
                (f"{label}_{key}", column)
                for key, column in feature_statistics(n, selection).items()
            ),
        ]
    return AnswerTable(_distinct((name, column[order]) for name, column in columns))


def _distinct(columns: Iterable[tuple[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """The columns under unique names, since a class may have the name of a stage."""
    distinct: dict[str, NDArray[Any]] = {}
    for name, column in columns:
        unique, number = name, 1
        while unique in distinct:
            number += 1
            unique = f"{name}_{number}"
        distinct[unique] = column
    return distinct


def texts_of(names: Sequence[str]) -> NDArray[Any]:
    """`names` as an object array."""
    texts = np.empty(len(names), dtype=object)
    texts[:] = list(names)
    return texts


def marked(n: int, columns: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether each of n columns is among `columns`."""
    return np.isin(np.arange(n), columns)


def _order(n: int, stages: Sequence[SelectionLike]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """All columns, best first, and the rank of those that the last stage considered.

    The others follow in the order of the stage before it, and so on.
    """
    last = full_ranking(stages[-1])
    place = np.full(n, MISSING)
    place[last] = np.arange(1, last.size + 1)
    earlier = [full_ranking(stage) for stage in reversed(stages[:-1])]
    order = dict.fromkeys(np.concatenate([last, *earlier, np.arange(n)]).tolist())
    return np.array(list(order), dtype=np.intp), place


def _labelled(stages: Sequence[tuple[str, SelectionLike]]) -> list[tuple[str, SelectionLike]]:
    """Names of stages without their providers, numbered if they repeat."""
    plain = [name.rpartition("/")[2] for name, _ in stages]
    return [
        (name if plain.count(name) == 1 else f"{name}_{place + 1}", selection)
        for place, (name, (_, selection)) in enumerate(zip(plain, stages, strict=True))
    ]
