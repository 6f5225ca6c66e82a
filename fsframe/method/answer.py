"""Tables of a selector's result, by feature and by pair, and their statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsframe.errors import DataError, PluginError, RequestError
from fsframe.method.ranking import adjusted_p_values, rank_by_score
from fsframe.table.arrays import are_columns, floats, indices, places_among
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
    counts = np.ones(data.n_samples) if data.counts is None else data.counts.astype(np.float64)
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


class Pair(NamedTuple):
    """Two columns and the weight of their pair."""

    a: int
    b: int
    weight: float


@attrs.frozen(eq=False)
class PairWeights:
    """Symmetric weights over pairs of columns, dense or as a list of pairs.

    Parameters
    ----------
    columns : (m,) int
        The columns that the rows and columns of the weights stand for.
    matrix : (m, m) float64, symmetric, optional
        The weights; the diagonal holds main effects.
    i, j, weight : (n_pairs,) arrays, optional
        Instead of `matrix`, if all weights would not fit: positions in `columns`, ``i < j``; pairs
        not listed are unknown or negligible.
    diagonal : (m,) float64, optional
        Main effects, if the weights are a list of pairs.

    Notes
    -----
    Memory is 8 m² bytes dense, 24 bytes per pair as a list.
    """

    columns: NDArray[np.intp] = attrs.field(converter=indices)
    matrix: NDArray[np.float64] | None = attrs.field(default=None, converter=floats)
    i: NDArray[np.intp] | None = attrs.field(default=None, converter=indices)
    j: NDArray[np.intp] | None = attrs.field(default=None, converter=indices)
    weight: NDArray[np.float64] | None = attrs.field(default=None, converter=floats)
    diagonal: NDArray[np.float64] | None = attrs.field(default=None, converter=floats)

    def __attrs_post_init__(self) -> None:
        m = len(self.columns)
        if self.matrix is not None:
            if self.matrix.shape != (m, m):
                raise ValueError(f"pair weights of shape {self.matrix.shape} over {m} columns")
            same = np.array_equal(self.matrix, self.matrix.T)
            if not (same or np.allclose(self.matrix, self.matrix.T, 1e-9, 1e-12, equal_nan=True)):
                raise ValueError("pair weights are not symmetric")
        elif self.i is None or self.j is None or self.weight is None:
            raise ValueError("pair weights need a matrix, or i, j and weight")
        elif not (len(self.i) == len(self.j) == len(self.weight)) or np.any(self.i >= self.j):
            raise ValueError("listed pairs need i < j and one weight each")
        elif len(self.i) and (self.i.min() < 0 or self.j.max() >= m):
            raise ValueError(f"listed pairs name positions outside 0 … {m - 1}")
        elif self.diagonal is not None and self.diagonal.shape != (m,):
            raise ValueError(f"a diagonal of shape {self.diagonal.shape} over {m} columns")
        if len(np.unique(self.columns)) != m:
            raise ValueError("pair weights name a column twice")

    @classmethod
    def from_triplets(
        cls,
        columns: ArrayLike,
        i: ArrayLike,
        j: ArrayLike,
        weight: ArrayLike,
        diagonal: ArrayLike | None = None,
    ) -> PairWeights:
        """Pair weights as a list of pairs; `i` and `j` are positions in `columns`, i < j."""
        return cls(columns, None, i, j, weight, diagonal)

    def triplets(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """Positions i < j and weights of all stored pairs."""
        if self.matrix is None:
            assert self.i is not None and self.j is not None and self.weight is not None
            return self.i, self.j, self.weight
        i, j = np.triu_indices(len(self.columns), k=1)
        return i, j, self.matrix[i, j]

    def main_effects(self) -> NDArray[np.float64] | None:
        """The diagonal as (m,), or None if only pairs are known."""
        return self.diagonal if self.matrix is None else np.diagonal(self.matrix)

    def top(self, n: int | None = None) -> list[Pair]:
        """The n pairs of largest absolute weight, signs kept, best first, ties by column.

        Weights of zero are left out.

        >>> PairWeights([4, 7, 9], [[0, 1, -3], [1, 0, 2], [-3, 2, 0]]).top(2)
        [Pair(a=4, b=9, weight=-3.0), Pair(a=7, b=9, weight=2.0)]
        """
        i, j, weight = self.triplets()
        live = np.flatnonzero(weight)
        a, b, w = self.columns[i[live]], self.columns[j[live]], weight[live]
        a, b = np.minimum(a, b), np.maximum(a, b)
        order = np.lexsort((b, a, -np.abs(w)))[:n]
        return [Pair(int(a[k]), int(b[k]), float(w[k])) for k in order]

    def count(self) -> int:
        """Number of pairs with a weight other than zero."""
        return int(np.count_nonzero(self.triplets()[2]))

    def restrict(self, columns: NDArray[np.intp]) -> PairWeights:
        """The weights among `columns` only, renumbered to positions in `columns`."""
        place = places_among(columns, self.columns)
        kept = np.flatnonzero(place >= 0)
        names = place[kept]
        if self.matrix is not None:
            return PairWeights(names, self.matrix[np.ix_(kept, kept)])
        assert self.i is not None and self.j is not None and self.weight is not None
        inverse = np.full(len(self.columns), -1, dtype=np.intp)
        inverse[kept] = np.arange(len(kept))
        both = (inverse[self.i] >= 0) & (inverse[self.j] >= 0)
        diagonal = None if self.diagonal is None else self.diagonal[kept]
        return PairWeights.from_triplets(
            names, inverse[self.i[both]], inverse[self.j[both]], self.weight[both], diagonal
        )

    def lift(self, columns: NDArray[np.intp]) -> PairWeights:
        """The same weights, with position p renamed to ``columns[p]``."""
        return attrs.evolve(self, columns=columns[self.columns])


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
    @property
    def pair_weights(self) -> PairWeights | None: ...
    @property
    def carried(self) -> frozenset[str]: ...


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
            whole = title == "df" and array.dtype.kind in "iu"
            columns[title] = array.astype(np.int64 if whole else np.float64)
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


def pairs_tested(tables: Mapping[str, NDArray[Any]], m: int) -> NDArray[np.intp] | None:
    """The tested pairs as (q, 2) positions among the m columns seen; None if there are none."""
    pairs = tables.get("pairs")
    if pairs is None or pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        return None
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < m):
        return None
    return pairs.astype(np.intp)


_MISSING = -1


class PairsTested(Protocol):
    """Tests of pairs of columns of the table, such as `PairTests`."""

    @property
    def pairs(self) -> NDArray[np.intp]: ...
    @property
    def p_values(self) -> Floats: ...
    @property
    def q_values(self) -> Floats: ...
    @property
    def tables(self) -> Mapping[str, NDArray[Any]]: ...


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
            return [None if value == _MISSING else value for value in values]
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
        ("feature", _texts(names)),
        ("kept", _marked(n, last.selected)),
        ("score", np.asarray(last.scores, dtype=np.float64)),
        *feature_statistics(n, last).items(),
    ]
    if data is not None:
        columns += class_means(data)
    for label, selection in _labelled(earlier):
        columns += [
            (f"{label}_rank", _order(n, [selection])[1]),
            (f"{label}_score", np.asarray(selection.scores, dtype=np.float64)),
            (f"{label}_kept", _marked(n, selection.selected)),
            *(
                (f"{label}_{key}", column)
                for key, column in feature_statistics(n, selection).items()
            ),
        ]
    return AnswerTable(_distinct((name, column[order]) for name, column in columns))


def pair_table(
    names: Sequence[str],
    stages: Sequence[tuple[str, SelectionLike]],
    tests: PairsTested | None = None,
) -> AnswerTable:
    """One row per pair that was weighted or tested by the last stage with pairs, best first.

    Parameters
    ----------
    names, stages
        As in `feature_table`.
    tests : PairTests, optional
        Tests of pairs after the last stage.

    Returns
    -------
    AnswerTable
        ``rank``, ``feature``, ``with``, ``kept`` (whether both are), and if known ``weight``,
        ``G2`` or ``F``, ``df``, ``p``, ``q``, ``frequency`` with its bounds; sorted by p, then by
        absolute weight, then by column. Untested pairs of weight zero are left out. If the stage
        has p-values, those of `tests` are ``interaction_p``, and so on.

    Examples
    --------
    >>> from fsframe.method.answer import PairWeights
    >>> from fsframe.method.selection import Selection
    >>> weights = PairWeights([0, 1], [[0, 3], [3, 0]])
    >>> selection = Selection(selected=[0], scores=[1.0, 1.0], pair_weights=weights)
    >>> pair_table("ab", [("f", selection)]).columns["weight"]
    array([3.])
    """
    selection = _pair_finder(stages)
    empty = np.empty((0, 2), np.intp)
    pairs, columns = (empty, {}) if selection is None else _weighed_or_tested(selection, len(names))
    if tests is not None:
        pairs, columns = _with_tests(pairs, columns, tests, len(names))
    order = _pair_order(pairs, columns)
    texts = _texts(names)
    in_answer = _marked(len(names), stages[-1][1].selected if stages else empty[0:0, 0])
    head = {
        "rank": np.arange(1, len(pairs) + 1),
        "feature": texts[pairs[order, 0]],
        "with": texts[pairs[order, 1]],
        "kept": in_answer[pairs[order]].all(axis=1),
    }
    return AnswerTable(head | {name: column[order] for name, column in columns.items()})


def _pair_finder(stages: Sequence[tuple[str, SelectionLike]]) -> SelectionLike | None:
    """The last stage with pair weights or tests of its own."""
    for _, selection in reversed(stages):
        computed_here = (
            selection.pair_weights is not None and "pair_weights" not in selection.carried
        )
        seen = (
            len(selection.scores) if selection.features_in is None else selection.features_in.size
        )
        if computed_here or pairs_tested(by_common_names(selection.tables), seen) is not None:
            return selection
    return None


def _weighed_or_tested(
    selection: SelectionLike, n: int
) -> tuple[NDArray[np.intp], dict[str, NDArray[Any]]]:
    """The pairs of a stage as (m, 2) columns, the lower first, and its statistics of each."""
    seen, tables = columns_seen(selection, n), by_common_names(selection.tables)
    tested = pairs_tested(tables, seen.size)
    weights = None if "pair_weights" in selection.carried else selection.pair_weights
    if tested is None:
        assert weights is not None
        i, j, w = weights.triplets()
        live = np.flatnonzero(w)
        pairs = np.column_stack((weights.columns[i[live]], weights.columns[j[live]]))
        return np.sort(pairs, axis=1), {"weight": w[live].astype(np.float64)}
    pairs = np.sort(seen[tested], axis=1)
    columns: dict[str, NDArray[Any]] = {}
    if weights is not None:
        i, j, w = weights.triplets()
        place = _places(np.column_stack((weights.columns[i], weights.columns[j])), pairs, n)
        known = place >= 0
        columns["weight"] = np.full(len(pairs), np.nan)
        columns["weight"][known] = w[place[known]]
    return pairs, columns | statistics(tables, len(pairs))


def _with_tests(
    pairs: NDArray[np.intp], columns: dict[str, NDArray[Any]], tests: PairsTested, n: int
) -> tuple[NDArray[np.intp], dict[str, NDArray[Any]]]:
    """The pairs of a stage and those tested afterwards, with the columns of both."""
    new = tests.pairs[_places(pairs, tests.pairs, n) < 0]
    every = np.concatenate((pairs, np.sort(new, axis=1)))
    more = {
        name: _lengthened(column, len(every), np.arange(len(pairs)))
        for name, column in columns.items()
    }
    place = _places(every, tests.pairs, n)
    known = statistics(by_common_names(tests.tables), len(tests.pairs))
    test_columns: dict[str, NDArray[Any]] = {
        name: known[name] for name in ("G2", "F", "df") if name in known
    }
    test_columns |= {"p": tests.p_values, "q": tests.q_values}
    for name, column in test_columns.items():
        title = f"interaction_{name}" if name in columns else name
        more[title] = _lengthened(column, len(every), place)
    return every, more


def _lengthened(column: NDArray[Any], length: int, place: NDArray[np.intp]) -> NDArray[Any]:
    missing: float = _MISSING if column.dtype.kind == "i" else np.nan
    longer = np.full(length, missing, dtype=column.dtype)
    longer[place] = column
    return longer


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


def _texts(names: Sequence[str]) -> NDArray[Any]:
    texts = np.empty(len(names), dtype=object)
    texts[:] = list(names)
    return texts


def _marked(n: int, columns: NDArray[np.intp]) -> NDArray[np.bool_]:
    return np.isin(np.arange(n), columns)


def _order(n: int, stages: Sequence[SelectionLike]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """All columns, best first, and the rank of those that the last stage considered.

    The others follow in the order of the stage before it, and so on.
    """
    last = full_ranking(stages[-1])
    place = np.full(n, _MISSING)
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


def _places(pairs: NDArray[np.intp], wanted: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Position of each wanted pair in `pairs`, −1 if absent; O(m log m)."""
    keys, sought = (
        each.min(axis=1, initial=n) * n + each.max(axis=1, initial=0) for each in (pairs, wanted)
    )
    return places_among(keys, sought)


def _pair_order(pairs: NDArray[np.intp], columns: Mapping[str, NDArray[Any]]) -> NDArray[np.intp]:
    none = np.zeros(len(pairs))
    size = np.abs(np.nan_to_num(columns.get("weight", none)))
    often = np.nan_to_num(columns.get("frequency", none))
    p = np.nan_to_num(columns.get("p", none), nan=np.inf)
    return np.lexsort((pairs[:, 1], pairs[:, 0], -often, -size, p))
